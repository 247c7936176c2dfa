"""Pages that are read from a stored document, each time anew."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from usp.formats.document import DocumentParser, Role
from usp.formats.parser import ChildEntry, PageBatch, PageEntry

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.objects.page import SitemapPage
    from usp.objects.problem import Problem, Problems
    from usp.store import Document


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


class StoredPages:
    """The pages of a stored document: a page source for the nodes of the tree.

    ``base`` is what relative addresses are resolved against.
    """

    __slots__ = ("_base", "_document")

    def __init__(self, document: Document, base: str | None) -> None:
        self._document = document
        self._base = base

    def _parser(self, *, fast: bool) -> DocumentParser:
        exchange = self._document.exchange
        return parser_for(self._base, exchange.content_type, exchange.content_encoding, fast=fast)

    def _entries(self, parser: DocumentParser) -> Iterator[PageEntry | PageBatch]:
        for chunk in self._document.chunks():
            for entry in parser.feed(chunk):
                if not isinstance(entry, ChildEntry):
                    yield entry
        for entry in parser.close():
            if not isinstance(entry, ChildEntry):
                yield entry

    def __iter__(self) -> Iterator[SitemapPage]:
        """Read the pages; the first declaration of a URL counts."""
        return chain.from_iterable(self._first_declarations())

    def _first_declarations(self) -> Iterator[Iterable[SitemapPage]]:
        seen: set[str] = set()
        for entry in self._entries(self._parser(fast=True)):
            if isinstance(entry, PageBatch):
                if seen.isdisjoint(entry.urls):
                    before = len(seen)
                    seen.update(entry.urls)
                    if len(seen) == before + len(entry.urls):
                        yield entry.pages()
                        continue
                    seen.difference_update(entry.urls)
                pages = entry.pages()
            else:
                page = entry.page()
                pages = iter((page,) if page is not None else ())
            for page in pages:
                if page.url not in seen:
                    seen.add(page.url)
                    yield (page,)

    def count(self) -> int:
        """Count the pages without keeping them."""
        return sum(1 for _ in self)

    def problems(self) -> list[Problem]:
        """Read the document, field by field, and say what was wrong with it."""
        parser = self._parser(fast=False)
        for entry in self._entries(parser):
            assert isinstance(entry, PageEntry)
            entry.page(partial(self._note, parser.problems, entry.line))
        return parser.problems.listed()

    @staticmethod
    def _note(problems: Problems, line: int | None, message: str, excerpt: str) -> None:
        problems.add(message, line, excerpt or None)
