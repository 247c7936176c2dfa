"""Whoever is killed, whenever: the same command again, and every site stands in the dataset once."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import signal
from pathlib import Path

import pytest
from fleet_processes import below, is_alive, is_worker, parents, wait_for
from fleet_support import SLOW, check_truth, committed_files, files_of, start

from usp.fleet.dataset import Dataset

QUICK = ("--in-flight", "4", "--commit-seconds", "0.2")


def committed(root: Path) -> int:
    """Give the number of files in ``sites`` that count: those that were added to its log."""
    log = sorted((root / "sites" / "_delta_log").glob("*.json"))
    return sum(text.count('"add":') for text in map(Path.read_text, log))


ENGINES = [
    pytest.param("local", marks=pytest.mark.long),
    pytest.param(
        "ray",
        marks=[
            pytest.mark.proof,
            pytest.mark.skipif(
                importlib.util.find_spec("ray") is None, reason="ray is not installed"
            ),
        ],
    ),
]


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
@pytest.mark.parametrize("engine", ENGINES)
def test_a_worker_and_then_the_driver_are_killed(engine, slow_fleet, tmp_path):
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
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
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
