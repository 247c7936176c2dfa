"""Which pages changed between two trees: found by fingerprints, and parsed only if they did.

Every sitemap is read once for the fingerprints; of two that have the same bytes, one is. Pages that
differ are kept until they are given, in a temporary file if they are many. Memory grows by 8 bytes a
page, and by 17 more for one that differs.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain, compress, dropwhile, islice, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

from usp.changes.fingerprints import Differing, Places, read_prints, steady
from usp.changes.keeping import Keeper
from usp.changes.shared import Fingerprints, Members, found_in
from usp.changes.values import ChangeKind, PageChange, field_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from usp.changes.sides import Side
    from usp.objects.page import SitemapPage

    Where: TypeAlias = Mapping[int, Sequence[tuple[str, int]]]
    """By the fingerprint of a URL: the sitemaps where it differs, and its numbers there."""

_url = attrgetter("url")
_CHANGED, _MOVED = ChangeKind.CHANGED, ChangeKind.MOVED
_OPPOSITE = bytes([1, *[0] * 255])
_MOST_KEPT = 100_000  # pages that differ and are kept in memory
_TOGETHER = 10_000  # pages that are compared at a time


def page_changes(
    before: Side, after: Side, was_known: Mapping[str, bool], is_known: Mapping[str, bool]
) -> Iterator[list[PageChange]]:
    """Yield the pages that changed, in parts: in the order of the tree after, then the others.

    A page that several sitemaps list is given once, where the first of its changes stands.
    ``was_known`` and ``is_known`` are what each tree accounts for of the other.
    """
    old, new = _Half(before, is_known), _Half(after, was_known)
    _read(old, new)
    _relate(old, new)
    left = Places(old.differing, old.several)
    yield from _NewPages(old, new, left).changes()
    yield from _OldPages(old, left).changes()


@dataclass
class _Half:
    """One of the trees, and what it has that the other one has otherwise, or not at all.

    ``known`` is whether the other tree can tell what became of a sitemap of this one. Of the pages
    that differ, ``listed`` are those that any sitemap of the other tree lists, ``doubtful`` those that
    one might that is missing there, ``settled`` those that differ in the other tree, too, and
    ``several`` those that differ in several sitemaps.
    """

    side: Side
    known: Mapping[str, bool]
    urls: dict[str, array[int]] = field(default_factory=dict)
    differing: dict[str, Differing] = field(default_factory=dict)
    listed: Members = field(default_factory=Members)
    doubtful: Members = field(default_factory=Members)
    settled: Members = field(default_factory=Members)
    several: set[int] = field(default_factory=set)

    def is_known(self, key: str) -> bool:
        """Return whether the other tree can tell what became of a sitemap."""
        return self.known.get(key, True)

    def find_doubtful(self) -> None:
        """Find what the other tree might list in a sitemap that is missing there."""
        unknown = [urls for key, urls in self.urls.items() if not self.is_known(key)]
        certain = (one.urls for key, one in self.differing.items() if self.is_known(key))
        self.doubtful = found_in(chain.from_iterable(certain), unknown)

    def lists(self, key: str, where: slice) -> bytes:
        """Return for each page of a sitemap that differs whether the other tree lists it: 1, or 0."""
        return self._or_changed(self.listed, key, where)

    def settles(self, key: str) -> bytes:
        """Return for each page of a sitemap that differs whether it does in the other tree: 1, or 0."""
        return self._or_changed(self.settled, key, slice(None))

    def _or_changed(self, members: Members, key: str, where: slice) -> bytes:
        one = self.differing[key]
        flags, changed = members.flags(one.urls[where]), one.changed[where]
        if not any(changed):
            return flags
        both = int.from_bytes(flags) | int.from_bytes(changed)
        return both.to_bytes(len(flags))

    def doubts(self, key: str, urls: array[int]) -> bytes:
        """Return for each page of a sitemap that differs whether it is doubtful: 1, or 0."""
        return self.doubtful.flags(urls) if self.is_known(key) else b"\1" * len(urls)

    def pages(
        self, key: str, numbers: Sequence[int], *, parsed: bool = False
    ) -> Iterator[SitemapPage]:
        """Return some of the pages of a sitemap that differ."""
        return self.differing[key].pages(self.side.lists[key], numbers, parsed=parsed)

    def all_new(
        self, key: str, urls: array[int], pages: list[SitemapPage], kind: ChangeKind
    ) -> list[PageChange]:
        """Return the changes of pages of one sitemap that the other tree does not list at all."""
        doubtful = self.doubts(key, urls)
        kinds: Iterable[ChangeKind] = repeat(kind)
        if any(doubtful):
            kinds = map((kind, ChangeKind.UNKNOWN).__getitem__, doubtful)
        none, own, nothing = repeat(None), repeat((self.side.urls[key],)), repeat(())
        if kind is ChangeKind.ADDED:
            return list(
                map(PageChange, kinds, map(_url, pages), none, pages, nothing, nothing, own)
            )
        return list(map(PageChange, kinds, map(_url, pages), pages, none, nothing, own))

    def left_by(self, places: Sequence[tuple[str, int]]) -> tuple[str, ...]:
        """Return the sitemaps that certainly do not list a page any more; nearly always it is one."""
        if len(places) > 1:
            return self.names(places, certain=True)
        key, number = places[0]
        return () if self.differing[key].changed[number] else self._certain[key]

    @cached_property
    def _certain(self) -> dict[str, tuple[str, ...]]:
        """The URLs of the sitemaps of which the other tree can tell what became, each as a tuple."""
        return {key: (self.side.urls[key],) if self.is_known(key) else () for key in self.differing}

    def names(self, places: Iterable[tuple[str, int]], *, certain: bool) -> tuple[str, ...]:
        """Return the sitemaps that list a page here only; the ``certain`` ones, if that is wanted."""
        return tuple(
            self.side.urls[key]
            for key, number in places
            if not self.differing[key].changed[number] and (not certain or self.is_known(key))
        )


def _read(old: _Half, new: _Half) -> None:
    """Read both trees, and keep of each what the other one has otherwise, or not at all."""
    keeper = Keeper(_MOST_KEPT)
    differing = {}
    for key, sitemap in new.side.lists.items():
        prints = read_prints(sitemap)
        new.urls[key] = prints.urls
        former = old.side.lists.get(key)
        if former is None:
            pairs = [(Differing.all_of(prints), prints)]
        else:
            same = former.same_document(sitemap)
            before = prints if same else read_prints(former)
            old.urls[key] = before.urls
            both = Differing.between(before, prints)
            differing[key] = both[0]
            pairs = [(both[1], prints), (both[0], before)]
        new.differing[key] = pairs[0][0]
        for one, of_sitemap in pairs:
            if of_sitemap.blocks is not None:
                one.kept = keeper.keep(of_sitemap.blocks, one.positions)
    for key, sitemap in old.side.lists.items():
        if key not in differing:
            prints = read_prints(sitemap)
            old.urls[key] = prints.urls
            one = differing[key] = Differing.all_of(prints)
            if prints.blocks is not None:
                one.kept = keeper.keep(prints.blocks, one.positions)
    old.differing = {key: differing[key] for key in old.side.lists}


def _relate(old: _Half, new: _Half) -> None:
    """Find out what the pages that differ have to do with the other tree.

    Those that the same sitemap lists in both trees are listed and settled anyway.
    """
    halves = old, new
    everything = [Fingerprints(list(half.urls.values())) for half in halves]
    differing = [Fingerprints([one.urls for one in half.differing.values()]) for half in halves]
    alone = [Fingerprints([one.alone() for one in half.differing.values()]) for half in halves]
    for at in (0, 1):  # what is the same is split once
        if differing[at].count == everything[at].count:
            differing[at] = everything[at]
        if alone[at].count == differing[at].count:
            alone[at] = differing[at]
    for at, half in enumerate(halves):
        half.listed = alone[at].among(everything[1 - at])
        half.several = differing[at].repeated()
        half.find_doubtful()
    same = differing[1] is everything[1]
    old.settled = old.listed if same else alone[0].among(differing[1])


class _NewPages:
    """Gives what is new or changed in the tree after, each page once."""

    def __init__(self, old: _Half, new: _Half, left: Places) -> None:
        self._old = old
        self._new = new
        self._left = left
        self._joined = Places(new.differing, new.several) if new.several else None
        self._given: set[int] = set()  # of those that differ in several sitemaps
        self._steady = steady(new.differing, new.urls, self._moving())

    def _moving(self) -> Iterator[int]:
        """Yield the fingerprints of pages that another sitemap has listed."""
        for one in self._new.differing.values():
            yield from compress(one.alone(), self._new.listed.flags(one.alone()))

    def changes(self) -> Iterator[list[PageChange]]:
        """Yield the changes in parts, in the order of the tree."""
        for key, one in self._new.differing.items():
            count = len(one.urls)
            parsed = 2 * sum(one.changed) > count
            pages = self._new.pages(key, range(count), parsed=parsed)
            for start in range(0, count, _TOGETHER):
                where = slice(start, min(start + _TOGETHER, count))
                listed = self._new.lists(key, where)
                several = self._several(one.urls[where])
                if several or any(listed):
                    yield list(self._part(key, where, pages, listed, several))
                else:
                    some = list(islice(pages, where.stop - where.start))
                    yield self._new.all_new(key, one.urls[where], some, ChangeKind.ADDED)

    def _several(self, urls: array[int]) -> Where:
        """Return where pages stand that differ in several sitemaps."""
        return {} if self._joined is None else self._joined.of(self._new.several.intersection(urls))

    def _part(
        self,
        key: str,
        where: slice,
        pages: Iterator[SitemapPage],
        listed: bytes,
        several: Where,
    ) -> Iterator[PageChange]:
        new, old, here = self._new, self._old, self._new.differing[key]
        urls, changed = here.urls[where], here.changed[where]
        doubtful = new.doubts(key, urls)
        sources = self._sources(urls, listed, changed)
        former = self._former(key, where, sources, listed)
        own = (new.side.urls[key],)
        certain = own if new.is_known(key) else ()
        rows = zip(urls, changed, listed, doubtful, islice(pages, len(urls)), strict=False)
        for url, is_changed, is_listed, is_doubtful, page in rows:
            places = several.get(url) if several else None
            if places is not None and self._comes_elsewhere(url, is_changed, places):
                continue
            if not is_listed:
                kind = ChangeKind.UNKNOWN if is_doubtful else ChangeKind.ADDED
                joined = own if places is None else new.names(places, certain=False)
                change = PageChange(kind, page.url, None, page, (), (), joined)
            else:
                source = sources.get(url)
                left = () if source is None else old.left_by(source)
                if places is not None:
                    joined = new.names(places, certain=True)
                else:
                    joined = () if is_changed else certain
                was = former.get(url)
                fields = () if was is None else field_changes(was.fields(), page.fields())
                if fields and (is_changed or joined):
                    change = PageChange(_CHANGED, page.url, was, page, fields, left, joined)
                elif (left or joined) and not (
                    places is not None and self._are_compared(_later(places, key))
                ):
                    change = PageChange(_MOVED, page.url, None, page, (), left, joined)
                else:
                    continue
            if places is not None:
                self._given.add(url)
            yield change

    def _comes_elsewhere(
        self, url: int, is_changed: int, places: Iterable[tuple[str, int]]
    ) -> bool:
        """Return whether a page was given, or comes where the same sitemap lists it in both trees."""
        return url in self._given or (not is_changed and self._are_compared(places))

    def _are_compared(self, places: Iterable[tuple[str, int]]) -> bool:
        """Return whether one of these sitemaps lists the page in both trees."""
        differing = self._new.differing
        return any(differing[key].changed[number] for key, number in places)

    def _sources(self, urls: array[int], listed: bytes, changed: bytes) -> Where:
        """Return where pages differ in the tree before, unless that is the same sitemap alone."""
        several = self._old.several
        return self._left.of(
            [
                url
                for url, is_listed, is_changed in zip(urls, listed, changed, strict=True)
                if is_listed and (not is_changed or url in several)
            ]
        )

    def _former(
        self, key: str, where: slice, sources: Where, listed: bytes
    ) -> dict[int, SitemapPage]:
        """Return pages as they were: in the same sitemap, or in the one that they were moved from.

        Those that are written as they were need not be read.
        """
        wanted: dict[str, list[tuple[int, int]]] = {}
        one, there = self._new.differing[key], self._old.differing.get(key)
        changed = one.changed[where]
        if there is not None and any(changed):
            numbers = self._left.numbers(key)
            wanted[key] = [(numbers[url], url) for url in compress(one.urls[where], changed)]
        moving = (
            (url, entry)
            for url, entry, is_listed, is_changed in zip(
                one.urls[where], one.entries[where], listed, changed, strict=True
            )
            if is_listed and not is_changed and url not in self._steady
        )
        for url, entry in moving:
            for source, number in sources.get(url, ()):
                before = self._old.differing[source]
                if not before.changed[number]:
                    if before.entries[number] != entry:
                        wanted.setdefault(source, []).append((number, url))
                    break
        former: dict[int, SitemapPage] = {}
        for source, found in wanted.items():
            found.sort()
            numbers_there = [number for number, _ in found]
            pages = self._old.pages(source, numbers_there, parsed=True)
            former.update(zip((url for _, url in found), pages, strict=False))
        return former


class _OldPages:
    """Gives what the tree after does not have any more, or not in the same sitemap, each page once."""

    def __init__(self, old: _Half, left: Places) -> None:
        self._old = old
        self._left = left
        self._given: set[int] = set()  # of those that differ in several sitemaps

    def changes(self) -> Iterator[list[PageChange]]:
        """Yield the changes in parts, in the order of the tree."""
        old = self._old
        for key, one in old.differing.items():
            rest = old.settles(key).translate(
                _OPPOSITE
            )  # the others were given with the tree after
            numbers = list(compress(range(len(rest)), rest))
            pages = old.pages(key, numbers)
            for start in range(0, len(numbers), _TOGETHER):
                part = numbers[start : start + _TOGETHER]
                urls = array("q", [one.urls[number] for number in part])
                several = self._left.of(old.several.intersection(urls)) if old.several else {}
                listed = old.listed.flags(urls)
                if several or any(listed):
                    yield list(self._part(key, part, urls, pages, listed, several))
                else:
                    some = list(islice(pages, len(part)))
                    yield old.all_new(key, urls, some, ChangeKind.REMOVED)

    def _part(
        self,
        key: str,
        numbers: Sequence[int],
        urls: array[int],
        pages: Iterator[SitemapPage],
        listed: bytes,
        several: Where,
    ) -> Iterator[PageChange]:
        old = self._old
        own = (old.side.urls[key],)
        rows = zip(
            numbers, urls, listed, old.doubts(key, urls), islice(pages, len(urls)), strict=False
        )
        for number, url, is_listed, is_doubtful, page in rows:
            places = several.get(url)
            if places is not None:
                if url in self._given:
                    continue
                self._given.add(url)
            if not is_listed:
                kind = ChangeKind.UNKNOWN if is_doubtful else ChangeKind.REMOVED
                left = own if places is None else old.names(places, certain=False)
                yield PageChange(kind, page.url, page, None, (), left)
            elif left := old.left_by(places or ((key, number),)):
                yield PageChange(_MOVED, page.url, page, None, (), left)


def _later(places: Sequence[tuple[str, int]], key: str) -> Iterable[tuple[str, int]]:
    """Return the places after that in a sitemap."""
    after = dropwhile(lambda place: place[0] != key, places)
    return islice(after, 1, None)
