"""What all engines do: hand out sites, and find out which of them kill workers."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter, deque
from typing import TYPE_CHECKING

from usp.fleet.crawler import killer_group
from usp.fleet.messages import Place, WorkerLost

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from usp.fleet.crawler import Job
    from usp.fleet.messages import Batch, News

_MOST_DEATHS = 2
"""After this many workers have died while crawling a site, it is a suspect."""

_PIECES = 8
"""Suspects of one worker are divided by this, until the one that kills is alone."""


class Assignments:
    """Groups of sites that share a key, to be handed out in batches; ``len`` is how many are left.

    ``older`` are the files that have sites now, ``sites`` is how many there were at first. Suspects
    are handed out without others, when there is nothing else.
    """

    def __init__(
        self, groups: Iterable[tuple[str, list[str]]], older: Mapping[str, str] | None = None
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
            batch += [(site, Place(key, self._older.get(site))) for site in sites]
        return batch

    def take_back(self, lost: Mapping[str, Place]) -> str | None:
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


class Engine(ABC):
    """Crawls groups of sites with workers; those of a worker that is lost are crawled by others.

    A site that has killed a worker by itself fails.
    """

    def __init__(self, job: Job) -> None:
        self.job = job

    @abstractmethod
    def run(self, left: Assignments) -> Iterator[News]:
        """Crawl; ends when every site was reported in a group."""

    def stop(self) -> Iterator[News]:
        """End the workers; yield what they still have to report."""
        return iter(())

    def lost(self, left: Assignments, given: Mapping[str, Place]) -> Iterator[News]:
        """Report a worker that is gone with sites that it was given."""
        if given:
            yield WorkerLost()
            killer = left.take_back(given)
            if killer is not None:
                yield killer_group(self.job, killer)
