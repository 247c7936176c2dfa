"""Files that are written completely or not at all."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import stat
from pathlib import Path
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_LONGEST = 80  # characters of the name that are kept in that of the new file
_ENDING = re.compile(r"[0-9a-f]{12}\.part")
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
        self._temporary = self.path.with_name(
            f".{self.path.name[:_LONGEST]}.{secrets.token_hex(6)}.part"
        )
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

    @staticmethod
    def unfinished(path: str | os.PathLike[str]) -> list[Path]:
        """Return the new files for a path that have not been moved into place."""
        target = Path(os.path.realpath(path))
        begins = f".{target.name[:_LONGEST]}."
        with contextlib.suppress(OSError):
            return [
                file
                for file in target.parent.iterdir()
                if file.name.startswith(begins) and _ENDING.fullmatch(file.name[len(begins) :])
            ]
        return []

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


def sync_folder(folder: Path) -> None:
    """Sync a folder, so that the new name survives a power failure, where that is possible."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
