"""Which fingerprints two trees have in common, and which stand in several sitemaps.

A set of millions of numbers takes a lot of memory, and finding one in it is slow. So large collections
are split by the first bits of their numbers, which are hashes and so are spread evenly, and one part of
each is examined at a time. Time grows with the number of fingerprints.
"""

from __future__ import annotations

import sys
from array import array
from collections import Counter
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_FEW = 250_000  # fingerprints that are not split
_PARTS = 64
_TOP = slice(7 if sys.byteorder == "little" else 0, None, 8)  # the first byte of each number
_OPPOSITE = bytes([1, *[0] * 255])
_FIRST = [bytes(byte >> 5 == part for byte in range(256)) for part in range(8)]
_SECOND = [bytes(byte >> 2 & 7 == part for byte in range(256)) for part in range(8)]


@dataclass(slots=True)
class Members:
    """Some of a collection of fingerprints: those in a set, or all but those, whichever are fewer."""

    known: set[int] = field(default_factory=set)
    others: bool = False

    def flags(self, numbers: Sequence[int]) -> bytes:
        """Return for each number whether it is one of them: 1, or 0."""
        if not self.known or self.known.isdisjoint(numbers):
            return bytes([self.others]) * len(numbers)
        found = bytes(map(self.known.__contains__, numbers))
        return found.translate(_OPPOSITE) if self.others else found

    def take(self, all_of_them: set[int], found: set[int], *, first: bool) -> None:
        """Take those of a part that were found; the ``first`` part decides which kind are kept."""
        if first:  # all parts are alike, because hashes are spread evenly
            self.others = 2 * len(found) > len(all_of_them)
        self.known |= all_of_them - found if self.others else found


class Fingerprints:
    """Some fingerprints of a tree, with an array for each sitemap; split once, if there are many."""

    def __init__(self, arrays: Sequence[array[int]]) -> None:
        self.arrays = arrays
        self.count = sum(map(len, arrays))

    @cached_property
    def parts(self) -> list[array[int]]:
        """The same in parts, by their first bits."""
        return _split(self.arrays)

    def among(self, others: Fingerprints) -> Members:
        """Return which of them are among others."""
        members = Members()
        if not self.count or not others.count:
            return members
        if self.count <= _FEW:
            own = set(chain.from_iterable(self.arrays))
            members.take(own, own.intersection(chain.from_iterable(others.arrays)), first=True)
            return members
        for number, (part, other) in enumerate(zip(self.parts, others.parts, strict=True)):
            own = set(part)
            members.take(own, own.intersection(other), first=not number)
        return members

    def repeated(self) -> set[int]:
        """Return which of them stand in several sitemaps: each lists a page once."""
        few = self.count <= _FEW
        parts = [array("q", chain.from_iterable(self.arrays))] if few else self.parts
        found: set[int] = set()
        for part in parts:
            if len(set(part)) < len(part):
                found.update(one for one, many in Counter(part).items() if many > 1)
        return found


def _split(arrays: Sequence[array[int]]) -> list[array[int]]:
    """Return the numbers of arrays in parts by their first six bits."""
    parts = [array("q") for _ in range(_PARTS)]
    for numbers in arrays:
        listed, tops = list(numbers), numbers.tobytes()[_TOP]
        for first, table in enumerate(_FIRST):
            chosen = tops.translate(table)
            some, their_tops = list(compress(listed, chosen)), bytes(compress(tops, chosen))
            for second, other in enumerate(_SECOND):
                parts[8 * first + second].extend(compress(some, their_tops.translate(other)))
    return parts


def found_in(wanted: Iterable[int], arrays: Sequence[array[int]]) -> Members:
    """Return which of the wanted fingerprints one of the arrays has."""
    found: set[int] = set()
    asked = iter(wanted) if arrays else iter(())
    while part := set(islice(asked, _FEW)):
        found |= part.intersection(chain.from_iterable(arrays))
    return Members(found)
