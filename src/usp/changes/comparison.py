"""Which pages changed between two trees: found by fingerprints, and read again only if they did.

A page has two fingerprints of 64 bits: one of its URL, one of its URL and everything that is written
about it. Both are made of Python's own hashes, which have a secret key: nobody can write two URLs that
are taken for the same. Only pages that differ between both versions of a sitemap are looked for in the
other sitemaps, as many at a time as fit into a small dictionary. Memory grows by 8 bytes a page, and by
about 40 more for one that differs. Pages as they were wait in a temporary database.
"""

from __future__ import annotations

import errno
import pickle
import sqlite3
from array import array
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from heapq import nsmallest
from itertools import compress
from operator import xor
from typing import TYPE_CHECKING, NamedTuple

from usp.changes.change_values import ChangeKind, FieldChange, PageChange, field_changes
from usp.objects.page import PageBlock, SitemapPage, fields_of, page_of, pages_with_fields, part_of
from usp.objects.sitemap import AbstractPagesSitemap, same_document

if TYPE_CHECKING:
    from usp.changes.sides import AllPages, Matching, Side

_TOGETHER = 250_000  # fingerprints that are looked for at once
_COLUMNS = ("lastmod", "changefreq", "priority")
_MARKS = 64  # hashes by which a sitemap that was renamed is looked for
_CANDIDATES = 3


