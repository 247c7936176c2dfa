"""Which URLs were seen already: few of them are kept as they are, many as fingerprints."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from struct import Struct
from zlib import crc32

MOST_PLAIN = 65_536  # URLs that are kept as they are; the protocol allows 50,000 in one document
MOST_CHARACTERS = 16 * 1024 * 1024  # characters of URLs that are kept as they are
_HASH = (1 << 64) - 1
_PARTS = 8192  # a power of two, as the next ones
_FIRST_FILTER = 1 << 19  # bytes
_SPARSE = 16  # bits of the filter for each URL, at least
_PRINT = Struct("<QI")


class SeenUrls:
    """Remembers URLs: :meth:`add` one, or :meth:`add_all` of a block.

    Up to :data:`MOST_PLAIN` it is a set, unless they are very long. Beyond that a URL is a fingerprint
    of 96 bits: Python's own hash, which has a secret key, and a checksum. They take less than 20 bytes
    each: ten million URLs take 180 MB instead of over a gigabyte. Among as many, the chance that any
    two different ones have the same fingerprint is below 1 in 10 ** 14.
    """

    def __init__(self) -> None:
        self._known: set[str] | UrlFingerprints = set()
        self._characters = 0  # at most: those that were known are counted too

    def add(self, url: str) -> bool:
        """Remember a URL; return False if it is known."""
        new = self.add_all([url])
        return new is None or new[0]

    def add_all(self, urls: list[str]) -> list[bool] | None:
        """Remember URLs; return which of them were new, or None if all were."""
        seen = self._known
        if isinstance(seen, UrlFingerprints):
            known = {at for at, _ in seen.add(urls)}
            return [at not in known for at in range(len(urls))] if known else None
        new, before = None, len(seen)
        if seen.isdisjoint(urls):
            seen.update(urls)  # in one call, as most are new
        if len(seen) < before + len(urls):  # one is known, or comes twice
            if len(seen) > before:
                seen.difference_update(urls)
            new = [_adds(url, seen) for url in urls]
        self._characters += sum(map(len, urls))
        if len(seen) > MOST_PLAIN or self._characters > MOST_CHARACTERS:
            self._known = UrlFingerprints()
            self._known.add(list(seen))
        return new

    def __contains__(self, url: str) -> bool:
        """Return whether a URL is known."""
        return url in self._known


def _adds(url: str, seen: set[str]) -> bool:
    before = len(seen)
    seen.add(url)
    return len(seen) > before


class UrlFingerprints:
    """Fingerprints in parts, one after another, and a filter that knows most of the new ones.

    The filter has a bit for many hashes each: one that is not set was never seen. Only the others,
    one in sixteen at most, are searched for, in the part where they would be. If they are ``tagged``,
    the number that a URL was first added with is kept beside its fingerprint.
    """

    def __init__(self, *, tagged: bool = False) -> None:
        self._record = Struct("<QII" if tagged else "<QI")
        self._parts = [bytearray() for _ in range(_PARTS)]
        self._filter = bytearray(_FIRST_FILTER)
        self._count = 0

    def add(self, urls: Sequence[str], *tags: Iterable[int]) -> list[tuple[int, int]]:
        """Add URLs, and their ``tags`` if they have any; return which were known, with their tags."""
        hashes = [number & _HASH for number in map(hash, urls)]  # which may be negative
        records = map(self._record.pack, hashes, checksums(urls), *tags)
        parts, bits, mask = self._parts, self._filter, len(self._filter) - 1
        known: list[tuple[int, int]] = []
        for at, (number, record) in enumerate(zip(hashes, records, strict=True)):
            part = parts[number >> 51]
            place, bit = number >> 3 & mask, 1 << (number & 7)
            if not bits[place] & bit:
                bits[place] |= bit
            elif (tag := self._tag(part, record[: _PRINT.size])) is not None:
                known.append((at, tag))
                continue
            part += record
        self._count += len(urls) - len(known)
        while self._count * _SPARSE > len(self._filter) * 8:
            self._grow()
        return known

    def __contains__(self, url: str) -> bool:
        """Return whether a URL was added."""
        number = hash(url) & _HASH
        if not self._filter[number >> 3 & len(self._filter) - 1] & 1 << (number & 7):
            return False
        wanted = _PRINT.pack(number, checksums([url])[0])
        return self._tag(self._parts[number >> 51], wanted) is not None

    def _tag(self, part: bytearray, wanted: bytes) -> int | None:
        """Return the tag of a fingerprint if it is in its part, or 0 if there are none."""
        at = part.find(wanted)
        while at > 0 and at % self._record.size:  # across two of them
            at = part.find(wanted, at + 1)
        if at < 0:
            return None
        return int.from_bytes(part[at + _PRINT.size : at + self._record.size], "little")

    def _grow(self) -> None:
        bits = self._filter = bytearray(4 * len(self._filter))
        mask = len(bits) - 1
        for part in self._parts:
            for number, *_ in self._record.iter_unpack(part):
                bits[number >> 3 & mask] |= 1 << (number & 7)


def checksums(urls: Sequence[str]) -> list[int]:
    """Return the second part of the fingerprints of URLs."""
    try:
        return list(map(crc32, map(str.encode, urls)))
    except UnicodeEncodeError:  # half of a pair of characters
        return [crc32(url.encode("utf-8", "surrogatepass")) for url in urls]
