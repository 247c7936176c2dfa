"""Pages in batches: cut out of a block and read on demand, or read as entries.

Of entries that are written with the same tags, fields are read in columns, all texts of an element at a
time; of the others as trees, and of what is damaged by the scanner.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from usp._base.dates import unknown_zone
from usp._formats import values
from usp._formats.abstract_parser import (
    NO_FIELDS,
    PageBatch,
    PageEntry,
    ReadOptions,
    ignore,
)
from usp._formats.extension_reader import COLUMNS, PLACES, READERS
from usp._formats.xml import cut
from usp._formats.xml.cut import FIELDS
from usp._formats.xml.raw_entries import ElementRole
from usp._formats.xml.text_columns import in_order, split_alike
from usp._formats.xml.tree_reader import IGNORE
from usp.objects.page import PageFields, SitemapPageChangeFrequency
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from usp._formats.abstract_parser import Note
    from usp._formats.xml.cut import EntryShape
    from usp._formats.xml.namespaces import Space
    from usp._formats.xml.text_columns import Elements, EntryColumns
    from usp._formats.xml.tree_reader import TreeReader
    from usp._formats.xml.xml_parser import XmlParser
    from usp.objects.page import PageBlock

_BEHIND = "\n" * 16  # so that nothing at the end of an entry waits for more


class CoreField(NamedTuple):
    """A field of the protocol: its place in :class:`PageFields`, and what is read from its text.

    If it cannot be read, that is a problem, and the field has its default.
    """

    place: int
    read: Callable[[str], Any]
    problem: ProblemCode
    default: Any

    def value(self, text: str) -> Any:
        """Return the value of a text; that of a page without the field if it is blank."""
        if not text.strip():
            return NO_FIELDS[self.place]
        found = self.read(text)
        return self.default if found is None else found


_ALWAYS = SitemapPageChangeFrequency.ALWAYS
CORE_FIELDS = {
    "lastmod": CoreField(1, values.date, ProblemCode.BAD_LASTMOD, None),
    "changefreq": CoreField(2, values.change_frequency, ProblemCode.BAD_CHANGEFREQ, _ALWAYS),
    "priority": CoreField(0, values.priority, ProblemCode.BAD_PRIORITY, NO_FIELDS.priority),
}


def read_core_fields(raw: Mapping[str, str], note: Note = ignore) -> list[Any]:
    """Parse the fields of the protocol itself; return all fields of a page, without extensions."""
    fields = [*NO_FIELDS]
    for name, (place, read, problem, default) in CORE_FIELDS.items():
        if name in raw:
            value = read(raw[name])
            if value is None:
                note(problem, raw[name])
                value = default
            elif note is not ignore and name == "lastmod":
                values.note_zone(raw[name], value, note)
            fields[place] = value
    return fields


@lru_cache(maxsize=64)
def read_frequency(text: str) -> str | None:
    """Return a change frequency as the parsers read it; None for an empty text."""
    found = CORE_FIELDS["changefreq"].value(text)
    return None if found is None else found.value


@lru_cache(maxsize=1024)
def read_priority(text: str) -> float | None:
    """Return a priority as the parsers read it; None if there is none, or none that can be read."""
    found = CORE_FIELDS["priority"].value(text)
    return None if found is NO_FIELDS.priority else float(found)


new_fields = partial(tuple.__new__, PageFields)
"""Makes the fields of a page of all of them in turn, much faster than their class does."""


def core_values(name: str, texts: Sequence[str]) -> Iterable[Any]:
    """Return the values of a field of the protocol in many pages; empty texts are none."""
    if name == "lastmod":
        return values.dates(texts)
    # Words and numbers repeat: there are few in a block.
    known = {text: CORE_FIELDS[name].value(text) for text in set(texts)}
    return map(known.get, texts)


def rows_of_columns(columns: Mapping[str, Sequence[str]]) -> list[PageFields]:
    """Return the fields of pages whose texts are known: the locs, and those of the protocol."""
    rows: list[Any] = [*map(repeat, NO_FIELDS)]  # which have no end
    for name, own in CORE_FIELDS.items():
        texts = columns.get(name, ())
        if any(texts):
            rows[own.place] = core_values(name, texts)
    return [*map(new_fields, islice(zip(*rows, strict=False), len(columns["loc"])))]


def can_be_read(columns: Mapping[str, Sequence[str]]) -> bool:
    """Return whether there is no problem with any of the values in columns."""
    dates = [*filter(None, columns.get("lastmod", ()))]
    if None in values.dates(dates) or unknown_zone("|".join(dates)):
        return False
    words = {(name, text) for name in FIELDS[1:] for text in columns.get(name, ()) if text}
    return all(CORE_FIELDS[name].read(text) is not None for name, text in words)


@dataclass(eq=False)
class BlockReader:
    """Reads the fields of blocks directly below the root of a document.

    Pages keep it, and need not keep the parser with it.
    """

    _url: str | None
    _root: str  # its tag
    _trees: TreeReader
    _lock: threading.Lock = field(default_factory=threading.Lock)  # pages may be read by threads

    def fields(self, block: str, end: str) -> list[PageFields]:
        """Return all fields of all entries of a block, which end in the same way."""
        with self._lock:
            alike, others = split_alike(block, end, self._trees)
            parts = []
            for numbers, entries in alike:
                rows = self._rows(entries)
                if rows is None:
                    others += numbers
                else:
                    parts.append((numbers, rows))
            if others:
                written = block.split(end)
                rest = [written[number] for number in others]
                read = self._read(rest, end)
                damaged = (one + end for one, row in zip(rest, read, strict=True) if row is None)
                scanned = self._scanned(damaged)
                parts.append((others, [row or next(scanned) for row in read]))
            return in_order(parts)

    def _read(self, entries: list[str], end: str) -> Sequence[PageFields | None]:
        """Read entries as trees of fewer and fewer of them; return None for one that is damaged."""
        found = self._trees.entries(end.join([*entries, ""]), IGNORE)
        if found is not None and len(found) == len(entries):
            return [cast("PageEntry", entry).fields() for entry in found]
        if len(entries) == 1:
            return [None]
        half = len(entries) // 2
        return [*self._read(entries[:half], end), *self._read(entries[half:], end)]

    def _scanned(self, entries: Iterable[str]) -> Iterator[PageFields]:
        """Yield the fields of damaged entries, each as if it were the first one below the root."""
        dialect = self._trees.dialect
        options = ReadOptions(fast=True, url_length=dialect.longest)
        parser: XmlParser | None = None
        for entry in entries:
            text = entry + _BEHIND
            if parser is None or not parser.is_below_root:
                parser, text = dialect.tables(self._url, None, options), self._root + text
            page = next((one for one in parser.scan(text) if isinstance(one, PageEntry)), None)
            yield page.fields() if page else NO_FIELDS

    def _rows(self, entries: EntryColumns) -> list[PageFields] | None:
        columns: list[Any] = [*map(repeat, PageFields())]
        found: dict[Space, list[Elements]] = {}
        names = set()
        for (role, name, space), element in entries.skeleton.elements:
            if role is ElementRole.RECORD:
                found.setdefault(space, []).append([(name, element)])
            elif role is ElementRole.RECORD_FIELD:
                found.setdefault(space, [[]])[-1].append((name, element))
            elif name in names:
                return None  # of two fields one counts, by their texts
            elif name in CORE_FIELDS:
                columns[CORE_FIELDS[name].place] = core_values(name, entries.texts(element))
                names.add(name)
        for space, records in found.items():
            read_columns = COLUMNS.get(space)
            values = read_columns and read_columns(records, entries, self._trees.base)
            if values is None:
                rows = zip(*map(entries.records, records), strict=True)
                values = map(
                    READERS[space], map(list, rows), repeat(ignore), repeat(self._trees.base)
                )
            columns[PLACES[space]] = values
        return [*map(new_fields, islice(zip(*columns, strict=False), entries.number))]


class LazyBatch(PageBatch):
    """Pages whose URLs were cut out of a block; everything else is read on demand.

    ``columns`` are the locs and the fields of the protocol, if they are cut already and there are no
    others. ``reader`` reads all fields of such a block.
    """

    def __init__(
        self,
        urls: list[str],
        block: str,
        shape: EntryShape,
        reader: BlockReader,
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.urls = urls
        self._block = block
        self._shape = shape
        self._reader = reader
        self._columns = columns  # empty if they cannot be cut

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields in columns, if there are no others."""
        columns = self._cut_columns()
        if not columns:
            return None
        return {name: columns[name] for name in FIELDS if any(columns.get(name, ()))}

    def core_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the same without blanks around them; of pages with other fields they are not known."""
        texts = self.texts()
        is_usual = self._block.isascii() and "&#" not in self._block
        strip = str.strip if is_usual else values.without_xml_blanks
        return texts and {name: [*map(strip, column)] for name, column in texts.items()}

    def entry_texts(self) -> list[str] | None:
        """Return each entry as written; None if that is not known without parsing them."""
        *texts, _ = self._block.split(self._shape.url_end)
        return texts if len(texts) == len(self.urls) else None

    def part(self, numbers: Sequence[int]) -> PageBlock | None:
        """Return a block of some of the pages that keeps nothing else; None if that takes parsing."""
        texts = self.entry_texts()
        if texts is None:
            return None
        urls, end = self.urls, self._shape.url_end
        block = end.join([texts[at] for at in numbers] + [""])
        return LazyBatch([urls[at] for at in numbers], block, self._shape, self._reader)

    def rows(self) -> Sequence[PageFields]:
        """Return everything except the URL of each page, without creating page objects."""
        if not self._rows:
            columns, end = self._cut_columns(), self._shape.url_end
            read = rows_of_columns(columns) if columns else self._reader.fields(self._block, end)
            self._rows = read
        return self._rows

    def _cut_columns(self) -> Mapping[str, Sequence[str]]:
        """Return the columns of a regular block whose entries have no other fields; else nothing."""
        if self._columns is None:
            self._columns = cut.columns(self._block, self._shape) or {}
        return self._columns
