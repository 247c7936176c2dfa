"""Where tables are written: files, completely or not at all; streams of any kind; terminals.

On a terminal what a website wrote is escaped, in the way that each format has for it.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import re
import secrets
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from usp._base.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

__all__ = [
    "NewFile",
    "bytes_of",
    "compressing",
    "new_file",
    "replacing",
    "sync_folder",
]

_MODE = 0o666  # minus the user's umask, as for any new file


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file for writing; it is moved into place when the block ends without an exception.

    Until then it has another name in the same folder, and what was at ``path`` stays. Anything but
    an ordinary file, such as a pipe or ``/dev/null``, is written to as it is.
    """
    target = Path(path)
    if target.exists() and not target.is_file() and not target.is_dir():
        with target.open("wb") as file:
            yield file
        return
    with new_file(path) as file:
        yield file.stream
        file.take_place()


class NewFile:
    """A file that has not been moved into place yet."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(os.path.realpath(path))  # a link stays a link
        if self.path.is_dir():
            raise IsADirectoryError(f"{str(path)!r} is a folder: name a file in it")
        self._temporary = self.path.with_name(f".{self.path.name[:80]}.{secrets.token_hex(6)}.part")
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
        try:
            descriptor = os.open(self._temporary, flags, _MODE)
        except FileNotFoundError as error:
            if self.path.parent.is_dir():
                raise
            raise FileNotFoundError(
                f"there is no folder {str(self.path.parent)!r}; create it first"
            ) from error
        self.stream: IO[bytes] = os.fdopen(descriptor, "wb")
        self._keep_mode(descriptor)

    def _keep_mode(self, descriptor: int) -> None:
        """Give the new file the mode of the one that it replaces."""
        with contextlib.suppress(OSError, AttributeError):  # there is none, or it is Windows
            before = self.path.stat()
            os.fchmod(descriptor, stat.S_IMODE(before.st_mode))
            os.chown(descriptor, before.st_uid, before.st_gid)

    def take_place(self, path: Path | None = None) -> None:
        """Move the file into place, or to another ``path``, once its bytes are on disk."""
        self.stream.flush()
        os.fsync(self.stream.fileno())
        self.stream.close()
        target = path or self.path
        self._temporary.replace(target)
        sync_folder(target.parent)

    def remove(self) -> None:
        """Remove the file, unless it has been moved into place."""
        with contextlib.suppress(OSError):
            self.stream.close()
        self._temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def new_file(path: str | os.PathLike[str]) -> Iterator[NewFile]:
    """Yield a file that is removed when the block ends, unless it was moved into place."""
    file = NewFile(path)
    try:
        yield file
    finally:
        file.remove()


@contextlib.contextmanager
def compressing(path: str | os.PathLike[str], stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield a stream that compresses what is written to another, if the file name ends in ``.gz``."""
    if not os.fspath(path).endswith(".gz"):
        yield stream
        return
    # Without a name and a time: the same pages give the same bytes.
    with gzip.GzipFile("", "wb", compresslevel=6, fileobj=stream, mtime=0) as compressed:
        yield compressed  # type: ignore[misc]


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the new name survives a power failure, where that is possible."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


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
            "parquet cannot be written to a text stream; give a file or a binary stream"
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
