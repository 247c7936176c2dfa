"""Which elements are open, and the repair of bad nesting.

Where tags do not match, three rules decide:

- an end tag closes the nearest open element of its name and all inside; with none open it is ignored;
- entries are not nested: a new one closes the last one;
- fields are not nested: a new one closes the last one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from usp._formats.xml.entries import Field, Meaning, RawEntry, Sort
from usp._formats.xml.references import decode_text
from usp._formats.xml.vocabulary import MAX_NAME, MAX_NAMES, KnownRoot, Vocabulary
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry
    from usp._formats.xml.namespaces import Scope
    from usp.objects.problem import Problems

MAX_DEPTH = 200
"""Elements that are nested more deeply are only counted."""

MAX_FIELDS = 10_000
"""The maximum number of elements of an entry; the rest is ignored."""

MAX_FIELD = 1024 * 1024
"""A longer text of a field is cut off here."""


class _OpenField(NamedTuple):
    meaning: Meaning
    attributes: str
    depth: int  # of the element itself
    nested: bool


class _Wrapped(NamedTuple):
    """An entry inside a loc: its class, its name as written, and its depth."""

    entry: type[RawEntry]
    name: str
    depth: int


def kept(name: str) -> str:
    """Return the part of the name of an open element that is kept: enough to tell it from others."""
    return name if len(name) <= MAX_NAME else f"{name[:MAX_NAME]}…{hash(name):x}"


class Nesting(Vocabulary):
    """Keeps the open elements, the entry and the field among them; what is complete is in ``_done``."""

    def __init__(
        self,
        url: str | None = None,
        problems: Problems | None = None,
        *,
        fast: bool = False,
        fold: bool = False,
    ) -> None:
        super().__init__(url, problems, fast=fast, fold=fold)
        self._stack: list[str] = []  # the names of open elements,
        self._scopes: list[Scope] = []  # and the scope outside of each
        self._too_deep: dict[str, int] = {}  # elements beyond the greatest depth, counted
        self.root_closed = False
        self.root_implied = False  # whether there is no root tag, or not any more
        self._has_entries = False
        self._told: set[str] = set()  # strays that were spoken of
        self._unknown: tuple[int, str] | None = None  # the first such element: its line and name
        self._unknown_count = 0  # elements below the root that mean nothing
        self._entry: RawEntry | None = None
        self._entry_depth = 0
        self._implied = False
        self._field: _OpenField | None = None
        self._wrapped: _Wrapped | None = None  # the last entry that stands in an empty loc
        self._raw: list[str] = []
        self._decoded: list[str] = []
        self._room = MAX_FIELD
        self._done: list[Entry] = []

    # Beginnings -----------------------------------------------------------------------------------

    def _start_root(self, name: str, attributes: str, empty: bool) -> None:
        outside = self._scope
        if "xml" in attributes:
            self._scope = self._scope_inside(attributes)
            self._declare_base(attributes, 0)
        self._begin_root(name, attributes)
        self._stack.append(kept(name))
        self._scopes.append(outside)
        if empty:
            self._pop()

    def start_known_root(self, root: KnownRoot) -> None:
        """Begin with a root of which everything was found out before."""
        self._scopes.append(self._scope)
        self._scope = root.scope.copy()
        self._root, self._root_tag = root.meaning, (root.name, root.attributes)
        self._stack.append(root.name)

    def start_without_root(self, name: str) -> None:
        """Begin a document that has lost its root, of that name, or never had one."""
        self.root_implied = True
        self._start_root(name, "", empty=False)
        self.note(ProblemCode.NO_ROOT)

    def _is_too_deep(self, name: str, empty: bool) -> bool:
        """Ignore an element that is nested very deeply, unless it is an entry.

        The elements around such an entry are not closed.
        """
        if self._known(name).sort is Sort.ENTRY:
            return False
        short = kept(name)
        if not empty and (len(self._too_deep) < MAX_NAMES or short in self._too_deep):
            self._too_deep[short] = self._too_deep.get(short, 0) + 1
        return True

    def _begins_at(self, depth: int) -> bool:
        """Return whether the element at that depth began anything that its end will end."""
        return (
            (self._field is not None and self._field.depth == depth)
            or (self._entry is not None and self._entry_depth == depth)
            or bool(self._bases)
        )

    def _reopen(self, name: str, attributes: str) -> None:
        """Go on after the end of the root: two documents in one, or a root closed too early."""
        del attributes
        self.note(ProblemCode.MORE_AFTER_END, f"<{name}>")
        self.root_closed = False
        local = self._scope.name(name).local
        if local != self.root_name and local not in self.roots:
            self.root_implied = True
            self._stack.append(kept(self._root_tag[0]))
            self._scopes.append(self._scope)

    def _count_unknown(self, name: str) -> None:
        """Count elements directly below the root that mean nothing, as long as none has meant more."""
        if len(self._stack) == 1:
            self._unknown = self._unknown or (self.line, f"<{name}>")
            self._unknown_count += 1

    def _wrap(self, name: str, meaning: Meaning) -> None:
        """Note an entry inside an empty loc: the loc may be meant to be inside the entry."""
        self.note(ProblemCode.ENTRY_IN_LOC, f"<{name}>")
        self._wrapped = _Wrapped(self.entries[meaning.local], kept(name), len(self._stack))

    def _is_inside_loc(self) -> bool:
        """Return whether the parser is in a loc that is empty so far."""
        field = self._field
        return (
            field is not None
            and field.meaning.local == "loc"
            and field.meaning.sort is Sort.FIELD
            and not field.nested  # such a loc counts only if the entry has no other
            and not "".join(self._raw).strip()
            and not "".join(self._decoded).strip()
        )

    def _make_room(self, meaning: Meaning) -> None:
        """Close what is open and cannot hold an element of that meaning."""
        if meaning.sort is Sort.ENTRY:
            if self._entry is not None:
                self._end_unclosed_entry()
            if len(self._stack) > MAX_DEPTH // 2:  # an entry needs some depth for itself
                self.note(ProblemCode.UNCLOSED_ELEMENT, f"<{self._stack[-1]}>")
                self._close_to(1)
            return
        is_loc = meaning.sort is Sort.FIELD and meaning.local == "loc"
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
        if meaning.sort is Sort.ENTRY:
            if meaning.local in self.strays:
                self._note_stray_entry(meaning.local)
            self._begin_entry(self.entries[meaning.local], attributes)
        elif self._entry is None:
            self._begin_outside(meaning, attributes)
        elif meaning.sort is Sort.RECORD:
            self._add(meaning, Field(meaning.local, "", attributes))
        else:
            self._begin_field(meaning, attributes)

    def _note_stray_entry(self, local: str) -> None:
        """Note an entry that does not belong in such a document: the first one of its kind."""
        if local not in self._told:
            self._told.add(local)
            self.note(self.strays[local])

    def _begin_entry(
        self, entry: type[RawEntry], attributes: str, *, implied: bool = False
    ) -> None:
        self._entry = entry(self.line, self.base())
        if attributes:
            self._entry.written = attributes
        self._entry_depth = len(self._stack)
        self._implied = implied
        self._has_entries = True

    def _begin_outside(self, meaning: Meaning, attributes: str) -> None:
        if self.implied_entry:
            self.note(ProblemCode.LOC_OUTSIDE_ENTRY)
            self._begin_entry(self.implied_entry, "", implied=True)
            self._begin_field(meaning, attributes)

    def _begin_field(self, meaning: Meaning, attributes: str) -> None:
        depth = len(self._stack)
        nested = False
        if meaning.sort is Sort.FIELD:
            nested = depth != self._entry_depth + (not self._implied)
            if nested and meaning.local != "loc":
                return
        self._field = _OpenField(meaning, attributes, depth, nested)
        self._wrapped = None
        self._raw.clear()
        self._decoded.clear()
        self._room = MAX_FIELD

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

    def _end_unclosed_field(self, field: _OpenField) -> None:
        self.note(ProblemCode.UNCLOSED_ELEMENT, f"<{field.meaning.local}>")
        self._close_to(field.depth)

    def _close_to(self, depth: int) -> None:
        while len(self._stack) > depth:
            self._pop()

    def _pop(self) -> None:
        self._stack.pop()
        self._scope = self._scopes.pop()
        if self._too_deep:
            self._too_deep.clear()
        depth = len(self._stack)
        field = self._field
        if field is not None and field.depth == depth:
            self._end_field(field)
        if self._entry is not None and self._entry_depth >= depth + self._implied:
            self._finish_entry()
        if self._bases and self._bases[-1][0] >= depth:
            self._bases.pop()
        if not depth:
            self.root_closed = True

    def _end_field(self, field: _OpenField) -> None:
        assert self._entry is not None
        self._field = None
        if len(self._raw) == 1 and not self._decoded:  # as nearly all fields are
            text = self._raw[0]
            if "&" in text or not text.isprintable():
                text = decode_text(text, self.note)
        else:
            self._decode_raw()
            text = "".join(self._decoded)
        if self._room < 0 and field.meaning.local == "loc":
            text = ""  # a part of an address is another one
        if field.nested:
            self._entry.add_nested_loc(text)
        else:
            self._add(field.meaning, Field(field.meaning.local, text, field.attributes))

    def _is_full(self, entry: RawEntry) -> bool:
        """Count the elements of an entry; those beyond the maximum are ignored."""
        entry.size += 1
        if entry.size == MAX_FIELDS:
            self.note(ProblemCode.TOO_MANY_FIELDS)
        return entry.size >= MAX_FIELDS

    def _add(self, meaning: Meaning, field: Field) -> None:
        assert self._entry is not None
        if self._is_full(self._entry):
            return
        if meaning.sort is Sort.FIELD:
            self._entry.add(field, self)
        elif meaning.sort is Sort.RECORD:
            self._entry.begin_record(meaning.space, field)
        else:
            self._entry.add_to_record(meaning.space, field)

    def _finish_entry(self) -> None:
        assert self._entry is not None
        entry, self._entry = self._entry, None
        self._implied = False
        found = entry.finish(self)
        if entry.texts and found:
            entry.note_text(self)
        if found:
            self._done += found
            self.scanner.forgive()
        else:
            self.scanner.count_damage()

    def _spend(self, length: int) -> None:
        if 0 < self._room <= length:
            self.note(ProblemCode.LONG_FIELD)
        self._room -= length

    def _decode_raw(self) -> None:
        if self._raw:
            self._decoded.append(decode_text("".join(self._raw), self.note))
            self._raw.clear()
