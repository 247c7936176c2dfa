"""Which pages were listed already, and in which sitemap first: millions of them in bounded memory."""

from __future__ import annotations

import re
from itertools import repeat
from struct import Struct
from typing import TYPE_CHECKING

from usp._crawl.seen_urls import MOST_CHARACTERS, MOST_PLAIN, SeenUrls, checksums
from usp.checks.origins import origin_at, origins_in

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from usp.checks.blocks import Block
    from usp.objects.page import PageFields

_HASH = (1 << 64) - 1
_PARTS = 8192
_FIRST_FILTER = 1 << 23  # bytes: enough for four million pages
_SPARSE = 16  # bits of the filter for each page, at least
_PURPOSES = 6  # bits of a tag; the others are the number of the sitemap


class Listing:
    """The pages of all sitemaps: each URL with the sitemap that lists it first, and why it does.

    Sitemaps for news, images, videos or languages may list what others list already, so the kinds of
    a page's extensions, its *purpose*, are kept too. Feeds are left out: they repeat what is new.
    """

    def __init__(self) -> None:
        self._pages = FirstTags()
        self._current = -1  # the number of a sitemap, of which those are known that others list too
        self._repeated = SeenUrls()

    def add(self, block: Block) -> None:
        """Add the pages of a block, and set its ``repeated``."""
        sitemap = block.sitemap
        if sitemap.is_feed:
            return
        if self._current != sitemap.number:
            self._current, self._repeated = sitemap.number, SeenUrls()
        rows = block.extended
        purposes = list(map(purpose_of, rows)) if rows else None
        number = sitemap.number << _PURPOSES
        tags = None if purposes is None else [number | purpose for purpose in purposes]
        urls = block.normal_urls
        found = []
        for at, tag in self._pages.add(urls, number, tags):
            purpose = purposes[at] if purposes else 0
            first = tag >> _PURPOSES
            if first == sitemap.number:
                found.append((at, first))
            elif not self._repeated.add(urls[at]):  # twice in this one, and in another
                found.append((at, sitemap.number))
            elif tag & (1 << _PURPOSES) - 1 == purpose:
                found.append((at, first))
        block.repeated = found

    def __contains__(self, url: object) -> bool:
        """Return whether a page is listed; its URL is given in its normal form."""
        return isinstance(url, str) and self._pages.has(url)


def purpose_of(row: PageFields) -> int:
    """Return which kinds of extensions a page has, as bits."""
    bits = 0
    for at, value in enumerate(row[3:]):
        if value:
            bits |= 1 << at
    return bits


