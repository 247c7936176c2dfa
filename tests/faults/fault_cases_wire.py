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


@case(
    "connection refused",
    failure="connect",
    declares=lambda _, server: [server.nobody() + "/b"],
    at="/b",
)
def _(base):
    return {}


@case("reset at every try", failure="")
def _(base):
    return reset()


@case("reset twice, then fine", found=ALL)
def _(base):
    return [reset(), reset(), ok(body(base))]


@case("closed before the status line", failure="")
def _(base):
    return hang_up()


@case("closed before the status line, then fine", found=ALL)
def _(base):
    return [hang_up(), ok(body(base))]


@case("silent before the status line", failure="")
def _(base):
    return Reply((PATIENCE,), "close")


# Heads --------------------------------------------------------------------------------------------


@case("reset in the middle of the headers", failure="")
def _(base):
    return reset_in_headers()


@case("a flood of headers", failure="")
def _(base):
    return Reply((b"HTTP/1.1 200 OK\r\n", Endless(b"X-Flood: flood\r\n" * 1000)), "close")


@case("a gigantic header", failure="")
def _(base):
    return Reply((b"HTTP/1.1 200 OK\r\nX-Long: ", Endless(b"x" * 65536)), "close")


@case("headers that drip", failure="", limits=QUICK)
def _(base):
    return Reply((b"HTTP/1.1 200 OK\r\n", Endless(b"X: y\r\n", pause=0.1)), "close")


@case("no HTTP at all", failure="")
def _(base):
    return Reply((b"SSH-2.0-OpenSSH_9.6\r\n",), "close")


@case("a status line that is none", failure="")
def _(base):
    return Reply((b"HTTP/1.1 banana\r\n\r\n" + body(base),), "close")


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


@case("a body that drips to its end", found=ALL)
def _(base):
    return drip(body(base), 0.002, 10)


@case("a body shorter than announced", found=4, failure="")
def _(base):
    return cut(body(base), at_page(base, 4))


@case("a body reset in the middle", found=4, failure="")
def _(base):
    sent = cut(body(base), at_page(base, 4)).parts
    return Reply((*sent, 0.05), "reset")


@case("a body that falls silent", found=4, failure="")
def _(base):
    return stall(body(base), at_page(base, 4))


@case("a body shorter than announced, once", found=ALL)
def _(base):
    return [cut(body(base), at_page(base, 4)), ok(body(base))]


@case("bodies of several lengths: the longest counts", found=7, failure="")
def _(base):
    return [cut(body(base), at_page(base, count)) for count in (2, 7, 3)]


@case("a body longer than announced", found=None, failure="")
def _(base):
    return ok(body(base), claims=at_page(base, 4), end="close")


@case("chunks without an end", found=ALL, failure="")
def _(base):
    return chunked(body(base), last=b"", end="close")


@case("chunks that go on for ever", found=ALL, failure="", limits=QUICK)
def _(base):
    sent = chunked(body(base).removesuffix(b"</urlset>"), last=b"").parts
    return Reply((*sent, Endless(b"1\r\n \r\n", pause=0.01)), "close")


@case("a chunk whose length is none", found=None, failure="")
def _(base):
    return chunked(body(base)[: at_page(base, 4)], last=b"zz\r\nno\r\n", end="close")


@case("a chunk that breaks off", found=4, failure="")
def _(base):
    return chunked(body(base)[: at_page(base, 4)], last=b"ffff\r\n", end="close")


@case("an endless body", found=ALL, failure="document_bytes", limits=Limits(document_bytes=1 << 20))
def _(base):
    return endless(body(base).removesuffix(b"</urlset>"), b" " * 65536)


@case("an empty body", failure="empty")
def _(base):
    return ok(b"")


# Answers ------------------------------------------------------------------------------------------


@case("500 four times, then fine", found=ALL)
def _(base):
    return [*[status("500 Internal Server Error")] * 4, ok(body(base))]


@case("500 for ever", failure="500")
def _(base):
    return status("500 Internal Server Error")


@case("403", failure="403")
def _(base):
    return status("403 Forbidden")


@case("404", failure="404")
def _(base):
    return status("404 Not Found")


@case("429 with seconds, then fine", found=ALL)
def _(base):
    return [status("429 Too Many Requests", retry_after=1), ok(body(base))]


@case("503 with a date, then fine", found=ALL)
def _(base):
    soon = format_datetime(datetime.now(UTC) + timedelta(seconds=1), usegmt=True)
    return [status("503 Service Unavailable", retry_after=soon), ok(body(base))]


@case("503 with a date that is past, then fine", found=ALL)
def _(base):
    return [
        status("503 Service Unavailable", retry_after="Thu, 01 Jan 1970 00:00:00 GMT"),
        ok(body(base)),
    ]


@case("429 that asks for a year", failure="429")
def _(base):
    return status("429 Too Many Requests", retry_after=365 * 24 * 3600)


@case("429 that asks for nonsense", failure="429")
def _(base):
    return status("429 Too Many Requests", retry_after="9" * 400)


@case("503 that asks for words, then fine", found=ALL)
def _(base):
    return [status("503 Service Unavailable", retry_after="soon; -1"), ok(body(base))]


@case("a challenge with status 200", failure="HTML")
def _(base):
    return ok(CHALLENGE, content_type="text/html")


@case("a challenge with status 403", failure="403")
def _(base):
    return status("403 Forbidden", CHALLENGE, server="cloudflare", cf_mitigated="challenge")


@case("a challenge with status 503", failure="503")
def _(base):
    return status("503 Service Unavailable", CHALLENGE, content_type="text/html")


# Redirects ----------------------------------------------------------------------------------------


@case("a chain of redirects", found=ALL)
def _(base):
    hops = {f"/hop{n}": redirect(f"/hop{n + 1}") for n in range(8)}
    return {"/bad.xml": redirect("/hop0"), **hops, "/hop8": ok(body(base))}


@case("a chain of redirects that is too long", failure="redirect", limits=Limits(redirects=5))
def _(base):
    hops = {f"/hop{n}": redirect(f"/hop{n + 1}") for n in range(8)}
    return {"/bad.xml": redirect("/hop0"), **hops, "/hop8": ok(body(base))}


@case("a loop of redirects", failure="redirect")
def _(base):
    return {"/bad.xml": redirect("/other.xml"), "/other.xml": redirect("/bad.xml")}


@case("a redirect to a file", failure="")
def _(base):
    return redirect("file:///etc/passwd")


@case("a redirect to gopher", failure="")
def _(base):
    return redirect("gopher://127.0.0.1:70/1")


@case("a redirect to nowhere", failure="")
def _(base):
    return redirect("http://[::1/x")


@case("a redirect without a target", failure="302")
def _(base):
    return status("302 Found", b"")


@case("a redirect with controls in its target", failure="")
def _(base):
    return redirect("http://127.0.0.1:1/\x1b[31m\x07")
