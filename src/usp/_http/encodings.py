"""Bodies in encodings that were not requested: Brotli and Zstandard.

Requests ask for gzip and deflate, which are decompressed later, by their content. Some servers send
``br`` or ``zstd`` nevertheless; where a library for it is installed, such a body is read here, in
pieces of a bounded size.
"""

from __future__ import annotations

import functools
import importlib
import string
from collections.abc import Callable, Iterator
from typing import Any

from usp._base.reason import Reason
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import BrokenBody

ACCEPTED = "gzip, deflate"
"""The value of the ``Accept-Encoding`` header."""

_PIECE = 256 * 1024  # bytes that come out at a time
SIP = 64  # bytes that become 2 MiB at most, where a library gives all of it at once
_WINDOW_LOG = 23  # 8 MiB, as RFC 9659 has it for HTTP
_HEAD = 16  # so many printable bytes in a row are text
_TEXT = frozenset(string.printable.encode())
_FRAME, _SKIPPED = b"\x28\xb5\x2f\xfd", b"\x2a\x4d\x18"  # how Zstandard begins


def is_decoded(content_encoding: str | None) -> bool:
    """Return whether a body with this header is decompressed here."""
    return _outermost(content_encoding) in _LIBRARIES


def _outermost(content_encoding: str | None) -> str:
    return (content_encoding or "").rpartition(",")[2].strip().lower()


class BodyDecoder:
    """Decodes a body: ``feed`` chunks, get decoded ones.

    A body that does not match its ``Content-Encoding`` is passed on as it is.
    """

    def __init__(self, content_encoding: str | None) -> None:
        self._name = _outermost(content_encoding)
        self._decompressor = _decompressor(self._name)
        self._head: bytes | None = b"" if self._decompressor is not None else None

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what has been decoded; raises :class:`BrokenBody` if the data is damaged."""
        if self._head is not None:
            self._head += data
            if len(self._head) < _HEAD:
                return
            data, self._head = self._head, None
            if _is_plain(self._name, data):
                self._decompressor = None
        if self._decompressor is None:
            if data:
                yield data
            return
        try:
            yield from self._decompressor.pieces(data)
        except Exception as error:
            reason = Reason(FailureCode.BAD_CONTENT_ENCODING, "the compressed data is damaged")
            raise BrokenBody(reason) from error

    def close(self) -> Iterator[bytes]:
        """Yield what is left; raises :class:`BrokenBody` if the end is missing."""
        decompressor, body = self._decompressor, self._head
        if body is not None and decompressor is not None:  # it is too short for a check
            try:
                pieces = list(decompressor.pieces(body))
                yield from pieces if decompressor.is_complete() else [body]
            except Exception:  # noqa: BLE001 - every library has errors of its own
                yield body
        elif decompressor is not None and not decompressor.is_complete():
            raise BrokenBody(Reason(FailureCode.BODY_CUT_OFF, "the compressed data breaks off"))


def _is_plain(name: str, head: bytes) -> bool:
    if name == "zstd":
        return not head.startswith(_FRAME) and head[1:4] != _SKIPPED
    return head.startswith(b"\x1f\x8b") or _TEXT.issuperset(head[:_HEAD])


# Libraries ------------------------------------------------------------------------------------------


class _Brotli:
    def __init__(self, library: Any) -> None:
        self._decompressor = library.Decompressor()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        piece = self._decompressor.process(data, output_buffer_limit=_PIECE)
        while piece or not self._decompressor.can_accept_more_data():
            if piece:
                yield piece
            if self._decompressor.is_finished():
                return
            piece = self._decompressor.process(b"", output_buffer_limit=_PIECE)

    def is_complete(self) -> bool:
        return bool(self._decompressor.is_finished())


class _Zstd:
    """Any library whose decompressors know their end, and what follows it."""

    def __init__(self, of_library: Callable[[Any], Callable[[], Any]], library: Any) -> None:
        self._new = of_library(library)
        self._decompressor = self._new()

    def pieces(self, data: bytes) -> Iterator[bytes]:
        at = 0
        while at < len(data):
            if self._decompressor.eof:
                self._decompressor = self._new()  # frames may follow each other
            sip = data[at : at + SIP]
            piece = self._decompressor.decompress(sip)
            at += len(sip) - len(self._decompressor.unused_data)
            if piece:
                yield piece

    def is_complete(self) -> bool:
        return bool(self._decompressor.eof)


def _standard(library: Any, dictionary: bytes = b"") -> Callable[[], Any]:
    options = {library.DecompressionParameter.window_log_max: _WINDOW_LOG}
    known = library.ZstdDict(dictionary) if dictionary else None
    return functools.partial(library.ZstdDecompressor, zstd_dict=known, options=options)


def _zstandard(library: Any, dictionary: bytes = b"") -> Callable[[], Any]:
    known = library.ZstdCompressionDict(dictionary) if dictionary else None
    options = {"dict_data": known, "max_window_size": 1 << _WINDOW_LOG}
    return lambda: library.ZstdDecompressor(**options).decompressobj()


_ZSTD = {"compression.zstd": _standard, "backports.zstd": _standard, "zstandard": _zstandard}


_LIBRARIES: dict[str, dict[str, Callable[[Any], _Brotli | _Zstd]]] = {
    "br": {"brotli": _Brotli, "brotlicffi": _Brotli},
    "zstd": {name: functools.partial(_Zstd, new) for name, new in _ZSTD.items()},
}


def zstd_frames(dictionary: bytes = b"") -> Callable[[], Any] | None:
    """Return what makes a decompressor for one frame of Zstandard, if a library is installed."""
    found = ((_library(name), _ZSTD[name]) for name in _LIBRARIES["zstd"])
    return next((new(library, dictionary) for library, new in found if library), None)


def _decompressor(name: str) -> _Brotli | _Zstd | None:
    kinds = _LIBRARIES.get(name, {})
    return next((kinds[module](found) for module in kinds if (found := _library(module))), None)


@functools.cache
def _library(name: str) -> Any:
    try:
        library = importlib.import_module(name)
    except ImportError:
        return None
    if name.startswith("brotli") and not hasattr(library.Decompressor, "can_accept_more_data"):
        return None  # before version 1.2 it gives all of a bomb at once
    return library
