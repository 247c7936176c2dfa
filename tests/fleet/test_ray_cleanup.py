"""What a cluster leaves running is ended when its driver is gone, whatever it calls itself by then."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from usp.fleet.ray_cleanup import MARK, MarkedProcesses

pytestmark = pytest.mark.skipif(
    not Path("/proc/self/environ").exists(), reason="processes cannot be looked at"
)

# A process without the mark, as one is that wrote its title over its environment.
UNMARKED = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"], env={})
print(child.pid, flush=True)
time.sleep(300)
"""
DRIVER = """
import subprocess, sys, time
from usp.fleet.ray_cleanup import cleanup_after_kill
before = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(300)"])
with cleanup_after_kill(grace=0.1):
    print(before.pid, flush=True)
    subprocess.Popen([sys.executable, "-c", sys.argv[1]])
    time.sleep(300)
"""


def is_running(number):
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def ends(number):
    deadline = time.monotonic() + 60
    while is_running(number) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not is_running(number)


def kill(*numbers):
    for number in numbers:
        if is_running(number):
            os.kill(number, signal.SIGKILL)


def test_what_a_killed_driver_leaves_is_ended_and_nothing_else(tmp_path):
    (tmp_path / "secrets.py").write_text("raise SystemExit")  # not ours, and not taken for it
    command = [sys.executable, "-P", "-c", DRIVER, UNMARKED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=tmp_path) as driver:
        other, left = (int(driver.stdout.readline()) for _ in range(2))
        try:
            driver.kill()
            assert ends(left)
            assert is_running(other)  # it was there before the cluster
        finally:
            kill(other, left)


def test_what_was_seen_is_known_without_its_parent_and_without_the_mark():
    environment = {**os.environ, MARK: "token"}
    command = [sys.executable, "-c", UNMARKED]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as parent:
        left = int(parent.stdout.readline())
        try:
            processes = MarkedProcesses("token")
            assert {number for number, _ in processes.running()} == {parent.pid, left}
            parent.kill()
            parent.wait()
            assert {number for number, _ in MarkedProcesses("token").running()} == set()
            assert {number for number, _ in processes.running()} == {left}
            processes.end(0.1)
            assert ends(left)
            assert processes.running() == set()
        finally:
            kill(left)
