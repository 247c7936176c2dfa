"""Waiting in tests: never for ever, nor for other processes.

Work is counted in calls, which no busy machine changes.
"""

import contextlib
import signal
import subprocess
import sys
import textwrap
import time
import tracemalloc
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Fail what takes longer, even if it waits or turns in circles; for the main thread."""

    def ring(*_: object) -> None:
        raise AssertionError(f"not over after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextlib.contextmanager
def memory_below(most: int) -> Iterator[None]:
    """Assert that a block takes less memory."""
    tracemalloc.start()
    try:
        yield
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()


def soon(true: Callable[[], object], seconds: float = 60.0) -> bool:
    """Tell whether something becomes true, given a moment."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(true())


def run_python(
    program: str, *arguments: object, seconds: float = 120
) -> subprocess.CompletedProcess[str]:
    """Run a program in another process, to its end."""
    command = [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)


def calls(function: Callable[[], object]) -> int:
    """Return how many Python functions are called, generators counted each time they go on."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count
