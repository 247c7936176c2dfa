"""What crawls the sites of a run: worker processes of this machine, or tasks of a Ray cluster."""

from __future__ import annotations

import logging
import multiprocessing
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import Enum
from itertools import count
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.files import DatasetError
from usp._base.names import load_extra
from usp._base.shortage import shortage_of
from usp.exceptions import LocalShortageError
from usp.export.schema import skip_pandas_import
from usp.fleet.crawler import Job, crawl_parts
from usp.fleet.tables import Part, Row

if TYPE_CHECKING:
    from usp.fleet.site_list import Assignments, Batch

_BATCH = 32  # sites that a worker gets at a time, at most, unless they belong together
_LOOK_SECONDS = 0.2  # after which it is looked for sites that have come
_CONNECT_SECONDS, _GREETING_SECONDS = 5.0, 5.0
_SETTINGS = b"\0\0\0\x04\0\0\0\0\0"  # the frame with which both sides of HTTP/2 begin
_HTTP2 = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + _SETTINGS
_RAY_ATTEMPTS = "5"  # to reach a cluster at an address, a second each; Ray itself takes 20
_MOST_STARTS = 3  # workers in a row that end before they have done anything
START_METHOD = "spawn"  # a fork of a process with threads may hang
_STOP_SECONDS = 10.0  # in which workers that are stopped must have ended

_TASK_BATCH = 4000
"""Sites of a task: its slowest site must not be most of its time; see docs/scale.md."""

_SHARE = 0.5
"""Of a CPU, for one task: while the last sites of one are waited for, another one uses it."""

_AHEAD = 2  # tasks that wait for each one that runs

_STORES = ("AWS_", "GOOGLE_", "AZURE_")
"""How the names of environment variables begin that the driver passes on to the other machines."""


class Signal(Enum):
    """What is said without more: by a worker, to a worker, of a worker."""

    NEED_WORK = "the worker is idle, and wants sites"
    STOP = "the worker should finish its part, and end"
    LOST = "a worker has died; what it had not written is crawled again"
    TICK = "nothing else; some time has passed"


News: TypeAlias = Row | Part | Signal
"""What an engine reports: a site that is not in the dataset yet, a part, or that a worker was lost."""


def advice_on(error: BaseException) -> str | None:
    """Return what to do about an error of this machine, if that is known."""
    return LocalShortageError.ADVICE.get(shortage_of(error) or 0)


def _jobs(job: Job) -> Iterator[Job]:
    """Yield the job for every worker of a run: each writes under a name of its own."""
    return (replace(job, writer=f"{job.writer}.{number}") for number in count())


def _lost(jobs: Iterator[Job], left: Assignments, worker: object) -> Iterator[News]:
    """Report a worker that is gone with sites; one that has killed a worker by itself fails."""
    if lost := left.lost(worker):
        yield Signal.LOST
        if lost[0].kills:
            yield from crawl_parts(next(jobs), iter([lost]))


# Processes of this machine -------------------------------------------------------------------------


