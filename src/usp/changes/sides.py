"""The sitemaps of two trees: which belong together, and what the one can say about the other's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from usp.changes.change_values import ChangeKind, SitemapChange
from usp.helpers import is_http_url, strip_url_to_homepage
from usp.objects.failure_codes import FailureCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
)

if TYPE_CHECKING:
    from usp.objects.exchange import Exchange
    from usp.objects.problem import Failure

_GONE = frozenset({404, 410})


class Side:
    """One of the trees: its sitemaps by their keys, which are their URLs without ``base``."""

    def __init__(self, tree: AbstractSitemap, root_key: str | None = None, base: str = "") -> None:
        self.tree = tree
        self._root_key = root_key
        self._base = base
        self.lists: dict[str, AbstractPagesSitemap] = {}
        self.urls: dict[str, str] = {}  # of sitemaps, and of what failed and is not in the tree
        self.incomplete: dict[str, Failure] = {}
        self.skipped: set[str] = set()
        self.absent: set[str] = set()  # what failed and is not in the tree
        self._tried: dict[str, Exchange] = {}
        self._unsound: set[str] = set()  # indexes with something incomplete or skipped below them
        if not isinstance(tree, IndexWebsiteSitemap):
            self._add(tree)
        for node in tree.all_sitemaps():
            self._add(node)
        if isinstance(tree, IndexWebsiteSitemap):
            for failure in tree.not_found:
                if self.key(failure.url) not in self.urls:
                    self.absent.add(self.key(failure.url))
                self._fail(self.key(failure.url), failure)
            self._tried = {self.key(exchange.url): exchange for exchange in tree.tried}
        # Indexes that do not show all that they declare; those below come before those above.
        for node in reversed([tree, *tree.all_sitemaps()]):
            below = [self.key(child.url) for child in node.sub_sitemaps]
            is_short = isinstance(node, AbstractIndexSitemap) and bool(node.skipped)
            if is_short or any(key in self.incomplete or key in self._unsound for key in below):
                self._unsound.add(self.key(node.url))

    def _add(self, node: AbstractSitemap) -> None:
        key = self.key(node.url)
        self.urls.setdefault(key, node.url)
        if node.failure is not None:
            self._fail(key, node.failure)
        if isinstance(node, AbstractPagesSitemap):
            self.lists.setdefault(key, node)
        elif isinstance(node, AbstractIndexSitemap):
            self.skipped.update(self.key(child.url) for child in node.skipped)

    def _fail(self, key: str, failure: Failure) -> None:
        self.urls.setdefault(key, failure.url)
        self.incomplete.setdefault(key, failure)

    def key(self, url: str) -> str:
        """Return what a sitemap is matched by."""
        if self._root_key is not None and url == self.tree.url:
            return self._root_key
        return url.removeprefix(self._base)

    def accounts_for(
        self, other: Side, *, wary: bool = False, later: bool = False
    ) -> Mapping[str, bool]:
        """Return for each sitemap of the other tree whether this one can tell what became of it.

        It can if it has the sitemap as a whole, or if what declared it in the other tree is here as a
        whole, or is itself accounted for. If a list of pages is an index here, all below that has to be
        here, too. If something failed here that the other tree does not have, the children of an index
        that is not here are not accounted for, and if ``wary``, no sitemap is that is not here: it, or
        its pages, may be there. If this tree is the ``later`` one, what was a robots.txt or a sitemap
        and is an error page now is not accounted for.
        """
        fresh = any(key not in other.urls for key in self.incomplete)
        accounts: dict[str, bool] = {}
        lost = isinstance(self.tree, IndexWebsiteSitemap) and bool(self.tree.not_found)
        is_sound = self.tree.failure is None and not lost  # but for what a sitemap here would tell
        waiting: list[tuple[AbstractSitemap, bool, bool]] = [(other.tree, is_sound, wary)]
        while waiting:
            node, can_tell, doubts = waiting.pop()
            key = other.key(node.url)
            if key in self.urls:
                can_tell = key not in self.incomplete
                can_tell = can_tell and not (key in other.lists and key in self._unsound)
                doubts = wary
            elif node is not other.tree:
                can_tell = can_tell and not (fresh and doubts)
                can_tell = can_tell and key not in self.skipped
                can_tell = can_tell and self._looked_for(key, node, later=later)
                doubts = True
            accounts[key] = accounts.get(key, True) and can_tell
            waiting.extend((child, can_tell, doubts) for child in reversed(node.sub_sitemaps))
        return accounts

    def _looked_for(self, key: str, node: AbstractSitemap, *, later: bool) -> bool:
        """Return whether a sitemap that is not in the tree is not in the website: not an error page."""
        exchange = self._tried.get(key)
        if exchange is not None:
            return (
                not later or exchange.status in _GONE or self.key(exchange.final_url) in self.urls
            )
        crawled = is_http_url(self.tree.url) and self.tree.fetched is not None
        return not (crawled and isinstance(node, IndexRobotsTxtSitemap))


def sides(before: AbstractSitemap, after: AbstractSitemap) -> tuple[Side, Side]:
    """Return both trees, with keys by which the same sitemaps match.

    Two sitemaps that are compared with each other match, whatever their URLs are. Files in a folder
    match by their paths below it, and those of a website by theirs.
    """
    trees = before, after
    websites = [tree for tree in trees if isinstance(tree, IndexWebsiteSitemap)]
    if not websites:
        return Side(before), Side(after, before.url)
    if not any(tree.url.startswith("file:") for tree in websites):
        return Side(before), Side(after)
    bases = [
        strip_url_to_homepage(tree.url) if is_http_url(tree.url) else tree.url for tree in trees
    ]
    return Side(before, None, bases[0]), Side(after, None, bases[1])


def sitemap_changes(
    before: Side, after: Side, was_known: Mapping[str, bool], is_known: Mapping[str, bool]
) -> Iterator[SitemapChange]:
    """Yield the sitemaps that changed: those of the tree after, then those that are not in it."""
    for key, url in after.urls.items():
        broken = after.incomplete.get(key)
        if broken is not None and not (is_unread(broken) and key not in before.urls):
            if key not in before.incomplete:
                yield SitemapChange(ChangeKind.FAILED, url, broken.brief, broken.code)
        elif key in before.incomplete:
            yield SitemapChange(ChangeKind.RECOVERED, url)
        elif key not in before.urls:
            if was_known.get(key, True):
                yield SitemapChange(ChangeKind.ADDED, url)
            else:
                yield SitemapChange(ChangeKind.UNKNOWN, url, *_why(key, before))
    for key, url in before.urls.items():
        if key not in after.urls and key not in before.absent:
            if is_known.get(key, True):
                yield SitemapChange(ChangeKind.REMOVED, url)
            else:
                yield SitemapChange(ChangeKind.UNKNOWN, url, *_why(key, after))


def is_unread(failure: Failure) -> bool:
    """Return whether nobody tried: an index in a file names sitemaps that are not files."""
    return failure.code is FailureCode.NOT_FETCHED


def _why(key: str, side: Side) -> tuple[str, FailureCode | None]:
    """Return why a tree cannot tell what became of a sitemap that it does not have."""
    if key in side.skipped:
        return "it was skipped", None
    return "what declares it is missing or incomplete", FailureCode.NOT_FETCHED
