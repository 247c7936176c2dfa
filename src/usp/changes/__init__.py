"""What changed between two trees: pages and sitemaps that are new, changed, moved, gone or unknown.

::

    changes = usp.diff("monday.warc.gz", "https://example.org/")
    print(changes)  # how many, and the first of each kind
    for change in changes:
        print(change.kind, change.url)

A sitemap that failed removes nothing: its pages are *unknown*.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from copy import copy
from itertools import chain
from typing import TYPE_CHECKING

from usp._base.display import excerpt, shortened
from usp._inputs import Source, tree_of, tree_of_async
from usp.changes.change_values import (
    Change,
    ChangeCounts,
    ChangeKind,
    FieldChange,
    PageChange,
    SitemapChange,
    selecting,
    summary_of,
)
from usp.changes.comparison import match_renamed, page_changes
from usp.changes.sides import Matching, sides, sitemap_changes
from usp.objects.sitemap import AbstractSitemap, bounded

if TYPE_CHECKING:
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


_SHOWN = 3  # changes of each kind, where a comparison is printed


def _all(_: Change) -> bool:
    return True


class Diff:
    """The changes between two trees, found while somebody iterates over them.

    Sitemaps come first: those of the tree after, in its order, then those that are not in it. Pages
    follow the same way. Iterating again compares again.
    """

    def __init__(
        self,
        before: AbstractSitemap,
        after: AbstractSitemap,
        *,
        map_host: Mapping[str, str] | None = None,
    ) -> None:
        self.before = before
        self.after = after
        self._matching = Matching.of(before, after, map_host)
        self._selects: Callable[[Change], bool] = _all
        self._counts: ChangeCounts | None = None

    @property
    def hosts(self) -> Mapping[str, str]:
        """The hosts of the tree before that were replaced by others, so that paths are compared."""
        return self._matching.hosts

    def select(
        self,
        only: Iterable[ChangeKind | str] = (),
        *,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
    ) -> Diff:
        """Return the same comparison with some of its changes: of these kinds, and of matching URLs.

        Without ``only``, of all kinds. Patterns are written as those of :class:`usp.Selection`, and are
        for the URL of what changed. Raises ``ValueError`` for an unknown kind or an invalid pattern.
        """
        result, before, selects = copy(self), self._selects, selecting(only, include, exclude)
        result._selects = lambda change: before(change) and selects(change)  # noqa: SLF001 - a copy
        result._counts = None  # noqa: SLF001
        return result

    def __iter__(self) -> Iterator[Change]:
        """Yield all changes, or those that were selected."""
        counts = ChangeCounts()
        for change in chain.from_iterable(self._parts()):
            is_selected = self._selects(change)
            counts.add(change, selected=is_selected)
            if is_selected:
                yield change
        self._counts = counts

    def _parts(self) -> Iterator[Iterable[Change]]:
        """Yield the changes in parts."""
        before, after = sides(self.before, self.after, self._matching)
        if self._matching.columns is not None:  # a table does not know all sitemaps
            was_known: Mapping[str, bool] = {"": before.join()}
            is_known: Mapping[str, bool] = {"": after.join()}
        else:
            was_known = before.accounts_for(after)
            is_known = after.accounts_for(before, later=True)
            match_renamed(before, after, was_known, is_known, self._matching)
            yield sitemap_changes(before, after, was_known, is_known)
            was_known = before.accounts_for(after)
            is_known = after.accounts_for(before, wary=True, later=True)
        yield from page_changes(before, after, was_known, is_known, self._matching)

    def counts(self) -> ChangeCounts:
        """Return how many changes there are of each kind; compares, unless that was done before."""
        if self._counts is None:
            deque(self, 0)
        assert self._counts is not None
        return self._counts

    def __repr__(self) -> str:
        """Return the URLs, and how many changes there are once they were counted."""
        found = "not compared yet" if self._counts is None else summary_of(self._counts)
        return f"Diff({bounded(self.before.url)} -> {bounded(self.after.url)}: {found})"

    def __str__(self) -> str:
        """Return how many changes there are, and the first of each kind, in lines; compares."""
        seen: Counter[tuple[type[Change], ChangeKind]] = Counter()
        lines = [" -> ".join(excerpt(tree.url) for tree in (self.before, self.after))]
        for change in self:
            seen[type(change), change.kind] += 1
            if seen[type(change), change.kind] <= _SHOWN:
                lines.append(shortened(str(change)))
        lines.insert(1, summary_of(self.counts()))
        left = seen.total() - (len(lines) - 2)
        return "\n".join([*lines, f"… and {left:,} more"] if left else lines)


def diff(
    before: Source,
    after: Source,
    web_client: AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    map_host: Mapping[str, str] | None = None,
) -> Diff:
    """Return what changed between two trees: an iterable of changes, which compares on iteration.

    Both are trees, or what they are read from: the URL of a website or a sitemap, the path of a
    snapshot, a sitemap, a table of pages or a folder. ``web_client`` and ``options`` are for what is
    fetched.

    Pages are compared by their URLs, and by their paths if the trees are on different hosts,
    or on http and https.
    ``map_host`` says which host of the tree before became which other one; ``{}`` is none. One is
    removed only if every sitemap that listed it was read completely, or is gone from an index that was;
    otherwise it is unknown. So is one that is new where the tree before is incomplete. Takes little
    memory, however many pages there are.
    """
    trees = [tree_of(given, web_client, options) for given in (before, after)]
    return Diff(*trees, map_host=map_host)


async def diff_async(
    before: Source,
    after: Source,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    map_host: Mapping[str, str] | None = None,
) -> Diff:
    """Return what changed between two trees, which are fetched on asyncio, or read in a thread.

    Like ``usp.diff``. Iterating over the changes compares, and blocks: for large trees, do that in a
    thread (``await asyncio.to_thread(list, changes)``).
    """
    trees = [await tree_of_async(given, web_client, options) for given in (before, after)]
    return Diff(*trees, map_host=map_host)
