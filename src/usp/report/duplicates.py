"""URLs listed more than once: found in bounded memory, and their card."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass
from itertools import chain, compress, islice
from operator import eq
from typing import TYPE_CHECKING

from usp._base.display import counted, grouped
from usp.report.markup import Addresses, Markup, card, long_table, url_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp.objects.sitemap import AbstractSitemap
    from usp.report.summary import Summary

MAX_HASHES = 4_000_000
"""How many URLs are remembered, eight bytes each. Beyond that every second one is dropped, then every
second one of the rest, and results are scaled up."""

_PARTS = 8  # hashes are sorted in parts: sorting needs more memory than keeping them
_MAX_LOOKED_AT = 200_000  # duplicates whose sitemaps are looked up
_MAX_READ = 12  # sitemaps that are read again for examples

EXAMPLES = 20
PAIRS = 20


@dataclass(frozen=True, slots=True)
class Duplicates:
    """URLs that are listed more than once.

    ``urls`` is how many there are and ``extra`` how many entries beyond the first ones; both are
    estimates if ``one_in`` is more than 1. ``pairs`` are the sitemaps that have most URLs in common,
    ``examples`` are URLs with the sitemaps that list them; sitemaps are given by their index.
    """

    urls: int = 0
    extra: int = 0
    one_in: int = 1
    pairs: tuple[tuple[int, int, int], ...] = ()
    examples: tuple[tuple[str, tuple[int, ...]], ...] = ()


class UrlHashes:
    """Remembers the URLs of sitemaps as 64-bit hashes.

    Among four million URLs, two different ones look equal with a chance of about one in two million.
    """

    def __init__(self, most: int = MAX_HASHES) -> None:
        self._most = most
        self._hashes = array("q")
        self._numbers: list[int] = []  # of the sitemaps, in order
        self._begins: list[int] = []  # where their hashes begin
        self._mask = 0

    def add(self, number: int, urls: Sequence[str]) -> None:
        """Add URLs of a sitemap; all of them before those of the next one."""
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
        """Return the duplicates; reads a few of the sitemaps again for examples."""
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
        """Return how many hashes repeat an earlier one, and the distinct hashes that do."""
        extra = 0
        several: list[int] = []
        # A byte from the middle: the lowest bits decide what is kept.
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
    """Yield some of the URLs with their sitemaps, from as many pairs of sitemaps as possible."""
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


def duplicates_card(summary: Summary) -> Markup:
    """Return the card for URLs that are listed more than once."""
    found = summary.duplicates
    addresses = Addresses(summary.origin)
    rows = summary.sitemaps
    about = "About " if found.one_in > 1 else ""
    note = (
        f"{about}{counted(found.urls, 'URL is', 'URLs are')} listed more than once, "
        f"in {counted(found.extra, 'extra entry')}."
    )
    if found.one_in > 1:
        note += f" Estimated from {sample(found.one_in)}."
    pairs = long_table(
        "Sitemaps with most URLs in common",
        ("sitemap", "and", "URLs in both"),
        [
            (url_cell(addresses.url(rows[one].url)), url_cell(addresses.url(rows[two].url)), count)
            for one, two, count in found.pairs
        ],
        len(found.pairs),
    )
    examples = long_table(
        "Examples",
        ("page", "listed in"),
        [
            (
                url_cell(addresses.url(url)),
                Markup("<br>".join(url_cell(addresses.url(rows[at].url)) for at in places[:5])),
            )
            for url, places in found.examples
        ],
        len(found.examples),
    )
    return card(
        "duplicates",
        "Duplicates",
        pairs if found.pairs else "",
        examples if found.examples else "",
        wide=True,
        note=note,
    )


def sample(one_in: int) -> str:
    """Return how the sampled share of all URLs is named."""
    return f"one in {grouped(one_in)} URLs"
