"""Entries while their tags are read, and what the elements of a document mean to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypeVar

from usp._base.loc_urls import SCHEMES, absolute_url, begins_with_host, is_address
from usp._base.urls import PORTS, joined, origin_of
from usp._formats.xml.namespaces import MAX_URI, Name, Scope, Space
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.references import decode_text, without_blanks, without_forbidden
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Entry, Note, Notes, Place
    from usp._formats.xml.xml_parser import XmlParser

MAX_TEXT = 8 * 1024
"""The length of an entry's own text that is kept, in case it is the URL."""

MAX_FIELDS = 10_000
"""The maximum number of elements of an entry; the rest is ignored."""

MAX_FIELD = 1024 * 1024
"""A longer text of a field is cut off here."""

_VALUES = frozenset(  # fields that are addresses, dates, numbers or words of the protocol
    {"loc", "lastmod", "changefreq", "priority", "link", "guid", "id", "date", "pubdate"}
    | {"published", "updated", "issued", "created", "modified", "publication_date"}
    | {"thumbnail_loc", "content_loc", "player_loc", "expiration_date", "duration", "license"}
)

Written: TypeAlias = "str | Element"
"""Attributes: the text in the tag after the name, or the element that has them."""

P = TypeVar("P", bound=Any)

_ADDRESS_ATTRIBUTES = ("loc", "href", "url")


def given_in(written: Written, note: Note) -> Mapping[str, str]:
    """Return attributes by their names in lower case; ``note`` is called for damage in them."""
    if isinstance(written, str):
        return read_attributes(written, note) if written else {}
    given: dict[str, str] = {}
    for name, value in written.items():
        given.setdefault(name.lower(), value)
    return given


def address_in(written: Written, note: Note) -> str | None:
    """Return the URL that a tag has as an attribute instead of its text."""
    given = given_in(written, note)
    return next((given[name] for name in _ADDRESS_ATTRIBUTES if given.get(name)), None)


def loc_text(text: str, written: Written, notes: Notes) -> str:
    """Return the text of a loc, or the URL that its tag has as an attribute instead."""
    if written != "" and not text.strip():
        address = address_in(written, notes.note)
        if address:
            notes.note(ProblemCode.MISPLACED_ADDRESS, address)
            return address
    return text


def place_among(
    elements: Sequence[tuple[P, str]],
    text: str = "",
    records: Sequence[tuple[P, str]] = (),
    number: int | None = None,
) -> P | None:
    """Return where the first of some elements is, or the one with little more than a text.

    With the ``number`` of a record, it is that of an element in that record, or else of the record.
    """
    if number is not None and -1 <= number < len(records):
        first, *after = records[number:]
        inside = (one for one in elements if one[0] >= first[0])
        elements = [one for one in inside if not after or one[0] < after[0][0]] or [first]
    if text and len(elements) > 1:
        either = text, text.replace("&", "&amp;")
        found = [one for one in elements if any(map(one[1].__contains__, either))]
        elements = sorted(found, key=lambda one: len(one[1])) or elements
    return elements[0][0] if elements else None


def note_scheme(loc: str, entry: RawEntry, notes: Notes) -> None:
    """Note a URL that begins with a host and not with ``http:``."""
    if begins_with_host(loc.strip(), entry.base):
        notes.note(ProblemCode.NO_SCHEME, loc, at=entry.place_of("loc", loc))


class ElementRole(Enum):
    """What an element is."""

    OTHER = auto()
    ENTRY = auto()
    FIELD = auto()  # of the document's own vocabulary
    RECORD = auto()  # begins a record of an extension
    RECORD_FIELD = auto()


class ElementNames(NamedTuple):
    """The elements of a vocabulary that are read: the one that begins a record, and those inside."""

    record: str
    fields: frozenset[str] = frozenset()


Record: TypeAlias = "list[Any]"
"""The elements of a record, the name, text and attributes of each in turn: objects take longer."""


