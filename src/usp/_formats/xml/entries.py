"""Entries while their tags are read, and the elements of their vocabulary that are used."""

from __future__ import annotations

import abc
from enum import Enum, auto
from typing import TYPE_CHECKING, ClassVar, NamedTuple, TypeAlias

from usp._formats.values import begins_with_host, is_address
from usp._formats.xml.namespaces import Space
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.references import decode_text
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Mapping
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Entry, Note
    from usp._formats.xml.namespaces import Name
    from usp._formats.xml.vocabulary import Vocabulary


MAX_TEXT = 8 * 1024
"""The length of an entry's own text that is kept, in case it is the URL."""

Written: TypeAlias = "str | Element"
"""Attributes: the text in the tag after the name, or the element that has them."""

_new = tuple.__new__  # how a named tuple is made quickly
_ADDRESS_ATTRIBUTES = ("loc", "href", "url")


def given_in(written: Written, note: Note) -> Mapping[str, str]:
    """Return attributes by their names in lower case; ``note`` is called for damage in them."""
    if isinstance(written, str):
        return read_attributes(written, note) if written else {}
    given: dict[str, str] = {}
    for name, value in written.items():
        # A prefix is declared as itself where trees are read.
        given.setdefault(name.removeprefix("{").replace("}", ":").lower(), value)
    return given


def address_in(written: Written, note: Note) -> str | None:
    """Return the URL that a tag has as an attribute instead of its text."""
    given = given_in(written, note)
    return next((given[name] for name in _ADDRESS_ATTRIBUTES if given.get(name)), None)


def loc_text(field: Field, parser: Vocabulary) -> str:
    """Return the text of a loc, or the URL that its tag has as an attribute instead."""
    if not field.text.strip() and field.written != "":
        address = address_in(field.written, parser.note)
        if address:
            parser.note(ProblemCode.MISPLACED_ADDRESS, address)
            return address
    return field.text


def note_scheme(loc: str, entry: RawEntry, parser: Vocabulary) -> None:
    """Note a URL that begins with a host and not with ``http:``."""
    if begins_with_host(loc.strip(), entry.base):
        parser.problems.add(ProblemCode.NO_SCHEME, entry.line, loc)


class Sort(Enum):
    """What an element is."""

    OTHER = auto()
    ENTRY = auto()
    FIELD = auto()  # of the document's own vocabulary
    RECORD = auto()  # begins a record of an extension
    RECORD_FIELD = auto()
    NESTED_LOC = auto()  # a loc that counts only if its entry has no other


Step: TypeAlias = "tuple[Sort, str, Space, int]"
"""An element of a tree that means something: as what, its name and vocabulary, its number."""


def text_of(element: Element) -> str:
    """Return the text of an element of a tree, including that of elements inside."""
    return "".join(element.itertext()) if len(element) else element.text or ""


class ElementNames(NamedTuple):
    """The elements of a vocabulary that are read: the one that begins a record, and those inside."""

    record: str
    fields: frozenset[str] = frozenset()


class Field(NamedTuple):
    """An element as written in the document.

    References in its text are decoded; its attributes are parsed on demand.
    """

    name: str
    text: str
    written: Written = ""

    def attributes(self, note: Note) -> Mapping[str, str]:
        """Return the attributes; ``note`` is called for damage in them."""
        return given_in(self.written, note)


class RawEntry(abc.ABC):
    """An entry while its tags are read."""

    own_fields: ClassVar[frozenset[str]]
    """The elements that are read, of the document's own vocabulary, directly below the entry."""

    extensions: ClassVar[Mapping[Space, ElementNames]] = {}

    counts_unfinished: ClassVar[bool] = False
    """Whether an entry counts in which the document breaks off, if it has a loc already."""

    line: int | None

    written: Written = ""
    """The attributes of its tag."""

    texts: list[str] | tuple[()] = ()
    """The entry's own text, references not decoded."""

    size = 0
    """How many elements were added."""

    _room = MAX_TEXT

    def __init__(self, line: int | None, base: str | None) -> None:
        self.line = line
        self.base = base
        self.records: dict[Space, list[list[Field]]] = {}

    @abc.abstractmethod
    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a field of the document's own vocabulary."""

    @abc.abstractmethod
    def finish(self, parser: Vocabulary) -> list[Entry]:
        """Return what the entry has become; note what it lacks."""

    def add_nested_loc(self, text: str) -> None:  # noqa: B027 - most entries have no use for it
        """Take a loc that is nested too deeply, for an entry that has no other."""

    def add_text(self, raw: str) -> None:
        """Take the entry's own text, where only fields should be."""
        if not self.texts:  # blanks before it may come in a piece of their own, which nobody adds
            raw = raw.lstrip()
        if raw and self._room > 0:
            if isinstance(self.texts, tuple):
                self.texts = []
            self.texts.append(raw[: self._room])
            self._room -= len(raw)

    def stray_address(
        self,
        parser: Vocabulary,
    ) -> str | None:
        """Return the URL of an entry without a loc: its text, or an attribute of its tag."""
        given = decode_text("".join(self.texts), parser.note) if self.texts else ""
        if not given.strip() and self.written != "":
            given = address_in(self.written, parser.note) or ""
        given = given.strip()
        if self._room < 0 or not is_address(given, self.base):
            return None
        parser.problems.add(ProblemCode.MISPLACED_ADDRESS, self.line, given)
        self.texts = ()
        return given

    def note_text(self, parser: Vocabulary) -> None:
        """Note text in an entry that means nothing there."""
        text = "".join(self.texts).strip(" \t\r\n\0")
        if text:
            parser.problems.add(ProblemCode.TEXT_IN_ENTRY, self.line, text)

    def fill(self, steps: list[Step], elements: list[Element], parser: Vocabulary) -> None:
        """Take the elements of a tree that mean something."""
        for sort, name, space, at in steps:
            element = elements[at]
            if sort is Sort.FIELD:
                written = element if element.keys() else ""
                self.add(_new(Field, (name, text_of(element), written)), parser)
            elif sort is Sort.RECORD_FIELD:
                self.add_to_record(space, _new(Field, (name, text_of(element), element)))
            elif sort is Sort.RECORD:
                self.begin_record(space, _new(Field, (name, "", element)))
            else:
                self.add_nested_loc(text_of(element))

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


# What an element means, by its name and position ----------------------------------------------------


class Meaning(NamedTuple):
    """What an element means at its position: outside of entries, or in one of some class."""

    sort: Sort
    local: str
    space: Space


def meaning_inside(name: Name, entry: type[RawEntry], *, own: bool) -> Meaning:
    """Return what an element means inside an entry; ``own`` if it is of the document's vocabulary."""
    space, local = name.space, name.local
    if own and local in entry.own_fields:
        return Meaning(Sort.FIELD, local, space)
    if own and local == "link":  # the prefix of xhtml:link was forgotten
        space = Space.XHTML
    extension = entry.extensions.get(space)
    if extension is not None and local == extension.record:
        return Meaning(Sort.RECORD, local, space)
    if extension is not None and local in extension.fields:
        return Meaning(Sort.RECORD_FIELD, local, space)
    return Meaning(Sort.OTHER, local, space)
