"""Reads the fields of blocks whose URLs were cut.

A block is read as a tree. Entries that consist of the same elements, one in the other in the same way,
have one *layout*: what each of their elements means is found out once, and then they are read in
columns, all texts of an element at a time.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice, pairwise, repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from usp._formats.abstract_parser import PageEntry, ignore
from usp._formats.batches import OWN_FIELDS, new_fields, rows_of_columns
from usp._formats.extension_reader import COLUMNS, PLACES, READERS
from usp._formats.xml import cut
from usp._formats.xml.raw_entries import ElementRole
from usp._formats.xml.tree_reader import IGNORE, EntryLayout, FastPathDeclined, Shape, TreeReader
from usp.objects.page import PageFields

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from usp._formats.extension_reader import Places
    from usp._formats.xml.cut import CutNames
    from usp._formats.xml.namespaces import Space
    from usp._formats.xml.raw_entries import Dialect, KnownRoot, Record

_BEHIND = "\n" * 16  # so that nothing at the end of an entry waits for more
_FEW = 4  # entries that are not halved any more
_TREE = 72 * 1024  # characters; with the rest of an entry no more than LARGEST_TREE, mostly
_tag, _text = attrgetter("tag"), attrgetter("text")


@dataclass(eq=False)
class BlockReader:
    """Reads the fields of blocks directly below the root of a document.

    Pages keep it, and need not keep the parser with it.
    """

    _dialect: Dialect
    _root: KnownRoot
    _base: str | None
    _names: CutNames
    _lock: threading.Lock = field(default_factory=threading.Lock)  # pages may be read by threads

    @cached_property
    def _trees(self) -> TreeReader:
        return TreeReader(self._dialect, self._root.scope, self._base, self._root.layouts)

    def fields(self, block: str, end: str) -> list[PageFields]:
        """Return all fields of all entries of a block, which end in the same way."""
        with self._lock:
            return self._sparse(block, end) or self._read_all(block, end)

    def _sparse(self, block: str, end: str) -> list[PageFields] | None:
        """Cut the fields of entries without extensions, if most have none; read the others."""
        tags, entries = self._names.extensions, block.split(end)[:-1]
        rich = {at for tag in tags for at, entry in enumerate(entries) if tag in entry}
        if not 0 < 2 * len(rich) < len(entries):
            return None
        plain = end.join([*(entry for at, entry in enumerate(entries) if at not in rich), ""])
        shape = cut.shape_of(plain, self._names)
        found = None if shape is None else cut.columns(plain, shape)
        if found is None:
            return None
        others = iter(self._read_all(end.join([*(entries[at] for at in sorted(rich)), ""]), end))
        plain_rows = iter(rows_of_columns(found))
        return [next(others if at in rich else plain_rows) for at in range(len(entries))]

    def _read_all(self, block: str, end: str) -> list[PageFields]:
        """Read the entries of a block as trees of a few of them."""
        found: list[PageFields] = []
        at = 0
        while at < len(block):
            last = block.find(end, min(at + _TREE, len(block) - len(end)))
            found += self._read(block[at : last + len(end)], end)
            at = last + len(end)
        return found

    def _read(self, block: str, end: str) -> list[PageFields]:
        """Read entries as trees of fewer and fewer of them, and the rest one by one."""
        root, number = self._trees.parse(block), block.count(end)
        if root is not None and len(root) == number:
            return self._in_columns(root, block, end)
        entries = block.split(end)[:-1]
        if number <= _FEW:
            return [self._scanned(entry + end) for entry in entries]
        halves = entries[: number // 2], entries[number // 2 :]
        return [row for half in halves for row in self._read(end.join([*half, ""]), end)]

    def _one(self, element: Element, written: str) -> PageFields:
        """Return the fields of an entry that is unlike others."""
        try:
            return cast("PageEntry", self._trees.entry(element, IGNORE)).fields()
        except FastPathDeclined:
            return self._scanned(written)

    def _scanned(self, entry: str) -> PageFields:
        """Return the fields of a damaged entry."""
        longest, parser = self._dialect.longest, self._dialect.tables
        scanning = parser(self._base, fast=True, longest=longest, root=self._root)
        pages = (e.page() for e in scanning.scan(entry + _BEHIND) if isinstance(e, PageEntry))
        page = next(pages, None)
        return page.fields() if page else PageFields()

    # Columns ----------------------------------------------------------------------------------------

    def _in_columns(self, root: Element, block: str, end: str) -> list[PageFields]:
        """Return the fields of entries; those that cannot be read in columns are read one by one."""
        elements = [*islice(root.iter(), 1, None)]
        tags, sizes = [*map(_tag, elements)], [*map(len, elements)]
        each = len(elements) // len(root)
        alike: dict[Shape, list[int]] = {}
        if tags == tags[:each] * len(root) and sizes == sizes[:each] * len(root):
            starts = [*range(0, len(elements), each)]
            alike[*tags[:each], *sizes[:each]] = [*range(len(root))]
        else:
            starts = [at for at, tag in enumerate(tags) if tag == tags[0]]
            if len(starts) != len(root):  # entries in entries, or with other names
                return [*map(self._one, root, [f"{one}{end}" for one in block.split(end)])]
            for number, (start, stop) in enumerate(pairwise([*starts, len(tags)])):
                alike.setdefault((*tags[start:stop], *sizes[start:stop]), []).append(number)
        found: dict[int, PageFields] = {}
        for shape, numbers in alike.items():
            begins = [starts[number] for number in numbers]
            try:
                layout = self._trees.layout(shape, root[numbers[0]])
                found.update(zip(numbers, self._rows(layout, begins, elements), strict=True))
            except FastPathDeclined:
                entries = block.split(end)
                found.update((at, self._one(root[at], entries[at] + end)) for at in numbers)
        return [found[number] for number in range(len(root))]

    def _rows(
        self, layout: EntryLayout, starts: list[int], elements: list[Element]
    ) -> list[PageFields]:
        def column(at: int) -> list[Element]:
            return [elements[start + at] for start in starts]

        columns: list[Any] = [*map(repeat, PageFields())]
        found: dict[Space, list[Places]] = {}
        names = set()
        for (role, name, space), at, has_markup in layout.steps:
            if has_markup or (role is ElementRole.FIELD and name in names):
                raise FastPathDeclined  # of two fields one counts, by their texts
            if role is ElementRole.RECORD:
                found.setdefault(space, []).append([(name, at)])
            elif role is ElementRole.RECORD_FIELD:
                found.setdefault(space, [[]])[-1].append((name, at))
            else:
                names.add(name)
                if name in OWN_FIELDS:
                    place, value = OWN_FIELDS[name].place, OWN_FIELDS[name].value
                    columns[place] = map(value, map(_text, column(at)))
        for space, records in found.items():
            read_columns = COLUMNS.get(space)
            values = read_columns and read_columns(records, column, self._base)
            if values is None:
                read, base = READERS[space], self._base
                values = [
                    read([_record(one, start, elements) for one in records], ignore, base)
                    for start in starts
                ]
            columns[PLACES[space]] = values
        return [*map(new_fields, islice(zip(*columns, strict=False), len(starts)))]


def _record(places: Places, start: int, elements: list[Element]) -> Record:
    """Return a record of one entry: the name, text and attributes of each of its elements."""
    named = [(name, elements[start + at]) for name, at in places]
    return [given for name, one in named for given in (name, one.text or "", one)]
