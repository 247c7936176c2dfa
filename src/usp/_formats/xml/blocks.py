"""Ways to read entries: cut what is regular, read trees of what is well-formed, scan the rest.

The text is read in *blocks*: a block begins between entries and ends with the end of one. The quick
ways have no state, so they are used only where the scanner's is neutral. A block that all decline is
halved, and each half is tried: little more than what is odd goes to the scanner.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import ClassVar, cast

from usp._base.dates import unknown_zone
from usp._formats.abstract_parser import (
    MAX_PIECE,
    BlockText,
    ChildEntry,
    Entry,
    Notes,
    PageBatch,
    PageEntry,
    batch_of,
    pieces,
)
from usp._formats.xml import scanner
from usp._formats.xml.raw_entries import MAX_NAME, RawEntry
from usp._formats.xml.text_columns import without_sections
from usp._formats.xml.tree_reader import DECLINE, IGNORE, LARGEST_TREE, FastPathDeclined, TreeReader
from usp._formats.xml.xml_parser import XmlParser

MAX_ENTRY = 64 * 1024
"""A longer stretch without the end of an entry goes through the scanner."""

_SMALLEST = 2 * 1024  # characters of a block that is not halved any more
LARGEST = 256 * 1024
"""Characters that are tried at once."""

_LONG_COMMENT = 4096  # characters; a longer one that hides a tag is left to the scanner
_END = re.compile(r"\s*+>")
_START_TAG = re.compile(r"<([A-Za-z_][^\s<>/]*+)[^<>/]*+>")
_FIRST_ENTRY = re.compile(
    rf"<((?:[A-Za-z_][\w.-]{{0,{MAX_NAME}}}+:)?+(url|sitemap|item|entry))[\s>]"
)
_CDATA = "<![CDATA["


def _end_tag(name: str) -> re.Pattern[str]:
    return re.compile(rf"</{re.escape(name)}\s*+>")


def _without_body(found: re.Match[str]) -> str:
    return found[0] if found[1] is None else found.string[found.start() : found.start(2)]


def _sections_end(block: str) -> bool:
    """Return whether all CDATA sections end, none with another one or its element's end inside."""
    before, *sections = block.split(_CDATA)
    for section in sections:
        text, end, after = section.partition("]]>")
        if not end:
            return False
        if "</" in text:
            tag = _START_TAG.match(before, max(before.rfind("<"), 0))
            if tag is None or f"</{tag[1]}" in text:
                return False
        before = after
    return True


