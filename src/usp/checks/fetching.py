"""What is fetched for a check: what robots.txt allows, what those of other hosts declare, and pages.

Protego reads a robots.txt and decides, as RFC 9309 says. That takes a while for each URL, and much
longer with thousands of rules. So it is asked only about URLs that a pattern of all rules together
matches: most do not match.
"""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from itertools import groupby
from math import inf
from operator import itemgetter
from typing import TYPE_CHECKING, NamedTuple

from protego import Protego
from requests.utils import parse_header_links

from usp._base.urls import HttpUrl, origin_of, urljoin
from usp._crawl.fetch import fetch_pages, text_of
from usp._crawl.orders import Failed, Received
from usp._formats.abstract_parser import ignore
from usp._formats.html import MAX_HEAD, HeadParser
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.scanner import DEAF
from usp.checks.page_urls import normal_all, same_page
from usp.objects.sitemap import IndexRobotsTxtSitemap, stored_of
from usp.web_client.abstract_client import AbstractWebClient, failure_reason

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._crawl.stored_pages import SourcePosition
    from usp.checks.finding import Hit
    from usp.checks.page_columns import PageColumns
    from usp.objects.abstract_sitemap import AbstractSitemap
    from usp.objects.exchange import Exchange
    from usp.options import CrawlOptions

MAX_BYTES = 512 * 1024  # how much of a robots.txt counts: RFC 9309 asks for at least 500 KiB
# Characters of URLs that are compared with wildcards until a hostile robots.txt is asked no more.
MAX_WORK = 4_000_000_000

_LINE = re.compile(r"([A-Za-z][A-Za-z-]*+(?: agent)?+)[ \t]*+[: \t][ \t]*+([^#]*+)")
_AGENT = re.compile(r"user[ -]?agent", re.IGNORECASE)
_DISALLOW = "di"  # how it begins; the rest is misspelt in many ways
_KNOWN = re.compile(
    r"user[ -]?agent|di.*|allow|clean-param|content-signal|crawl-delay|host|noindex|request-rate"
    r"|site-map|sitemaps?|visit-time",
    re.IGNORECASE,
)
_BETWEEN = frozenset({"sitemap", "sitemaps", "site-map", "host"})  # lines that end no group
_KEPT = re.compile(r"[A-Za-z0-9/_.?=&-]+")  # what is written in one way only, if not escaped
_ESCAPED = r"[^\n%]*+(?:%(?!2[6DEFdef]|3[0-9DFdf]|[4-7])[^\n%]*+)*+%"  # one of those, escaped
_TRIPLET = re.compile("%[0-9A-Fa-f]{2}")
_MAX_HEAD = 24  # characters of a rule that are looked at, which also bounds how deep a tree gets
_SHORT = 2  # characters; the beginning of a path says something from here on


class Robots:
    """What robots may fetch; everything, if there is no robots.txt.

    ``origins`` are those it is about; if they are not known, it is about every URL.
    """

    def __init__(self, text: str = "", origins: Iterable[str] = ()) -> None:
        self.text = "\n".join(text.splitlines())
        self._origins = frozenset(map(str.lower, origins))
        self._work = MAX_WORK

    @cached_property
    def is_something_else(self) -> bool:
        """Whether no line of the text is one of a robots.txt, although there are lines."""
        lines = [line for line in map(str.strip, self.text.split("\n")) if line]
        found = (_LINE.match(line.removeprefix("\ufeff")) for line in lines)
        is_known = any(one and _KNOWN.fullmatch(one[1]) for one in found)
        return not is_known and any(line[0] != "#" for line in lines)

    @cached_property
    def _rules(self) -> Protego:
        return Protego.parse(self.text)

    @cached_property
    def _disallowed(self) -> tuple[re.Pattern[str] | None, int]:
        """What finds the URLs to ask about, and how many wildcards each is compared with."""
        paths = list(disallowed_paths(self.text))
        return suspects(paths), sum("*" in path for path in paths)

    def disallowed(self, urls: Sequence[str], joined: str) -> Iterator[int]:
        """Yield the numbers of the URLs that robots may not fetch; ``joined`` has a line for each."""
        pattern, wildcards = self._disallowed
        denied = set()
        for url in pattern.findall(joined) if pattern is not None else ():
            self._work -= wildcards * len(url)
            if self._work > 0 and not self.allows(url):
                denied.add(url)
        if denied:
            yield from (at for at, url in enumerate(urls) if url in denied)

    @property
    def delay(self) -> float:
        """The pause between requests that it asks for, in seconds."""
        return float(self._rules.crawl_delay("*") or 0.0) if self.text else 0.0

    def allows(self, url: str, agent: str = "*") -> bool:
        """Return whether robots may fetch a URL; those of other websites they may."""
        if not self.text or (self._origins and origin_of(url).lower() not in self._origins):
            return True
        return bool(self._rules.can_fetch(url, agent))


