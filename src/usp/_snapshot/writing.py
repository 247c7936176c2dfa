"""Writes a snapshot: a WARC file, by ``warcio``, of what a crawl has fetched, and of what failed.

For each document there are the records of its requests and responses, redirects included, and then a
``metadata`` record with its :class:`Entry`: only then does it count. At the end are all entries once
more, the index, and a record that says where that is: a file without it is incomplete.
"""

from __future__ import annotations

import base64
import hashlib
import json
import shutil
import tempfile
import zlib
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from io import BytesIO
from typing import IO, TYPE_CHECKING, Any

from usp._base.safe_text import printable
from usp._base.urls import BadUrl, read_url
from usp._http.flow import phrase
from usp._snapshot.heads import address_of, fitting, hops_of, with_location
from usp.exceptions import SnapshotError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from usp._snapshot.entries import Entry
    from usp._snapshot.warc import WarcFile
    from usp._store import Document
    from usp.objects.exchange import Exchange, Hop

ENTRY = "urn:usp:entry:"
INDEX = "urn:usp:index"
END = "urn:usp:end"
"""The targets of the entries of documents, and of the two records at the end."""

ENTRY_FIELD, END_FIELD = "usp-entry: ", "usp-end: "
"""How the lines of these records begin, before a value in JSON."""

# Other programs do not list records of this type as documents, and check no digest of a payload.
_METADATA = "application/warc-fields"
_NOT_MODIFIED = "http://netpreserve.org/warc/1.1/revisit/server-not-modified"
_COPY = 1024 * 1024
_HELD = 8 * 1024 * 1024  # bytes of a compressed record in memory
_FAST, _SMALL, _STORED = 1, 6, 0  # levels of compression: of documents, of the rest, of gzip
_TRUNCATED = {"limit-document-bytes": "length", "limit-seconds": "time"}


def need_warcio() -> Any:
    """Return the modules of ``warcio``; raises :class:`SnapshotError` if it is not installed."""
    try:
        from warcio import statusandheaders, warcwriter  # type: ignore[import-untyped]  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SnapshotError("writing a snapshot needs warcio: pip install 'usp[warc]'") from error
    return warcwriter, statusandheaders


class _Member:
    """A gzip member of a file, which holds one record."""

    def __init__(self, stream: IO[bytes] | _Summed, level: int) -> None:
        self._stream = stream
        self._deflate = zlib.compressobj(level, zlib.DEFLATED, 31)

    def write(self, data: bytes) -> None:
        self._stream.write(self._deflate.compress(data))

    def flush(self) -> None:
        self._stream.write(self._deflate.flush())


class _Summed:
    """A stream that is written to, with a checksum of what was written since the last document."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self.tell = stream.tell
        self.sum = 0

    def write(self, data: bytes) -> None:
        self.sum = zlib.crc32(data, self.sum)
        self._stream.write(data)


class _Pieces:
    """A stream over the chunks of a document, in pieces of any size."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)

    def read(self, _: int = -1) -> bytes:
        return next(self._chunks, b"")


@dataclass(frozen=True, slots=True)
class Packed:
    """The compressed record of a response, which is to be written."""

    data: IO[bytes]
    digest: str
    record_id: str


