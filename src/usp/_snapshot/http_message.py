"""Reads an HTTP response that stands in a record: its head, and its body without chunks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

HEAD_BYTES = 64 * 1024
"""Bytes of the status line and the headers of a response that are read."""

_SIZE = 32  # characters of the line before a chunk


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """The head of a response; ``size`` is how many bytes it takes."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    size: int

    def header(self, name: str) -> str | None:
        """Return the value of a header, ignoring case, or None."""
        return next((value for key, value in self.headers if key.lower() == name), None)

    @property
    def is_chunked(self) -> bool:
        """Whether the body was recorded in chunks, as it was transferred."""
        return "chunked" in (self.header("transfer-encoding") or "").lower()


def read_head(data: bytes) -> ResponseHead | None:
    """Return the head of the response that begins a block, or None if it does not begin so."""
    if not data.startswith(b"HTTP/"):
        return None
    ends = [at + len(mark) for mark in (b"\r\n\r\n", b"\n\n") if (at := data.find(mark)) >= 0]
    size = min(ends, default=len(data))
    first, *lines = data[:size].decode("latin-1").splitlines() or [""]
    _, _, rest = first.partition(" ")
    status, _, reason = rest.strip().partition(" ")
    if not (status.isascii() and status.isdigit()) or len(status) != 3:  # noqa: PLR2004
        return None
    headers = []
    for line in lines:
        name, colon, value = line.partition(":")
        if colon and name.strip():
            headers.append((name.strip(), value.strip()))
    return ResponseHead(int(status), reason.strip(), tuple(headers), size)


def without_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a body without its chunks; one that is not chunked after all is yielded as it is."""
    held, left, is_first = b"", 0, True
    for piece in pieces:
        held += piece
        while held:
            if left > 0:
                taken, held = held[:left], held[left:]
                left -= len(taken)
                yield taken
                continue
            line, end, after = held.lstrip(b"\r\n").partition(b"\n")
            if not end and len(held) <= _SIZE:
                break  # the rest of the line is in the next piece
            size = _chunk_size(line)
            if size is None:
                if is_first:
                    yield held
                    yield from pieces
                return
            if size == 0:
                return
            is_first, held, left = False, after, size


def _chunk_size(line: bytes) -> int | None:
    digits = line.partition(b";")[0].strip()
    try:
        return int(digits, 16) if digits and len(digits) <= _SIZE // 2 else None
    except ValueError:
        return None
