"""What is known of a website beside its sitemaps: built pages in a folder, a list, an earlier state."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from usp._base.seen_urls import UrlFingerprints
from usp._base.urls import MEDIA, HttpUrl, quote, unquote, url_parts
from usp._crawl.stored_pages import SourcePosition
from usp._formats.html import MAX_HEAD, PAGE_START
from usp.checks.finding import path_of
from usp.checks.node_findings import is_folder
from usp.checks.page_columns import Listed, PageColumns
from usp.checks.page_urls import bare, beginning, is_placeholder, normal_all, origin_at
from usp.objects.sitemap import FEEDS, AbstractPagesSitemap, kind_of

if TYPE_CHECKING:
    from usp.checks.fetching import FetchedPage
    from usp.checks.page_urls import SeenPages
    from usp.objects.abstract_sitemap import AbstractSitemap

_TRIED = 200  # listed pages that show in which folder of the website the files will be
_MOST_MISSING = 1000
_PER_FILE = 5  # pages without a file for each one: with more, these are not those of the website
# Pages that nobody lists: for errors, and for owners; and further pages of a list.
_UNLISTED = re.compile(
    r"[45][0-9]{2}|google[0-9a-f]{12,}|yandex_\w+|pinterest-\w+|BingSiteAuth|offline|search"
    r"|genindex|fallback|page[/-]?[0-9]+"
)
_SUFFIX = re.compile(r"(?:/index)?\.html?$")
_FILES = tuple(MEDIA)


class BuiltPages:
    """The HTML files in a folder, as a generator of static sites writes them, and which are listed.

    ``home`` is the URL where the folder is, or will be, if that is known. ``placeholders`` are hosts
    of no website, by sitemap, each with the first page and the number of pages.
    """

    def __init__(self, tree: AbstractSitemap | None) -> None:
        self.folder = path_of(tree.url) if tree is not None and is_folder(tree) else None
        self.home: HttpUrl | None = None
        self.listed: dict[str, Listed] = {}
        self._missing: list[Listed] = []
        self.missing_links: list[tuple[str, Listed]] = []  # images, videos and versions of pages
        self.placeholders: dict[tuple[str, HttpUrl], tuple[Listed, int]] = {}
        self._absent = 0
        self._prefix: str | None = None

    @cached_property
    def _files(self) -> frozenset[str]:
        if self.folder is None:
            return frozenset()
        found = (
            os.path.relpath(os.path.join(at, name), self.folder).replace(os.sep, "/")  # noqa: PTH118 - fast
            for at, _, names in os.walk(self.folder)
            for name in names
        )
        return frozenset(found)

    @cached_property
    def names(self) -> Sequence[str]:
        """The HTML files, in order."""
        return sorted(name for name in self._files if name.lower().endswith((".html", ".htm")))

    def add(self, block: PageColumns) -> None:
        """Look for the files of the pages in a block."""
        self._add_placeholders(block)
        if not self.names or block.sitemap.is_feed:
            return
        paths = [unquote(url_parts(url).path) for url in block.urls]
        if self._prefix is None:
            self._prefix = self._prefix_of(paths[:_TRIED])
        for at, (url, path) in enumerate(zip(block.urls, paths, strict=True)):
            name = self._file_of(path, self._prefix)
            if name is None and self._is_here(url):
                self._absent += 1
                if len(self._missing) < _MOST_MISSING:
                    self._missing.append(Listed(url, block.sitemap.url, block.place(at)))
            elif name is not None and name not in self.listed:
                self.listed[name] = Listed(url, block.sitemap.url, block.place(at))
        self._add_links(block, self._prefix)

    def _add_placeholders(self, block: PageColumns) -> None:
        for written in block.origins:
            origin, url = origin_at(written), block.sitemap.url
            if origin is not None and is_placeholder(origin, built=True):
                at = next(at for at, one in enumerate(block.urls) if beginning(one) == written)
                here = Listed(block.urls[at], url, block.place(at))
                first, count = self.placeholders.get((url, origin), (here, 0))
                count += block.joined.count(f"\n{written}")
                self.placeholders[url, origin] = first, count

    def _add_links(self, block: PageColumns, prefix: str) -> None:
        """Look for the files of images, videos and other versions; what is made on request has none."""
        for at, element, url in block.linked:
            is_here = beginning(url) == beginning(block.urls[at]) and self._is_here(url)
            path = unquote(url_parts(url).path)
            if is_here and "?" not in url and self._file_of(path, prefix) is None:
                place = block.place(at, element, url)
                here = Listed(block.urls[at], block.sitemap.url, place)
                if len(self.missing_links) < _MOST_MISSING:
                    self.missing_links.append((url, here))

    def _is_here(self, url: str) -> bool:
        """Return whether a page should be on this website; another host is found by other rules."""
        origin = origin_at(beginning(url))
        if origin is None or self.home is None:
            return origin is not None
        return bare(origin) == bare(self.home) or is_placeholder(origin, built=True)

    def _prefix_of(self, paths: Sequence[str]) -> str:
        """Return the path where the folder will be: the one with which most pages have files."""
        if self.home is not None and (path := self.home.rest.strip("/")):
            return f"/{path}/"
        parts = paths[0].split("/")
        ways = ["/".join(parts[:end]) + "/" for end in range(1, len(parts))] or ["/"]
        return max(
            ways, key=lambda way: sum(self._file_of(path, way) is not None for path in paths)
        )

    def _file_of(self, path: str, prefix: str) -> str | None:
        """Return the name of the file that a server sends for a path."""
        if f"{path}/" == prefix:
            path = prefix
        if not f"{path}/".startswith(prefix):
            return None
        name = path.removeprefix(prefix)
        bare_name = name.rstrip("/")
        inside = f"{bare_name}/index" if bare_name else "index"
        ways = [f"{way}.{suffix}" for suffix in ("html", "htm") for way in (inside, bare_name)]
        if name == bare_name:
            ways.insert(0, name)
        return next((way for way in ways if way in self._files), None)

    @property
    def is_built(self) -> bool:
        """Whether the files are those of the website, rather than a few beside its sitemaps."""
        is_any = bool(self.listed or self._absent)
        return is_any and len(self.names) * _PER_FILE >= self._absent

    @property
    def missing(self) -> Sequence[Listed]:
        """The listed pages without a file, the first ones."""
        return self._missing if self.is_built else ()

    def url_of(self, name: str) -> str:
        """Return the URL of a file, as far as that is known."""
        folder, _, last = name.rpartition("/")
        is_index = last.lower() in ("index.html", "index.htm")
        path = f"{folder}/" if is_index and folder else "" if is_index else name
        start = "" if self.home is None else self.home.origin
        prefix = self._prefix or (self.home and f"{self.home.rest.rstrip('/')}/") or "/"
        return f"{start}{prefix}{quote(path)}"

    def _read(self, name: str, listed: Listed) -> tuple[bytes, FetchedPage]:
        from usp._crawl.receiver import read_document  # noqa: PLC0415 - few folders are built
        from usp.checks.fetching import FetchedPage  # noqa: PLC0415 - the same

        assert self.folder is not None
        path, head = self.folder / name, b""
        if path.is_file():  # a pipe could make it wait
            with suppress(OSError), path.open("rb") as file:
                head = file.read(MAX_HEAD)
        received = read_document([head], None, listed.url, content_type="text/html")
        return head, FetchedPage(listed, received)

    def pages(self) -> Iterator[FetchedPage]:
        """Yield the listed pages, read from their files; their URLs are those that they will have."""
        for name, listed in self.listed.items() if self.is_built else ():
            if name.lower().endswith((".html", ".htm")):
                page = self._read(name, listed)[1]
                here = beginning(listed.url)
                origin = origin_at(here)
                is_unset = origin is not None and is_placeholder(origin, built=True)
                meant = beginning(page.canonicals[0]) if is_unset and page.canonicals else ""
                if home := self.home.origin if self.home else meant:
                    # That it is listed on another host is said by other rules.
                    page.url = f"{home}/{listed.url.removeprefix(here).lstrip('/')}"
                yield page

    def unlisted(self) -> Iterator[tuple[str, str]]:
        """Yield the URL of each file that is not listed and may be meant for search, and its page's."""
        for name in self.names if self.is_built else ():
            if name in self.listed or _is_for_nobody(name):
                continue
            url = self.url_of(name)
            head, page = self._read(name, Listed(url, "", SourcePosition()))
            is_alias = page.head.refresh is not None or not PAGE_START.match(head)
            if is_alias or {"noindex", "none"}.intersection(page.directives):
                continue
            is_own = all(_same_path(one, url) for one in page.canonicals)
            if self.folder and is_own:
                yield (self.folder / name).resolve().as_uri(), url