class RawEntry:
    """An entry while its tags are read."""

    core_fields: ClassVar[frozenset[str]]
    """The elements that are read, of the document's own vocabulary, directly below the entry."""

    extensions: ClassVar[Mapping[Space, ElementNames]] = {}

    line: int | None

    column: int | None = None

    written: Written = ""
    """The attributes of its tag."""

    texts: list[str] | tuple[()] = ()
    """The entry's own text, references not decoded."""

    nested_loc: str | None = None
    """A loc that is nested too deeply, for an entry that has no other."""

    elements: dict[str, list[tuple[Place, str]]] | None = None
    """Where its elements are, and how they are written, by their names; if it was read tag by tag."""

    size = noted = 0
    """How many elements were added, and how many places of elements were noted."""

    odd_fields: tuple[tuple[str, str], ...] = ()
    """The fields that are ``empty``, and those that are there ``twice``."""

    _room = MAX_TEXT

    def __init__(self, line: int | None, base: str | None) -> None:
        self.line = line
        self.base = base
        self.records: dict[Space, list[Record]] = {}
        self.places: dict[str, Place] = {}

    def note_place(self, name: str, place: Place, written: str, *, own: bool) -> None:
        """Remember where an element begins; of its own fields, the last one of a name."""
        self.noted += 1
        if self.noted > MAX_FIELDS:
            return
        self.elements = self.elements or {}
        self.elements.setdefault(name, []).append((place, written))
        if own:
            self.places[name] = place

    def place_of(
        self, element: str = "", text: str = "", record: str = "", number: int | None = None
    ) -> Place:
        """Return where its own field is, or an element (see :func:`place_among`), or itself."""
        own = None if text else self.places.get(element)
        known = self.elements or {}
        found = own or place_among(known.get(element, ()), text, known.get(record, ()), number)
        return found or (self.line, self.column)

    def misnamed_loc(self) -> str | None:
        """Return the tag of an element that would be its loc if its name were in lower case."""
        names = (name for name in self.elements or () if name != "loc" == name.lower())
        return next(map("<{}>".format, names), None)

    def add(self, name: str, text: str, written: Written, notes: Notes) -> None:
        """Take a field of the document's own vocabulary."""
        raise NotImplementedError

    def finish(self, notes: Notes) -> list[Entry]:
        """Return what the entry has become; note what it lacks."""
        raise NotImplementedError

    def add_text(self, raw: str) -> None:
        """Take the entry's own text, where only fields should be."""
        if not self.texts:  # blanks before it may come in a piece of their own, which nobody adds
            raw = without_blanks(raw)
        if raw and self._room > 0:
            if isinstance(self.texts, tuple):
                self.texts = []
            self.texts.append(raw[: self._room])
            self._room -= len(raw)

    def stray_address(self, notes: Notes) -> str | None:
        """Return the URL of an entry without a loc: its text, or an attribute of its tag."""
        given = decode_text("".join(self.texts), notes.note) if self.texts else ""
        if not given.strip() and self.written != "":
            given = address_in(self.written, notes.note) or ""
        given = given.strip()
        if self._room < 0 or not is_address(given, self.base):
            return None
        notes.note(ProblemCode.MISPLACED_ADDRESS, given, at=self.place_of())
        self.texts = ()
        return given

    def note_text(self, notes: Notes) -> None:
        """Note text in an entry that means nothing there."""
        text = "".join(self.texts).strip(" \t\r\n\0")
        if text:
            notes.note(ProblemCode.TEXT_IN_ENTRY, text, at=self.place_of())

    def begin_record(self, space: Space, name: str, written: Written) -> None:
        """Begin a record of an extension with its own element."""
        self.records.setdefault(space, []).append([name, "", written])

    def add_to_record(self, space: Space, name: str, text: str, written: Written) -> None:
        """Add a field to the record that was begun last, or to one that was never begun."""
        records = self.records.get(space) or self.records.setdefault(space, [[]])
        records[-1].extend((name, text, written))


# What an element means, by its name and position ----------------------------------------------------


class Meaning(NamedTuple):
    """What an element means at its position: outside of entries, or in one of some class."""

    role: ElementRole
    local: str
    space: Space


MAX_NAMES = 1000
MAX_NAME = 100
"""How many names, and of which length, are kept."""


