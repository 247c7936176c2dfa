"""Reads the bodies of responses from their records, as a store of documents does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._http.encodings import BodyDecoder
from usp._snapshot.http_message import HEAD_BYTES, read_head, without_chunks
from usp._snapshot.warc import DamagedRecord
from usp._store import DamagedDocument, Store
from usp.objects.failure_codes import FailureCode
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
        """Yield the bytes of a body; raises :class:`DamagedDocument` if they are not all there."""
        for offset, size in places:
            left = size
            try:
                for piece in recorded_body(self._warc.record(offset)):
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
    """Yield the body of the response in a record, without chunks and unusual compressions.

    Raises :class:`DamagedRecord` at the end if what was read is not what was written.
    """
    head, pieces = opened(record)
    if head is not None and head.is_chunked:
        pieces = without_chunks(pieces)
    decoder = BodyDecoder(head.header("content-encoding") if head else None)
    for piece in pieces:
        yield from decoder.feed(piece)
    yield from decoder.close()
    record.check_end()
