"""Entries that are written with the same tags, split at these and read in columns.

The *skeleton* of an entry is its text without what stands between tags, and without addresses in their
attributes. What its tags mean is found out once, from the tree of one such entry.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from usp._base.loc_urls import SCHEMES
from usp._formats.abstract_parser import ignore
from usp._formats.xml.raw_entries import ElementRole
from usp._formats.xml.references import PRINTED, attribute_value, decode_text, has_others
from usp._formats.xml.tree_reader import FastPathDeclined, TreeReader

if TYPE_CHECKING:
    from usp._formats.xml.raw_entries import Meaning, RawEntry, Record

T = TypeVar("T")
_GAP = re.compile(r'>[^<]*+|"https?://[^"<>\s]*+"')
_SECTION = re.compile(r"<!\[CDATA\[([^\]]*+)\]\]>")
_NAME = r"[A-Za-z_][\w.:-]*+"
_VALUES = rf'(?:\s++{_NAME}="[^"<>&]*+")*+'
_TAG = re.compile(rf"/?+{_NAME}{_VALUES}(?:\s++{_NAME}=>{_VALUES})?+\s*+/?+>")
_ATTRIBUTE = re.compile(rf'\s({_NAME})=("[^"]*+"|>)')
_WORTH_LEARNING = 3  # entries with one skeleton
_IN_ADDRESSES = bytes({*range(0x21, 0x7F)}.difference(b'"<>'))


def without_sections(block: str) -> str:
    """Return a block in which CDATA sections are written as other texts."""
    return _SECTION.sub(_escaped, block) if "<![CDATA[" in block else block


def _escaped(section: re.Match[str]) -> str:
    return section[1].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    groups: defaultdict[Hashable, list[int]] = defaultdict(list)
    for number, key in enumerate(keys):
        groups[key].append(number)
    return [*groups.values()]


def in_order(parts: Iterable[tuple[Iterable[int], Iterable[T]]]) -> list[T]:
    """Return what there is of numbered entries, in their order."""
    found = {
        number: one for numbers, part in parts for number, one in zip(numbers, part, strict=True)
    }
    return [found[number] for number in range(len(found))]


def _skeleton_of(entry: str) -> str:
    """Return the skeleton of an entry; what stands before its tag does not belong to it."""
    return _GAP.sub(">", entry[entry.find("<") :])


def split_alike(
    block: str, end: str, trees: TreeReader
) -> tuple[list[tuple[list[int], EntryColumns]], list[int]]:
    """Split the entries of a block, which end in the same way; ``trees`` know what their tags mean.

    Return the numbers of entries with one skeleton, and their columns; then those of all others.
    """
    entries, known = block.split(end)[:-1], trees.scope.skeletons
    pieces = [entry.split("<") for entry in entries]
    found: list[tuple[list[int], EntryColumns]] = []
    others: list[int] = []
    # Nearly all entries with as many tags as another one have its skeleton: the rest is grouped again.
    groups = [(numbers, False) for numbers in _grouped(map(len, pieces))]
    while groups:
        numbers, are_alike = groups.pop()
        first = entries[numbers[0]]
        written = _skeleton_of(first)
        if written not in known and len(numbers) >= _WORTH_LEARNING:
            trees.scope.remember_skeleton(written, Skeleton.of(written, trees, first + end))
        if skeleton := known.get(written):
            columns = EntryColumns(skeleton, [pieces[number] for number in numbers])
            fitting, numbers = columns.without_others(numbers)
            if fitting:
                found.append((fitting, columns))
        if are_alike:
            others += numbers
        elif numbers:
            parts = _grouped(_skeleton_of(entries[number]) for number in numbers)
            groups += [([numbers[at] for at in part], True) for part in parts]
    return found, others


class StartTag(NamedTuple):
    """The tag that begins an element: its place among all tags, its skeleton, and its attributes.

    Their names are in lower case; ``address`` is the one whose value the skeleton leaves out, if any.
    """

    at: int
    tag: str
    attributes: dict[str, str]
    address: str

    @classmethod
    def of(cls, at: int, tag: str) -> StartTag:
        """Return a tag of a skeleton."""
        address, given = "", dict[str, str]()
        for written, value in _ATTRIBUTE.findall(tag):
            name = written.lower()  # of two that are equal then, the first counts
            if value == ">" and name not in given:
                address = name
            elif name != address:
                given.setdefault(name, attribute_value(value[1:-1], ignore))
        return cls(at, tag, given, address)


Elements: TypeAlias = list[tuple[str, StartTag]]
"""The elements of a record, and their names."""


class Skeleton(NamedTuple):
    """The tags of entries that are written alike, their class, and the elements that mean something."""

    tags: list[str]
    kind: type[RawEntry]
    elements: list[tuple[Meaning, StartTag]]

    @classmethod
    def of(cls, skeleton: str, trees: TreeReader, entry: str) -> Skeleton | None:
        """Return that of an entry; None if its text does not show what the scanner would read."""
        root, tags = trees.parse(entry), skeleton.split("<")[1:]
        is_plain = "xml" not in skeleton and all(map(_TAG.fullmatch, tags))
        if root is None or len(root) != 1 or not is_plain:
            return None
        try:
            kind, elements = trees.elements(root[0])
        except FastPathDeclined:
            return None
        begun = [at for at, tag in enumerate(tags) if tag[0] != "/"]
        places = dict(zip(root[0].iter(), begun, strict=True))
        found = []
        for meaning, element in elements:
            if len(element) and meaning.role is not ElementRole.RECORD:
                return None
            at = places[element]
            found.append((meaning, StartTag.of(at, tags[at])))
        return cls(tags, kind, found)


class EntryColumns:
    """Entries of one skeleton: what stands between their tags, a column for each tag."""

    def __init__(self, skeleton: Skeleton, entries: Iterable[Sequence[str]]) -> None:
        _, *self._pieces = zip(*entries, strict=True)
        self.number = len(self._pieces[0])
        self.skeleton = skeleton
        self._addresses: dict[int, tuple[list[str], str]] = {}  # of tags, and what follows these

    def without_others(self, numbers: list[int]) -> tuple[list[int], list[int]]:
        """Leave out entries of other skeletons; return the numbers of the rest, and of those."""
        left_out: list[int] = []
        while numbers and (others := self._others()):
            keep = [at not in others for at in range(self.number)]
            left_out += [numbers[at] for at in others]
            numbers = [*compress(numbers, keep)]
            self._pieces = [tuple(compress(pieces, keep)) for pieces in self._pieces]
            self.number = len(numbers)
        return numbers, left_out

    def _others(self) -> set[int]:
        """Return which entries have another skeleton; cut the addresses out of their tags."""
        others: set[int] = set()
        for at, (tag, pieces) in enumerate(zip(self.skeleton.tags, self._pieces, strict=True)):
            if "=>" in tag:
                others |= self._cut_address(at, tag)
            elif pieces.count(pieces[0]) == self.number and pieces[0].startswith(tag):
                continue  # as most end tags, with what follows them
            elif not all(map(str.startswith, pieces, repeat(tag))):
                others |= {at for at, piece in enumerate(pieces) if not piece.startswith(tag)}
        return others

    def _cut_address(self, at: int, tag: str) -> set[int]:
        """Cut the address out of a tag; return where there is none, or the rest is another one."""
        pieces, (before, after) = self._pieces[at], tag.split("=>")
        start = f'{before}="'
        end = pieces[0][pieces[0].find('"', len(start)) :]
        text = "\0".join(pieces)
        found = text[len(start) : -len(end)].split(f"{end}\0{start}")
        fits = text.startswith(start) and text.endswith(end) and text.count("\0") < self.number
        if not (fits and len(found) == self.number and _are_addresses(found)):
            cut = slice(len(start), -len(end))
            return {
                at
                for at, piece in enumerate(pieces)
                if not (piece.startswith(start) and piece.endswith(end))
                or not _are_addresses([piece[cut]])
            }
        decoded = [one.replace("&amp;", "&") for one in found] if "&amp;" in text else found
        self._addresses[at] = decoded, end[len(after) + 1 :]
        return set()

    def fields(self) -> Mapping[str, list[StartTag]]:
        """Return the elements of each name."""
        found: defaultdict[str, list[StartTag]] = defaultdict(list)
        for meaning, element in self.skeleton.elements:
            found[meaning.local].append(element)
        return found

    def texts(self, element: StartTag) -> list[str]:
        """Return the text of an element in all entries, references decoded."""
        at, begin = element.at, len(element.tag)
        if at in self._addresses:
            texts = [self._addresses[at][1]] * self.number
        else:
            texts = [piece[begin:] for piece in self._pieces[at]]
        joined = "".join(texts)
        if "&" in joined or has_others(joined, PRINTED):
            return [decode_text(text, ignore) for text in texts]
        return texts

    def addresses(self, element: StartTag) -> list[str]:
        """Return the values of the attribute of a tag that is an address."""
        return self._addresses[element.at][0]

    def records(self, elements: Elements) -> Iterator[Record]:
        """Yield a record of each entry: the name, text and attributes of each of its elements."""
        columns: list[Iterable[Any]] = []
        for name, element in elements:
            written: Iterable[Any] = repeat(element.attributes or "")
            if element.address:
                given = self._addresses[element.at][0]
                written = [{**element.attributes, element.address: value} for value in given]
            columns += repeat(name), self.texts(element), written
        return map(list, zip(*columns, strict=False))


def _are_addresses(texts: Sequence[str]) -> bool:
    """Return whether texts are URLs with nothing in them to think about but ampersands."""
    joined = "".join(texts)
    is_plain = not has_others(joined, _IN_ADDRESSES) and joined.count("&") == joined.count("&amp;")
    return is_plain and all(map(str.startswith, texts, repeat(SCHEMES)))
