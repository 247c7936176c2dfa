"""The problems of a tree, by kind, in bounded memory and bounded time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp.objects.problem import ProblemCode, by_kind, kind_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.objects.problem import AnyCode, Problem, ProblemKind

MAX_ODD_PAGES = 200_000
"""How many pages of sitemaps that look damaged are read for their problems."""

MAX_OTHER_PAGES = 25_000
"""The same for sitemaps that look sound."""

MAX_KINDS = 200
MAX_EXAMPLES = 10
"""How many problems of one kind are listed."""

_OTHER = ProblemCode.OTHER_PROBLEM


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

    code: AnyCode
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
        seen: set[int] = set()
        for found in by_kind(problems):
            self.count += found.times
            self.lost += found.lost
            kind = self._kind(found)
            kind.count += found.times
            kind.lost += found.lost
            kind.sitemaps += id(kind) not in seen
            seen.add(id(kind))
        for problem in problems:
            examples = self._kind(problem).examples
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

    def _kind(self, problem: Problem | ProblemKind) -> KindRow:
        key = kind_key(problem)
        if key not in self.kinds and len(self.kinds) >= MAX_KINDS:
            return self.kinds.setdefault(_OTHER.value, KindRow(_OTHER, "other problems"))
        return self.kinds.setdefault(key, KindRow(problem.code, problem.message))
