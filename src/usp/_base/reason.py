"""Why something is missing: a code for programs, words for people, and what to do about it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from usp._base.advice import Advice, Topic
from usp._base.safe_text import excerpt
from usp.objects.failure_codes import FailureCode


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a sitemap, or the rest of it, is missing.

    ``text`` leaves out the address, for whoever shows that beside it. ``full`` names it, in the words
    of ultimate-sitemap-parser 1.8.1 wherever that has some; ``str()`` returns it. The ``advice``
    stands in the texts, in parentheses.
    """

    code: FailureCode
    text: str
    advice: Advice | None = None
    full: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", excerpt(self.text))
        if self.full is not None:
            object.__setattr__(self, "full", excerpt(self.full))

    def __str__(self) -> str:
        return self.text if self.full is None else self.full

    def after(self, words: str) -> Reason:
        """Return the same reason after some words: ``words: text``."""
        return replace(self, text=f"{words}: {self.text}", full=None)

    def at(self, words: str) -> Reason:
        """Return the same reason with some words before it that name the address."""
        return replace(self, full=f"{words}: {self}")


def advised(code: FailureCode, text: str, topic: Topic, name: str = "") -> Reason:
    """Return a reason that ends with an advice."""
    advice = Advice(topic, name)
    return Reason(code, f"{text} ({advice})", advice)


def limit_advice(code: object) -> Advice | None:
    """Return how a limit is raised, for the code of one."""
    limit = code.limit if isinstance(code, FailureCode) else None
    return None if limit is None else Advice(Topic.RAISE_LIMIT, limit)