class OpenField:
    """What a field means, its depth, and its text, as far as there is room for it.

    It is ``nested`` if it is not directly below its entry, and ``has_markup`` if there are elements in
    it that mean nothing: then only a full URL is the text of a link or loc. Damage goes to ``notes``.
    """

    __slots__ = (
        *("_decoded", "_notes", "_raw", "_room", "attributes", "depth", "has_markup", "meaning"),
        *("nested", "place"),
    )

    def __init__(
        self,
        meaning: Meaning,
        attributes: str,
        depth: int,
        place: Place,
        notes: Notes,
        *,
        nested: bool,
    ) -> None:
        self.place = place
        self.meaning = meaning
        self.attributes = attributes
        self.depth = depth
        self.nested = nested
        self.has_markup = False
        self._notes = notes
        self._room = MAX_FIELD
        self._raw: list[str] = []
        self._decoded: list[str] = []  # what stands before that

    @property
    def is_value(self) -> bool:
        """Whether it never has markup inside."""
        return self.meaning.local.lower() in _VALUES

    @property
    def is_empty_loc(self) -> bool:
        """Whether it is the loc of an entry, and empty so far."""
        is_loc = self.meaning.local == "loc" and self.meaning.role is ElementRole.FIELD
        # One that is nested counts only if the entry has no other.
        return is_loc and not self.nested and not "".join([*self._decoded, *self._raw]).strip()

    def add(self, raw: str) -> None:
        """Take text, references not decoded."""
        if self._room > 0:
            self._raw.append(raw[: self._room])
        self._spend(len(raw))

    def add_cdata(self, text: str) -> None:
        """Take the text of a CDATA section."""
        self._decode_raw()
        if self._room > 0:
            self._decoded.append(without_forbidden(text[: self._room], self._note))
        self._spend(len(text))

    def text(self) -> str:
        """Return the text; of a loc that is too long nothing: a part of an address is another one."""
        self._decode_raw()
        is_cut = self._room < 0 and self.meaning.local == "loc"
        text = "" if is_cut else "".join(self._decoded)
        of_entry = self.meaning.role is ElementRole.FIELD and self.meaning.local in ("link", "loc")
        if not (self.has_markup and of_entry and text.strip()):
            return text
        is_url = (absolute_url(text, None) or "")[:8].lower().startswith(SCHEMES)
        return text if is_url else f"<…>{text}"

    def _note(self, code: ProblemCode, excerpt: str | None = None) -> None:
        self._notes.note(code, excerpt, at=self.place)

    def _spend(self, length: int) -> None:
        if 0 < self._room <= length:
            self._note(ProblemCode.LONG_FIELD)
        self._room -= length

    def _decode_raw(self) -> None:
        if self._raw:
            self._decoded.append(decode_text("".join(self._raw), self._note))
            self._raw.clear()


class SeenElement(NamedTuple):
    """An element that is not one of the usual ones: as written, and what it means inside of what."""

    written: str
    name: Name
    inside: type
    role: ElementRole


@dataclass(slots=True, eq=False)
class Dialect:
    """What the elements of a document mean: the tables of its parser, below its root.

    ``seen`` are the elements that are not the usual ones.
    """

    tables: type[XmlParser]
    root: Name
    longest: int | None
    seen: list[SeenElement] = field(default_factory=list)

    def meaning(self, scope: Scope, name: str, inside: type) -> Meaning:
        """Return what an element means in entries of some class, or outside (``NoneType``)."""
        meaning: Meaning | None = scope.meanings(inside).get(name)
        if meaning is None:
            meaning = self.find_meaning(scope.name(name), inside, name)
            scope.remember(inside, name, meaning)
        return meaning

    def find_meaning(self, name: Name, inside: type, written: str = "") -> Meaning:
        """Return what an element of that name means; see :meth:`meaning`."""
        meaning = self._find_meaning(name, inside)
        if len(self.seen) < MAX_NAMES:
            short = (written or name.local)[:MAX_NAME]
            cut = Name(name.space, name.local[:MAX_NAME], name.uri[:MAX_URI])
            self.seen.append(SeenElement(short, cut, inside, meaning.role))
        return meaning

    def _find_meaning(self, name: Name, inside: type) -> Meaning:
        space, local = name.space, name.local
        own, role = self.is_own(name), ElementRole.OTHER
        if own and local in self.tables.entries:
            role = ElementRole.ENTRY
        elif not issubclass(inside, RawEntry):
            if own and local == "loc" and self.tables.implied_entry is not None:
                role = ElementRole.FIELD
        elif own and local in inside.core_fields:
            role = ElementRole.FIELD
        else:
            if own and local == "link":  # the prefix of xhtml:link was forgotten
                space = Space.XHTML
            extension = inside.extensions.get(space)
            if extension is not None and local == extension.record:
                role = ElementRole.RECORD
            elif extension is not None and local in extension.fields:
                role = ElementRole.RECORD_FIELD
        return Meaning(role, local, space)

    def is_own(self, name: Name) -> bool:
        """Return whether an element is of the document's own vocabulary."""
        space = name.space
        return space in self.tables.vocabulary or space is Space.NONE or name.uri == self.root.uri

    def joined_base(self, base: str | None, step: str) -> str | None:
        """Return the base inside an element that declares one; what cannot be a base is ignored."""
        url = joined(base or "", step) or None
        has_lost_host = url and url.partition(":")[0] in PORTS and not origin_of(url)
        return base if has_lost_host else url

    def is_too_long(self, urls: Iterable[str]) -> bool:
        """Return whether there is a URL among others that is longer than allowed."""
        return self.longest is not None and max(map(len, urls), default=0) > self.longest
