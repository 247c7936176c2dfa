"""Waiting in tests: never for ever."""

from __future__ import annotations

import contextlib
import functools
import inspect
import signal
import time
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


def soon(true: Callable[[], object], seconds: float = 60.0) -> bool:
    """Tell whether something becomes true, given a moment."""
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.005)
    return bool(true())


def with_time(test: Callable[..., None]) -> Callable[..., None]:
    """Run a test that depends on a time limit; if it fails, again with a longer one, and a longer one.

    What should come within the limit comes late on a busy machine. The test takes ``times``, by which
    it multiplies its limits and pauses, and fails if it fails however much time there is.
    """
    signature = inspect.signature(test)

    @functools.wraps(test)
    def run(**fixtures: object) -> None:
        for times in (1, 8):
            try:
                return test(**fixtures, times=times)
            except Exception:  # noqa: BLE001 - whatever it is, it may be for want of time
                continue
        return test(**fixtures, times=64)

    rest = [value for name, value in signature.parameters.items() if name != "times"]
    run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
    return run
