"""Reads the extensions of XML sitemaps by their tables (:mod:`usp.objects.extensions`).

A field that cannot be read is a problem and is not set; a value without a required field is left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from usp._base.loc_urls import SCHEMES, resolved
from usp._formats import values
from usp._formats.abstract_parser import ignore
from usp._formats.xml.namespaces import Space
from usp._formats.xml.raw_entries import ElementNames, Record, Written, given_in
from usp.objects.extension_values import (
    EACH,
    SELF,
    FieldSpec,
    Kind,
    SitemapImage,
    SitemapNewsStory,
    Table,
)
from usp.objects.extensions import EXTENSIONS, Extension
from usp.objects.page import PageFields
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Note
    from usp._formats.xml.text_columns import Elements, EntryColumns

Read: TypeAlias = "Callable[[list[Record], Note, str | None], Any]"
"""``read(records, note, base)``: what the elements of an extension in one entry become."""

_ReadText: TypeAlias = Callable[[str | None], Any]
"""Returns the value of a field; None if the text cannot be read."""

_MISSING = (None,)  # a column without any value

_READ: Mapping[Kind, _ReadText] = {
    Kind.TEXT: values.text,
    Kind.VERBATIM: lambda raw: raw,
    Kind.ADDRESS: values.text,
    Kind.ADDRESS_OR_NAME: values.text,
    Kind.TIME: values.date,
    Kind.NUMBER: values.number,
    Kind.WHOLE: values.whole_number,
    Kind.FLAG: values.yes_no,
}
_COLUMN_READERS: Mapping[_ReadText, Callable[[Sequence[str]], Sequence[Any]]] = {
    values.text: values.texts,
    values.date: values.dates,
}
"""What reads a whole column faster."""


def _resolved_if_path(text: str, base: str | None) -> str:
    return resolved(text, base) if text.startswith("/") else text


_RESOLVE: Mapping[Kind, Callable[[str, str | None], str]] = {
    Kind.ADDRESS: resolved,
    Kind.ADDRESS_OR_NAME: _resolved_if_path,
}


class _Step(NamedTuple):
    """One field of an element."""

    key: str
    read: _ReadText
    resolve: Callable[[str, str | None], str] | None
    inside: str | None  # the field whose value this one belongs to, if not the record itself
    spec: FieldSpec


class TableReader:
    """Reads the elements of an extension: the records of one entry, or of all that are alike."""

    def __init__(self, table: Table, prefix: str, *, many: bool = True) -> None:
        self._table = table
        self._element = table.element
        self._prefix = prefix
        self._many = many
        self._make: Callable[..., Any] = table.value or (lambda **found: table.make(found))
        self._has_own = SELF in table.elements
        self._is_empty = not self._has_own and table.element not in table.elements
        self._has_columns = table.value in (SitemapImage, SitemapNewsStory)  # only plain fields
        self._required = [(one.argument or one.name, one) for one in table.specs if one.required]
        self._each = [spec.name for spec in table.specs if spec.many == EACH]
        self._steps: dict[str, list[_Step]] = {}
        # Elements with a text and nothing else, as most are: they are read in the shortest way.
        self._alone: dict[str, tuple[str, _ReadText, Any]] = {}
        self._records: dict[str, tuple[str, TableReader]] = {}  # elements with a table each
        self._inside: dict[str, Table] = {}  # tables whose elements stand inside another one
        for spec in table.specs:
            if spec.feeds_only:
                continue
            if not isinstance(spec.kind, Table):
                self._add(spec, None)
            elif spec.many == EACH:
                self._records[spec.tag] = spec.name, TableReader(spec.kind, prefix)
            else:
                self._inside[spec.name] = spec.kind
                for inner in spec.kind.specs:
                    self._add(inner, spec.name)

    def _add(self, spec: FieldSpec, inside: str | None) -> None:
        assert isinstance(spec.kind, Kind)
        key, tag = spec.argument or spec.name, spec.tag or self._element
        read, resolve = _READ[spec.kind], _RESOLVE.get(spec.kind)
        if spec.many:
            read = partial(values.listed, separator=None if spec.many == " " else spec.many)
        steps = self._steps.setdefault(tag, [])
        steps.append(_Step(key, read, resolve, inside, spec))
        self._alone.pop(tag, None)
        if len(steps) == 1 and not (spec.attribute or inside or spec.many == EACH):
            self._alone[tag] = key, read, resolve

    def read_all(self, records: list[Record], note: Note, base: str | None) -> Any:
        """Return the values of one entry, or the last if it can have only one; None without any."""
        if not self._many:
            return self.read(records[-1], note, base)
        values = [self.read(record, note, base) for record in records]
        return [value for value in values if value is not None] or None

    def read_columns(
        self, records: list[Elements], entries: EntryColumns, base: str | None
    ) -> Iterable[Any] | None:
        """Return the same for entries in columns; None if they have to be read one by one."""
        read = records if self._many else records[-1:]
        found = [self._read_column(record, entries, base) for record in read]
        if None in found:
            return None
        return map(list, zip(*found, strict=True)) if self._many else found[0]

    def read(self, record: Record, note: Note, base: str | None) -> Any | None:
        """Return the value of a record, or None if it lacks a required field."""
        begun = record[0] == self._element
        if self._has_own and not begun:
            place = f"{self._prefix}:{record[0]}"
            note(ProblemCode.MISPLACED_EXTENSION_FIELD, f"{place}: {record[1]}")
            return None
        found: dict[str, Any] = {}
        rest = iter(record[3:] if begun and self._is_empty else record)
        for name, text, written in zip(rest, rest, rest, strict=True):
            alone = self._alone.get(name)
            if alone is not None:
                key, read, resolve = alone
                value = read(text)
                if value is not None:
                    found[key] = resolve(value, base) if resolve else value
                    if note is not ignore and read is values.date:
                        values.note_zone(text, value, note)
                    continue
            self._read_element([name, text, written], found, note, base)
        for key, spec in self._required:
            if found.get(key) is None:
                self._note_missing(spec, record, note)
                return None
        for name in self._each:
            found[name] = tuple(found.get(name, ()))
        for name in self._inside.keys() & found:
            found[name] = self._inside[name].make(found[name])
        return self._make(**found)

    def _read_column(
        self, record: Elements, entries: EntryColumns, base: str | None
    ) -> Sequence[Any] | None:
        """Return the values of a record of all entries; None if any lacks a field, or has more."""
        fields = [self._alone.get(name) for name, _ in record[1:]]
        if not self._has_columns or record[0][0] != self._element or None in fields:
            return None
        found: dict[str, Sequence[Any]] = {}
        for (_, at), field in zip(record[1:], fields, strict=True):
            assert field is not None
            key, read, resolve = field
            if key in found:
                return None
            column = entries.texts(at)
            read_column = _COLUMN_READERS.get(read)
            given = read_column(column) if read_column else [*map(read, column)]
            if resolve and not all(map(str.startswith, column, repeat(SCHEMES))):
                given = [value and resolve(value, base) for value in given]
            found[key] = given
        if any(None in found.get(key, _MISSING) for key, _ in self._required):
            return None
        return made_of_columns(self._table, found, entries.number)

    def _read_element(
        self, element: Record, found: dict[str, Any], note: Note, base: str | None
    ) -> None:
        tag, text, written = element
        if tag in self._records:
            name, reader = self._records[tag]
            value = reader.read(element, note, base)
            if value is not None:
                found.setdefault(name, []).append(value)
            return
        given = given_in(written, note)
        for key, read, resolve, inside, spec in self._steps.get(tag, ()):
            attribute = spec.attribute
            raw = text if attribute is None else given.get(attribute)
            value = read(raw)
            if resolve and value is not None:
                value = resolve(value, base)
            if value is None:
                unread = values.text(raw)
                if unread and not spec.required:
                    place = f"{self._prefix}:{tag}" + (f"[{attribute}]" if attribute else "")
                    note(ProblemCode.BAD_EXTENSION_FIELD, f"{place}: {unread}")
                value = given.get(spec.instead or "", spec.default)
            into = found if inside is None else found.setdefault(inside, {})
            if spec.many != EACH:
                into[key] = value
            elif value is not None:
                into.setdefault(key, []).append(value)

    def _note_missing(self, spec: FieldSpec, record: Record, note: Note) -> None:
        named = zip(record[::3], record[1::3], strict=True)
        texts = [values.text(text) for name, text in named if name == spec.tag]
        unread = texts[-1] if texts and spec.attribute is None else None
        place = f"{self._prefix}:{spec.tag or self._element}"
        place += f"[{spec.attribute}]" if spec.attribute else ""
        note(ProblemCode.MISSING_EXTENSION_FIELD, f"{place}: {unread}" if unread else place)


def made_of_columns(table: Table, found: Mapping[str, Iterable[Any]], number: int) -> list[Any]:
    """Return values of a table: much faster than their constructor, which makes one at a time."""
    kind: Any = table.value
    made: list[Any] = [*map(object.__new__, repeat(kind, number))]
    for spec in table.specs:
        nothing: Any = repeat(() if spec.many else None)
        values: Iterable[Any] = found.get(spec.argument or spec.name, nothing)
        if spec.many:
            values = map(list, values)
        deque(map(getattr(kind, spec.name).__set__, made, values), 0)
    return made


def _link_columns(
    records: list[Elements], entries: EntryColumns, base: str | None
) -> Iterable[list[tuple[str, str]]] | None:
    """Return the alternates of entries; None if they are not written in the usual way."""
    del base
    found = []
    for ((_, at),) in records:
        language = at.attributes.get("hreflang", "").strip()
        others = {**at.attributes, "hreflang": ""}
        if at.address != "href" or not language or others != _USUAL:
            return None
        found.append(zip(repeat(language), entries.addresses(at), strict=False))
    return map(list, zip(*found, strict=True))


def _read_links(
    links: Iterable[Written], note: Note, base: str | None
) -> list[tuple[str, str]] | None:
    found = [(language, resolved(href, base)) for language, href in alternates(links, note)]
    return found or None


def alternates(links: Iterable[Written], note: Note) -> Iterator[tuple[str, str]]:
    """Yield language and address of each alternate, as they are written."""
    for link in links:
        given = given_in(link, note)
        rel = given.get("rel", "")
        if rel != "alternate" and "alternate" not in rel.lower().split():
            continue
        language, href = given.get("hreflang", "").strip(), given.get("href", "").strip()
        if language and href:
            yield language, href
        elif "media" not in given and not _is_other_kind(href, given.get("type", "")):
            note(ProblemCode.BAD_ALTERNATE, language or href)


def _is_other_kind(href: str, media_type: str) -> bool:
    """Return whether an alternate is something else than a page: a feed, or a place in an app.

    A page for phones, too, has a medium instead of a language.
    """
    scheme, colon, _ = href.partition("://")
    if colon and scheme.lower() not in ("http", "https"):
        return True
    return media_type.partition(";")[0].strip().lower() not in _PAGE_TYPES


_USUAL = {"rel": "alternate", "hreflang": ""}  # the attributes of a link that has nothing else
_PAGE_TYPES = ("", "text/html", "application/xhtml+xml")


_SPACES: Mapping[Space, Extension] = {Space[one.prefix.upper()]: one for one in EXTENSIONS}

STORIES = _SPACES[Space.NEWS].table
"""The table of news stories, which the entries of feeds are, too."""

NAMES: Mapping[Space, ElementNames] = {
    space: ElementNames(one.table.element, frozenset(one.table.names()))
    for space, one in _SPACES.items()
}
"""The elements of each extension that are read."""

_TABLES = {
    space: TableReader(one.table, one.prefix, many=one.many)
    for space, one in _SPACES.items()
    if one.table.specs
}


def _read_resource(records: list[Record], note: Note, base: str | None) -> Any:
    """Return a resource with its links, which stand beside it, or before it."""
    elements = [record[at : at + 3] for record in records for at in range(0, len(record), 3)]
    own = [element for element in elements if element[0] == "md"][-1:] or [["md", "", ""]]
    links = [element for element in elements if element[0] != "md"]
    return _TABLES[Space.RS].read([*chain.from_iterable((*own, *links))], note, base)


READERS: Mapping[Space, Read] = {
    **{space: reader.read_all for space, reader in _TABLES.items()},
    Space.RS: _read_resource,
    Space.XHTML: lambda records, *given: _read_links([one[2] for one in records], *given),
    Space.MOBILE: lambda *_: True,  # the element has no content
}
"""What reads each extension."""

COLUMNS = {space: reader.read_columns for space, reader in _TABLES.items()}
COLUMNS[Space.XHTML] = _link_columns
"""What reads extensions of all entries of one shape."""

PLACES: Mapping[Space, int] = {
    space: list(PageFields.__annotations__).index(one.field) for space, one in _SPACES.items()
}
"""The place in :class:`PageFields` that each extension fills."""
