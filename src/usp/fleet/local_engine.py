"""The engine of one machine: worker processes, each of which crawls many sites at a time."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from usp._base.interrupts import ctrl_c_blocked
from usp._base.shortage import shortage_of
from usp._base.stores import DatasetError
from usp.exceptions import LocalShortageError
from usp.export.schema import spare_pandas
from usp.fleet.crawler import crawl_groups
from usp.fleet.engine import Engine
from usp.fleet.messages import Broken, Group, SiteDone, Stop, Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection

    from usp.fleet.crawler import Job
    from usp.fleet.engine import Assignments
    from usp.fleet.messages import Batch, News, Place

_BATCH = 32  # sites that a worker gets at a time, at most, unless they belong together
_MOST_STARTS = 3  # workers in a row that end before they have done anything
START_METHOD = "spawn"  # a fork of a process with threads may hang
_STOP_SECONDS = 10.0  # in which workers that are stopped must have ended


class LocalEngine(Engine):
    """Crawls with processes of this machine."""

    def __init__(self, job: Job, workers: int | None = None) -> None:
        super().__init__(job)
        self._most = workers or os.cpu_count() or 1
        self._workers: dict[Any, _Worker] = {}  # by their pipes
        self._idle_ends = 0

    def run(self, left: Assignments) -> Iterator[News]:
        """Crawl; ends when every site was reported in a group."""
        while True:
            self._start_workers(left)
            self._hand_out(left)
            if not self._workers:
                return
            for pipe in wait(list(self._workers)):  # which say something, or have ended
                yield from self._read(pipe, left)

    def stop(self) -> Iterator[News]:
        """Let the workers finish what they have, and end them; yield what they report."""
        for pipe in self._workers:
            with suppress(OSError):
                pipe.send(Stop())
        end = time.monotonic() + _STOP_SECONDS
        while self._workers and (seconds := end - time.monotonic()) > 0:
            for pipe in wait(list(self._workers), seconds):
                for message in self._messages(pipe):
                    if isinstance(message, SiteDone | Group):
                        yield message
        for worker in self._workers.values():
            worker.process.kill()
        self._workers.clear()

    def _messages(self, pipe: Any) -> Iterator[Any]:
        """Yield what a worker says; forget it if it has ended, perhaps in the middle of a message."""
        try:
            yield pipe.recv()
            while pipe.poll():
                yield pipe.recv()
        except (EOFError, OSError):
            pipe.close()
            self._workers.pop(pipe).process.join()

    def _start_workers(self, left: Assignments) -> None:
        """Start workers while there is work for more of them."""
        others = any(not worker.ended for worker in self._workers.values())
        work_left = bool(left) or (bool(left.suspects) and not others)
        while work_left and len(self._workers) < self._most:
            context: Any = multiprocessing.get_context(START_METHOD)
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs, self.job), daemon=True)
            with ctrl_c_blocked():
                process.start()
                theirs.close()
                self._workers[ours] = _Worker(process)
            work_left = len(left) > len(self._workers) * _BATCH

    def _read(self, pipe: Any, left: Assignments) -> Iterator[News]:
        """Read all messages of a worker; if it is dead, take back the sites that it has not done."""
        worker = self._workers[pipe]
        for message in self._messages(pipe):
            worker.began = True
            if isinstance(message, Broken):
                raise DatasetError(f"a worker failed: {message.reason}")
            if isinstance(message, Wanted):
                worker.asks = True
                continue
            if isinstance(message, Group):
                self._idle_ends = 0
                for row in message.sites:
                    worker.given.pop(row["site"], None)
            yield message
        if pipe in self._workers:
            return
        yield from self.lost(left, worker.given)
        self._idle_ends += not worker.began
        if self._idle_ends > _MOST_STARTS * self._most:
            raise DatasetError(
                "worker processes keep exiting before they have done any work"
                f" (last exit status: {worker.process.exitcode});"
                " python -c 'import usp.fleet.local_engine' may show why"
            )

    def _hand_out(self, left: Assignments) -> None:
        """Give sites to idle workers once all have started: the first would take everything."""
        if not all(worker.began for worker in self._workers.values()):
            return
        for pipe, worker in self._workers.items():
            if not worker.asks:
                continue
            batch: Batch = []
            if left.suspects and not left and not worker.given:
                batch = left.suspects.popleft()
                worker.ended = True
            elif not worker.ended:
                batch = left.batch(max(1, min(_BATCH, len(left) // (4 * self._most))))
            worker.given.update(batch)
            worker.ended = worker.ended or not batch
            worker.asks = False
            with suppress(OSError):  # if it is dead, that will be seen
                pipe.send(batch)


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker process, and the sites that it was given and has not reported in a group."""

    process: Any
    given: dict[str, Place] = field(default_factory=dict)
    began: bool = False  # whether it has ever sent anything
    asks: bool = False  # whether it waits for sites
    ended: bool = False  # whether it was told that there are no more


# A worker process ----------------------------------------------------------------------------------


def work(pipe: Connection[Any, Any], job: Job) -> None:
    """Work until the driver has no more sites; errors of the dataset are reported to it."""
    for one in (signal.SIGINT, signal.SIGTERM):  # the driver gets them too, and says what to do
        signal.signal(one, signal.SIG_IGN)
    driver = _Driver(pipe)
    try:
        spare_pandas()
        for group in crawl_groups(
            job,
            driver.batches(),
            on_site=lambda row: driver.send(SiteDone(row)),
            stopped=driver.stopped.is_set,
        ):
            driver.send(group)
    except Exception as error:  # noqa: BLE001 - a full disk, for example: nothing goes on by itself
        code = shortage_of(error)
        known = LocalShortageError.ADVICE.get(code) if code is not None else None
        name = "" if isinstance(error, DatasetError) else f"{type(error).__name__}: "
        driver.send(Broken(known or f"{name}{error}"))


class _Driver:
    """The driver, as its worker sees it. When the driver is gone, the worker ends."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._inbox: queue.SimpleQueue[Batch] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        threading.Thread(target=self._listen, name="usp-fleet-driver", daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                received = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(1)
            if isinstance(received, Stop):
                self.stopped.set()
                received = []
            self._inbox.put(received)

    def send(self, message: Any) -> None:
        """Send a message to the driver."""
        try:
            with self._lock:
                self._pipe.send(message)
        except OSError:
            os._exit(1)

    def batches(self) -> Iterator[Batch]:
        """Request batches of sites from the driver until there are no more."""
        self.send(Wanted())
        while batch := self._inbox.get():
            yield batch
            self.send(Wanted())
