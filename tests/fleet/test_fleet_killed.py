"""Whoever is killed, whenever: the same command again, and every site stands in the dataset once.

``USP_FLEET_KILLS=30 pytest -m proof -s tests/fleet/test_fleet_killed.py`` kills at random moments, again
and again, while others read, and prints what it has done. A run is started, and after a random time one
of its workers, or its driver, is killed with signal 9; then the same command goes on. When no site is
left, those that failed are crawled again in the same way. Then the tables must be what the websites
serve, and the next dataset is begun. All the time, readers look at the tables.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import deltalake
import pytest
from fleet_stores import BUCKET
from fleet_support import (
    SLOW,
    Served,
    below,
    check_truth,
    crawl,
    is_alive,
    is_worker,
    outcomes_of,
    parents,
    rows_of,
    serving,
    start,
    wait_for,
)

from usp.fleet import DatasetError
from usp.fleet.dataset import Dataset
from usp.fleet.tables import TABLES

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)

QUICK = ("--in-flight", "4", "--commit-seconds", "0.2")
KILLS = int(os.environ.get("USP_FLEET_KILLS", "1"))


def committed(root: Path) -> int:
    """Give the number of files in ``visits`` that count: those that were added to its log."""
    log = sorted((root / "visits" / "_delta_log").glob("*.json"))
    return sum(text.count('"add":') for text in map(Path.read_text, log))


ENGINES = [
    pytest.param("local", marks=pytest.mark.long),
    pytest.param("ray", marks=pytest.mark.proof),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_worker_and_then_the_driver_are_killed(engine, slow_fleet, root):
    if engine == "ray":
        pytest.importorskip("ray")
    driver = start(root, slow_fleet.urls, engine, *QUICK)
    try:
        wait_for(lambda: committed(root) >= 1)
        worker = wait_for(
            lambda: next((p for p, c in below(driver.pid).items() if is_worker(engine, c)), None)
        )
        os.kill(worker, signal.SIGKILL)
        before = committed(root)
        wait_for(lambda: committed(root) >= before + 2 or driver.poll() is not None)
        children = below(driver.pid)
        assert driver.poll() is None, driver.communicate()[1]
    finally:
        driver.kill()
        driver.communicate()
    assert 0 < len(outcomes_of(root)) < SLOW
    told = crawl(root, slow_fleet.urls, "local")  # whatever engine the first run had
    assert "were already there" in told
    check_truth(root, slow_fleet.sites)
    # Nobody whom the killed driver had started is left: no worker, and no daemon of Ray.
    wait_for(lambda: not [p for p, line in children.items() if line and is_alive(p, line)])


@pytest.mark.long
def test_after_ctrl_c_what_was_finished_is_committed_and_nobody_is_left(slow_fleet, root):
    ours, theirs = os.openpty()
    quick = ("--in-flight", "4", "--commit-seconds", "1000")
    with (
        start(root, slow_fleet.urls, "local", *quick, stderr=theirs) as driver,
        os.fdopen(ours, "rb", 0) as screen,
    ):
        os.close(theirs)
        try:
            shown = b""
            while not re.search(rb"(?<!\d)(?:[3-9]|[1-9]\d) of \d+ sites", shown):
                shown += screen.read(1000)
            assert committed(root) == 0  # sites are finished, and none is committed
            children = below(driver.pid)
            driver.send_signal(signal.SIGINT)
            with contextlib.suppress(OSError):  # the end of a terminal
                while screen.read(1000):
                    pass
            driver.wait(timeout=180)
        finally:
            driver.kill()
    assert driver.returncode in {1, 130}
    assert 0 < len(outcomes_of(root)) < SLOW
    assert not [pid for pid in children if is_worker("local", parents().get(pid, (0, ""))[1])]


# Readers -------------------------------------------------------------------------------------------


class Readers:
    """Look at a dataset over and over: what is wrong with what they see is in ``wrong``.

    A site is there once, and with all of its pages and sitemaps.
    """

    def __init__(self, root: str, served: Served) -> None:
        self._root = root
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
        while not self._ended.wait(0.1):
            try:
                found = {
                    view: Counter(row["site"] for row in rows_of(self._root, view))
                    for view in self._truth
                }
            except DatasetError:
                continue  # there is no table yet
            except Exception as error:  # noqa: BLE001 - nobody else would see it
                self.wrong.append(repr(error))
                return
            self.looks += 1
            self.wrong += self._mistakes(found)

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

    def run(self, root: str, urls: list[str], *more: str) -> bool:
        """Start a run, and kill somebody; return whether it came to its end."""
        driver = start(root, urls, self._engine, *QUICK, *more)
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
    while killer.killed.total() < times:
        root = new_root()
        datasets += 1
        with Readers(root, served).looking() as readers:
            for more in ((), ("--again",), ("--retry-failed",)):
                complete = False
                while not complete:
                    runs += 1
                    complete = killer.run(root, served.urls, *more)
                if more and not root.startswith("s3:"):
                    for table in TABLES:
                        deltalake.DeltaTable(f"{root}/{table}").optimize.compact()
        assert not readers.wrong, readers.wrong[:5]
        looks += readers.looks
        check_truth(root, served.sites)
        print(f"{datasets}: {killer.killed.total()} killed, {looks} looks", flush=True)
    killed = ", ".join(f"{name} {count}" for name, count in sorted(killer.killed.items()))
    return f"killed: {killed}; {runs} runs, {datasets} datasets, {looks} looks; nothing wrong"


@pytest.fixture(scope="module")
def websites():
    yield from serving(24, 0.1)


@pytest.mark.proof
@pytest.mark.parametrize("engine", ["local", "ray"])
@pytest.mark.parametrize("store", ["folder", "s3"])
def test_after_any_kills_the_tables_are_what_the_websites_serve(
    websites, s3, tmp_path, engine, store
):
    if engine == "ray":
        pytest.importorskip("ray")
    place = f"s3://{BUCKET}" if store == "s3" else str(tmp_path)
    roots = (f"{place}/kills-{engine}-{number}" for number in itertools.count())
    seed = random.randrange(1 << 30)
    print(f"seed {seed}", flush=True)
    print(kill_many_times(websites, roots.__next__, engine, KILLS, random.Random(seed)))


def test_readers_see_what_is_doubled_missing_or_unknown(websites, tmp_path):
    readers = Readers(str(tmp_path), websites)
    site = next(site for site in websites.sites if site.kind == "indexed")
    right = {
        "sites": Counter({site.url: 1}),
        "pages": Counter({site.url: len(site.pages)}),
        "sitemaps": Counter({site.url: len(site.sitemaps)}),
    }
    assert not list(readers._mistakes(right))
    assert not list(readers._mistakes(right | {"sites": Counter()}))  # not all of it yet
    for table, change in [("sites", 1), ("pages", 1), ("pages", -1), ("sitemaps", -1)]:
        wrong = right | {table: Counter({site.url: right[table][site.url] + change})}
        assert list(readers._mistakes(wrong)), (table, change)
    assert list(readers._mistakes(right | {"pages": right["pages"] + Counter({"?": 1})}))


# A cluster -------------------------------------------------------------------------------------------


@pytest.fixture
def cluster():
    """A node that only the driver uses, and two that work, each with its own temporary folder."""
    started = pytest.importorskip("ray.cluster_utils").Cluster()
    with ExitStack() as stack:
        stack.callback(started.shutdown)
        for cpus in (0, 1, 1):
            folder = tempfile.mkdtemp(prefix="n")  # short: it is part of the names of sockets
            stack.callback(shutil.rmtree, folder, ignore_errors=True)
            started.add_node(num_cpus=cpus, object_store_memory=80 << 20, temp_dir=folder)
        started.wait_for_nodes()
        yield started


@pytest.mark.proof
def test_a_node_of_three_that_share_nothing_but_a_store_dies_in_the_middle(
    cluster, s3_server, slow_fleet, monkeypatch
):
    for name, value in s3_server.environment.items():
        assert name not in os.environ  # what the nodes know of the server, the driver has told them
        monkeypatch.setenv(name, value)
    root = f"s3://{BUCKET}/cluster"
    driver = start(root, slow_fleet.urls, "ray", "--address", cluster.address, *QUICK)
    try:
        wait_for(lambda: driver.poll() is not None or done(root))
        assert driver.poll() is None, driver.communicate()[1].decode()
        cluster.remove_node(cluster.list_all_nodes()[-1], allow_graceful=False)
        _, told = driver.communicate(timeout=300)
    finally:
        driver.kill()
    assert driver.returncode == 0, told.decode()
    check_truth(root, slow_fleet.sites)


def done(root: str) -> int:
    return len(outcomes_of(root)) if Dataset(root).exists() else 0
