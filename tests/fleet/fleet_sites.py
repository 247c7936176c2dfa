"""Generated websites on loopback addresses, and what a crawl must find on each.

The site of a number is always the same: the server makes its answers from it, the tests the truth.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from website import full, index, robots, rss, urlset


@dataclass
class Answer:
    """A body; ``pause`` seconds before it, ``drip`` seconds between its pieces."""

    body: bytes = b""
    status: str = "200 OK"
    headers: tuple[str, ...] = ()
    pause: float = 0.0
    drip: float = 0.0


@dataclass
class FleetSite:
    """A website: its address, its answers, and its truth.

    ``sitemaps`` are the addresses, types and pages (None for those that list none) of its tree.
    """

    url: str
    kind: str
    answers: dict[str, Answer] = field(default_factory=dict)
    outcome: str = "complete"
    reason: str | None = None
    pages: list[tuple[str, str]] = field(default_factory=list)
    sitemaps: list[tuple[str, str, int | None]] = field(default_factory=list)

    def at(self, path: str) -> str:
        return self.url.rstrip("/") + path

    def serve(self, path: str, text: str, kind: str, pages: list[str] | None, **how: Any) -> bytes:
        """Serve a sitemap, in which these pages must be found; return its bytes."""
        body = text.replace("{base}", self.at("")).encode()
        self.answers[path] = Answer(body, **how)
        self.sitemaps.append((self.at(path), kind, None if pages is None else len(pages)))
        self.pages += [(self.at(path), self.at(page)) for page in pages or ()]
        return body

    def robots(self, *paths: str) -> None:
        self.serve("/robots.txt", robots(*paths), "robots", None)

    def index(self, path: str, *paths: str) -> None:
        self.serve(path, index(*paths), "index", None)

    def urlset(self, path: str, count: int, *, found: int | None = None, **how: Any) -> bytes:
        """Serve a sitemap of so many pages, of which so many must be found."""
        pages = [f"/page{path.replace('/', '-')}-{number}" for number in range(count)]
        entries = (
            f"<url><loc>{full(page)}</loc><lastmod>2024-{1 + n % 12:02}-{1 + n % 28:02}</lastmod></url>\n"
            for n, page in enumerate(pages)
        )
        return self.serve(path, urlset(*entries), "urlset", pages[:found], **how)

    def declared(self, count: int, *others: str, **how: Any) -> bytes:
        """Serve a sitemap of so many pages that robots.txt declares, with other paths."""
        self.robots("/map.xml", *others)
        return self.urlset("/map.xml", count, **how)

    def fails(self, path: str, outcome: str, reason: str) -> None:
        """Let the tree have a sitemap that is none, which is why the site ends like that."""
        self.sitemaps.append((self.at(path), "invalid", None))
        self.outcome, self.reason = outcome, reason


# The kinds ------------------------------------------------------------------------------------------


def indexed(site: FleetSite, number: int) -> None:
    names = [f"/part{at}.xml" for at in range(1 + number % 5)]
    site.robots("/index.xml")
    site.index("/index.xml", *names)
    for name in names:
        site.urlset(name, 5 + number % 7)


def packed(site: FleetSite, number: int) -> None:
    site.robots("/map.xml.gz")
    site.answers["/map.xml.gz"] = Answer(gzip.compress(site.urlset("/map.xml.gz", 30), mtime=0))


def text(site: FleetSite, number: int) -> None:
    site.robots("/list.txt")
    pages = [f"/line-{at}" for at in range(1 + number % 9)]
    site.serve("/list.txt", "\n".join(map(full, pages)), "text", pages)


def feed(site: FleetSite, number: int) -> None:
    site.robots("/feed.xml")
    pages = [f"/story-{at}" for at in range(3)]
    site.serve("/feed.xml", rss(*pages), "rss", pages)


def rich(site: FleetSite, number: int) -> None:
    site.robots("/rich.xml")
    pages = [f"/rich-{at}" for at in range(6)]
    entries = (
        f"<url><loc>{full(page)}</loc><lastmod>2024-05-0{1 + at}T10:00:00Z</lastmod><priority>0.8</priority>"
        f"<image:image><image:loc>{full(page)}.jpg</image:loc></image:image>"
        f'<xhtml:link rel="alternate" hreflang="de" href="{full(page)}?de"/></url>'
        for at, page in enumerate(pages)
    )
    spaces = (
        '<urlset xmlns:image="http://www.google.com/schemas/sitemap-image/1.1"'
        ' xmlns:xhtml="http://www.w3.org/1999/xhtml"'
    )
    site.serve("/rich.xml", urlset(*entries).replace("<urlset", spaces), "urlset", pages)


def forbidden(site: FleetSite, number: int) -> None:
    site.robots("/map.xml")
    site.answers["/map.xml"] = Answer(b"no", "403 Forbidden")
    site.fails("/map.xml", "failed", "403 Forbidden")


def half(site: FleetSite, number: int) -> None:
    site.robots("/good.xml", "/gone.xml")
    site.urlset("/good.xml", 12)
    site.fails("/gone.xml", "partial", "404 Not Found")


def broken(site: FleetSite, number: int) -> None:
    """End a document in the middle of its ninth entry."""
    body = site.declared(20, found=8)
    end = [at for at in range(len(body)) if body.startswith(b"<url>", at)][8] + 9
    site.answers["/map.xml"] = Answer(body[:end])
    site.outcome, site.reason = "partial", "breaks off"


def refusing(site: FleetSite, number: int) -> None:
    """Be nobody: another port, at which nothing listens."""
    site.url = site.url.rpartition(":")[0] + ":9/"
    site.outcome, site.reason = "failed", "connect"


def no_site(site: FleetSite, number: int) -> None:
    site.url = f"no site at all {number}"
    site.outcome, site.reason = "failed", "not a HTTP(s) URL"


def leading_inside(site: FleetSite, number: int) -> None:
    """Lead to the network of whoever crawls."""
    site.declared(4, "/away.xml")
    inside = "Location: http://169.254.169.254/latest/meta-data"
    site.answers["/away.xml"] = Answer(b"", "302 Found", (inside,))
    site.fails("/away.xml", "partial", "refused to connect to 169.254.169.254")


def bomb(site: FleetSite, number: int) -> None:
    site.declared(4, "/bomb.xml.gz")
    blank = urlset().removesuffix("</urlset>").encode() + b" " * 40_000_000
    site.answers["/bomb.xml.gz"] = Answer(gzip.compress(blank, 9, mtime=0))
    site.sitemaps.append((site.at("/bomb.xml.gz"), "urlset", 0))
    site.outcome, site.reason = "partial", "bomb.xml.gz"


def circular(site: FleetSite, number: int) -> None:
    """List an index in itself: nothing is missing because of that."""
    site.robots("/index.xml")
    site.index("/index.xml", "/map.xml", "/index.xml")
    site.urlset("/map.xml", 4)
    site.sitemaps.append((site.at("/index.xml"), "invalid", None))


def entities(site: FleetSite, number: int) -> None:
    site.robots("/map.xml")
    site.answers["/map.xml"] = Answer(
        b'<?xml version="1.0"?><!DOCTYPE urlset [<!ENTITY a "b">]><urlset><url><loc>&a;</loc></url></urlset>'
    )
    site.fails("/map.xml", "failed", "map.xml")


def huge(site: FleetSite, number: int) -> None:
    names = [f"/huge{at}.xml" for at in range(2)]
    site.robots("/index.xml")
    site.index("/index.xml", *names)
    for name in names:
        site.urlset(name, 10_000)


def unwell(site: FleetSite, number: int) -> None:
    """Fail twice before every answer; see the server."""
    site.declared(5)
    site.answers["/map.xml"].headers = ("X-Fail-First: 1",)


KINDS: dict[str, Callable[[FleetSite, int], object]] = {
    "small": lambda site, number: site.declared(1 + number % 40),
    "known_path": lambda site, number: site.urlset("/sitemap.xml", 1 + number % 15),
    "slow": lambda site, _: site.declared(10, pause=0.5),
    "dripping": lambda site, _: site.declared(60, drip=0.05),
    "empty": lambda site, _: setattr(site, "outcome", "empty"),
    **{
        kind.__name__: kind
        for kind in (
            indexed, packed, text, feed, rich, forbidden, half, broken, refusing, no_site,
            leading_inside, bomb, circular, entities, huge, unwell,
        )
    },
}  # fmt: skip
USUAL = ("small", "known_path", "indexed", "packed", "text", "feed", "rich")
_RARE = (
    *("slow", "dripping", "empty", "forbidden", "half", "broken", "refusing", "no_site"),
    *("leading_inside", "circular", "entities", "unwell", "empty", "half"),
    *[None] * 14,
)
_SELDOM = {17: "bomb", 117: "huge"}  # of every two hundred


def site_of(number: int, port: int) -> FleetSite:
    """Make the site of a number: at an address of its own, all at one port."""
    address = f"127.{1 + number // 62500}.{1 + number // 250 % 250}.{1 + number % 250}"
    rare = _RARE[number // 3 % 28] if number % 3 == 0 else None
    kind = _SELDOM.get(number % 200) or rare or USUAL[number % 7]
    site = FleetSite(f"http://{address}:{port}/", kind)
    KINDS[kind](site, number)
    return site


def fleet_of(count: int, port: int) -> list[FleetSite]:
    return [site_of(number, port) for number in range(count)]
