"""Writes a snapshot: a WARC file, by ``warcio``, of what a crawl has fetched, and of what failed.

For each document there are the records of its requests and responses, redirects included, and then a
``metadata`` record with its :class:`Entry`: only then does it count. At the end are all entries once
more, the index, and a record that says where that is: a file without it is incomplete.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import ipaddress
import json
import os
import string
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from itertools import chain, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from usp._base.display import printable
from usp._base.files import NewFile, lock
from usp._base.urls import BadUrl, quote, read_url
from usp._http.encodings import is_decoded
from usp._http.flow import phrase
from usp._snapshot.recorded_responses import opened
from usp._snapshot.warc import GZIP, SEPARATOR, DamagedRecord, WarcFile, WarcRecord
from usp.exceptions import SnapshotError
from usp.objects.exchange import Exchange, Hop

if TYPE_CHECKING:
    from usp._formats.document import Role
    from usp._snapshot.snapshot_entries import Entry
    from usp._store import Document

ENTRY = "urn:usp:entry:"  # the targets of entries whose documents have another one begin so
INDEX = "urn:usp:index"
END = "urn:usp:end"  # the target of the last record
ACCEPTED = "accepted"
"""The fact that what failed is shown as failed, and not as it was: that was accepted."""

ENTRY_FIELD, END_FIELD = "usp-entry: ", "usp-end: "
"""How the lines of these records begin, before a value in JSON."""

# Other programs do not list metadata as documents, and check no digest of a payload of these types.
_WITHOUT_PAYLOAD = ("warcinfo", "revisit", "metadata")
_COPY = 1024 * 1024
_FAST, _SMALL, _STORED = 1, 6, 0  # levels of compression: of documents, of the rest, of gzip
_CHANGED = frozenset({"content-length", "transfer-encoding"})  # true of the transfer only
_OF_BODY = _CHANGED | {"content-encoding", "content-type", "content-range"}
_TRUNCATED = {"limit-document-bytes": "length", "limit-seconds": "time"}
_YOUNG = 60.0  # seconds


def warcio_modules() -> Any:
    """Return the modules of ``warcio``; raises :class:`SnapshotError` if it is not installed."""
    try:
        from warcio import statusandheaders, warcwriter  # type: ignore[import-untyped]  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SnapshotError("writing a snapshot needs warcio: pip install 'usp[warc]'") from error
    return warcwriter, statusandheaders


class NewSnapshot(NewFile):
    """A snapshot that is written beside the file that it will replace, document by document."""

    def __init__(self, path: str | os.PathLike[str], info: dict[str, str]) -> None:
        self.warcio_modules, self._heads = warcio_modules()
        if not {".zst", ".wacz"}.isdisjoint(Path(path).suffixes):
            raise SnapshotError(
                f"{path}: snapshots are written as .warc.gz only; name one with -o, or output="
            )
        _remove_leftovers(path)
        super().__init__(path)
        self._crc = 0  # of what was written since the last document
        self.entries: dict[tuple[Role, str], Entry] = {}  # as they are now
        with contextlib.suppress(OSError):  # show other processes that somebody writes
            lock(self.stream)
        try:
            self._lines("warcinfo", "", "".join(f"{name}: {info[name]}\r\n" for name in info))
        except BaseException:
            self.remove()
            raise

    def add(self, entry: Entry, document: Document | None = None) -> Entry:
        """Write a document that was just fetched, or why it was not; return where it is."""
        start, offset, digest = self.stream.tell(), None, None
        self._crc = 0
        exchange = entry.exchange
        if exchange is not None and exchange.status is not None:
            hops = hops_of(exchange)
            for hop, target in pairwise(hops):
                has_one = any(name.lower() == "location" for name, _ in hop.headers)
                more = () if has_one else (("Location", target.url),)
                self._put(exchange, hop, (*hop.headers, *more))
            offset = self.stream.tell()
            digest = self._put(exchange, hops[-1], exchange.headers, document, is_last=True)
        place = offset if document is not None else None
        end, crc = self.stream.tell(), self._crc
        entry = replace(entry, start=start, end=end, offset=place, crc=crc, digest=digest)
        return self._keep(entry)

    def carry(
        self, file: WarcFile, old: Entry, new: Entry, revisit: Exchange | None = None
    ) -> None:
        """Copy the records of a document; ``revisit`` is what was said when it was still the same."""
        at = self.copied(file, old)
        if revisit is not None and old.offset is not None and old.digest is not None:
            self._revisit(WarcRecord(file, old.offset), old.digest, revisit)
        placed = replace(new, start=at.start, end=at.end, offset=at.offset)
        self._keep(replace(placed, crc=at.crc, digest=old.digest))

    def _revisit(self, record: WarcRecord, digest: str, seen: Exchange) -> None:
        """Write that a document is still the one in a record: the server said so, or sent it again.

        A 304 is written as HTTP means it, and replay needs it: as the response that it stands for,
        with the headers that are new.
        """
        last, head = hops_of(seen)[-1], opened(record)[0]
        new = {pair[0].lower(): pair for pair in seen.headers if pair[0].lower() not in _OF_BODY}
        headers = [new.pop(name.lower(), (name, value)) for name, value in head.headers]
        hop = replace(last, status=head.status, reason=head.reason)
        size = int(head.header("content-length") or 0)
        response = self._response_head(hop, [*headers, *new.values()], size)
        facts = {
            "WARC-Date": _date(seen.started),
            **address_of(last),
            "WARC-Refers-To-Target-URI": record.url,
            "WARC-Refers-To-Date": record.headers["warc-date"],
            "WARC-Profile": "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest",
            "WARC-Payload-Digest": digest,
        }
        self._record("revisit", _target(last.url), facts, response)

    def finish(self, facts: dict[str, Any]) -> None:
        """Write the index, then the record that says that the snapshot is complete; put it in place."""
        index = self.stream.tell()
        self._lines("metadata", INDEX, "".join(map(_line, self.entries.values())))
        end = {**facts, "index": index, "documents": len(self.entries)}
        self._lines("metadata", END, f"{END_FIELD}{json.dumps(end)}\r\n")
        self.take_place()

    def copied(self, file: WarcFile, old: Entry) -> Entry:
        """Copy the last good response of a document; return its entry, which is not written."""
        start, old, self._crc = self.stream.tell(), replace(old, last_good=None), 0
        if not file.read(old.start, len(GZIP)).startswith(
            GZIP
        ):  # a WARC file of another compression
            return self._compressed(file, old)
        for at in range(old.start, old.end, _COPY):
            data = file.read(at, min(_COPY, old.end - at))
            if not data:
                raise SnapshotError(f"{file.path} ends before the records of {old.url}")
            self._write(data)
        return replace(old.moved(start - old.start), crc=self._crc)

    def _compressed(self, file: WarcFile, old: Entry) -> Entry:
        """Copy the records of a document, each as a gzip member of its own; return its entry."""
        start, offset, at = self.stream.tell(), None, old.start
        try:
            while at < old.end:
                offset = self.stream.tell() if at == old.offset else offset
                record, deflate = WarcRecord(file, at), zlib.compressobj(_SMALL, zlib.DEFLATED, 31)
                for piece in chain((record.head,), record.block(), (SEPARATOR,)):
                    self._write(deflate.compress(piece))
                self._write(deflate.flush())
                at = record.skip()
        except DamagedRecord as error:
            raise SnapshotError(f"{file.path}, at byte {at:,}: {error}") from error
        return replace(old, start=start, end=self.stream.tell(), offset=offset, crc=self._crc)

    def _keep(self, entry: Entry) -> Entry:
        entry = replace(entry, entry_offset=self.stream.tell())
        self.entries[entry.key] = entry
        # Of a URL that has a response, other programs are to find that alone.
        target = _target(entry.url) if entry.offset is None else f"{ENTRY}{_target(entry.url)}"
        self._lines("metadata", target, _line(entry))
        return entry

    def _put(
        self,
        exchange: Exchange,
        hop: Hop,
        headers: Iterable[tuple[str, str]],
        document: Document | None = None,
        *,
        is_last: bool = False,
    ) -> str:
        """Write a response, then its request; return the digest of the response."""
        chunks: Callable[[], Iterable[bytes]] = tuple if document is None else document.chunks
        start, size = next(iter(chunks()), b"")[:2], 0 if document is None else document.size
        head = self._response_head(hop, headers, size, start)
        payload, block = hashlib.sha1(), hashlib.sha1(head.headers_buff)  # noqa: S324 - as WARC has it
        left = size
        for chunk in chunks():
            payload.update(chunk)
            block.update(chunk)
            left -= len(chunk)
        damage = None if document is None else document.known.damage
        if damage is not None and (left or exchange.broken is None):  # what was not known before
            raise SnapshotError(f"{hop.url} cannot be written: {damage}")
        digest, target, sent = _written(payload), _target(hop.url), _date(exchange.started)
        facts = {
            "WARC-Date": sent,
            "WARC-Payload-Digest": digest,
            "WARC-Block-Digest": _written(block),
            **address_of(hop),
        }
        if exchange.broken is not None and document is not None:
            facts["WARC-Truncated"] = _TRUNCATED.get(exchange.broken.code.value, "disconnect")
        elif is_last and document is None:
            facts["WARC-Truncated"] = "unspecified"  # the body of an error is not kept
        level = _STORED if start == b"\x1f\x8b" else _FAST
        pieces = iter(chunks())
        body = SimpleNamespace(read=lambda _: next(pieces, b""))
        response = self._record("response", target, facts, head, body, size, level)
        with contextlib.suppress(BadUrl):
            if hop.sent:
                host = hop.url.partition("://")[2].partition("/")[0]
                line = f"GET {read_url(hop.url).rest} HTTP/1.1"
                request = self._heads.StatusAndHeaders(
                    line, [("Host", host), *hop.sent], is_http_request=True
                )
                facts = {"WARC-Date": sent, "WARC-Concurrent-To": response}
                self._record("request", target, facts, request)
        return digest

    def _response_head(
        self, hop: Hop, headers: Iterable[tuple[str, str]], size: int = 0, start: bytes = b""
    ) -> Any:
        words = _ascii(f"{hop.status} {phrase(hop.status, hop.reason)}".strip())
        written = [(_ascii(name), _ascii(value)) for name, value in fitting(headers, size, start)]
        head = self._heads.StatusAndHeaders(words, written, protocol="HTTP/1.1")
        head.compute_headers_buffer()
        return head

    def _lines(self, kind: str, target: str, lines: str) -> None:
        data = lines.encode()
        self._record(kind, target, {}, None, BytesIO(data), len(data))

    def _record(
        self,
        kind: str,
        target: str,
        facts: dict[str, str],
        head: Any,
        payload: Any = None,
        size: int = 0,
        level: int = _SMALL,
    ) -> str:
        """Write a record as a gzip member of its own; return its ID."""
        deflate = zlib.compressobj(level, zlib.DEFLATED, 31)
        member = SimpleNamespace(
            write=lambda data: self._write(deflate.compress(data)),
            flush=lambda: self._write(deflate.flush()),
        )
        writer = self.warcio_modules.WARCWriter(member, gzip=False, warc_version="1.1")
        writer.NO_PAYLOAD_DIGEST_TYPES = _WITHOUT_PAYLOAD
        record = writer.create_warc_record(
            target, kind, payload, size, warc_headers_dict=facts, http_headers=head
        )
        writer.write_record(record)
        return str(record.rec_headers.get_header("WARC-Record-ID"))

    def _write(self, data: bytes) -> None:
        self._crc = zlib.crc32(data, self._crc)
        self.stream.write(data)


def _remove_leftovers(path: str | os.PathLike[str]) -> None:
    """Remove the unfinished files that killed processes have left beside a snapshot."""
    for left in NewFile.unfinished(path):
        with contextlib.suppress(OSError), left.open("rb") as file:
            if time.time() - os.fstat(file.fileno()).st_mtime < _YOUNG:
                continue  # perhaps not locked yet
            lock(file)
            left.unlink()


def _line(entry: Entry) -> str:
    return f"{ENTRY_FIELD}{entry.to_json()}\r\n"


def _written(digest: Any) -> str:
    return f"sha1:{base64.b32encode(digest.digest()).decode()}"


def digest_of(chunks: Iterable[bytes]) -> str:
    digest = hashlib.sha1()  # noqa: S324 - as WARC has it
    for chunk in chunks:
        digest.update(chunk)
    return _written(digest)


def _date(moment: datetime | None) -> str:
    when = moment or datetime.now(UTC)
    return when.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _ascii(text: str) -> str:
    """Return a text of a head as it can be written on one line; anything else is percent-encoded."""
    if text.isascii() and text.isprintable():
        return text
    return quote(text, safe=string.punctuation + " ")


def _target(url: str) -> str:
    return printable(url).replace(" ", "%20")


# Heads: what they say of an exchange, and of the kept body -----------------------------------------


def hops_of(exchange: Exchange) -> list[Hop]:
    """Return the requests of an exchange; as they must have been, if the client does not know them."""
    known = [hop for hop in exchange.hops if isinstance(hop, Hop)]
    if known:
        return known
    status = exchange.status or 0
    return [*(Hop(url, 302) for url in exchange.redirects), Hop(exchange.final_url, status)]


def fitting(headers: Iterable[tuple[str, str]], size: int, start: bytes) -> list[tuple[str, str]]:
    """Return the headers that are true of the recorded body; the others get a prefix, as elsewhere."""
    length, fitted = str(size), list[tuple[str, str]]()
    for name, value in headers:
        lower = name.lower()
        if lower == "content-length" and value.strip() == length:
            continue
        decoded = lower == "content-encoding" and (
            is_decoded(value) or ("gzip" in value.lower() and start not in (b"\x1f\x8b", b""))
        )
        fitted.append((f"X-Crawler-{name}" if decoded or lower in _CHANGED else name, value))
    return [*fitted, ("Content-Length", length)]


def address_of(hop: Hop) -> dict[str, str]:
    """Return the header of a record with the address that responded, if it is known to be one."""
    try:
        address = ipaddress.ip_address(str(hop.address).partition("%")[0])
    except ValueError:
        return {}
    return {"WARC-IP-Address": str(address)}
