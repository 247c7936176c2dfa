"""``parquet``: the Arrow table in a file, written while it is still being read."""

from __future__ import annotations

import queue
import threading
from typing import IO, TYPE_CHECKING, Any

from usp.export.arrow import batches_of
from usp.export.row_groups import RowGroups, RowGroupWriter
from usp.export.schema import COLUMNS, REPEATING, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from usp.selection import Blocks

_BATCH_ROWS = 1 << 15
_WAITING = 1  # row groups between reader and writer: each is some ten megabytes


def write(blocks: Blocks, stream: IO[bytes], names: Sequence[str]) -> None:
    """Write a table in row groups, zstd-compressed."""
    names = tuple(names)
    repeating = (name for name in names if COLUMNS[name] in REPEATING)
    writer = RowGroupWriter(stream, arrow_schema(names), tuple(repeating))
    groups = RowGroups()
    with _WriterThread(writer) as thread:
        for batch in batches_of(blocks, names, _BATCH_ROWS):
            for group in groups.add(batch):
                thread.put(group)
        for group in groups.rest():
            thread.put(group)
    writer.close()


class _WriterThread:
    """Writes row groups in a separate thread: Arrow compresses them without the GIL.

    Its queues are simple ones: others keep a lock for ever if Ctrl-C comes at the wrong moment.
    """

    def __init__(self, writer: Any) -> None:
        self._writer = writer
        self._groups: queue.SimpleQueue[list[Any] | None] = queue.SimpleQueue()
        self._room: queue.SimpleQueue[None] = queue.SimpleQueue()
        for _ in range(_WAITING):
            self._room.put(None)
        self._ended: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._is_running = True
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="usp-write", daemon=True)

    def put(self, group: list[Any]) -> None:
        """Queue batches to be written as one row group; raises the error of an earlier one."""
        if self._error is None:
            self._room.get()
            self._groups.put(group)
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while (group := self._groups.get()) is not None:
            self._room.put(None)
            if self._error is not None:
                continue  # the queue is drained, so that nothing waits for room
            try:
                self._writer.write(group)
            except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
                self._error = error
        self._is_running = False
        self._ended.put(None)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._end(error)
        if kind is None and self._error is not None:
            raise self._error

    def _end(self, error: BaseException | None) -> None:
        """Wait for the thread, also after Ctrl-C: the writer must not be closed while it writes.

        After an error what waits is not written any more.
        """
        self._error = self._error or error
        while self._is_running:
            try:
                self._groups.put(None)
                self._ended.get()
            except KeyboardInterrupt as interrupt:
                self._error = interrupt
        self._thread.join()  # it has nothing left to do
