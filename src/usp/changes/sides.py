"""The pages and sitemaps of two trees: which belong together, and what one can say of the other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from usp._base.urls import BadUrl, host_of, quote, read_url
from usp._crawl.stored_pages import UniquePages
from usp._inputs.table_input import TableSitemap
from usp.changes.change_values import ChangeKind, FieldChange, SitemapChange, json_value
from usp.helpers import is_http_url, strip_url_to_homepage
from usp.objects.failure_codes import FailureCode
from usp.objects.sitemap import (
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexRobotsTxtSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    fetched_of,
    not_found_in,
)

if TYPE_CHECKING:
    from usp.changes.comparison import Fingerprints
    from usp.objects.exchange import Exchange
    from usp.objects.page import PageBlock
    from usp.objects.problem import Failure

_GONE = frozenset({404, 410})


_ORIGIN = re.compile(r"(https?://[^/?#]*+)/?", re.IGNORECASE)
_ESCAPED = re.compile(r"[^!-~]+|%[0-9A-Fa-f]{2}")  # or to be


class Matching:
    """What is the same in two trees.

    ``hosts`` are hosts of the one, each with that of the other by which it is replaced: then the scheme
    does not matter, and neither does ``www.``. ``columns`` are what both have, if one was a table.
    """

    def __init__(
        self, hosts: Mapping[str, str], columns: frozenset[str] | None = None, scheme: str = "https"
    ) -> None:
        self._scheme = scheme
        self.hosts = {_host(old): _host(new) for old, new in hosts.items()}
        self.columns = columns
        known: dict[str, str] = {}
        for old, new in self.hosts.items():
            for one in (new, old):  # with and without www.
                bare = one.removeprefix("www.")
                known.setdefault(bare if bare != one else f"www.{one}", new)
        known |= {new: new for new in self.hosts.values()} | self.hosts
        self._name_of = lru_cache(maxsize=4096)(lambda origin: known.get(host_of(origin) or ""))

    @classmethod
    def of(
        cls, before: AbstractSitemap, after: AbstractSitemap, given: Mapping[str, str] | None
    ) -> Matching:
        """Return how two trees match: by path if they are on different hosts, or one is on http.

        ``given`` are more such hosts; none at all if it is empty.
        """
        tables = [tree for tree in (before, after) if isinstance(tree, TableSitemap)]
        columns = frozenset.intersection(*(one.columns for one in tables)) if tables else None
        if any(one.has_many_sites for one in tables):
            return cls(given or {}, columns)
        old, new = _url_in(before), _url_in(after)
        host, new_host = host_of(old), host_of(new)
        if given is None or given:
            is_moved = host != new_host or _scheme(old) != _scheme(new)
            own = {host: new_host} if host and new_host and is_moved else {}
            given = own | dict(given or {})
        return cls(given, columns, _scheme(new))

    @property
    def is_exact(self) -> bool:
        """Whether URLs and values are compared as they are."""
        return not self.hosts and self.columns is None

    def key(self, url: str) -> str:
        """Return what a URL is matched by: the same however its characters are escaped."""
        return _ESCAPED.sub(_escape, self._renamed(url, "//"))

    def keys(self, urls: Sequence[str]) -> Iterable[str]:
        """Return the same of many URLs, which is most often what they are."""
        together = "".join(urls)
        is_plain = together.isascii() and "%" not in together and " " not in together
        return urls if is_plain and not self.hosts else map(self.key, urls)

    def moved(self, url: str) -> str:
        """Return where a page of the tree before should be in the tree after."""
        return self._renamed(url, f"{self._scheme}://")

    def _renamed(self, url: str, begin: str) -> str:
        found = _ORIGIN.match(url) if self.hosts else None
        name = found and self._name_of(found[1])
        return f"{begin}{name}/{url[found.end() :]}" if found and name else url

    def is_former(self, url: str) -> bool:
        """Return whether a URL is on a host that was replaced."""
        host = host_of(url)
        return self._name_of(url) not in (None, host)

    def differs(self, change: FieldChange) -> bool:
        """Return whether a field is different for more reasons than its host, or than being a table."""
        if self.columns is not None and change.name not in self.columns:
            return False
        before, after = (self._plain(json_value(change.name, one)) for one in change[1:])
        return bool(before != after)

    def _plain(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._renamed(value, "//")
        if isinstance(value, list):
            return [self._plain(one) for one in value]
        if isinstance(value, dict):
            return {name: self._plain(one) for name, one in value.items()}
        return value


def _escape(found: re.Match[str]) -> str:
    """Return characters of another script as they are requested, and an escape in upper case."""
    text = found[0]
    return text.upper() if text[0] == "%" else quote(text)


def _host(given: str) -> str:
    """Return a host, and its port if that is not the usual one; raises ``ValueError``."""
    try:
        return read_url(given if "://" in given else f"https://{given}").site.removesuffix(":80")
    except BadUrl as error:
        raise ValueError(f"{given!r} is not a host; use for example old.example.org") from error


def _scheme(url: str) -> str:
    return url.partition(":")[0].lower()


def _url_in(tree: AbstractSitemap) -> str:
    """Return the URL of a tree; of files, that of the first page."""
    if is_http_url(tree.url):
        return tree.url
    page = next(tree.all_pages(), None)
    return "" if page is None else page.url


class AllPages:
    """All pages of a tree, as if one sitemap listed each once: a table may not know which ones do."""

    def __init__(self, tree: AbstractSitemap) -> None:
        self._tree = tree

    def page_blocks(self) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the pages in blocks."""
        unique = UniquePages()
        for sitemap, block in self._tree.page_blocks():
            some = unique.block(block)
            if some.urls:
                yield sitemap, some


