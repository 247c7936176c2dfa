"""What the driver of a run and its workers tell each other."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

Row: TypeAlias = dict[str, Any]
"""A row of ``sites``."""


class Place(NamedTuple):
    """What a site shares with others, and where it is in the dataset.

    Those with the same ``key`` are not crawled at the same time; ``older`` is the name of the files
    with the rows that are replaced.
    """

    key: str
    older: str | None = None


Batch: TypeAlias = list[tuple[str, Place]]
"""Sites for a worker; an empty one if there are no more."""


@dataclass(frozen=True, slots=True)
class Stop:
    """A worker should finish its group, and end."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A worker is idle, and wants sites."""


@dataclass(frozen=True, slots=True)
class SiteDone:
    """A site was crawled; its row is not in the dataset yet."""

    row: Row


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a table: its name below the dataset, its size, and the number of its rows."""

    table: str
    name: str
    size: int
    rows: int


@dataclass(frozen=True, slots=True)
class Group:
    """Finished sites: their rows of ``sites``, and the files with all of their rows."""

    sites: tuple[Row, ...]
    parts: tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Broken:
    """A worker cannot go on, for a reason that is not a site."""

    reason: str


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker has died; what it had not written is crawled again."""


News: TypeAlias = SiteDone | Group | WorkerLost
"""What an engine reports to the run."""