class BlockParser(XmlParser):
    """A parser that reads blocks of entries in the quickest way that gives what the scanner would."""

    bodies: ClassVar[re.Pattern[str] | None] = None
    """Finds long texts that mean nothing, which begin at its second group."""

    _name = ""  # of entries, as the first one is written
    _held = ""  # text that waits for the end of an entry
    largest = LARGEST_TREE  # how long a block may be, if all are well
    _size = LARGEST_TREE  # how long a block may be that is worth a try
    _trees: TreeReader | None = None

    def feed(self, text: str) -> list[Entry]:
        """Return the entries that are complete so far."""
        if len(text) > MAX_PIECE:
            return [entry for piece in pieces(text) for entry in self.feed(piece)]
        if self.scanner_only or self.case_insensitive:
            return self.scan(text)
        if self._name:
            return self._scan_to_entry_end(text, self._feed_block)
        entries, text = self._find_first(text)
        return entries + self._feed_block(text) if text else entries

    def _find_first(self, text: str) -> tuple[list[Entry], str]:
        """Scan to the first entry, whose name is then known; return the text from there on."""
        entries: list[Entry] = []
        at = 0
        for found in _FIRST_ENTRY.finditer(text):
            if found[2] not in self.entries:
                continue
            before, at = text[at : found.start()], found.start()
            if before.isspace() and self.is_between_entries:
                self.scanner.skip(before)
            elif before:
                entries += self.scan(before)
            if self.is_between_entries:
                self._name = found[1]
                return entries, text[at:]
        return entries + self.scan(text[at:]), ""

    def _feed_block(self, text: str) -> list[Entry]:
        searched = max(0, len(self._held) - len(self._name) - 3)
        block = self._held + text
        end = self._last_end(block, searched, len(block))
        if end < 0:
            self._held = block if len(block) <= MAX_ENTRY else ""
            return [] if self._held else self.scan(block)
        self._held = block[end:]
        entries = self._read_block(block[:end])
        if self._held and not self.is_between_entries:
            held, self._held = self._held, ""
            entries += self.scan(held)
        return entries

    def _last_end(self, text: str, start: int, stop: int) -> int:
        """Return where the last entry ends between two places; a negative number if none does."""
        tag = f"</{self._name}"
        at = text.rfind(tag, start, stop)
        while at >= 0:
            end = _END.match(text, at + len(tag), stop)
            hidden = text.rfind("<!", max(start, at - _LONG_COMMENT), at)  # where a section begins
            closing = "-->" if text.startswith("<!--", hidden) else "]]>"
            if hidden >= 0 <= text.find(closing, hidden, at):
                hidden = -1
            if end is not None and hidden < 0:
                return end.end()
            at = text.rfind(tag, start, at if hidden < 0 else hidden)
        return -1

    def _first_end(self, text: str, start: int) -> int:
        """Return where the first entry after some place ends; the end of the text if none does."""
        found = _end_tag(self._name).search(text, start)
        return found.end() if found else len(text)

    def _read_block(self, block: str) -> list[Entry]:
        """Read a block, between entries, in the quickest way that does not decline it."""
        short = block
        if self.bodies and not self.report_problems and "<content" in block:
            short = self.bodies.sub(_without_body, block)
            short = block if "<?" in short else short  # an instruction may hide what looks like one
        if len(short) <= self._size:
            entries = self._read_fast(short)
            if entries is not None:
                self._size = min(2 * self._size, self.largest)
                if not self.fast and isinstance(entries[0], PageBatch):
                    line, column = self.scanner.place
                    entries[0].block = BlockText(block, line, self._name, column)
                if self.report_problems:
                    self.scanner.skip(block)
                self.scanner.damage = 0
                self._has_entries, self._stray_text, self._wrapped = True, False, None
                return entries
            self._size = max(min(self._size, self.largest, len(short) // 2), _SMALLEST)
        return self.scan(block) if len(block) <= _SMALLEST else self._divided(block)

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
                return self.scan(block)
            entries += self._scan_to_entry_end(block[at:end], self._read_block)
            at = end
        return entries

    def _scan_to_entry_end(self, text: str, read: Callable[[str], list[Entry]]) -> list[Entry]:
        """Scan to the end of an entry that only the scanner can read, then ``read`` the rest."""
        if self.is_between_entries:
            return read(text)
        end = self._first_end(text, 0) if self._name else len(text)
        entries, text = self.scan(text[:end]), text[end:]
        if not text:
            return entries
        return entries + (read(text) if self.is_between_entries else self.scan(text))

    def close(self) -> list[Entry]:
        """Return the rest; of most documents that is the end of the root, which is not scanned."""
        name, held = self.root_tag[0], self._held
        if held.strip() == f"</{name}>" and self._stack == [name] and self.is_between_entries:
            self.scanner.skip(held)
            self._pop()
            return super().close()
        return self.scan(held) + super().close()

    # The quick ways -----------------------------------------------------------------------------------

    def _read_fast(self, block: str) -> list[Entry] | None:
        """Return the entries of a block that is regular or well-formed; None for the scanner."""
        if "[" in block:
            if not _sections_end(block):
                return None
            if not self.report_problems:
                block = without_sections(block)
        entries = self._cut(block)
        if entries is not None:
            return entries
        self.largest = LARGEST_TREE
        if self.report_problems and unknown_zone(block):
            return None  # a problem, perhaps
        notes = DECLINE if self.report_problems else IGNORE
        found = self.trees().entries(block, notes)
        if found is None:
            return None
        try:
            return self._finished(found, notes)
        except FastPathDeclined:
            return None

    def _cut(self, block: str) -> list[Entry] | None:
        """Return the entries of a block that is regular; None if that is not certain."""

    def trees(self) -> TreeReader:
        """Return the reader of trees for the current position of the parser."""
        trees, base = self._trees, self._bases[-1][1]
        if trees is None or trees.scope is not self._scope or trees.base != base:
            trees = self._trees = TreeReader(self.dialect, self._scope, base)
        return trees

    def _finished(self, found: list[RawEntry], notes: Notes) -> list[Entry]:
        entries: list[Entry] = []
        lost = 0
        for raw in found:
            finished = raw.finish(notes)
            entries += finished
            lost += not finished
        if not entries or lost > scanner.MAX_DAMAGE:
            raise FastPathDeclined  # the scanner knows when to give up
        children = sum(isinstance(entry, ChildEntry) for entry in entries)
        if children:
            if children < len(entries):
                raise FastPathDeclined
            return entries
        note = DECLINE.note if self.report_problems else None
        batch = batch_of(cast("list[PageEntry]", entries), note)
        if self.report_problems and self.dialect.is_too_long(batch.urls):
            raise FastPathDeclined
        return [batch]
