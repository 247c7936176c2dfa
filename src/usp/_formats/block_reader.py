"""Parses the fields of entries whose URLs were cut out of a block, on demand."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import TYPE_CHECKING

from usp._formats.abstract_parser import PageEntry
from usp._formats.rich_blocks import RichBlocks
from usp._formats.tree_entries import Plans
from usp._formats.url_batches import checked, read_columns
from usp._formats.xml.cut import end_of
from usp._formats.xml.trees import Unvouched
from usp.objects.page import PageFields

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.etree.ElementTree import Element

    from usp._formats.url_batches import Ahead, Columns
    from usp._formats.xml.entries import RawEntry
    from usp._formats.xml.lanes import LaneParser

_BEHIND = "\n" * 16  # so that nothing at the end of an entry waits for more
_BLOCKS_AHEAD = 32
_FEW = 4  # entries that are not halved any more


def split(block: str) -> tuple[list[str], str]:
    """Return the entries of a block without their ends, and how they all end."""
    end = end_of(block)
    return block.split(end)[:-1], end


class BlockReader:
    """Reads the fields of blocks whose URLs are known.

    ``begin`` creates a parser whose position is directly below the root of such a document, on first
    use. All entries of a block end in the same way.
    """

    def __init__(self, begin: Callable[[], LaneParser], entry: type[RawEntry]) -> None:
        self._begin = begin
        self._made: LaneParser | None = None
        self._ahead: Ahead | None = None
        self._blocks_ahead = 0
        self._entry = entry
        self._rich: RichBlocks | None = None
        self._plans: Plans | None = None
        self._lock = threading.Lock()

    @property
    def _parser(self) -> LaneParser:
        if self._made is None:
            self._made = self._begin()
        return self._made

    def read_ahead(self, ahead: Ahead) -> None:
        """Parse these fields of the next blocks in advance: what is used of one is used of most."""
        self._ahead, self._blocks_ahead = ahead, _BLOCKS_AHEAD

    @property
    def ahead(self) -> Ahead | None:
        """What of the next block is parsed in any case."""
        return self._ahead if self._blocks_ahead > 0 else None

    def reads_ahead(self) -> Ahead | None:
        """Return what to parse of the next block; sometimes nothing, to see what is still used."""
        self._blocks_ahead -= 1
        return self._ahead if self._blocks_ahead >= 0 else None

    def columns(self, block: str, count: int) -> Columns | None:
        """Return the fields of the protocol of all entries of a block, if they have no others."""
        with self._lock:
            root = self._tree(block, count)
            if root is None or any(map(len, root[0])):
                return None
            try:
                found = read_columns(root, self._parser.trees(), self._entry, blank=False)
            except Unvouched:
                return None
            return None if found is None else found[1]

    def own(self, block: str, count: int) -> Columns | None:
        """Return the same of entries that have others; None if these must be read as well."""
        with self._lock, suppress(Unvouched):
            root = self._tree(block, count)
            if root is not None:
                return checked(self._by_plans().own_columns(root), count)
        return None

    def fields(self, block: str, count: int) -> list[PageFields]:
        """Return all fields of all entries of a block."""
        found = self.entries(block)
        if found is not None and len(found[1]) == count:
            return found[1]
        entries, end = split(block)
        with self._lock:
            return self._read(block, count) or self._halved(entries, end)

    def entries(
        self, block: str, *, strict: bool = False
    ) -> tuple[list[str], list[PageFields]] | None:
        """Return locs and all fields of entries that are written like others.

        With ``strict``, they have no problems, either.
        """
        with self._lock:
            end = block[block.rindex("</") :]
            with suppress(Unvouched):
                if self._rich is None or self._rich.end != end:
                    self._rich = RichBlocks(self._parser, self._entry, end)
                return self._rich.fields(block, strict=strict)
        return None

    def _by_plans(self) -> Plans:
        trees = self._parser.trees()
        if self._plans is None or self._plans.trees is not trees:
            self._plans = Plans(trees, self._entry)
        return self._plans

    def _tree(self, block: str, count: int) -> Element | None:
        """Return the tree of a block; None if it is not well-formed, or has not so many entries."""
        root = self._parser.trees().parse(block)
        return None if root is None or len(root) != count else root

    def _read(self, block: str, count: int) -> list[PageFields] | None:
        """Return all fields of a block that is read as a tree."""
        root = self._tree(block, count)
        if root is None:
            return None
        plans, base = self._by_plans(), self._parser.base()
        try:
            return [plans.entry(element).fields(base) for element in root]
        except Unvouched:
            return None

    def _halved(self, entries: list[str], end: str) -> list[PageFields]:
        """Read entries as trees of fewer and fewer of them, and the rest one by one."""
        if len(entries) <= _FEW:
            return [self._scanned(entry + end) for entry in entries]
        found: list[PageFields] = []
        middle = len(entries) // 2
        for half in (entries[:middle], entries[middle:]):
            text = end.join([*half, ""])
            found += self._read(text, len(half)) or self._halved(half, end)
        return found

    def _scanned(self, entry: str) -> PageFields:
        entries = self._parser.read(entry + _BEHIND)
        page = next((e.page() for e in entries if isinstance(e, PageEntry)), None)
        return page.fields() if page else PageFields()