class _Decision(NamedTuple):
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

    ``known`` is whether the other tree can tell what became of a sitemap. Pages are rows in the order
    of the tree; those of a sitemap, which has the number of its key in ``keys``, begin at ``starts``.
    ``outcomes`` are what becomes of each page, None if that is nothing.
    """

    def __init__(self, side: Side, known: Mapping[str, bool]) -> None:
        self.side = side
        self.known = known
        self.keys = list(side.lists)
        self.starts = [0]
        self.positions = array("I")
        self.urls, self.entries = array("q"), array("q")
        self.outcomes: list[_Decision | None] = []

    def add(self, prints: Fingerprints, positions: Sequence[int]) -> None:
        """Add the pages of the next sitemap that differ, by their positions there."""
        self.positions.extend(positions)
        self.urls.extend([prints.urls[at] for at in positions])
        self.entries.extend([prints.entries[at] for at in positions])
        self.outcomes.extend([None] * len(positions))
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

    def key(self, row: int) -> str:
        """Return the key of the sitemap of a row."""
        return self.keys[bisect_right(self.starts, row) - 1]

    def names(self, rows: Sequence[int], *, sure: bool = True) -> tuple[str, ...]:
        """Return the URLs of the sitemaps of rows, or of those that are known to the other tree."""
        keys = map(self.key, rows)
        return tuple([self.side.urls[key] for key in keys if not sure or self.known.get(key, True)])

    def absent(self, rows: Sequence[int], kind: ChangeKind) -> ChangeKind:
        """Return what became of a page that the other tree does not list."""
        is_sure = all(self.known.get(key, True) for key in map(self.key, rows))
        return kind if is_sure else ChangeKind.UNKNOWN

    def blocks(self, wanted: Sequence[object]) -> Iterator[tuple[list[int], PageBlock]]:
        """Read pages again: yield the rows for which something is ``wanted``, block by block."""
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


class Fingerprints(NamedTuple):
    """Those of the pages of a sitemap, in order."""

    urls: array[int]
    entries: array[int]

    def absent_in(self, other: Fingerprints) -> Sequence[int]:
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


def read_fingerprints(sitemap: AbstractPagesSitemap | AllPages, matching: Matching) -> Fingerprints:
    """Read the fingerprints of all pages of a sitemap."""
    prints = Fingerprints(array("q"), array("q"))
    for _, block in sitemap.page_blocks():
        hashes = array("q", map(hash, matching.keys(block.urls)))
        prints.urls.extend(hashes)
        prints.entries.extend(map(xor, hashes, _written(block, exactly=matching.is_exact)))
    return prints


def _written(block: PageBlock, *, exactly: bool) -> Iterator[int]:
    """Return hashes of what a block says about its pages, in the form that takes least time.

    Unless they are to match ``exactly``, the URL of a page is not among it.
    """
    texts = getattr(block, "entry_texts", lambda: None)() if exactly else None
    if texts is not None:
        return map(hash, texts)
    columns = block.texts()
    if columns is None:
        return map(hash, map(pickle.dumps, map(tuple, block.rows())))
    empty = [""] * len(block.urls)
    return map(hash, zip(*(columns.get(name) or empty for name in _COLUMNS), strict=True))


def match_renamed(
    before: Side,
    after: Side,
    was_known: Mapping[str, bool],
    is_known: Mapping[str, bool],
    matching: Matching,
) -> None:
    """Match sitemaps of both trees that list most of the same, but have another URL.

    Only what the other tree is known not to have may have been renamed.
    """
    gone, new = _only_in(before, after, is_known), _only_in(after, before, was_known)
    if not gone or not new:
        return
    prints = [
        {key: read_fingerprints(side.lists[key], matching) for key in keys if key in side.lists}
        for side, keys in ((before, gone), (after, new))
    ]
    before.prints, after.prints = prints
    names = _renamed(*({key: one.urls for key, one in found.items()} for found in prints))
    indexes = (
        {
            key: [hash(names.get(child, child)) for child in side.indexes[key]]
            for key in keys
            if key in side.indexes
        }
        for side, keys in ((before, gone), (after, new))
    )
    before.rename(names | _renamed(*indexes))


def _only_in(side: Side, other: Side, known: Mapping[str, bool]) -> list[str]:
    return [
        key
        for key in side.urls
        if key not in other.urls and key not in side.incomplete and known.get(key, True)
    ]


def _renamed(gone: Mapping[str, Sequence[int]], new: Mapping[str, Sequence[int]]) -> dict[str, str]:
    """Return the keys of what lists more than half of the same, by the keys before.

    Candidates are found by a few of the hashes of each, the smallest ones, which are the same in both.
    """
    owners: dict[int, str] = {}
    for key, hashes in gone.items():
        for one in nsmallest(_MARKS, set(hashes)):
            owners.setdefault(one, key)
    found: dict[str, str] = {}
    for key, hashes in new.items():
        listed = set(hashes)
        shared = Counter(owners[one] for one in hashes if one in owners)
        for former, _ in shared.most_common(_CANDIDATES):
            was = set(gone[former])
            if former not in found and 2 * len(was & listed) > max(len(was), len(listed)):
                found[former] = key
                break
    return found


def page_changes(
    before: Side,
    after: Side,
    was_known: Mapping[str, bool],
    is_known: Mapping[str, bool],
    matching: Matching,
) -> Iterator[list[PageChange]]:
    """Yield the pages that changed, in parts: in the order of the tree after, then the others."""
    differing = _Differing(before, is_known), _Differing(after, was_known)
    return _Comparison(*differing, matching).changes()


class _Comparison:
    """What became of the pages that differ in one of two trees."""

    def __init__(self, old: _Differing, new: _Differing, matching: Matching) -> None:
        self._matching = matching
        self._old = old
        self._new = new
        self._unchanged: list[array[int]] = []  # URLs that the same sitemap lists in both trees
        self._outcomes: dict[_Decision, _Decision] = {}  # one object for all that are equal
        self._read()
        self._later = array("I", bytes(4 * len(old.urls)))  # by old row: the new row + 1, or 0
        self._decide()

    def _read(self) -> None:
        """Find the pages that differ."""
        old, new = self._old, self._new
        nothing = Fingerprints(array("q"), array("q"))
        found: dict[str, tuple[Fingerprints, Sequence[int]]] = {}
        for key, sitemap in new.side.lists.items():
            now, was = self._prints(new.side, key), nothing
            former = old.side.lists.get(key)
            if former is not None:
                is_same = same_document(former, sitemap)
                was = now if is_same else self._prints(old.side, key)
                found[key] = was, was.absent_in(now)
            positions = now.absent_in(was)
            new.add(now, positions)
            if len(positions) < len(now.urls):
                differs = new.urls[new.starts[-2] :]
                same = set(now.urls).difference(differs) if differs else now.urls
                self._unchanged.append(array("q", same))
        for key in old.side.lists:
            if key not in found:
                was = self._prints(old.side, key)
                found[key] = was, range(len(was.urls))
            old.add(*found.pop(key))

    def _prints(self, side: Side, key: str) -> Fingerprints:
        """Return the fingerprints of a sitemap, once."""
        return side.prints.pop(key, None) or read_fingerprints(side.lists[key], self._matching)

    def _decide(self) -> None:
        """Find out what became of each page: by where both trees list it."""
        old, new = self._old, self._new
        count = (len(old.urls) + len(new.urls)) // _TOGETHER + 1
        for was, now in zip(old.parts(count), new.parts(count), strict=True):
            wanted = was.keys() | now.keys()
            steady: set[int] = set()
            for urls in self._unchanged if wanted else ():
                steady.update(wanted.intersection(urls))
            for url, rows in now.items():
                sources = was.pop(url, [])
                if sources or url in steady:
                    self._match(rows, sources, is_steady=url in steady)
                else:
                    kind = new.absent(rows, ChangeKind.ADDED)
                    self._set(new, rows[0], kind, (), new.names(rows, sure=False))
            for url, rows in was.items():
                if url in steady:
                    self._set(old, rows[0], ChangeKind.MOVED, old.names(rows))
                else:
                    kind = old.absent(rows, ChangeKind.REMOVED)
                    self._set(old, rows[0], kind, old.names(rows, sure=False))

    def _match(self, rows: list[int], sources: list[int], *, is_steady: bool) -> None:
        """Find out what became of a page that both trees list, differing in these rows."""
        old, new = self._old, self._new
        by_key = {old.key(row): row for row in sources}
        former = frozenset(by_key)  # one may list a page twice, escaped and not
        pairs = {row: by_key.pop(key) for row in rows if (key := new.key(row)) in by_key}
        left = old.names(list(by_key.values()))
        joined = new.names([row for row in rows if row not in pairs and new.key(row) not in former])
        moved = not pairs and not is_steady and joined
        if moved and old.entries[sources[0]] != new.entries[rows[0]]:
            pairs = {rows[0]: sources[0]}
        if not pairs:
            self._set(new, rows[0], ChangeKind.MOVED, left, joined)
        for number, (row, source) in enumerate(pairs.items(), 1):
            self._later[source] = row + 1
            is_last = number == len(pairs)
            self._set(new, row, ChangeKind.CHANGED, left, joined, len(pairs) > 1, is_last)

    def _set(self, rows: _Differing, row: int, kind: ChangeKind, *details: object) -> None:
        outcome = _Decision(kind, *details)  # type: ignore[arg-type]
        if kind is not ChangeKind.MOVED or outcome.left or outcome.joined:
            rows.outcomes[row] = self._outcomes.setdefault(outcome, outcome)

    def changes(self) -> Iterator[list[PageChange]]:
        """Yield the changes in parts."""
        old, new, later = self._old, self._new, self._later
        differs = None if self._matching.is_exact else self._matching.differs
        given: set[str] = set()
        # The file of this database is removed with it; changes may be taken by several threads.
        with closing(sqlite3.connect("", check_same_thread=False)) as database:
            database.execute("CREATE TABLE former (row INTEGER PRIMARY KEY, fields)")
            for rows, block in old.blocks(later):
                fields = map(pickle.dumps, zip(block.urls, block.rows(), strict=True))
                kept = zip([later[row] for row in rows], fields, strict=True)
                try:
                    database.executemany("INSERT INTO former VALUES (?, ?)", kept)
                except sqlite3.OperationalError as error:
                    raise OSError(errno.ENOSPC, str(error)) from error
            former = database.execute("SELECT fields FROM former ORDER BY row")
            for rows, block in new.blocks(new.outcomes):
                outcomes = [outcome for row in rows if (outcome := new.outcomes[row]) is not None]
                changed = sum(outcome.kind is ChangeKind.CHANGED for outcome in outcomes)
                # All fields of a block at once take less time, if most of them are used.
                pages = pages_with_fields(block) if 2 * changed > len(rows) else block.pages()
                found = (
                    _change(page, outcome, former, given, differs)
                    for outcome, page in zip(outcomes, pages, strict=True)
                )
                yield [change for change in found if change is not None]
        for rows, block in old.blocks(old.outcomes):
            yield [
                PageChange(outcome.kind, page.url, page, None, (), outcome.left)
                for row, page in zip(rows, block.pages(), strict=True)
                if (outcome := old.outcomes[row]) is not None
            ]


def _change(
    page: SitemapPage,
    outcome: _Decision,
    former: Iterator[tuple[bytes]],
    given: set[str],
    differs: Callable[[FieldChange], bool] | None,
) -> PageChange | None:
    """Return what changed about a page of the tree after, if anything did; ``given`` were before."""
    kind, left, joined, repeated, last = outcome
    if kind is not ChangeKind.CHANGED:
        return PageChange(kind, page.url, None, page, (), left, joined)
    url, was = pickle.loads(next(former)[0])  # noqa: S301 - our own
    if repeated and page.url in given:
        return None
    fields = field_changes(was, fields_of(page), differs)
    if fields:
        given.update([page.url] if repeated else [])
        before = page_of(url, was)
        return PageChange(kind, page.url, before, page, fields, left, joined)
    if last and (left or joined):
        return PageChange(ChangeKind.MOVED, page.url, None, page, (), left, joined)
    return None
