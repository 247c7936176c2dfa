"""Replies, good and bad: what is put on the wire, byte by byte."""

import gzip
import zlib

from website import Answer, Endless

PATIENCE = 20.0
"""Seconds of silence, or of what never ends."""
CHALLENGE = (
    b"<!DOCTYPE html><html><head><title>Just a moment...</title></head><body>"
    b"<noscript>Enable JavaScript and cookies to continue</noscript></body></html>"
)
PAGE = b"<!DOCTYPE html><html><head><title>Shop</title></head><body>Welcome</body></html>"


def raw(*parts: bytes | float | Endless, end: str = "close") -> Answer:
    return Answer(raw=parts, end=end)


def head(status: str = "200 OK", **headers: object) -> bytes:
    """Write a head; ``content_type`` is a header."""
    named = {name.replace("_", "-").title(): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in named.items())
    return f"HTTP/1.1 {status}\r\n{lines}\r\n".encode("latin-1")


def status(line: str, body: bytes = b"no", **headers: object) -> Answer:
    return raw(head(line, content_length=len(body), **headers), body, end="keep")


def ok(body: bytes, *, claims: int | None = None, end: str = "keep", **headers: object) -> Answer:
    """Answer 200; ``claims`` is the length that it says it has."""
    length = len(body) if claims is None else claims
    return raw(head(content_length=length, **headers), body, end=end)


def redirect(target: str, line: str = "302 Found") -> Answer:
    return status(line, b"", location=target)


def reset() -> Answer:
    """Take the request, and reset the connection."""
    return raw(end="reset")


def hang_up() -> Answer:
    """Take the request, and close before the status line."""
    return raw()


def reset_in_headers() -> Answer:
    return raw(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nX-Half", 0.01, end="reset")


def cut(body: bytes, at: int, *then: float, end: str = "close") -> Answer:
    """Promise the whole body, send a part of it, and hang up, perhaps after a silence."""
    return raw(head(content_length=len(body)), body[:at], *then, end=end)


def stall(body: bytes, at: int) -> Answer:
    """Promise the whole body, send a part of it, and fall silent."""
    return cut(body, at, PATIENCE)


def drip(body: bytes, pause: float, size: int = 1) -> Answer:
    """Send a body a few bytes at a time."""
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    dripping = [part for piece in pieces for part in (piece, pause)]
    return raw(head(content_length=len(body)), *dripping, end="keep")


def chunked(*pieces: bytes, last: bytes | Endless = b"0\r\n\r\n", end: str = "keep") -> Answer:
    """Send chunks; ``last`` is what stands where the last chunk should."""
    chunks = (b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces)
    return raw(head(transfer_encoding="chunked"), *chunks, last, end=end)


def endless(start: bytes, piece: bytes, pause: float = 0.0) -> Answer:
    """Send a body that has a beginning, but no end."""
    return raw(head(), start, Endless(piece, pause))


def bomb(plain: bytes, filler: bytes, mebibytes: int) -> bytes:
    """Pack ``plain`` and then so many MiB of one byte: about a thousand to one."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    block = filler * (1 << 20)
    pieces = [packer.compress(plain), *(packer.compress(block) for _ in range(mebibytes))]
    return b"".join([*pieces, packer.flush()])


def packed(body: bytes, layers: int = 1) -> bytes:
    for _ in range(layers):
        body = gzip.compress(body, mtime=0)
    return body
