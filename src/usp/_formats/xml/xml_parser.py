"""What all XML parsers share: the tags of the scanner become entries with fields.

Entries are ``<url>``, ``<sitemap>``, ``<item>`` and ``<entry>``. What happens where tags do not match
is in ``docs/reading.md``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple
from xml.sax.saxutils import escape
from zlib import crc32

from usp._base.reason import Reason
from usp._formats.abstract_parser import (
    TRUNCATED,
    Entry,
    FormatParser,
    PageEntry,
    Place,
    ignore,
)
from usp._formats.xml.namespaces import Name, Scope, Space
from usp._formats.xml.raw_entries import (
    MAX_FIELDS,
    MAX_NAME,
    MAX_NAMES,
    Dialect,
    ElementRole,
    Meaning,
    OpenField,
    RawEntry,
)
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.references import without_blanks
from usp._formats.xml.scanner import Scanner, TokenHandler
from usp.objects.problem import FailureCode, ProblemCode, Problems

MAX_DEPTH = 200
"""Elements that are nested more deeply are only counted."""

_MAX_OPEN = 10  # elements around entries
_CUT_ENTRY = Reason(FailureCode.TRUNCATED, "the document breaks off inside an entry")
_NOTHING = "\0\ufeff"  # what is between entries and says nothing, as blanks do


class _Wrapped(NamedTuple):
    """An entry inside a loc: its class, its name as written, and its depth."""

    entry: type[RawEntry]
    name: str
    depth: int


def kept(name: str) -> str:
    """Return the part of the name of an open element that is kept: enough to tell it from others."""
    if len(name) <= MAX_NAME:
        return name
    return f"{name[:MAX_NAME]}…{crc32(name.encode('utf-8', 'surrogatepass')):x}"


class XmlParser(TokenHandler, FormatParser):
    """Turns the tokens of the scanner into entries; those that are complete are in ``_done``.

    What elements are is said by tables of names: those of the concrete parsers.
    """

    vocabulary: ClassVar[frozenset[Space]]
    """The document's own vocabulary, in addition to the namespace of its root and no namespace."""

    entries: ClassVar[Mapping[str, type[RawEntry]]]
    """The elements that are entries."""

    strays: ClassVar[Mapping[str, ProblemCode]] = {}
    """Entries that do not belong in such a document, and the problem to note for the first one."""

    roots: ClassVar[frozenset[str]] = frozenset()
    """Roots of other documents that may follow in the same one."""

    implied_entry: ClassVar[type[RawEntry] | None] = None
    """What a ``<loc>`` outside of an entry belongs to: its entry's tag is lost, or misspelt."""

    always_reports: ClassVar[bool] = False
    """Whether problems are noted even by a parser that is to be fast."""

    dialect: Dialect
    _root: Name | None = None
    root_tag = ("", "")  # as it is written: its name and its attributes
    root_closed = False
    root_implied = False  # whether there is no root tag, or not any more
    _has_entries = False
    _unknown: tuple[int, str] | None = None  # the first such element: its line and name
    _unknown_count = 0  # elements below the root that mean nothing
    _entry: RawEntry | None = None
    _entry_depth = 0
    _before_entry = 0  # how many problems were kept
    _implied = False
    _field: OpenField | None = None
    _wrapped: _Wrapped | None = None  # the last entry that stands in an empty loc
    _stray_text = False

    def __init__(
        self,
        *given: Any,
        scanner: Scanner | None = None,
        case_insensitive: bool = False,
        root: XmlParser | None = None,
        skipped: str = "",
    ) -> None:
        """Begin a document, or below the ``root`` of another one, with the text up to there."""
        super().__init__(*given)
        self.fast = self.fast and not case_insensitive
        self.case_insensitive = case_insensitive  # whether names are written in capitals
        self.scanner = scanner or Scanner(self, self.problems, skipped)
        self.report_problems = not self.fast or self.always_reports
        self.scanner.report_holes = self.report_problems
        self._stack: list[str] = []  # the names of open elements,
        self._scopes: list[Scope | None] = []  # and the scope outside of each, if it was needed
        # The depth of elements, and the URL against which relative ones are resolved from there on.
        self._bases: list[tuple[int, str | None]] = [(-1, self.url)]
        self._too_deep: dict[str, int] = {}  # elements beyond the greatest depth, counted
        self._noted_strays: set[str] = set()  # strays that were spoken of
        self._done: list[Entry] = []
        if root is None:
            self._scope = Scope(case_insensitive=case_insensitive)
            return
        self._stack.append(root.root_tag[0])
        self._scopes.append(None)
        self._scope = Scope(like=root._scope)  # noqa: SLF001 - of the same class
        self._root, self.root_tag = root.dialect.root, root.root_tag
        self.dialect = Dialect(type(self), root.dialect.root, self.url_length)

    def scan(self, text: str) -> list[Entry]:
        """Return the entries that the scanner has read so far."""
        self.scanner.feed(text)
        done, self._done = self._done, []
        return done

    def close(self) -> list[Entry]:
        """Return the rest; an entry in which the document breaks off counts if it has its address."""
        self.scanner.close()
        if self.scanner.given_up:
            self._entry = None
        elif self._implied and self.root_implied and self._field is None:
            self._finish_entry()
        elif self._entry is not None:
            self._break_off(self._entry)
        elif not self.root_closed and not (self.root_implied and len(self._stack) == 1):
            self.problems.end(TRUNCATED, *self.scanner.place)
        if self._unknown is not None and self.implied_entry and not self._has_entries:
            line, name = self._unknown
            self.problems.add(ProblemCode.UNKNOWN_ELEMENTS, line, name, self._unknown_count)
        return self._done

    def _break_off(self, entry: RawEntry) -> None:
        """Finish the entry in which the document breaks off, without what is cut off itself."""
        self._field = None  # what is cut off is not what was meant
        entry.texts = ()
        before = len(self._done)
        self.problems, noted = Problems(), self.problems
        self._finish_entry()
        self.problems = noted
        lost = len(self._done) == before
        self.problems.end(_CUT_ENTRY, entry.line, entry.column, lost=int(lost))

    @property
    def root(self) -> Name | None:
        """What the root is called, if there is one."""
        return None if self.root_implied else self._root

    def _known(self, name: str) -> Meaning:
        return self.dialect.meaning(self._scope, name, type(self._entry))

    def learn(self) -> None:
        """Look up the usual names, written as the root is: those of entries and their fields."""
        prefix, colon, _ = self.root_tag[0].rpartition(":")
        for local, entry in self.entries.items():
            self.dialect.meaning(self._scope, f"{prefix}{colon}{local}", type(None))
            for field in entry.core_fields:
                self.dialect.meaning(self._scope, f"{prefix}{colon}{field}", entry)

    def _scope_inside(self, attributes: str) -> Scope:
        if "xmlns" not in attributes:
            return self._scope
        return self._scope.below(attributes, read_attributes(attributes, ignore))

    def _declare_base(self, attributes: str, depth: int) -> None:
        """Read the base of URLs from a tag; note damage in its attributes."""
        step = read_attributes(attributes, self.note).get("xml:base")
        if step is None:
            return
        base = self._bases[-1][1]
        joined = self.dialect.joined_base(base, step)
        if joined and self.dialect.is_too_long([joined]):
            self.note(ProblemCode.LONG_BASE, step)
            joined = base
        self._bases.append((depth, joined))

    def may_have_strays(self, text: str) -> bool:
        """Return whether entries that do not belong here may begin in a text that was not read."""
        text = text.lower() if self.case_insensitive else text
        for stray in self.strays:
            # The word alone is found faster than a tag, and most documents do not have it.
            if stray in text and (f"<{stray}" in text or f":{stray}" in text):
                return True
        return False

    @property
    def is_below_root(self) -> bool:
        """Whether it is between entries directly below the first root, as at the beginning."""
        is_there = len(self._stack) == 1 and self._wrapped is None and not self.root_implied
        return is_there and self.is_between_entries

    @property
    def is_between_entries(self) -> bool:
        """Whether the scanner is between entries, with nothing begun."""
        if self._entry is not None or self.scanner_only or self.case_insensitive:
            return False
        is_open = 0 < len(self._stack) <= _MAX_OPEN and not self.root_closed
        return is_open and self.scanner.idle

    @property
    def root_name(self) -> str:
        """The name of the root element, without a prefix."""
        return self._root.local if self._root else ""

    @property
    def place(self) -> Place:
        """Where the current tag is."""
        return self.scanner.place

    def base_in(self, entry: RawEntry) -> str | None:
        """Return the base at the current tag of an entry, which may declare one itself."""
        del entry
        return self._bases[-1][1]

    # Tokens ---------------------------------------------------------------------------------------

    def start(self, name: str, attributes: str, empty: bool) -> None:  # noqa: C901 - called for every tag
        """Begin an element."""
        self._stray_text = False
        if len(self._stack) >= MAX_DEPTH and self._is_too_deep(name, empty):
            return
        if self._root is None:
            self._start_root(name, attributes, empty)
            return
        if self.root_closed:
            self._reopen(name, attributes)
        outside = self._scope
        declares = "xml" in attributes
        if declares:
            self._scope = self._scope_inside(attributes)
        meaning = self._scope.meanings(type(self._entry)).get(name) or self._known(name)
        role = meaning.role
        if role is ElementRole.OTHER:
            if self._entry is not None:
                self._entry.note_place(meaning.local, self.scanner.place, attributes, own=False)
            if self._field is not None or not self._has_entries:
                self._take_unknown(name, attributes)
        elif role is ElementRole.ENTRY and self._field and self._field.is_empty_loc:
            self.note(ProblemCode.ENTRY_IN_LOC, f"<{name}>")
            # The loc may be meant to be inside the entry.
            self._wrapped = _Wrapped(self.entries[meaning.local], kept(name), len(self._stack))
            role = ElementRole.OTHER
        elif (
            self._field is not None
            or self._implied
            or (role is ElementRole.ENTRY and (self._entry or len(self._stack) > MAX_DEPTH // 2))
        ):
            # What is closed for it is closed outside of it: its declarations count from there.
            self._scope = outside
            self._make_room(meaning)
            outside = self._scope
            self._scope = self._scope_inside(attributes) if declares else outside
        depth = len(self._stack)
        if declares:
            self._declare_base(attributes, depth)
        if role is not ElementRole.OTHER:
            self._begin(meaning, attributes)
        self._stack.append(kept(name))
        self._scopes.append(outside)
        if empty:
            self._pop()

    def end(self, name: str) -> None:
        """End an element, and all unclosed ones inside."""
        self._stray_text = False
        stack, short = self._stack, kept(name)
        if self._too_deep and self._too_deep.get(short, 0) > 0:
            self._too_deep[short] -= 1
        elif stack and stack[-1] == short:
            self._pop()
        else:
            self._end_another(name)

    def text(self, raw: str) -> None:
        """Take text, references not decoded."""
        if self._field is not None:
            self._field.add(raw)
        elif self._entry is not None:
            is_own = len(self._stack) - (not self._implied) == self._entry_depth
            if is_own and (self._entry.texts or not raw.isspace()):
                self._entry.add_text(raw)
        elif len(self._stack) <= 1 and not self._stray_text:
            words = without_blanks(raw, _NOTHING)
            if words:
                place = self.scanner.place_after(raw[: len(raw) - len(words)])
                self.note(ProblemCode.TEXT_BETWEEN_ENTRIES, at=place)
                self._stray_text = True  # one problem, in however many pieces it comes

    def innermost(self) -> tuple[str, bool]:
        """Return the name of the innermost open element, and whether it never has markup inside."""
        is_value = self._field is not None and self._field.is_value
        return self._stack[-1] if self._stack else "", is_value

    def cdata(self, text: str) -> None:
        """Take the text of a CDATA section."""
        if self._field is not None:
            self._field.add_cdata(text)
        else:
            self.text(escape(text))

    def declaration(self, kind: str, written: str) -> None:
        """Skip a declaration inside the document, and note it."""
        del written
        self.scanner.repair(ProblemCode.INNER_DECLARATION, kind)

    # Beginnings -----------------------------------------------------------------------------------

    def _start_root(self, name: str, attributes: str, empty: bool) -> None:
        outside = self._scope
        if "xml" in attributes:
            self._scope = self._scope_inside(attributes)
        self._root, self.root_tag = self._scope.name(name), (name, attributes)
        self.dialect = Dialect(type(self), self._root, self.url_length)
        if "xml" in attributes:
            self._declare_base(attributes, 0)
        self._stack.append(kept(name))
        self._scopes.append(outside)
        if empty:
            self._pop()

    def start_without_root(self, name: str) -> None:
        """Begin a document that has lost its root, of that name, or never had one."""
        self.root_implied = True
        self._start_root(name, "", empty=False)
        self.note(ProblemCode.NO_ROOT)

    def _is_too_deep(self, name: str, empty: bool) -> bool:
        """Ignore an element that is nested very deeply, unless it is an entry.

        The elements around such an entry are not closed.
        """
        if self._known(name).role is ElementRole.ENTRY:
            return False
        short = kept(name)
        if not empty and (len(self._too_deep) < MAX_NAMES or short in self._too_deep):
            self._too_deep[short] = self._too_deep.get(short, 0) + 1
        return True

    def _reopen(self, name: str, attributes: str) -> None:
        """Go on after the end of the root: two documents in one, or a root closed too early."""
        del attributes
        self.note(ProblemCode.MORE_AFTER_END, f"<{name}>")
        self.root_closed = False
        local = self._scope.name(name).local
        if local != self.root_name and local not in self.roots:
            self.root_implied = True
            self._stack.append(kept(self.root_tag[0]))
            self._scopes.append(self._scope)

    def _take_unknown(self, name: str, attributes: str) -> None:  # noqa: ARG002 - of others
        """Take an element that means nothing, in a field, or below the root before the first entry."""
        if self._field is not None:
            self._field.has_markup = True
        elif len(self._stack) == 1:
            self._unknown = self._unknown or (self.scanner.line, f"<{name}>")
            self._unknown_count += 1

    def _make_room(self, meaning: Meaning) -> None:
        """Close what is open and cannot hold an element of that meaning."""
        if meaning.role is ElementRole.ENTRY:
            if self._entry is not None:
                self._end_unclosed_entry()
            if len(self._stack) > MAX_DEPTH // 2:  # an entry needs some depth for itself
                self.note(ProblemCode.UNCLOSED_ELEMENT, f"<{self._stack[-1]}>")
                self._close_to(1)
            return
        is_loc = meaning.role is ElementRole.FIELD and meaning.local == "loc"
        if is_loc and self._wrapped is not None and self._unwrap(self._wrapped):
            return
        if self._field is not None:
            self._end_unclosed_field(self._field)
        if self._implied and is_loc:
            self._finish_entry()

    def _unwrap(self, wrapped: _Wrapped) -> bool:
        """Begin the entry inside an empty loc, because it has its own loc.

        False if it is closed, or if it is of the same kind as the one around it, which may as well
        have the loc.
        """
        still_open = self._stack[wrapped.depth : wrapped.depth + 1] == [wrapped.name]
        if not still_open or (not self._implied and type(self._entry) is wrapped.entry):
            return False
        if self._implied:  # by the loc around
            self._field = self._entry = None
            self._implied = False
            self._close_to(self._entry_depth)
        else:
            self._end_unclosed_entry()
        self._begin_entry(wrapped.entry, "")
        self._stack.append(wrapped.name)
        self._scopes.append(self._scope)
        return True

    def _begin(self, meaning: Meaning, attributes: str) -> None:
        """Begin what an element means, where there is room for it."""
        if meaning.role is ElementRole.ENTRY:
            if meaning.local in self.strays:
                self._note_stray_entry(meaning.local)
            self._begin_entry(self.entries[meaning.local], attributes)
        elif self._entry is None:
            if self.implied_entry:
                around = f"<{self._stack[-1]}>" if len(self._stack) > 1 else None
                self.note(ProblemCode.LOC_OUTSIDE_ENTRY, around)
                self._begin_entry(self.implied_entry, "", implied=True)
                self._begin_field(meaning, attributes)
        elif meaning.role is ElementRole.RECORD:
            self._add(meaning, "", attributes, self.scanner.place)
        else:
            self._begin_field(meaning, attributes)

    def _note_stray_entry(self, local: str) -> None:
        if local not in self._noted_strays:
            self._noted_strays.add(local)
            self.note(self.strays[local])

    def _begin_entry(
        self, entry: type[RawEntry], attributes: str, *, implied: bool = False
    ) -> None:
        line, column = self.scanner.place
        self._entry = entry(line, self._bases[-1][1])
        self._entry.column = column
        if attributes:
            self._entry.written = attributes
        self._entry_depth = len(self._stack)
        self._before_entry = self.problems.kept
        self._implied = implied
        self._has_entries = True

    def _begin_field(self, meaning: Meaning, attributes: str) -> None:
        depth = len(self._stack)
        nested = False
        if meaning.role is ElementRole.FIELD:
            nested = depth != self._entry_depth + (not self._implied)
            if nested and meaning.local != "loc":
                return
        place = self.scanner.place
        self._field = OpenField(meaning, attributes, depth, place, self, nested=nested)
        self._wrapped = None

    # Ends -----------------------------------------------------------------------------------------

    def _end_another(self, name: str) -> None:
        """End an element that is not the innermost one, or not open at all."""
        stack, short = self._stack, kept(name)
        if short in stack:
            self.note(ProblemCode.UNCLOSED_ELEMENT, f"<{stack[-1]}>")
            self._close_to(len(stack) - 1 - stack[::-1].index(short))
            return
        if self._implied and self._scope.name(name).local in self.entries:
            if self._field is not None:
                self._end_unclosed_field(self._field)
            self._finish_entry()
        else:
            self.scanner.repair(ProblemCode.STRAY_END_TAG, f"</{name}>")

    def _end_unclosed_entry(self) -> None:
        if not self._implied:
            self.note(ProblemCode.UNCLOSED_ENTRY)
        self._close_to(self._entry_depth)
        if self._implied:
            self._finish_entry()

    def _end_unclosed_field(self, field: OpenField) -> None:
        self.note(ProblemCode.UNCLOSED_ELEMENT, f"<{field.meaning.local}>")
        self._close_to(field.depth)

    def _close_to(self, depth: int) -> None:
        while len(self._stack) > depth:
            self._pop()

    def _pop(self) -> None:
        self._stack.pop()
        self._scope = self._scopes.pop() or Scope()
        if self._too_deep:
            self._too_deep.clear()
        depth = len(self._stack)
        field = self._field
        if field is not None and field.depth == depth and self._entry is not None:
            self._field, text = None, field.text()
            if field.nested:
                self._entry.nested_loc = text
            else:
                self._add(field.meaning, text, field.attributes, field.place)
        if self._entry is not None and self._entry_depth >= depth + self._implied:
            self._finish_entry()
        if self._bases[-1][0] >= depth:
            self._bases.pop()
        if not depth:
            self.root_closed = True

    def _add(self, meaning: Meaning, text: str, attributes: str, place: Place) -> None:
        """Give the entry an element; those beyond the maximum are ignored."""
        entry = self._entry
        assert entry is not None
        entry.size += 1
        if entry.size == MAX_FIELDS:
            self.note(ProblemCode.TOO_MANY_FIELDS)
        elif entry.size > MAX_FIELDS:
            return
        is_own = meaning.role is ElementRole.FIELD
        entry.note_place(meaning.local, place, attributes + text, own=is_own)
        if meaning.role is ElementRole.FIELD:
            entry.add(meaning.local, text, attributes, self)
        elif meaning.role is ElementRole.RECORD:
            entry.begin_record(meaning.space, meaning.local, attributes)
        else:
            entry.add_to_record(meaning.space, meaning.local, text, attributes)

    def _finish_entry(self) -> None:
        assert self._entry is not None
        entry, self._entry = self._entry, None
        self._implied = False
        found = entry.finish(self)
        if entry.texts and found:
            entry.note_text(self)
        if self.problems.kept > self._before_entry and found and isinstance(found[0], PageEntry):
            self.problems.set_page(self._before_entry, found[0].url)
        if found:
            self._done += found
            self.scanner.damage = 0
        else:
            self.scanner.count_damage()
