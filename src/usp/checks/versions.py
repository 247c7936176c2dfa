"""Which pages are versions of each other in other languages, and which of them do not link back.

The pages of one group usually all name the same versions, so they are gathered by these: a group whose
members have all been read is complete, and forgotten. What is left at the end is looked at link by
link. Groups that wait for their members are kept in memory while they are few.
"""

from __future__ import annotations

from itertools import islice
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from usp.checks.listing import FirstTags, normal_all
from usp.checks.partitions import Partitions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp.checks.blocks import Block
    from usp.checks.listing import Listing

MOST_CHARACTERS = 48 * 1024 * 1024
"""Characters of the URLs of groups that wait in memory; they take about twice as many bytes."""

MOST_SORTED = 20_000
"""Missing links that are sorted, which takes memory."""

Place: TypeAlias = tuple[str, int, int]
"""The URL of a page, the number of its sitemap, and its line or 0."""

Record: TypeAlias = tuple[str, bytes, list[Place]]
"""A group that is put aside."""

_PAGE = Struct("<QII")
_HASH = (1 << 64) - 1
_LAST_LINE = (1 << 32) - 1


class Version(NamedTuple):
    """A page with links to other languages: codes in lower case, URLs in their normal form."""

    at: int
    url: str
    codes: tuple[str, ...]
    links: tuple[str, ...]


def versions_of(
    alternates: Iterable[tuple[int, list[tuple[str, str]]]], urls: Sequence[str]
) -> Iterator[Version]:
    """Yield pages with their links; ``urls`` are those of the block, in their normal form."""
    pages = list(alternates)
    hrefs = [href for _, links in pages for _, href in links]
    if not hrefs:
        return
    normal_hrefs = normal_all(hrefs)
    written = {code for _, links in pages for code, _ in links}
    lowered = {code: code.strip().lower() for code in written}
    end = 0
    for at, links in pages:
        start, end = end, end + len(links)
        codes = tuple([lowered[code] for code, _ in links])
        yield Version(at, urls[at], codes, tuple(normal_hrefs[start:end]))


class MissingReturn(NamedTuple):
    """A link that is not returned."""

    page: str
    version: str
    sitemap: int
    line: int | None


class _Group:
    """Pages that name the same versions: these in one text, what is known of each page in 16 bytes."""

    __slots__ = ("joined", "missing", "others", "pages")

    def __init__(self, members: frozenset[str]) -> None:
        self.joined = "\n".join(sorted(members))
        self.missing = len(members)
        self.pages = b""  # of its members: hash, number of the sitemap, line
        self.others: list[Place] = []  # that name these versions, but not themselves

    def add(self, url: str, sitemap: int, line: int) -> None:
        self.missing -= 1
        self.pages += _PAGE.pack(hash(url) & _HASH, sitemap, min(line, _LAST_LINE))

    def has(self, url: str) -> bool:
        number = hash(url) & _HASH
        return any(number == page[0] for page in _PAGE.iter_unpack(self.pages))


class Versions:
    """The links between languages of all sitemaps."""

    def __init__(self) -> None:
        self._groups: dict[int, _Group] = {}
        self._size = 0
        self._pages = FirstTags()
        self._repeated = FirstTags()  # pages that name versions twice: these may differ
        self._waiting: Partitions[Record] = Partitions(MOST_CHARACTERS // 4)

    def add(self, block: Block) -> None:
        """Add the links of the pages of a block."""
        versions = block.versions
        if not versions:
            return
        lines = block.lines
        urls = [version.url for version in versions]
        again = {urls[at] for at, _ in self._pages.add(urls, 0)}
        if again:
            self._repeated.add(list(again), 0)
        sitemap, groups = block.sitemap.number, self._groups
        for at, url, _, links in versions:
            members = frozenset(links)
            key = hash(members)
            group = groups.get(key)
            if group is None:
                group = groups[key] = _Group(members)
                self._size += len(group.joined)
            line = lines[at] or 0 if lines else 0
            if url not in members:
                group.others.append((url, sitemap, line))
                self._size += len(url)
            elif url not in again or not group.has(url):
                group.add(url, sitemap, line)
            if not group.missing and not group.others:
                del groups[key]
                self._size -= len(group.joined)
        if self._size > MOST_CHARACTERS:
            self._wait()

    def _wait(self) -> None:
        """Put all groups aside."""
        for group in self._groups.values():
            size = len(group.joined) + len(group.pages) + 100 * len(group.others)
            record = (group.joined, group.pages, group.others)
            self._waiting.add(hash(group.joined), record, size)
        self._groups.clear()
        self._size = 0

    def missing_returns(self, listing: Listing) -> Iterator[MissingReturn]:
        """Yield the links that are not returned by a page that is listed too; forgets everything.

        They are in the order of their pages, unless there are too many of them to be sorted.
        """
        found = self._missing_returns(listing)
        first = list(islice(found, MOST_SORTED))
        yield from sorted(
            first, key=lambda one: (one.sitemap, one.line or 0, one.page, one.version)
        )
        yield from found

    def _missing_returns(self, listing: Listing) -> Iterator[MissingReturn]:
        self._wait()
        links: Partitions[tuple[str, str, int, int]] = Partitions(MOST_CHARACTERS // 4)
        for records in self._waiting:
            for members, pages in _merged(records):
                for url, sitemap, line in pages.values():
                    for link in members:
                        returned = link in pages and url in members
                        if link != url and not returned and link in listing:
                            record = (url, link, sitemap, line)
                            links.add(hash(url) ^ hash(link), record, len(url) + len(link))
        if self._waiting.is_incomplete:
            return
        for found in links:
            known = {record[:2] for record in found}
            for url, link, sitemap, line in dict.fromkeys(found):
                if (link, url) not in known and not self._repeated.has(url):
                    yield MissingReturn(url, link, sitemap, line or None)


def _merged(records: list[Record]) -> Iterator[tuple[frozenset[str], dict[str, Place]]]:
    """Yield the incomplete groups of a partition: their members, and the pages that name these."""
    groups: dict[str, tuple[bytes, list[Place]]] = {}
    for joined, pages, others in records:
        before = groups.get(joined)
        groups[joined] = (
            (pages, others) if before is None else (before[0] + pages, before[1] + others)
        )
    for joined, (pages, others) in groups.items():
        members = joined.split("\n")
        found = {number: (sitemap, line) for number, sitemap, line in _PAGE.iter_unpack(pages)}
        if others or len(found) < len(members):
            places = {place[0]: place for place in others}
            for url in members:
                if (place := found.get(hash(url) & _HASH)) is not None:
                    places[url] = (url, *place)
            yield frozenset(members), places
