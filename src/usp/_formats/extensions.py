"""Reads the extensions of XML sitemaps by their tables (:mod:`usp.objects.extensions`).

A field that cannot be read is a problem and is not set; a value without a required field is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from usp._formats import values
from usp._formats.values import SCHEMES, resolved
from usp._formats.xml.entries import ElementNames
from usp._formats.xml.namespaces import Space
from usp.objects.extension_values import thawed
from usp.objects.extensions import EACH, EXTENSIONS, OWN, Kind, Table
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from usp._formats.abstract_parser import Note
    from usp._formats.xml.entries import Field
    from usp.objects.extensions import Extension, FieldSpec

Read: TypeAlias = "Callable[[list[list[Field]], Note, str | None], Any]"
"""``read(records, note, base)``: what the elements of an extension in one entry become."""

_ReadText: TypeAlias = Callable[[str | None], Any]
"""Returns the value of a field; None if the text cannot be read."""

Shortcut: TypeAlias = "Callable[[Sequence[str | None], str | None], Any]"
"""``read(texts, base)``: a value, from the texts of its elements; the last of them is None."""

_text = values.text

_READ: Mapping[Kind, _ReadText] = {
    Kind.TEXT: _text,
    Kind.VERBATIM: lambda raw: raw,
    Kind.ADDRESS: _text,
    Kind.ADDRESS_OR_NAME: _text,
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


def _reader_of(spec: FieldSpec) -> _ReadText:
    assert isinstance(spec.kind, Kind)
    if not spec.many:
        return _READ[spec.kind]
    separator = None if spec.many == " " else spec.many
    return lambda raw: values.listed(raw, separator)


class Step(NamedTuple):
    """One field of an element."""

    key: str
    attribute: str | None
    read: _ReadText
    resolve: Callable[[str, str | None], str] | None
    inside: str | None  # the field whose value this one belongs to, if not the record itself
    spec: FieldSpec


class TableReader:
    """Reads the elements of one record as a value of its table."""

    def __init__(self, table: Table, prefix: str) -> None:
        self._table = self.table = table
        self._prefix = prefix
        value = table.value
        self._make = table.make if value is None else lambda found: value(**found)
        self._has_own = OWN in table.elements
        self._is_empty = not self._has_own and table.element not in table.elements
        self._required = [spec for spec in table.specs if spec.required]
        self._each = [spec.name for spec in table.specs if spec.many == EACH]
        self._steps: dict[str, list[Step]] = {}
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
        key, tag = spec.argument or spec.name, spec.tag or self._table.element
        read, resolve = _reader_of(spec), _RESOLVE.get(spec.kind)
        steps = self._steps.setdefault(tag, [])
        steps.append(Step(key, spec.attribute, read, resolve, inside, spec))
        self._alone.pop(tag, None)
        if len(steps) == 1 and not (spec.attribute or inside or spec.many == EACH):
            self._alone[tag] = key, read, resolve

    def read(self, elements: list[Field], note: Note, base: str | None) -> Any | None:
        """Return the value, or None if it lacks a required field."""
        begun = elements[0].name == self._table.element
        if self._has_own and not begun:
            self._note_stray(elements[0], note)
            return None
        found: dict[str, Any] = {}
        for element in elements[1:] if begun and self._is_empty else elements:
            name, text, _ = element
            alone = self._alone.get(name)
            if alone is not None:
                key, read, resolve = alone
                value = read(text)
                if value is not None:
                    found[key] = resolve(value, base) if resolve else value
                    continue
            self._read_element(element, found, note, base)
        for spec in self._required:
            if found.get(spec.argument or spec.name) is None:
                self._note_missing(spec, elements, note)
                return None
        return self._made(found)

    @property
    def is_plain(self) -> bool:
        """Whether everything about a value is in elements inside the record's own."""
        return self._table.value is not None and self._is_empty

    def part(self, tag: str) -> tuple[str, TableReader] | None:
        """Return the field and the reader of an element that has a table of its own."""
        return self._records.get(tag)

    def steps(self, tag: str) -> list[Step]:
        """Return the fields that any other element has."""
        return self._steps[tag]

    def shortcut(self, names: list[str], places: list[int]) -> Shortcut | None:
        """Return what reads a record whose elements have these names, if their texts are enough.

        ``places`` are the numbers of their texts: None if it is empty, or else without blanks around
        it and without references. The shortcut raises ``ValueError`` if one of them cannot be read.
        """
        table, begin, own = self._table, names[0], set(names[1:])
        if table.value is None or begin != table.element or not self._is_empty:
            return None
        if not self._alone.keys() >= own or len(own) < len(names) - 1:
            return None
        place = dict(zip(names, places, strict=True))
        empty: list[Any] = []
        steps: list[tuple[int, int, _ReadText | None, Any]] = []
        for at, (spec, field) in enumerate(zip(table.in_order, fields(table.value), strict=True)):
            empty.append(None if spec.many is None else ())
            is_list = str(field.type).startswith("list")
            if spec.tag in own or is_list:
                _, read, resolve = self._alone[spec.tag]
                reader = _as_list(read) if is_list else None if read is _text else read
                steps.append((at, place.get(spec.tag, -1), reader, resolve))
        required = [at for at, spec in enumerate(table.in_order) if spec.required]
        return partial(_read_shortly, table.value, thawed(table.value), empty, steps, required)

    def _made(self, found: dict[str, Any]) -> Any:
        for name in self._each:
            found[name] = tuple(found.get(name, ()))
        for name, table in self._inside.items():
            if name in found:
                found[name] = table.make(found[name])
        return self._make(found)

    def _read_element(
        self, element: Field, found: dict[str, Any], note: Note, base: str | None
    ) -> None:
        """Read the text and the attributes of an element."""
        if element.name in self._records:
            name, reader = self._records[element.name]
            value = reader.read([element], note, base)
            if value is not None:
                found.setdefault(name, []).append(value)
            return
        given = element.attributes(note)
        for key, attribute, read, resolve, inside, spec in self._steps.get(element.name, ()):
            raw = element.text if attribute is None else given.get(attribute)
            value = read(raw)
            if resolve and value is not None:
                value = resolve(value, base)
            if value is None:
                text = values.text(raw)
                if text and not spec.required:
                    place = f"{self._prefix}:{_place(element, spec)}"
                    note(ProblemCode.BAD_EXTENSION_FIELD, f"{place}: {text}")
                value = given.get(spec.instead or "", spec.default)
            into = found if inside is None else found.setdefault(inside, {})
            if spec.many != EACH:
                into[key] = value
            elif value is not None:
                into.setdefault(key, []).append(value)

    def _note_stray(self, element: Field, note: Note) -> None:
        place = f"{self._prefix}:{element.name}"
        note(ProblemCode.MISPLACED_EXTENSION_FIELD, f"{place}: {element.text}")

    def _note_missing(self, spec: FieldSpec, elements: list[Field], note: Note) -> None:
        texts = [values.text(one.text) for one in elements if one.name == spec.tag]
        unread = texts[-1] if texts and spec.attribute is None else None
        place = f"{self._prefix}:{spec.tag or self._table.element}"
        place += f"[{spec.attribute}]" if spec.attribute else ""
        note(ProblemCode.MISSING_EXTENSION_FIELD, f"{place}: {unread}" if unread else place)


