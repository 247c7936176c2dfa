"""The problems of a tree, in bounded memory and bounded time."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.objects.problem import Problem

MAX_ODD_PAGES = 200_000
"""How many pages of sitemaps that look damaged are read for their problems."""

MAX_OTHER_PAGES = 25_000
"""The same for sitemaps that look sound."""

MAX_LISTED = 200
MAX_KINDS = 200

_MORE = re.compile(r"([0-9]+) more problems")


@dataclass(slots=True)
class ProblemKind:
    """One sort of damage: how often it came, in how many sitemaps, what it cost, and where first."""

    message: str
    count: int = 0
    sitemaps: int = 0
    lost: int = 0
    first: int = 0


@dataclass(frozen=True, slots=True)
class ListedProblem:
    """A problem and the number of its sitemap."""

    sitemap: int
    message: str
    line: int | None
    excerpt: str | None
    lost: int


@dataclass(slots=True)
class ProblemList:
    """All problems counted, the first ones listed.

    ``looked_at`` of ``sitemaps`` were read for problems; reading is slow, see :data:`MAX_ODD_PAGES`.
    """

    count: int = 0
    lost: int = 0
    looked_at: int = 0
    sitemaps: int = 0
    kinds: dict[str, ProblemKind] = field(default_factory=dict)
    listed: list[ListedProblem] = field(default_factory=list)

    def add(self, number: int, problems: Sequence[Problem]) -> tuple[int, int]:
        """Add the problems of a sitemap; gives how many there are, and entries lost by them."""
        before = self.count, self.lost
        seen: set[str] = set()
        for problem in problems:
            more = _MORE.fullmatch(problem.message)
            times = int(more[1]) if more else 1
            message = "more of the same document" if more else problem.message
            self.count += times
            self.lost += problem.lost
            self._count(number, message, times, problem.lost, new=message not in seen)
            seen.add(message)
            if len(self.listed) < MAX_LISTED:
                self.listed.append(
                    ListedProblem(
                        number, problem.message, problem.line, problem.excerpt, problem.lost
                    )
                )
        return self.count - before[0], self.lost - before[1]

    def _count(self, number: int, message: str, times: int, lost: int, *, new: bool) -> None:
        if message not in self.kinds and len(self.kinds) >= MAX_KINDS:
            message = "other problems"
        kind = self.kinds.setdefault(message, ProblemKind(message, first=number))
        kind.count += times
        kind.lost += lost
        kind.sitemaps += new
