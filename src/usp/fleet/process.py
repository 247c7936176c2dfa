"""A worker process of the local engine: takes parcels from the driver, tells what it has done."""

from __future__ import annotations

import os
import queue
import signal
import threading
from typing import TYPE_CHECKING, Any

from usp._base.shortage import shortage_of
from usp.exceptions import LocalShortageError
from usp.fleet.worker import crawl_into

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from usp.fleet.options import FleetOptions

STOP = "stop"


def work(
    pipe: Connection[Any, Any],
    options: FleetOptions,
    place: tuple[Path, int, str],
    commit_seconds: float,
) -> None:
    """Work until the driver has nothing more; what goes wrong with the dataset is told to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver hears it, and says what to do
    line = _Line(pipe)
    try:
        for rows in crawl_into(
            line.parcels(),
            options,
            place,
            on_site=lambda row: line.tell("site", row),
            stopped=line.stopped.is_set,
            commit_seconds=commit_seconds,
        ):
            line.tell("done", rows)
    except Exception as error:  # noqa: BLE001 - a full disk, for example: nothing goes on by itself
        line.tell("broken", _words(error))
    else:
        line.tell("over", None)


def _words(error: Exception) -> str:
    code = shortage_of(error)
    if code is not None:
        return LocalShortageError.ADVICE[code]
    return f"{type(error).__name__}: {error}"


class _Line:
    """The line to the driver. When the driver is gone, so is the worker."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._inbox: queue.SimpleQueue[list[tuple[str, str]] | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        threading.Thread(target=self._listen, name="usp-fleet-line", daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                said = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(1)
            if said == STOP:
                self.stopped.set()
                said = None
            self._inbox.put(said)

    def tell(self, what: str, about: Any) -> None:
        """Tell the driver."""
        try:
            with self._lock:
                self._pipe.send((what, about))
        except OSError:
            os._exit(1)

    def parcels(self) -> Iterator[list[tuple[str, str]]]:
        """Ask for parcels until there are no more."""
        while True:
            self.tell("want", None)
            parcel = self._inbox.get()
            if parcel is None:
                return
            yield parcel
