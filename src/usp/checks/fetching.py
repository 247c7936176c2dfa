"""What is fetched for a check: what the robots.txt of other hosts declare, and pages."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from http import HTTPStatus
from math import inf
from typing import TYPE_CHECKING

from requests.utils import parse_header_links

from usp._base.dates import in_utc, read_date
from usp._base.urls import HttpUrl, is_http_url, origin_of, urljoin
from usp._crawl.fetch import fetch_pages, text_of
from usp._crawl.orders import Failed, Received
from usp._formats.abstract_parser import ignore
from usp._formats.html import MAX_HEAD, HeadParser
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.references import decode_text
from usp._formats.xml.scanner import DEAF
from usp.checks.page_urls import normal_all, normal_url, same_page
from usp.checks.robots_access import Robots
from usp.web_client.abstract_client import AbstractWebClient, failure_reason

if TYPE_CHECKING:
    from usp.checks.finding import Hit
    from usp.checks.page_columns import Listed
    from usp.options import CrawlOptions

MOST_HOSTS = 20  # hosts whose robots.txt is fetched; a sitemap may list thousands


@dataclass(slots=True)
class OtherRobots:
    """The robots.txt of other hosts, each fetched once: what they allow, and the sitemaps they declare.

    They are fetched as the documents of the website at ``start_url`` are: it may not lead everywhere.
    ``known`` are those of origins; those of ``silent`` ones could not be asked. For what they declare,
    which proves that it may list their pages, no more are asked after as long as a crawl may take.
    """

    start_url: str | None
    web_client: AbstractWebClient | None
    options: CrawlOptions
    known: dict[str, Robots] = field(default_factory=dict)
    silent: dict[str, Failed] = field(default_factory=dict)
    _end: float | None = None

    def ask(self, origins: Iterable[str]) -> None:
        """Fetch the robots.txt of origins, as far as they are not known."""
        new = {*origins} - self.known.keys() - self.silent.keys()
        urls = sorted(f"{origin}/robots.txt" for origin in new)
        for url, result in fetch_pages(urls, self.start_url or "", self.web_client, self.options):
            origin = origin_of(url)
            if isinstance(result, Received):
                self.known[origin] = Robots(text_of(result))
            elif result.exchange is None or result.exchange.status is None:
                self.silent[origin] = result
            else:  # all is allowed if there is none, and nothing if the server fails (RFC 9309)
                is_absent = result.exchange.status < HTTPStatus.INTERNAL_SERVER_ERROR
                self.known[origin] = Robots("" if is_absent else "User-agent: *\nDisallow: /")

    def declare(self, origin: HttpUrl, sitemaps: Iterable[str]) -> bool:
        """Return whether the robots.txt of an origin declares any of some sitemaps."""
        seconds = self.options.effective_limits.seconds
        self._end = self._end or time.monotonic() + (inf if seconds is None else seconds)
        if len(self.known) + len(self.silent) < MOST_HOSTS and time.monotonic() <= self._end:
            self.ask([origin.origin])
        robots = self.known.get(origin.origin)
        return robots is not None and not robots.sitemaps.isdisjoint(normal_all([*sitemaps]))


# Some of the listed pages, fetched themselves: what they say -----------------------

_HTML = ("text/html", "application/xhtml+xml")
_LONGEST_TITLE = 300
_MAX_PAUSE = 60.0
_ROBOTS = frozenset({"", "*", "robots", "googlebot", "bingbot"})
_VALUED = frozenset(
    {"unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"}
)  # directives with a colon; before any other colon is the name of a robot


_SHOWN = frozenset(
    {"audio", "canvas", "embed", "form", "iframe", "img", "object", "script", "svg", "video"}
)
_REFRESH = re.compile(r"\s*[0-9.]+\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
_PARTS = re.compile(
    "(?<!\\s)\\s++[-|\u00b7\u2013\u2014:]++\\s++|[|\u00b7\u2013\u2014]"
)  # of a title
_NOT_FOUND = re.compile(
    r"(?:error\W*+)?(?:404\W++)?(?:404(?:\W*+error)?|(?:page |file )?not found"
    r"|(?:oops|sorry)?\W*+(?:this |the |that )?page (?:was |is |could |can)?not (?:be )?found"
    r"|(?:this |the |that )?page (?:doesn.t|does not) exist|(?:die )?seite (?:wurde )?nicht gefunden"
    r"|page (?:introuvable|non trouvée)|página no encontrada|pagina non trovata|pagina niet gevonden)",
    re.IGNORECASE,
)
# What else a whole title says of a page that is none.
_NO_PAGE = {
    "shows an error": re.compile(
        r"(?:error\W*+)?(?:50[0-4]\W++)?(?:internal server error|bad gateway|gateway time-?out"
        r"|service (?:temporarily )?unavailable)|(?:wordpress \W*+)?(?:fatal|database) error"
        r"|error establishing a database connection",
        re.IGNORECASE,
    ),
    "is not ready yet": re.compile(
        r"(?:site |website )?(?:is )?under (?:maintenance|construction)|(?:site )?maintenance(?: mode)?"
        r"|wartungs(?:arbeiten|modus)|coming soon|demnächst|en construction",
        re.IGNORECASE,
    ),
    "is that of a server without a website": re.compile(
        r"welcome to nginx|apache2 \w+ default page\W*+it works|it works|iis windows server"
        r"|index of /.*"
        r"|default web site page|domain default page",
        re.IGNORECASE,
    ),
    "asks for a login": re.compile(
        r"log[ -]?in|sign[ -]?in|anmelden|einloggen|connexion", re.IGNORECASE
    ),
}


class PageHeadParser(HeadParser):
    """Reads what a page tells search engines: whether to index it, and which page it is a copy of.

    ``robots`` are the contents of ``<meta name="robots">``; ``canonicals``, ``alternates`` and
    ``refresh`` are addresses as written. ``titles`` are its title and the first headings.
    """

    silent = HeadParser.silent | {"noscript"}  # search engines run scripts

    def __init__(self) -> None:
        super().__init__()
        self.robots: list[str] = []
        self.canonicals: list[str] = []
        self.alternates: list[tuple[str, str]] = []
        self.refresh: str | None = None
        self.titles: dict[str, str] = {}
        self.has_body = self.has_content = False
        self._heading = ""

    def read(self, text: str) -> None:
        """Read the beginning of a page."""
        self._scanner.feed(text[:MAX_HEAD])
        self._scanner.close()
        self._scanner.handler = DEAF  # they know each other

    @property
    def says(self) -> str:
        """What its title says of a page that a server sends instead of one; usually nothing."""
        titles = [_PARTS.split(text) for text in self.titles.values()]
        parts = [part.strip(" \t\r\n.!?") for some in titles for part in some]
        if any(map(_NOT_FOUND.fullmatch, parts)):
            return "says that it was not found"
        found = (said for said, title in _NO_PAGE.items() if any(map(title.fullmatch, parts[:1])))
        return next(found, "")

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Look at a tag."""
        self.has_content |= self.has_body and name.lower() in _SHOWN
        super().start(name, attributes, empty)

    def text(self, raw: str) -> None:
        """Keep titles, and remember whether there is any other text."""
        inside = self._inside or self._heading
        if inside in ("title", "h1") and len(self.titles.get(inside, "")) < _LONGEST_TITLE:
            words = decode_text(raw[:_LONGEST_TITLE], ignore).split()
            self.titles[inside] = self.titles.get(inside, "") + " ".join(words)
        self.has_content |= self.has_body and not self._inside and not raw.isspace()

    def end(self, name: str) -> None:
        """Look at an end tag."""
        super().end(name)
        if name.lower() == "h1":
            self._heading = ""

    def _look_at(self, name: str, attributes: str) -> None:
        if name == "body":
            self.has_body = True
        elif name == "h1":
            self._heading = name
        elif name == "meta":
            given = read_attributes(attributes, ignore)
            if given.get("name", "").strip().lower() in ("robots", "googlebot", "bingbot"):
                self.robots.append(given.get("content", ""))
            if given.get("http-equiv", "").strip().lower() == "refresh":
                found = _REFRESH.match(given.get("content", ""))
                self.refresh = found[1].strip() if found else self.refresh
        elif name == "link" and not self.has_body:
            given = read_attributes(attributes, ignore)
            rel, href = given.get("rel", "").lower().split(), given.get("href", "").strip()
            if "canonical" in rel and href:
                self.canonicals.append(href)
            elif "alternate" in rel and href and given.get("hreflang"):
                self.alternates.append((given["hreflang"].strip().lower(), href))


