"""The lane of trees: a block that is well-formed, read by expat and the tree builder of the library.

The block is parsed below our own root, which declares every prefix of the document as itself: so the
names in the tree are those that are written, and mean the same as for the scanner. No entity can be
declared inside a block, and no token can outgrow it.

A tree is not vouched for if the scanner would read the block differently, or note a problem.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from xml.etree.ElementTree import ParseError, TreeBuilder, XMLParser
from xml.parsers.expat import ExpatError, ParserCreate, errors

from usp._formats.xml.entries import Meaning, RawEntry, Sort
from usp._formats.xml.namespaces import Name, Space, space_of
from usp._formats.xml.nesting import MAX_DEPTH, MAX_FIELDS
from usp._formats.xml.vocabulary import MAX_NAME, MAX_NAMES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from xml.etree.ElementTree import Element

    from usp._formats.xml.entries import Step
    from usp._formats.xml.vocabulary import Vocabulary
    from usp.objects.problem import ProblemCode

_UNBOUND = errors.codes[errors.XML_ERROR_UNBOUND_PREFIX]
_MAX_PREFIXES = 50
_MAX_STEPS = 500  # entries, and elements of one, that are remembered
_MAX_SHALLOW = MAX_DEPTH // 2  # elements that cannot be nested too deep, because they are so few
_PREFIX = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,99}")
_USED = re.compile(r"[</\s]([A-Za-z_][A-Za-z0-9_.-]{0,99}):[A-Za-z_]")
_DECLARED = re.compile(
    r"""xmlns([\w:.-]{0,100}+)\s{0,9}+=\s{0,9}+(?:"([^"<]{0,999}+)"|'([^'<]{0,999}+)')"""
)
_BASE = re.compile("xml:(?i:base)")
_BLANKS = " \t\r\n"
_OTHER, _FIELD, _RECORD = Sort.OTHER, Sort.FIELD, Sort.RECORD  # looked up for every element
_RECORD_FIELD, _ENTRY = Sort.RECORD_FIELD, Sort.ENTRY


class Unvouched(Exception):  # noqa: N818 - nothing is wrong: another lane reads it
    """Raised where a tree does not show what the scanner would make of the text."""


def unvouched(code: ProblemCode, excerpt: str) -> None:
    """Raise :class:`Unvouched`: there is a problem, and the scanner makes those."""
    raise Unvouched(code, excerpt)


