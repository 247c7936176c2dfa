"""Reads stored documents.

:class:`StoredPages` are the pages, each URL once and with as little of the rest as possible, parsed on
each iteration. An :class:`Examination` is a close reading: all entries, also those that are there
twice, where they are, and what is wrong with them.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import chain, compress, islice, pairwise, repeat
from typing import TYPE_CHECKING, Any, TypeVar

from usp._base.seen_urls import SeenUrls
from usp._formats.abstract_parser import (
    BlockText,
    ChildEntry,
    Entry,
    PageBatch,
    PageEntry,
    RemovedEntry,
    core_columns,
    ignore,
)
from usp._formats.batches import CORE_FIELDS
from usp._formats.decode import Decoder
from usp._formats.document import DocumentParser, Role
from usp._formats.unpack import MAGIC
from usp._formats.values import text as text_of
from usp._formats.xml.namespaces import Space
from usp._formats.xml.raw_entries import RawEntry, given_in, place_among
from usp.limits import DEFAULT, Limits
from usp.objects.page import NodePages, PageList, PickedPages
from usp.objects.problem import Problem, ProblemCode, Problems, how_many

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._formats.abstract_parser import Place
    from usp._store import Document
    from usp.objects.page import PageBlock, SitemapPage

T = TypeVar("T")

_BLOCK = 1000  # pages that came one by one


@dataclass(slots=True)
class UniquePages:
    """Turns entries into pages: the first declaration of a URL counts.

    Pages whose URL has more than ``longest`` characters are left out.
    """

    longest: int | None = None
    _seen: SeenUrls = field(default_factory=SeenUrls)

    def of(self, entry: Entry) -> Iterable[SitemapPage]:
        """Return the pages of an entry whose URLs are new."""
        if isinstance(entry, ChildEntry | RemovedEntry):
            return ()
        if isinstance(entry, PageEntry):
            return (entry.page(),) if self._new([entry.url]) is None else ()
        new = self._new(entry.urls)
        return entry.pages() if new is None else compress(entry.pages(), new)

    def block(self, block: PageBlock) -> PageBlock:
        """Return the pages of a block whose URLs are new."""
        new = self._new(list(block.urls))
        return block if new is None else PickedPages(block, new)

    def _new(self, urls: list[str]) -> list[bool] | None:
        """Remember URLs; return which of them are wanted, or None if all are."""
        longest = self.longest
        if longest is None or max(map(len, urls), default=0) <= longest:
            return self._seen.add_all(urls)
        return [len(url) <= longest and self._seen.add(url) for url in urls]


def result_of(steps: Generator[Any, None, T] | Coroutine[Any, None, T]) -> T:
    """Take all steps of some work; return its result."""
    while True:
        try:
            steps.send(None)
        except StopIteration as end:
            result: T = end.value
            return result


def page_steps(steps: Iterable[Iterable[Entry]], unique: UniquePages) -> Iterator[PageBlock | None]:
    """Yield the pages of each step in blocks, or None if it has none."""
    for entries in steps:
        is_empty = True
        for group in _grouped(entries):
            if isinstance(group, PageBatch):
                block = unique.block(group)
            else:
                block = unique.block(PageList([entry.page() for entry in group]))
            if block.urls:
                is_empty = False
                yield block
        if is_empty:
            yield None


def _grouped(entries: Iterable[Entry]) -> Iterator[PageBatch | list[PageEntry]]:
    """Yield batches of pages as they are, and the single pages between them together."""
    single: list[PageEntry] = []
    for entry in entries:
        if single and (isinstance(entry, PageBatch) or len(single) >= _BLOCK):
            yield single
            single = []
        if isinstance(entry, PageBatch):
            yield entry
        elif isinstance(entry, PageEntry):
            single.append(entry)
    if single:
        yield single


def first_pages(block: PageBlock, most: int | None) -> PageBlock:
    """Return a block, cut to at most this many pages."""
    if most is None or len(block.urls) <= most:
        return block
    return PageList(list(islice(block.pages(), most)))


class StoredPages(NodePages):
    """The pages of a stored document: a page source for the nodes of the tree.

    Relative URLs are resolved against ``base``; ``most`` is the maximum number of pages, or None.
    """

    __slots__ = ("_base", "_limits", "_most", "document")

    def __init__(
        self,
        document: Document,
        base: str | None,
        limits: Limits = DEFAULT,
        most: int | None = None,
    ) -> None:
        self.document = document
        self._base = base
        self._limits = limits
        self._most = most

    def same_document(self, other: object) -> bool:
        """Return whether another source reads the same bytes in the same way."""
        if not isinstance(other, StoredPages):
            return False
        return self.way() == other.way() and self.document.has_bytes_of(other.document)

    def way(self) -> tuple[object, ...]:
        """Return everything that decides how the document is read."""
        exchange = self.document.exchange
        labels = exchange.content_type, exchange.content_encoding, exchange.broken
        return (self._base, self._limits, self._most, *labels)

    @property
    def damage(self) -> Reason | None:
        """Why the document could not be read to its end when that was last tried, if it could not."""
        return self.document.known.damage

    def examination(self, *, is_robots: bool = False, lists_sitemaps: bool = False) -> Examination:
        """Return a close reading of the document."""
        parser = DocumentParser(
            self._base,
            self.document.exchange,
            role=Role.ROBOTS if is_robots else Role.HTML_SITEMAP,
            limits=self._limits,
            scanner_only=lists_sitemaps,  # nothing else knows the lines of sitemaps
        )
        return Examination(self.document, parser, self._limits, lists_sitemaps=lists_sitemaps)

    @property
    def is_packed(self) -> bool:
        """Whether the document is compressed, or was sent so."""
        head = next(iter(self.document.chunks()), b"")
        return self.document.exchange.content_encoding is not None or head.startswith(MAGIC)

    def text(self, most: int) -> str:
        """Return the text of the document, up to some number of bytes, without its compression."""
        return "".join(self.texts(replace(self._limits, unpacked_bytes=most)))

    def texts(self, limits: Limits | None = None) -> Iterator[str]:
        """Yield the text of the document in pieces."""
        exchange = self.document.exchange
        decoder = Decoder(
            content_type=exchange.content_type,
            content_encoding=exchange.content_encoding,
            limits=limits or self._limits,
        )
        for chunk in self.document.chunks():
            yield from decoder.texts(chunk)
        yield decoder.close()

    def __iter__(self) -> Iterator[SitemapPage]:
        """Yield the pages; the first declaration of a URL counts."""
        pages_of = UniquePages(self._limits.url_length).of
        entries = chain.from_iterable(self._entries())
        return islice(chain.from_iterable(map(pages_of, entries)), self._most)

    def _entries(self) -> Iterator[Iterable[Entry]]:
        # If it is a page, it was requested as a sitemap: otherwise, there would be nothing to read.
        exchange, role = self.document.exchange, Role.HTML_SITEMAP
        parser = DocumentParser(self._base, exchange, role=role, fast=True, limits=self._limits)
        for chunk in self.document.chunks():
            yield from parser.steps(chunk)
        yield parser.close(self.document.broken)

    def blocks(self) -> Iterator[PageBlock]:
        """Yield the same pages block by block."""
        return (block for block in self.steps() if block is not None)

    def steps(self, given: UniquePages | None = None) -> Iterator[PageBlock | None]:
        """Yield the same blocks without the pages in ``given``, and None after a step without pages.

        For callers with other work to do, or a time limit: a damaged document may take long and have
        few pages.
        """
        most, count = self._most, 0
        unique = given or UniquePages(self._limits.url_length)
        for block in page_steps(self._entries(), unique):
            if block is not None:
                before, count = count, count + len(block.urls)
                if most is not None and count > most:
                    yield first_pages(block, most - before)
                    return
            yield block
        if given is None:
            self.document.known.pages = count

    def removed(self) -> Iterator[SitemapPage]:
        """Yield what the document says is removed, each URL once."""
        unique = UniquePages(self._limits.url_length)
        for entry in chain.from_iterable(self._entries()):
            if isinstance(entry, RemovedEntry):
                yield from unique.of(entry.entry)

    def count(self) -> int:
        """Return the number of pages; counting them reads the document, once."""
        known = self.document.known.pages
        if known is None:
            return sum(len(block.urls) for block in self.blocks())
        return known if self._most is None else min(known, self._most)

    def problems(self, given_up: Callable[[], Reason | None] = lambda: None) -> list[Problem]:
        """Return what is wrong with the document; finding that out reads it field by field, once.

        ``given_up`` is asked after each step: a reason ends the reading, and is a problem itself.
        """
        known = self.document.known.problems
        if known is not None:
            return list(known)
        return result_of(self.examined(given_up))

    def problem_count(self) -> int:
        """Return the number of problems."""
        known = self.document.known.problem_count
        return how_many(self.problems()) if known is None else known

    def examined(
        self, given_up: Callable[[], Reason | None] = lambda: None
    ) -> Generator[PageBlock, None, list[Problem]]:
        """Read the pages field by field, block by block; return what is wrong with the document."""
        count = 0
        examination = self.examination()
        for examined in examination.blocks(given_up):
            block = examined.unique
            left = None if self._most is None else self._most - count
            count += len(block.urls)
            if block.urls and (left is None or left > 0):
                yield first_pages(block, left)
        return examination.problems


# A close reading -----------------------------------------------------------------------------------

_EMPTY_FIELD = re.compile(r"<(lastmod|changefreq|priority)(?:\s*+/>|\s*+>\s*+</)")


@dataclass(eq=False)
class ExaminedBlock:
    """Some entries of a document, in their order.

    ``written`` are their URLs as written, if any of them differs; ``entries`` is how all else is
    written, if they were read one by one. ``unique`` are those whose URLs are new.
    """

    pages: PageBlock
    written: Sequence[str | None] | None = None
    _block: BlockText | None = None
    _lines: Sequence[int | None] = ()
    entries: Sequence[PageEntry] = ()
    unique: PageBlock = field(init=False)
    _records: dict[str, list[tuple[int, list[tuple[str, str]]]]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Take all pages for new."""
        self.unique = self.pages

    @property
    def urls(self) -> Sequence[str]:
        """The URLs of the entries."""
        return self.pages.urls

    def core_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return ``lastmod``, ``changefreq`` and ``priority`` as written; None if that is not known."""
        if self.entries:
            return core_columns(self.entries)
        return self.pages.core_texts() if isinstance(self.pages, PageBatch) else None

    def records(self, prefix: str) -> Sequence[tuple[int, Sequence[tuple[str, str]]]]:
        """Return the records of an extension as written: their entry, the names and texts of each."""
        if prefix not in self._records:
            self._records[prefix] = [
                (at, one)
                for at, entry in enumerate(self.entries)
                for one in _records_of(entry, prefix)
            ]
        return self._records[prefix]

    def links(self) -> Iterator[tuple[tuple[int, int], Mapping[str, str]]]:
        """Yield the attributes of links as written, with their entries and their numbers in these."""
        for at, entry in enumerate(self.entries):
            records = entry.records.get(Space.XHTML, ()) if isinstance(entry, RawEntry) else ()
            for number, one in enumerate(records):
                yield (at, number), given_in(one[2], ignore)

    def odd_fields(self) -> Iterator[tuple[int, str, str]]:
        """Yield the protocol's fields that are ``empty`` or there ``twice``, with their entries."""
        for at, entry in enumerate(self.entries):
            if isinstance(entry, RawEntry):
                yield from ((at, *odd) for odd in entry.odd_fields)
        if self._block is not None and not self.entries:
            text, known = self._block.text, self.core_texts() or {}
            if any(
                "" in known.get(name, ()) or (name not in known and f"<{name}" in text)
                for name in CORE_FIELDS
            ):
                for found in _EMPTY_FIELD.finditer(text):
                    yield bisect(self._starts, found.start()) - 1, found[1], "empty"

    def place(
        self,
        at: int,
        element: str = "loc",
        text: str = "",
        record: str = "",
        number: int | None = None,
    ) -> Place:
        """Return where an element of an entry is, or else the entry.

        Of several elements with that name, it is the one with little more than a ``text``, or the
        first: in the ``record`` with a ``number``, if that is given; -1 is the last one.
        """
        if element == "loc" and number is None:
            text = text or (self.written[at] if self.written else None) or self.urls[at]
        if self._block is None:
            entry = self.entries[at] if self.entries else None
            if entry is not None:
                return entry.place_of(element, text, record, number)
            return (self._lines[at], 1) if self._lines else (None, None)
        if at >= len(self.places):
            return None, None
        line, column = self.places[at]
        begin, end = (*self._starts[at : at + 2], None)[:2]
        written = self._block.text[begin:end]
        tags, records = (
            [(tag.start(), tag[0]) for tag in _tag_of(one).finditer(written)] if one else []
            for one in (element, record)
        )
        if element in CORE_FIELDS and not text:
            tags = tags[-1:]  # of two, the last one is too many
        offset = place_among(tags, text, records, number) or 0
        before = written.rfind("\n", 0, offset) + 1
        column = offset - before + 1 if before else column + offset
        return line + written.count("\n", 0, offset), column

    @cached_property
    def places(self) -> Sequence[tuple[int, int]]:
        """The lines and columns at which all entries begin; empty if they are not known."""
        if self._block is None:
            columns = (entry.column for entry in self.entries) if self.entries else repeat(1)
            return [
                (line or 0, column or 0) for line, column in zip(self._lines, columns, strict=False)
            ]
        text, line, found = self._block.text, self._block.line, []
        edge = 1 - self._block.column  # where the line begins
        for before, start in pairwise([0, *self._starts]):
            if ends := text.count("\n", before, start):
                line, edge = line + ends, text.rfind("\n", before, start) + 1
            found.append((line, start - edge + 1))
        return found

    @cached_property
    def _starts(self) -> list[int]:
        """The positions in the text at which entries begin; empty if that is not certain."""
        assert self._block is not None
        text, _, entry, _ = self._block
        if entry == "\n":
            return [at + 1 for at, character in enumerate(text) if character == "\n"]
        found = [tag.start() for tag in _tag_of(entry).finditer(text)]
        return found if len(found) == len(self.urls) else []