class FetchedPage:
    """A page that was fetched: how, and what it says.

    ``exchange`` is the request and its response, as far as they are known, ``failure`` why there is
    no page, ``leads_to`` the URL to which it redirects. It may be something else that the sitemap has
    for a listed page: ``name`` is what messages call it.
    """

    def __init__(
        self, listed: Listed, result: Received | Failed, url: str = "", name: str = "the page"
    ) -> None:
        self.listed = listed
        self.url, self.name = url or listed.url, name
        self._received = result if isinstance(result, Received) else None
        self.exchange = result.exchange if isinstance(result, Failed) else result.document.exchange
        self.failure = failure_reason(result.error) if isinstance(result, Failed) else None
        self.status = None if self.exchange is None else self.exchange.status
        final = self.url if self.exchange is None else self.exchange.final_url
        self.leads_to = None if same_page(final, self.url) else final
        in_header = map(_REFRESH.match, self._headers("refresh"))
        refresh = next((found[1].strip() for found in in_header if found), self.head.refresh)
        if self.leads_to is None and refresh and self.failure is None:
            target = self._resolved(refresh)
            self.leads_to = target if target and not same_page(target, self.url) else None

    def located(self, hit: Hit, _: str = "") -> Hit:
        """Return a hit with the page, and where that is listed."""
        return replace(hit, page=self.listed.url, place=self.listed.place)

    @cached_property
    def head(self) -> PageHeadParser:
        """What the page tells search engines, if it is HTML."""
        parser = PageHeadParser()
        if self._received is not None and (self.kind or _HTML[0]) in _HTML:
            parser.read(text_of(self._received))
        return parser

    @property
    def kind(self) -> str:
        """Its media type, such as ``text/html``; empty if it is not known."""
        given = None if self._received is None else self._received.document.exchange.content_type
        return (given or "").partition(";")[0].strip().lower()

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
    def expired(self) -> datetime | None:
        """The time after which the page asks not to be shown, if that is over."""
        for text in (*self.head.robots, *self._headers("x-robots-tag")):
            _, found, after = text.lower().partition("unavailable_after:")
            date = read_date(after) or read_date(after.rpartition(",")[0]) if found else None
            if date is not None and in_utc(date) < datetime.now(UTC):
                return date
        return None

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing on the page."""
        if self._received is None:
            return False
        head = self.head
        return not text_of(self._received).strip() or (head.has_body and not head.has_content)

    @property
    def canonicals(self) -> Sequence[str]:
        """The URLs of the page that this one is a copy of, as it says: there should be one."""
        # PDF documents have no other place for it than the header ``Link``.
        links = (link for value in self._headers("link") for link in parse_header_links(value))
        named = (one["url"] for one in links if "canonical" in one.get("rel", "").lower().split())
        found = map(self._resolved, (*self.head.canonicals, *filter(None, named)))
        by_page: dict[str, str] = {}
        for url in filter(None, found):
            by_page.setdefault(normal_url(url.partition("#")[0]), url)
        return list(by_page.values())

    @property
    def alternates(self) -> Mapping[str, str]:
        """Its versions in other languages, as it says, by their codes."""
        found = ((code, self._resolved(href)) for code, href in self.head.alternates)
        return {code: url for code, url in found if url}

    def _resolved(self, written: str) -> str | None:
        try:
            return urljoin(self.exchange.final_url, written) if self.exchange else None
        except ValueError:
            return None


def fetched_pages(
    sample: Sequence[Listed], others: OtherRobots, *, linked: bool = False
) -> Iterator[FetchedPage]:
    """Fetch those of some pages that robots may fetch, and if they are ``linked``, their other URLs.

    A host that does not respond to the request for its robots.txt is not asked for its pages as well.
    """
    asked = {listed.url: (listed, "the page") for listed in sample}
    for listed in sample if linked else ():
        for url, name in filter(lambda one: is_http_url(one[0]), listed.linked()):
            asked.setdefault(url, (listed, name))
    origins = {url: origin_of(url) for url in asked}
    if others.start_url is None:  # of files: the website that most of the pages are on
        usual = Counter(origins.values()).most_common(1)
        others.start_url = next((origin for origin, _ in usual), None)
    others.ask(origins.values())
    allowed = []
    for url, origin in origins.items():
        if origin in others.silent:
            listed, name = asked[url]
            yield FetchedPage(listed, others.silent[origin], url, name)
        elif others.known[origin].allows(url):
            allowed.append(url)
    pauses = (others.known[origins[url]].delay for url in allowed)
    given = others.start_url or "", others.web_client, others.options
    for url, result in fetch_pages(allowed, *given, min(max(pauses, default=0.0), _MAX_PAUSE)):
        listed, name = asked[url]
        yield FetchedPage(listed, result, url, name)
