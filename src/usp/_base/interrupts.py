"""Ctrl-C: what must not hold it up, and what it must not interrupt."""

from __future__ import annotations

import queue
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import Any, TypeVar

T = TypeVar("T")


class InterruptibleThread:
    """Calls functions in another thread, one after another, and waits for each.

    A library that waits for a network holds up Ctrl-C in the thread that calls it, perhaps for minutes.
    ``patience`` is how many seconds a call may take; then ``queue.Empty`` is raised.
    """

    def __init__(self) -> None:
        self.patience: float | None = None
        self._call: tuple[threading.Lock, list[tuple[Any, BaseException | None]]] | None = None

    def __call__(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns."""
        running, outcome = threading.Lock(), list[tuple[Any, BaseException | None]]()
        running.acquire()

        def run() -> None:
            try:
                outcome.append((function(*arguments), None))
            except BaseException as error:  # noqa: BLE001 - raised where it is waited for
                outcome.append((None, error))
            running.release()

        self._call = running, outcome
        threading.Thread(target=run, name="usp-aside", daemon=True).start()
        result: T = self.rest()
        return result

    def rest(self) -> Any:
        """Return what the last function returns if waiting for it was interrupted, else None.

        An interrupt of this wait, at whatever moment, loses nothing.
        """
        if self._call is None:
            return None
        running, outcome = self._call
        patience = -1 if self.patience is None else self.patience
        if not outcome and not running.acquire(timeout=patience):
            raise queue.Empty
        self._call = None
        ((value, error),) = outcome
        if error is not None:
            raise error
        return value


@contextmanager
def ctrl_c_blocked() -> Iterator[None]:
    """Hold back Ctrl-C from this block and from the processes that it starts until its end.

    A terminal sends it to all processes at once, and one that is still loading would end in a
    traceback. The driver handles it, and stops the others.
    """
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover - Windows
        yield
        return
    # Started by multiprocessing together with its first process, it would unblock Ctrl-C again.
    resource_tracker.ensure_running()
    received = threading.Event()
    handler = signal.getsignal(signal.SIGINT)
    # Another thread may take the signal, for which it is not blocked.
    replaced = threading.current_thread() is threading.main_thread() and callable(handler)
    if replaced:
        signal.signal(signal.SIGINT, lambda *_: received.set())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if replaced:
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if received.is_set():
            signal.raise_signal(signal.SIGINT)