class Side:
    """One of the trees: its sitemaps by their keys, which are their URLs without ``base``."""

    def __init__(
        self, tree: AbstractSitemap, matching: Matching, root_key: str | None = None, base: str = ""
    ) -> None:
        self.tree = tree
        self._matching = matching
        self._root_key = root_key
        self._base = base
        self.lists: dict[str, AbstractPagesSitemap | AllPages] = {}
        self.indexes: dict[str, list[str]] = {}  # the keys of what they list
        self.prints: dict[str, Fingerprints] = {}  # of pages, as far as they were read already
        self.renamed: dict[str, str] = {}  # keys in the other tree, by those in this one
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
        for failure in not_found_in(tree):
            if self.key(failure.url) not in self.urls:
                self.absent.add(self.key(failure.url))
            self._fail(self.key(failure.url), failure)
        for website in (tree, *tree.sub_sitemaps):
            if isinstance(website, IndexWebsiteSitemap):
                self._tried |= {self.key(exchange.url): exchange for exchange in website.tried}
        # Indexes that do not show all that they declare; those below come before those above.
        for node in reversed([tree, *tree.all_sitemaps()]):
            below = [self.key(child.url) for child in node.sub_sitemaps]
            if isinstance(node, IndexXMLSitemap):
                self.indexes[self.key(node.url)] = below
            is_short = isinstance(node, AbstractIndexSitemap) and bool(node.skipped)
            if is_short or any(key in self.incomplete or key in self._unsound for key in below):
                self._unsound.add(self.key(node.url))

    def _add(self, node: AbstractSitemap) -> None:
        key = self.key(node.url)
        self.urls.setdefault(key, node.url)
        if node.exchange is not None:  # redirected, perhaps to another website
            self._tried[self.key(node.exchange.url)] = node.exchange
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
        key = self._matching.key(url.removeprefix(self._base))
        return self.renamed.get(key, key)

    def rename(self, names: Mapping[str, str]) -> None:
        """Match sitemaps with those that have other URLs in the other tree."""
        self.renamed.update(names)
        self.lists = {names.get(key, key): one for key, one in self.lists.items()}
        self.urls = {names.get(key, key): url for key, url in self.urls.items()}
        self.prints = {names.get(key, key): prints for key, prints in self.prints.items()}

    def join(self) -> bool:
        """Take all pages as those of one list; return whether it is complete."""
        self.lists = {"": AllPages(self.tree)}
        self.urls = {"": self.tree.url}
        return not any(not is_unread(failure) for failure in self.tree.failures())

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
        lost = not_found_in(self.tree)
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
                asked = key if node.exchange is None else other.key(node.exchange.url)
                can_tell = can_tell and self._looked_for(asked, node, later=later)
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
        crawled = is_http_url(self.tree.url) and fetched_of(self.tree) is not None
        return not (crawled and isinstance(node, IndexRobotsTxtSitemap))


def sides(before: AbstractSitemap, after: AbstractSitemap, matching: Matching) -> tuple[Side, Side]:
    """Return both trees, with keys by which the same sitemaps match.

    Two sitemaps that are compared with each other match, whatever their URLs are. Files in a folder
    match by their paths below it, and those of a website by theirs.
    """
    trees = before, after
    websites = [tree for tree in trees if isinstance(tree, IndexWebsiteSitemap)]
    bases, root_key = ["", ""], None if websites else matching.key(before.url)
    if any(tree.url.startswith("file:") for tree in websites):
        bases = [
            strip_url_to_homepage(tree.url) if is_http_url(tree.url) else tree.url for tree in trees
        ]
    return Side(before, matching, None, bases[0]), Side(after, matching, root_key, bases[1])


def sitemap_changes(
    before: Side, after: Side, was_known: Mapping[str, bool], is_known: Mapping[str, bool]
) -> Iterator[SitemapChange]:
    """Yield the sitemaps that changed: those of the tree after, then those that are not in it."""
    renamed = frozenset(before.renamed.values())
    for key, url in after.urls.items():
        broken = after.incomplete.get(key)
        if broken is not None and not (is_unread(broken) and key not in before.urls):
            if key not in before.incomplete:
                yield SitemapChange(ChangeKind.FAILED, url, broken.brief, broken.code)
        elif key in before.incomplete:
            yield SitemapChange(ChangeKind.RECOVERED, url)
        elif key in renamed:
            yield SitemapChange(ChangeKind.MOVED, url, former=before.urls[key])
        elif key not in before.urls:
            yield _only_there(ChangeKind.ADDED, key, url, before, was_known)
    for key, url in before.urls.items():
        if key not in after.urls and key not in before.absent:
            yield _only_there(ChangeKind.REMOVED, key, url, after, is_known)


def _only_there(
    kind: ChangeKind, key: str, url: str, other: Side, known: Mapping[str, bool]
) -> SitemapChange:
    """Return what became of a sitemap that the other tree does not have, and why if that is unknown."""
    if known.get(key, True):
        return SitemapChange(kind, url)
    if key in other.skipped:
        return SitemapChange(ChangeKind.UNKNOWN, url, "it was skipped")
    reason = "what declares it is missing or incomplete"
    return SitemapChange(ChangeKind.UNKNOWN, url, reason, FailureCode.NOT_FETCHED)


def is_unread(failure: Failure) -> bool:
    """Return whether nobody tried: an index in a file names sitemaps that are not files."""
    return failure.code is FailureCode.NOT_FETCHED
