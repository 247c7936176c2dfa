"""Generated websites on loopback addresses, what a crawl must find on each, and their server.

The site of a number is always the same: the server makes its answers from it, the tests the truth.
``python fleet_sites.py COUNT [LATENCY]`` is a thousand websites in one process, and prints its port:
whichever address of loopback is asked, that one answers.
"""

import asyncio
import gzip
import sys
from collections import Counter, defaultdict
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


# A server that is all of them ---------------------------------------------------------------------


_NOT_FOUND = Answer(b"no", "404 Not Found")


class Loopback:
    """Answers by address and path, each after some ``latency``; ``most`` were asked for at a time."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.port = 0
        self.answers: dict[str, dict[str, Answer]] = defaultdict(dict)
        self.most: Counter[str] = Counter()
        self._active: Counter[str] = Counter()
        self._asked: Counter[tuple[str, str]] = Counter()

    def answers_of(self, address: str) -> dict[str, Answer]:
        return self.answers[address]

    async def start(self) -> asyncio.Server:
        server = await asyncio.start_server(self._serve, "0.0.0.0", 0, backlog=4096)
        self.port = server.sockets[0].getsockname()[1]
        return server

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                path = head.split(b" ", 2)[1].decode()
                answer = self.answers_of(address).get(path, _NOT_FOUND)
                self._asked[address, path] += 1
                if "X-Fail-First: 1" in answer.headers and self._asked[address, path] <= 1:
                    answer = Answer(b"later", "503 Service Unavailable", ("Retry-After: 0",))
                self._active[address] += 1
                self.most[address] = max(self.most[address], self._active[address])
                await asyncio.sleep(self.latency + answer.pause)
                self._active[address] -= 1
                await self._send(writer, answer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    async def _send(self, writer: asyncio.StreamWriter, answer: Answer) -> None:
        lines = [
            f"HTTP/1.1 {answer.status}",
            f"Content-Length: {len(answer.body)}",
            *answer.headers,
        ]
        writer.write("\r\n".join([*lines, "\r\n"]).encode())
        step = len(answer.body) // 8 + 1 if answer.drip else len(answer.body) or 1
        for at in range(0, len(answer.body), step):
            writer.write(answer.body[at : at + step])
            await writer.drain()
            await asyncio.sleep(answer.drip)


class Fleet(Loopback):
    """The sites of numbers, made when they are first asked for."""

    def __init__(self, count: int, latency: float) -> None:
        super().__init__(latency)
        self._count = count

    def answers_of(self, address: str) -> dict[str, Answer]:
        if address not in self.answers:
            _, a, b, c = map(int, address.split("."))
            number = (a - 1) * 62500 + (b - 1) * 250 + c - 1
            known = 0 <= number < self._count
            self.answers[address] = site_of(number, self.port).answers if known else {}
        return self.answers[address]


async def main() -> None:
    fleet = Fleet(int(sys.argv[1]), float(sys.argv[2]) if len(sys.argv) > 2 else 0.0)
    server = await fleet.start()
    print(fleet.port, flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
