"""Why something is missing: a code for programs, words for people, and what to do about it.

Advice uses the names of the library; the command line names its own options instead
(``usp.cli.errors``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import Enum
from typing import TYPE_CHECKING

from usp._base.display import excerpt

if TYPE_CHECKING:
    from usp.objects.failure_codes import FailureCode


class Topic(Enum):
    """What advice is about; the value is its text, in which ``{0}`` is a name."""

    RAISE_LIMIT = "raise it with Limits({0}=…), on the command line with --max {0}=…"
    ALLOW_NETWORK = 'Zones(allow=("{0}",)) or --allow-network {0} permits it'
    BE_GENTLE = "try another user_agent, fewer requests at a time, or a pause between them"
    TRY_HTTP = "try {0}"
    TRUST = "pass the issuer's certificates as verify='ca.pem', or skip the check with verify=False"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do; ``name`` is the limit to raise, the network to allow, or the URL to try."""

    topic: Topic
    name: str = ""

    def __str__(self) -> str:
        return self.topic.value.format(self.name)

    def reworded(self, text: str, words: str) -> str:
        """Return a text with this advice, which it has in parentheses, in other words or left out."""
        return text.replace(f" ({self})", f" ({words})" if words else "")


@dataclass(frozen=True, slots=True)
class Reason:
    """Why a sitemap, or the rest of it, is missing.

    ``text`` leaves out the URL, to be shown next to it. ``full`` includes it, in the words of
    ultimate-sitemap-parser 1.8.1 where it has any; ``str()`` returns that. The ``advice`` is part of
    both texts, in parentheses.
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

    @property
    def plain(self) -> str:
        """The text without its advice."""
        return self.text if self.advice is None else self.advice.reworded(self.text, "")

    def after(self, words: str) -> Reason:
        """Return the same reason after some words: ``words: text``."""
        return replace(self, text=f"{words}: {self.text}", full=None)

    def at(self, words: str) -> Reason:
        """Return the same reason after some words that include the URL."""
        return replace(self, full=f"{words}: {self}")


def advised(code: FailureCode, text: str, topic: Topic, name: str = "") -> Reason:
    """Return a reason that ends with advice."""
    advice = Advice(topic, name)
    return Reason(code, f"{text} ({advice})", advice)


def limit_advice(code: object) -> Advice | None:
    """Return the advice to raise a limit, for the code of a limit."""
    limit = getattr(code, "limit", None)  # the codes are not loaded: `usp --help` needs none
    return None if limit is None else Advice(Topic.RAISE_LIMIT, limit)
