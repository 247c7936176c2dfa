"""Pages in batches: cut out of a block and read on demand, or read as entries."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from usp._formats import values
from usp._formats.abstract_parser import PageBatch, ignore, own_columns
from usp._formats.xml import cut
from usp._formats.xml.cut import FIELDS
from usp.objects.page import PageFields, SitemapPageChangeFrequency
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from usp._formats.abstract_parser import Note, PageEntry
    from usp._formats.xml.cut import EntryShape
    from usp.objects.page import PageBlock

    ReadBlock: TypeAlias = Callable[[str, str], Sequence[PageFields]]
    """``read(block, end)``: all fields of the entries of a block, which end so."""


class OwnField(NamedTuple):
    """A field of the protocol: its place in :class:`PageFields`, and what is read from its text.

    If it cannot be read, that is a problem, and the field has its default.
    """

    place: int
    read: Callable[[str], Any]
    problem: ProblemCode
    default: Any

    def value(self, text: str | None) -> Any:
        """Return the value of a text; that of a page without the field if it is blank."""
        if not text or text.isspace():
            return _NOTHING[self.place]
        found = self.read(text)
        return self.default if found is None else found


_NOTHING, _ALWAYS = PageFields(), SitemapPageChangeFrequency.ALWAYS
OWN_FIELDS = {
    "lastmod": OwnField(1, values.date, ProblemCode.BAD_LASTMOD, None),
    "changefreq": OwnField(2, values.change_frequency, ProblemCode.BAD_CHANGEFREQ, _ALWAYS),
    "priority": OwnField(0, values.priority, ProblemCode.BAD_PRIORITY, _NOTHING.priority),
}


def read_own(raw: Mapping[str, str], note: Note = ignore) -> list[Any]:
    """Parse the fields of the protocol itself; return all fields of a page, without extensions."""
    fields = [*_NOTHING]
    for name, (place, read, problem, default) in OWN_FIELDS.items():
        if name in raw:
            value = read(raw[name])
            if value is None:
                note(problem, raw[name])
                value = default
            elif note is not ignore and name == "lastmod":
                values.note_zone(raw[name], value, note)
            fields[place] = value
    return fields


new_fields = partial(tuple.__new__, PageFields)
"""Makes the fields of a page of all of them in turn, much faster than their class does."""


def rows_of_columns(columns: Mapping[str, Sequence[str]]) -> list[PageFields]:
    """Return the fields of pages whose texts are known: the locs, and those of the protocol."""
    rows: list[Any] = [*map(repeat, _NOTHING)]  # which have no end
    for name, field in OWN_FIELDS.items():
        texts = columns.get(name, ())
        if any(texts):
            # Words and numbers repeat: there are few in a block.
            known = {} if name == "lastmod" else {text: field.value(text) for text in set(texts)}
            rows[field.place] = map(known.get, texts) if known else values.dates(texts)
    return [*map(new_fields, islice(zip(*rows, strict=False), len(columns["loc"])))]


def can_be_read(columns: Mapping[str, Sequence[str]]) -> bool:
    """Return whether there is no problem with any of the values in columns."""
    lastmod, changefreq, priority = (columns.get(name, ()) for name in FIELDS)
    return (
        None not in values.dates(list(filter(None, lastmod)))
        and None not in map(values.change_frequency, filter(None, set(changefreq)))
        and None not in map(values.priority, filter(None, set(priority)))
    )


class LazyBatch(PageBatch):
    """Pages whose URLs were cut out of a block; everything else is read on demand.

    ``columns`` are the locs and the fields of the protocol, if they are cut already and there are no
    others. ``read`` reads all fields of such a block.
    """

    def __init__(
        self,
        urls: list[str],
        block: str,
        shape: EntryShape,
        read: ReadBlock,
        columns: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        self.urls = urls
        self._block = block
        self._shape = shape
        self._read = read
        self._columns = columns  # empty if they cannot be cut

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields in columns, if there are no others."""
        columns = self._cut_columns()
        if not columns:
            return None
        return {name: columns[name] for name in FIELDS if any(columns.get(name, ()))}

    def own_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the same without blanks around them; of pages with other fields they are not known."""
        texts = self.texts()
        return texts and {name: [*map(str.strip, column)] for name, column in texts.items()}

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
        return LazyBatch([urls[at] for at in numbers], block, self._shape, self._read)

    def rows(self) -> Sequence[PageFields]:
        """Return everything except the URL of each page, without creating page objects."""
        if not self._rows:
            columns = self._cut_columns()
            self._rows = (
                rows_of_columns(columns)
                if columns
                else self._read(self._block, self._shape.url_end)
            )
        return self._rows

    def _cut_columns(self) -> Mapping[str, Sequence[str]]:
        """Return the columns of a regular block whose entries have no other fields; else nothing."""
        if self._columns is None:
            self._columns = cut.columns(self._block, self._shape) or {}
        return self._columns


class ParsedBatch(PageBatch):
    """Pages of entries that were read; with ``note``, their fields are read at once."""

    def __init__(self, entries: Sequence[PageEntry], note: Note | None = None) -> None:
        self._entries = entries
        self.urls = [entry.url for entry in entries]
        if note is not None:
            self._rows = [entry.fields(0, note) for entry in entries]
            self.as_written = [entry.as_written for entry in entries]

    def own_texts(self) -> Mapping[str, Sequence[str]]:
        """Return the fields of the protocol in columns."""
        return own_columns(self._entries)

    def rows(self) -> Sequence[PageFields]:
        """Return everything except the URL of each page; the entries are not needed after that."""
        entries, rows = self._entries, self._rows  # which another thread may be reading
        if not rows:
            rows = self._rows = [entry.fields() for entry in entries]
            self._entries = ()
        return rows