@lru_cache(maxsize=64)
def _tag_of(element: str) -> re.Pattern[str]:
    return re.compile(rf"<(?:[\w.-]{{1,99}}:)?{element}(?=[\s/>])[^<]*+(?:<!\[CDATA\[[^<]*+)?")


class Examination:
    """One close reading of a document.

    Iterate over :meth:`blocks` first. Then ``problems`` are known, and ``children``, those that are
    declared several times too; ``parser`` knows what the document is. ``on_page_problem`` is called
    with the code of each problem of a page, and its URL: ``problems`` has but some of many. What was
    found in pages is remembered, as their number is, unless the document ``lists_sitemaps``.
    """

    def __init__(
        self,
        document: Document,
        parser: DocumentParser,
        limits: Limits,
        *,
        lists_sitemaps: bool = False,
    ) -> None:
        self.document = document
        self._lists_sitemaps = lists_sitemaps
        self.parser = parser
        self._limits = limits
        self.children: list[ChildEntry] = []
        self.on_page_problem: Callable[[ProblemCode, str], object] = ignore
        self.given_up: Reason | None = None  # why the rest was not read, if it was not
        self.is_well_formed = True  # whether all pages were read in blocks that are well-formed

    @property
    def problems(self) -> list[Problem]:
        """What is wrong with the document, as far as it was read."""
        found = self.parser.problems.listed()
        damage = self.document.known.damage
        if damage is not None and self.document.exchange.broken is None:
            found.insert(0, Problem(damage.text, code=damage.code))
        return found

    def blocks(
        self, given_up: Callable[[], Reason | None] = lambda: None
    ) -> Iterator[ExaminedBlock]:
        """Yield all pages; a URL that is declared twice comes twice.

        ``given_up`` is asked after each step: a reason ends the reading, and is a problem itself.
        """
        unique, count = UniquePages(), 0
        for examined in self._blocks(given_up):
            examined.unique = unique.block(examined.pages)
            count += len(examined.unique.urls)
            yield examined
        if not (self.given_up or self._lists_sitemaps):
            known, found = self.document.known, self.problems
            known.pages, known.problem_count = count, how_many(found)
            self.document.store.remember(known, found)

    def _blocks(self, given_up: Callable[[], Reason | None]) -> Iterator[ExaminedBlock]:
        for group in _grouped(self._entries(given_up)):
            if not isinstance(group, PageBatch):
                self.is_well_formed = False
                yield from self._single(group)
            elif group.urls:
                self.is_well_formed = self.is_well_formed and group.block is not None
                yield ExaminedBlock(
                    group, group.as_written, group.block, group.lines, group.entries
                )

    def _entries(self, given_up: Callable[[], Reason | None]) -> Iterator[Entry]:
        for chunk in self.document.chunks():
            for entries in self.parser.steps(chunk):
                yield from self._without_children(entries)
                self.given_up = given_up()
                if self.given_up:
                    self.parser.problems.end(self.given_up.after("the rest was not read"))
                    return
        yield from self._without_children(self.parser.close(self.document.broken))

    def _without_children(self, entries: Iterable[Entry]) -> Iterator[Entry]:
        most = self._limits.sitemaps
        for entry in entries:
            if not isinstance(entry, ChildEntry):
                yield entry
            elif most is None or len(self.children) < most:
                self.children.append(entry)

    def _single(self, entries: list[PageEntry]) -> Iterator[ExaminedBlock]:
        """Yield entries that were read one by one as a block; their fields are read."""
        pages: list[SitemapPage] = []
        read: list[PageEntry] = []
        for entry in entries:
            page = entry.page(partial(self._note, entry, Counter()))
            if self._limits.too_long(page.url):
                note_length(self.parser.problems, self._limits, page.url, entry.line)
            else:
                pages.append(page)
                read.append(entry)
        if pages:
            written, lines = [one.as_written for one in read], [one.line for one in read]
            yield ExaminedBlock(PageList(pages), written, None, lines, read)

    def _note(self, entry: PageEntry, noted: Counter[str], code: ProblemCode, excerpt: str) -> None:
        element, text = _element_of(code, excerpt)
        lacking = _records_without(entry, excerpt) if element and not text else []
        number = next(islice(lacking, noted[excerpt], None), None)
        noted[excerpt] += 1
        line, column = entry.place_of(element, text, element, number)
        self.parser.problems.add(code, line, excerpt or None, page=entry.url, column=column)
        self.on_page_problem(code, entry.url)


