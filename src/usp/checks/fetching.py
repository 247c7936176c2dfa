"""Some of the listed pages, fetched themselves: which ones, and what they say."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, replace
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING

from requests.utils import parse_header_links

from usp._base.urls import origin_of, urljoin
from usp._crawl.fetch import fetch_pages, text_of
from usp._crawl.orders import Failed, Received
from usp._formats.html import PageHeadParser
from usp.checks.page_urls import same_page
from usp.checks.robots_rules import Robots
from usp.web_client.abstract_client import failure_reason

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp._base.reason import Reason
    from usp._crawl.stored_pages import SourcePosition
    from usp.checks.context import Site
    from usp.checks.finding import Hit
    from usp.checks.page_columns import PageColumns
    from usp.objects.exchange import Exchange
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient

_HTML = ("text/html", "application/xhtml+xml")
_SEED = 20  # any: the same pages each time, so that a check can be repeated
_MAX_PAUSE = 60.0
_ROBOTS = frozenset({"", "*", "robots", "googlebot", "bingbot"})
_VALUED = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)  # directives with a colon; before any other colon is the name of a robot


@dataclass(frozen=True, slots=True)
class Listed:
    """A page where it is listed."""

    url: str
    sitemap: str
    place: SourcePosition


class Sample:
    """Takes some of all pages, each with the same chance, in one pass and in little memory."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._random = random.Random(_SEED)  # noqa: S311 - not a secret
        self._seen = 0
        self.pages: list[Listed] = []

    def add(self, block: PageColumns) -> None:
        """Look at the pages of a block."""
        for at, url in enumerate(block.urls if self._size else ()):
            self._seen += 1
            if self._seen <= self._size:
                self.pages.append(Listed(url, block.sitemap.url, block.place(at)))
            elif (number := self._random.randrange(self._seen)) < self._size:
                self.pages[number] = Listed(url, block.sitemap.url, block.place(at))


class FetchedPage:
    """A page that was fetched: how, and what it says."""

    def __init__(self, listed: Listed, result: Received | Failed) -> None:
        self.listed = listed
        self.url = listed.url
        self._result = result

    def located(self, hit: Hit) -> Hit:
        """Return a hit with the page, and where that is listed."""
        place = self.listed.place
        return replace(hit, page=self.url, line=place.line, column=place.column)

    @property
    def exchange(self) -> Exchange | None:
        """The request and its response, as far as they are known."""
        result = self._result
        return result.document.exchange if isinstance(result, Received) else result.exchange

    @property
    def status(self) -> int | None:
        """The HTTP status; None if there was no response."""
        return None if self.exchange is None else self.exchange.status

    @property
    def failure(self) -> Reason | None:
        """Why there is no page, if there is none."""
        return None if isinstance(self._result, Received) else failure_reason(self._result.error)

    @property
    def leads_to(self) -> str | None:
        """The URL to which the page redirects, if it does."""
        exchange = self.exchange
        if exchange is None or exchange.final_url == self.url:
            return None
        return None if same_page(exchange.final_url, self.url) else exchange.final_url

    @cached_property
    def head(self) -> PageHeadParser:
        """What the page tells search engines, if it is HTML."""
        parser = PageHeadParser()
        result = self._result
        if isinstance(result, Received):
            kind = (result.document.exchange.content_type or _HTML[0]).partition(";")[0]
            if kind.strip().lower() in _HTML:
                parser.read(text_of(result))
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
    def _linked(self) -> str | None:
        """The canonical URL in the header ``Link``, as written; PDF documents have no other."""
        links = (link for value in self._headers("link") for link in parse_header_links(value))
        named = (one["url"] for one in links if "canonical" in one.get("rel", "").lower().split())
        return next(named, None)

    @property
    def canonical(self) -> str | None:
        """The URL of the page that this one is a copy of, if it names one."""
        exchange = self.exchange
        written = self.head.canonical or self._linked
        if exchange is None or not written:
            return None
        try:
            return urljoin(exchange.final_url, written)
        except ValueError:
            return None


def fetched_pages(
    site: Site, sample: Sample, web_client: AbstractWebClient | None, options: CrawlOptions
) -> Iterator[FetchedPage]:
    """Fetch the pages of a sample that robots may fetch.

    A host that does not respond to the request for its robots.txt is not asked for its pages as well.
    """
    start = _start(site, sample)
    origins = {listed.url: origin_of(listed.url) for listed in sample.pages}
    known = site.robots_txt
    robots = {} if known is None else {origin_of(known.url): site.robots}
    others = [f"{origin}/robots.txt" for origin in set(origins.values()) - robots.keys()]
    silent: dict[str, Failed] = {}
    for url, result in fetch_pages(sorted(others), start, web_client, options):
        robots[origin_of(url)] = _robots_of(result)
        if isinstance(result, Failed) and _status(result) is None:
            silent[origin_of(url)] = result
    by_url = {}
    for listed in sample.pages:
        origin = origins[listed.url]
        if origin in silent:
            yield FetchedPage(listed, silent[origin])
        elif robots[origin].allows(listed.url):
            by_url[listed.url] = listed
    pause = max((robots[origins[url]].delay for url in by_url), default=0.0)
    pause = min(pause, _MAX_PAUSE)
    for url, result in fetch_pages(list(by_url), start, web_client, options, pause):
        yield FetchedPage(by_url[url], result)


def _start(site: Site, sample: Sample) -> str:
    """Return where the check began; for files, the website that most of the pages are on."""
    if site.start_url is not None:
        return site.start_url
    most = Counter(origin_of(listed.url) for listed in sample.pages).most_common(1)
    return most[0][0] if most else ""


def _robots_of(result: Received | Failed) -> Robots:
    """Return what a robots.txt allows: all if there is none, nothing if the server fails (RFC 9309)."""
    if isinstance(result, Received):
        return Robots(text_of(result))
    status = _status(result)
    is_absent = status is not None and status < HTTPStatus.INTERNAL_SERVER_ERROR
    return Robots() if is_absent else Robots("User-agent: *\nDisallow: /")


def _status(result: Failed) -> int | None:
    return None if result.exchange is None else result.exchange.status
