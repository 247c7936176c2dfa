"""Pages as fingerprints: enough to see which differ, in 16 bytes each and without making them.

A page has two: one of its URL, one of its URL and everything that is written about it. Both are made of
Python's own hashes, which have a secret key: nobody can write two URLs that are taken for the same.
"""

from __future__ import annotations

import pickle
from array import array
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, islice
from operator import xor
from typing import TYPE_CHECKING

from usp.changes.keeping import by_block

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from usp.changes.keeping import KeptPages
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractPagesSitemap

_TOGETHER = 250_000  # fingerprints that are looked for at once
_OPPOSITE = bytes([1, *[0] * 255])
_REMEMBERED = 4  # sitemaps
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
        hashes = array("q", map(hash, block.urls))
        prints.urls.extend(hashes)
        prints.entries.extend(map(xor, hashes, _written(block)))
        if prints.blocks is not None:
            prints.blocks.append(block)
            if len(prints.urls) > _MOST_HELD:
                prints.blocks = None
    return prints


def _written(block: PageBlock) -> Iterator[int]:
    """Return hashes of what a block says about its pages, in the form that takes least time.

    Equal pages may be written in two ways; those are compared when they are read.
    """
    texts = getattr(block, "entry_texts", lambda: None)()
    if texts is not None:
        return map(hash, texts)
    columns = block.texts()
    if columns is None:
        return map(hash, map(pickle.dumps, block.rows()))
    empty = [""] * len(block.urls)
    return map(hash, zip(*(columns.get(name) or empty for name in _COLUMNS), strict=True))


@dataclass(slots=True)
class Differing:
    """The pages of a sitemap that the same sitemap in the other tree has otherwise, or not at all.

    ``positions`` are where they stand in the sitemap; ``changed`` is 1 for a page that is listed in
    both, 0 for one that is listed here only. ``kept`` are the pages themselves, if they are kept.
    """

    positions: Sequence[int]
    urls: array[int]
    entries: array[int]
    changed: bytes
    kept: KeptPages | None = None

    @classmethod
    def all_of(cls, prints: Prints) -> Differing:
        """Return all pages of a sitemap: there is none to compare it with."""
        count = len(prints.urls)
        return cls(range(count), prints.urls, prints.entries, bytes(count))

    @classmethod
    def between(cls, one: Prints, two: Prints) -> tuple[Differing, Differing]:
        """Return the pages of each of two sitemaps that the other one has otherwise, or not."""
        if one.entries == two.entries:
            return cls._at(one, ()), cls._at(two, ())
        first, second = cls._absent(one, two), cls._absent(two, one)
        first.changed = _found(first.urls, second.urls)
        second.changed = _found(second.urls, first.urls)
        return first, second

    def alone(self) -> array[int]:
        """Return the fingerprints of the URLs that are listed here only."""
        if not any(self.changed):
            return self.urls
        return array("q", compress(self.urls, self.changed.translate(_OPPOSITE)))

    def pages(
        self, sitemap: AbstractPagesSitemap, numbers: Sequence[int], *, parsed: bool = False
    ) -> Iterator[SitemapPage]:
        """Yield pages by their numbers, which are in order; they are read again if none are kept.

        With ``parsed``, their fields are parsed block by block, because they are going to be used.
        """
        if self.kept is not None:
            return self.kept.pages(numbers, parsed=parsed)
        return _pages_at(sitemap, [self.positions[number] for number in numbers])

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
        if len(positions) == len(urls):
            return cls.all_of(prints)
        return cls(
            array("Q", positions),
            array("q", [urls[at] for at in positions]),
            array("q", [entries[at] for at in positions]),
            bytes(len(positions)),
        )


def _found(wanted: array[int], numbers: array[int]) -> bytes:
    """Return for each of the wanted fingerprints whether it is among the numbers: 1, or 0."""
    there = set(wanted).intersection(numbers)
    return bytes(map(there.__contains__, wanted)) if there else bytes(len(wanted))


def _pages_at(sitemap: AbstractPagesSitemap, positions: Sequence[int]) -> Iterator[SitemapPage]:
    """Yield the pages at these positions, which are in order; the sitemap is read up to the last."""
    for block, numbers in by_block((block for _, block in sitemap.page_blocks()), positions):
        pages = list(block.pages())
        yield from (pages[at] for at in numbers)


def steady(
    differing: Mapping[str, Differing], urls: Mapping[str, array[int]], wanted: Iterable[int]
) -> set[int]:
    """Return which of the wanted pages another sitemap lists as in the other tree.

    ``urls`` are the fingerprints of all pages of each sitemap.
    """
    partly = [key for key, listed in urls.items() if len(differing[key].urls) < len(listed)]
    same: set[int] = set()
    asked = iter(wanted) if partly else iter(())
    while part := set(islice(asked, _TOGETHER)):
        for key in partly:
            same |= part.intersection(urls[key]).difference(differing[key].urls)
    return same


class Places:
    """Finds where pages stand among those that differ, by the fingerprints of their URLs.

    ``several`` are those that stand in several sitemaps.
    """

    def __init__(self, differing: Mapping[str, Differing], several: set[int]) -> None:
        self._differing = differing
        self._several = several
        self._keys = list(differing)
        self._numbers: dict[str, dict[int, int]] = {}
        self._start = 0  # the sitemap that had some the last time: what moves, moves together

    @cached_property
    def _index(self) -> dict[int, list[tuple[str, int]]] | None:
        """All places, if they are not too many."""
        count = sum(len(one.urls) for one in self._differing.values())
        return self._in(self._differing, None) if count <= _TOGETHER else None

    def of(self, wanted: Collection[int]) -> dict[int, list[tuple[str, int]]]:
        """Return where fingerprints are: the keys of the sitemaps, and the numbers there."""
        if not wanted:
            return {}
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

    def numbers(self, key: str) -> dict[int, int]:
        """Return the numbers of a sitemap's pages by their fingerprints; remembers a few sitemaps."""
        known = self._numbers.get(key)
        if known is None:
            urls = self._differing[key].urls
            known = self._numbers[key] = dict(zip(urls, range(len(urls)), strict=True))
            while len(self._numbers) > _REMEMBERED:
                del self._numbers[next(iter(self._numbers))]
        return known

    def _in(self, keys: Iterable[str], wanted: set[int] | None) -> dict[int, list[tuple[str, int]]]:
        places: dict[int, list[tuple[str, int]]] = {}
        for key in keys:
            numbers = self.numbers(key)
            for one in numbers if wanted is None else wanted.intersection(numbers):
                places.setdefault(one, []).append((key, numbers[one]))
        return places
