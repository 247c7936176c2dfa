"""What went wrong while a document was read, and where."""

from __future__ import annotations

from dataclasses import dataclass

MAX_PROBLEMS = 200
"""How many problems of one document are kept one by one; the rest are counted."""

_MAX_EXCERPT = 120


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that was wrong with a document.

    ``lost`` says how many entries (pages or child sitemaps) it cost: 0 for damage that was repaired
    or that cost only a field. ``line`` counts from 1 and is None where a line has no meaning.
    """

    message: str
    line: int | None = None
    excerpt: str | None = None
    lost: int = 0

    def __str__(self) -> str:
        """Give the problem on one line, as a log or a terminal shows it."""
        where = "" if self.line is None else f"line {self.line}: "
        what = "" if self.excerpt is None else f": {self.excerpt!r}"
        return f"{where}{self.message}{what}"


@dataclass(frozen=True, slots=True)
class Failure:
    """A sitemap that is not in the tree, or not all of it.

    ``attempts`` is how often it was asked for, ``status`` what its server answered, if it did.
    """

    url: str
    reason: str
    attempts: int = 0
    status: int | None = None


class Problems:
    """Collects the problems of one document, in bounded memory.

    ``unfinished`` is why the rest of the document was not read, if there was more of it.
    """

    __slots__ = ("_kept", "_more", "_more_lost", "unfinished")

    def __init__(self) -> None:
        self.unfinished: str | None = None
        self._kept: list[Problem] = []
        self._more = 0
        self._more_lost = 0

    def add(
        self, message: str, line: int | None = None, excerpt: str | None = None, lost: int = 0
    ) -> None:
        """Note a problem; its excerpt is cut to a readable length."""
        if len(self._kept) >= MAX_PROBLEMS:
            self._more += 1
            self._more_lost += lost
            return
        if excerpt is not None and len(excerpt) > _MAX_EXCERPT:
            excerpt = excerpt[:_MAX_EXCERPT] + "…"
        self._kept.append(Problem(message, line, excerpt, lost))

    def end(self, message: str, line: int | None = None, lost: int = 0) -> None:
        """Note what kept the rest of the document from being read."""
        self.unfinished = self.unfinished or message
        self.add(message, line, lost=lost)

    def listed(self) -> list[Problem]:
        """Give all problems so far, by line; the last one counts those that were not kept."""
        kept = sorted(self._kept, key=lambda problem: problem.line or 0)
        if not self._more:
            return kept
        return [*kept, Problem(f"{self._more} more problems", lost=self._more_lost)]
