"""The choice between the lanes: cut what is regular, read trees of what is well-formed, scan the rest.

The text is read in *blocks*: a block begins between entries and ends with the end of one. The two quick
lanes have no state, so they are used only where the scanner's is neutral. A block that neither vouches
for is halved, and each half is tried: little more than what is odd goes to the scanner.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar

from usp._formats.abstract_parser import BlockText, ChildEntry, PageBatch, PageEntry, Pages
from usp._formats.xml.parser import AbstractXMLSitemapParser
from usp._formats.xml.trees import Trees, Unvouched, check_text_before
from usp._formats.xml.vocabulary import MAX_NAME
from usp.objects.problem import Problems

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Entry
    from usp._formats.xml.entries import RawEntry
    from usp.objects.problem import ProblemCode

MAX_ENTRY = 64 * 1024
"""A longer stretch without the end of an entry goes through the scanner."""

_SMALLEST = 2 * 1024  # characters of a block that is not halved any more
LARGEST_TREE = 40 * 1024
"""A longer block is not read as one tree: its elements would not fit into the caches of a processor."""

LARGEST = 256 * 1024
"""Characters that are tried at once."""

_LONG_COMMENT = 4096  # characters; a longer one that hides a tag is left to the scanner
_MAX_OPEN = 10  # elements around entries
_END = re.compile(r"\s*+>")
_BLANKS = " \t\r\n"


@lru_cache(maxsize=16)
def _first_entry(names: tuple[str, ...]) -> re.Pattern[str]:
    """Return the pattern of the beginning of an entry."""
    return re.compile(rf"<((?:[A-Za-z_][\w.-]{{0,{MAX_NAME}}}+:)?+(?:{'|'.join(names)}))[\s>]")


def _hidden_from(text: str, start: int, at: int) -> int:
    """Return where a comment or a CDATA section begins that hides a tag; a negative number if none."""
    begin = text.rfind("<!", start, at)
    if begin < 0:
        return -1
    end = "-->" if text.startswith("<!--", begin) else "]]>"
    return begin if text.find(end, begin, at) < 0 else -1


class LaneParser(AbstractXMLSitemapParser):
    """A parser that reads blocks of entries by the quickest lane that vouches for them."""

    tells_all: ClassVar[bool] = False
    """Whether problems are noted even by a parser that is to be fast."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.thorough = not self.fast or self.tells_all
        self.scanner.hurry = not self.thorough
        self._name = ""  # of entries, as the first one is written
        self._held = ""  # text that waits for the end of an entry
        self.largest = LARGEST  # how long a block may be, if all are well
        self._size = LARGEST  # how long a block may be that is worth a try
        self._trees: Trees | None = None
        self._noted = False

    def _feed(self, text: str) -> list[Entry]:
        """Return the entries that are complete so far."""
        if self.scans or self.fold:
            return self._scan(text)
        entries: list[Entry] = []
        if not self._name:
            entries, text = self._find_first(text)
        if not text:
            return entries
        return entries + self._return(text, self._feed_block)

    def _find_first(self, text: str) -> tuple[list[Entry], str]:
        """Scan to the first entry, whose name is then known; return the text from there on."""
        entries: list[Entry] = []
        at = 0
        for found in _first_entry(tuple(self.entries)).finditer(text):
            before = text[at : found.start()]
            is_at_rest = self._at_rest()
            if before.strip(_BLANKS) or not is_at_rest:
                entries += self._scan(before)
                is_at_rest = self._at_rest()
            else:
                self.scanner.skip(before, count=self.thorough)
            at = found.start()
            if is_at_rest:
                self._name = found[1]
                return entries, text[at:]
        return entries + self._scan(text[at:]), ""

    def _feed_block(self, text: str) -> list[Entry]:
        searched = max(0, len(self._held) - len(self._name) - 3)
        block = self._held + text
        end = self._last_end(block, searched, len(block))
        if end < 0:
            self._held = block if len(block) <= MAX_ENTRY else ""
            return [] if self._held else self._scan(block)
        self._held = block[end:]
        entries = self._read_block(block[:end])
        if self._held and not self._at_rest():
            held, self._held = self._held, ""
            entries += self._scan(held)
        return entries

    def _last_end(self, text: str, start: int, stop: int) -> int:
        """Return where the last entry ends between two places; a negative number if none does."""
        tag = f"</{self._name}"
        at = text.rfind(tag, start, stop)
        while at >= 0:
            end = _END.match(text, at + len(tag), stop)
            hidden = _hidden_from(text, max(start, at - _LONG_COMMENT), at)
            if end is not None and hidden < 0:
                return end.end()
            at = text.rfind(tag, start, at if hidden < 0 else hidden)
        return -1

    def _first_end(self, text: str, start: int) -> int:
        """Return where the first entry after some place ends; the end of the text if none does."""
        tag = f"</{self._name}"
        at = text.find(tag, start)
        while at >= 0:
            end = _END.match(text, at + len(tag))
            if end is not None:
                return end.end()
            at = text.find(tag, at + 1)
        return len(text)

    def _read_block(self, block: str) -> list[Entry]:
        """Read a block by the quickest lane that vouches for it."""
        if not self._at_rest():
            return self._return(block, self._read_block)
        if len(block) <= self._size:
            entries = self._vouched(block)
            if entries is not None:
                self._size = min(2 * self._size, self.largest)
                if not self.fast and isinstance(entries[0], PageBatch):
                    entries[0].block = BlockText(block, self.scanner.line, self._name)
                self._pass(block)
                return entries
            self._size = max(min(self._size, self.largest, len(block) // 2), _SMALLEST)
        return self._scan(block) if len(block) <= _SMALLEST else self._divided(block)

    def _divided(self, block: str) -> list[Entry]:
        """Read a block in parts that are worth a try."""
        entries: list[Entry] = []
        at = 0
        while at < len(block):
            stop = at + self._size
            end = self._last_end(block, at, stop)
            if end < 0:
                end = self._first_end(block, stop)
            if end - at == len(block):
                return self._scan(block)
            entries += self._read_block(block[at:end])
            at = end
        return entries

    def _return(self, text: str, read: Callable[[str], list[Entry]]) -> list[Entry]:
        """Scan to the end of an entry that no other lane could take, then ``read`` the rest."""
        if self._at_rest():
            return read(text)
        end = self._first_end(text, 0) if self._name else len(text)
        entries, text = self._scan(text[:end]), text[end:]
        if not text:
            return entries
        return entries + (read(text) if self._at_rest() else self._scan(text))

    def _at_rest(self) -> bool:
        """Whether the scanner is between entries, with nothing begun."""
        return (
            not (self.scans or self.fold)
            and self._entry is None
            and 0 < len(self._stack) <= _MAX_OPEN
            and not self.root_closed
            and self.scanner.idle
        )

    def _pass(self, block: str) -> None:
        """Skip a block that was read."""
        self._has_entries = True
        self._stray_text = False
        self._wrapped = None
        self.scanner.forgive()
        self.scanner.skip(block, count=self.thorough)

    def close(self) -> list[Entry]:
        """Return the rest."""
        if self._held.strip(_BLANKS) == f"</{self._root_tag[0]}>" and self._ends_root():
            self.scanner.skip(self._held, count=self.thorough)
            self._stray_text = False
            self._pop()
            entries = super().close()
        else:
            entries = self._scan(self._held) + super().close()
        self._trees = None  # it knows the parser, and both would wait for the garbage collector
        return entries

    def _ends_root(self) -> bool:
        """Whether the end tag of the root, if it comes next, ends the document."""
        return len(self._stack) == 1 and self._at_rest() and self._stack[0] == self._root_tag[0]

    # The lanes ------------------------------------------------------------------------------------

    def _vouched(self, block: str) -> list[Entry] | None:
        """Return the entries of a block, if one of the two quick lanes vouches for it."""
        entries = self._cut(block)
        if entries is not None:
            return entries
        self.largest = LARGEST_TREE
        root = self.trees().parse(block) if len(block) <= LARGEST_TREE else None
        if root is None:
            return None
        try:
            return self._read_block_tree(root, block)
        except Unvouched:
            return None

    def _cut(self, block: str) -> list[Entry] | None:
        """Return the entries of a block that is regular; None if that is not certain."""

    def trees(self) -> Trees:
        """Return the reader of trees for the current position of the parser."""
        if self._trees is None or not self._trees.suits(self):
            self._trees = Trees(self)
        return self._trees

    def _read_block_tree(self, root: Element, block: str) -> list[Entry]:
        """Return the entries of a block, which was parsed as a tree; raises :class:`Unvouched`."""
        del block
        return self._read_tree(root)

    def _read_tree(self, root: Element) -> list[Entry]:
        """Return the entries of a tree; raises :class:`Unvouched`."""
        check_text_before(root)
        return self._read_elements(root)

    def _read_elements(self, elements: Iterable[Element]) -> list[Entry]:
        """Return the entries that some elements of a tree are."""
        problems, self.problems = self.problems, Problems()
        try:
            entries = self._finished(self.trees().entries(elements, self.base()))
            if self.thorough and self.problems.listed():
                raise Unvouched
        finally:
            self.problems = problems
        children = [entry for entry in entries if isinstance(entry, ChildEntry)]
        if not children:
            pages = Pages(self._pages(entries))
            if not self.fast:
                pages.entries = entries
                pages.as_written = [getattr(entry, "as_written", None) for entry in entries]
            return [pages]
        if len(children) < len(entries):
            raise Unvouched
        return entries

    def _finished(self, raw: list[RawEntry]) -> list[Entry]:
        entries: list[Entry] = []
        for entry in raw:
            found = entry.finish(self)
            if not found:
                raise Unvouched
            entries += found
        return entries

    def _pages(self, entries: Iterable[Entry]) -> list[Any]:
        """Return the pages of entries, which must have no problems if these are noted."""
        self._noted = False
        note = self._hear if self.thorough else None
        pages = [entry.page(note) for entry in entries if isinstance(entry, PageEntry)]
        if self._noted or (self.thorough and self.is_too_long(page.url for page in pages if page)):
            raise Unvouched
        return pages

    def _hear(self, code: ProblemCode, excerpt: str) -> None:
        del code, excerpt
        self._noted = True

    def is_too_long(self, urls: Iterable[str]) -> bool:
        """Return whether there is a URL among others that is longer than allowed."""
        return self.url_length is not None and max(map(len, urls), default=0) > self.url_length
