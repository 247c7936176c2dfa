"""The engine of one machine: worker processes, each with many sites under way."""

from __future__ import annotations

import multiprocessing
import os
import time
from collections import Counter, deque
from contextlib import suppress
from multiprocessing.connection import wait
from typing import TYPE_CHECKING, Any

from usp.fleet.dataset import Dataset, DatasetError
from usp.fleet.process import STOP, work
from usp.fleet.sheltered import sheltered
from usp.fleet.worker import KILLER, write_failed
from usp.fleet.writer import GROUP_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from usp.fleet.options import FleetOptions

    Parcel = list[tuple[str, str]]

_PARCEL = 32
_MOST_DEATHS = 2
"""After so many workers have died with a site under way, it gets one for itself."""

_MOST_STARTS = 3  # workers in a row that end before they have done anything
_PATIENCE = 15.0  # seconds in which a worker that is stopped must have committed


class LocalEngine:
    """Crawls groups of sites by processes of this machine.

    ``run`` gives what happens: ``("site", row)`` when a site is finished, ``("done", rows)`` when
    sites are committed. A worker that dies is replaced, and its sites are given to others; a site
    that has killed a worker by itself fails.
    """

    def __init__(
        self,
        root: Path,
        run: int,
        options: FleetOptions,
        workers: int | None = None,
        commit_seconds: float = GROUP_SECONDS,
    ) -> None:
        self._root = root
        self._run = run
        self._options = options
        self._most = workers or os.cpu_count() or 1
        self._seconds = commit_seconds
        self._groups: deque[tuple[str, list[str]]] = deque()
        self._suspects: deque[tuple[str, str]] = deque()
        self._deaths: Counter[str] = Counter()
        self._crew: dict[Any, _Worker] = {}
        self._asking: deque[Any] = deque()
        self._started = 0
        self._idle_ends = 0

    def run(self, groups: list[tuple[str, list[str]]]) -> Iterator[tuple[str, Any]]:
        """Crawl; ends when every site is committed."""
        self._groups.extend(groups)
        try:
            while True:
                self._hire()
                self._serve()
                if not self._crew:
                    return
                ready = wait([*self._crew, *(w.process.sentinel for w in self._crew.values())])
                for pipe, worker in list(self._crew.items()):
                    if pipe in ready or worker.process.sentinel in ready:
                        yield from self._hear(pipe, worker)
        except BaseException:
            self._stop()
            raise

    def _hire(self) -> None:
        """Start workers while there is work for more of them."""
        asking = sum(not worker.ended for worker in self._crew.values())
        work_left = bool(self._groups) or (bool(self._suspects) and not asking)
        while work_left and len(self._crew) < self._most:
            context = multiprocessing.get_context("spawn")
            ours, theirs = context.Pipe()
            name = f"w{self._started:05d}"
            self._started += 1
            place = (self._root, self._run, name)
            arguments = (theirs, self._options, place, self._seconds)
            process = context.Process(target=work, args=arguments, name=f"usp-{name}", daemon=True)
            with sheltered():
                process.start()
                theirs.close()
                self._crew[ours] = _Worker(process, name)
            work_left = len(self._groups) > len(self._crew) * _PARCEL

    def _hear(self, pipe: Any, worker: _Worker) -> Iterator[tuple[str, Any]]:
        """Take all that a worker has said; if it is dead, take back what it has not done."""
        alive = worker.process.is_alive()  # asked first: what it said before it died is read below
        try:
            while pipe.poll():
                yield from self._take(pipe, worker, *pipe.recv())
        except (EOFError, ConnectionResetError):
            alive = False
        if not alive:
            worker.process.join()
            del self._crew[pipe]
            pipe.close()
            yield from self._bury(worker)

    def _take(self, pipe: Any, worker: _Worker, what: str, about: Any) -> Iterator[tuple[str, Any]]:
        """Take a word of a worker."""
        worker.working = True
        if what == "want":
            self._asking.append(pipe)
        elif what == "site":
            yield what, about
        elif what == "done":
            self._idle_ends = 0
            for row in about:
                worker.given.pop(row["site"], None)
            yield what, about
        elif what == "broken":
            raise DatasetError(f"a worker could not go on: {about}")

    def _serve(self) -> None:
        """Answer the workers that ask, once all have begun: the first one would take everything."""
        if all(worker.working for worker in self._crew.values()):
            while self._asking:
                pipe = self._asking.popleft()
                if pipe in self._crew:
                    self._give(pipe, self._crew[pipe])

    def _give(self, pipe: Any, worker: _Worker) -> None:
        """Give a parcel to a worker that asks, or tell it that there are no more."""
        parcel: Parcel = []
        if self._suspects and not self._groups and not worker.given:
            parcel = [self._suspects.popleft()]
            worker.ended = True
        size = max(1, min(_PARCEL, len(self._groups) // (4 * self._most)))
        while self._groups and len(parcel) < size and not worker.ended:
            key, sites = self._groups.popleft()
            parcel += [(site, key) for site in sites]
        worker.given.update(parcel)
        worker.ended = worker.ended or not parcel
        with suppress(OSError):  # if it is dead, that will be seen
            pipe.send(parcel or None)

    def _bury(self, worker: _Worker) -> Iterator[tuple[str, Any]]:
        """Take back what a worker has not done."""
        for commit in Dataset(self._root).commits_of(self._run, worker.name):
            told = [
                {"site": site, "outcome": outcome}
                for site, outcome in commit.sites.items()
                if worker.given.pop(site, None) is not None
            ]
            if told:
                yield "done", told
        if worker.given:
            yield from self._sort(worker)
        self._idle_ends += not worker.working
        if self._idle_ends > _MOST_STARTS * self._most:
            raise DatasetError(
                "worker processes end again and again before they have done anything"
                f" (the last one with status {worker.process.exitcode});"
                " python -c 'import usp.fleet.process' may show why"
            )

    def _sort(self, worker: _Worker) -> Iterator[tuple[str, Any]]:
        """Give the sites of a dead worker to others, or blame the one that it had alone."""
        yield "death", worker.name
        (first, *others) = worker.given
        if not others and self._deaths[first] >= _MOST_DEATHS:
            place = (self._root, self._run, f"{worker.name}x")
            yield "done", [write_failed(self._options, place, first, KILLER)]
            return
        again: dict[str, list[str]] = {}
        for site, key in worker.given.items():
            self._deaths[site] += 1
            if self._deaths[site] >= _MOST_DEATHS:
                self._suspects.append((site, key))
            else:
                again.setdefault(key, []).append(site)
        self._groups.extend(again.items())

    def _stop(self) -> None:
        """Let the workers commit what they have, and end them."""
        for pipe in self._crew:
            with suppress(OSError):
                pipe.send(STOP)
        for pipe, worker in self._crew.items():
            self._wait_for(pipe, worker)
            pipe.close()
        self._crew.clear()

    @staticmethod
    def _wait_for(pipe: Any, worker: _Worker) -> None:
        end = time.monotonic() + _PATIENCE
        with suppress(EOFError, OSError):
            while time.monotonic() < end and worker.process.is_alive():
                if pipe.poll(0.1):
                    pipe.recv()  # a full pipe would hold it up
        if worker.process.is_alive():
            worker.process.kill()
        worker.process.join()


class _Worker:
    """A worker process, and the sites that it was given and has not committed."""

    def __init__(self, process: Any, name: str) -> None:
        self.process = process
        self.name = name
        self.given: dict[str, str] = {}
        self.ended = False  # whether it was told that there is no more
        self.working = False  # whether it has ever said a word
