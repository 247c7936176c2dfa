"""What all XML parsers share: elements, fields of entries, and the repair of bad nesting.

The scanner gives tags one by one. Here they become entries (``<url>``, ``<sitemap>``, ``<item>``,
``<entry>``) with fields; where tags do not match, three rules decide:

- an end tag closes the nearest open element of its name and all inside; with none open it is ignored;
- an entry does not stand inside an entry: a new one closes the last one;
- a field does not stand inside a field: a new one closes the last one.
"""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, ClassVar, NamedTuple
from urllib.parse import urljoin

from usp.formats.parser import AbstractSitemapParser
from usp.formats.xml.namespaces import Name, Scope, Space
from usp.formats.xml.references import attributes as read_attributes
from usp.formats.xml.references import decode_cdata, decode_text
from usp.formats.xml.scanner import Scanner

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.formats.parser import ChildEntry, PageEntry
    from usp.objects.problem import Problems

MAX_DEPTH = 200
"""Elements nested deeper are counted, not looked at."""

MAX_FIELD = 1024 * 1024
"""A longer text of a field is cut off here."""


class Extension(NamedTuple):
    """What is read of an extension: the element that begins a record, and the fields inside."""

    record: str
    fields: frozenset[str] = frozenset()


class Field(NamedTuple):
    """A field of an extension's record as it stands in the document."""

    name: str
    text: str
    attributes: dict[str, str]


class RawEntry(abc.ABC):
    """An entry while its tags come in."""

    own_fields: ClassVar[frozenset[str]]
    """The elements that are read, of the document's own vocabulary, directly below the entry."""

    extensions: ClassVar[Mapping[Space, Extension]] = {}

    line: int | None

    def __init__(self, line: int, base: str | None) -> None:
        self.line = line
        self.base = base
        self.records: dict[Space, list[list[Field]]] = {}

    @abc.abstractmethod
    def add(self, field: Field, parser: AbstractXMLSitemapParser) -> None:
        """Take a field of the document's own vocabulary."""

    @abc.abstractmethod
    def finish(self, parser: AbstractXMLSitemapParser) -> list[ChildEntry | PageEntry]:
        """Give what the entry has become; note what it lacks."""

    def add_nested_loc(self, text: str) -> None:  # noqa: B027 - most entries have no use for it
        """Take a loc that stands too deep, for an entry that has no other."""

    def begin_record(self, space: Space, field: Field) -> None:
        """Begin a record of an extension; ``field`` is its element."""
        self.records.setdefault(space, []).append([field])

    def add_to_record(self, space: Space, field: Field) -> None:
        """Add a field to the record that was begun last, or to one that was never begun."""
        records = self.records.setdefault(space, [])
        if not records:
            records.append([])
        records[-1].append(field)


class _Element(NamedTuple):
    written: str
    scope: Scope  # in force outside of the element


class _OpenField(NamedTuple):
    name: str
    attributes: dict[str, str]
    space: Space | None  # None: the document's own vocabulary
    depth: int  # of the element itself
    nested: bool


