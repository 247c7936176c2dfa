"""What changed between two trees: pages and sitemaps that are new, changed, moved, gone or unknown.

::

    for change in usp.diff("monday.warc.gz", "https://example.org/"):
        print(change.kind, change.url)

A sitemap that failed removes nothing: its pages are *unknown*.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING

from usp._inputs import Source, tree_of, tree_of_async
from usp.changes.change_values import (
    Change,
    ChangeCounts,
    ChangeKind,
    FieldChange,
    PageChange,
    SitemapChange,
)
from usp.changes.comparison import page_changes
from usp.changes.sides import sides, sitemap_changes

if TYPE_CHECKING:
    from usp.objects.sitemap import AbstractSitemap
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

__all__ = [
    "Change",
    "ChangeCounts",
    "ChangeKind",
    "Diff",
    "FieldChange",
    "PageChange",
    "SitemapChange",
    "diff",
    "diff_async",
]


class Diff:
    """The changes between two trees, found while somebody iterates over them.

    Sitemaps come first: those of the tree after, in its order, then those that are not in it. Pages
    follow the same way. Iterating again compares again.
    """

    def __init__(self, before: AbstractSitemap, after: AbstractSitemap) -> None:
        self.before = before
        self.after = after
        self._counts: ChangeCounts | None = None

    def __iter__(self) -> Iterator[Change]:
        """Yield all changes."""
        counts = ChangeCounts()
        before, after = sides(self.before, self.after)
        was_known = before.accounts_for(after)
        is_known = after.accounts_for(before, later=True)
        for change in sitemap_changes(before, after, was_known, is_known):
            counts.add(change)
            yield change
        is_known = after.accounts_for(before, wary=True, later=True)
        for part in page_changes(before, after, was_known, is_known):
            counts.pages.update(change.kind for change in part)
            yield from part
        self._counts = counts

    def counts(self) -> ChangeCounts:
        """Return how many changes there are of each kind; compares, unless that was done before."""
        if self._counts is None:
            deque(self, 0)
        assert self._counts is not None
        return self._counts


def diff(
    before: Source,
    after: Source,
    web_client: AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
) -> Diff:
    """Return what changed between two trees: an iterable of changes, which compares on iteration.

    Both are trees, or what they are read from: the URL of a website or a sitemap, the path of a
    snapshot, a sitemap or a folder of sitemaps. ``web_client`` and ``options`` are for what is fetched.

    Pages are compared by their URLs. One is removed only if every sitemap that listed it was read
    completely, or is gone from an index that was; otherwise it is unknown. So is one that is new where
    the tree before is incomplete. Takes little memory, however many pages there are.
    """
    return Diff(*(tree_of(given, web_client, options) for given in (before, after)))


async def diff_async(
    before: Source,
    after: Source,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
) -> Diff:
    """Return what changed between two trees, which are fetched on asyncio, or read in a thread.

    Like ``usp.diff``. Iterating over the changes compares, and blocks: for large trees, do that in a
    thread (``await asyncio.to_thread(list, changes)``).
    """
    return Diff(*[await tree_of_async(given, web_client, options) for given in (before, after)])
