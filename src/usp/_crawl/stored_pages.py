"""The pages of a stored document, each URL once; they are read anew each time."""

from __future__ import annotations

from functools import partial
from itertools import chain, compress, islice
from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

from usp._formats.abstract_parser import ChildEntry, PageBatch, PageEntry
from usp._formats.document import DocumentParser, Role
from usp.limits import DEFAULT
from usp.objects.page import PageList, PickedPages
from usp.objects.problem import how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from usp._base.reason import Reason
    from usp._formats.abstract_parser import Entry
    from usp._store import Document
    from usp.limits import Limits
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.problem import Problem, ProblemCode, Problems


def parser_for(
    document_url: str | None,
    content_type: str | None,
    content_encoding: str | None,
    *,
    role: Role = Role.SITEMAP,
    glance: bool = False,
    fast: bool = False,
    limits: Limits = DEFAULT,
) -> DocumentParser:
    """Return a parser for a document that was fetched so."""
    return DocumentParser(
        document_url,
        role=role,
        content_type=content_type,
        content_encoding=content_encoding,
        glance=glance,
        fast=fast,
        limits=limits,
    )


_BLOCK = 1000  # pages that came one by one


class UniquePages:
    """Turns entries into pages: the first declaration of a URL counts.

    Pages whose URL has more than ``longest`` characters are left out.
    """

    def __init__(self, longest: int | None = None) -> None:
        self._seen = SeenUrls()
        self._longest = longest

    def of(self, entry: Entry) -> Iterable[SitemapPage]:
        """Return the pages of an entry that no entry before it had."""
        if isinstance(entry, ChildEntry):
            return ()
        if isinstance(entry, PageEntry):
            page = entry.page()
            return (page,) if page is not None and self._new([page.url]) is None else ()
        new = self._new(entry.urls)
        return entry.pages() if new is None else compress(entry.pages(), new)

    def is_new(self, url: str) -> bool:
        """Remember a URL of a page; return whether no page before it had the same."""
        return self._new([url]) is None

    def block(self, entry: PageBatch) -> PageBlock:
        """Return the same pages of a batch as a block."""
        new = self._new(entry.urls)
        return entry if new is None else PickedPages(entry, new)

    def _new(self, urls: list[str]) -> list[bool] | None:
        """Remember URLs; return which of them are wanted, or None if all are."""
        longest = self._longest
        if longest is None or max(map(len, urls), default=0) <= longest:
            return self._seen.add_all(urls)
        return [len(url) <= longest and self._seen.add(url) for url in urls]


def page_steps(steps: Iterable[Iterable[Entry]], unique: UniquePages) -> Iterator[PageBlock | None]:
    """Yield the pages of each step in blocks, or None if it has none."""
    for entries in steps:
        count = 0
        for block in page_blocks(entries, unique):
            count += 1
            yield block
        if not count:
            yield None


def page_blocks(entries: Iterable[Entry], unique: UniquePages) -> Iterator[PageBlock]:
    """Yield the pages of entries in blocks; those that come one by one are put together."""
    single: list[SitemapPage] = []
    for entry in entries:
        if single and (isinstance(entry, PageBatch) or len(single) >= _BLOCK):
            yield PageList(single)
            single = []
        if isinstance(entry, PageBatch):
            block = unique.block(entry)
            if block.urls:
                yield block
        else:
            single.extend(unique.of(entry))
    if single:
        yield PageList(single)