def robots_of(root: AbstractSitemap) -> Robots:
    """Return what the robots.txt at the top of a tree allows; in a folder, it may come last."""
    nodes = sorted((root, *root.sub_sitemaps), key=lambda node: node.url.count("/"))
    for node in nodes:
        if isinstance(node, IndexRobotsTxtSitemap) and (stored := stored_of(node)) is not None:
            exchange = node.exchange
            urls = (node.url, exchange.url, exchange.final_url) if exchange else (node.url,)
            origins = [origin_of(url) for url in urls if url.startswith("http")]
            return Robots(stored.text(MAX_BYTES), origins)
    return Robots()


def disallowed_paths(text: str) -> Iterator[str]:
    """Yield the paths that a robots.txt disallows for ``*``."""
    applies = listing = False
    for line in text.split("\n"):
        found = _LINE.match(line.strip())
        if not found:
            continue
        name, value = found[1].lower(), found[2].strip()
        if _AGENT.fullmatch(name):
            applies = value == "*" or (listing and applies)
            listing = True
        elif name not in _BETWEEN:
            listing = False
            if applies and value and name.startswith(_DISALLOW):
                yield value


def suspects(paths: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches every URL, on a line of its own, that paths may disallow, and others.

    A path is taken literally as far as that is certain. Every URL matches in which a character is
    escaped that need not be. None: nothing is disallowed.
    """
    heads, parts = set(), set()
    # Where characters are escaped, nothing is certain: %7E may be ~.
    for path in (_TRIPLET.sub("*", path) for path in paths):
        first = _KEPT.match(path)
        head = first[0] if first and path.startswith("/") else ""
        if len(head) >= _SHORT:
            heads.add(head[:_MAX_HEAD])
        elif not _KEPT.search(path, len(head)):
            heads.add("")  # everything may match; "/" is not even written in every URL
        else:
            parts.add(max(_KEPT.findall(path, len(head)), key=len)[:_MAX_HEAD])
    if not heads and not parts:
        return None
    after = [_either(heads)] if heads else []
    if parts:
        after.append(rf"[^\n]*?{_either(parts)}")
    after.append(_ESCAPED)
    return re.compile(rf"^(?i:https?)://[^/?#\n]*+(?:{'|'.join(after)}).*+$", re.MULTILINE)


def _either(texts: Collection[str]) -> str:
    """Return a pattern of texts that are looked for together, as a tree: the time is that of one."""
    if "" in texts:  # what is longer begins so, too
        return ""
    ways = [
        re.escape(first) + _either([text[1:] for text in same])
        for first, same in groupby(sorted(texts), key=itemgetter(0))
    ]
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


MOST_HOSTS = 20  # hosts whose robots.txt is fetched; a sitemap may list thousands


@dataclass(slots=True)
class CrossHostDeclarations:
    """The sitemaps that the robots.txt of other hosts declare: proof that they may list their pages.

    They are fetched as the documents of the website at ``start_url`` are: it may not lead everywhere.
    All together may take as long as a crawl; then no further ones are fetched.
    """

    start_url: str
    web_client: AbstractWebClient | None
    options: CrawlOptions
    _end: float | None = None
    _declared: dict[str, frozenset[str]] = field(default_factory=dict)

    def has(self, origin: HttpUrl, sitemaps: Iterable[str]) -> bool:
        """Return whether the robots.txt of an origin declares any of some sitemaps."""
        declared = self._declared.get(origin.origin)
        if declared is None:
            if len(self._declared) >= MOST_HOSTS:
                return False
            text = self._fetched(f"{origin.origin}/robots.txt")
            declared = frozenset(normal_all(list(Protego.parse(text).sitemaps)))
            self._declared[origin.origin] = declared
        return bool(declared) and not declared.isdisjoint(normal_all(list(sitemaps)))

    def _fetched(self, url: str) -> str:
        seconds = self.options.effective_limits.seconds
        self._end = self._end or time.monotonic() + (seconds if seconds is not None else inf)
        if time.monotonic() > self._end:
            return ""
        for _, result in fetch_pages([url], self.start_url, self.web_client, self.options):
            if isinstance(result, Received):
                return text_of(result)
        return ""


# Some of the listed pages, fetched themselves: which ones, and what they say -----------------------

_HTML = ("text/html", "application/xhtml+xml")
_SEED = 20  # any: the same pages each time, so that a check can be repeated
_MAX_PAUSE = 60.0
_ROBOTS = frozenset({"", "*", "robots", "googlebot", "bingbot"})
_VALUED = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)  # directives with a colon; before any other colon is the name of a robot


class Listed(NamedTuple):
    """A page where it is listed."""

    url: str
    sitemap: str
    place: SourcePosition


class Sample:
    """Takes some of all pages, each with the same chance, in one pass and in little memory."""

    def __init__(self, size: int = 0) -> None:
        self._size = size
        self._random = random.Random(_SEED)  # noqa: S311 - not a secret
        self._seen = 0
        self.pages: list[Listed] = []

    def add(self, block: PageColumns) -> None:
        """Look at the pages of a block."""
        for at, url in enumerate(block.urls if self._size else ()):
            self._seen += 1
            if self._seen <= self._size:
                self.pages.append(Listed(url, block.sitemap.url, block.examined.place(at)))
            elif (number := self._random.randrange(self._seen)) < self._size:
                self.pages[number] = Listed(url, block.sitemap.url, block.examined.place(at))


class PageHeadParser(HeadParser):
    """Reads what a page tells search engines: whether to index it, and which page it is a copy of.

    ``robots`` are the contents of ``<meta name="robots">``, ``canonical`` is the address in
    ``<link rel="canonical">``, as written.
    """

    silent = HeadParser.silent | {"noscript"}  # search engines run scripts

    def __init__(self) -> None:
        super().__init__()
        self.robots: list[str] = []
        self.canonical: str | None = None
        self._in_body = False

    def read(self, text: str) -> None:
        """Read the beginning of a page."""
        self._scanner.feed(text[:MAX_HEAD])
        self._scanner.close()
        self._scanner.handler = DEAF  # they know each other

    def _look_at(self, name: str, attributes: str) -> None:
        if name == "body":
            self._in_body = True
        elif name == "meta":
            given = read_attributes(attributes, ignore)
            if given.get("name", "").strip().lower() in ("robots", "googlebot", "bingbot"):
                self.robots.append(given.get("content", ""))
        elif name == "link" and not self._in_body and self.canonical is None:
            given = read_attributes(attributes, ignore)
            if "canonical" in given.get("rel", "").lower().split():
                self.canonical = given.get("href", "").strip() or None


class FetchedPage:
    """A page that was fetched: how, and what it says.

    ``exchange`` is the request and its response, as far as they are known, ``failure`` why there is
    no page, ``leads_to`` the URL to which it redirects.
    """

    def __init__(self, listed: Listed, result: Received | Failed) -> None:
        self.listed = listed
        self.url = listed.url
        self._received = result if isinstance(result, Received) else None
        self.failure: Reason | None = None
        if isinstance(result, Received):
            self.exchange: Exchange | None = result.document.exchange
        else:
            self.exchange = result.exchange
            self.failure = failure_reason(result.error)
        self.status = None if self.exchange is None else self.exchange.status
        final = self.url if self.exchange is None else self.exchange.final_url
        self.leads_to = None if same_page(final, self.url) else final

    def located(self, hit: Hit) -> Hit:
        """Return a hit with the page, and where that is listed."""
        place = self.listed.place
        return replace(hit, page=self.url, line=place.line, column=place.column)

    @cached_property
    def head(self) -> PageHeadParser:
        """What the page tells search engines, if it is HTML."""
        parser = PageHeadParser()
        if self._received is not None:
            kind = self._received.document.exchange.content_type or _HTML[0]
            if kind.partition(";")[0].strip().lower() in _HTML:
                parser.read(text_of(self._received))
        return parser

    @property
    def directives(self) -> Iterator[str]:
        """What the page tells robots, in its head and in its headers, in lower case."""
        for text in (*self.head.robots, *self._headers("x-robots-tag")):
            agent = ""
            for part in text.lower().split(","):
                name, colon, rest = map(str.strip, part.partition(":"))
                if colon and name not in _VALUED:
                    agent, name = name, rest  # "otherbot: noindex, nofollow": both are for that one
                if agent in _ROBOTS:
                    yield name

    def _headers(self, wanted: str) -> list[str]:
        """Return the values of a header, which may be sent more than once."""
        headers = () if self.exchange is None else self.exchange.headers
        return [value for name, value in headers if name.lower() == wanted]

    @property
    def canonical(self) -> str | None:
        """The URL of the page that this one is a copy of, if it names one."""
        # PDF documents have no other place for it than the header ``Link``.
        links = (link for value in self._headers("link") for link in parse_header_links(value))
        named = (one["url"] for one in links if "canonical" in one.get("rel", "").lower().split())
        written = self.head.canonical or next(named, None)
        if self.exchange is None or not written:
            return None
        try:
            return urljoin(self.exchange.final_url, written)
        except ValueError:
            return None


def fetched_pages(
    sample: Sequence[Listed],
    start: str | None,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
    robots: dict[str, Robots],
) -> Iterator[FetchedPage]:
    """Fetch those of some pages that robots may fetch.

    ``start`` is the URL of the website, and ``robots`` the robots.txt of origins: others are added. A
    host that does not respond to the request for its robots.txt is not asked for its pages as well.
    """
    origins = {listed.url: origin_of(listed.url) for listed in sample}
    if start is None:  # of files: the website that most of the pages are on
        start = next((one for one, _ in Counter(origins.values()).most_common(1)), "")
    others = [f"{origin}/robots.txt" for origin in set(origins.values()) - robots.keys()]
    silent: dict[str, Failed] = {}
    for url, result in fetch_pages(sorted(others), start, web_client, options):
        origin = origin_of(url)
        if isinstance(result, Received):
            robots[origin] = Robots(text_of(result))
        elif result.exchange is None or result.exchange.status is None:
            silent[origin] = result
        else:  # all is allowed if there is none, and nothing if the server fails (RFC 9309)
            is_absent = result.exchange.status < HTTPStatus.INTERNAL_SERVER_ERROR
            robots[origin] = Robots("" if is_absent else "User-agent: *\nDisallow: /")
    by_url = {}
    for listed in sample:
        origin = origins[listed.url]
        if origin in silent:
            yield FetchedPage(listed, silent[origin])
        elif robots[origin].allows(listed.url):
            by_url[listed.url] = listed
    pause = max((robots[origins[url]].delay for url in by_url), default=0.0)
    pause = min(pause, _MAX_PAUSE)
    for url, result in fetch_pages(list(by_url), start, web_client, options, pause):
        yield FetchedPage(by_url[url], result)
