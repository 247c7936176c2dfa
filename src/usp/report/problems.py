"""The problems of a tree, by kind, in bounded memory and bounded time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp.objects.problem import by_kind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.objects.problem import Problem

MAX_ODD_PAGES = 200_000
"""How many pages of sitemaps that look damaged are read for their problems."""

MAX_OTHER_PAGES = 25_000
"""The same for sitemaps that look sound."""

MAX_KINDS = 200
MAX_EXAMPLES = 10
"""How many problems of one kind are listed."""

_OTHER = "other problems"


@dataclass(frozen=True, slots=True)
class ListedProblem:
    """A problem and the number of its sitemap."""

    sitemap: int
    message: str
    line: int | None
    excerpt: str | None
    lost: int


@dataclass(slots=True)
class KindRow:
    """One kind of problem: how often, in how many sitemaps, the entries it cost, and examples."""

    message: str
    count: int = 0
    sitemaps: int = 0
    lost: int = 0
    examples: list[ListedProblem] = field(default_factory=list)


@dataclass(slots=True)
class ProblemList:
    """All problems, counted by kind.

    ``looked_at`` of ``sitemaps`` were read for problems; reading is slow, see :data:`MAX_ODD_PAGES`.
    """

    count: int = 0
    lost: int = 0
    looked_at: int = 0
    sitemaps: int = 0
    kinds: dict[str, KindRow] = field(default_factory=dict)

    def add(self, number: int, problems: Sequence[Problem]) -> tuple[int, int]:
        """Add the problems of a sitemap; return how many there are, and the entries they cost."""
        before = self.count, self.lost
        seen: set[str] = set()
        for found in by_kind(problems):
            self.count += found.times
            self.lost += found.lost
            kind = self._kind(found.message)
            kind.count += found.times
            kind.lost += found.lost
            kind.sitemaps += kind.message not in seen
            seen.add(kind.message)
        for problem in problems:
            examples = self._kind(problem.message).examples
            if problem.times == 1 and len(examples) < MAX_EXAMPLES:
                examples.append(
                    ListedProblem(
                        number, problem.message, problem.line, problem.excerpt, problem.lost
                    )
                )
        return self.count - before[0], self.lost - before[1]

    def most_frequent(self) -> list[KindRow]:
        """Return the kinds, the most frequent first."""
        return sorted(self.kinds.values(), key=lambda kind: -kind.count)

    def _kind(self, message: str) -> KindRow:
        if message not in self.kinds and len(self.kinds) >= MAX_KINDS:
            message = _OTHER
        return self.kinds.setdefault(message, KindRow(message))
