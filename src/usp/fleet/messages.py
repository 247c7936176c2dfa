"""What the driver of a run and its workers tell each other, and which sites they are given."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Row: TypeAlias = dict[str, Any]
"""A row of ``sites``."""


class Assignment(NamedTuple):
    """What a site shares with others, and where it is in the dataset.

    Those with the same ``key`` are not crawled at the same time; ``older`` are the files with the rows
    that are replaced.
    """

    key: str
    older: tuple[str, ...] = ()


Batch: TypeAlias = list[tuple[str, Assignment]]
"""Sites for a worker; an empty one if there are no more."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A worker should finish its part, and end."""


@dataclass(frozen=True, slots=True)
class NeedWork:
    """A worker is idle, and wants sites."""


@dataclass(frozen=True, slots=True)
class SiteDone:
    """A site was crawled; its row is not in the dataset yet."""

    row: Row


@dataclass(frozen=True, slots=True)
class PartFile:
    """A file of a table: its name below the dataset, its size, and the number of its rows."""

    table: str
    name: str
    size: int
    rows: int


@dataclass(frozen=True, slots=True)
class Part:
    """Finished sites: their rows of ``sites``, and the files with all of their rows."""

    sites: tuple[Row, ...]
    files: tuple[PartFile, ...]


@dataclass(frozen=True, slots=True)
class WorkerError:
    """A worker cannot go on, for a reason that is not a site."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker has died; what it had not written is crawled again."""


News: TypeAlias = SiteDone | Part | WorkerLost
"""What an engine reports to the run."""

_MOST_DEATHS = 2
"""After this many workers have died while crawling a site, it is a suspect."""

_PIECES = 8
"""Suspects of one worker are divided by this, until the one that kills is alone."""


class Assignments:
    """Groups of sites that share a key, to be handed out in batches; ``len`` is how many are left.

    ``older`` are the files that have rows of sites now, ``sites`` is how many there were at first.
    Suspects are handed out without others, when there is nothing else.
    """

    def __init__(
        self,
        groups: Iterable[tuple[str, list[str]]],
        older: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self._groups = deque(groups)
        self.sites = sum(len(sites) for _, sites in self._groups)
        self._older = older or {}
        self._deaths: Counter[str] = Counter()
        self.suspects: deque[Batch] = deque()

    def __len__(self) -> int:
        return len(self._groups)

    def batch(self, most: int) -> Batch:
        """Return the next sites, at least ``most`` if there are as many; groups stay together."""
        batch: Batch = []
        while self._groups and len(batch) < most:
            key, sites = self._groups.popleft()
            batch += [(site, Assignment(key, self._older.get(site, ()))) for site in sites]
        return batch

    def take_back(self, lost: Mapping[str, Assignment]) -> str | None:
        """Take back the sites of a worker that has died; return the one that it died of, if known."""
        (first, *others) = lost
        if not others and self._deaths[first] >= _MOST_DEATHS:
            return first
        self._deaths.update(lost.keys())
        again: dict[str, list[str]] = {}
        suspects: Batch = []
        for site, place in lost.items():
            if self._deaths[site] >= _MOST_DEATHS:
                suspects.append((site, place))
            else:
                again.setdefault(place.key, []).append(site)
        self._groups.extend(again.items())
        size = len(suspects) // _PIECES + 1
        self.suspects.extend(suspects[at : at + size] for at in range(0, len(suspects), size))
        return None
