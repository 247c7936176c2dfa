"""Which of the children that a sitemap declares are followed: options, callbacks, refused URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from usp._base.dates import MAX_REMEMBERED, in_utc, known_date, precision_of_text
from usp._base.filters import Patterns, period
from usp._base.loc_urls import USUAL
from usp._base.reason import Reason
from usp._base.urls import BadUrl, read_url, redact_url, url_parts, without_fragment
from usp._crawl.orders import TreeSlot, listed
from usp._formats.abstract_parser import ChildEntry
from usp._formats.values import date
from usp.limits import DEFAULT, Limits
from usp.objects.child import ChildSitemap, SkippedSitemap, SkipReason
from usp.objects.failure_codes import FailureCode
from usp.objects.sitemap import IndexLlmsTxtSitemap, IndexWebsiteSitemap, IndexXMLSitemap

if TYPE_CHECKING:
    from usp._crawl.orders import Probe
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


class ChildFilter:
    """Decides which children of a document are followed, by callbacks and by their date and URL."""

    def __init__(self, options: CrawlOptions) -> None:
        self._options = options
        since = options.sitemaps_since
        self._since = None if since is None else period("sitemaps_since", since)[0]
        self._skips = bool(since or options.include_sitemaps or options.exclude_sitemaps)
        if self._skips:
            self._patterns = Patterns.of(options.include_sitemaps, options.exclude_sitemaps)
        self.has_callbacks = bool(
            options.recurse_callback
            or options.recurse_list_callback
            or options.recurse_entry_callback
        )
        self.may_skip = self._skips or self.has_callbacks

    def select(
        self, probe: Probe, level: int, parents: frozenset[str], *, ask: bool
    ) -> tuple[Sequence[ChildEntry], list[SkippedSitemap]]:
        """Return the children that are followed, and those that are not; ``ask`` the callbacks or not.

        Links of a homepage are always followed.
        """
        children = probe.children
        skipped: list[tuple[ChildEntry, SkipReason]] = []
        if not self._options.use_llms_txt and (links := skipped_links(probe)):
            return (), links
        if not self.may_skip or probe.kind is IndexWebsiteSitemap:
            return children, []
        if ask and self.has_callbacks:
            children = tuple(self._asked(children, level, parents))
            kept = {child.loc for child in children}
            out = (child for child in probe.children if child.loc not in kept)
            skipped = [(child, SkipReason.CALLBACK) for child in out]
        if self._skips:
            reasons = [(child, self._why(child, probe)) for child in children]
            children = tuple(child for child, why in reasons if why is None)
            skipped += [(child, why) for child, why in reasons if why is not None]
        return children, [
            SkippedSitemap(child.loc, date(child.lastmod), why) for child, why in skipped
        ]

    def _asked(
        self, children: Iterable[ChildEntry], level: int, parents: frozenset[str]
    ) -> Iterator[ChildEntry]:
        """Yield the children that callbacks follow, in order: the list callback is called first."""
        options = self._options
        if options.recurse_list_callback:
            by_url = {child.loc: child for child in children}
            urls: object = options.recurse_list_callback(list(by_url), level, set(parents))
            if not isinstance(urls, Iterable) or isinstance(urls, str):
                raise TypeError(
                    f"recurse_list_callback must return the URLs to follow, not {urls!r}"
                )
            children = [by_url.get(url) or ChildEntry(url) for url in urls]
        for child in children:
            callback, of_entry = options.recurse_callback, options.recurse_entry_callback
            if callback and not callback(child.loc, level, set(parents)):
                continue
            if of_entry is None or of_entry(
                ChildSitemap(child.loc, date(child.lastmod), level, parents)
            ):
                yield child

    def _why(self, child: ChildEntry, probe: Probe) -> SkipReason | None:
        """Return why a child is skipped; None if it is not.

        What robots.txt declares is mostly an index, whose children may match what it does not match
        itself; so may those of a child that is named as an index.
        """
        if self._patterns.excludes(child.loc):
            return SkipReason.URL
        if probe.kind is IndexXMLSitemap and not self._patterns.includes(child.loc):
            name = url_parts(child.loc).path.rpartition("/")[2]
            if "index" not in name.lower():
                return SkipReason.URL
        if self._since is None:
            return None
        end = latest(child.lastmod)
        return SkipReason.DATE if end is not None and end <= self._since else None


def skipped_links(probe: Probe) -> list[SkippedSitemap]:
    """Return the children that are followed only if that is asked for: those of an llms.txt."""
    if probe.kind is not IndexLlmsTxtSitemap:
        return []
    return [SkippedSitemap(child.loc, None, SkipReason.LINK) for child in probe.children]


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


def refuse(
    url: str, level: int = 0, above: frozenset[str] = frozenset(), limits: Limits = DEFAULT
) -> Reason | None:
    """Return why a sitemap must not be requested, or None; ``above`` are URLs without fragments."""
    try:
        if not USUAL.fullmatch(url):  # most are, and need not be parsed until they are requested
            read_url(url)
    except BadUrl as error:
        text = f"is not a HTTP(s) URL{f': it {error.why}' if error.is_http else ''}"
        return Reason(FailureCode.BAD_URL, f"it {text}", full=f"URL {redact_url(url)} {text}.")
    if limits.too_long(url):
        reached = limits.reached("url_length")
        full = f"URL {redact_url(url)} is too long: {reached}."
        return replace(reached, text=f"it is too long: {reached}", full=full)
    if without_fragment(url) in above:
        full = f"Recursion detected in URL {url} with parent URLs {listed(above)}."
        code = FailureCode.RECURSION
        return Reason(code, code.message, full=full)
    if limits.depth is not None and level > limits.depth:
        reached = limits.reached("depth")
        text = f"Recursion level exceeded {limits.depth}"
        return replace(reached, text=f"{text}: {reached}", full=f"{text} for URL {url}: {reached}.")
    return None


def child_slot(
    slot: TreeSlot, at: int, entry: ChildEntry, above: frozenset[str], limits: Limits
) -> TreeSlot:
    """Return the slot of a child, with a reason if it is refused."""
    child = TreeSlot(entry.loc, slot.level + 1, slot, (*slot.position, at), entry.lastmod)
    refusal = refuse(child.url, child.level, above, limits)
    if refusal:
        child.reason = refusal.at(f"Unable to add sub-sitemap from URL {child.url}")
        child.recurs = refusal.code is FailureCode.RECURSION
    return child


def without_fragments(urls: Iterable[str]) -> frozenset[str]:
    """Return URLs without their fragments, as they are requested."""
    return frozenset(map(without_fragment, urls))
