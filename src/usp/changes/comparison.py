"""Which pages changed between two trees: found by fingerprints, and read again only if they did.

A page has two fingerprints of 64 bits: one of its URL, one of its URL and everything that is written
about it. Both are made of Python's own hashes, which have a secret key: nobody can write two URLs that
are taken for the same. Only pages that differ between both versions of a sitemap are looked for in the
other sitemaps, as many at a time as fit into a small dictionary. Memory grows by 8 bytes a page, and by
about 40 more for one that differs.
"""

from __future__ import annotations

import pickle
from array import array
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import compress
from operator import xor
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, NamedTuple

from usp.changes.change_values import ChangeKind, PageChange, field_changes
from usp.objects.page import PageBlock, PageFields, SitemapPage, pages_with_fields
from usp.objects.page_blocks import part_of

if TYPE_CHECKING:
    from usp.changes.sides import Side
    from usp.objects.sitemap import AbstractPagesSitemap

_TOGETHER = 250_000  # fingerprints that are looked for at once
_MOST_IN_MEMORY = 8 << 20  # bytes of pages as they were
_PIECE, _PIECES = 32, 64  # pages that are read together, and how many of these are remembered
_COLUMNS = ("lastmod", "changefreq", "priority")


def page_changes(
    before: Side, after: Side, was_known: Mapping[str, bool], is_known: Mapping[str, bool]
) -> Iterator[list[PageChange]]:
    """Yield the pages that changed, in parts: in the order of the tree after, then the others."""
    return _Comparison(_Differing(before, is_known), _Differing(after, was_known)).changes()


class _Outcome(NamedTuple):
    """What becomes of a page; a changed one has moved, or not changed, if its fields turn out equal.

    If several sitemaps list it in both trees, it is ``repeated``, and ``last`` in one of them.
    """

    kind: ChangeKind
    left: tuple[str, ...] = ()
    joined: tuple[str, ...] = ()
    repeated: bool = False
    last: bool = True


class _Differing:
    """The pages of a tree that the same sitemap of the other one has otherwise, or not: as columns.

    ``known`` is whether the other tree can tell what became of a sitemap. Sitemaps have the numbers of
    their ``keys``, and pages are rows in the order of the tree; those of a sitemap begin at ``starts``.
    ``outcomes`` are numbers of what becomes of each page, 0 if that is nothing.
    """

    def __init__(self, side: Side, known: Mapping[str, bool]) -> None:
        self.side = side
        self.known = known
        self.keys = list(side.lists)
        self.starts = [0]
        self.sitemaps, self.positions = array("I"), array("I")
        self.urls, self.entries = array("q"), array("q")
        self.outcomes = array("I")

    def add(self, number: int, prints: _Fingerprints, positions: Sequence[int]) -> None:
        """Add the pages of the next sitemap that differ, by their positions there."""
        self.sitemaps.extend([number] * len(positions))
        self.positions.extend(positions)
        self.urls.extend([prints.urls[at] for at in positions])
        self.entries.extend([prints.entries[at] for at in positions])
        self.outcomes.extend([0] * len(positions))
        self.starts.append(len(self.urls))

    def parts(self, count: int) -> Iterator[dict[int, list[int]]]:
        """Yield the rows by the fingerprints of their URLs, in so many parts."""
        parts = [array("I") for _ in range(count)]
        for row, url in enumerate(self.urls):
            parts[url % count].append(row)
        for rows in parts:
            found: dict[int, list[int]] = {}
            for row in rows:
                found.setdefault(self.urls[row], []).append(row)
            yield found

    def names(self, rows: Sequence[int]) -> tuple[str, ...]:
        """Return the URLs of the sitemaps of rows of which the other tree can tell what became."""
        keys = [self.keys[self.sitemaps[row]] for row in rows]
        return tuple([self.side.urls[key] for key in keys if self.known.get(key, True)])

    def absent(self, rows: Sequence[int], kind: ChangeKind) -> tuple[ChangeKind, tuple[str, ...]]:
        """Return what became of a page that the other tree does not list, and its sitemaps."""
        keys = [self.keys[self.sitemaps[row]] for row in rows]
        is_sure = all(self.known.get(key, True) for key in keys)
        names = tuple([self.side.urls[key] for key in keys])
        return (kind if is_sure else ChangeKind.UNKNOWN), names

    def blocks(self, wanted: Sequence[int]) -> Iterator[tuple[list[int], PageBlock]]:
        """Read pages again: yield the rows whose number in ``wanted`` is not 0, block by block."""
        for number, key in enumerate(self.keys):
            first, end = self.starts[number], self.starts[number + 1]
            rows = list(compress(range(first, end), wanted[first:end]))
            positions = [self.positions[row] for row in rows]
            at = seen = 0
            for _, block in self.side.lists[key].page_blocks() if rows else ():
                after = bisect_left(positions, seen + len(block.urls), at)
                if after > at:
                    some = [position - seen for position in positions[at:after]]
                    whole = len(some) == len(block.urls)  # others are not kept for some
                    yield rows[at:after], block if whole else part_of(block, some)
                at, seen = after, seen + len(block.urls)
                if at == len(rows):
                    break


