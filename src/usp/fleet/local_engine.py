"""The engine of one machine: worker processes, each of which crawls many sites at a time."""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import threading
import time
from collections import deque
from contextlib import contextmanager, suppress
from multiprocessing import resource_tracker
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from usp._base.shortage import shortage_of
from usp.exceptions import LocalShortageError
from usp.export.schema import spare_pandas
from usp.fleet.assignments import Assignments
from usp.fleet.crawler import crawl_groups, killer_group
from usp.fleet.messages import Broken, GroupDone, Over, SiteDone, Wanted, WorkerLost
from usp.fleet.store import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from multiprocessing.connection import Connection

    from usp.fleet.crawler import Job
    from usp.fleet.messages import Batch, News, Place

_BATCH = 32  # groups of sites that a worker gets at a time, at most
_MOST_STARTS = 3  # workers in a row that end before they have done anything
START_METHOD = "spawn"  # a fork of a process with threads may hang
STOP = "stop"
"""What the driver sends to a process that should finish its group and end."""

_STOP_SECONDS = 15.0  # in which a worker that is stopped must have ended


class LocalEngine:
    """Crawls groups of sites with processes of this machine.

    A worker that dies is replaced, and its sites are reassigned; a site that has killed a worker by
    itself fails.
    """

    def __init__(self, job: Job, workers: int | None = None) -> None:
        self._job = job
        self._most = workers or os.cpu_count() or 1
        self._left = Assignments(())
        self._workers: dict[Any, _Worker] = {}
        self._asking: deque[Any] = deque()
        self._started = 0
        self._idle_ends = 0

    def run(
        self, groups: Iterable[tuple[str, list[str]]], older: Mapping[str, str] | None = None
    ) -> Iterator[News]:
        """Crawl; ends when every site was reported in a group. ``older`` are the files with sites."""
        self._left = Assignments(groups, older)
        while True:
            self._start_workers()
            self._hand_out()
            if not self._workers:
                return
            ready = wait([*self._workers, *(w.process.sentinel for w in self._workers.values())])
            for pipe, worker in list(self._workers.items()):
                if pipe in ready or worker.process.sentinel in ready:
                    yield from self._read(pipe, worker)

    def stop(self) -> Iterator[News]:
        """Let the workers finish what they have, and end them; report what they say."""
        for pipe in self._workers:
            with suppress(OSError):
                pipe.send(STOP)
        for pipe, worker in self._workers.items():
            for message in worker.last_words(pipe):
                if isinstance(message, SiteDone | GroupDone):
                    yield message
            pipe.close()
        self._workers.clear()

    def _start_workers(self) -> None:
        """Start workers while there is work for more of them."""
        asking = sum(not worker.ended for worker in self._workers.values())
        work_left = bool(self._left) or (self._left.has_suspects and not asking)
        while work_left and len(self._workers) < self._most:
            context: Any = multiprocessing.get_context(START_METHOD)
            ours, theirs = context.Pipe()
            name = f"w{self._started:05d}"
            self._started += 1
            process = context.Process(
                target=work, args=(theirs, self._job), name=f"usp-{name}", daemon=True
            )
            with _ctrl_c_blocked():
                process.start()
                theirs.close()
                self._workers[ours] = _Worker(process, name)
            work_left = len(self._left) > len(self._workers) * _BATCH

    def _read(self, pipe: Any, worker: _Worker) -> Iterator[News]:
        """Read all messages of a worker; if it is dead, take back the sites that it has not done."""
        alive = (
            worker.process.is_alive()
        )  # checked first: what it sent before it died is read below
        try:
            while pipe.poll():
                yield from self._take(pipe, worker, pipe.recv())
        except (EOFError, OSError):  # it has ended, perhaps in the middle of a message
            alive = False
        if not alive:
            worker.process.join()
            del self._workers[pipe]
            pipe.close()
            yield from self._bury(worker)

    def _take(self, pipe: Any, worker: _Worker, message: Any) -> Iterator[News]:
        """Process one message of a worker."""
        worker.began = True
        if isinstance(message, Wanted):
            self._asking.append(pipe)
        elif isinstance(message, Broken):
            raise DatasetError(f"a worker failed: {message.reason}")
        elif isinstance(message, GroupDone):
            self._idle_ends = 0
            for row in message.group.sites:
                worker.given.pop(row["site"], None)
            yield message
        elif isinstance(message, SiteDone):
            yield message

    def _hand_out(self) -> None:
        """Give sites to idle workers once all have started: the first would take everything."""
        if all(worker.began for worker in self._workers.values()):
            while self._asking:
                pipe = self._asking.popleft()
                if pipe in self._workers:
                    self._give(pipe, self._workers[pipe])

    def _give(self, pipe: Any, worker: _Worker) -> None:
        """Give sites to an idle worker, or tell it that there are no more."""
        batch: Batch = []
        if self._left.has_suspects and not self._left and not worker.given:
            batch = self._left.suspect()
            worker.ended = True
        elif not worker.ended:
            batch = self._left.batch(max(1, min(_BATCH, len(self._left) // (4 * self._most))))
        worker.given.update(batch)
        worker.ended = worker.ended or not batch
        with suppress(OSError):  # if it is dead, that will be seen
            pipe.send(batch or None)

    def _bury(self, worker: _Worker) -> Iterator[News]:
        """Reassign the sites of a worker that is gone, or blame the only one that it had."""
        if worker.given:
            yield WorkerLost(worker.name)
            killer = self._left.take_back(worker.given)
            if killer is not None:
                yield GroupDone(killer_group(self._job, killer))
        self._idle_ends += not worker.began
        if self._idle_ends > _MOST_STARTS * self._most:
            raise DatasetError(
                "worker processes keep exiting before they have done any work"
                f" (last exit status: {worker.process.exitcode});"
                " python -c 'import usp.fleet.local_engine' may show why"
            )


class _Worker:
    """A worker process, and the sites that it was given and has not reported in a group."""

    def __init__(self, process: Any, name: str) -> None:
        self.process = process
        self.name = name
        self.given: dict[str, Place] = {}
        self.ended = False  # whether it was told that there is no more
        self.began = False  # whether it has ever sent anything

    def last_words(self, pipe: Any) -> Iterator[Any]:
        """Yield what it says until its end, and kill it if that takes too long."""
        end = time.monotonic() + _STOP_SECONDS
        with suppress(EOFError, OSError):
            while time.monotonic() < end and (self.process.is_alive() or pipe.poll()):
                if pipe.poll(0.1):
                    yield pipe.recv()
        if self.process.is_alive():
            self.process.kill()
        self.process.join()


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Hold back Ctrl-C from this block and from the processes that it starts until its end.

    A terminal sends it to all processes at once, and one that is still loading would end in a
    traceback. The driver handles it, and tells the others what to do.
    """
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover - Windows
        yield
        return
    # Started by multiprocessing together with its first process, it would unblock Ctrl-C again.
    resource_tracker.ensure_running()
    received = threading.Event()
    handler = signal.getsignal(signal.SIGINT)
    # Another thread may take the signal, for which it is not blocked.
    replaced = threading.current_thread() is threading.main_thread() and callable(handler)
    if replaced:
        signal.signal(signal.SIGINT, lambda *_: received.set())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if replaced:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if received.is_set():
            signal.raise_signal(signal.SIGINT)


# A worker process ----------------------------------------------------------------------------------


def work(pipe: Connection[Any, Any], job: Job) -> None:
    """Work until the driver has no more sites; errors of the dataset are reported to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver gets it, and says what to do
    driver = _Driver(pipe)
    try:
        spare_pandas()
        for group in crawl_groups(
            job,
            driver.batches(),
            on_site=lambda row: driver.send(SiteDone(row)),
            stopped=driver.stopped.is_set,
        ):
            driver.send(GroupDone(group))
    except Exception as error:  # noqa: BLE001 - a full disk, for example: nothing goes on by itself
        code = shortage_of(error)
        known = LocalShortageError.ADVICE.get(code) if code is not None else None
        words = (
            str(error) if isinstance(error, DatasetError) else f"{type(error).__name__}: {error}"
        )
        driver.send(Broken(known or words))
    else:
        driver.send(Over())


class _Driver:
    """The driver, as its worker sees it. When the driver is gone, the worker ends."""

    def __init__(self, pipe: Connection[Any, Any]) -> None:
        self._pipe = pipe
        self._inbox: queue.SimpleQueue[Batch | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self.stopped = threading.Event()
        threading.Thread(target=self._listen, name="usp-fleet-driver", daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                received = self._pipe.recv()
            except (EOFError, OSError):
                os._exit(1)
            if received == STOP:
                self.stopped.set()
                received = None
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
        while True:
            self.send(Wanted())
            batch = self._inbox.get()
            if batch is None:
                return
            yield batch
