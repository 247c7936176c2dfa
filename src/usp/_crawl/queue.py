"""What waits to be fetched: in the order of the tree, no host asked too much at once."""

from __future__ import annotations

import heapq
import sys
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar


class Queued(Protocol):
    """What a queue needs to know of a document."""

    position: tuple[int, ...]
    host: str


T = TypeVar("T", bound=Queued)


@dataclass(slots=True)
class _Host(Generic[T]):
    most: int  # requests at a time
    gap: float = 0.0  # seconds between the beginnings of two requests
    active: int = 0
    started: float = 0.0  # the last request
    only: T | None = None  # what has to come before anything else is asked for
    free_at: float = 0.0
    parked: list[tuple[tuple[int, ...], int, T]] = field(default_factory=list)


class Queue(Generic[T]):
    """Gives documents by their position in the tree, those of a busy host later.

    ``gap`` seconds at least are between the beginnings of two requests to a host.
    """

    def __init__(self, per_host: int, gap: float = 0.0) -> None:
        self._gap = gap
        self._ready: list[tuple[tuple[int, ...], int, T]] = []
        self._later: list[tuple[float, int, T | str]] = []  # documents, and hosts that rest
        self._hosts: defaultdict[str, _Host[T]] = defaultdict(lambda: _Host(per_host, gap))
        self._count = 0  # tells documents of one position apart

    def put(self, item: T, not_before: float | None = None) -> None:
        """Add a document, for now or for later."""
        self._count += 1
        if not_before is None:
            heapq.heappush(self._ready, (item.position, self._count, item))
        else:
            heapq.heappush(self._later, (not_before, self._count, item))

    def restrain(self, host: str, most: int, gap: float | None = None) -> None:
        """Ask a host for so many things at a time, with a pause between them if there is one."""
        known = self._hosts[host]
        known.only = None
        known.most = most
        if gap:
            known.gap = max(gap, self._gap)
            self._rest(host, known.started + known.gap)
        self._unpark(known)

    def release(self, host: str) -> None:
        """Let all documents of a host come up at once: it will not be asked any more."""
        known = self._hosts[host]
        known.only, known.gap, known.free_at, known.most = None, 0.0, 0.0, sys.maxsize
        self._unpark(known)

    def reserve(self, item: T) -> None:
        """Ask a host for nothing but this document, until it is restrained in another way."""
        self._hosts[item.host].only = item

    def _rest(self, host: str, until: float) -> None:
        self._hosts[host].free_at = until
        self._count += 1
        heapq.heappush(self._later, (until, self._count, host))

    def get(self, now: float) -> T | None:
        """Take the next document that may be fetched; its host is busy until :meth:`done`."""
        while self._later and self._later[0][0] <= now:
            due = heapq.heappop(self._later)[2]
            if isinstance(due, str):
                self._unpark(self._hosts[due])
            else:
                self.put(due)
        while self._ready:
            entry = heapq.heappop(self._ready)
            item = entry[2]
            host = self._hosts[item.host]
            allowed = host.only is None or host.only is item
            if allowed and host.active < host.most and host.free_at <= now:
                host.active += 1
                host.started = now
                if host.gap:
                    self._rest(item.host, now + host.gap)
                return item
            heapq.heappush(host.parked, entry)
        return None

    def done(self, item: T) -> None:
        """Say that a document is no longer being fetched."""
        host = self._hosts[item.host]
        host.active -= 1
        self._unpark(host)

    def _unpark(self, host: _Host[T]) -> None:
        """Let as many documents of a host come up again as it has room for."""
        for _ in range(min(host.most - host.active, len(host.parked))):
            heapq.heappush(self._ready, heapq.heappop(host.parked))

    def next_due(self) -> float | None:
        """Give the time for which the next document is put off, if one is."""
        return self._later[0][0] if self._later else None
