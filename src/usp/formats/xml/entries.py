"""Entries while their tags come in, and what of their vocabulary is read."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from usp.formats.xml.references import attributes as read_attributes

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.formats.parser import Entry, Note
    from usp.formats.xml.namespaces import Space
    from usp.formats.xml.parser import AbstractXMLSitemapParser


class Extension(NamedTuple):
    """What is read of an extension: the element that begins a record, and the fields inside."""

    record: str
    fields: frozenset[str] = frozenset()


class Field(NamedTuple):
    """An element as it stands in the document.

    References in its text are decoded; its attributes are read when somebody wants them.
    """

    name: str
    text: str
    written: str = ""  # what stands in the tag behind the name

    def attributes(self, note: Note) -> dict[str, str]:
        """Read the attributes; ``note`` hears of damage in them."""
        return read_attributes(self.written, note) if self.written else {}


class RawEntry(abc.ABC):
    """An entry while its tags come in."""

    own_fields: ClassVar[frozenset[str]]
    """The elements that are read, of the document's own vocabulary, directly below the entry."""

    extensions: ClassVar[Mapping[Space, Extension]] = {}

    counts_unfinished: ClassVar[bool] = False
    """Whether an entry counts in which the document breaks off, if it has a loc already."""

    line: int | None

    def __init__(self, line: int, base: str | None) -> None:
        self.line = line
        self.base = base
        self.size = 0  # how many elements were added
        self.records: dict[Space, list[list[Field]]] = {}

    @abc.abstractmethod
    def add(self, field: Field, parser: AbstractXMLSitemapParser) -> None:
        """Take a field of the document's own vocabulary."""

    @abc.abstractmethod
    def finish(self, parser: AbstractXMLSitemapParser) -> list[Entry]:
        """Give what the entry has become; note what it lacks."""

    def add_nested_loc(self, text: str) -> None:  # noqa: B027 - most entries have no use for it
        """Take a loc that stands too deep, for an entry that has no other."""

    def begin_record(self, space: Space, field: Field) -> None:
        """Begin a record of an extension; ``field`` is its element."""
        records = self.records.get(space)
        if records is None:
            self.records[space] = [[field]]
        else:
            records.append([field])

    def add_to_record(self, space: Space, field: Field) -> None:
        """Add a field to the record that was begun last, or to one that was never begun."""
        records = self.records.get(space)
        if records is None:
            self.records[space] = [[field]]
        else:
            records[-1].append(field)
