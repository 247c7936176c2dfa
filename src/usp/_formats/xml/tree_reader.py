"""Blocks as trees: what is well-formed is read by expat and the tree builder of the library.

Expat is told nothing of namespaces, so that names are as they are written, and mean the same as for
the scanner. No entity can be declared inside a block, and no token can outgrow it. One loop over the
elements of an entry gives them to it by a table from tag to meaning.

A block is declined if the scanner would read it differently, or note a problem.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers.expat import ExpatError, ParserCreate

from usp._formats.abstract_parser import Notes, ignore
from usp._formats.xml.raw_entries import Dialect, ElementRole, Meaning, RawEntry, given_in

if TYPE_CHECKING:
    from usp._formats.xml.namespaces import Scope

LARGEST_TREE = 80 * 1024
"""Characters of a block that is read as one tree: with more, time per entry does not fall any more."""

_MAX_DEPTH = 100  # elements inside an entry, one in the other; the scanner only counts deeper ones
_XML_BASE = re.compile("xml:(?i:base)")
_BLANKS = " \t\r\n"
_OTHER, _FIELD, _RECORD = ElementRole.OTHER, ElementRole.FIELD, ElementRole.RECORD
_RECORD_FIELD, _ENTRY = ElementRole.RECORD_FIELD, ElementRole.ENTRY


class FastPathDeclined(Exception):  # noqa: N818 - nothing is wrong: the scanner reads it
    """Raised where a tree does not show what the scanner would make of the text."""


class Decline(Notes):
    """Declines entries with a problem: the scanner notes those."""

    def note(self, *given: object, **_: object) -> None:
        """Raise :class:`FastPathDeclined`."""
        raise FastPathDeclined(*given)


IGNORE, DECLINE = Notes(), Decline()


@dataclass(eq=False)
class TreeReader:
    """Reads blocks as trees, at one position of a document, where names mean the same."""

    dialect: Dialect
    scope: Scope
    base: str | None
    _declares = False  # whether prefixes may be declared inside of the last block

    def parse(self, block: str) -> Element | None:
        """Return the tree of a block; None if it is not well-formed, or changes the base of URLs."""
        if len(block) > LARGEST_TREE:
            return None
        if "xml:" in block and _XML_BASE.search(block):
            return None
        self._declares = "xmlns" in block
        builder, parser = TreeBuilder(), ParserCreate()
        parser.buffer_text = True
        parser.StartElementHandler, parser.EndElementHandler = builder.start, builder.end
        parser.CharacterDataHandler = builder.data
        try:
            parser.Parse("<r>")
            parser.Parse(block)
            parser.Parse("</r>", True)
        except (ExpatError, ValueError):  # or half of a pair of characters
            return None
        root: Element = builder.close()
        return root

    def entries(self, block: str, notes: Notes) -> list[RawEntry] | None:
        """Return the entries of a block, not finished; None if it is declined."""
        root = self.parse(block)
        if root is None or (root.text and root.text.strip(_BLANKS)):
            return None
        try:
            return [self.entry(element, notes) for element in root]
        except FastPathDeclined:
            return None

    def entry(self, element: Element, notes: Notes) -> RawEntry:
        """Return the entry that an element is; raises :class:`FastPathDeclined`."""
        if element.tail and element.tail.strip(_BLANKS):
            raise FastPathDeclined
        kind, elements = self.elements(element)
        entry = kind(None, self.base)
        if element.keys():
            entry.written = element
        for (role, local, space), child in elements:
            if role is _RECORD:
                entry.begin_record(space, local, child)
                continue
            text = "".join(child.itertext()) if len(child) else child.text or ""
            if role is _FIELD:
                entry.add(local, text, child if child.keys() else "", notes)
            elif role is _RECORD_FIELD:
                entry.add_to_record(space, local, text, child)
            else:
                entry.nested_loc = text
        return entry

    # What elements mean -----------------------------------------------------------------------------

    def elements(self, entry: Element) -> tuple[type[RawEntry], list[tuple[Meaning, Element]]]:
        """Return the class of an entry, and those of its elements that mean something.

        A loc that is nested has no role. May raise :class:`FastPathDeclined`.
        """
        scope = self._scope_in(entry, self.scope)
        role, local, _ = self.dialect.meaning(scope, entry.tag, type(None))
        if role is not _ENTRY or local in self.dialect.tables.strays:
            raise FastPathDeclined
        kind = self.dialect.tables.entries[local]
        if entry.text and not entry.text.isspace():
            raise FastPathDeclined
        found: list[tuple[Meaning, Element]] = []
        self._collect(entry, kind, scope, found)
        return kind, found

    def _scope_in(self, element: Element, scope: Scope) -> Scope:
        """Return the scope inside an element, which may declare namespaces."""
        if self._declares and any("xmlns" in f"{pair}" for pair in element.items()):
            return scope.below(repr(element.items()), dict(given_in(element, ignore)))
        return scope

    def _collect(
        self,
        element: Element,
        inside: type,
        scope: Scope,
        found: list[tuple[Meaning, Element]],
        depth: int = 0,
    ) -> None:
        """Collect the elements in another one; no field counts where it is nested, except a loc."""
        if depth > _MAX_DEPTH:
            raise FastPathDeclined
        known = scope.meanings(inside)
        for child in element:
            own = self._scope_in(child, scope) if self._declares else scope
            meaning = known.get(child.tag) if own is scope else None
            meaning = meaning or self.dialect.meaning(own, child.tag, inside)
            role = meaning.role
            if role is _ENTRY or (not depth and child.tail and not child.tail.isspace()):
                raise FastPathDeclined
            if role is _FIELD and depth:
                if meaning.local == "loc":
                    if len(child):
                        raise FastPathDeclined
                    found.append((meaning._replace(role=_OTHER), child))
            elif role is not _OTHER:
                found.append((meaning, child))
                if len(child) and role is not _RECORD:
                    self._check_markup(child, inside, own, depth)
                    continue
            if len(child):
                self._collect(child, inside, own, found, depth + 1)

    def _check_markup(self, element: Element, inside: type, scope: Scope, depth: int) -> None:
        """Decline a field with elements inside that mean something themselves."""
        if depth > _MAX_DEPTH:
            raise FastPathDeclined
        for child in element:
            own = self._scope_in(child, scope)
            role = self.dialect.meaning(own, child.tag, inside).role
            if role is not _OTHER or element.tag.endswith(("link", "loc")):
                raise FastPathDeclined
            self._check_markup(child, inside, own, depth + 1)