class _Fingerprints(NamedTuple):
    """Those of the pages of a sitemap, in order."""

    urls: array[int]
    entries: array[int]

    def absent_in(self, other: _Fingerprints) -> Sequence[int]:
        """Return the positions of the pages that another sitemap has otherwise, or not."""
        if self.entries == other.entries:
            return ()
        if not other.entries:
            return range(len(self.entries))
        positions = array("I")
        for start in range(0, len(self.entries), _TOGETHER):
            part = self.entries[start : start + _TOGETHER]
            missing = set(part).difference(other.entries)
            differs = map(missing.__contains__, part)
            positions.extend(compress(range(start, start + len(part)), differs))
        return positions


def read_fingerprints(sitemap: AbstractPagesSitemap) -> _Fingerprints:
    """Read the fingerprints of all pages of a sitemap."""
    prints = _Fingerprints(array("q"), array("q"))
    for _, block in sitemap.page_blocks():
        hashes = array("q", map(hash, block.urls))
        prints.urls.extend(hashes)
        prints.entries.extend(map(xor, hashes, _written(block)))
    return prints


def _written(block: PageBlock) -> Iterator[int]:
    """Return hashes of what a block says about its pages, in the form that takes least time."""
    texts = getattr(block, "entry_texts", lambda: None)()
    if texts is not None:
        return map(hash, texts)
    columns = block.texts()
    if columns is None:
        return map(hash, map(pickle.dumps, block.rows()))
    empty = [""] * len(block.urls)
    return map(hash, zip(*(columns.get(name) or empty for name in _COLUMNS), strict=True))


class PageSpill:
    """Pages by number, kept in a file in small pieces: those of one piece are often wanted together."""

    def __init__(self, file: IO[bytes], most: int) -> None:
        self._file = file
        self._places = array("Q", bytes(8 * most))
        self._piece = lru_cache(maxsize=_PIECES)(self._load)

    def add(self, numbers: Sequence[int], block: PageBlock) -> None:
        """Keep the pages of a block, which have these numbers."""
        pages = list(zip(block.urls, block.rows(), strict=True))
        for start in range(0, len(pages), _PIECE):
            offset = self._file.tell()
            pickle.dump(pages[start : start + _PIECE], self._file)
            for at, number in enumerate(numbers[start : start + _PIECE]):
                self._places[number] = offset * _PIECE + at

    def page(self, number: int) -> SitemapPage:
        """Return a page."""
        offset, at = divmod(self._places[number], _PIECE)
        return SitemapPage.of(*self._piece(offset)[at])

    def _load(self, offset: int) -> list[tuple[str, PageFields]]:
        self._file.seek(offset)
        return pickle.load(self._file)  # type: ignore[no-any-return]  # noqa: S301 - our own


