"""What a move to another website loses: pages that only the old one lists, and what became of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from enum import StrEnum
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from usp._base.display import printable
from usp._base.seen_urls import SeenUrls
from usp._inputs import Source, tree_of
from usp.changes.sides import Matching
from usp.checks.fetching import FetchedPage, OtherRobots, fetched_pages
from usp.checks.page_columns import Listed
from usp.export.schema import Kind
from usp.options import CrawlOptions

if TYPE_CHECKING:
    from usp.objects.sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["COLUMNS", "Migration", "MissingPage", "Outcome", "migration"]

_TOGETHER = 200  # pages that are requested before their results are given
_GONE = frozenset({404, 410})

COLUMNS = {
    "url": Kind.TEXT,
    "expected": Kind.TEXT,
    "outcome": Kind.TEXT,
    "target": Kind.TEXT,
    "status": Kind.WHOLE,
    "reason": Kind.TEXT,
}
"""The columns of a table of missing pages."""


class Outcome(StrEnum):
    """What the old website answers for a page that the new one does not list."""

    MISSING = "missing"
    """It was not asked."""

    REDIRECTED = "redirected"
    """It redirects to a page that the new sitemaps list."""

    ELSEWHERE = "elsewhere"
    """It redirects to something else."""

    GONE = "gone"
    """The page does not exist any more: 404 or 410."""

    PRESENT = "present"
    """The page is still there."""

    FAILED = "failed"
    """There is no answer, or an error."""

    DISALLOWED = "disallowed"
    """The robots.txt of the old website does not allow to ask."""


class MissingPage(NamedTuple):
    """A page of the old website: where it should be in the new one, and where it leads."""

    url: str
    expected: str
    outcome: Outcome = Outcome.MISSING
    target: str | None = None
    status: int | None = None
    reason: str | None = None

    def __str__(self) -> str:
        """Return the page in one line, as ``usp diff --migration`` shows it."""
        words = [self.outcome.value] if self.outcome is not Outcome.MISSING else []
        words += [f"-> {self.target}"] if self.target else []
        words += [self.reason] if self.reason else [str(self.status)] if self.status else []
        return printable("  ".join([f"{_SIGNS.get(self.outcome, '-')} {self.url}", *words]))


_SIGNS = {Outcome.REDIRECTED: ">", Outcome.PRESENT: "=", Outcome.FAILED: "?"}


class Migration:
    """The pages of an old website that the new one does not list; found while somebody iterates.

    ``client`` and ``options`` are for requests to the old website, one for each page; there are none
    without a client. ``counts`` are those of the outcomes so far.
    """

    def __init__(
        self,
        before: AbstractSitemap,
        after: AbstractSitemap,
        *,
        map_host: Mapping[str, str] | None = None,
        fetch: bool = False,
        client: AbstractWebClient | None = None,
        options: CrawlOptions | None = None,
    ) -> None:
        self.before = before
        self.after = after
        self.counts: Counter[Outcome] = Counter()
        self._fetch = fetch
        self._matching = Matching.of(before, after, map_host)
        self._others = OtherRobots(None, client, options or CrawlOptions())
        self._listed = SeenUrls()

    @property
    def hosts(self) -> Mapping[str, str]:
        """The hosts of the old website that others replace."""
        return self._matching.hosts

    def __iter__(self) -> Iterator[MissingPage]:
        """Yield the pages in the order of the old website, each URL once."""
        self.counts.clear()
        self._listed = SeenUrls()
        for _, block in self.after.page_blocks():
            self._listed.add_all(list(self._matching.keys(block.urls)))
        found = self._missing()
        for page in self._asked(found) if self._fetch else found:
            self.counts[page.outcome] += 1
            yield page

    def _missing(self) -> Iterator[MissingPage]:
        key, seen = self._matching.key, SeenUrls()
        for _, block in self.before.page_blocks():
            for url in block.urls:
                if key(url) not in self._listed and seen.add(url):
                    yield MissingPage(url, self._matching.moved(url))

    def _asked(self, found: Iterator[MissingPage]) -> Iterator[MissingPage]:
        while pages := list(islice(found, _TOGETHER)):
            sample = [Listed(page.url, "") for page in pages]
            results = {one.url: one for one in fetched_pages(sample, self._others)}
            for page in pages:
                one = results.get(page.url)
                yield (
                    page._replace(outcome=Outcome.DISALLOWED)
                    if one is None
                    else self._of(one, page)
                )

    def _of(self, fetched: FetchedPage, page: MissingPage) -> MissingPage:
        target, failure = fetched.leads_to, fetched.failure
        if target is not None:
            is_listed = self._matching.key(target) in self._listed and failure is None
            is_listed = is_listed and not self._matching.is_former(target)
            outcome = Outcome.REDIRECTED if is_listed else Outcome.ELSEWHERE
        elif failure is None:
            outcome = Outcome.PRESENT
        else:
            outcome = Outcome.GONE if fetched.status in _GONE else Outcome.FAILED
        reason = None if failure is None or fetched.status is not None else failure.text
        return page._replace(outcome=outcome, target=target, status=fetched.status, reason=reason)


def migration(
    before: Source,
    after: Source,
    web_client: AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    map_host: Mapping[str, str] | None = None,
    fetch: bool = False,
) -> Migration:
    """Return the pages of an old website that a new one does not list, as an iterable.

    Both are given as to :func:`usp.diff`. Pages are compared by their paths if the hosts are different:
    exactly, with case and slash at the end. With ``fetch``, each of these pages is requested from the
    old website, as a crawl requests sitemaps and as its robots.txt allows, to see where it leads.
    """
    trees = [tree_of(given, web_client, options) for given in (before, after)]
    more = {"client": web_client, "options": options, "fetch": fetch, "map_host": map_host}
    return Migration(*trees, **more)  # type: ignore[arg-type]
