"""A pipe whose reader has gone: nobody wants what would be fetched for it."""

from __future__ import annotations

import os
import select
import stat
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TextIO

_EVERY = 0.1  # seconds


@contextmanager
def watching(stream: TextIO, on_closed: Callable[[], object]) -> Iterator[None]:
    """Call ``on_closed``, from another thread, if the reader of a pipe goes while the block runs.

    Without it that is noticed when something is written, which on a slow website may be much later.
    """
    descriptor = _pipe(stream)
    if descriptor is None or not hasattr(select, "poll"):
        yield
        return
    over = threading.Event()
    threading.Thread(
        target=_watch, args=(descriptor, over, on_closed), name="usp-pipe", daemon=True
    ).start()
    try:
        yield
    finally:
        over.set()


def _watch(descriptor: int, over: threading.Event, on_closed: Callable[[], object]) -> None:
    poll = select.poll()
    poll.register(descriptor, 0)  # errors are always told
    while not over.wait(_EVERY):
        if poll.poll(0):
            on_closed()
            return


def _pipe(stream: TextIO) -> int | None:
    """Return the descriptor of a pipe; None if the stream is something else."""
    try:
        descriptor = stream.fileno()
        mode = os.fstat(descriptor).st_mode
    except OSError:
        return None
    return descriptor if stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode) else None
