"""Counting in bounded memory."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

MAX_KEYS = 20_000
"""How many different keys are counted before the rarest are put together."""


class Tally:
    """Counts keys; the sum is always exact.

    When there are more than ``most`` different keys, the rarer half is put together under "other".
    From then on ``exact`` is False: what came before may be missing in the count of a rare key.
    """

    __slots__ = ("_counts", "_most", "exact", "other")

    def __init__(self, most: int = MAX_KEYS) -> None:
        self._counts: Counter[str] = Counter()
        self._most = most
        self.other = 0
        self.exact = True

    def add(self, keys: Iterable[str] | Mapping[str, int]) -> None:
        """Count keys, or add counts."""
        self._counts.update(keys)
        if len(self._counts) > self._most:
            kept = self._counts.most_common(self._most // 2)
            self.other += self._counts.total() - sum(count for _, count in kept)
            self._counts = Counter(dict(kept))
            self.exact = False

    def total(self) -> int:
        """Give the sum of all counts."""
        return self._counts.total() + self.other

    def top(self, most: int) -> tuple[list[tuple[str, int]], int]:
        """Give the most frequent keys, and the sum of all others."""
        ranked = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return ranked[:most], self.total() - sum(count for _, count in ranked[:most])

    def items(self) -> list[tuple[str, int]]:
        """Give all keys that are counted one by one, in their order."""
        return sorted(self._counts.items())
