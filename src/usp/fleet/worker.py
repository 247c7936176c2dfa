"""What a worker does: crawl batches of sites, write them to the dataset, report what is committed.

:func:`crawl_into` is that work on either engine, :func:`work` a process of the local one.
"""

from __future__ import annotations

import gc
import logging
import os
import queue
import signal
import threading
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from usp._base.shortage import more_descriptors, shortage_of
from usp.exceptions import LocalShortageError
from usp.fleet.crawler import crawl_tables
from usp.fleet.dataset import Dataset
from usp.fleet.tables import GROUP_SECONDS, GroupWriter, rows_of
from usp.objects.problem import FailureCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from multiprocessing.connection import Connection
    from pathlib import Path

    from usp.fleet.options import FleetOptions

    Batch = list[tuple[str, str]]

Row = dict[str, Any]

STOP = "stop"
"""What the driver sends to a process that should commit and end."""

_KILLER = "the worker process ended while it had this site alone; smaller limits may help (--max)"


@dataclass(frozen=True, slots=True)
class Job:
    """What all workers of a run are told: the dataset, the number of the run, and how to crawl."""

    root: Path
    run: int
    options: FleetOptions
    commit_seconds: float = GROUP_SECONDS

    def writer(self, name: str) -> GroupWriter:
        """Return a writer to the dataset, under a name that nobody else has in this run."""
        dataset, columns = Dataset(self.root), self.options.columns
        return GroupWriter(dataset, self.run, name, columns, seconds=self.commit_seconds)


def crawl_into(
    job: Job,
    name: str,
    batches: Iterator[Batch],
    *,
    on_site: Callable[[Row], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[list[Row]]:
    """Crawl sites into the dataset; yield the rows of ``sites`` of each group once it is committed."""
    with _as_a_worker(), Dataset(job.root).as_worker(job.run):
        writer = job.writer(name)
        between = True  # two sites, and not in the middle of one
        try:
            with closing(crawl_tables(batches, job.options)) as items:
                for item in items:
                    if item is not None:
                        done = writer.add(*item)
                        between = item[0] == "sites"
                        if between and on_site is not None:
                            on_site(item[1].to_pylist()[0])
                    else:
                        done = writer.tick() if between else []
                    if done:
                        yield done
                    if between and stopped():
                        break
            done = writer.commit()
            if done:
                yield done
        finally:
            writer.discard()


@contextmanager
def _as_a_worker() -> Iterator[None]:
    """Set the process to this work, and back afterwards: it may be somebody's own."""
    logger = logging.getLogger("usp")
    level, thresholds = logger.level, gc.get_threshold()
    logger.setLevel(logging.CRITICAL)  # what fails is a row with a reason
    gc.set_threshold(100_000, 50, 100)  # blocks of entries are many objects, and no garbage
    try:
        with more_descriptors():
            yield
    finally:
        logger.setLevel(level)
        gc.set_threshold(*thresholds)


def write_killer(job: Job, name: str, site: str) -> Row:
    """Commit the row of a site that ends every worker it is given to, and return the row."""
    row = failed_row(site, _KILLER)
    writer = job.writer(name)
    writer.add("sites", rows_of("sites", [row]))
    writer.commit()
    return row


def failed_row(site: str, reason: str) -> Row:
    """Return the row of a site of which nothing is known."""
    return {
        "site": site,
        "outcome": "failed",
        "reason": reason,
        "code": FailureCode.INTERNAL_ERROR.value,
        **dict.fromkeys(("sitemaps", "pages", "bytes", "requests"), 0),
        "duration": 0.0,
        "started": datetime.now(UTC),
    }


# A process of the local engine ----------------------------------------------------------------------


def work(pipe: Connection[Any, Any], job: Job, name: str) -> None:
    """Work until the driver has nothing more; what goes wrong with the dataset is reported to it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the driver gets it, and says what to do
    driver = _Driver(pipe)
    try:
        for rows in crawl_into(
            job,
            name,
            driver.batches(),
            on_site=lambda row: driver.send("site", row),
            stopped=driver.stopped.is_set,
        ):
            driver.send("committed", rows)
    except Exception as error:  # noqa: BLE001 - a full disk, for example: nothing goes on by itself
        code = shortage_of(error)
        known = LocalShortageError.ADVICE.get(code) if code is not None else None
        driver.send("broken", known or f"{type(error).__name__}: {error}")
    else:
        driver.send("over", None)


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

    def send(self, what: str, about: Any) -> None:
        """Send a message to the driver."""
        try:
            with self._lock:
                self._pipe.send((what, about))
        except OSError:
            os._exit(1)

    def batches(self) -> Iterator[Batch]:
        """Ask for batches of sites until there are no more."""
        while True:
            self.send("want", None)
            batch = self._inbox.get()
            if batch is None:
                return
            yield batch