class StoredPages:
    """The pages of a stored document: a page source for the nodes of the tree.

    ``base`` is what relative addresses are resolved against; ``most`` is how many pages are read,
    None for all.
    """

    __slots__ = ("_base", "_document", "_limits", "_most")

    def __init__(
        self,
        document: Document,
        base: str | None,
        limits: Limits = DEFAULT,
        most: int | None = None,
    ) -> None:
        self._document = document
        self._base = base
        self._limits = limits
        self._most = most

    def __iter__(self) -> Iterator[SitemapPage]:
        """Read the pages; the first declaration of a URL counts."""
        pages = chain.from_iterable(self._batches(UniquePages(self._limits.url_length)))
        return pages if self._most is None else islice(pages, self._most)

    def _batches(self, unique: UniquePages) -> Iterator[Iterable[SitemapPage]]:
        return map(unique.of, self._entries(self._parser(fast=True)))

    def blocks(self) -> Iterator[PageBlock]:
        """Read the same pages block by block."""
        return (block for block in self.steps() if block is not None)

    def steps(self, given: UniquePages | None = None) -> Iterator[PageBlock | None]:
        """Read the same, but for pages that were given already; None after a step without any.

        For who has something else to do meanwhile, or not for ever: a damaged document takes long,
        and has few pages.
        """
        left, count = self._most, 0
        unique = given or UniquePages(self._limits.url_length)
        for block in self._all_steps(unique):
            if block is not None:
                count += len(block.urls)
                if left is not None and count > left:
                    yield PageList(list(islice(block.pages(), left - count + len(block.urls))))
                    return
            yield block
        if given is None:
            self._document.known.pages = count

    def _all_steps(self, unique: UniquePages) -> Iterator[PageBlock | None]:
        parser = self._parser(fast=True)
        for chunk in self._document.chunks():
            yield from page_steps(parser.steps(chunk), unique)
        yield from page_blocks(parser.close(self._document.exchange.broken), unique)

    def count(self) -> int:
        """Return the number of pages; counting them reads the document, once."""
        known = self._document.known.pages
        if known is None:
            return sum(len(block.urls) for block in self.blocks())
        return known if self._most is None else min(known, self._most)

    def problems(self, given_up: Callable[[], Reason | None] = lambda: None) -> list[Problem]:
        """Return what is wrong with the document; finding that out reads it field by field, once.

        ``given_up`` is asked after each step: a reason ends the reading, and is a problem itself.
        """
        known = self._document.known.problems
        if known is not None:
            return list(known)
        reading = self.examined(given_up)
        while True:
            try:
                next(reading)
            except StopIteration as end:
                found: list[Problem] = end.value
                return found

    def problem_count(self) -> int:
        """Return the number of problems."""
        known = self._document.known.problem_count
        return how_many(self.problems()) if known is None else known

    def examined(
        self, given_up: Callable[[], Reason | None] = lambda: None
    ) -> Generator[PageBlock, None, list[Problem]]:
        """Read the pages field by field, block by block; return what is wrong with the document."""
        known, count = self._document.known, 0
        parser = self._parser(fast=False)
        unique = UniquePages(self._limits.url_length)
        reasons: list[Reason] = []

        def ends() -> Reason | None:
            if reason := given_up():
                reasons.append(reason)
            return reason

        for block in self._examined_blocks(ends, parser, unique):
            before, count = count, count + len(block.urls)
            if self._most is None or count <= self._most:
                yield block
            elif before < self._most:
                yield PageList(list(islice(block.pages(), self._most - before)))
        found = parser.problems.listed()
        if not reasons:
            known.pages, known.problem_count = count, how_many(found)
            self._document.store.remember(known, found)
        return found

    def _examined_blocks(
        self,
        given_up: Callable[[], Reason | None],
        parser: DocumentParser,
        unique: UniquePages,
    ) -> Iterator[PageBlock]:
        pages: list[SitemapPage] = []
        for entry in self._entries_until(given_up, parser):
            if pages and (isinstance(entry, PageBatch) or len(pages) >= _BLOCK):
                yield PageList(pages)
                pages = []
            if isinstance(entry, PageBatch):  # in which everything could be read
                yield unique.block(entry)
            elif isinstance(entry, PageEntry):
                page = entry.page(partial(_note, parser.problems, entry.line))
                if page is None:
                    continue
                if self._limits.too_long(page.url):
                    note_length(parser.problems, self._limits, page.url, entry.line)
                elif unique.is_new(page.url):
                    pages.append(page)
        if pages:
            yield PageList(pages)

    def _parser(self, *, fast: bool) -> DocumentParser:
        exchange = self._document.exchange
        return parser_for(
            self._base,
            exchange.content_type,
            exchange.content_encoding,
            fast=fast,
            limits=self._limits,
        )

    def _entries_until(
        self, given_up: Callable[[], Reason | None], parser: DocumentParser
    ) -> Iterator[Entry]:
        reason = None
        for chunk in self._document.chunks():
            for entries in parser.steps(chunk):
                yield from entries
                reason = given_up()
                if reason:
                    parser.problems.end(reason.after("the rest was not read"))
                    return
        yield from parser.close(self._document.exchange.broken)

    def _entries(self, parser: DocumentParser) -> Iterator[Entry]:
        for chunk in self._document.chunks():
            yield from parser.feed(chunk)
        yield from parser.close(self._document.exchange.broken)


def note_length(problems: Problems, limits: Limits, url: str, line: int | None = None) -> None:
    """Note a URL that is too long, and so is neither a page nor a child sitemap."""
    problems.note(limits.reached("url_length").after("a URL is too long"), line, url)


def _note(problems: Problems, line: int | None, code: ProblemCode, excerpt: str) -> None:
    problems.add(code, line, excerpt or None)


