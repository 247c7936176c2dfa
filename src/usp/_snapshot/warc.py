"""Reads the records of a WARC file one by one, or at an offset, whatever it says about lengths."""

from __future__ import annotations

import os
import re
import threading
import weakref
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from usp._base.urls import ARCHIVES
from usp._http.encodings import SIP, BodyDecoder, zstd_frames
from usp._store import read_at
from usp.exceptions import SnapshotError

if TYPE_CHECKING:
    from usp.limits import Limits

GZIP = b"\x1f\x8b\x08"
ZIP = b"PK\x03\x04"
ZSTD = b"\x28\xb5\x2f\xfd"
_DICTIONARY = b"\x5d\x2a\x4d\x18"  # begins a file whose frames need the dictionary that follows
_DICTIONARY_AT = 8
_MOST_DICTIONARY = 8 * 1024 * 1024  # bytes of it
_FIRST = b"WARC/"
_PIECE = 128 * 1024
_COMPRESSED = 16 * 1024  # zlib copies what it has not used yet, at every call
_COPIED = 1024 * 1024
_BEGUN = 2 * 1024  # bytes that are read first: most records of most files are short
_HEAD = 64 * 1024  # bytes of the head of a record
_LARGE = 16 * 1024 * 1024  # bytes after which a ratio means something
SEPARATOR = b"\r\n\r\n"  # after a record
_BEGINNINGS = re.compile(b"|".join(map(re.escape, (GZIP, ZSTD, _FIRST))))
_VERSION = re.compile(rb"WARC/\d{1,3}\.\d{1,3}[ \t]*\r?\n")  # the first line of a record
_WASTED, _LEAST_WASTED = 8, 16 * 1024 * 1024  # times the size, and bytes, that may be read in vain
LOSSES = 1000  # how many things that cannot be read are listed one by one
_BLANK_LINE = re.compile(rb"\r\n\r\n|\n\n")
_SHORT = 512  # bytes that show whether one does
_LENGTH = 18  # digits
_LONGER = "the record is longer than its Content-Length"
_CUT = "the file ends in the middle of this record"
_LOCAL_HEADER = 30  # bytes in front of the name of a file in a zip archive


class DamagedRecord(Exception):  # noqa: N818 - says what it is
    """A record that cannot be read, or not to its end."""


class WarcRecord:
    """The record at an offset; its block is read once, ``length`` bytes of it have not been.

    A compressed one is a gzip member, or a frame of Zstandard, of its own. Raises
    :class:`DamagedRecord` if there is none.
    """

    def __init__(self, file: WarcFile, offset: int) -> None:
        self.offset = offset
        self._file = file
        self._raw = file.read(offset, _BEGUN)  # read, and not decompressed yet
        self._at = offset + len(self._raw)
        self._inflate = file.inflate(self._raw)
        self._held = b"" if self._inflate else self._raw  # decompressed, and not taken yet
        self._produced = 0
        self.head = self._head()
        lines = header_lines(self.head.decode("utf-8", "replace"))
        self.headers = {name.lower(): value for name, value in lines}
        written = self.headers.get("content-length", "")
        if not (written.isascii() and written.isdigit() and len(written) <= _LENGTH):
            raise DamagedRecord("the record has no Content-Length")
        self.length = int(written)

    @property
    def kind(self) -> str:
        return self.headers.get("warc-type", "").lower()

    @property
    def url(self) -> str:
        """The target of the record; some tools write it in angle brackets."""
        return self.headers.get("warc-target-uri", "").strip("<> ")

    def block(self, ratio: float | None = None, least: int = _LARGE) -> Iterator[bytes]:
        """Yield the block; raises :class:`DamagedRecord` if it is short, or expands too much."""
        while self.length:
            piece = self._take(self.length)
            if not piece:
                raise DamagedRecord("the record is shorter than its Content-Length")
            used = max(1, self._at - self.offset)
            if ratio is not None and self._produced > max(least, ratio * used):
                raise DamagedRecord("the compression ratio of the record is too high")
            self.length -= len(piece)
            yield piece

    def beginning(self, most: int) -> bytes:
        """Return the first bytes of the block, ``most`` of them if there are so many."""
        data = b""
        while piece := self._take(min(most - len(data), self.length)):
            self.length -= len(piece)
            data += piece
        return data

    def check_end(self) -> None:
        """Raise :class:`DamagedRecord` if a compressed record does not end, with its checksum, here."""
        if self._inflate and self._rest():
            raise DamagedRecord(_LONGER)

    def skip(self, ratio: float | None = None) -> int:
        """Go to the end of the record; return where the next one begins, or raise."""
        if self._inflate is None:
            end = self._at - len(self._held) + self.length
            if end > self._file.size:
                raise DamagedRecord(_CUT)
            after = self._file.read(end, len(SEPARATOR))
            return end + len(after) - len(after.lstrip(b"\r\n"))
        for _ in self.block(ratio):
            pass
        rest = self._rest()
        if rest.startswith(_FIRST):
            is_zstd = isinstance(self._inflate, _Frame)
            how = "zstd -d FILE" if is_zstd else "warcio recompress FILE NEW_FILE"
            raise SnapshotError(
                f"{self._file.path} is compressed as a whole, not record by record; convert it: {how}"
            )
        if rest:
            raise DamagedRecord(_LONGER)
        return self._at - len(self._inflate.unused_data)

    def _rest(self) -> bytes:
        rest = b""
        while len(rest) <= len(_FIRST) + len(SEPARATOR) and (piece := self._take(_PIECE)):
            rest += piece
        return rest.lstrip(b"\r\n")

    def _head(self) -> bytes:
        head = b""
        while (end := end_of_head(head)) is None:
            if len(head) > _HEAD:
                raise DamagedRecord("the head of the record is too long")
            piece = self._take(_PIECE)
            if not piece:
                raise DamagedRecord(_CUT)
            head += piece
            begun = head.lstrip(b"\r\n")
            if not _FIRST.startswith(begun[: len(_FIRST)]):
                raise DamagedRecord("this is not a WARC record")
            if _VERSION.search(begun, 1, end_of_head(begun) or _HEAD):
                raise DamagedRecord("another record begins in the head of this one")
        self._held = head[end:] + self._held
        return head[:end]

    def _take(self, most: int) -> bytes:
        """Return the next piece, of at most so many bytes; empty at the end."""
        piece = self._held or (self._more() if most else b"")
        self._held = piece[most:]
        return piece[:most]

    def _more(self) -> bytes:
        inflate = self._inflate
        if inflate is None:
            return self._read(_PIECE)
        while not inflate.eof:
            self._raw = self._raw or self._read(_COMPRESSED)
            if not self._raw:
                raise DamagedRecord(_CUT)
            try:
                piece: bytes = inflate.decompress(self._raw, _PIECE)
            except zlib.error as error:
                raise DamagedRecord(f"the compressed data is damaged: {error}") from error
            self._raw = inflate.unconsumed_tail
            if piece:
                self._produced += len(piece)
                return piece
        return b""

    def _read(self, size: int) -> bytes:
        data = self._file.read(self._at, size)
        self._at += len(data)
        return data


