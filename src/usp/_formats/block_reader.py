"""Parses the fields of entries whose URLs were cut out of a block, on demand."""

from __future__ import annotations

import threading
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

from usp._formats.abstract_parser import PageEntry
from usp._formats.extensions import FIELDS as EXTENSIONS
from usp._formats.extensions import MANY, READERS, TABLES
from usp._formats.links import LINK, split, without_links
from usp._formats.url_batches import ignore, own_columns, read_columns, remembered_own
from usp._formats.xml.entries import Field, Sort, text_of
from usp._formats.xml.namespaces import Space
from usp._formats.xml.nesting import MAX_FIELDS
from usp._formats.xml.trees import Unvouched
from usp.objects.page import PageFields

if TYPE_CHECKING:
    from collections.abc import Callable
    from xml.etree.ElementTree import Element

    from usp._formats.extensions import Shortcut
    from usp._formats.links import Links
    from usp._formats.url_batches import Ahead, Columns
    from usp._formats.xml.entries import RawEntry, Step
    from usp._formats.xml.lanes import LaneParser

_BEHIND = "\n" * 16  # so that nothing at the end of an entry waits for more
_MAX_PLANS = 500
_BLOCKS_AHEAD = 16
_FEW = 4  # entries that are not halved any more


class _Tree(NamedTuple):
    """A block as a tree, and the links that were cut out of each entry before."""

    block: str
    root: Element
    links: Links


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
        self._plans: dict[int, _Plan] = {}
        self._last: _Tree | None = None  # who has asked for some fields may ask for others
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
    def is_ahead(self) -> bool:
        """Whether fields of the next block are read in any case."""
        return self._blocks_ahead > 0

    def reads_ahead(self) -> Ahead | None:
        """Return what to parse of the next block; sometimes nothing, to see what is still used."""
        self._blocks_ahead -= 1
        return self._ahead if self._blocks_ahead >= 0 else None

    def columns(self, block: str, count: int) -> Columns | None:
        """Return the fields of the protocol of all entries of a block, if they have no others."""
        with self._lock:
            tree = self._tree(block, count)
            if tree is None or tree.links or any(map(len, tree.root[0])):
                return None
            try:
                found = read_columns(tree.root, self._parser.trees(), self._entry, blank=False)
            except Unvouched:
                return None
            return None if found is None else found[1]

    def own(self, block: str, count: int) -> Columns | None:
        """Return the same of entries that have others; None if these must be read as well."""
        with self._lock:
            tree = self._tree(block, count)
            if tree is None or block.count("<") >= MAX_FIELDS:
                return None
            try:
                return own_columns(tree.root, block, self._parser.trees(), self._entry)
            except Unvouched:
                return None

    def fields(self, block: str, count: int) -> list[PageFields]:
        """Return all fields of all entries of a block."""
        with self._lock:
            tree, self._last = self._tree(block, count), None
            found = self._read(tree)
            if found is None and tree is not None and tree.links:
                found = self._read(self._parsed(block, block, count, ()))
            return self._halved(*split(block)) if found is None else found

    def _read(self, tree: _Tree | None) -> list[PageFields] | None:
        try:
            if tree is not None:
                return list(map(self._fields, tree.root, tree.links or repeat(None)))
        except Unvouched:
            pass
        return None

    def _tree(self, block: str, count: int) -> _Tree | None:
        """Return the tree of a block; None if it is not well-formed."""
        if self._last is None or self._last.block is not block:
            rest = block
            links: Links = ()
            if LINK in block and self._has_links():
                rest, links = without_links(block)
            self._last = self._parsed(block, rest, count, links)
        return self._last

    def _parsed(self, block: str, text: str, count: int, links: Links) -> _Tree | None:
        root = self._parser.trees().parse(text)
        return None if root is None or len(root) != count else _Tree(block, root, links)

    def _fields(self, entry: Element, links: list[tuple[str, str]] | None) -> PageFields:
        """Return the fields of an entry, with the links that were cut out of it."""
        elements = list(entry.iter())
        steps = self._parser.trees().steps(elements, self._entry)
        plan = self._plans.get(id(steps))
        if plan is None or plan.steps is not steps:
            plan = self._plans[id(steps)] = _Plan(steps)
            while len(self._plans) > _MAX_PLANS:
                del self._plans[next(iter(self._plans))]
        return plan.read(elements, self._parser.base(), links)

    def _has_links(self) -> bool:
        return self._parser.meaning("xhtml:link", self._entry).space is Space.XHTML

    def _halved(self, entries: list[str], end: str) -> list[PageFields]:
        """Read entries as trees of fewer and fewer of them, and the rest one by one."""
        if len(entries) <= _FEW:
            return [self._scanned(entry + end) for entry in entries]
        found: list[PageFields] = []
        middle = len(entries) // 2
        for half in (entries[:middle], entries[middle:]):
            text = end.join([*half, ""])
            found += self._read(self._parsed(text, text, len(half), ())) or self._halved(half, end)
        return found

    def _scanned(self, entry: str) -> PageFields:
        entries = self._parser.read(entry + _BEHIND)
        page = next((e.page() for e in entries if isinstance(e, PageEntry)), None)
        return page.fields() if page else PageFields()


