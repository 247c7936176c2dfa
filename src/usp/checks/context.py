"""What rules look at: the website, its sitemaps, what else is known; pages are in ``page_columns``."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING

from usp._base.seen_urls import UrlFingerprints
from usp._base.urls import MEDIA, HttpUrl, quote, unquote, url_parts
from usp._formats.html import MAX_HEAD, PAGE_START
from usp.checks.finding import path_of
from usp.checks.hreflang import DEFAULT, HreflangGroups
from usp.checks.node_findings import NOWHERE, Declaration, is_folder, place_at
from usp.checks.page_columns import Listed, PageColumns, Sample
from usp.checks.page_urls import (
    Origins,
    SeenPages,
    bare,
    beginning,
    is_placeholder,
    normal_all,
    origin_at,
    read_all,
)
from usp.checks.robots_access import robots_of
from usp.limits import PROTOCOL_BYTES
from usp.objects.sitemap import (
    FEEDS,
    AbstractIndexSitemap,
    AbstractPagesSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    kind_of,
    stored_of,
)

if TYPE_CHECKING:
    from usp._crawl.stored_pages import Examination
    from usp._formats.abstract_parser import ChildEntry, Place
    from usp._formats.decode import Decoder
    from usp._formats.xml.xml_parser import XmlParser
    from usp.checks.checking import Checking
    from usp.checks.fetching import FetchedPage, OtherRobots
    from usp.objects.abstract_sitemap import AbstractSitemap
    from usp.objects.exchange import Exchange
    from usp.objects.problem import Failure, Problem


_SITEMAP_LINE = re.compile(r"^[^\S\n]*sitemap[^\S\n]*:[^\S\n]*(\S+)", re.IGNORECASE | re.MULTILINE)


class Site:
    """The website: its tree, and what is known about it as a whole.

    It ``is_website`` if it was searched for sitemaps, and ``is_folder`` if all files in one were read;
    otherwise the tree is that of one sitemap. ``start_url`` is None for files. ``robots`` is what the
    robots.txt allows. ``tried`` are the requests for documents that are not in the tree, ``not_found``
    is what could not be fetched, although it may exist. ``sitemaps`` are those that were read so far,
    without their pages; ``room`` is how many more pages may be read. ``home`` is where
    files will be: the URL that was given, or the host that robots.txt in the folder names. ``built``
    are the pages in the folder, ``known`` those of a list.
    """

    def __init__(self, root: AbstractSitemap, checking: Checking) -> None:
        website = root if isinstance(root, IndexWebsiteSitemap) else None
        self.root = root
        self.now = datetime.now(UTC)
        self.start_url = root.url if root.url.startswith("http") else None
        self.is_website = website is not None and self.start_url is not None
        self.is_folder = is_folder(root)
        self.tried: list[Exchange] = [] if website is None else website.tried
        self.not_found: list[Failure] = [] if website is None else website.not_found
        self.robots = robots_of(root, checking.agents)
        self.sitemaps: list[CheckedSitemap] = []
        self.room = inf if checking.most_pages is None else checking.most_pages
        self.sample = Sample(checking.fetch_pages)
        self._folder = path_of(root.url)
        if self._folder is not None and not self.is_folder:
            self._folder = self._folder.parent
        built = BuiltPages(checking.against)
        self.known = KnownPages(None if built.names else checking.against)
        self.built = built if built.names else BuiltPages(root)
        self.home = origin_at(checking.url) if checking.url else self._declared_home()
        self.built.home = self.home or (origin_at(self.start_url) if self.start_url else None)
        self._before = checking.before
        self.seen_pages = SeenPages()
        self.hreflang_groups = HreflangGroups()
        self.others: OtherRobots | None = None

    def _declared_home(self) -> HttpUrl | None:
        """Return the root of the website whose sitemaps the folder's robots.txt declares."""
        tops = (node.url for node in self.root.sub_sitemaps)
        if not self.is_folder or not any(map(self.is_robots_url, tops)):
            return None
        origins = (origin_at(beginning(url)) for url in _SITEMAP_LINE.findall(self.robots.text))
        is_built = bool(self.built.names)
        return next(
            (one for one in origins if one and not is_placeholder(one, built=is_built)), None
        )

    def urls_of(self, url: str) -> list[str]:
        """Return the URL of a document; of a file, where it will be, if that is known."""
        path = path_of(url)
        if path is None or self.home is None or self._folder is None:
            return [url]
        name = os.path.relpath(path, self._folder.resolve()).replace(os.sep, "/")
        return [f"{self.home.origin}{self.home.rest.rstrip('/')}/{quote(name)}"]

    @cached_property
    def since_then(self) -> SinceThen | None:
        """What has changed since an earlier state, if there is one to compare with."""
        return None if self._before is None else SinceThen.of(self._before, self.root)

    @property
    def is_full(self) -> bool:
        """Whether as many pages were read as may be."""
        return self.room <= 0

    @property
    def robots_txt(self) -> CheckedSitemap | None:
        """The robots.txt, if it was read."""
        return next((one for one in self.sitemaps if one.is_robots), None)

    def is_robots_url(self, url: str) -> bool:
        """Return whether a URL is that of the website's robots.txt."""
        return url == f"{self.root.url}robots.txt"