class FirstTags:
    """Remembers URLs, each with the number that it was first added with.

    As ``SeenUrls``: few of them are kept as they are, many as fingerprints of 96 bits.
    """

    _RECORD = Struct("<QII")
    _PRINT = Struct("<QI")

    def __init__(self) -> None:
        self._plain: dict[str, int] | None = {}
        self._characters = 0
        self._parts: list[bytearray] = []
        self._filter = bytearray()
        self._count = 0

    def add(
        self, urls: Sequence[str], tag: int, tags: Sequence[int] | None = None
    ) -> Iterable[tuple[int, int]]:
        """Add URLs, with a number for all or one for each; return those known, with their first one."""
        plain = self._plain
        if plain is None:
            return self._add_prints(urls, repeat(tag) if tags is None else tags)
        before = len(plain)
        known: list[tuple[int, int]] = []
        if tags is None and plain.keys().isdisjoint(urls):
            plain.update(dict.fromkeys(urls, tag))
        if len(plain) != before + len(urls):
            # Some are known, or there twice; without tags those of this block are in it by now.
            known = list(self._known(plain, before, urls, tags or [tag] * len(urls)))
        self._characters += sum(map(len, urls))
        if len(plain) > MOST_PLAIN or self._characters > MOST_CHARACTERS:
            self._parts = [bytearray() for _ in range(_PARTS)]
            self._filter = bytearray(_FIRST_FILTER)
            self._plain = None
            self._add_prints(list(plain), list(plain.values()))
        return known

    @staticmethod
    def _known(
        plain: dict[str, int], before: int, urls: Sequence[str], tags: Sequence[int]
    ) -> Iterator[tuple[int, int]]:
        if len(plain) > before:  # all of them were new, and are added: some come twice
            for url in urls:
                plain.pop(url, None)
        for at, (url, tag) in enumerate(zip(urls, tags, strict=True)):
            first = plain.setdefault(url, tag)
            if len(plain) == before:
                yield at, first
            before = len(plain)

    def _add_prints(self, urls: Sequence[str], tags: Iterable[int]) -> list[tuple[int, int]]:
        hashes = [number & _HASH for number in map(hash, urls)]
        records = map(self._RECORD.pack, hashes, checksums(urls), tags)
        parts, bits, mask = self._parts, self._filter, len(self._filter) - 1
        known: list[tuple[int, int]] = []
        for at, (number, record) in enumerate(zip(hashes, records, strict=False)):
            part = parts[number >> 51]
            place, bit = number >> 3 & mask, 1 << (number & 7)
            if not bits[place] & bit:
                bits[place] |= bit
            elif (tag := self._tag(part, record[:12])) is not None:
                known.append((at, tag))
                continue
            part += record
        self._count += len(urls) - len(known)
        while self._count * _SPARSE > len(self._filter) * 8:
            self._grow()
        return known

    def _tag(self, part: bytearray, wanted: bytes) -> int | None:
        """Return the number of a fingerprint, if it is in its part."""
        at = part.find(wanted)
        while at > 0 and at % self._RECORD.size:  # across two of them
            at = part.find(wanted, at + 1)
        return None if at < 0 else int.from_bytes(part[at + 12 : at + 16], "little")

    def _grow(self) -> None:
        """Make the filter four times as large."""
        bits = self._filter = bytearray(4 * len(self._filter))
        mask = len(bits) - 1
        for part in self._parts:
            for number, _, _ in self._RECORD.iter_unpack(part):
                bits[number >> 3 & mask] |= 1 << (number & 7)

    def has(self, url: str) -> bool:
        """Return whether a URL was added."""
        if self._plain is not None:
            return url in self._plain
        number = hash(url) & _HASH
        if not self._filter[number >> 3 & len(self._filter) - 1] & 1 << (number & 7):
            return False
        wanted = self._PRINT.pack(number, checksums([url])[0])
        return self._tag(self._parts[number >> 51], wanted) is not None


# The same URL written differently ----------------------------------------------------------------

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_ODD_ESCAPE = re.compile(
    r"%(?:[a-f]|[0-9A-F][a-f]|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])"
)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_WRITTEN: Mapping[str, str] = {
    f"{number:02X}": chr(number) if chr(number) in _UNRESERVED else f"%{number:02X}"
    for number in range(256)
}
_FEW = 8  # origins of a block that are counted
_START = re.compile(r"[^/]*+//[^/?#]*+")


def normal(urls: Sequence[str], joined: str, origins: Sequence[str]) -> Sequence[str]:
    """Return URLs as RFC 3986 (6.2.2 and 6.2.3) writes them, so that the same ones are equal.

    The case of scheme and host, default ports, a missing slash after the host, and escapes that mean
    the same are evened out. Nothing else is: other servers may tell the rest apart.
    """
    plain = len(origins) <= _FEW and all(_is_normal(origin) for origin in origins)
    plain = plain and sum(joined.count(f"\n{origin}/") for origin in origins) == len(urls)
    if plain and not ("%" in joined and _ODD_ESCAPE.search(joined)):
        return urls
    return list(map(normal_url, urls))


def normal_all(urls: Sequence[str]) -> Sequence[str]:
    """Return URLs in this way whose origins are not known yet."""
    joined = "\n{}\n".format("\n".join(urls))
    return normal(urls, joined, origins_in(joined))


def _is_normal(origin: str) -> bool:
    read = origin_at(origin)
    return read is None or read.origin == origin


def normal_url(url: str) -> str:
    """Return one URL in the same way."""
    start = _START.match(url)
    if start is None:
        return url
    read = origin_at(start[0])
    origin = start[0] if read is None or read.login else read.origin
    rest = url[start.end() :]
    if not rest.startswith("/"):
        rest = f"/{rest}"
    return origin + (_ESCAPE.sub(_even, rest) if "%" in rest else rest)


def _even(escape: re.Match[str]) -> str:
    return _WRITTEN[escape[1].upper()]
