"""Reads the extensions of XML sitemaps by their tables (:mod:`usp.objects.extensions`).

A field that cannot be read is a problem and is not set; a value without a required field is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from usp._base.loc_urls import SCHEMES, resolved
from usp._formats import values
from usp._formats.abstract_parser import ignore
from usp._formats.xml.namespaces import Space
from usp._formats.xml.raw_entries import ElementNames, Record, Written, given_in
from usp.objects.extension_values import SitemapImage, SitemapNewsStory
from usp.objects.extensions import EACH, EXTENSIONS, OWN, Extension, FieldSpec, Kind, Table
from usp.objects.page import PageFields
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Note

Read: TypeAlias = "Callable[[list[Record], Note, str | None], Any]"
"""``read(records, note, base)``: what the elements of an extension in one entry become."""

_ReadText: TypeAlias = Callable[[str | None], Any]
"""Returns the value of a field; None if the text cannot be read."""

Places: TypeAlias = list[tuple[str, int]]
"""The elements of a record in entries of one shape: their names, and their places in the entry."""

_Column: TypeAlias = "Callable[[int], list[Element]]"
"""``column(place)``: an element of all entries of one shape."""

_text_of = attrgetter("text")

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
    """Reads the elements of one record as a value of its table."""

    def __init__(self, table: Table, prefix: str) -> None:
        self._element = table.element
        self._prefix = prefix
        value = table.value
        self._make: Callable[..., Any] = (
            value if value is not None else lambda **found: table.make(found)
        )
        self._has_own = OWN in table.elements
        self._is_empty = not self._has_own and table.element not in table.elements
        # Whether its constructor takes the fields in their order, each of which may be None.
        self._is_positional = self._is_empty and value in (SitemapImage, SitemapNewsStory)
        self._order = [spec.argument or spec.name for spec in table.in_order]
        self._required = [(one.argument or one.name, one) for one in table.specs if one.required]
        self._each = [spec.name for spec in table.specs if spec.many == EACH]
        self._steps: dict[str, list[_Step]] = {}
        # Elements with a text and nothing else, as most are: they are read in the shortest way.
        self._alone: dict[str, tuple[str, _ReadText, Any]] = {}
        self._records: dict[str, tuple[str, TableReader]] = {}  # elements with a table each
        self._inside: dict[str, Table] = {}  # tables whose elements stand inside another one
        for spec in table.specs:
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

    def read(self, record: Record, note: Note, base: str | None) -> Any | None:
        """Return the value, or None if it lacks a required field."""
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
        if self._each or self._inside:
            self._complete(found)
        return self._make(**found)

    def read_column(
        self, record: Places, column: _Column, base: str | None
    ) -> Iterable[Any] | None:
        """Return the values of a record of all entries; None if it has more than plain fields."""
        if not self._is_positional or record[0][0] != self._element:
            return None
        found: dict[str, Iterable[Any]] = {}
        for name, at in record[1:]:
            if name not in self._alone or self._alone[name][0] in found:
                return None
            key, read, resolve = self._alone[name]
            values = [*map(read, map(_text_of, column(at)))]
            if resolve:
                values = [value and resolve(value, base) for value in values]
            found[key] = values
        rows = (found.get(key, repeat(None)) for key in self._order)
        required = [found.get(key, repeat(None)) for key, _ in self._required]
        if not any(None in values for values in required):
            return map(self._make, *rows)
        return (
            None if None in needed else self._make(*row)
            for needed, row in zip(
                zip(*required, strict=False), zip(*rows, strict=False), strict=False
            )
        )

    def _complete(self, found: dict[str, Any]) -> None:
        """Make the values that consist of several."""
        for name in self._each:
            found[name] = tuple(found.get(name, ()))
        for name, table in self._inside.items():
            if name in found:
                found[name] = table.make(found[name])

    def _read_element(
        self, element: Record, found: dict[str, Any], note: Note, base: str | None
    ) -> None:
        """Read the text and the attributes of an element."""
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


class ExtensionReader:
    """Reads what the elements of an extension become: of one entry, or of all that are alike."""

    def __init__(self, extension: Extension) -> None:
        self._table = TableReader(extension.table, extension.prefix)
        self._many = extension.many

    def read(self, records: list[Record], note: Note, base: str | None) -> Any:
        """Return the values of one entry, or the last if it can have only one; None without any."""
        if not self._many:
            return self._table.read(records[-1], note, base)
        values = [self._table.read(record, note, base) for record in records]
        return [value for value in values if value is not None] or None

    def read_columns(
        self, records: list[Places], column: _Column, base: str | None
    ) -> Iterable[Any] | None:
        """Return the same for all entries of one shape; None if they have to be read one by one."""
        found = []
        for record in records if self._many else records[-1:]:
            values = self._table.read_column(record, column, base)
            if values is None:
                return None
            found.append(values)
        if not self._many:
            return found[0]
        rows = zip(*found, strict=False)
        return ([value for value in row if value is not None] or None for row in rows)


def _link_columns(
    records: list[Places], column: _Column, base: str | None
) -> Iterable[list[tuple[str, str]] | None]:
    links = zip(*(column(at) for ((_, at),) in records), strict=True)
    return map(_read_links, links, repeat(ignore), repeat(base))


def _read_links(
    links: Iterable[Written], note: Note, base: str | None
) -> list[tuple[str, str]] | None:
    """Return language and address of each alternate; links of other kinds are passed over."""
    found = []
    for link in links:
        if not isinstance(link, str) and len(link.attrib) == _USUAL:
            language, href = link.get("hreflang", "").strip(), link.get("href", "")
            if link.get("rel") == "alternate" and language and href.startswith(SCHEMES):
                found.append((language, href.rstrip()))
                continue
        given = given_in(link, note)
        rel = given.get("rel", "")
        if rel != "alternate" and "alternate" not in rel.lower().split():
            continue
        language, href = given.get("hreflang", "").strip(), given.get("href", "").strip()
        if language and href:
            found.append((language, resolved(href, base)))
        elif "media" not in given and not _is_other_kind(href, given.get("type", "")):
            note(ProblemCode.BAD_ALTERNATE, language or href)
    return found or None


def _is_other_kind(href: str, media_type: str) -> bool:
    """Return whether an alternate is something else than a page: a feed, or a place in an app.

    A page for phones, too, has a medium instead of a language.
    """
    scheme, colon, _ = href.partition("://")
    if colon and scheme.lower() not in ("http", "https"):
        return True
    return media_type.partition(";")[0].strip().lower() not in _PAGE_TYPES


_USUAL = 3  # the attributes of a link that has nothing else
_PAGE_TYPES = ("", "text/html", "application/xhtml+xml")


def _read_mobile(records: list[Record], note: Note, base: str | None = None) -> bool:
    """Return True: the element has no content."""
    del note, base
    return bool(records)


_SPACES: Mapping[Space, Extension] = {Space[one.prefix.upper()]: one for one in EXTENSIONS}

NAMES: Mapping[Space, ElementNames] = {
    space: ElementNames(one.table.element, frozenset(one.table.names()))
    for space, one in _SPACES.items()
}
"""The elements of each extension that are read."""

_TABLES = {space: ExtensionReader(one) for space, one in _SPACES.items() if one.table.specs}

READERS: Mapping[Space, Read] = {
    **{space: reader.read for space, reader in _TABLES.items()},
    Space.XHTML: lambda records, *given: _read_links([one[2] for one in records], *given),
    Space.MOBILE: _read_mobile,
}
"""What reads each extension."""

COLUMNS = {space: reader.read_columns for space, reader in _TABLES.items()}
COLUMNS[Space.XHTML] = _link_columns
"""What reads extensions of all entries of one shape."""

PLACES: Mapping[Space, int] = {
    space: list(PageFields.__annotations__).index(one.field) for space, one in _SPACES.items()
}
"""The place in :class:`PageFields` that each extension fills."""
