"""Which URLs stand in more than one sitemap, in bounded memory."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import chain, compress, islice
from operator import eq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp.objects.sitemap import AbstractSitemap

MAX_HASHES = 4_000_000
"""How many URLs are remembered, eight bytes each. Above that, every second one is forgotten, then
every second one of those: what is found is counted for the whole."""

_PARTS = 8  # the hashes are sorted part by part, since sorting needs more room than keeping
_MAX_LOOKED_AT = 200_000  # duplicates for which it is told where they stand
_MAX_READ = 12  # sitemaps that are read once more for examples

EXAMPLES = 20
PAIRS = 20


@dataclass(frozen=True, slots=True)
class Duplicates:
    """URLs that stand in more than one sitemap.

    ``urls`` is how many there are and ``extra`` how many declarations too many; both are estimates
    if ``one_in`` is more than 1. ``pairs`` are sitemaps that share most (by their number), and
    ``examples`` URLs with the sitemaps they stand in.
    """

    urls: int = 0
    extra: int = 0
    one_in: int = 1
    pairs: tuple[tuple[int, int, int], ...] = ()
    examples: tuple[tuple[str, tuple[int, ...]], ...] = ()


class UrlHashes:
    """Remembers the URLs of sitemaps as numbers of 64 bits.

    Two different URLs look equal with a chance of about one in two million for four million URLs.
    """

    def __init__(self, most: int = MAX_HASHES) -> None:
        self._most = most
        self._hashes = array("q")
        self._numbers: list[int] = []  # of sitemaps, in order
        self._begins: list[int] = []  # where their hashes begin
        self._mask = 0

    def add(self, number: int, urls: Sequence[str]) -> None:
        """Add URLs of the sitemap with that number; no other may come between them."""
        if not self._numbers or self._numbers[-1] != number:
            self._numbers.append(number)
            self._begins.append(len(self._hashes))
        hashes: Iterable[int] = map(hash, urls)
        mask = self._mask
        if mask:
            hashes = [value for value in hashes if not value & mask]
        self._hashes.extend(hashes)
        while len(self._hashes) > self._most:
            self._thin_out()

    def _thin_out(self) -> None:
        self._mask = mask = 2 * self._mask + 1
        kept = array("q")
        ends = [*self._begins[1:], len(self._hashes)]
        for at, end in enumerate(ends):
            begin = self._begins[at]
            self._begins[at] = len(kept)
            kept.extend([value for value in self._hashes[begin:end] if not value & mask])
        self._hashes = kept

    def found(self, nodes: Sequence[AbstractSitemap]) -> Duplicates:
        """Tell what stands in more than one sitemap; reads a few of them again for examples."""
        scale = self._mask + 1
        extra, several = self._several()
        if not several:
            return Duplicates(one_in=scale)
        places = self._places(set(islice(several, _MAX_LOOKED_AT)))
        shared = Counter((at[0], at[1]) for at in places.values() if at[0] != at[1])
        pairs = [(first, second, n * scale) for (first, second), n in shared.most_common(PAIRS)]
        return Duplicates(
            urls=len(several) * scale,
            extra=extra * scale,
            one_in=scale,
            pairs=tuple(pairs),
            examples=tuple(_examples(places, nodes)),
        )

    def _several(self) -> tuple[int, list[int]]:
        """Give how many hashes were there before, and those that were."""
        extra = 0
        several: list[int] = []
        # A byte from the middle: the lowest bits say what was kept.
        middle = bytes(memoryview(self._hashes).cast("B")[4::8])
        for part in range(_PARTS):
            chosen = middle.translate(bytes(byte % _PARTS == part for byte in range(256)))
            ordered = sorted(compress(self._hashes, chosen))
            again = list(compress(ordered, map(eq, ordered, islice(ordered, 1, None))))
            extra += len(again)
            several += dict.fromkeys(again)
        return extra, several

    def _places(self, wanted: set[int]) -> dict[int, list[int]]:
        places: dict[int, list[int]] = {}
        for at, value in enumerate(self._hashes):
            if value in wanted:
                number = self._numbers[bisect_right(self._begins, at) - 1]
                places.setdefault(value, []).append(number)
        return places


def _examples(
    places: dict[int, list[int]], nodes: Sequence[AbstractSitemap]
) -> Iterator[tuple[str, tuple[int, ...]]]:
    """Look up some of the URLs, those of different sitemaps first."""
    by_pair: dict[tuple[int, ...], list[int]] = {}
    for value, numbers in places.items():
        by_pair.setdefault(tuple(numbers[:2]), []).append(value)
    few = EXAMPLES // min(len(by_pair), EXAMPLES)
    chosen = islice(chain.from_iterable(values[:few] for values in by_pair.values()), EXAMPLES)
    by_sitemap: dict[int, set[int]] = {}
    for value in chosen:
        by_sitemap.setdefault(places[value][0], set()).add(value)
    for number, values in islice(by_sitemap.items(), _MAX_READ):
        for url in _urls(nodes[number]):
            value = hash(url)
            if value in values:
                values.discard(value)
                yield url, tuple(dict.fromkeys(places[value]))
                if not values:
                    break


def _urls(node: AbstractSitemap) -> Iterator[str]:
    return chain.from_iterable(block.urls for _, block in node.page_blocks())
