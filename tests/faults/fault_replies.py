"""Replies, good and bad: what is put on the wire, byte by byte."""

from __future__ import annotations

import gzip
from collections.abc import Mapping

from fault_server import PATIENCE, Endless, Reply

CHALLENGE = (
    b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>"
    b"<noscript>Enable JavaScript and cookies to continue</noscript></body></html>"
)
PAGE = b"<!DOCTYPE html><html><head><title>Shop</title></head><body>Welcome</body></html>"


def head(status: str = "200 OK", headers: Mapping[str, object] | None = None) -> bytes:
    lines = "".join(f"{name}: {value}\r\n" for name, value in (headers or {}).items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1")


def ok(body: bytes, *, claims: int | None = None, end: str = "keep", **headers: object) -> Reply:
    """Answer 200; ``claims`` is the length that it says it has. ``content_type`` is a header."""
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    length = len(body) if claims is None else claims
    return Reply((head(headers={"Content-Length": length, **named}), body), end)


def status(line: str, body: bytes = b"no", **headers: object) -> Reply:
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    return Reply((head(line, {"Content-Length": len(body), **named}), body))


def redirect(target: str, line: str = "302 Found") -> Reply:
    return status(line, b"", location=target)


def reset() -> Reply:
    """Take the request, and reset the connection."""
    return Reply((), "reset")


def hang_up() -> Reply:
    """Take the request, and close before the status line."""
    return Reply((), "close")


def reset_in_headers() -> Reply:
    return Reply((b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nX-Half", 0.01), "reset")


def cut(body: bytes, at: int, end: str = "close") -> Reply:
    """Promise the whole body, send a part of it, and hang up."""
    return ok(body[:at], claims=len(body), end=end)


def stall(body: bytes, at: int) -> Reply:
    """Promise the whole body, send a part of it, and fall silent."""
    sent = ok(body[:at], claims=len(body))
    return Reply((*sent.parts, PATIENCE), "close")


def drip(body: bytes, pause: float, size: int = 1) -> Reply:
    """Send a body a few bytes at a time."""
    parts: list[bytes | float] = [head(headers={"Content-Length": len(body)})]
    for at in range(0, len(body), size):
        parts += [body[at : at + size], pause]
    return Reply(tuple(parts))


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)


def chunked(*pieces: bytes, last: bytes = b"0\r\n\r\n", end: str = "keep") -> Reply:
    """Send chunks; ``last`` is what stands where the last chunk should."""
    opening = head(headers={"Transfer-Encoding": "chunked"})
    return Reply((opening, *map(chunk, pieces), last), end)


def endless(start: bytes, piece: bytes, seconds: float = PATIENCE) -> Reply:
    return Reply((head(), start, Endless(piece, seconds=seconds)), "close")


def bomb(plain: bytes, filler: bytes, mebibytes: int) -> bytes:
    """Pack ``plain`` and then so many MiB of one byte: about a thousand to one."""
    import zlib  # noqa: PLC0415

    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = filler * (1 << 20)
    pieces = [packer.compress(plain), *(packer.compress(block) for _ in range(mebibytes))]
    return b"".join([*pieces, packer.flush()])


def packed(body: bytes, layers: int = 1) -> bytes:
    for _ in range(layers):
        body = gzip.compress(body, mtime=0)
    return body
