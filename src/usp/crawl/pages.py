"""Pages that are read from a stored document, each time anew."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from usp.formats.document import DocumentParser, Role
from usp.formats.parser import ChildEntry, PageEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.formats.parser import Entry
    from usp.objects.page import SitemapPage
    from usp.objects.problem import Problem, Problems
    from usp.store import Document, Exchange


def parser_for(
    document_url: str | None,
    content_type: str | None,
    content_encoding: str | None,
    *,
    role: Role = Role.SITEMAP,
    glance: bool = False,
    fast: bool = False,
) -> DocumentParser:
    """Give a parser for a document that was fetched so."""
    return DocumentParser(
        document_url,
        role=role,
        content_type=content_type,
        content_encoding=content_encoding,
        glance=glance,
        fast=fast,
    )


class PageReader:
    """Gives the pages of a document while it is read: ``feed`` chunks, then ``close``.

    The first declaration of a URL counts.
    """

    def __init__(self, base: str | None, exchange: Exchange) -> None:
        self._parser = parser_for(base, exchange.content_type, exchange.content_encoding, fast=True)
        self._seen: set[str] = set()

    def feed(self, chunk: bytes) -> Iterator[SitemapPage]:
        """Give the pages that are complete so far."""
        return chain.from_iterable(map(self._pages, self._parser.feed(chunk)))

    def close(self) -> Iterator[SitemapPage]:
        """Give the rest."""
        return chain.from_iterable(map(self._pages, self._parser.close()))

    def _pages(self, entry: Entry) -> Iterable[SitemapPage]:
        seen = self._seen
        if isinstance(entry, ChildEntry):
            return ()
        if isinstance(entry, PageEntry):
            page = entry.page()
            if page is None or page.url in seen:
                return ()
            seen.add(page.url)
            return (page,)
        urls = entry.urls
        if seen.isdisjoint(urls):
            before = len(seen)
            seen.update(urls)
            if len(seen) == before + len(urls):
                return entry.pages()
            seen.difference_update(urls)
        return [page for page in entry.pages() if page.url not in seen and not seen.add(page.url)]  # type: ignore[func-returns-value]


class StoredPages:
    """The pages of a stored document: a page source for the nodes of the tree.

    ``base`` is what relative addresses are resolved against.
    """

    __slots__ = ("_base", "_document")

    def __init__(self, document: Document, base: str | None) -> None:
        self._document = document
        self._base = base

    def __iter__(self) -> Iterator[SitemapPage]:
        """Read the pages; the first declaration of a URL counts."""
        return chain.from_iterable(self._batches())

    def _batches(self) -> Iterator[Iterator[SitemapPage]]:
        reader = PageReader(self._base, self._document.exchange)
        yield from map(reader.feed, self._document.chunks())
        yield reader.close()

    def count(self) -> int:
        """Count the pages without keeping them."""
        return sum(1 for _ in self)

    def problems(self) -> list[Problem]:
        """Read the document, field by field, and say what was wrong with it."""
        exchange = self._document.exchange
        parser = parser_for(self._base, exchange.content_type, exchange.content_encoding)
        for chunk in self._document.chunks():
            self._check(parser, parser.feed(chunk))
        self._check(parser, parser.close())
        return parser.problems.listed()

    @staticmethod
    def _check(parser: DocumentParser, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if isinstance(entry, PageEntry):
                entry.page(partial(_note, parser.problems, entry.line))


def _note(problems: Problems, line: int | None, message: str, excerpt: str) -> None:
    problems.add(message, line, excerpt or None)
