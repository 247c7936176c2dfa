"""Blocks as trees: what is well-formed is read by expat and the tree builder of the library.

A block is parsed below our own root, which declares every prefix of the document as itself: so the
names in the tree are those that are written, and mean the same as for the scanner. No entity can be
declared inside a block, and no token can outgrow it. One loop over the elements of an entry gives them
to it by a table from tag to meaning.

A block is declined if the scanner would read it differently, or note a problem.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.parsers.expat import errors

from usp._formats.abstract_parser import Notes
from usp._formats.xml.namespaces import Name, Scope, Space, space_of
from usp._formats.xml.raw_entries import Dialect, ElementRole, Meaning, RawEntry

LARGEST_TREE = 80 * 1024
"""Characters of a block that is read as one tree: with more, time per entry does not fall any more."""

_UNBOUND = errors.codes[errors.XML_ERROR_UNBOUND_PREFIX]
_MAX_PREFIXES = 50
_MAX_DEPTH = 100  # elements inside an entry, one in the other; the scanner only counts deeper ones
_PREFIX = re.compile(r"(?!(?i:xml|xmlns)\Z)[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_USED = re.compile(r"[</\s]([A-Za-z_][A-Za-z0-9_.-]{0,99}):[A-Za-z_]")
_DECLARED = re.compile(
    r"""xmlns([\w:.-]{0,100}+)\s{0,9}+=\s{0,9}+(?:"([^"<]{0,999}+)"|'([^'<]{0,999}+)')"""
)
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
    _prefixes: set[str] = field(default_factory=set)
    _start: str = ""

    def _declare(self, prefixes: Iterable[str]) -> bool:
        """Declare more prefixes; return whether there were any."""
        new = {*filter(_PREFIX.fullmatch, prefixes)} - self._prefixes
        is_new = 0 < len(new) <= _MAX_PREFIXES - len(self._prefixes)
        if is_new:
            self._prefixes |= new
        declared = map(" xmlns:{0}='{0}'".format, sorted(self._prefixes))
        self._start = f"<r{''.join(declared)}>"
        return is_new

    def parse(self, block: str) -> Element | None:
        """Return the tree of a block; None if it is not well-formed, or its names may mislead."""
        if len(block) > LARGEST_TREE:
            return None
        if "xml" in block and (_XML_BASE.search(block) or _may_mislead(block)):
            return None
        if not self._start:
            self._declare(islice(self.scope.prefixes(), _MAX_PREFIXES + 1))
        # Comments are made and thrown away: let it be done in C.
        builder = TreeBuilder(comment_factory=str)  # type: ignore[arg-type]
        parser = XMLParser(target=builder)  # noqa: S314 - no entity is declared in a block
        try:
            parser.feed(self._start)
            parser.feed(block)
            parser.feed("</r>")
            return parser.close()
        except ParseError as error:
            # A prefix that was not declared, or in capitals, means something to the scanner.
            if error.code != _UNBOUND or not self._declare(_USED.findall(block)):
                return None
        except ValueError:  # half of a pair of characters
            return None
        return self.parse(block)

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
        tag, nowhere = entry.tag, type(None)
        role, local, _ = self.scope.meanings(nowhere).get(tag) or self._meaning(tag, nowhere)
        if role is not _ENTRY or local in self.dialect.tables.strays:
            raise FastPathDeclined
        kind = self.dialect.tables.entries[local]
        if entry.text and not entry.text.isspace():
            raise FastPathDeclined
        found: list[tuple[Meaning, Element]] = []
        self._collect(entry, kind, found)
        return kind, found

    def _collect(
        self, element: Element, inside: type, found: list[tuple[Meaning, Element]], depth: int = 0
    ) -> None:
        """Collect the elements in another one; no field counts where it is nested, except a loc."""
        if depth > _MAX_DEPTH:
            raise FastPathDeclined
        known = self.scope.meanings(inside)
        for child in element:
            meaning = known.get(child.tag) or self._meaning(child.tag, inside)
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
                    self._check_markup(child, inside)
                    continue
            if len(child):
                self._collect(child, inside, found, depth + 1)

    def _check_markup(self, element: Element, inside: type) -> None:
        """Decline a field with elements inside that mean something themselves."""
        for child in islice(element.iter(), 1, None):
            role = self._meaning(child.tag, inside).role
            if role is not _OTHER or element.tag.endswith(("link", "loc")):
                raise FastPathDeclined

    def _meaning(self, tag: str, inside: type) -> Meaning:
        """Return what a tag means in entries of some class, or outside (``NoneType``)."""
        space, _, local = tag.removeprefix("{").rpartition("}")
        if ":" in local:
            raise FastPathDeclined
        if ":" not in space:  # a prefix, declared as itself
            name = f"{space}:{local}" if space else tag
            meaning = self.dialect.meaning(self.scope, name, inside)
        else:
            known = space_of(space)
            if known is Space.OTHER and ("sitemap" in space or "google" in space):
                raise FastPathDeclined  # its prefix decides
            meaning = self.dialect.find_meaning(Name(known, local, space), inside)
        self.scope.remember(inside, tag, meaning)
        return meaning


def _may_mislead(block: str) -> bool:
    """Return whether a block may declare namespaces in another way than a tree shows them."""
    lower = block.lower()
    number, first = lower.count("xmlns"), _DECLARED.search(block)
    if first is not None and block.count(first[0]) == number:
        found = [first.groups("")]  # all are the same, as programs write them
    else:
        found = _DECLARED.findall(block) if number else []
        if len(found) != number:
            return True
    prefixes = {prefix for prefix, *_ in found}
    if len(prefixes) > _MAX_PREFIXES:
        return True
    for prefix, double, single in set(found):
        uri = double or single
        if prefix != prefix.lower() or ":" not in uri or "&" in uri or "xmlns" in uri.lower():
            return True
    # To the scanner a prefix means the same in another case.
    tags = (f"<{prefix[1:]}:" for prefix in prefixes if prefix)
    return any(lower.count(tag) > block.count(tag) for tag in tags)
