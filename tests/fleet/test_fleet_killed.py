"""Whoever is killed, whenever: the same command again, and every site stands in the dataset once."""

from __future__ import annotations

import contextlib
import itertools
import os
import random
import re
import shutil
import signal
import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import pytest
from fleet_stores import BUCKET
from fleet_support import (
    SLOW,
    below,
    check_truth,
    committed_files,
    files_of,
    is_alive,
    is_worker,
    parents,
    serving,
    start,
    wait_for,
)
from kills import Readers, kill_many_times

from usp.fleet.dataset import Dataset

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/stat").exists(), reason="looks for processes in /proc"
)

QUICK = ("--in-flight", "4", "--commit-seconds", "0.2")


def committed(root: Path) -> int:
    """Give the number of files in ``sites`` that count: those that were added to its log."""
    log = sorted((root / "sites" / "_delta_log").glob("*.json"))
    return sum(text.count('"add":') for text in map(Path.read_text, log))


ENGINES = [
    pytest.param("local", marks=pytest.mark.long),
    pytest.param("ray", marks=pytest.mark.proof),
]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_worker_and_then_the_driver_are_killed(engine, slow_fleet, tmp_path):
    if engine == "ray":
        pytest.importorskip("ray")
    root, sites = tmp_path / "dataset", tmp_path / "sites.txt"
    sites.write_text("\n".join(slow_fleet.urls))
    driver = start(root, sites, engine, *QUICK)
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
    assert 0 < len(Dataset(root).sites()) < SLOW
    again = start(root, sites, "local")  # whatever engine the first run had
    _, told = again.communicate(timeout=300)
    assert again.returncode == 0, told.decode()
    assert "were already there" in told.decode()
    check_truth(root, slow_fleet.sites)
    assert files_of(root) == committed_files(root)
    # Nobody whom the killed driver had started is left: no worker, and no daemon of Ray.
    wait_for(lambda: not [p for p, line in children.items() if line and is_alive(p, line)])


@pytest.mark.long
def test_after_ctrl_c_what_was_finished_is_committed_and_nobody_is_left(slow_fleet, tmp_path):
    root, sites = tmp_path / "dataset", tmp_path / "sites.txt"
    sites.write_text("\n".join(slow_fleet.urls))
    ours, theirs = os.openpty()
    quick = ("--in-flight", "4", "--commit-seconds", "1000")
    with (
        start(root, sites, "local", *quick, stderr=theirs) as driver,
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
    assert 0 < len(Dataset(root).sites()) < SLOW
    assert not [pid for pid in children if is_worker("local", parents().get(pid, (0, ""))[1])]


# Again and again, see kills.py -----------------------------------------------------------------------

KILLS = int(os.environ.get("USP_FLEET_KILLS", "1"))


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
        wrong = right | {table: right[table] + Counter({site.url: 1})}
        if change < 0:
            wrong = right | {table: right[table] - Counter({site.url: 1})}
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
    cluster, s3_server, slow_fleet, tmp_path, monkeypatch
):
    for name, value in s3_server.environment.items():
        assert name not in os.environ  # what the nodes know of the server, the driver has told them
        monkeypatch.setenv(name, value)
    root, sites = f"s3://{BUCKET}/cluster", tmp_path / "sites.txt"
    sites.write_text("\n".join(slow_fleet.urls))
    options = ("--address", cluster.address, "--in-flight", "4", "--commit-seconds", "0.2")
    driver = start(root, sites, "ray", *options)
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
    dataset = Dataset(root)
    return len(dataset.sites()) if dataset.exists() else 0
