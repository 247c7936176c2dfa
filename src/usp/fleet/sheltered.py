"""Starts processes that do not hear Ctrl-C: whoever started them does, and tells them what to do.

A terminal sends it to all processes at once, and one that is still being loaded would end in a
traceback. So it is blocked while they are made, which they inherit.
"""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def sheltered() -> Iterator[None]:
    """Keep Ctrl-C from this block, and from the processes that it starts; it comes afterwards."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover - Windows
        yield
        return
    # Made by multiprocessing together with its first process, it would unblock Ctrl-C again.
    resource_tracker.ensure_running()
    received = threading.Event()
    in_main = threading.current_thread() is threading.main_thread()
    handler = signal.getsignal(signal.SIGINT)
    if in_main and callable(
        handler
    ):  # another thread may take the signal, for which it is not blocked
        signal.signal(signal.SIGINT, lambda *_: received.set())
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        if in_main and callable(handler):
            signal.signal(signal.SIGINT, handler)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        if received.is_set():
            signal.raise_signal(signal.SIGINT)