_NO_EXTENSIONS = PageFields()[3:]
_ALTERNATES = PageFields._fields.index("alternates")


class _Records:
    """The elements of an extension in an entry, by record, each with its number."""

    def __init__(self, space: Space, records: list[list[tuple[str, int]]]) -> None:
        self.at = PageFields._fields.index(EXTENSIONS[space])
        self._records = records
        self._read = READERS[space]
        self._many = MANY[space]
        self._table = TABLES.get(space)
        self._shortcuts: list[list[Shortcut]] | None = None
        if self._table is not None:
            shortcuts = []
            for record in records if self._many else records[-1:]:
                steps = self._table.shortcut([name for name, _ in record])
                if steps is None:
                    break
                shortcuts.append([(record[at][1], *rest) for at, *rest in steps])
            else:
                self._shortcuts = shortcuts

    def read(self, elements: list[Element], texts: list[str | None], base: str | None) -> Any:
        """Return what they become."""
        table = self._table
        if table is not None and self._shortcuts is not None:
            found = [table.read_texts(steps, texts, base) for steps in self._shortcuts]
            if all(one is not None for one in found):  # ``in`` would compare their fields
                return found if self._many else found[0]
        records = [
            [Field(name, texts[at] or "", elements[at]) for name, at in record]
            for record in self._records
        ]
        return self._read(records, ignore, base)


class _Plan:
    """How the elements of an entry become its fields."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self._own = [(n, at) for sort, n, _, at in steps if sort is Sort.FIELD and n != "loc"]
        records: dict[Space, list[list[tuple[str, int]]]] = {}
        for sort, name, space, at in steps:
            if sort is Sort.RECORD:
                records.setdefault(space, []).append([(name, at)])
            elif sort is Sort.RECORD_FIELD:
                records.setdefault(space, [[]])[-1].append((name, at))
        self.has_links = Space.XHTML in records
        self._records = [_Records(space, found) for space, found in records.items()]
        self._leaves = [at for sort, _, _, at in steps if sort is not Sort.RECORD]
        self.has_markup: bool | None = None

    def read(
        self, elements: list[Element], base: str | None, links: list[tuple[str, str]] | None
    ) -> PageFields:
        """Return the fields of an entry with such elements, and with links that were read apart."""
        if self.has_markup is None:
            self.has_markup = any(len(elements[at]) for at in self._leaves)
        texts = [element.text for element in elements]
        if self.has_markup:
            texts = list(map(text_of, elements))
        if links and (self.has_links or self.has_markup):
            raise Unvouched  # there are others, or they stood in the text of a field
        raw: dict[str, str] = {}
        for name, at in self._own:
            text = texts[at]
            if text and not text.isspace():
                raw[name] = text
        fields: list[Any] = [*remembered_own(raw), *_NO_EXTENSIONS]
        for one in self._records:
            fields[one.at] = one.read(elements, texts, base)
        if links:
            fields[_ALTERNATES] = links
        return PageFields(*fields)
