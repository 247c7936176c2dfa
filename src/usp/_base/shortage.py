"""What this machine runs out of: descriptors, memory, disk. It is never the fault of a website.

Requests are started only while there are descriptors for them (:func:`begin`). If one fails for lack of
them nevertheless, :func:`shortage_of` recognises it: the crawl waits and tries again, and ends with a
:class:`LocalShortageError` if that does not help.
"""

from __future__ import annotations

import contextlib
import errno
import os
import socket
import threading
import time
from collections import deque
from collections.abc import Iterator
from typing import Any

from usp.exceptions import LocalShortageError

try:
    import resource as _module
except ImportError:  # pragma: no cover - Windows has no such limit
    _resource: Any = None
else:
    _resource = _module

PAUSE = 0.2  # seconds after which a crawl without descriptors tries again
_ENOUGH = 1 << 16  # a limit as high as this is never reached by requests
_FRESH = 0.02  # seconds for which a count of open descriptors is good
_YOUNG = 0.5  # seconds in which a request that has begun may not have its descriptor yet
_LEFT_FOR_OTHERS = 4  # one in so many descriptors is for files, names and whoever else needs some
_MOST_CAUSES = 30
_SCARCE = 2  # from one in so many on, connections are not kept for later


def causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those inside it, wherever a library puts them, the outer ones first."""
    waiting, seen = deque([error]), set[int]()
    while waiting and len(seen) < _MOST_CAUSES:
        one = waiting.popleft()
        if id(one) in seen:
            continue
        seen.add(id(one))
        yield one
        kept = (getattr(one, name, None) for name in ("reason", "os_error", "certificate_error"))
        inside = (*one.args, *kept, one.__cause__, one.__context__)
        waiting.extend(other for other in inside if isinstance(other, BaseException))


def shortage_of(error: BaseException) -> int | None:
    """Return the errno of a shortage if an exception, or one of its causes, is about one."""
    for cause in causes(error):
        if isinstance(cause, MemoryError):
            return errno.ENOMEM
        if isinstance(cause, socket.gaierror):
            # Looking up a name needs a descriptor, too; the error does not show that there is none.
            if _left() == 0:
                return errno.EMFILE
        elif isinstance(cause, OSError) and cause.errno in LocalShortageError.ADVICE:
            return cause.errno
    return None


# Descriptors ------------------------------------------------------------------------------------------


class _Descriptors:
    """Counts the open descriptors of this process, including those that requests will need soon."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counted_at = 0.0
        self._limit: int | None = None
        self._open = 0
        self._begun: deque[float] = deque()

    def begin(self, wanted: int) -> int:
        """Return how many of the wanted requests may start now, and count them."""
        with self._lock:
            now = time.monotonic()
            if now - self._counted_at >= _FRESH:
                self._counted_at = now
                self._limit = descriptor_limit()
                self._open = 0 if self._limit is None else _open_descriptors()
            if self._limit is None:
                return wanted
            while self._begun and self._begun[0] < now - _YOUNG:
                self._begun.popleft()
            most = self._limit - self._limit // _LEFT_FOR_OTHERS
            granted = max(0, min(wanted, most - self._open - len(self._begun)))
            self._begun.extend([now] * granted)
            return granted

    def give_back(self, count: int) -> None:
        """Stop counting requests that have ended, or have not started after all."""
        if count and self._begun:
            with self._lock:
                for _ in range(min(count, len(self._begun))):
                    self._begun.pop()

    def scarce(self) -> bool:
        """Return whether descriptors are scarce enough that connections should not be kept."""
        if time.monotonic() - self._counted_at >= _FRESH:
            self.begin(0)
        return self._limit is not None and self._open > self._limit // _SCARCE


_descriptors = _Descriptors()

begin = _descriptors.begin
give_back = _descriptors.give_back
scarce = _descriptors.scarce


def descriptor_limit() -> int | None:
    """Return how many descriptors this process may have open; None if there are plenty."""
    if _resource is None:
        return None
    soft: int = _resource.getrlimit(_resource.RLIMIT_NOFILE)[0]
    return None if soft == _resource.RLIM_INFINITY or soft >= _ENOUGH else soft


def _open_descriptors() -> int:
    for folder in ("/proc/self/fd", "/dev/fd"):
        with contextlib.suppress(OSError):
            return len(os.listdir(folder))  # noqa: PTH208 - names only, no paths
    with contextlib.suppress(OSError):  # listing them takes one: there is none, or no such folder
        os.close(os.open(os.devnull, os.O_RDONLY))
        return 0
    return descriptor_limit() or 0


def _left() -> int | None:
    limit = descriptor_limit()
    return None if limit is None else max(0, limit - _open_descriptors())


@contextlib.contextmanager
def more_descriptors() -> Iterator[None]:
    """Raise the limit of open descriptors as far as possible, and restore it afterwards."""
    if _resource is None:
        yield
        return
    before = _resource.getrlimit(_resource.RLIMIT_NOFILE)
    soft, hard = before
    wanted = _ENOUGH if hard == _resource.RLIM_INFINITY else min(hard, _ENOUGH)
    if soft == _resource.RLIM_INFINITY or soft >= wanted:
        yield
        return
    with contextlib.suppress(OSError, ValueError):
        _resource.setrlimit(_resource.RLIMIT_NOFILE, (wanted, hard))
    try:
        yield
    finally:
        with contextlib.suppress(OSError, ValueError):
            _resource.setrlimit(_resource.RLIMIT_NOFILE, before)
