"""What workers report to the driver of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from usp.fleet.parts import Group

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
"""Sites that are given to a worker."""


@dataclass(frozen=True, slots=True)
class SiteDone:
    """A site was crawled; its row is not in the dataset yet."""

    row: Row


@dataclass(frozen=True, slots=True)
class GroupDone:
    """A group was written, and can be committed."""

    group: Group


@dataclass(frozen=True, slots=True)
class WorkerLost:
    """A worker has died; what it had not written is crawled again."""

    name: str


@dataclass(frozen=True, slots=True)
class Wanted:
    """A worker is idle, and wants sites."""


@dataclass(frozen=True, slots=True)
class Broken:
    """A worker cannot go on, for a reason that is not a site."""

    reason: str


@dataclass(frozen=True, slots=True)
class Over:
    """A worker has no more work, and ends."""


News: TypeAlias = SiteDone | GroupDone | WorkerLost
"""What an engine reports to the run."""
