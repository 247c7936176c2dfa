"""What waits to be fetched: in the order of the tree, no host asked too much at once."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from typing import Generic, Protocol, TypeVar


class Queued(Protocol):
    """What a queue needs to know of a document."""

    position: tuple[int, ...]
    host: str


T = TypeVar("T", bound=Queued)


class Queue(Generic[T]):
    """Gives documents by their position in the tree, those of a busy host later."""

    def __init__(self, per_host: int) -> None:
        self._per_host = per_host
        self._ready: list[tuple[tuple[int, ...], int, T]] = []
        self._later: list[tuple[float, int, T]] = []
        self._parked: defaultdict[str, list[tuple[tuple[int, ...], int, T]]] = defaultdict(list)
        self._active: Counter[str] = Counter()
        self._count = 0  # tells documents of one position apart

    def put(self, item: T, not_before: float | None = None) -> None:
        """Add a document, for now or for later."""
        self._count += 1
        if not_before is None:
            heapq.heappush(self._ready, (item.position, self._count, item))
        else:
            heapq.heappush(self._later, (not_before, self._count, item))

    def get(self, now: float) -> T | None:
        """Take the next document that may be fetched; its host is busy until :meth:`done`."""
        while self._later and self._later[0][0] <= now:
            self.put(heapq.heappop(self._later)[2])
        while self._ready:
            entry = heapq.heappop(self._ready)
            item = entry[2]
            if self._active[item.host] < self._per_host:
                self._active[item.host] += 1
                return item
            heapq.heappush(self._parked[item.host], entry)
        return None

    def done(self, item: T) -> None:
        """Say that a document is no longer being fetched."""
        self._active[item.host] -= 1
        parked = self._parked[item.host]
        if parked:
            heapq.heappush(self._ready, heapq.heappop(parked))

    def next_due(self) -> float | None:
        """Give the time for which the next document is put off, if one is."""
        return self._later[0][0] if self._later else None
