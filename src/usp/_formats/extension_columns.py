"""Values of extensions from columns of texts: all images of a block at once, for example."""

from __future__ import annotations

import re
from dataclasses import fields
from functools import partial
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from usp._base.dates import MAX_REMEMBERED
from usp._formats import values
from usp._formats.entry_plans import are_final
from usp._formats.extensions import TABLES
from usp._formats.values import SCHEMES
from usp._formats.xml.entries import Field
from usp._formats.xml.references import decoded_texts
from usp._formats.xml.trees import Unvouched, unvouched
from usp.objects.extension_values import thawed
from usp.objects.extensions import EACH, Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from usp._formats.abstract_parser import Note
    from usp._formats.extensions import Step, TableReader
    from usp._formats.templates import Column
    from usp._formats.xml.namespaces import Space

_MAX_RUN = 50  # elements
_TAG = re.compile(r"<[^<>]*+>")


class _Texts(NamedTuple):
    """A column of texts: as they are written, and decoded without blanks around them."""

    written: Column
    decoded: list[str]
    final: bool  # whether there is no reference in any of them that would be decoded once more
    base: str | None
    note: Note


_Read: TypeAlias = "Callable[[_Texts], Iterable[Any]]"


class Place(NamedTuple):
    """An element of a record: the number of its column, and its attributes."""

    column: int
    repeats: bool
    says_nothing: bool
    field: Field


class RecordColumns:
    """Reads records of an extension in which there are these elements, by name, or some of them."""

    def __init__(self, space: Space, places: Mapping[str, Place]) -> None:
        reader = TABLES.get(space)
        if reader is None or not reader.is_plain:
            raise Unvouched
        parts = {tag: reader.part(tag) for tag in places}
        if any(step.inside for tag in places if not parts[tag] for step in reader.steps(tag)):
            raise Unvouched
        places = {
            tag: place for tag, place in places.items() if parts[tag] or not place.says_nothing
        }
        if not places or any(place.column < 0 for place in places.values()):
            raise Unvouched
        self._kind: Any = reader.table.value
        self._thawed = thawed(self._kind)
        self._runs = {place.column for place in places.values() if place.repeats}
        steps = {
            step.spec.name: (step, place)
            for tag, place in places.items()
            if not parts[tag]
            for step in reader.steps(tag)
        }
        inside = {
            part[0]: (part[1], place) for tag, place in places.items() if (part := parts[tag])
        }
        self._readers: list[tuple[int, _Read]] = []
        self._required: list[int] = []
        for at, (spec, field) in enumerate(
            zip(reader.table.in_order, fields(self._thawed), strict=True)
        ):
            is_list = str(field.type).startswith("list")
            if spec.name in steps:
                step, place = steps[spec.name]
                self._readers.append((place.column, _reader(step, place, is_list=is_list)))
            elif spec.name in inside:
                own, place = inside[spec.name]
                self._readers.append((place.column, _part_reader(own, place)))
            elif is_list:
                self._readers.append((0, _empty_lists))
            else:
                self._readers.append((0, partial(_nothing, None if spec.many is None else ())))
            if spec.required:
                self._required.append(at)

    def read(self, written: list[Column], base: str | None, note: Note) -> list[Any]:
        """Return the values; raises :class:`Unvouched` if one of them needs a closer look."""
        count = len(written[0])
        singles = (column for at, column in enumerate(written) if at not in self._runs)
        flat = stripped(list(chain.from_iterable(singles)), note)
        final = are_final(flat)
        texts: list[_Texts] = []
        start = 0
        for at, column in enumerate(written):
            stop = start if at in self._runs else start + count
            texts.append(_Texts(column, flat[start:stop], final, base, note))
            start = stop
        columns = [read(texts[at]) for at, read in self._readers]
        if any(None in columns[at] for at in self._required):
            raise Unvouched
        found = list(map(self._thawed, *columns))
        for one in found:
            one.__class__ = self._kind
        return found


def stripped(written: Column, note: Note) -> list[str]:
    """Return texts without blanks around them, references decoded."""
    return [*map(str.strip, decoded_texts([text or "" for text in written], note))]


def _nothing(value: Any, texts: _Texts) -> Iterable[Any]:
    del texts
    return repeat(value)


def _empty_lists(texts: _Texts) -> list[Any]:
    return [[] for _ in texts.written]


def _reader(step: Step, place: Place, *, is_list: bool) -> _Read:
    """Return what reads the column of a field."""
    spec = step.spec
    if place.repeats and (spec.many != EACH or spec.kind != Kind.TEXT):
        raise Unvouched
    if step.attribute is not None:
        return partial(_attributes, *_constant(step, place))
    if place.repeats:
        return lambda texts: map(partial(_each, texts.note), texts.written)
    if spec.many is not None:
        split = (lambda text: (values.text(text),)) if spec.many == EACH else step.read
        make: Any = list if is_list else tuple
        return lambda texts: [make(split(text)) if text else make() for text in texts.decoded]
    if spec.kind in (Kind.TEXT, Kind.ADDRESS, Kind.ADDRESS_OR_NAME):
        return partial(_texts, step.resolve)
    if spec.kind is Kind.TIME:
        return _dates
    return partial(_values, step.read)


def _part_reader(reader: TableReader, place: Place) -> _Read:
    """Return what reads the column of an element that has a table of its own."""
    if place.repeats:
        raise Unvouched
    name, node = reader.table.element, place.field.written

    def read(texts: _Texts) -> Iterable[Any]:
        for written, text in zip(texts.written, texts.decoded, strict=True):
            value = None
            if written is not None:
                value = reader.read([Field(name, text, node)], texts.note, texts.base)
            yield () if value is None else (value,)

    return read


def _constant(step: Step, place: Place) -> tuple[Any, Any]:
    """Return the value of an attribute, the same wherever its tag is, and how to resolve it."""
    given = place.field.attributes(unvouched).get(step.attribute or "")
    value = step.read(given)
    if value is None and given:
        raise Unvouched
    return value, None if value is None else step.resolve


def _attributes(value: Any, resolve: Any, texts: _Texts) -> list[Any]:
    if resolve is not None:
        value = resolve(value, texts.base)
    return [None if text is None else value for text in texts.written]


def _texts(resolve: Any, texts: _Texts) -> list[str | None]:
    found: list[Any] = texts.decoded
    if not texts.final:
        found = [values.text(text) if "&" in text else text for text in found]
    if "" in found:
        found = [text or None for text in found]
    if resolve is not None:
        found = [
            text if not text or text.startswith(SCHEMES) else resolve(text, texts.base)
            for text in found
        ]
    return found


def _dates(texts: _Texts) -> list[Any]:
    if texts.final and all(texts.decoded) and max(map(len, texts.decoded)) <= MAX_REMEMBERED:
        found = list(values.dates(texts.decoded))
        if None in found:
            raise Unvouched
        return found
    return _values(values.date, texts)


def _values(read: Any, texts: _Texts) -> list[Any]:
    found = [read(text) if text else None for text in texts.decoded]
    if found.count(None) > texts.decoded.count(""):
        raise Unvouched  # a text that cannot be read
    return found


def _each(note: Note, run: str | None) -> tuple[str, ...]:
    """Return the texts of elements that follow each other."""
    texts: list[str | None] = [*_TAG.split(run or "")[1::2]]
    if len(texts) > _MAX_RUN:
        raise Unvouched
    return tuple(filter(None, map(values.text, stripped(texts, note))))
