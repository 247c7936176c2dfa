"""Entries that are written with the same tags, split at these and read in columns.

The *skeleton* of an entry is its text without what stands between tags, and without addresses in their
attributes. What its tags mean is found out once, from the tree of one such entry.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

from usp._base.loc_urls import SCHEMES
from usp._formats.abstract_parser import ignore
from usp._formats.xml.raw_entries import ElementRole
from usp._formats.xml.references import attribute_value, decode_text
from usp._formats.xml.tree_reader import FastPathDeclined, TreeReader

if TYPE_CHECKING:
    from usp._formats.xml.raw_entries import Meaning, RawEntry, Record

T = TypeVar("T")
_GAP = re.compile(r'>[^<]*+|"https?://[^"<>&\s]*+"')
_SECTION = re.compile(r"<!\[CDATA\[([^\]]*+)\]\]>")
_NAME = r"[A-Za-z_][\w.:-]*+"
_TAG = re.compile(rf'/?+{_NAME}(?:\s++{_NAME}=(?:"[^"<>&]*+"|>))*+\s*+/?+>')
_ATTRIBUTE = re.compile(rf'\s({_NAME})=("[^"]*+"|>)')
_WORTH_LEARNING = 3  # entries with one skeleton


def without_sections(block: str) -> str:
    """Return a block in which CDATA sections are written as other texts."""
    return _SECTION.sub(_escaped, block) if "<![CDATA[" in block else block


def _escaped(section: re.Match[str]) -> str:
    return section[1].replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _grouped(keys: Iterable[Hashable]) -> list[list[int]]:
    """Return the numbers of the keys that are equal."""
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
    groups, others = _grouped(map(len, pieces)), []
    found: list[tuple[list[int], EntryColumns]] = []
    while groups:
        numbers = groups.pop()
        first = entries[numbers[0]]
        written = _skeleton_of(first)
        if written not in known and len(numbers) >= _WORTH_LEARNING:
            trees.scope.remember_skeleton(written, Skeleton.of(written, trees, first + end))
        skeleton = known.get(written)
        columns = skeleton and EntryColumns(skeleton, (pieces[number] for number in numbers))
        if columns and columns.fit():
            found.append((numbers, columns))
            continue
        parts = _grouped(_skeleton_of(entries[number]) for number in numbers)
        if len(parts) > 1:
            groups += [[numbers[at] for at in part] for part in parts]
        else:
            others += numbers
    return found, others


class StartTag(NamedTuple):
    """The tag that begins an element: its place among all tags, its skeleton, its attributes."""

    at: int
    tag: str
    attributes: list[tuple[str, str]]


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
            found.append((meaning, StartTag(at, tags[at], _ATTRIBUTE.findall(tags[at]))))
        return cls(tags, kind, found)


class EntryColumns:
    """Entries of one skeleton."""

    def __init__(self, skeleton: Skeleton, entries: Iterable[Sequence[str]]) -> None:
        _, *self._pieces = zip(*entries, strict=True)
        self.number = len(self._pieces[0])
        self.skeleton = skeleton
        self._addresses: dict[int, tuple[list[str], str]] = {}  # of tags, and what follows these

    def fit(self) -> bool:
        """Return whether all of the entries have the skeleton."""
        for at, (tag, pieces) in enumerate(zip(self.skeleton.tags, self._pieces, strict=True)):
            if "=>" in tag:
                fits = self._cut_address(at, tag)
            else:  # most end tags are the same, with what follows them
                fits = pieces.count(pieces[0]) == self.number or all(
                    map(str.startswith, pieces, repeat(tag))
                )
            if not fits:
                return False
        return True

    def _cut_address(self, at: int, tag: str) -> bool:
        """Cut the address out of a tag; return whether the rest, and what follows it, is the same."""
        pieces, (before, *after) = self._pieces[at], tag.split("=>")
        start = len(before) + len('="')
        end = pieces[0][pieces[0].index('"', start) :]
        begins = all(map(str.startswith, pieces, repeat(pieces[0][:start])))
        if len(after) > 1 or not (begins and all(map(str.endswith, pieces, repeat(end)))):
            return False
        found = [piece[start : -len(end)] for piece in pieces]
        self._addresses[at] = found, end[len(after[0]) + 1 :]
        joined = "".join(found)
        is_plain = joined.isprintable() and not any(mark in joined for mark in '"<>& ')
        return is_plain and all(map(str.startswith, found, repeat(SCHEMES)))

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
        if "&" in joined or not joined.isprintable():
            return [decode_text(text, ignore) for text in texts]
        return texts

    def attributes(self, element: StartTag) -> dict[str, list[str]]:
        """Return the attributes of an element in all entries, by their names in lower case."""
        found: dict[str, list[str]] = {}
        for name, written in element.attributes:
            if written == ">":
                values = self._addresses[element.at][0]
            else:
                values = [attribute_value(written[1:-1], ignore)] * self.number
            found.setdefault(name.lower(), values)
        return found

    def records(self, elements: Elements) -> Iterator[Record]:
        """Yield a record of each entry: the name, text and attributes of each of its elements."""
        columns: list[Iterable[Any]] = []
        for name, element in elements:
            given = self.attributes(element)
            rows = zip(*given.values(), strict=True)
            written = [dict(zip(given, row, strict=True)) for row in rows] or repeat("")
            columns += repeat(name), self.texts(element), written
        return map(list, zip(*columns, strict=False))