def _as_list(read: _ReadText) -> _ReadText:
    return lambda raw: [*read(raw)] if raw else []


def _read_shortly(
    kind: type,
    thawed_kind: Callable[..., Any],
    empty: list[Any],
    steps: list[tuple[int, int, _ReadText | None, Any]],
    required: list[int],
    texts: Sequence[str | None],
    base: str | None,
) -> Any:
    """Return a value by its shortcut."""
    given = empty.copy()
    for at, place, read, resolve in steps:
        value: Any = texts[place]
        if read is not None:
            text, value = value, read(value)
            if value is None and text:
                raise ValueError(text)
        elif resolve is not None and value and not value.startswith(SCHEMES):
            value = resolve(value, base)
        given[at] = value
    for at in required:
        if given[at] is None:
            raise ValueError(at)
    made = thawed_kind(*given)
    made.__class__ = kind
    return made


def _place(element: Field, spec: FieldSpec) -> str:
    return element.name if spec.attribute is None else f"{element.name}[{spec.attribute}]"


def _reader(extension: Extension) -> Read:
    """Return what reads an extension."""
    reader = TABLES[Space[extension.prefix.upper()]]

    def read_all(records: list[list[Field]], note: Note, base: str | None = None) -> Any:
        found = [reader.read(record, note, base) for record in records]
        return [value for value in found if value is not None] or None

    def read_last(records: list[list[Field]], note: Note, base: str | None = None) -> Any:
        return reader.read(records[-1], note, base)

    return read_all if extension.many else read_last


_USUAL = ["rel", "hreflang", "href"]  # the attributes of nearly every link, in this order


def _read_alternates(
    records: list[list[Field]], note: Note, base: str | None = None
) -> list[tuple[str, str]] | None:
    """Return language and address of each alternate; links of other kinds are passed over."""
    found = []
    for record in records:
        written = record[0].written
        usual = not isinstance(written, str) and written.keys() == _USUAL
        link: Any = written if usual else record[0].attributes(note)
        rel = link.get("rel", "")
        if rel != "alternate" and "alternate" not in rel.lower().split():
            continue
        language, href = link.get("hreflang", "").strip(), link.get("href", "").strip()
        if language and href:
            found.append((language, resolved(href, base)))
        elif "media" not in link:  # a page for phones has a medium instead of a language
            note(ProblemCode.BAD_ALTERNATE, language or href)
    return found or None


def _read_mobile(records: list[list[Field]], note: Note, base: str | None = None) -> bool:
    """Return True: the element has no content."""
    del note, base
    return bool(records)


_SPACES: Mapping[Space, Extension] = {Space[one.prefix.upper()]: one for one in EXTENSIONS}

_SPECIAL: Mapping[Space, Read] = {Space.XHTML: _read_alternates, Space.MOBILE: _read_mobile}

NAMES: Mapping[Space, ElementNames] = {
    space: ElementNames(one.table.element, frozenset(one.table.names()))
    for space, one in _SPACES.items()
}
"""The elements of each extension that are read."""

TABLES: Mapping[Space, TableReader] = {
    space: TableReader(one.table, one.prefix)
    for space, one in _SPACES.items()
    if space not in _SPECIAL
}
"""What reads a single record of an extension."""

READERS: Mapping[Space, Read] = {
    space: _SPECIAL.get(space) or _reader(one) for space, one in _SPACES.items()
}
"""What reads each extension."""

MANY: Mapping[Space, bool] = {space: one.many for space, one in _SPACES.items()}
"""Whether a page may have several records of an extension."""

FIELDS: Mapping[Space, str] = {space: one.field for space, one in _SPACES.items()}
"""The field of ``SitemapPage`` that each extension fills."""
