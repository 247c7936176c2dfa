"""Which children of an index are not fetched, by their date and address: no page of them is wanted."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from usp._base.dates import MAX_REMEMBERED, in_utc, known_date, precision_of_text
from usp._base.patterns import Patterns
from usp._base.periods import period
from usp.objects.child import SkipReason
from usp.objects.sitemap import IndexXMLSitemap

if TYPE_CHECKING:
    from usp._crawl.orders import Look
    from usp._formats.abstract_parser import ChildEntry
    from usp.options import CrawlOptions

_SPANS = {
    "year": timedelta(days=366),
    "month": timedelta(days=31),
    "day": timedelta(days=1),
    "minute": timedelta(minutes=1),
    "second": timedelta(seconds=1),
    "fraction": timedelta(seconds=1),
}
_FARTHEST_WEST = timedelta(hours=12)  # the last place on earth where a day ends
_YEAR_FIRST = re.compile(r"\d{4}(?:[-/.]\d|\Z)")  # no other order of day and month is certain


class Skips:
    """Decides which children are skipped, from nothing but their entries in the index."""

    def __init__(self, options: CrawlOptions) -> None:
        since = options.sitemaps_since
        self._since = None if since is None else period("sitemaps_since", since)[0]
        self._patterns = Patterns.of(options.include_sitemaps, options.exclude_sitemaps)

    def __bool__(self) -> bool:
        return self._since is not None or bool(self._patterns)

    def why(self, child: ChildEntry, *, of_index: bool) -> SkipReason | None:
        """Return why a child is skipped; None if it is not.

        What robots.txt declares is mostly an index, whose children may match what it does not match
        itself; so may those of a child that is named as an index.
        """
        if self._patterns.excludes(child.loc):
            return SkipReason.URL
        if of_index and not self._patterns.includes(child.loc) and not _is_named_index(child.loc):
            return SkipReason.URL
        if self._since is None:
            return None
        end = latest(child.lastmod)
        return SkipReason.DATE if end is not None and end <= self._since else None

    def parted(
        self, look: Look, children: list[ChildEntry] | None = None
    ) -> tuple[list[ChildEntry], list[tuple[ChildEntry, SkipReason]]]:
        """Return the children of a document that are followed, and those that are skipped."""
        of_index = look.kind is IndexXMLSitemap
        followed: list[ChildEntry] = []
        skipped: list[tuple[ChildEntry, SkipReason]] = []
        for child in look.children if children is None else children:
            why = self.why(child, of_index=of_index)
            if why is None:
                followed.append(child)
            else:
                skipped.append((child, why))
        return followed, skipped


def _is_named_index(url: str) -> bool:
    return "index" in urlsplit(url).path.rpartition("/")[2].lower()


def latest(text: str | None) -> datetime | None:
    """Return the first moment after everything that a written date may mean, in UTC.

    A day is over when it has ended everywhere, since it names no time zone. None for what is not a
    date, or one that could be read in two ways.
    """
    if text is None or len(text) > MAX_REMEMBERED or not _YEAR_FIRST.match(text.strip()):
        return None
    date, precision = known_date(text), precision_of_text(text)
    if date is None or precision is None or "W" in text.upper():  # a week
        return None
    span = _SPANS[precision]
    if date.utcoffset() is None:
        span += _FARTHEST_WEST
    try:
        return in_utc(date) + span
    except OverflowError:
        return datetime.max.replace(tzinfo=UTC)
