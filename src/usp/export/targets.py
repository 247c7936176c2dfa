"""Where tables are written to: any kind of stream as a binary one, compression, terminals.

On a terminal, text of websites is escaped in the way of each format.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import re
from typing import IO, TYPE_CHECKING, Any, cast

from usp._base.files import replacing
from usp._base.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def opened(target: str | os.PathLike[str] | IO[Any], form: str) -> Iterator[IO[bytes]]:
    """Yield a binary stream; a file takes its place when the block ends without an exception."""
    if not isinstance(target, str | os.PathLike):
        yield bytes_of(target, form)
        return
    with replacing(target) as file, compressing(target, file) as stream:
        yield stream


@contextlib.contextmanager
def compressing(path: str | os.PathLike[str], stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield a stream that compresses what is written to another, if the file name ends in ``.gz``."""
    if not os.fspath(path).lower().endswith(".gz"):
        yield stream
        return
    # Without a name and a time: the same pages give the same bytes.
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as compressed:
        yield compressed  # type: ignore[misc]


# Binary streams for whatever the caller has --------------------------------------------------------


# Line ends and tabs are shown as they are. All other invisible characters could control a terminal;
# spaces of any width could not.
_SUSPECT = re.compile(r"\r(?!\n)|[^\S\r\n\t ]|[^\w\s]")


def bytes_of(stream: Any, form: str) -> IO[bytes]:
    """Return a stream for bytes: the stream itself, its buffer, or an adapter that decodes for it.

    A terminal gets nothing that it would obey.
    """
    if not isinstance(stream, io.TextIOBase):
        return cast("IO[bytes]", stream)
    stream.flush()
    if hasattr(stream, "buffer"):
        below = cast("IO[bytes]", stream.buffer)
        return cast("IO[bytes]", _Terminal(below, form)) if stream.isatty() else below
    if form == "parquet":
        raise ValueError(
            "parquet cannot be written to a text stream; use a file or a binary stream"
        )
    return cast("IO[bytes]", _Decoding(stream))


class _Decoding:
    """A binary stream that writes to a text stream."""

    def __init__(self, stream: io.TextIOBase) -> None:
        self._stream = stream
        self._decoder = codecs.getincrementaldecoder("utf-8")()

    def write(self, data: bytes) -> int:
        self._stream.write(self._decoder.decode(data))
        return len(data)


class _Terminal:
    """A binary stream that writes to a terminal, with control characters escaped."""

    def __init__(self, stream: IO[bytes], form: str) -> None:
        self._stream = stream
        self._escape = _ESCAPES.get(form, printable)
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._held = ""  # a carriage return whose next character has not arrived yet

    def write(self, data: bytes) -> int:
        """Write all complete characters; return the number of bytes accepted."""
        text = self._held + self._decoder.decode(data)
        self._held = "\r" if text.endswith("\r") else ""
        text = text[: len(text) - len(self._held)]
        self._stream.write(_SUSPECT.sub(self._escaped, text).encode("utf-8", "replace"))
        return len(data)

    def _escaped(self, found: re.Match[str]) -> str:
        char = found[0]
        return char if char.isprintable() else self._escape(char)


def _in_json(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def _in_xml(char: str) -> str:
    return f"&#x{ord(char):X};"


_ESCAPES: dict[str, Callable[[str], str]] = {"json": _in_json, "jsonl": _in_json, "xml": _in_xml}
