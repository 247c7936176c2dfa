"""What went wrong while a document was read, and where."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from usp._base.safe_text import excerpt as cut

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["Failure", "Problem", "ProblemKind", "by_kind", "how_many"]

MAX_PROBLEMS = 200
"""How many problems of one document are kept one by one; the rest are counted by kind."""

_MAX_KINDS = 50
"""Kinds of problems that are counted apart beyond that."""

_MAX_EXCERPT = 120


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that was wrong with a document.

    ``message`` names the kind of problem, ``excerpt`` what stood there. ``lost`` says how many entries
    (pages or child sitemaps) it cost: 0 for damage that was repaired or that cost only a field.
    ``line`` counts from 1 and is None where a line has no meaning. ``times`` is more than 1 where
    problems of one kind were too many to be kept one by one.
    """

    message: str
    line: int | None = None
    excerpt: str | None = None
    lost: int = 0
    times: int = 1

    def __post_init__(self) -> None:
        """Keep texts of a bounded length: most of them quote what a website has sent."""
        object.__setattr__(self, "message", cut(self.message))
        if self.excerpt is not None:
            object.__setattr__(self, "excerpt", cut(self.excerpt, _MAX_EXCERPT))

    def __str__(self) -> str:
        """Return the problem on one line, as a log or a terminal shows it."""
        more = "" if self.times == 1 else f"{self.times:,} more: "
        where = "" if self.line is None else f"line {self.line}: "
        what = "" if self.excerpt is None else f": {self.excerpt!r}"
        return f"{more}{where}{self.message}{what}"


@dataclass(frozen=True, slots=True)
class ProblemKind:
    """The problems of one kind: how many, the entries they cost, and the first of them."""

    message: str
    times: int
    lost: int
    first: Problem


def by_kind(problems: Iterable[Problem]) -> list[ProblemKind]:
    """Return problems put together by kind, the most frequent first."""
    kinds: dict[str, ProblemKind] = {}
    for problem in problems:
        kind = kinds.get(problem.message) or ProblemKind(problem.message, 0, 0, problem)
        kinds[problem.message] = replace(
            kind, times=kind.times + problem.times, lost=kind.lost + problem.lost
        )
    return sorted(kinds.values(), key=lambda kind: -kind.times)


def how_many(problems: Iterable[Problem]) -> int:
    """Return how many problems there are, those included that were not kept one by one."""
    return sum(problem.times for problem in problems)


@dataclass(frozen=True, slots=True)
class Failure:
    """A sitemap that is not in the tree, or not all of it.

    ``attempts`` is how often it was asked for, ``status`` what its server answered, if it did.
    """

    url: str
    reason: str
    attempts: int = 0
    status: int | None = None

    def __post_init__(self) -> None:
        """Keep a reason of a bounded length."""
        object.__setattr__(self, "reason", cut(self.reason))

    @property
    def brief(self) -> str:
        """The reason without the address, for who shows that beside it."""
        text = self.reason
        for words in _WITH_URL:
            text = text.removeprefix(f"{words} {self.url}: ")
        return text.replace(f"URL {self.url} is", "it is", 1).replace(f" for URL {self.url}", "", 1)


_WITH_URL = (
    "Unable to fetch sitemap from",
    "No parsers support sitemap from",
    "Unable to add sub-sitemap from URL",
)


class Problems:
    """Collects the problems of one document, in bounded memory.

    ``unfinished`` is why the rest of the document was not read, if there was more of it.
    """

    __slots__ = ("_kept", "_more", "unfinished")

    def __init__(self) -> None:
        self.unfinished: str | None = None
        self._kept: list[Problem] = []
        self._more: dict[str, tuple[int, int]] = {}  # times and entries lost, by message

    def add(
        self, message: str, line: int | None = None, excerpt: str | None = None, lost: int = 0
    ) -> None:
        """Note a problem; its excerpt is cut to a readable length."""
        if len(self._kept) >= MAX_PROBLEMS:
            self._count(message, lost)
            return
        self._kept.append(Problem(message, line, excerpt, lost))

    def add_all(self, problems: Iterable[Problem]) -> None:
        """Note problems that another collector has listed."""
        for problem in problems:
            for _ in range(problem.times - 1):
                self.add(problem.message)
            self.add(problem.message, problem.line, problem.excerpt, problem.lost)

    def end(self, message: str, line: int | None = None, lost: int = 0) -> None:
        """Note what kept the rest of the document from being read."""
        self.unfinished = self.unfinished or cut(message)
        if len(self._kept) >= MAX_PROBLEMS:  # this one is kept, whatever else there is
            dropped = self._kept.pop()
            self._count(dropped.message, dropped.lost)
        self.add(message, line, lost=lost)

    def _count(self, message: str, lost: int) -> None:
        message = cut(message)
        if message not in self._more and len(self._more) >= _MAX_KINDS:
            message = "other problems"
        times, cost = self._more.get(message, (0, 0))
        self._more[message] = times + 1, cost + lost

    def listed(self) -> list[Problem]:
        """Return all problems so far, by line; the last ones count those that were not kept."""
        kept = sorted(self._kept, key=lambda problem: problem.line or 0)
        more = (
            Problem(message, lost=lost, times=times)
            for message, (times, lost) in self._more.items()
        )
        return [*kept, *more]
