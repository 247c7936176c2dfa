"""Streams that take bytes, whatever the caller has."""

from __future__ import annotations

import codecs
import io
from typing import IO, Any, cast

from usp.export.terminal import TerminalStream

__all__ = ["bytes_of"]


def bytes_of(stream: Any, form: str) -> IO[bytes]:
    """Return what takes bytes: the stream itself, what is below it, or what decodes them for it.

    A terminal gets nothing that it would obey.
    """
    if not isinstance(stream, io.TextIOBase):
        return cast("IO[bytes]", stream)
    stream.flush()
    if hasattr(stream, "buffer"):
        below = cast("IO[bytes]", stream.buffer)
        return cast("IO[bytes]", TerminalStream(below, form)) if stream.isatty() else below
    if form == "parquet":
        raise ValueError("parquet is no text: give a file, or a stream of bytes")
    return cast("IO[bytes]", _Decoding(stream))


class _Decoding:
    """Takes bytes for a stream of text."""

    def __init__(self, stream: io.TextIOBase) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def write(self, data: bytes) -> int:
        self._stream.write(self._decoder.decode(data))
        return len(data)
