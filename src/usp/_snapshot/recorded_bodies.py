"""Reads HTTP responses from their records: their heads, and their bodies as a store of documents."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import chain, islice
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._base.safe_text import printable
from usp._http.encodings import BodyDecoder
from usp._snapshot.warc import GZIP, DamagedRecord, end_of_head, header_lines
from usp._store import DamagedDocument, Store
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import BrokenBody

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp._snapshot.warc import WarcFile, WarcRecord

_HEAD_BYTES = 64 * 1024  # of a response that are read
_HEADERS = 500  # that are read; no server sends so many
_DIGITS = 16  # of the size of a chunk
_LINE = 1024  # bytes of the line before a chunk, extensions included
_CHUNK_LINE = re.compile(rb"[\r\n]{0,8}+([^\n]{0,1000})\n")
_ONCE_MORE, _LEAST = 10, 64 * 1024  # ratio of a compressed body in its record, beyond so many bytes


class RecordStore(Store):
    """The documents of a WARC file; a place is the offset of a record, and the bytes of its body.

    A pickled document is a copy in a store of its own, as any other.
    """

    def __init__(self, file: WarcFile, ratio: float | None) -> None:
        super().__init__()
        self._warc = file
        self._ratio = ratio

    def read(self, places: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the bytes of a body; raises :class:`DamagedDocument` if they are not all there."""
        for offset, size in places:
            left = size
            try:
                for piece in recorded_body(self._warc.record(offset), self._ratio):
                    if not left:  # a limit ended it there; at the end of a record, it is checked
                        break
                    yield piece[:left]
                    left -= min(left, len(piece))
            except (DamagedRecord, BrokenBody) as error:
                raise DamagedDocument(damaged(error)) from error
            if left:
                raise DamagedDocument(damaged("it is cut off"))


def damaged(why: object) -> Reason:
    """Return why a document cannot be read from its record, or not to its end."""
    code = FailureCode.DAMAGED_RECORD
    return Reason(code, f"{code.message}: {why}")


def opened(
    record: WarcRecord, ratio: float | None = None
) -> tuple[RecordedHead | None, Iterator[bytes]]:
    """Return the head of the response in a record, and its body as it was recorded."""
    begun = record.beginning(_HEAD_BYTES)
    head = read_head(begun)
    begun = begun[head.size if head else 0 :]
    if begun.startswith(GZIP):  # what is compressed already becomes hardly smaller
        rest = record.block(min(_ONCE_MORE, ratio or _ONCE_MORE), _LEAST)
    else:
        rest = record.block(ratio)
    return head, chain((begun,) if begun else (), rest)


def recorded_body(record: WarcRecord, ratio: float | None) -> Iterator[bytes]:
    """Yield the body of the response in a record, without chunks and unusual compressions.

    Raises :class:`DamagedRecord` at the end if what was read is not what was written, and before it
    if the record is compressed by more than ``ratio``.
    """
    head, pieces = opened(record, ratio)
    if head is not None and "chunked" in (head.header("transfer-encoding") or "").lower():
        pieces = without_chunks(pieces)
    decoder = BodyDecoder(head.header("content-encoding") if head else None)
    for piece in pieces:
        yield from decoder.feed(piece)
    yield from decoder.close()
    record.check_end()


@dataclass(frozen=True, slots=True)
class RecordedHead:
    """The head of a response; ``size`` is how many bytes it takes."""

    status: int
    reason: str
    headers: tuple[tuple[str, str], ...]
    size: int

    def header(self, name: str) -> str | None:
        """Return the value of a header, ignoring case, or None."""
        return next((value for key, value in self.headers if key.lower() == name), None)


def read_head(data: bytes) -> RecordedHead | None:
    """Return the head of the response that begins a block, or None if it does not begin so."""
    if not data.startswith(b"HTTP/"):
        return None
    size = end_of_head(data) or len(data)
    head = data[:size].decode("latin-1")
    _, _, rest = head.partition("\n")[0].partition(" ")
    status, _, reason = rest.strip().partition(" ")
    if not (status.isascii() and status.isdigit()) or len(status) != 3:  # noqa: PLR2004
        return None
    headers = tuple(
        (printable(name), printable(value)) for name, value in islice(header_lines(head), _HEADERS)
    )
    return RecordedHead(int(status), printable(reason.strip()), headers, size)


def without_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """Yield a body without its chunks; one that is not chunked after all is yielded as it is."""
    pieces = iter(pieces)
    held, left, is_first = b"", 0, True
    for piece in pieces:
        held += piece
        at, parts = 0, list[bytes]()  # what is small stays together, however small the chunks are
        while at < len(held):
            if left > 0:
                parts.append(held[at : at + left])
                at, left = at + len(parts[-1]), left - len(parts[-1])
                continue
            line = _CHUNK_LINE.match(held, at)
            if line is None and len(held) - at <= _LINE:
                break  # the rest of the line is in the next piece
            size = None if line is None else _chunk_size(line[1])
            if size is None and is_first:
                yield held
                yield from pieces
                return
            if not size or line is None:
                yield b"".join(parts)
                return
            is_first, left, at = False, size, line.end()
        held = held[at:]
        if parts:
            yield b"".join(parts)
    if is_first and held:
        yield held


def _chunk_size(line: bytes) -> int | None:
    digits = line.partition(b";")[0].strip()
    try:
        return int(digits, 16) if digits and len(digits) <= _DIGITS else None
    except ValueError:
        return None