@dataclass(slots=True)
class FieldTally:
    """The values of one field in a sitemap: how many, and how often the one that is usual at first."""

    count: int = 0
    usual: str = ""
    times: int = 0

    def add(self, values: Iterable[str]) -> None:
        """Count values; those that are empty are not counted."""
        given = list(filter(None, values))
        if given:
            self.usual = self.usual or Counter(given).most_common(1)[0][0]
            self.count += len(given)
            self.times += given.count(self.usual)

    @property
    def share(self) -> float:
        """How many of the values are the usual one, from 0 to 1."""
        return self.times / self.count if self.count else 0.0


_RECENT = re.compile(r"recent|latest|newest|last-?(?:24|48|day|week)|(?<![a-z])new(?:s|[-_.])")


class CheckedSitemap:
    """A sitemap, an index or a robots.txt.

    Its ``kind`` is ``urlset``, ``index``, ``robots``, ``text``, ``rss``, ``atom`` and so on. It
    ``is_local`` if it was read from a file, and ``is_undeclared`` if it is at the top of a website's
    tree: found by guessing, or a link. ``requested`` is its URL before redirects, ``urls`` are all of
    them, none for a file. ``proven`` are those of the robots.txt that declares it, or an index that it
    is in: it may list everything on their ``hosts`` and its own, which are without ``www.``. Sitemaps
    that belong together are a ``family``; one that was guessed is alone. ``declaration`` is the line or
    entry that declares it, if that is known, and ``claim`` that of an index if it has a date. ``now``
    is when it was fetched, for a snapshot too; otherwise the time of the check.
    ``content_encodings`` are the compressions that HTTP announced, in lower case.

    When rules about sitemaps are asked, it has been read: ``pages`` is the number of its entries,
    ``children`` are those of an index as written, ``problems`` what is wrong with the document.
    ``dates`` are the first and the last lastmod, as texts in their order.
    """

    def __init__(self, site: Site, node: AbstractSitemap, parent: CheckedSitemap | None) -> None:
        exchange = node.exchange
        self.site, self.node, self.parent = site, node, parent
        self.number = len(site.sitemaps)
        self.url = node.url
        self.exchange: Exchange | None = exchange
        self.requested = self.url if exchange is None else exchange.url
        self.now = (exchange and exchange.started) or site.now
        self.kind = kind_of(node).name
        self.is_robots = self.kind == "robots"
        self.is_index = isinstance(node, AbstractIndexSitemap) and not self.is_robots
        lists_both = self.is_index and not isinstance(node, IndexXMLSitemap)
        # Which have rules of their own:
        self.is_feed = lists_both or self.kind in {*FEEDS, "llms", "html"}
        self.is_of_recent = bool(_RECENT.search(self.url.rpartition("/")[2]))
        self.is_local = not self.url.startswith(("http:", "https:"))
        is_top = parent is not None and parent.node is site.root
        self.is_undeclared = is_top and site.is_website and not self.is_robots
        sent = () if exchange is None else (exchange.url, exchange.final_url, *exchange.redirects)
        self.urls = read_all([*site.urls_of(self.url), *sent])
        self.proven: tuple[HttpUrl, ...] = ()
        self.family: int | None = None
        self.declaration: ChildEntry | None = None
        if parent is not None:
            self.proven = parent.urls if parent.is_robots else parent.proven
            self.declaration = parent.declarations.get(self.requested)
            if site.is_website:
                self.family = self.number if parent.parent is None else parent.family
        self.hosts = frozenset(map(bare, self.urls + self.proven))
        is_dated = self.declaration is not None and self.declaration.lastmod
        self.claim = self.declaration if is_dated and parent and parent.is_index else None
        self.failure: Failure | None = node.failure
        self.is_cut = node.failure is not None and not self.is_feed
        encodings = ((exchange and exchange.content_encoding) or "").lower().split(",")
        none = ("", "identity", "none")
        self.content_encodings = [one for one in map(str.strip, encodings) if one not in none]
        self.problems: list[Problem] = []
        self.children: list[ChildEntry] = []
        self.pages = self.stories = self.without_default = 0
        self.newest: datetime | None = None
        self.dates: list[str] = []
        self.tallies = {name: FieldTally() for name in ("lastmod", "changefreq", "priority")}
        self.origins = Origins()
        self.variants: set[str] = set()  # the common form of its URLs that are written otherwise
        self.examination: Examination | None = None

    @cached_property
    def declarations(self) -> dict[str, ChildEntry]:
        """Its children by their URLs; of those that are declared twice, the first."""
        return {child.loc: child for child in reversed(self.children)}

    def is_declared_by(self, origin: HttpUrl, *more: str) -> bool:
        """Return whether the robots.txt of an origin declares it, an index above it, or ``more``."""
        urls = list(more)
        above: CheckedSitemap | None = self
        while above is not None and above.urls and not above.is_robots:
            urls += (above.url, above.requested)
            above = above.parent
        return self.site.others is not None and self.site.others.declare(origin, urls)

    @property
    def declared(self) -> Declaration:
        """Where it is declared; as a text, the end of a message."""
        if self.parent is None:
            return NOWHERE
        return Declaration.of(self.parent.node, self.declaration, self.site.root)

    @property
    def decoder(self) -> Decoder | None:
        """How the document is compressed and encoded; None if it could not be read."""
        return None if self.examination is None else self.examination.parser.decoder

    @property
    def layers(self) -> int:
        """How often the document is compressed, as far as that is known."""
        return 0 if self.decoder is None else self.decoder.layers

    @property
    def is_packed(self) -> bool:
        """Whether the document is compressed, as a file or on its way."""
        return self.layers > 0 or bool(self.content_encodings)

    @property
    def unpacked(self) -> int:
        """How many bytes the document has without compression."""
        return 0 if self.examination is None else self.examination.parser.decoder.size

    @property
    def markup(self) -> XmlParser | None:
        """What knows the root and the elements of a urlset or an index; None for all others."""
        return self.xml if self.kind in ("urlset", "resourcesync", "index") else None

    @property
    def xml(self) -> XmlParser | None:
        """The same for all documents in XML, feeds too."""
        return None if self.examination is None else self.examination.parser.markup

    def places_of(self, names: Iterable[str]) -> Mapping[str, Place]:
        """Return where the first element of each name is; the document is read again."""
        stored, wanted = stored_of(self.node), {*names}
        return places_of_tags(stored.text(PROTOCOL_BYTES), wanted) if stored and wanted else {}

    def add(self, block: PageColumns) -> None:
        """Count what is in a block of its pages."""
        self.pages += len(block.urls)
        block.origins = self.origins.add(block)
        self.stories += len(block.stories)
        self.without_default += sum(
            len(codes) > 1 and DEFAULT not in codes for _, _, codes, _ in block.versions
        )
        for name, tally in self.tallies.items():
            tally.add(block.core_texts.get(name, ()))
        if given := list(filter(None, (*self.dates, block.dates.first, block.dates.last))):
            self.dates = [min(given), max(given)]
        if self.claim is not None:
            known = filter(None, [self.newest, block.dates.newest(self.now)])
            self.newest = max(known, default=None)