class AbstractXMLSitemapParser(AbstractSitemapParser):
    """Turns the tokens of the scanner into entries; the concrete parsers are tables."""

    vocabulary: ClassVar[frozenset[Space]]
    """The document's own vocabulary, beside the namespace of its root and no namespace at all."""

    entries: ClassVar[Mapping[str, type[RawEntry]]]
    """The elements that are entries."""

    strays: ClassVar[Mapping[str, str]] = {}
    """Elements that have no business in such a document, and what to say of them."""

    implied_entry: ClassVar[type[RawEntry] | None] = None
    """What a ``<loc>`` directly below the root belongs to, its entry's tag being lost."""

    def __init__(
        self,
        url: str | None = None,
        problems: Problems | None = None,
        scanner: Scanner | None = None,
    ) -> None:
        super().__init__(url, problems)
        self._scanner = scanner or Scanner(self, self.problems)
        self._scope = Scope()
        self._stack: list[_Element] = []
        self._too_deep = 0
        self._root: Name | None = None
        self.root_closed = False
        self._entry: RawEntry | None = None
        self._entry_depth = 0
        self._implied = False
        self._field: _OpenField | None = None
        self._raw: list[str] = []
        self._decoded: list[str] = []
        self._room = MAX_FIELD
        self._done: list[ChildEntry | PageEntry] = []
        self._bases: list[tuple[int, str]] = []

    def feed(self, text: str) -> list[ChildEntry | PageEntry]:
        """Give the entries that are complete so far."""
        self._scanner.feed(text)
        return self._take()

    def close(self) -> list[ChildEntry | PageEntry]:
        """Give the rest; an entry that was not closed before the document broke off is lost."""
        self._scanner.close()
        if self._entry is not None and self._implied:
            self._finish_entry()
        if self._entry is not None:
            self.problems.add("the document breaks off inside an entry", self._entry.line, lost=1)
        elif not self.root_closed:
            self.problems.add("the document breaks off before its end", self.line)
        return self._take()

    def _take(self) -> list[ChildEntry | PageEntry]:
        done, self._done = self._done, []
        return done

    @property
    def root_name(self) -> str:
        """The name of the root element, in lower case and without a prefix."""
        return self._root.local if self._root else ""

    @property
    def line(self) -> int:
        """The line of the tag at hand."""
        return self._scanner.line

    def note(self, message: str, excerpt: str | None = None, *, lost: int = 0) -> None:
        """Note a problem at the tag at hand."""
        self.problems.add(message, self.line, excerpt, lost)

    def attributes(self, raw: str) -> dict[str, str]:
        """Give the attributes of the tag at hand."""
        return read_attributes(raw, self.note) if raw and not raw.isspace() else {}

    # Tokens ---------------------------------------------------------------------------------------

    def start(self, name: str, attributes: str, *, empty: bool) -> None:
        """Begin an element."""
        if len(self._stack) >= MAX_DEPTH:
            self._too_deep += not empty
            return
        outside = self._scope
        if "xmlns" in attributes:
            self._scope = outside.below(attributes, self.attributes(attributes))
        meaning = self._scope.name(name)
        if "xml:base" in attributes:
            base = self.attributes(attributes).get("xml:base", "")
            self._bases.append((len(self._stack), base))
        if self._root is None:
            self._root = meaning
        elif self.root_closed:
            self._reopen(meaning, attributes)
        else:
            self._begin(meaning, attributes)
        self._stack.append(_Element(name, outside))
        if empty:
            self._pop()

    def _reopen(self, meaning: Name, attributes: str) -> None:
        """Go on behind the end of the root: two documents in one, or a root closed too early."""
        assert self._root is not None
        self.note("the document goes on behind its end", f"<{meaning.local}>")
        self.root_closed = False
        if meaning.local != self._root.local:
            self._stack.append(_Element("", self._scope))
            self._begin(meaning, attributes)

    def _begin(self, meaning: Name, attributes: str) -> None:
        own = self._is_own(meaning)
        if own and meaning.local in self.entries:
            if self._entry is not None:
                self.note("an entry is not closed")
                self._cut(self._entry_depth)
            self._begin_entry(self.entries[meaning.local])
        elif self._entry is not None:
            self._begin_inside(self._entry, meaning, attributes, own=own)
        elif own:
            self._begin_outside(meaning, attributes)

    def _begin_entry(self, entry: type[RawEntry], *, implied: bool = False) -> None:
        self._entry = entry(self.line, self.base())
        self._entry_depth = len(self._stack)
        self._implied = implied

    def _begin_outside(self, meaning: Name, attributes: str) -> None:
        if meaning.local in self.strays:
            self.note(self.strays[meaning.local], lost=1)
        elif meaning.local == "loc" and self.implied_entry and len(self._stack) == 1:
            self.note("a <loc> stands outside of an entry")
            self._begin_entry(self.implied_entry, implied=True)
            self._begin_field(meaning.local, attributes, None)

    def _begin_inside(self, entry: RawEntry, meaning: Name, attributes: str, *, own: bool) -> None:
        space, local = meaning.space, meaning.local
        if own and local == "link" and Space.XHTML in entry.extensions:
            own, space = False, Space.XHTML
        if own:
            if local in entry.own_fields:
                self._end_unclosed_field()
                if self._implied and local == "loc":
                    self._finish_entry()
                    self._begin_outside(meaning, attributes)
                else:
                    self._begin_field(local, attributes, None)
            return
        extension = entry.extensions.get(space)
        if extension is None:
            return
        if local == extension.record:
            self._end_unclosed_field()
            entry.begin_record(space, Field(local, "", self.attributes(attributes)))
        elif local in extension.fields:
            self._end_unclosed_field()
            self._begin_field(local, attributes, space)

    def _begin_field(self, local: str, attributes: str, space: Space | None) -> None:
        depth = len(self._stack)
        direct = depth == self._entry_depth + (not self._implied)
        if space is None and not direct and local != "loc":
            return
        self._field = _OpenField(
            local, self.attributes(attributes), space, depth, nested=space is None and not direct
        )
        self._raw.clear()
        self._decoded.clear()
        self._room = MAX_FIELD

    def end(self, name: str) -> None:
        """End an element, and all unclosed ones inside."""
        if self._too_deep:
            self._too_deep -= 1
            return
        stack = self._stack
        if stack and stack[-1].written == name:
            self._pop()
            return
        for at in range(len(stack) - 1, -1, -1):
            if stack[at].written == name:
                self.note("an element is not closed", f"<{stack[-1].written}>")
                self._cut(at)
                return
        if self._implied and self._scope.name(name).local in self.entries:
            self._finish_entry()
            return
        self.note("an end tag has no start tag", f"</{name}>")

    def text(self, raw: str) -> None:
        """Take text, references not decoded."""
        if self._field is not None:
            if self._room > 0:
                self._raw.append(raw[: self._room])
            self._spend(len(raw))
        elif self._entry is None and self._root is not None and not raw.isspace():
            self.note("text stands between the entries", raw.strip())

    def cdata(self, text: str) -> None:
        """Take the text of a CDATA section."""
        if self._field is not None:
            self._decode_raw()
            if self._room > 0:
                self._decoded.append(decode_cdata(text[: self._room], self.note))
            self._spend(len(text))

    def declaration(self, kind: str) -> None:
        """Pass over a declaration that stands inside the document."""
        self.note(f"a {kind} stands inside the document")

    # Elements and fields --------------------------------------------------------------------------

    def _is_own(self, meaning: Name) -> bool:
        assert self._root is not None
        space = meaning.space
        return space in self.vocabulary or space is Space.NONE or meaning.uri == self._root.uri

    def _spend(self, length: int) -> None:
        if 0 < self._room <= length:
            self.note(f"a field is longer than {MAX_FIELD} characters and was cut off")
        self._room -= length

    def _decode_raw(self) -> None:
        if self._raw:
            self._decoded.append(decode_text("".join(self._raw), self.note))
            self._raw.clear()

    def _end_unclosed_field(self) -> None:
        field = self._field
        if field is not None:
            self.note("an element is not closed", f"<{field.name}>")
            self._cut(field.depth)

    def _cut(self, depth: int) -> None:
        while len(self._stack) > depth:
            self._pop()

    def _pop(self) -> None:
        element = self._stack.pop()
        self._scope = element.scope
        depth = len(self._stack)
        if self._field is not None and self._field.depth == depth:
            self._end_field(self._field)
        if self._entry is not None and self._entry_depth >= depth + self._implied:
            self._finish_entry()
        if self._bases and self._bases[-1][0] >= depth:
            self._bases.pop()
        if not depth:
            self.root_closed = True

    def _end_field(self, field: _OpenField) -> None:
        assert self._entry is not None
        self._decode_raw()
        text = "".join(self._decoded)
        self._field = None
        if field.nested:
            self._entry.add_nested_loc(text)
        elif field.space is None:
            self._entry.add(Field(field.name, text, field.attributes), self)
        else:
            self._entry.add_to_record(field.space, Field(field.name, text, field.attributes))

    def _finish_entry(self) -> None:
        assert self._entry is not None
        entry, self._entry = self._entry, None
        self._implied = False
        self._done.extend(entry.finish(self))

    def base(self) -> str | None:
        """Give the address that relative ones are resolved against, ``xml:base`` considered."""
        base = self.url
        for _, step in self._bases:
            base = urljoin(base or "", step) or None
        return base