class WarcFile:
    """A file with WARC records, open for several threads; a WACZ is a zip archive of such files."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        # Open as long as somebody reads a tree.
        self._file: IO[bytes] = self.path.open("rb", buffering=0)
        weakref.finalize(self, self._file.close)
        self._lock = threading.Lock()
        self._served = 0  # bytes, at an offset or another
        self.size = os.fstat(self._file.fileno()).st_size
        self._frames: Callable[[], Any] | None = None  # of Zstandard
        head = self.read(0, _DICTIONARY_AT)
        has_one = head.startswith(_DICTIONARY)
        self._dictionary = int.from_bytes(head[len(_DICTIONARY) :], "little") if has_one else 0

    def close(self) -> None:
        self._file.close()

    def read(self, offset: int, size: int) -> bytes:
        """Return bytes at an offset; nothing where there cannot be any."""
        if not 0 <= offset < self.size:
            return b""
        self._served += size
        return read_at(self._file, self._lock, offset, size)

    def inflate(self, begun: bytes) -> Any:
        """Return what decompresses a record that begins so, or None if it is not compressed.

        Raises :class:`SnapshotError` for Zstandard if no library for it is installed.
        """
        if not begun.startswith(ZSTD):
            return zlib.decompressobj(31) if begun.startswith(GZIP) else None
        if self._frames is None:
            size = min(self._dictionary, _MOST_DICTIONARY)
            self._frames = _frames(self.read(_DICTIONARY_AT, size))
        return _Frame(self._frames())

    def checksum(self, start: int, end: int) -> int:
        """Return a checksum of a part of the file, as it stands there."""
        found = 0
        for at in range(start, end, _COPIED):
            found = zlib.crc32(self.read(at, min(_COPIED, end - at)), found)
        return found

    def spans(self) -> list[tuple[int, int]]:
        """Return where the WARC files start and end: the whole file, or the members of a WACZ."""
        if self.read(0, len(ZIP)) != ZIP:
            return [(self._dictionary and _DICTIONARY_AT + self._dictionary, self.size)]
        try:
            with zipfile.ZipFile(self.path) as archive:
                listed = archive.infolist()
        except Exception as error:  # what zipfile raises for a damaged one is not said anywhere
            raise SnapshotError(f"{self.path} is not a readable zip archive: {error}") from error
        spans: list[tuple[int, int]] = []
        for member in sorted(listed, key=lambda one: one.header_offset):
            if not member.filename.lower().endswith((".warc", ".warc.gz")):
                continue
            if member.compress_type != zipfile.ZIP_STORED:
                raise SnapshotError(f"{member.filename} in {self.path} is compressed once more")
            header = self.read(member.header_offset, _LOCAL_HEADER)
            lengths = sum(int.from_bytes(header[at : at + 2], "little") for at in (26, 28))
            start = member.header_offset + _LOCAL_HEADER + lengths
            end = min(start + member.file_size, self.size)
            # No byte is read for two files, whatever the archive says.
            start = max(start, spans[-1][1] if spans else 0)
            if start < end:
                spans.append((start, end))
        return spans

    def records(
        self, span: tuple[int, int], limits: Limits, losses: list[str]
    ) -> Iterator[WarcRecord]:
        """Yield the records of a span; what cannot be read is stepped over and added to ``losses``.

        Raises :class:`SnapshotError` if not even the first one can be read.
        """
        (start, end), found = span, False
        offset, wasted = start, _LEAST_WASTED + _WASTED * (end - start)
        while offset < end:
            served = self._served
            try:
                record = WarcRecord(self, offset)
                yield record
                found = True
                offset = record.skip(limits.ratio)
            except DamagedRecord as error:
                if not found and offset == start:
                    raise SnapshotError(f"{self.path} is not a WARC file: {error}") from error
                if len(losses) < LOSSES:
                    losses.append(f"at byte {offset:,}: {error}")
                wasted -= self._served - served  # records inside of records may all break off
                served = self._served
                offset = self._next_record(offset + 1, end, served + wasted)
                wasted -= self._served - served

    def begins_record(self, offset: int) -> bool:
        """Return whether a record begins at an offset."""
        data = self.read(offset, _SHORT)
        with suppress(zlib.error, DamagedRecord, SnapshotError):
            if data.startswith(ZSTD):  # which may give nothing before its end
                return WarcRecord(self, offset).length >= 0
            data = zlib.decompressobj(31).decompress(data, _SHORT) if data[:3] == GZIP else data
            return _VERSION.match(data) is not None
        return False

    def _next_record(self, offset: int, end: int, most: int) -> int:
        """Return where a record begins after a damaged one, if ``most`` bytes show it."""
        overlap = max(len(ZSTD), len(_FIRST)) - 1
        while offset < end:
            data = self.read(offset, min(_PIECE, end - offset))
            for found in _BEGINNINGS.finditer(data):
                if self._served > most:
                    return end
                place = offset + found.start()
                if self.begins_record(place):
                    return place
            if len(data) <= overlap:
                break
            offset += len(data) - overlap
        return end


def is_warc(path: Path) -> bool:
    """Return whether a file seems to be a WARC file, compressed or not, or a WACZ."""
    if path.name.lower().removesuffix(".gz").endswith(ARCHIVES):
        return True
    with closing(WarcFile(path)) as file:
        return file.begins_record(0)


class _Frame:
    """A frame of Zstandard that is decompressed as ``zlib`` does it."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame
        self._after = self.unconsumed_tail = b""

    @property
    def eof(self) -> bool:
        return bool(self._frame.eof)

    @property
    def unused_data(self) -> bytes:
        return bytes(self._frame.unused_data) + self._after

    def decompress(self, data: bytes, _: int) -> bytes:
        """Return the next piece, in which little data becomes not too much."""
        at, piece = 0, b""
        while at < len(data) and not piece and not self.eof:
            try:
                piece = self._frame.decompress(data[at : at + SIP])
            except Exception as error:  # every library has errors of its own
                raise zlib.error(str(error)) from error
            at += SIP
        self.unconsumed_tail, self._after = (b"", data[at:]) if self.eof else (data[at:], b"")
        return piece


def _frames(dictionary: bytes) -> Callable[[], Any]:
    """Return what makes decompressors of frames that need a dictionary, which may be compressed."""
    try:
        if dictionary.startswith(ZSTD):
            packed, dictionary = dictionary, b""
            for piece in BodyDecoder("zstd").feed(packed):
                dictionary += piece
                if len(dictionary) > _MOST_DICTIONARY:
                    break
        frames = zstd_frames(dictionary)
    except Exception as error:  # every library has errors of its own
        raise SnapshotError(f"the dictionary of the WARC file is damaged: {error}") from error
    if frames is None:
        raise SnapshotError("reading .warc.zst needs a library: pip install zstandard")
    return frames


def end_of_head(data: bytes) -> int | None:
    """Return where the block begins, if the head of a record or response is complete."""
    found = _BLANK_LINE.search(data, len(data) - len(data.lstrip(b"\r\n")))
    return found.end() if found else None


def header_lines(head: str) -> Iterator[tuple[str, str]]:
    """Yield the names and values in a head, after its first line."""
    for line in head.strip().split("\n")[1:]:
        name, colon, value = line.partition(":")
        if colon and name.strip():
            yield name.strip(), value.strip()