def _element_of(code: ProblemCode, excerpt: str) -> tuple[str, str]:
    """Return the name of the element that a problem of a page is about, and a text that is in it."""
    if code is ProblemCode.BAD_ALTERNATE:
        return "link", excerpt
    core = next((name for name, field in CORE_FIELDS.items() if field.problem is code), "")
    name, _, text = excerpt.partition(": ")  # such as "video:duration: 3:45", or what is missing
    prefix, _, local = name.rpartition(":")
    local = local.partition("[")[0]  # without the name of an attribute
    return (core, "") if core else (local, text) if text else (prefix, "")


def _records_of(entry: PageEntry, prefix: str) -> Iterator[list[tuple[str, str]]]:
    """Yield the records of an extension in an entry, as the names and the texts of their fields."""
    space = Space.__members__.get(prefix.upper())
    for one in entry.records.get(space, ()) if isinstance(entry, RawEntry) and space else ():
        yield [(name, text_of(raw) or "") for name, raw in zip(one[::3], one[1::3], strict=True)]


def _records_without(entry: PageEntry, name: str) -> list[int]:
    """Return the numbers of the records of an entry that lack a field, such as ``image:loc``."""
    prefix, _, local = name.rpartition(":")
    records = enumerate(_records_of(entry, prefix))
    return [at for at, one in records if not any(text for field, text in one if field == local)]


def note_length(problems: Problems, limits: Limits, url: str, line: int | None = None) -> None:
    """Note a URL that is too long, and so is neither a page nor a child sitemap."""
    problems.note(limits.reached("url_length").after("a URL is too long"), line, url)
