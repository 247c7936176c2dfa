"""Which pages changed between two trees: found by fingerprints, and read only if they did.

Every sitemap is read once for the fingerprints; of two that have the same bytes, one is. Pages that
differ are kept, unless they are very many: then they are read again where they are given. Memory grows
by 8 bytes a page, and by 25 more for one that differs.
"""

from __future__ import annotations

from array import array
from dataclasses import dataclass, field
from itertools import chain, compress, dropwhile, islice, starmap
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from usp.changes.fingerprints import (
    Differing,
    Places,
    found,
    pages_at,
    read_prints,
    repeated,
    steady,
)
from usp.changes.values import ChangeKind, PageChange, field_changes

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from usp.changes.sides import Side
    from usp.objects.page import SitemapPage

    Where: TypeAlias = Mapping[int, Sequence[tuple[str, int]]]
    """By the fingerprint of a URL: the sitemaps where it differs, and its numbers there."""

_MOST_KEPT = 100_000  # pages that differ; more of them are read again
_OPPOSITE = bytes([1, *[0] * 255])
_TOGETHER = 50_000  # pages whose former fields are kept at a time


def page_changes(
    before: Side, after: Side, was_known: Mapping[str, bool], is_known: Mapping[str, bool]
) -> Iterator[PageChange]:
    """Yield the pages that changed: in the order of the tree after, then those that are not in it.

    A page that several sitemaps list is given once, where the first of its changes stands.
    ``was_known`` and ``is_known`` are what each tree accounts for of the other.
    """
    old, new = _Half(before, is_known), _Half(after, was_known)
    _read(old, new)
    places = Places(old.differing), Places(new.differing)
    yield from _NewPages(old, new, *places).changes(new.candidates(old))
    settled = old.by_sitemap(found(old.fingerprints(), new.arrays()))
    yield from _OldPages(old, places[0], settled).changes(old.candidates(new))


def _read(old: _Half, new: _Half) -> None:
    """Read both trees, and keep of each what the other one has otherwise, or not at all."""
    room = _MOST_KEPT
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
            if of_sitemap.blocks is not None and len(one.urls) <= room:
                one.keep(of_sitemap.blocks)
                room -= len(one.urls)
    for key, sitemap in old.side.lists.items():
        if key not in differing:
            prints = read_prints(sitemap)
            old.urls[key] = prints.urls
            differing[key] = Differing.all_of(prints)
    old.differing = {key: differing[key] for key in old.side.lists}


class _Candidate(NamedTuple):
    """A page that differs, in the sitemap where it stands; ``url`` and ``entry`` are fingerprints."""

    url: int
    entry: int
    number: int  # among those that differ
    changed: int  # whether the same sitemap in the other tree lists it, too
    elsewhere: int  # whether any sitemap of the other tree does
    doubtful: int  # whether one might that the other tree is missing
    repeated: int  # whether it differs in several sitemaps
    steady: int  # whether another sitemap lists it in both trees, and as it was


@dataclass(slots=True)
class _Half:
    """One of the trees, and what it has that the other one has otherwise, or not at all.

    ``known`` is whether the other tree can tell what became of a sitemap of this one.
    """

    side: Side
    known: Mapping[str, bool]
    urls: dict[str, array[int]] = field(default_factory=dict)
    differing: dict[str, Differing] = field(default_factory=dict)

    def arrays(self) -> list[array[int]]:
        """Return the fingerprints of URLs that differ, by sitemap."""
        return [one.urls for one in self.differing.values()]

    def fingerprints(self) -> Iterator[int]:
        """Yield the fingerprints of URLs that differ."""
        return chain.from_iterable(self.arrays())

    def by_sitemap(self, flags: bytearray) -> dict[str, bytearray]:
        """Return flags of all candidates by the sitemaps that these stand in."""
        parts, at = {}, 0
        for key, one in self.differing.items():
            parts[key] = flags[at : at + len(one.urls)]
            at += len(one.urls)
        return parts

    def candidates(self, other: _Half) -> Iterator[tuple[str, Iterator[_Candidate]]]:
        """Yield the sitemaps that have pages that differ, and these."""
        elsewhere = self.by_sitemap(found(self.fingerprints(), other.urls.values()))
        unknown = [urls for key, urls in self.urls.items() if not self.known.get(key, True)]
        doubtful = self.by_sitemap(found(self.fingerprints(), unknown))
        several = self.by_sitemap(repeated(self.arrays()))
        as_was = self.by_sitemap(steady(self.differing, self.urls))
        for key, one in self.differing.items():
            if one.urls:
                flags = one.changed, elsewhere[key], doubtful[key], several[key], as_was[key]
                numbers = range(len(one.urls))
                rows = zip(one.urls, one.entries, numbers, *flags, strict=True)
                yield key, starmap(_Candidate, rows)

    def pages(self, key: str, numbers: Sequence[int]) -> Iterator[SitemapPage]:
        """Return some of the pages of a sitemap that differ."""
        one = self.differing[key]
        if one.pages is not None:
            return map(one.pages.__getitem__, numbers)
        positions = array("Q", map(one.positions.__getitem__, numbers))
        return pages_at(self.side.lists[key], positions)

    def names(self, places: Iterable[tuple[str, int]], *, certain: bool) -> tuple[str, ...]:
        """Return the sitemaps that list a page here only; the ``certain`` ones, if that is wanted."""
        return tuple(
            self.side.urls[key]
            for key, number in places
            if not self.differing[key].changed[number]
            and (not certain or self.known.get(key, True))
        )