def _is_for_nobody(name: str) -> bool:
    """Return whether a file is not meant to be listed, by its name."""
    parts = _SUFFIX.sub("", name).split("/")
    is_hidden = any(part.startswith(("_", ".")) for part in parts)
    return is_hidden or any(map(_UNLISTED.fullmatch, (parts[-1], "/".join(parts[-2:]))))


def _same_path(one: str, other: str) -> bool:
    """Return whether two URLs lead to the same file."""
    paths = (url_parts(url).path.removesuffix("index.html") for url in (one, other))
    return len({path.removesuffix(".html").rstrip("/") for path in paths}) == 1


class KnownPages:
    """The pages of a list: a file of URLs, a table, a snapshot.

    Files that are no pages are left out, and so are pages on hosts of which no sitemap lists any.
    """

    def __init__(self, tree: AbstractSitemap | None) -> None:
        self.name = "" if tree is None else tree.url
        self._tree = tree
        self._hosts: set[str] = set()

    def _blocks(self) -> Iterator[Sequence[str]]:
        """Yield the URLs of the pages."""
        for node in () if self._tree is None else (self._tree, *self._tree.all_sitemaps()):
            if isinstance(node, AbstractPagesSitemap):
                for _, block in node.page_blocks():
                    yield [url for url in block.urls if not url_parts(url).path.endswith(_FILES)]

    @cached_property
    def urls(self) -> UrlFingerprints | None:
        """The pages; None if there is no list."""
        if self._tree is None:
            return None
        found = UrlFingerprints()
        for urls in self._blocks():
            found.add(normal_all(urls))
        return found

    def add(self, block: PageColumns) -> None:
        """Remember the hosts of pages that are listed."""
        if self._tree is not None:
            self._hosts.update(bare(one) for one in map(origin_at, block.origins) if one)

    def unlisted(self, seen: SeenPages) -> Iterator[str]:
        """Yield the pages that no sitemap lists, each once."""
        yielded = UrlFingerprints()
        for urls in self._blocks():
            for url in normal_all(urls):
                origin = origin_at(beginning(url))
                is_here = origin is not None and bare(origin) in self._hosts
                if is_here and url not in seen.urls and not yielded.add([url]):
                    yield url


