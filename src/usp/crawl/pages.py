"""Pages that are read from a stored document, each time anew."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from usp.formats.document import DocumentParser, Role
from usp.formats.parser import PageEntry

if TYPE_CHECKING:
    from collections.abc import Iterator

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
) -> DocumentParser:
    """Give a parser for a document that was fetched so."""
    return DocumentParser(
        document_url,
        role=role,
        content_type=content_type,
        content_encoding=content_encoding,
        glance=glance,
    )


class StoredPages:
    """The pages of a stored document: a page source for the nodes of the tree.

    ``base`` is what relative addresses are resolved against.
    """

    __slots__ = ("_base", "_document")

    def __init__(self, document: Document, base: str | None) -> None:
        self._document = document
        self._base = base

    def _entries(self, parser: DocumentParser) -> Iterator[PageEntry]:
        for chunk in self._document.chunks():
            for entry in parser.feed(chunk):
                if isinstance(entry, PageEntry):
                    yield entry
        for entry in parser.close():
            if isinstance(entry, PageEntry):
                yield entry

    def _parser(self) -> DocumentParser:
        exchange = self._document.exchange
        return parser_for(self._base, exchange.content_type, exchange.content_encoding)

    def __iter__(self) -> Iterator[SitemapPage]:
        """Read the pages; the first declaration of a URL counts."""
        seen: set[str] = set()
        for entry in self._entries(self._parser()):
            page = entry.page()
            if page is not None and page.url not in seen:
                seen.add(page.url)
                yield page

    def count(self) -> int:
        """Count the pages without keeping them."""
        return sum(1 for _ in self)

    def problems(self) -> list[Problem]:
        """Read the document, field by field, and say what was wrong with it."""
        parser = self._parser()
        for entry in self._entries(parser):
            entry.page(partial(self._note, parser.problems, entry.line))
        return parser.problems.listed()

    @staticmethod
    def _note(problems: Problems, line: int | None, message: str, excerpt: str) -> None:
        problems.add(message, line, excerpt or None)