class Trees:
    """Reads blocks as trees, for a parser that is between entries."""

    def __init__(self, parser: Vocabulary) -> None:
        self._parser = parser
        self._scope = parser.scope
        self._prefixes: set[str] = set()
        self._start = ""
        self._known: dict[type, dict[str, Meaning]] = {}
        self._steps: dict[tuple[object, ...], list[Step]] = {}
        self._declare(self._scope.prefixes())

    def suits(self, parser: Vocabulary) -> bool:
        """Return whether names mean the same at the current position of the parser."""
        return parser.scope is self._scope

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
        if "xmlns" in block and self._may_mislead(block):
            return None
        if "xml:" in block and not self._parser.reads_bases and _BASE.search(block):
            return None
        # Comments are made and thrown away: let it be done in C.
        builder = TreeBuilder(comment_factory=str)  # type: ignore[arg-type]
        parser = XMLParser(target=builder)  # noqa: S314 - no entity is declared in a block
        try:
            parser.feed(f"{self._start}{block}</r>")
            return parser.close()
        except ParseError as error:
            # A prefix that was not declared, or in capitals, means something to the scanner.
            if error.code != _UNBOUND or not self._declare(_USED.findall(block)):
                return None
        except ValueError:  # half of a pair of characters
            return None
        return self.parse(block)

    def _may_mislead(self, block: str) -> bool:
        """Return whether a block may declare namespaces in another way than a tree shows them."""
        found = _DECLARED.findall(block)
        if len(found) != block.lower().count("xmlns"):
            return True
        for name, double, single in set(found):
            uri = double or single
            if name != name.lower() or ":" not in uri or "&" in uri or "xmlns" in uri.lower():
                return True
        return False

    # What names mean ------------------------------------------------------------------------------

    def meanings(self, inside: type) -> dict[str, Meaning]:
        """Return what is known about the meaning of tags in entries of some class."""
        return self._known.setdefault(inside, {})

    def meaning(self, tag: str, inside: type) -> Meaning:
        """Return what a tag means in entries of some class, or outside (``NoneType``)."""
        known = self.meanings(inside)
        meaning = known.get(tag)
        if meaning is None:
            meaning = self._find(tag, inside)
            if len(known) < MAX_NAMES and len(tag) <= MAX_NAME:
                known[tag] = meaning
        return meaning

    def _find(self, tag: str, inside: type) -> Meaning:
        space, _, local = tag.removeprefix("{").rpartition("}")
        if ":" in local:
            raise Unvouched
        if not space or space in self._prefixes:
            return self._parser.meaning(f"{space}:{local}" if space else local, inside)
        known = space_of(space)
        if known is Space.OTHER and ("sitemap" in space or "google" in space):
            raise Unvouched  # its prefix decides
        return self._parser.find_meaning(Name(known, local, space), inside)

    def columns(
        self, entries: Iterable[str], fields: Iterable[str], inside: type[RawEntry]
    ) -> dict[str, str] | None:
        """Return the tag of each field, if these are tags of such entries and of their fields only."""
        for tag in entries:
            sort, local, _ = self.meaning(tag, type(None))
            if sort is not Sort.ENTRY or self._parser.entries[local] is not inside:
                return None
        names: dict[str, str] = {}
        for tag in fields:
            sort, local, _ = self.meaning(tag, inside)
            if sort is not Sort.FIELD or local in names:
                return None
            names[local] = tag
        return names

    # Entries --------------------------------------------------------------------------------------

    def are_entries(self, root: Element, inside: type[RawEntry]) -> bool:
        """Return whether a tree has entries of some class and nothing else, with no text between."""
        for tag in {element.tag for element in root}:
            sort, local, _ = self.meaning(tag, type(None))
            if sort is not Sort.ENTRY or self._parser.entries[local] is not inside:
                return False
        if "".join([element.tail or "" for element in root]).strip(_BLANKS):
            return False
        texts = [element.text or "" for element in root]
        texts += [child.tail or "" for element in root for child in element]
        return not "".join(texts).strip()

    def entries(self, elements: Iterable[Element], base: str | None) -> list[RawEntry]:
        """Return the entries that elements are, not finished; raises :class:`Unvouched`."""
        return [self._entry(element, base) for element in elements]

    def _entry(self, element: Element, base: str | None) -> RawEntry:
        sort, local, _ = self.meaning(element.tag, type(None))
        if sort is not Sort.ENTRY or local in self._parser.strays:
            raise Unvouched
        check_texts(element)
        entry = self._parser.entries[local](None, base)
        if element.keys():
            entry.written = element
        elements = list(element.iter())
        entry.fill(self.steps(elements, type(entry)), elements, self._parser)
        return entry

    def steps(self, elements: list[Element], inside: type[RawEntry]) -> list[Step]:
        """Return which elements of an entry mean something; the entry itself is the first of them.

        Entries repeat the tags of others: what they mean is found out once.
        """
        key = (inside, *[element.tag for element in elements], *map(len, elements))
        known = self._steps.get(key)
        if known is None:
            known = self._find_steps(elements, inside)
            if len(self._steps) < _MAX_STEPS and len(key) < _MAX_STEPS:
                self._steps[key] = known
        return known

    def _find_steps(self, elements: list[Element], inside: type[RawEntry]) -> list[Step]:
        if len(elements) >= MAX_FIELDS or (len(elements) > _MAX_SHALLOW and _is_deep(elements[0])):
            raise Unvouched
        own = set(map(id, elements[0]))
        steps: list[Step] = []
        skip = 1  # the entry itself; later, elements in the text of a field
        for at, element in enumerate(elements):
            sort, local, space = self.meaning(element.tag, inside)
            is_nested = sort is _FIELD and id(element) not in own
            if skip:
                skip -= 1
                if at and sort is not _OTHER:
                    raise Unvouched
                continue
            if sort is _OTHER or (is_nested and local != "loc"):
                continue
            if sort is _ENTRY or (is_nested and len(element)):
                raise Unvouched
            steps.append((Sort.NESTED_LOC if is_nested else sort, local, space, at))
            if sort is not _RECORD and len(element):
                skip = sum(1 for _ in element.iter()) - 1
        return steps


def is_well_formed(block: str) -> bool:
    """Return whether a block is well-formed; prefixes need not be declared."""
    try:
        ParserCreate().Parse(f"<r>{block}</r>", True)
    except (ExpatError, ValueError):
        return False
    return True


def check_text_before(root: Element) -> None:
    """Raise :class:`Unvouched` if there is text before the first entry."""
    if (root.text or "").strip(_BLANKS):
        raise Unvouched


def check_texts(element: Element) -> None:
    """Raise :class:`Unvouched` if there is text in or after an entry, outside of its elements."""
    tail, text = element.tail, element.text
    if (text and not text.isspace()) or (tail and tail.strip(_BLANKS)):
        raise Unvouched
    for child in element:
        tail = child.tail
        if tail and not tail.isspace():
            raise Unvouched


def _is_deep(element: Element) -> bool:
    """Return whether elements are nested so deep that the scanner only counts them."""
    level = [element]
    for _ in range(_MAX_SHALLOW):
        level = [child for one in level for child in one]
        if not level:
            return False
    return True