class LocalEngine:
    """Crawls with processes of this machine."""

    def __init__(self, job: Job) -> None:
        self._jobs = _jobs(job)
        self._most = job.how.workers or os.cpu_count() or 1
        self._workers: dict[Any, _Worker] = {}  # by their pipes
        self._idle_ends = 0

    def run(self, left: Assignments) -> Iterator[News]:
        """Crawl; ends when every site was reported in a part."""
        while True:
            left.look()
            self._start_workers(left)
            self._hand_out(left)
            if not self._workers and not left.has_more:
                return
            for pipe in wait(list(self._workers), _LOOK_SECONDS):  # say something, or have ended
                yield from self._read(pipe, left)
            yield Signal.TICK

    def stop(self) -> Iterator[News]:
        """Let the workers finish what they have, and end them; yield what they report."""
        for pipe in self._workers:
            with suppress(OSError):
                pipe.send(Signal.STOP)
        end = time.monotonic() + _STOP_SECONDS
        while self._workers and (seconds := end - time.monotonic()) > 0:
            for pipe in wait(list(self._workers), seconds):
                for message in self._messages(pipe):
                    if isinstance(message, dict | Part):
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
        work_left = bool(len(left))
        while work_left and len(self._workers) < self._most:
            context: Any = multiprocessing.get_context(START_METHOD)
            ours, theirs = context.Pipe()
            process = context.Process(target=work, args=(theirs, next(self._jobs)), daemon=True)
            with _ctrl_c_blocked():
                process.start()
                theirs.close()
                self._workers[ours] = _Worker(process)
            work_left = len(left) > len(self._workers) * _BATCH

    def _read(self, pipe: Any, left: Assignments) -> Iterator[News]:
        """Read all messages of a worker; if it is dead, take back the sites that it has not done."""
        worker = self._workers[pipe]
        for message in self._messages(pipe):
            worker.began = True
            if isinstance(message, str):  # why it cannot go on, which is not a site
                raise DatasetError(f"a worker failed: {message}")
            if message is Signal.NEED_WORK:
                worker.asks = True
                continue
            if isinstance(message, Part):
                self._idle_ends = 0
                left.done(worker, [row["site"] for row in message.sites])
            yield message
        if pipe in self._workers:
            return
        yield from _lost(self._jobs, left, worker)
        self._idle_ends += not worker.began
        if self._idle_ends > _MOST_STARTS * self._most:
            raise DatasetError(
                "worker processes keep exiting before they have done any work"
                f" (last exit status: {worker.process.exitcode});"
                " python -c 'import usp.fleet.engines' may show why"
            )

    def _hand_out(self, left: Assignments) -> None:
        """Give sites to idle workers once all have started: the first would take everything."""
        if not all(worker.began for worker in self._workers.values()):
            return
        for pipe, worker in self._workers.items():
            if not worker.asks:
                continue
            batch = left.batch(max(1, min(_BATCH, len(left) // (4 * self._most))), worker)
            if batch is None:
                continue
            worker.asks = False
            with suppress(OSError):  # if it is dead, that will be seen
                pipe.send(batch)


@contextmanager
def _ctrl_c_blocked() -> Iterator[None]:
    """Hold back Ctrl-C from this block and from the processes that it starts until its end.

    A terminal sends it to all processes at once, and one that is still loading would end in a
    traceback. The driver handles it, and stops the others.
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


@dataclass(slots=True, eq=False)
class _Worker:
    """A worker process."""

    process: Any
    began: bool = False  # whether it has ever sent anything
    asks: bool = False  # whether it waits for sites


# A worker process ----------------------------------------------------------------------------------


def work(pipe: Connection[Any, Any], job: Job) -> None:
    """Work until the driver has no more sites; errors of the dataset are reported to it."""
    for one in (signal.SIGINT, signal.SIGTERM):  # the driver gets them too, and says what to do
        signal.signal(one, signal.SIG_IGN)
    driver = _Driver(pipe)
    try:
        skip_pandas_import()
        batches, stopped = driver.batches(), driver.stopped.is_set
        for part in crawl_parts(job, batches, on_site=driver.send, stopped=stopped):
            driver.send(part)
    except Exception as error:  # noqa: BLE001 - a full disk, for example: nothing goes on by itself
        name = "" if isinstance(error, DatasetError) else f"{type(error).__name__}: "
        driver.send(advice_on(error) or f"{name}{error}")


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
            if received is Signal.STOP:
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
        self.send(Signal.NEED_WORK)
        while batch := self._inbox.get():
            yield batch
            self.send(Signal.NEED_WORK)


# A cluster ----------------------------------------------------------------------------------------


def ray_module(part: str = "", address: str | None = None) -> Any:
    """Return Ray, or a module of it; raises ``MissingExtraError`` if it is not installed."""
    if address is not None:
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", _RAY_ATTEMPTS)
    return load_extra(f"ray{part}", "The engine ray needs ray", "ray")


class RayEngine:
    """Crawls on the cluster at ``address``, or on one that is started here; it stops at once."""

    def __init__(self, job: Job) -> None:
        self._jobs = _jobs(job)
        self._address = address = job.how.address
        # Not another one that happens to run on this machine: Ray would connect to that.
        here = {"address": "local", "num_cpus": job.how.workers, "include_dashboard": False}
        self._cluster = here if address is None else {"address": address}

    def run(self, left: Assignments) -> Iterator[News]:
        """Crawl; ends when every site was reported in a part."""
        ray = ray_module()
        ours = not ray.is_initialized()
        if ours:
            _check_address(self._address)
            try:
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **self._cluster)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise DatasetError(f"cannot connect to Ray: {_last_line(error)}") from error
        try:
            yield from self._run(ray, left)
        except ray.exceptions.RayTaskError as error:
            raise DatasetError(f"a worker failed: {_last_line(error)}") from error
        except ray.exceptions.RaySystemError as error:
            raise DatasetError(f"Ray failed: {_last_line(error)}") from error
        finally:
            if ours:
                ray.shutdown()

    def stop(self) -> Iterator[News]:
        """Yield nothing: what the tasks have not reported is crawled again."""
        return iter(())

    def _run(self, ray: Any, left: Assignments) -> Iterator[News]:
        task = ray.remote(num_cpus=_SHARE, max_retries=0, num_returns="streaming")(_crawl)
        variables = {name: text for name, text in os.environ.items() if name.startswith(_STORES)}

        writers: dict[Any, str] = {}  # by what each task reports
        while writers or left.has_more:
            cpus = int(ray.cluster_resources().get("CPU", 1))  # some may have joined since
            left.look()
            while len(left) and len(writers) < max(1, int(cpus / _SHARE)) * _AHEAD:
                job = next(self._jobs)
                size = max(1, min(_TASK_BATCH, len(left) // (4 * cpus)))
                if not (batch := left.batch(size, job.writer)):
                    break
                writers[task.remote(job, batch, variables)] = job.writer
            if not writers:
                time.sleep(_LOOK_SECONDS)
                continue
            ready, _ = ray.wait(
                list(writers), num_returns=1, fetch_local=False, timeout=_LOOK_SECONDS
            )
            yield Signal.TICK
            for stream in ready:
                try:
                    part: Part = ray.get(next(stream))
                except ray.exceptions.RayTaskError:
                    raise
                except (StopIteration, ray.exceptions.RayError):  # it has ended, or is lost
                    yield from _lost(self._jobs, left, writers.pop(stream))
                else:
                    left.done(writers[stream], [row["site"] for row in part.sites])
                    yield part


def _check_address(address: str | None) -> None:
    """Raise :class:`DatasetError` if Ray does not listen at an address: it would wait for long."""
    host, separator, port = (address or "").removeprefix("ray://").rpartition(":")
    if not separator or not port.isdigit():
        return  # one that Ray itself finds
    try:
        with socket.create_connection(
            (host.strip("[]"), int(port)), _CONNECT_SECONDS
        ) as connection:
            if os.environ.get("RAY_USE_TLS", "0") != "0":
                return
            connection.settimeout(_GREETING_SECONDS)
            connection.sendall(_HTTP2)
            if connection.recv(len(_SETTINGS), socket.MSG_WAITALL)[3:4] == _SETTINGS[3:4]:
                return
        raise DatasetError(f"cannot connect to Ray at {address}: what responds there is not Ray")
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DatasetError(f"cannot connect to Ray at {address}: {reason}") from error


def _crawl(job: Job, batch: Batch, environment: dict[str, str]) -> Iterator[Part]:
    """Crawl a batch; runs on any machine of the cluster, with the credentials of the driver."""
    os.environ.update(environment)  # not as an environment of Ray: its dashboard would show it
    # Ray sends values to a generator, which those that it delegates to may not take.
    for part in crawl_parts(job, iter([batch])):  # noqa: UP028
        yield part


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