class _Pages:
    """Gives the changes of one of the trees, each page once."""

    def __init__(self, half: _Half) -> None:
        self._half = half
        self._given: set[int] = set()  # of those that differ in several sitemaps

    def changes(
        self, candidates: Iterator[tuple[str, Iterator[_Candidate]]]
    ) -> Iterator[PageChange]:
        """Yield the changes, in the order of the tree."""
        for key, listed in candidates:
            wanted = self._wanted(key)
            remaining = compress(listed, wanted)
            pages = self._half.pages(key, list(compress(range(len(wanted)), wanted)))
            while part := list(islice(remaining, _TOGETHER)):
                yield from self._part(key, part, pages)

    def _wanted(self, key: str) -> bytes:
        """Return which of the candidates of a sitemap are looked at."""
        return b"\1" * len(self._half.differing[key].urls)

    def _part(
        self, key: str, part: list[_Candidate], pages: Iterator[SitemapPage]
    ) -> Iterator[PageChange]:
        raise NotImplementedError

    def _once(self, one: _Candidate, change: PageChange) -> PageChange:
        """Return a change, and take note that its page was given."""
        if one.repeated:
            self._given.add(one.url)
        return change

    @staticmethod
    def _several(part: list[_Candidate], places: Places) -> Where:
        """Return where pages stand that differ in several sitemaps."""
        return places.of([one.url for one in part if one.repeated])


class _NewPages(_Pages):
    """What is new or changed in the tree after."""

    def __init__(self, old: _Half, new: _Half, left: Places, joined: Places) -> None:
        super().__init__(new)
        self._old = old
        self._left = left
        self._joined = joined

    def _part(
        self, key: str, part: list[_Candidate], pages: Iterator[SitemapPage]
    ) -> Iterator[PageChange]:
        moving = [one for one in part if one.elsewhere]
        sources = self._left.of([one.url for one in moving])
        several = self._several(part, self._joined)
        former = self._former(key, moving, sources)
        for one, page in zip(part, pages, strict=False):
            places = several.get(one.url, ((key, one.number),))
            if one.repeated and self._comes_elsewhere(one, places):
                continue
            if not one.elsewhere:
                kind = ChangeKind.UNKNOWN if one.doubtful else ChangeKind.ADDED
                joined = self._half.names(places, certain=False)
                yield self._once(one, PageChange(kind, page.url, after=page, joined=joined))
                continue
            left = self._old.names(sources.get(one.url, ()), certain=True)
            joined = self._half.names(places, certain=True)
            was = former.get(one.url)
            fields = () if was is None else tuple(field_changes(was.fields(), page.fields()))
            if fields and (one.changed or joined):
                change = PageChange(ChangeKind.CHANGED, page.url, was, page, fields, left, joined)
                yield self._once(one, change)
            elif (left or joined) and not (
                one.repeated and self._are_compared(_later(places, key))
            ):
                change = PageChange(ChangeKind.MOVED, page.url, None, page, (), left, joined)
                yield self._once(one, change)

    def _comes_elsewhere(self, one: _Candidate, places: Iterable[tuple[str, int]]) -> bool:
        """Return whether a page was given, or comes where the same sitemap lists it in both trees."""
        return one.url in self._given or (not one.changed and self._are_compared(places))

    def _are_compared(self, places: Iterable[tuple[str, int]]) -> bool:
        """Return whether one of these sitemaps lists the page in both trees."""
        differing = self._half.differing
        return any(differing[key].changed[number] for key, number in places)

    def _former(self, key: str, moving: list[_Candidate], sources: Where) -> dict[int, SitemapPage]:
        """Return pages as they were: in the same sitemap, or in the one that they were moved from.

        Those that are written as they were need not be read.
        """
        wanted: dict[str, list[tuple[int, int]]] = {}
        former: dict[int, SitemapPage] = {}
        for one in moving:
            if one.steady and not one.changed:
                continue
            for source, number in sources.get(one.url, ()):
                there = self._old.differing[source]
                here = source == key if one.changed else not there.changed[number]
                if here:
                    if there.pages is not None:
                        former[one.url] = there.pages[number]
                    elif there.entries[number] != one.entry:
                        wanted.setdefault(source, []).append((there.positions[number], one.url))
                    break
        for source, listed in wanted.items():
            listed.sort()
            pages = pages_at(self._old.side.lists[source], [at for at, _ in listed])
            for (_, url), page in zip(listed, pages, strict=False):
                page.fields()  # so that the block that it stands in is not kept
                former[url] = page
        return former


class _OldPages(_Pages):
    """What the tree after does not have any more, or not in the same sitemap.

    ``settled`` are the candidates that stand in the tree after and differ there, too.
    """

    def __init__(self, old: _Half, left: Places, settled: Mapping[str, bytearray]) -> None:
        super().__init__(old)
        self._left = left
        self._settled = settled

    def _wanted(self, key: str) -> bytes:
        return bytes(self._settled[key]).translate(_OPPOSITE)

    def _part(
        self, key: str, part: list[_Candidate], pages: Iterator[SitemapPage]
    ) -> Iterator[PageChange]:
        several = self._several(part, self._left)
        for one, page in zip(part, pages, strict=False):
            if one.url in self._given:
                continue
            places = several.get(one.url, ((key, one.number),))
            left = self._half.names(places, certain=bool(one.elsewhere))
            if not one.elsewhere:
                kind = ChangeKind.UNKNOWN if one.doubtful else ChangeKind.REMOVED
                yield self._once(one, PageChange(kind, page.url, before=page, left=left))
            elif left:
                change = PageChange(ChangeKind.MOVED, page.url, before=page, left=left)
                yield self._once(one, change)


def _later(places: Sequence[tuple[str, int]], key: str) -> Iterable[tuple[str, int]]:
    """Return the places after that in a sitemap."""
    after = dropwhile(lambda place: place[0] != key, places)
    return islice(after, 1, None)
