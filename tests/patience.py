"""Waiting in tests: never for ever."""

from __future__ import annotations

import contextlib
import signal
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
