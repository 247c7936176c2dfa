"""Reads the bodies of responses from their records, as a store of documents does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._http.encodings import BodyDecoder
from usp._snapshot.http_message import HEAD_BYTES, read_head, without_chunks
from usp._snapshot.warc import DamagedRecord
from usp._store import Store
from usp.exceptions import SnapshotError
from usp.web_client.abstract_client import BrokenBody

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from usp._snapshot.http_message import ResponseHead
    from usp._snapshot.warc import Record, WarcFile


class RecordStore(Store):
    """The documents of a WARC file; a place is the offset of a record, and the bytes of its body.

    A pickled document is a copy in a store of its own, as any other.
    """

    def __init__(self, file: WarcFile) -> None:
        super().__init__()
        self._warc = file

    def read(self, places: Sequence[tuple[int, int]]) -> Iterator[bytes]:
        """Yield the bytes of a body; raises :class:`SnapshotError` if the file has changed since."""
        for offset, size in places:
            left = size
            try:
                for piece in recorded_body(self._warc.record(offset)):
                    yield piece[:left]
                    left -= min(left, len(piece))
                    if not left:
                        break
            except (DamagedRecord, BrokenBody) as error:
                raise SnapshotError(f"{self._warc.path}, at byte {offset:,}: {error}") from error
            if left:
                raise SnapshotError(f"{self._warc.path}, at byte {offset:,}: the record is cut off")


def opened(record: Record) -> tuple[ResponseHead | None, Iterator[bytes]]:
    """Return the head of the response in a record, and its body as it was recorded."""
    begun = record.beginning(HEAD_BYTES)
    head = read_head(begun)
    return head, _after(begun[head.size if head else 0 :], record)


def _after(begun: bytes, record: Record) -> Iterator[bytes]:
    if begun:
        yield begun
    yield from record.block()


def recorded_body(record: Record) -> Iterator[bytes]:
    """Yield the body of the response in a record, without chunks and unusual compressions."""
    head, pieces = opened(record)
    if head is not None and head.is_chunked:
        pieces = without_chunks(pieces)
    decoder = BodyDecoder(head.header("content-encoding") if head else None)
    for piece in pieces:
        yield from decoder.feed(piece)
    yield from decoder.close()
