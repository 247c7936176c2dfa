"""Faults of the connection, the head, the body, and of answers that are none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

from fault_cases import ALL, at_page, body, case
from fault_replies import (
    CHALLENGE,
    chunked,
    cut,
    drip,
    endless,
    hang_up,
    head,
    ok,
    redirect,
    reset,
    reset_in_headers,
    stall,
    status,
)
from fault_server import PATIENCE, Endless, Reply

from usp.limits import Limits

QUICK = Limits(document_seconds=1.5, seconds=6)

# Connections --------------------------------------------------------------------------------------

case(
    "connection refused",
    lambda _: {},
    failure="connect",
    declares=lambda _, server: [server.nobody() + "/b"],
    at="/b",
)
case("reset at every try", lambda _: reset(), failure="")
case("reset twice, then fine", lambda base: [reset(), reset(), ok(body(base))], found=ALL)
case("closed before the status line", lambda _: hang_up(), failure="")
case(
    "closed before the status line, then fine", lambda base: [hang_up(), ok(body(base))], found=ALL
)
case("silent before the status line", lambda _: Reply((PATIENCE,), "close"), failure="")


# Heads --------------------------------------------------------------------------------------------

case("reset in the middle of the headers", lambda _: reset_in_headers(), failure="")
case(
    "a flood of headers",
    lambda _: Reply((b"HTTP/1.1 200 OK\r\n", Endless(b"X-Flood: flood\r\n" * 1000)), "close"),
    failure="",
)
case(
    "a gigantic header",
    lambda _: Reply((b"HTTP/1.1 200 OK\r\nX-Long: ", Endless(b"x" * 65536)), "close"),
    failure="",
)
case(
    "headers that drip",
    lambda _: Reply((b"HTTP/1.1 200 OK\r\n", Endless(b"X: y\r\n", pause=0.1)), "close"),
    failure="",
    limits=QUICK,
)
case("no HTTP at all", lambda _: Reply((b"SSH-2.0-OpenSSH_9.6\r\n",), "close"), failure="")
case(
    "a status line that is none",
    lambda base: Reply((b"HTTP/1.1 banana\r\n\r\n" + body(base),), "close"),
    failure="",
)


@case("two lengths that contradict each other", failure="")
def _(base):
    text = body(base)
    lengths = f"Content-Length: {len(text)}\r\nContent-Length: 7\r\n\r\n".encode()
    return Reply((b"HTTP/1.1 200 OK\r\n" + lengths + text,), "close")


# Bodies -------------------------------------------------------------------------------------------


@case("a body that drips without end", found=ALL, failure="", limits=QUICK)
def _(base):
    text = body(base).removesuffix(b"</urlset>")
    return Reply((head(), text, Endless(b" ", pause=0.05)), "close")


case("a body that drips to its end", lambda base: drip(body(base), 0.002, 10), found=ALL)
case(
    "a body shorter than announced",
    lambda base: cut(body(base), at_page(base, 4)),
    found=4,
    failure="",
)


@case("a body reset in the middle", found=4, failure="")
def _(base):
    sent = cut(body(base), at_page(base, 4)).parts
    return Reply((*sent, 0.05), "reset")


case(
    "a body that falls silent",
    lambda base: stall(body(base), at_page(base, 4)),
    found=4,
    failure="",
)
case(
    "a body shorter than announced, once",
    lambda base: [cut(body(base), at_page(base, 4)), ok(body(base))],
    found=ALL,
)
case(
    "bodies of several lengths: the longest counts",
    lambda base: [cut(body(base), at_page(base, count)) for count in (2, 7, 3)],
    found=7,
    failure="",
)
case(
    "a body longer than announced",
    lambda base: ok(body(base), claims=at_page(base, 4), end="close"),
    found=None,
    failure="",
)
case(
    "chunks without an end",
    lambda base: chunked(body(base), last=b"", end="close"),
    found=ALL,
    failure="",
)


@case("chunks that go on for ever", found=ALL, failure="", limits=QUICK)
def _(base):
    sent = chunked(body(base).removesuffix(b"</urlset>"), last=b"").parts
    return Reply((*sent, Endless(b"1\r\n \r\n", pause=0.01)), "close")


case(
    "a chunk whose length is none",
    lambda base: chunked(body(base)[: at_page(base, 4)], last=b"zz\r\nno\r\n", end="close"),
    found=None,
    failure="",
)
case(
    "a chunk that breaks off",
    lambda base: chunked(body(base)[: at_page(base, 4)], last=b"ffff\r\n", end="close"),
    found=4,
    failure="",
)
case(
    "an endless body",
    lambda base: endless(body(base).removesuffix(b"</urlset>"), b" " * 65536),
    found=ALL,
    failure="document_bytes",
    limits=Limits(document_bytes=1 << 20),
)
case("an empty body", lambda _: ok(b""), failure="empty")


# Answers ------------------------------------------------------------------------------------------

case(
    "500 four times, then fine",
    lambda base: [*[status("500 Internal Server Error")] * 4, ok(body(base))],
    found=ALL,
)
case("500 for ever", lambda _: status("500 Internal Server Error"), failure="500")
case("403", lambda _: status("403 Forbidden"), failure="403")
case("404", lambda _: status("404 Not Found"), failure="404")
case(
    "429 with seconds, then fine",
    lambda base: [status("429 Too Many Requests", retry_after=1), ok(body(base))],
    found=ALL,
)


@case("503 with a date, then fine", found=ALL)
def _(base):
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    return [status("503 Service Unavailable", retry_after=soon), ok(body(base))]


case(
    "503 with a date that is past, then fine",
    lambda base: [
        status("503 Service Unavailable", retry_after="Thu, 01 Jan 1970 00:00:00 GMT"),
        ok(body(base)),
    ],
    found=ALL,
)
case(
    "429 that asks for a year",
    lambda _: status("429 Too Many Requests", retry_after=365 * 24 * 3600),
    failure="429",
)
case(
    "429 that asks for nonsense",
    lambda _: status("429 Too Many Requests", retry_after="9" * 400),
    failure="429",
)
case(
    "503 that asks for words, then fine",
    lambda base: [status("503 Service Unavailable", retry_after="soon; -1"), ok(body(base))],
    found=ALL,
)
case(
    "a challenge with status 200", lambda _: ok(CHALLENGE, content_type="text/html"), failure="HTML"
)
case(
    "a challenge with status 403",
    lambda _: status("403 Forbidden", CHALLENGE, server="cloudflare", cf_mitigated="challenge"),
    failure="403",
)
case(
    "a challenge with status 503",
    lambda _: status("503 Service Unavailable", CHALLENGE, content_type="text/html"),
    failure="503",
)


# Redirects ----------------------------------------------------------------------------------------


@case("a chain of redirects", found=ALL)
def _(base):
    hops = {f"/hop{n}": redirect(f"/hop{n + 1}") for n in range(8)}
    return {"/bad.xml": redirect("/hop0"), **hops, "/hop8": ok(body(base))}


@case("a chain of redirects that is too long", failure="redirect", limits=Limits(redirects=5))
def _(base):
    hops = {f"/hop{n}": redirect(f"/hop{n + 1}") for n in range(8)}
    return {"/bad.xml": redirect("/hop0"), **hops, "/hop8": ok(body(base))}


case(
    "a loop of redirects",
    lambda _: {"/bad.xml": redirect("/other.xml"), "/other.xml": redirect("/bad.xml")},
    failure="redirect",
)
case("a redirect to a file", lambda _: redirect("file:///etc/passwd"), failure="")
case("a redirect to gopher", lambda _: redirect("gopher://127.0.0.1:70/1"), failure="")
case("a redirect to nowhere", lambda _: redirect("http://[::1/x"), failure="")
case("a redirect without a target", lambda _: status("302 Found", b""), failure="302")
case(
    "a redirect with controls in its target",
    lambda _: redirect("http://127.0.0.1:1/\x1b[31m\x07"),
    failure="",
)
