"""Which sites are still to be crawled, and which of them are suspected of killing workers."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING

from usp.fleet.messages import Place

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from usp.fleet.messages import Batch

_MOST_DEATHS = 2
"""After this many workers have died while crawling a site, it is a suspect."""

_PIECES = 8
"""Suspects of one worker are divided by this, until the one that kills is alone."""


class Assignments:
    """Groups of sites that share a key, to be handed out in batches.

    Suspects are handed out without others, when there is nothing else.
    """

    def __init__(
        self, groups: Iterable[tuple[str, list[str]]], older: Mapping[str, str] | None = None
    ) -> None:
        self._groups = deque(groups)
        self._older = older or {}
        self._suspects: deque[Batch] = deque()
        self._deaths: Counter[str] = Counter()

    def __len__(self) -> int:
        """Return how many groups are left, without suspects."""
        return len(self._groups)

    @property
    def has_suspects(self) -> bool:
        """Whether there are sites that need a worker of their own."""
        return bool(self._suspects)

    @property
    def is_empty(self) -> bool:
        """Whether everything was handed out."""
        return not self._groups and not self._suspects

    def batch(self, most: int) -> Batch:
        """Return the sites of the next groups: of ``most`` groups, or less."""
        batch: Batch = []
        for _ in range(min(most, len(self._groups))):
            key, sites = self._groups.popleft()
            batch += [(site, Place(key, self._older.get(site))) for site in sites]
        return batch

    def sites(self, most: int) -> Batch:
        """Return the next sites, at least ``most`` if there are as many; groups stay together."""
        batch: Batch = []
        while self._groups and len(batch) < most:
            batch += self.batch(1)
        return batch

    def suspect(self) -> Batch:
        """Return sites that need a worker of their own."""
        return self._suspects.popleft()

    def take_back(self, lost: Mapping[str, Place]) -> str | None:
        """Take back the sites of a worker that has died; return the one that it died of, if known."""
        (first, *others) = lost
        if not others and self._deaths[first] >= _MOST_DEATHS:
            return first
        again: dict[str, list[str]] = {}
        suspects: Batch = []
        for site, place in lost.items():
            self._deaths[site] += 1
            if self._deaths[site] >= _MOST_DEATHS:
                suspects.append((site, place))
            else:
                again.setdefault(place.key, []).append(site)
        self._groups.extend(again.items())
        size = len(suspects) // _PIECES + 1
        self._suspects.extend(suspects[at : at + size] for at in range(0, len(suspects), size))
        return None