def _first_tags(names: Iterable[str]) -> re.Pattern[str]:
    either = "|".join(map(re.escape, sorted(names)))
    return re.compile(rf"<!--(?s:.*?)(?:-->|\Z)|<({either})(?=[\s/>])")


def places_of_tags(text: str, names: Iterable[str]) -> dict[str, Place]:
    """Return where the first tags of some names are, outside of comments."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    places: dict[str, int] = {}
    for found in _first_tags(names).finditer(text):
        places.setdefault(found[1], found.start())
    return {name: place_at(text, at) for name, at in places.items() if name}


# What is known beside its sitemaps: built pages in a folder, a list, an earlier state ----------------

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

    ``home`` is the URL where the folder is, or will be, if that is known.
    """

    def __init__(self, tree: AbstractSitemap | None) -> None:
        self.folder = path_of(tree.url) if tree is not None and is_folder(tree) else None
        self.home: HttpUrl | None = None
        self.listed: dict[str, Listed] = {}
        self._missing: list[tuple[str, Listed]] = []
        self._missing_links: list[tuple[str, Listed]] = []  # images, videos and versions of pages
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
        if not self.names or block.sitemap.is_feed:
            return
        sitemap, place_of = block.sitemap.url, block.examined.place
        paths = [unquote(url_parts(url).path) for url in block.urls]
        if self._prefix is None:
            self._prefix = self._prefix_of(paths[:_TRIED])
        for at, (url, path) in enumerate(zip(block.urls, paths, strict=True)):
            name = self._file_of(path, self._prefix)
            if name is None and self._is_here(url):
                self._absent += 1
                if len(self._missing) < _MOST_MISSING:
                    self._missing.append((url, Listed(url, sitemap, place_of(at))))
            elif name is not None and name not in self.listed:
                self.listed[name] = Listed(url, sitemap, place_of(at))
        for at, element, url in block.linked:  # what is made on request has no file
            page, path = block.urls[at], unquote(url_parts(url).path)
            is_here = beginning(url) == beginning(page) and self._is_here(url) and "?" not in url
            is_missing = is_here and url != page and self._file_of(path, self._prefix) is None
            if is_missing and len(self._missing_links) < _MOST_MISSING:
                here = Listed(page, sitemap, place_of(at, element, url))
                self._missing_links.append((url, here))

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
    def missing(self) -> Sequence[tuple[str, Listed]]:
        """The first listed pages without a file, and URLs of these, each with the page."""
        return self._missing + self._missing_links if self.is_built else ()

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
            head, page = self._read(name, Listed(url, ""))
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
