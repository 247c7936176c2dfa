"""Blocks as trees: what is well-formed is read by expat and the tree builder of the library.

A block is parsed below our own root, which declares every prefix of the document as itself: so the
names in the tree are those that are written, and mean the same as for the scanner. No entity can be
declared inside a block, and no token can outgrow it. One loop over the elements of an entry gives them
to it by a table from tag to meaning.

A block is declined if the scanner would read it differently, or note a problem.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from itertools import count, islice
from operator import attrgetter
from typing import NamedTuple, TypeAlias
from xml.etree.ElementTree import Element, ParseError, TreeBuilder, XMLParser
from xml.parsers.expat import errors

from usp._formats.xml.namespaces import Name, Scope, Space, space_of
from usp._formats.xml.raw_entries import (
    MAX_NAME,
    MAX_NAMES,
    Dialect,
    ElementRole,
    Meaning,
    Notes,
    RawEntry,
)

LARGEST_TREE = 80 * 1024
"""Characters of a block that is read as one tree: with more, time per entry does not fall any more."""

_UNBOUND = errors.codes[errors.XML_ERROR_UNBOUND_PREFIX]
_MAX_PREFIXES = 50
_MAX_DEPTH = 100  # elements inside an entry, one in the other; the scanner only counts deeper ones
_MAX_LAYOUTS, _MAX_TAGS = 50, 2000  # that are kept, and the characters of their tags
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_USED = re.compile(r"[</\s]([A-Za-z_][A-Za-z0-9_.-]{0,99}):[A-Za-z_]")
_DECLARED = re.compile(
    r"""xmlns([\w:.-]{0,100}+)\s{0,9}+=\s{0,9}+(?:"([^"<]{0,999}+)"|'([^'<]{0,999}+)')"""
)
_XML_BASE = re.compile("xml:(?i:base)")
_tag = attrgetter("tag")
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


def declared(block: str) -> set[tuple[str, str]] | None:
    """Return the prefixes and namespaces that a block declares; None if that is not certain."""
    count, first = block.lower().count("xmlns"), _DECLARED.search(block)
    if first is not None and block.count(first[0]) == count:  # all the same, as programs write them
        found = [first.groups("")]
    else:
        found = _DECLARED.findall(block)
        if len(found) != count:
            return None
    pairs = {(name, double or single) for name, double, single in set(found)}
    for name, uri in pairs:
        if name != name.lower() or ":" not in uri or "&" in uri or "xmlns" in uri.lower():
            return None
    return {(name[1:], uri) for name, uri in pairs}


Shape: TypeAlias = tuple[str | int, ...]
"""The names of an entry's elements in their order, then how many stand directly in each."""


class EntryLayout(NamedTuple):
    """What the elements of entries of one shape mean; their places are counted from the entry.

    ``steps`` are those that mean something: what, where, and whether there are elements in them.
    ``direct`` are the places of those directly in the entry, ``deep`` is that of a loc that is not.
    """

    entry: type[RawEntry]
    steps: list[tuple[Meaning, int, bool]]
    direct: list[int]
    deep: list[int]


