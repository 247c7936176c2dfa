"""Pages as fingerprints: enough to see which differ, in 16 bytes each and without making them.

A page has two: one of its URL, one of its URL and everything that is written about it. Both are
Python's own hashes, which have a secret key: nobody can write two URLs that are taken for the same.
"""

from __future__ import annotations

import pickle
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, islice, repeat
from typing import TYPE_CHECKING

from usp.objects.page_blocks import pages_alone

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractPagesSitemap

_TOGETHER = 250_000  # fingerprints that are looked for at once
_COLUMNS = ("lastmod", "changefreq", "priority")


_MOST_HELD = 60_000  # pages of a sitemap that is held until it is compared


@dataclass(slots=True)
class Prints:
    """The fingerprints of the pages of a sitemap, in order; of an ordinary one also its blocks."""

    urls: array[int] = field(default_factory=lambda: array("q"))
    entries: array[int] = field(default_factory=lambda: array("q"))
    blocks: list[PageBlock] | None = field(default_factory=list)


def read_prints(sitemap: AbstractPagesSitemap) -> Prints:
    """Read the fingerprints of all pages of a sitemap."""
    prints = Prints()
    for _, block in sitemap.page_blocks():
        prints.urls.extend(map(hash, block.urls))
        prints.entries.extend(map(hash, zip(block.urls, *_written(block), strict=True)))
        if prints.blocks is not None:
            prints.blocks.append(block)
            if len(prints.urls) > _MOST_HELD:
                prints.blocks = None
    return prints


def _written(block: PageBlock) -> Iterator[Iterable[object]]:
    """Yield what a block says about its pages, in columns, in the form that takes least time.

    Equal pages may be written in two ways; those are compared when they are read.
    """
    texts = getattr(block, "entry_texts", lambda: None)()
    if texts is not None:
        yield texts
        return
    columns = block.texts()
    if columns is None:
        yield map(pickle.dumps, block.rows())
        return
    for name in _COLUMNS:
        yield columns.get(name) or repeat("", len(block.urls))


@dataclass(slots=True)
class Differing:
    """The pages of a sitemap that the same sitemap in the other tree has otherwise, or not at all.

    ``positions`` are where they stand in the sitemap; ``changed`` is 1 for a page that is listed in
    both, 0 for one that is listed here only. ``pages`` are the pages themselves, if they are kept.
    """

    positions: array[int]
    urls: array[int]
    entries: array[int]
    changed: bytearray
    pages: list[SitemapPage] | None = None

    @classmethod
    def all_of(cls, prints: Prints) -> Differing:
        """Return all pages of a sitemap: there is none to compare it with."""
        count = len(prints.urls)
        return cls(array("Q", range(count)), prints.urls, prints.entries, bytearray(count))

    @classmethod
    def between(cls, one: Prints, two: Prints) -> tuple[Differing, Differing]:
        """Return the pages of each of two sitemaps that the other one has otherwise, or not."""
        if one.entries == two.entries:
            return cls._at(one, ()), cls._at(two, ())
        first, second = cls._absent(one, two), cls._absent(two, one)
        first.changed = found(first.urls, [second.urls])
        second.changed = found(second.urls, [first.urls])
        return first, second

    def keep(self, blocks: Iterable[PageBlock]) -> None:
        """Keep the pages, which stand in these blocks."""
        self.pages = []
        for block, numbers in _by_block(blocks, self.positions):
            self.pages += pages_alone(block, numbers)

    @classmethod
    def _absent(cls, these: Prints, those: Prints) -> Differing:
        positions: list[int] = []
        for start in range(0, len(these.entries), _TOGETHER):
            part = these.entries[start : start + _TOGETHER]
            missing = set(part).difference(those.entries)
            if missing:
                there = map(missing.__contains__, part)
                positions.extend(compress(range(start, start + len(part)), there))
        return cls._at(these, positions)

    @classmethod
    def _at(cls, prints: Prints, positions: Sequence[int]) -> Differing:
        urls, entries = prints.urls, prints.entries
        return cls(
            array("Q", positions),
            array("q", (urls[at] for at in positions)),
            array("q", (entries[at] for at in positions)),
            bytearray(len(positions)),
        )