class _Comparison:
    """What became of the pages that differ in one of two trees."""

    def __init__(self, old: _Differing, new: _Differing) -> None:
        self._old = old
        self._new = new
        self._unchanged: list[array[int]] = []  # URLs that the same sitemap lists in both trees
        self._outcomes = [_Outcome(ChangeKind.MOVED)]  # the first one is none
        self._numbers: dict[_Outcome, int] = {}
        self._later = array("I")  # by old row: the new row + 1 that it is compared with

    def _read(self) -> None:
        """Find the pages that differ."""
        old, new = self._old, self._new
        nothing = _Fingerprints(array("q"), array("q"))
        found: dict[str, tuple[_Fingerprints, Sequence[int]]] = {}
        for number, (key, sitemap) in enumerate(new.side.lists.items()):
            now = read_fingerprints(sitemap)
            former = old.side.lists.get(key)
            was = nothing
            if former is not None:
                was = now if former.same_document(sitemap) else read_fingerprints(former)
                found[key] = was, was.absent_in(now)
            positions = now.absent_in(was)
            new.add(number, now, positions)
            if len(positions) < len(now.urls):
                differs = new.urls[new.starts[number] :]
                same = set(now.urls).difference(differs) if differs else now.urls
                self._unchanged.append(array("q", same))
        for number, (key, sitemap) in enumerate(old.side.lists.items()):
            if key not in found:
                was = read_fingerprints(sitemap)
                found[key] = was, range(len(was.urls))
            old.add(number, *found.pop(key))

    def _decide_all(self) -> None:
        """Find out what became of each page: by where both trees list it."""
        self._later = array("I", bytes(4 * len(self._old.urls)))
        count = (len(self._old.urls) + len(self._new.urls)) // _TOGETHER + 1
        for was, now in zip(self._old.parts(count), self._new.parts(count), strict=True):
            wanted = was.keys() | now.keys()
            steady: set[int] = set()
            for urls in self._unchanged if wanted else ():
                steady.update(wanted.intersection(urls))
            for url, rows in now.items():
                self._decide(rows, was.pop(url, []), is_steady=url in steady)
            for url, rows in was.items():
                if url in steady:
                    left = self._old.names(rows)
                    self._set(self._old, rows[0], ChangeKind.MOVED, left)
                else:
                    self._set(self._old, rows[0], *self._old.absent(rows, ChangeKind.REMOVED))

    def _decide(self, rows: list[int], sources: list[int], *, is_steady: bool) -> None:
        """Find out what became of a page that differs in rows of the tree after."""
        old, new = self._old, self._new
        if not sources and not is_steady:
            kind, names = new.absent(rows, ChangeKind.ADDED)
            self._set(new, rows[0], kind, (), names)
            return
        by_key = {old.keys[old.sitemaps[row]]: row for row in sources}
        pairs = [
            (row, by_key.pop(key)) for row in rows if (key := new.keys[new.sitemaps[row]]) in by_key
        ]
        compared = {row for row, _ in pairs}
        left = old.names(list(by_key.values()))
        joined = new.names([row for row in rows if row not in compared])
        moved = not pairs and not is_steady and joined
        if moved and old.entries[sources[0]] != new.entries[rows[0]]:
            pairs = [(rows[0], sources[0])]
        for row, source in pairs:
            self._later[source] = row + 1
            last = row == pairs[-1][0]
            self._set(new, row, ChangeKind.CHANGED, left, joined, len(pairs) > 1, last)
        if not pairs:
            self._set(new, rows[0], ChangeKind.MOVED, left, joined)

    def _set(self, rows: _Differing, row: int, kind: ChangeKind, *details: object) -> None:
        outcome = _Outcome(kind, *details)  # type: ignore[arg-type]
        if kind is not ChangeKind.MOVED or outcome.left or outcome.joined:
            number = self._numbers.setdefault(outcome, len(self._outcomes))
            if number == len(self._outcomes):
                self._outcomes.append(outcome)
            rows.outcomes[row] = number

    def changes(self) -> Iterator[list[PageChange]]:
        """Yield the changes in parts."""
        self._read()
        self._decide_all()
        old, new = self._old, self._new
        with SpooledTemporaryFile(_MOST_IN_MEMORY) as file:
            spill = PageSpill(file, len(new.urls))
            for rows, block in old.blocks(self._later):
                spill.add([self._later[row] - 1 for row in rows], block)
            given: set[str] = set()
            for rows, block in new.blocks(new.outcomes):
                outcomes = [self._outcomes[new.outcomes[row]] for row in rows]
                changed = sum(outcome.kind is ChangeKind.CHANGED for outcome in outcomes)
                # All fields of a block at once take less time, if most of them are used.
                pages = pages_with_fields(block) if 2 * changed > len(rows) else block.pages()
                found = (
                    self._change(outcome, page, row, spill, given)
                    for outcome, row, page in zip(outcomes, rows, pages, strict=True)
                )
                yield [change for change in found if change is not None]
        for rows, block in old.blocks(old.outcomes):
            outcomes = [self._outcomes[old.outcomes[row]] for row in rows]
            yield [
                PageChange(outcome.kind, page.url, page, None, (), outcome.left)
                for outcome, page in zip(outcomes, block.pages(), strict=True)
            ]

    @staticmethod
    def _change(
        outcome: _Outcome, page: SitemapPage, row: int, spill: PageSpill, given: set[str]
    ) -> PageChange | None:
        """Return what changed about a page of the tree after, if anything did."""
        kind, left, joined, repeated, last = outcome
        if kind is not ChangeKind.CHANGED:
            return PageChange(kind, page.url, None, page, (), left, joined)
        if repeated and page.url in given:
            return None
        was = spill.page(row)
        fields = field_changes(was.fields(), page.fields())
        if fields:
            if repeated:
                given.add(page.url)
            return PageChange(kind, page.url, was, page, fields, left, joined)
        if last and (left or joined):
            return PageChange(ChangeKind.MOVED, page.url, None, page, (), left, joined)
        return None
