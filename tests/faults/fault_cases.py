"""One case for each fault: what is served, and what must come of it.

In every case robots.txt declares ``/good-1.xml``, then what is bad, then ``/good-2.xml``. What is
bad would have the pages ``/b0`` to ``/b9``.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from functools import cache
from typing import Any

from fault_replies import (
    CHALLENGE,
    PATIENCE,
    bomb,
    chunked,
    cut,
    drip,
    endless,
    hang_up,
    ok,
    packed,
    raw,
    redirect,
    reset,
    reset_in_headers,
    stall,
    status,
)

from usp.limits import Limits
from website import SITEMAP_NS, Endless, Site, index, robots, urlset

GOOD = [f"/g{n}" for n in range(6)]
BAD = [f"/b{n}" for n in range(10)]
ALL = len(BAD)
QUICK = Limits(document_seconds=0.8, seconds=6)


@dataclass(frozen=True)
class Case:
    """A fault. ``make`` gives what ``/bad.xml`` answers, or a table of answers; ``found`` is how many of the
    bad pages come, the first ones, None for any number of them.

    ``failure`` are words of the reason in ``failures()``, ``problem`` words in the problems of a node;
    None if there must be none.
    """

    name: str
    make: Callable[[], Any]
    found: int | None = 0
    failure: str | None = None
    problem: str | None = None
    limits: Limits = field(default_factory=Limits)

    def answers(self, declared: str) -> dict[str, Any]:
        """Return everything that the website of the case answers."""
        made = self.make()
        return {
            "/robots.txt": ok(site().fill(robots("/good-1.xml", declared, "/good-2.xml"))),
            "/good-1.xml": ok(body(GOOD[:3])),
            "/good-2.xml": ok(body(GOOD[3:])),
            **(made if isinstance(made, dict) else {"/bad.xml": made}),
        }


@cache
def site() -> Site:
    """Return the website of all cases: its answers are those of the case at hand."""
    return Site()


def body(paths: Iterable[str] = BAD) -> bytes:
    return site().fill(urlset(*paths))


def opened() -> bytes:
    """Return a body without its end."""
    return body().removesuffix(b"</urlset>")


def with_more(inside: bytes) -> bytes:
    """Return a body with something behind its pages."""
    return opened() + inside + b"</urlset>"


def at_page(number: int) -> int:
    """Return where in the body so many pages are complete, and the next one has begun."""
    return len(body(BAD[:number])) - len("</urlset>") + len("<url><loc>http://12")


def cut_at(number: int) -> Any:
    return cut(body(), at_page(number))


def listing(*urls: str) -> Any:
    return ok(site().fill(index(*urls)))


CASES: list[Case] = []


def fails(name: str, make: Callable[[], Any], failure: str = "", **options: Any) -> None:
    CASES.append(Case(name, make, failure=failure, **options))


def passes(name: str, make: Callable[[], Any], **options: Any) -> None:
    CASES.append(Case(name, make, found=ALL, **options))


fails("connection refused", dict, "connect")
fails("reset at every try", reset)
passes("reset twice, then fine", lambda: [reset(), reset(), ok(body())])
fails("closed before the status line", hang_up)
passes("closed before the status line, then fine", lambda: [hang_up(), ok(body())])
fails("silent before the status line", lambda: raw(PATIENCE))


fails("reset in the middle of the headers", reset_in_headers)
fails(
    "headers that drip",
    lambda: raw(b"HTTP/1.1 200 OK\r\n", Endless(b"X: y\r\n", 0.1)),
    limits=QUICK,
)


fails(
    "a body that drips without end", lambda: endless(opened(), b" ", 0.05), found=ALL, limits=QUICK
)
passes("a body that drips to its end", lambda: drip(body(), 0.002, 10))
fails("a body reset in the middle", lambda: cut(body(), at_page(4), 0.05, end="reset"), found=4)
fails("a body that falls silent", lambda: stall(body(), at_page(4)), found=4)
passes("a body shorter than announced, once", lambda: [cut_at(4), ok(body())])
fails(
    "bodies of several lengths: the longest counts",
    lambda: [cut_at(2), cut_at(7), cut_at(3)],
    found=7,
)
fails(
    "chunks that go on for ever",
    lambda: chunked(opened(), last=Endless(b"1\r\n \r\n", 0.01), end="close"),
    found=ALL,
    limits=QUICK,
)
fails(
    "an endless body",
    lambda: endless(opened(), b" " * 65536),
    "document_bytes",
    found=ALL,
    limits=Limits(document_bytes=1 << 20),
)
fails("an empty body", lambda: ok(b""), "empty")


ERROR, BUSY, LATER = "500 Internal Server Error", "429 Too Many Requests", "503 Service Unavailable"


def soon() -> str:
    return format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)


passes("500 four times, then fine", lambda: [*[status(ERROR)] * 4, ok(body())])
fails("500 for ever", lambda: status(ERROR), "500")
fails("403", lambda: status("403 Forbidden"), "403")
fails("404", lambda: status("404 Not Found"), "404")
passes("429 with seconds, then fine", lambda: [status(BUSY, retry_after=1), ok(body())])
passes("503 with a date, then fine", lambda: [status(LATER, retry_after=soon()), ok(body())])
passes(
    "503 with a date that is past, then fine",
    lambda: [status(LATER, retry_after="Thu, 01 Jan 1970 00:00:00 GMT"), ok(body())],
)
fails("429 that asks for a year", lambda: status(BUSY, retry_after=365 * 24 * 3600), "429")
fails("429 that asks for nonsense", lambda: status(BUSY, retry_after="9" * 400), "429")
passes(
    "503 that asks for words, then fine",
    lambda: [status(LATER, retry_after="soon; -1"), ok(body())],
)
fails("a challenge with status 200", lambda: ok(CHALLENGE, content_type="text/html"), "HTML")
fails(
    "a challenge with status 403",
    lambda: status("403 Forbidden", CHALLENGE, server="cloudflare", cf_mitigated="challenge"),
    "403",
)
fails(
    "a challenge with status 503", lambda: status(LATER, CHALLENGE, content_type="text/html"), "503"
)


def chain() -> dict[str, Any]:
    hops = {f"/hop{n}": redirect(f"/hop{n + 1}") for n in range(8)}
    return {"/bad.xml": redirect("/hop0"), **hops, "/hop8": ok(body())}


passes("a chain of redirects", chain)
fails("a chain of redirects that is too long", chain, "redirect", limits=Limits(redirects=5))
fails(
    "a loop of redirects",
    lambda: {"/bad.xml": redirect("/other.xml"), "/other.xml": redirect("/bad.xml")},
    "redirect",
)
fails("a redirect to a file", lambda: redirect("file:///etc/passwd"))
fails("a redirect to gopher", lambda: redirect("gopher://127.0.0.1:70/1"))
fails("a redirect to nowhere", lambda: redirect("http://[::1/x"))
fails("a redirect without a target", lambda: status("302 Found", b""), "302")
fails("a redirect with controls in its target", lambda: redirect("http://127.0.0.1:1/\x1b[31m\x07"))


def bad_checksum() -> Any:
    data = bytearray(packed(body()))
    data[-6] ^= 0xFF
    return ok(bytes(data))


fails(
    "gzip that breaks off",
    lambda: ok(packed(body())[: len(packed(body())) * 3 // 4]),
    "breaks off",
    found=None,
)
fails("gzip with a wrong checksum", bad_checksum, "compressed data", found=ALL)
passes("gzip in gzip, one announced", lambda: ok(packed(body(), 2), content_encoding="gzip"))
fails("a bomb of a thousand to one", lambda: ok(bomb(opened(), b" ", 48)), "limit", found=ALL)
fails("a bomb in a bomb", lambda: ok(packed(bomb(opened(), b" ", 48))), found=None)
fails(
    "a small bomb",
    lambda: ok(bomb(opened(), b" ", 4)),
    "unpacked_bytes",
    found=ALL,
    limits=Limits(unpacked_bytes=1 << 20),
)

# Markup -------------------------------------------------------------------------------------------

DEEP = 100_000


passes(
    "elements nested a hundred thousand deep", lambda: ok(with_more(b"<a>" * DEEP + b"</a>" * DEEP))
)
passes(
    "a hundred thousand elements that never end",
    lambda: ok(opened() + b"<a>" * DEEP),
    problem="breaks off",
)
passes(
    "a tag with a million attributes",
    lambda: ok(
        with_more(b"<url " + b"".join(b'a%d="" ' % n for n in range(1_000_000)) + b"></url>")
    ),
    problem="",
)
passes(
    "a gigantic text",
    lambda: ok(with_more(b"<url><loc>" + b"x" * (8 << 20) + b"</loc></url>")),
    problem="",
)
passes("a gigantic comment", lambda: ok(with_more(b"<!--" + b"-x" * (4 << 20) + b"-->")))
fails(
    "a document that ends in the middle",
    lambda: ok(body()[: at_page(4)]),
    "breaks off",
    found=4,
    problem="breaks off",
)
fails(
    "JSON instead of XML",
    lambda: ok(b'{"error": "no such sitemap"}', content_type="application/json"),
)
passes(
    "a document that breaks off before its root, then fine", lambda: [cut(body(), 10), ok(body())]
)
fails(
    "a document that breaks off earlier the second time",
    lambda: [cut_at(4), cut(body(), 10)],
    found=4,
)


def lines() -> bytes:
    return "".join(f"{site().base}{path}\n" for path in BAD).encode()


FLOOD = b"\n" * (48 << 10)
passes("a list of URLs and a flood of empty lines", lambda: ok(lines() + FLOOD))
fails("a flood of empty lines", lambda: ok(b"x" + FLOOD))
fails(
    "a list of URLs that breaks off in a line",
    lambda: cut(lines(), 4 * (len(site().base) + 4) + 12),
    found=4,
)


def indexes(*urls: str, **more: Any) -> dict[str, Any]:
    """Return the answers of an index that lists these, and ``/p.xml``."""
    return {"/bad.xml": listing(*urls, "/p.xml"), "/p.xml": ok(body()), **more}


passes(
    "indexes that list each other",
    lambda: indexes("/i1.xml", **{"/i1.xml": listing("/i2.xml"), "/i2.xml": listing("/bad.xml")}),
)
passes("an index that lists itself", lambda: indexes("/bad.xml"))
passes(
    "an index that lists what is no HTTP",
    lambda: indexes("file:///etc/passwd", "gopher://x/", "javascript:1"),
    problem="",
)
passes("an index with one child twelve times", lambda: indexes(*["/p.xml"] * 11))
passes(
    "a namespace that is none",
    lambda: ok(body().replace(SITEMAP_NS.encode(), b"http://example.org/none")),
)
