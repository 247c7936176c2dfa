"""The pages of a stored document, each URL once; they are parsed on each iteration."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain, compress, islice
from typing import TYPE_CHECKING

from usp._crawl.examination import Examination
from usp._crawl.seen_urls import SeenUrls
from usp._formats.abstract_parser import ChildEntry, PageBatch, PageEntry
from usp._formats.decode import Decoder
from usp._formats.document import DocumentParser, Role
from usp.limits import DEFAULT
from usp.objects.page_blocks import PageList, PickedPages
from usp.objects.problem import how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from usp._base.reason import Reason
    from usp._formats.abstract_parser import Entry
    from usp._store import Document
    from usp.limits import Limits
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.problem import Problem


_BLOCK = 1000  # pages that came one by one


class UniquePages:
    """Turns entries into pages: the first declaration of a URL counts.

    Pages whose URL has more than ``longest`` characters are left out.
    """

    def __init__(self, longest: int | None = None) -> None:
        self._seen = SeenUrls()
        self._longest = longest

    def of(self, entry: Entry) -> Iterable[SitemapPage]:
        """Return the pages of an entry whose URLs are new."""
        if isinstance(entry, ChildEntry):
            return ()
        if isinstance(entry, PageEntry):
            page = entry.page()
            return (page,) if page is not None and self._new([page.url]) is None else ()
        new = self._new(entry.urls)
        return entry.pages() if new is None else compress(entry.pages(), new)

    def block(self, block: PageBlock) -> PageBlock:
        """Return the pages of a block whose URLs are new."""
        new = self._new(list(block.urls))
        return block if new is None else PickedPages(block, new)

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
    """Yield the pages of entries in blocks; single pages are collected into blocks."""
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


def _first_pages(block: PageBlock, most: int | None) -> PageBlock:
    """Return a block, cut to at most this many pages."""
    if most is None or len(block.urls) <= most:
        return block
    return PageList(list(islice(block.pages(), most)))


class StoredPages:
    """The pages of a stored document: a page source for the nodes of the tree.

    Relative URLs are resolved against ``base``; ``most`` is the maximum number of pages, or None.
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

    def same_document(self, other: object) -> bool:
        """Return whether another source reads the same bytes in the same way."""
        if not isinstance(other, StoredPages):
            return False
        (ours, way), (theirs, other_way) = self.reading(), other.reading()
        return way == other_way and ours.has_bytes_of(theirs)

    @property
    def damage(self) -> Reason | None:
        """Why the document could not be read to its end when that was last tried, if it could not."""
        return self._document.known.damage

    def reading(self) -> tuple[Document, tuple[object, ...]]:
        """Return the document, and everything that decides how it is read."""
        exchange = self._document.exchange
        labels = exchange.content_type, exchange.content_encoding, exchange.broken
        return self._document, (self._base, self._limits, self._most, *labels)

    def examination(self, *, is_robots: bool = False, lists_sitemaps: bool = False) -> Examination:
        """Return a close reading of the document."""
        role = Role.ROBOTS if is_robots else Role.SITEMAP
        return Examination(
            self._document, self._base, self._limits, role=role, lists_sitemaps=lists_sitemaps
        )

    def text(self, most: int) -> str:
        """Return the text of the document, up to some number of bytes, without its compression."""
        return "".join(self.texts(replace(self._limits, unpacked_bytes=most)))

    def texts(self, limits: Limits | None = None) -> Iterator[str]:
        """Yield the text of the document in pieces."""
        exchange = self._document.exchange
        decoder = Decoder(
            content_type=exchange.content_type,
            content_encoding=exchange.content_encoding,
            limits=limits or self._limits,
        )
        for chunk in self._document.chunks():
            yield from decoder.texts(chunk)
        yield decoder.close()

    @property
    def document(self) -> Document:
        """The document itself."""
        return self._document

    def __iter__(self) -> Iterator[SitemapPage]:
        """Yield the pages; the first declaration of a URL counts."""
        pages = chain.from_iterable(self._batches(UniquePages(self._limits.url_length)))
        return pages if self._most is None else islice(pages, self._most)

    def _batches(self, unique: UniquePages) -> Iterator[Iterable[SitemapPage]]:
        return map(unique.of, self._entries(self._parser()))

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
        for block in self._all_steps(unique):
            if block is not None:
                before, count = count, count + len(block.urls)
                if most is not None and count > most:
                    yield _first_pages(block, most - before)
                    return
            yield block
        if given is None:
            self._document.known.pages = count

    def _all_steps(self, unique: UniquePages) -> Iterator[PageBlock | None]:
        parser = self._parser()
        for chunk in self._document.chunks():
            yield from page_steps(parser.steps(chunk), unique)
        yield from page_blocks(parser.close(self._document.broken), unique)

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
        unique = UniquePages()
        examination = self.examination()
        for examined in examination.blocks(given_up):
            block = unique.block(examined.pages)
            left = None if self._most is None else self._most - count
            count += len(block.urls)
            if block.urls and (left is None or left > 0):
                yield _first_pages(block, left)
        found = examination.problems
        if not examination.given_up:
            known.pages, known.problem_count = count, how_many(found)
            self._document.store.remember(known, found)
        return found

    def _parser(self) -> DocumentParser:
        exchange = self._document.exchange
        return DocumentParser(
            self._base,
            content_type=exchange.content_type,
            content_encoding=exchange.content_encoding,
            fast=True,
            limits=self._limits,
        )

    def _entries(self, parser: DocumentParser) -> Iterator[Entry]:
        for chunk in self._document.chunks():
            yield from parser.feed(chunk)
        yield from parser.close(self._document.broken)
