"""Records in partitions: in memory while they are few, in a temporary file when they are many."""

from __future__ import annotations

import marshal
import tempfile
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from usp._base.safe_text import get_logger

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

_log = get_logger(__name__)
_PARTS = 128

T = TypeVar("T")


class Partitions(Generic[T]):
    """Records of plain values, each in the partition of its key; read one partition at a time.

    Records with equal keys are in the same partition. Up to ``most`` characters or so are kept in
    memory.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._buffers: list[list[T]] = [[] for _ in range(_PARTS)]
        self._chunks: list[list[tuple[int, int]]] = [[] for _ in range(_PARTS)]
        self._file: IO[bytes] | None = None
        self.is_incomplete = False  # there was no room for all of them

    def add(self, key: int, record: T, size: int) -> None:
        """Add a record with about this many characters."""
        if self.is_incomplete:
            return
        self._buffers[key % _PARTS].append(record)
        self._size += size
        if self._size > self._most:
            self._spill()

    def _spill(self) -> None:
        self._size = 0
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile()  # noqa: SIM115 - until all is read
            for buffer, chunks in zip(self._buffers, self._chunks, strict=True):
                if buffer:
                    chunks.append((self._file.tell(), self._file.write(marshal.dumps(buffer))))
        except OSError as error:
            _log.warning("Links between languages are not checked: no room for them: %s", error)
            self.is_incomplete = True
        for buffer in self._buffers:
            buffer.clear()

    def __iter__(self) -> Iterator[list[T]]:
        """Yield the partitions, and forget them; nothing if there was no room for all records."""
        for at in range(_PARTS):
            if self.is_incomplete:
                return
            records, self._buffers[at] = self._buffers[at], []
            for chunk in self._chunks[at]:
                records += self._read(*chunk)
            if records:
                yield records
        if self._file is not None:
            self._file.close()

    def _read(self, start: int, size: int) -> list[T]:
        assert self._file is not None
        self._file.seek(start)
        data: Any = marshal.loads(self._file.read(size))  # noqa: S302 - written by this process
        return cast("list[T]", data)
