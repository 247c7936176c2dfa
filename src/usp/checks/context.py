"""What rules look at: the website, and its sitemaps; their pages are in ``page_columns``."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from typing import TYPE_CHECKING

from usp._base.urls import quote
from usp.checks.finding import path_of
from usp.checks.hreflang import DEFAULT, HreflangGroups
from usp.checks.known_pages import BuiltPages, KnownPages, SinceThen
from usp.checks.node_findings import NOWHERE, Declaration, is_folder, place_at
from usp.checks.page_columns import PageColumns, Sample
from usp.checks.page_urls import (
    Origins,
    SeenPages,
    bare,
    beginning,
    is_placeholder,
    origin_at,
    read_all,
)
from usp.checks.robots_access import AGENTS, robots_of
from usp.limits import PROTOCOL_BYTES
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import (
    FEEDS,
    AbstractIndexSitemap,
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    kind_of,
    stored_of,
)

if TYPE_CHECKING:
    from usp._base.urls import HttpUrl
    from usp._crawl.stored_pages import Examination
    from usp._formats.abstract_parser import ChildEntry
    from usp._formats.decode import Decoder
    from usp._formats.xml.raw_entries import Place
    from usp._formats.xml.xml_parser import XmlParser
    from usp.checks.fetching import OtherRobots
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
    without their pages; ``room`` is how many more pages may be read, None for all. ``home`` is where
    files will be: the URL that was given, or the host that robots.txt in the folder names. ``built``
    are the pages in the folder, ``known`` those of a list.
    """

    def __init__(
        self,
        root: AbstractSitemap,
        fetch_pages: int = 0,
        agents: Sequence[str] = AGENTS,
        url: str | None = None,
        known: AbstractSitemap | None = None,
        before: AbstractSitemap | None = None,
    ) -> None:
        website = root if isinstance(root, IndexWebsiteSitemap) else None
        self.root = root
        self.now = datetime.now(UTC)
        self.start_url = root.url if root.url.startswith("http") else None
        self.is_website = website is not None and self.start_url is not None
        self.is_folder = is_folder(root)
        self.tried: list[Exchange] = [] if website is None else website.tried
        self.not_found: list[Failure] = [] if website is None else website.not_found
        self.robots = robots_of(root, agents)
        self.sitemaps: list[CheckedSitemap] = []
        self.room: int | None = None
        self.sample = Sample(fetch_pages)
        self._folder = path_of(root.url)
        if self._folder is not None and not self.is_folder:
            self._folder = self._folder.parent
        built = BuiltPages(known)
        self.known = KnownPages(None if built.names else known)
        self.built = built if built.names else BuiltPages(root)
        self.home = origin_at(url) if url else self._declared_home()
        self.built.home = self.home or (origin_at(self.start_url) if self.start_url else None)
        self._before = before
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
        return self.room is not None and self.room <= 0

    def add(self, pages: int) -> None:
        """Count pages that were read."""
        if self.room is not None:
            self.room -= pages

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
        self.is_feed = lists_both or self.kind in {
            *FEEDS,
            "llms",
            "html",
        }  # with rules of their own
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
    def has_bad_bytes(self) -> bool:
        """Whether bytes were found that are not of the encoding of the document."""
        found = () if self.examination is None else self.examination.problems
        return any(one.code is ProblemCode.BAD_BYTES for one in found)

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
