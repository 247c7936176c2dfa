"""Reads a stored document closely: all of its entries, also those that are there twice, and where.

What is wrong with it is known at the end. When problems are not asked for, pages are read in another
way, each URL once and as little of the rest as possible: see ``stored_pages``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

from usp._formats.abstract_parser import ChildEntry, PageBatch, PageEntry, own_columns
from usp._formats.document import DocumentParser, Role
from usp.limits import DEFAULT
from usp.objects.page_blocks import PageList
from usp.objects.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from usp._base.reason import Reason
    from usp._formats.abstract_parser import BlockText, Entry
    from usp._store import Document
    from usp.limits import Limits
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.problem import ProblemCode, Problems

_AFTER_NAME = tuple(" \t\r\n/>")
_MOST = 1000  # pages that came one by one


@dataclass(frozen=True, slots=True)
class Place:
    """Where something is in a document; both count from 1, and are None where that is not known."""

    line: int | None = None
    column: int | None = None


_NOWHERE = Place()


class ExaminedBlock:
    """Some entries of a document, in their order.

    ``written`` are their URLs as written, if any of them differs. ``text`` is what they were read
    from, if they were read together; then they have no problems.
    """

    def __init__(
        self,
        pages: PageBlock,
        written: Sequence[str | None] | None = None,
        block: BlockText | None = None,
        lines: Sequence[int | None] = (),
        own_texts: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.pages = pages
        self.urls = pages.urls
        self.written = written
        self._block = block
        self._lines = lines
        self._own_texts = own_texts

    def own_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return ``lastmod``, ``changefreq`` and ``priority`` as written; None if that is not known."""
        if self._own_texts is None and isinstance(self.pages, PageBatch):
            return self.pages.own_texts()
        return self._own_texts

    @property
    def text(self) -> str | None:
        """The text that the entries were read from, if they were read together."""
        return None if self._block is None else self._block.text

    def place(self, at: int) -> Place:
        """Return where an entry begins."""
        if self._block is None:
            return Place(self._lines[at]) if self._lines else _NOWHERE
        if at >= len(self._starts):
            return _NOWHERE
        start = self._starts[at]
        before = self._block.text.rfind("\n", 0, start) + 1
        # What precedes the block on its first line is not known.
        return Place(self.lines[at], start - before + 1 if before else None)

    @cached_property
    def lines(self) -> Sequence[int | None]:
        """The lines on which all entries begin; empty if they are not known."""
        if self._block is None:
            return self._lines
        starts, count = self._starts, self._block.text.count
        ends = (count("\n", before, start) for before, start in pairwise([0, *starts]))
        return list(accumulate(ends, initial=self._block.line))[1:]

    @cached_property
    def _starts(self) -> list[int]:
        """The positions in the text at which entries begin; empty if that is not certain."""
        assert self._block is not None
        text, _, entry = self._block
        if entry == "\n":
            return [at + 1 for at, character in enumerate(text) if character == "\n"]
        found = list(_tags(text, f"<{entry}"))
        return found if len(found) == len(self.urls) else []


def _tags(text: str, tag: str) -> Iterator[int]:
    """Yield where a tag begins in a text."""
    at, length = text.find(tag), len(tag)
    while at >= 0:
        if text[at + length : at + length + 1] in _AFTER_NAME:
            yield at
        at = text.find(tag, at + length)


class Examination:
    """One close reading of a document.

    Iterate over :meth:`blocks` first. Then ``problems`` are known, and ``children``, those that are
    declared several times too; ``parser`` knows what the document is.
    """

    def __init__(
        self,
        document: Document,
        base: str | None,
        limits: Limits = DEFAULT,
        *,
        role: Role = Role.SITEMAP,
        lists_sitemaps: bool = False,
    ) -> None:
        exchange = document.exchange
        self.document = document
        self.children: list[ChildEntry] = []
        self.given_up: Reason | None = None  # why the rest was not read, if it was not
        self.is_vouched = True  # whether all pages were read in blocks that are well-formed
        self.parser = DocumentParser(
            base,
            role=role,
            content_type=exchange.content_type,
            content_encoding=exchange.content_encoding,
            limits=limits,
            scans=lists_sitemaps,  # only then the lines of its entries are known
        )
        self._limits = limits

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
        entries: list[PageEntry] = []
        for entry in self._entries(given_up):
            if isinstance(entry, ChildEntry):
                self._add_child(entry)
                continue
            if entries and (isinstance(entry, PageBatch) or len(entries) >= _MOST):
                yield from self._single(entries)
                entries = []
            if isinstance(entry, PageBatch):
                if entry.urls:
                    self.is_vouched = self.is_vouched and entry.block is not None
                    yield ExaminedBlock(entry, entry.as_written, entry.block, entry.lines)
            else:
                self.is_vouched = False
                entries.append(entry)
        yield from self._single(entries)

    def _entries(self, given_up: Callable[[], Reason | None]) -> Iterator[Entry]:
        for chunk in self.document.chunks():
            for entries in self.parser.steps(chunk):
                yield from entries
                self.given_up = given_up()
                if self.given_up:
                    self.parser.problems.end(self.given_up.after("the rest was not read"))
                    return
        yield from self.parser.close(self.document.broken)

    def _add_child(self, child: ChildEntry) -> None:
        most = self._limits.sitemaps
        if most is None or len(self.children) < most:
            self.children.append(child)

    def _single(self, entries: list[PageEntry]) -> Iterator[ExaminedBlock]:
        """Yield entries that were read one by one as a block; their fields are read."""
        pages: list[SitemapPage] = []
        written: list[str | None] = []
        lines: list[int | None] = []
        read: list[PageEntry] = []
        for entry in entries:
            page = entry.page(partial(_note, self.parser.problems, entry.line))
            if page is not None and self._limits.too_long(page.url):
                note_length(self.parser.problems, self._limits, page.url, entry.line)
            elif page is not None:
                pages.append(page)
                written.append(entry.as_written)
                lines.append(entry.line)
                read.append(entry)
        if pages:
            yield ExaminedBlock(PageList(pages), written, None, lines, own_columns(read))


def note_length(problems: Problems, limits: Limits, url: str, line: int | None = None) -> None:
    """Note a URL that is too long, and so is neither a page nor a child sitemap."""
    problems.note(limits.reached("url_length").after("a URL is too long"), line, url)


def _note(problems: Problems, line: int | None, code: ProblemCode, excerpt: str) -> None:
    problems.add(code, line, excerpt or None)