class TreeReader:
    """Reads blocks as trees, at one position of a document, where names mean the same.

    ``layouts`` are those that are known there.
    """

    def __init__(
        self,
        dialect: Dialect,
        scope: Scope,
        base: str | None,
        layouts: dict[Shape, EntryLayout] | None = None,
    ) -> None:
        self._dialect = dialect
        self.scope = scope
        self.base = base
        self._layouts = {} if layouts is None else layouts
        self._prefixes: set[str] = set()
        self._start = ""
        self._known: defaultdict[type, dict[str, Meaning]] = defaultdict(dict)
        self._declare(islice(scope.prefixes(), _MAX_PREFIXES + 1))

    def _declare(self, prefixes: Iterable[str]) -> bool:
        """Declare more prefixes; return whether there were any."""
        new = {p for p in prefixes if _PREFIX.fullmatch(p) and p.lower() not in ("xml", "xmlns")}
        new -= self._prefixes
        if not new or len(new) + len(self._prefixes) > _MAX_PREFIXES:
            self._start = self._start or "<r>"
            return False
        self._prefixes |= new
        declared = "".join(f" xmlns:{p}='{p}'" for p in sorted(self._prefixes))
        self._start = f"<r{declared}>"
        return True

    def parse(self, block: str) -> Element | None:
        """Return the tree of a block; None if it is not well-formed, or its names may mislead."""
        if len(block) > LARGEST_TREE:
            return None
        if "xml" in block and (_XML_BASE.search(block) or _may_mislead(block)):
            return None
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
        elements = list(element.iter())
        layout = self.layout((*map(_tag, elements), *map(len, elements)), element)
        text, tail = element.text, element.tail
        if (text and not text.isspace()) or (tail and tail.strip(_BLANKS)):
            raise FastPathDeclined
        for at in layout.direct:
            tail = elements[at].tail
            if tail and not tail.isspace():
                raise FastPathDeclined
        entry = layout.entry(None, self.base)
        if element.keys():
            entry.written = element
        for (role, local, space), at, has_markup in layout.steps:
            child = elements[at]
            text = "".join(child.itertext()) if has_markup else child.text or ""
            if role is _FIELD:
                entry.add(local, text, child if child.keys() else "", notes)
            elif role is _RECORD:
                entry.begin_record(space, local, child)
            else:
                entry.add_to_record(space, local, text, child)
        for at in layout.deep:
            entry.nested_loc = elements[at].text or ""
        return entry

    # What elements mean -----------------------------------------------------------------------------

    def layout(self, shape: Shape, element: Element) -> EntryLayout:
        """Return what the elements of such an entry mean; raises :class:`FastPathDeclined`."""
        layout = self._layouts.get(shape)
        if layout is None:
            role, local, _ = self._meaning(element.tag, type(None))
            if role is not _ENTRY or local in self._dialect.tables.strays:
                raise FastPathDeclined
            layout = EntryLayout(self._dialect.tables.entries[local], [], [], [])
            self._lay_out(element, layout, count(1))
            if len("".join(map(str, shape))) <= _MAX_TAGS:
                if len(self._layouts) >= _MAX_LAYOUTS:  # other documents may need other ones
                    self._layouts.clear()
                self._layouts[shape] = layout
        return layout

    def _lay_out(
        self, element: Element, layout: EntryLayout, places: Iterator[int], depth: int = 0
    ) -> None:
        """Find out what the elements in another one mean.

        No field counts where it is nested, except a loc.
        """
        if depth > _MAX_DEPTH:
            raise FastPathDeclined
        for child in element:
            at = next(places)
            meaning = self._meaning(child.tag, layout.entry)
            role, is_loc = meaning.role, meaning.local == "loc"
            if role is _ENTRY or (depth and role is _FIELD and is_loc and len(child)):
                raise FastPathDeclined
            if not depth:
                layout.direct.append(at)
            if role is _RECORD or role is _RECORD_FIELD or (role is _FIELD and not depth):
                has_markup = role is not _RECORD and len(child) > 0
                layout.steps.append((meaning, at, has_markup))
                if has_markup:
                    self._check_markup(child, layout.entry)
                    deque(islice(places, sum(1 for _ in child.iter()) - 1), 0)
                    continue
            elif role is _FIELD and is_loc:
                layout.deep.append(at)
            self._lay_out(child, layout, places, depth + 1)

    def _check_markup(self, element: Element, inside: type) -> None:
        """Decline a field with elements inside that mean something themselves."""
        for child in islice(element.iter(), 1, None):
            role = self._meaning(child.tag, inside).role
            if role is not _OTHER or element.tag.endswith(("link", "loc")):
                raise FastPathDeclined

    def _meaning(self, tag: str, inside: type) -> Meaning:
        """Return what a tag means in entries of some class, or outside (``NoneType``)."""
        known = self._known[inside]
        meaning = known.get(tag) or self._find(tag, inside)
        if len(known) < MAX_NAMES and len(tag) <= MAX_NAME:
            known[tag] = meaning
        return meaning

    def _find(self, tag: str, inside: type) -> Meaning:
        space, _, local = tag.removeprefix("{").rpartition("}")
        if ":" in local:
            raise FastPathDeclined
        if not space or space in self._prefixes:
            name = f"{space}:{local}" if space else local
            return self._dialect.meaning(self.scope, name, inside)
        known = space_of(space)
        if known is Space.OTHER and ("sitemap" in space or "google" in space):
            raise FastPathDeclined  # its prefix decides
        return self._dialect.find_meaning(Name(known, local, space), inside)


def _may_mislead(block: str) -> bool:
    """Return whether a block may declare namespaces in another way than a tree shows them."""
    if "xmlns" not in block:
        return False
    found = declared(block)
    prefixes = {prefix for prefix, _ in found or () if prefix}
    if found is None or len(prefixes) > _MAX_PREFIXES:
        return True
    # To the scanner a prefix means the same in another case.
    lower = block.lower()
    return any(lower.count(tag) > block.count(tag) for tag in (f"<{one}:" for one in prefixes))
