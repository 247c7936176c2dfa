"""What is fetched for a check: what the robots.txt of other hosts declare, and pages."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from http import HTTPStatus
from math import inf
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
from usp.checks.robots_access import Robots
from usp.web_client.abstract_client import AbstractWebClient, failure_reason

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._crawl.stored_pages import SourcePosition
    from usp.checks.finding import Hit
    from usp.checks.page_columns import PageColumns
    from usp.objects.exchange import Exchange
    from usp.options import CrawlOptions

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