@dataclass(slots=True)
class SinceThen:
    """What became of the pages of an earlier state: how many there were, and are gone, and how dated.

    ``lost`` are pages that nothing lists any more, by the sitemaps that listed them. Feeds and news are
    left out: their pages come and go. ``redated`` are pages of which only the date changed.
    """

    pages: int = 0
    removed: int = 0
    redated: int = 0
    sizes: dict[str, int] = field(default_factory=dict)
    lost: Counter[str] = field(default_factory=Counter)
    started: str = ""  # when the earlier state was fetched, for messages

    @classmethod
    def of(cls, before: AbstractSitemap, after: AbstractSitemap) -> SinceThen:
        """Compare two trees."""
        from usp.changes import ChangeKind, PageChange, diff  # noqa: PLC0415 - few checks compare

        result = cls()
        for node in (before, *before.all_sitemaps()):
            if isinstance(node, AbstractPagesSitemap) and kind_of(node).name not in FEEDS:
                result.sizes[node.url] = node.page_count()
            exchange = node.exchange
            if exchange is not None and exchange.started is not None and not result.started:
                result.started = f" since {exchange.started:%Y-%m-%d}"
        for change in diff(before, after):
            if not isinstance(change, PageChange):
                continue
            was = change.before
            if change.kind is ChangeKind.REMOVED and was is not None and was.news_story is None:
                listing = [url for url in change.left if url in result.sizes]
                result.removed += bool(listing)
                result.lost.update(listing)
            elif change.kind is ChangeKind.CHANGED and not (change.left or change.joined):
                fields = change.fields
                result.redated += [one.name for one in fields] == [
                    "lastmod"
                ] and None not in fields[0]
        result.pages = sum(result.sizes.values())
        return result
