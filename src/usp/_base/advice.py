"""What to do about a failure, by the names that the library has for it.

The command line names its own options instead (``usp.cli.errors``).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Topic(Enum):
    """What an advice is about; the value is its words, which may name something."""

    RAISE_LIMIT = "raise it with Limits({0}=…), on the command line with --max {0}=…"
    ALLOW_NETWORK = 'Zones(allow=("{0}",)) or --allow-network {0} permits it'
    BE_GENTLE = "try another user_agent, fewer requests at a time, or a pause between them"
    TRY_HTTP = "try {0}"
    TRUST = "pass the issuer's certificates as verify='ca.pem', or skip the check by verify=False"


@dataclass(frozen=True, slots=True)
class Advice:
    """What to do; ``name`` is the limit to raise, the network to allow, or the URL to try."""

    topic: Topic
    name: str = ""

    def __str__(self) -> str:
        return self.topic.value.format(self.name)

    def reworded(self, text: str, words: str) -> str:
        """Return a text that gives this advice in parentheses with other words, or without them."""
        return text.replace(f" ({self})", f" ({words})" if words else "")
