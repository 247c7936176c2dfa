"""What workers report to the driver of a run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from usp.fleet.parts import Group

Row: TypeAlias = dict[str, Any]
"""A row of ``sites``."""

Batch: TypeAlias = list[tuple[str, str]]
"""Sites, each with the key that it shares with those that are not crawled at the same time."""


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