# Which URLs were seen already: few of them as they are, many as fingerprints -------------------------

MOST_PLAIN = 65_536
"""URLs that are kept as they are. The protocol allows 50,000 in one document."""

MOST_CHARACTERS = 16 * 1024 * 1024
"""Characters of URLs that are kept as they are."""

_HASH = (1 << 64) - 1
_PARTS = 8192  # a power of two, as the next ones
_FIRST_FILTER = 1 << 19  # bytes
_SPARSE = 16  # bits of the filter for each URL, at least


class SeenUrls:
    """Remembers URLs: :meth:`add` one, or :meth:`add_all` of a block.

    Up to :data:`MOST_PLAIN` it is a set, unless they are very long. Beyond that a URL is a fingerprint
    of 96 bits: Python's own hash, which has a secret key, and a checksum. They take less than 20 bytes
    each: ten million URLs take 180 MB instead of over a gigabyte. Among as many, the chance that any
    two different ones have the same fingerprint is below 1 in 10 ** 14.
    """

    def __init__(self) -> None:
        self._plain: set[str] | None = set()
        self._characters = 0  # at most: those that were known are counted too
        self._prints: _Fingerprints | None = None

    def add(self, url: str) -> bool:
        """Remember a URL; return False if it is known."""
        new = self.add_all([url])
        return new is None or new[0]

    def add_all(self, urls: list[str]) -> list[bool] | None:
        """Remember URLs; return which of them were new, or None if all were."""
        if self._prints is not None:
            return self._prints.add(urls)
        seen = self._plain
        assert seen is not None
        new = None if self._adds_only_new(urls, seen) else [_adds(url, seen) for url in urls]
        self._characters += sum(map(len, urls))
        if len(seen) > MOST_PLAIN or self._characters > MOST_CHARACTERS:
            self._prints = _Fingerprints(seen)
            self._plain = None
        return new

    @staticmethod
    def _adds_only_new(urls: list[str], seen: set[str]) -> bool:
        """Add URLs in a few calls; return False, and do nothing, if one is known or comes twice."""
        if not seen.isdisjoint(urls):
            return False
        before = len(seen)
        seen.update(urls)
        if len(seen) == before + len(urls):
            return True
        seen.difference_update(urls)
        return False


def _adds(url: str, seen: set[str]) -> bool:
    before = len(seen)
    seen.add(url)
    return len(seen) > before


class _Fingerprints:
    """Fingerprints in parts, one after another, and a filter that knows most of the new ones.

    The filter has a bit for many hashes each: one that is not set was never seen. Only the others,
    one in sixteen at most, are searched for, in the part where they would be.
    """

    _RECORD = Struct("<QI")

    def __init__(self, urls: Iterable[str]) -> None:
        self._parts = [bytearray() for _ in range(_PARTS)]
        self._filter = bytearray(_FIRST_FILTER)
        self._count = 0
        self.add(list(urls))

    def add(self, urls: list[str]) -> list[bool] | None:
        """Remember URLs; return which of them were new, or None if all were."""
        hashes = [number & _HASH for number in map(hash, urls)]  # which may be negative
        records = map(self._RECORD.pack, hashes, _checksums(urls))
        parts, bits, mask = self._parts, self._filter, len(self._filter) - 1
        known: list[int] = []
        for at, (number, record) in enumerate(zip(hashes, records, strict=True)):
            part = parts[number >> 51]
            place, bit = number >> 3 & mask, 1 << (number & 7)
            if not bits[place] & bit:
                bits[place] |= bit
            elif self._is_in(part, record):
                known.append(at)
                continue
            part += record
        self._count += len(urls) - len(known)
        while self._count * _SPARSE > len(self._filter) * 8:
            self._grow()
        if not known:
            return None
        new = [True] * len(urls)
        for at in known:
            new[at] = False
        return new

    def _is_in(self, part: bytearray, record: bytes) -> bool:
        at = part.find(record)
        while at > 0 and at % self._RECORD.size:  # across two of them
            at = part.find(record, at + 1)
        return at >= 0

    def _grow(self) -> None:
        """Make the filter four times as large."""
        bits = self._filter = bytearray(4 * len(self._filter))
        mask = len(bits) - 1
        for part in self._parts:
            for number, _ in self._RECORD.iter_unpack(part):
                bits[number >> 3 & mask] |= 1 << (number & 7)


def _checksums(urls: list[str]) -> list[int]:
    try:
        return list(map(crc32, map(str.encode, urls)))
    except UnicodeEncodeError:  # half of a pair of characters
        return [crc32(url.encode("utf-8", "surrogatepass")) for url in urls]