class SnapshotWriter:
    """Writes the records of a snapshot to a stream, one document after another."""

    def __init__(self, stream: IO[bytes], info: dict[str, str]) -> None:
        self._stream = _Summed(stream)
        self._warcio, self._heads = need_warcio()
        self._entries: dict[tuple[object, str], Entry] = {}
        writer = self._writer(_SMALL)
        self._write(writer, writer.create_warcinfo_record(None, info))

    @property
    def entries(self) -> Sequence[Entry]:
        """What was written so far, each document as it is now."""
        return tuple(self._entries.values())

    def pack(self, entry: Entry, document: Document) -> Packed | None:
        """Return the compressed record of a response, to be added; may be called in any thread."""
        exchange = entry.exchange
        if exchange is None or exchange.status is None:
            return None
        return self._pack(exchange, hops_of(exchange)[-1], exchange.headers, document, entry)

    def add(
        self, entry: Entry, document: Document | None = None, packed: Packed | None = None
    ) -> Entry:
        """Write a document that was just fetched, or why it was not; return where it is.

        ``packed`` is its response, if that is compressed already.
        """
        start, at, digest = self._stream.tell(), None, None
        self._stream.sum = 0
        exchange = entry.exchange
        if exchange is not None and exchange.status is not None:
            *redirects, last = hops_of(exchange)
            for hop, target in zip(redirects, [*redirects, last][1:], strict=True):
                packed_hop = self._pack(exchange, hop, with_location(hop, target.url))
                self._put(exchange, hop, packed_hop)
            packed = packed or self._pack(exchange, last, exchange.headers, document, entry)
            at, digest = self._put(exchange, last, packed), packed.digest
        end = self._stream.tell()
        place = at if document is not None else None
        entry = replace(entry, start=start, end=end, at=place, sum=self._stream.sum)
        return self._keep(replace(entry, digest=digest))

    def carry(
        self, file: WarcFile, old: Entry, new: Entry, revisit: Exchange | None = None
    ) -> Entry:
        """Copy the records of a document from another snapshot; ``new`` is what is known of it now.

        ``revisit`` is what was said when it was asked for again and was still the same.
        """
        start = self._copy(file, old)
        by = start - old.start
        assert old.at is not None
        entry = replace(new, start=start, end=old.end + by, at=old.at + by, sum=old.sum)
        entry = replace(entry, digest=old.digest)
        if revisit is not None and old.digest is not None:
            self._revisit(old, revisit)
        return self._keep(entry)

    def _revisit(self, old: Entry, seen: Exchange) -> None:
        """Write that a document is still the same: the server said so, or sent it once more."""
        writer, exchange = self._writer(_SMALL), old.exchange
        assert exchange is not None
        hops = hops_of(seen)
        target = _target(exchange.final_url)
        record = writer.create_revisit_record(
            target,
            old.digest,
            target,
            _date(exchange.started),
            http_headers=self._response_head(hops[-1], fitting(seen.headers, 0, b"")),
            warc_headers_dict={"WARC-Date": _date(seen.started), **address_of(hops[-1])},
        )
        if seen.status == HTTPStatus.NOT_MODIFIED:
            record.rec_headers.replace_header("WARC-Profile", _NOT_MODIFIED)
            record.rec_headers.remove_header("WARC-Payload-Digest")  # nothing was compared by it
        self._write(writer, record)

    def keep_before(self, file: WarcFile, old: Entry) -> Entry:
        """Copy the last good response of a document that fails now; return where it is."""
        start = self._copy(file, old)
        by = start - old.start
        assert old.at is not None
        return replace(old, start=start, end=old.end + by, at=old.at + by, before=None)

    def close(self, facts: dict[str, Any]) -> None:
        """Write the index, and then the record that says that the snapshot is complete."""
        index = self._stream.tell()
        self._metadata(INDEX, "".join(map(_line, self._entries.values())))
        end = {**facts, "index": index, "documents": len(self._entries)}
        self._metadata(END, f"{END_FIELD}{json.dumps(end)}\r\n")

    def _copy(self, file: WarcFile, old: Entry) -> int:
        start = self._stream.tell()
        for at in range(old.start, old.end, _COPY):
            data = file.read(at, min(_COPY, old.end - at))
            if not data:
                raise SnapshotError(f"{file.path} ends before the records of {old.url}")
            self._stream.write(data)
        return start

    def _keep(self, entry: Entry) -> Entry:
        entry = replace(entry, here=self._stream.tell())
        self._entries[entry.key] = entry
        # Of a URL that has a response, other programs are to find that alone.
        target = _target(entry.url) if entry.at is None else f"{ENTRY}{_target(entry.url)}"
        self._metadata(target, _line(entry))
        return entry

    def _metadata(self, target: str, lines: str) -> None:
        writer, data = self._writer(_SMALL), lines.encode()
        writer.NO_PAYLOAD_DIGEST_TYPES = (*writer.NO_PAYLOAD_DIGEST_TYPES, "metadata")
        record = writer.create_warc_record(
            target, "metadata", BytesIO(data), len(data), warc_content_type=_METADATA
        )
        self._write(writer, record)

    def _put(self, exchange: Exchange, hop: Hop, packed: Packed) -> int:
        """Write a response, then its request; return where the response is."""
        at = self._stream.tell()
        with packed.data as data:
            data.seek(0)
            shutil.copyfileobj(data, self._stream, _COPY)
        if hop.sent:
            self._request(hop, packed.record_id, exchange)
        return at

    def _pack(
        self,
        exchange: Exchange,
        hop: Hop,
        headers: Iterable[tuple[str, str]],
        document: Document | None = None,
        entry: Entry | None = None,
    ) -> Packed:
        """Return the compressed record of a response."""
        start = b"" if document is None else next(iter(document.chunks()), b"")[:2]
        size = 0 if document is None else document.size
        head = self._response_head(hop, fitting(headers, size, start))
        payload, block = hashlib.sha1(), hashlib.sha1(head.headers_buff)  # noqa: S324 - as WARC has it
        for chunk in () if document is None else document.chunks():
            payload.update(chunk)
            block.update(chunk)
        if document is not None and document.known.damage is not None:
            raise SnapshotError(f"{hop.url} cannot be written: {document.known.damage}")
        digest = _written(payload)
        facts = {
            "WARC-Date": _date(exchange.started),
            "WARC-Payload-Digest": digest,
            "WARC-Block-Digest": _written(block),
            **address_of(hop),
        }
        if exchange.broken is not None and document is not None:
            facts["WARC-Truncated"] = _TRUNCATED.get(exchange.broken.code.value, "disconnect")
        elif entry is not None and document is None:
            facts["WARC-Truncated"] = "unspecified"  # the body of an error is not kept
        data: IO[bytes] = tempfile.SpooledTemporaryFile(_HELD)  # noqa: SIM115 - closed when it is written
        writer = self._writer(_STORED if start[:2] == b"\x1f\x8b" else _FAST, data)
        response = writer.create_warc_record(
            _target(hop.url),
            "response",
            BytesIO() if document is None else _Pieces(document.chunks()),
            size,
            warc_headers_dict=facts,
            http_headers=head,
        )
        self._write(writer, response)
        return Packed(data, digest, response.rec_headers.get_header("WARC-Record-ID"))

    def _request(self, hop: Hop, response_id: str, exchange: Exchange) -> None:
        try:
            url = read_url(hop.url)
        except BadUrl:
            return
        writer = self._writer(_SMALL)
        host = hop.url.partition("://")[2].partition("/")[0]
        head = self._heads.StatusAndHeaders(
            f"GET {url.rest} HTTP/1.1", [("Host", host), *hop.sent], is_http_request=True
        )
        record = writer.create_warc_record(
            _target(hop.url),
            "request",
            warc_headers_dict={
                "WARC-Date": _date(exchange.started),
                "WARC-Concurrent-To": response_id,
            },
            http_headers=head,
        )
        self._write(writer, record)

    def _response_head(self, hop: Hop, headers: list[tuple[str, str]]) -> Any:
        words = f"{hop.status} {printable(phrase(hop.status, hop.reason))}".strip()
        head = self._heads.StatusAndHeaders(words, headers, protocol="HTTP/1.1")
        head.compute_headers_buffer()
        return head

    def _writer(self, level: int, stream: IO[bytes] | None = None) -> Any:
        member = _Member(self._stream if stream is None else stream, level)
        return self._warcio.WARCWriter(member, gzip=False, warc_version="1.1")

    @staticmethod
    def _write(writer: Any, record: Any) -> None:
        writer.write_record(record)


def _line(entry: Entry) -> str:
    return f"{ENTRY_FIELD}{entry.to_json()}\r\n"


def _written(digest: Any) -> str:
    return f"sha1:{base64.b32encode(digest.digest()).decode()}"


def digest_of(chunks: Iterable[bytes]) -> str:
    """Return the digest of a body, as records have it."""
    digest = hashlib.sha1()  # noqa: S324 - as WARC has it
    for chunk in chunks:
        digest.update(chunk)
    return _written(digest)


def _date(moment: datetime | None) -> str:
    when = moment or datetime.now(UTC)
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _target(url: str) -> str:
    return printable(url).replace(" ", "%20")
