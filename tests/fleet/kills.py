"""Kills workers and drivers of real runs at random moments, again and again, while others read.

``USP_FLEET_KILLS=30 pytest -m proof -s tests/fleet/test_fleet_killed.py`` prints what it has done. A run
is started, and after a random time one of its workers, or its driver, is killed with signal 9; then the
same command goes on. When no site is left, those that failed are crawled again in the same way. Then the
tables must be what the websites serve, and the next dataset is begun. All the time, readers look at the
tables.
"""

from __future__ import annotations

import itertools
import os
import random
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import deltalake
import duckdb
import polars as pl
from fleet_support import Served, below, check_truth, is_worker, start

from usp._base.files import FileStore

OPTIONS = ("--in-flight", "4", "--commit-seconds", "0.2")


# Readers -------------------------------------------------------------------------------------------


def by_deltalake(table: deltalake.DeltaTable) -> list[str]:
    return list(table.to_pyarrow_table(columns=["site"]).column("site").to_pylist())


def by_polars(table: deltalake.DeltaTable) -> list[str]:
    return list(pl.read_delta(table).get_column("site").to_list())


def by_duckdb(table: deltalake.DeltaTable) -> list[str]:
    seen = table.to_pyarrow_dataset()  # noqa: F841 - DuckDB finds it by its name
    with duckdb.connect() as database:
        return [site for (site,) in database.execute("select site from seen").fetchall()]


READERS: tuple[Callable[[Any], list[str]], ...] = (by_deltalake, by_polars, by_duckdb)


class Readers:
    """Look at a dataset over and over: what is wrong with what they see is in ``wrong``.

    A site of ``sites`` is there once, and with all of its rows in the other tables. No site ever has
    more rows than it has in truth.
    """

    def __init__(self, root: str, served: Served) -> None:
        self._store = FileStore(root)
        self._truth = {
            "sites": {site.url: 1 for site in served.sites},
            "pages": {site.url: len(site.pages) for site in served.sites},
            "sitemaps": {site.url: len(site.sitemaps) for site in served.sites},
        }
        self._ended = threading.Event()
        self.looks = 0
        self.wrong: list[str] = []

    @contextmanager
    def looking(self) -> Iterator[Readers]:
        thread = threading.Thread(target=self._look_on, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self._ended.set()
            thread.join()

    def _look_on(self) -> None:
        for read in itertools.cycle(READERS):
            if self._ended.wait(0.1):
                return
            try:
                found = {table: Counter(read(self._open(table))) for table in self._truth}
            except (OSError, deltalake.exceptions.DeltaError, pl.exceptions.PolarsError):
                continue  # there is no table yet, or a file of an older version was removed
            except Exception as error:  # noqa: BLE001 - nobody else would see it
                if isinstance(error, duckdb.Error) and "not found" in str(error):
                    continue  # the same, as DuckDB tells it
                self.wrong.append(f"{read.__name__}: {error!r}")
                return
            self.looks += 1
            self.wrong += [f"{read.__name__}: {text}" for text in self._mistakes(found)]

    def _open(self, table: str) -> deltalake.DeltaTable:
        return deltalake.DeltaTable(self._store.path(table))

    def _mistakes(self, found: dict[str, Counter[str]]) -> Iterator[str]:
        done = found["sites"]  # it was read first: what the others have of its sites is complete
        for table, truth in self._truth.items():
            for site, count in found[table].items():
                if count > truth.get(site, 0):
                    yield f"{site} has {count} rows in {table}, not {truth.get(site, 0)}"
            for site in done:
                if found[table][site] != truth.get(site):
                    yield f"{site} is done, and has {found[table][site]} rows in {table}"


# Killing -------------------------------------------------------------------------------------------


class Killer:
    """Starts runs, and kills somebody of each after a random time."""

    def __init__(self, engine: str, chance: random.Random) -> None:
        self._engine = engine
        self._chance = chance
        self.killed: Counter[str] = Counter()

    def run(self, root: str, sites: Path, *more: str) -> bool:
        """Start a run, and kill somebody; return whether it came to its end."""
        driver = start(root, sites, self._engine, *OPTIONS, *more)
        try:
            if self._chance.random() < 0.75:  # else it may die before it has done anything
                while driver.poll() is None and not self._workers(driver.pid):
                    time.sleep(0.05)
            self._wait(driver, 4.0)
            workers = self._workers(driver.pid)
            if workers and self._chance.random() < 0.6:
                self._kill("worker", driver, self._chance.choice(workers))
                self._wait(driver, 3.0)
            if self._chance.random() < 0.6:  # also while it replaces a worker
                self._kill("driver", driver, driver.pid)
            _, told = driver.communicate(timeout=600)
        finally:
            driver.kill()
            driver.wait()
        assert driver.returncode in {0, -signal.SIGKILL}, told.decode()
        return driver.returncode == 0

    def _workers(self, driver: int) -> list[int]:
        return [pid for pid, line in below(driver).items() if is_worker(self._engine, line)]

    def _wait(self, driver: subprocess.Popen[bytes], most: float) -> None:
        with suppress(subprocess.TimeoutExpired):
            driver.wait(self._chance.uniform(0.0, most))

    def _kill(self, name: str, driver: subprocess.Popen[bytes], pid: int) -> None:
        if driver.poll() is None:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                self.killed[name] += 1


def kill_many_times(
    served: Served, new_root: Callable[[], str], engine: str, times: int, chance: random.Random
) -> str:
    """Kill until it was done so many times and the last dataset is complete; return what was seen."""
    killer = Killer(engine, chance)
    looks = runs = datasets = 0
    with tempfile.TemporaryDirectory() as folder:
        sites = Path(folder, "sites.txt")
        sites.write_text("\n".join(served.urls))
        while killer.killed.total() < times:
            root = new_root()
            datasets += 1
            with Readers(root, served).looking() as readers:
                for more in ((), ("--retry-failed",)):  # what is replaced is there once, too
                    complete = False
                    while not complete:
                        runs += 1
                        complete = killer.run(root, sites, *more)
            assert not readers.wrong, readers.wrong[:5]
            looks += readers.looks
            check_truth(root, served.sites)
            print(f"{datasets}: {killer.killed.total()} killed, {looks} looks", flush=True)
    killed = ", ".join(f"{name} {count}" for name, count in sorted(killer.killed.items()))
    return f"killed: {killed}; {runs} runs, {datasets} datasets, {looks} looks; nothing wrong"