def pages_at(sitemap: AbstractPagesSitemap, positions: Sequence[int]) -> Iterator[SitemapPage]:
    """Yield the pages at these positions, which are in order; the sitemap is read up to the last."""
    for block, numbers in _by_block((block for _, block in sitemap.page_blocks()), positions):
        pages = list(block.pages())
        yield from (pages[at] for at in numbers)


def _by_block(
    blocks: Iterable[PageBlock], positions: Sequence[int]
) -> Iterator[tuple[PageBlock, list[int]]]:
    """Yield the blocks in which positions are, with the numbers of the pages there."""
    first, at = 0, 0
    for block in blocks:
        if at == len(positions):
            return
        end = first + len(block.urls)
        after = bisect_left(positions, end, at)
        if after > at:
            yield block, [position - first for position in positions[at:after]]
        first, at = end, after


def found(wanted: Iterable[int], arrays: Iterable[Sequence[int]]) -> bytearray:
    """Return for each of the wanted fingerprints whether one of the arrays has it: 1, or 0.

    Takes memory for a part of them at a time, however many there are.
    """
    arrays = list(arrays)
    flags = bytearray()
    remaining = iter(wanted)
    while part := list(islice(remaining, _TOGETHER)):
        there = set(part).intersection(chain.from_iterable(arrays))
        flags.extend(map(there.__contains__, part))
    return flags


def repeated(arrays: Sequence[Sequence[int]]) -> bytearray:
    """Return for each fingerprint in the arrays whether another of them has it, too: 1, or 0."""
    flags = bytearray()
    remaining = chain.from_iterable(arrays)
    while part := list(islice(remaining, _TOGETHER)):
        wanted, once, twice = set(part), set[int](), set[int]()
        for one in arrays:
            hits = wanted.intersection(one)
            twice |= once & hits
            once |= hits
        flags.extend(map(twice.__contains__, part))
    return flags


def steady(differing: Mapping[str, Differing], urls: Mapping[str, array[int]]) -> bytearray:
    """Return for each page that differs whether another sitemap lists it as in the other tree: 1 or 0.

    ``urls`` are the fingerprints of all pages of each sitemap.
    """
    flags = bytearray()
    remaining = chain.from_iterable(one.urls for one in differing.values())
    while part := list(islice(remaining, _TOGETHER)):
        wanted, same = set(part), set[int]()
        for key, listed in urls.items():
            if len(differing[key].urls) < len(listed):
                same |= wanted.intersection(listed).difference(differing[key].urls)
        flags.extend(map(same.__contains__, part))
    return flags


class Places:
    """Finds where pages stand among those that differ, by the fingerprints of their URLs."""

    def __init__(self, differing: Mapping[str, Differing]) -> None:
        self._differing = differing
        self._keys = list(differing)
        self._start = 0  # the sitemap that had some the last time: what moves, moves together
        count = sum(len(one.urls) for one in differing.values())
        self._index = self._in(differing, None) if count <= _TOGETHER else None

    def of(self, wanted: Collection[int]) -> dict[int, list[tuple[str, int]]]:
        """Return where fingerprints are: the keys of the sitemaps, and the numbers there."""
        if self._index is not None:
            return {one: self._index[one] for one in wanted if one in self._index}
        missing, hits = set(wanted), set[str]()
        several = missing & self._several if missing else missing
        count = len(self._keys)
        for at in chain(range(self._start, count), range(self._start)):
            if not missing:
                break
            there = missing.intersection(self._differing[self._keys[at]].urls)
            if there:
                self._start = self._start if hits else at
                hits.add(self._keys[at])
                missing -= there - several
        return self._in([key for key in self._keys if key in hits], set(wanted))

    @cached_property
    def _several(self) -> set[int]:
        """The fingerprints that are in more than one sitemap."""
        arrays = [one.urls for one in self._differing.values()]
        return set(compress(chain.from_iterable(arrays), repeated(arrays)))

    def _in(self, keys: Iterable[str], wanted: set[int] | None) -> dict[int, list[tuple[str, int]]]:
        places: dict[int, list[tuple[str, int]]] = {}
        for key in keys:
            for number, one in enumerate(self._differing[key].urls):
                if wanted is None or one in wanted:
                    places.setdefault(one, []).append((key, number))
        return places
