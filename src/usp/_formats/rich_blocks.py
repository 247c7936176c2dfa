"""Blocks of entries with extensions, all fields at once and in columns, by their templates.

The records of each extension are taken out of the block first. A mark stays behind for each: a control
character, which no document may have. What is left of the entries are the fields of the protocol.
"""

from __future__ import annotations

import re
from functools import partial
from itertools import repeat
from typing import TYPE_CHECKING, Any

from usp._formats.extension_columns import Place, RecordColumns, stripped
from usp._formats.extensions import FIELDS as EXTENSIONS
from usp._formats.extensions import MANY
from usp._formats.link_runs import LinkTemplate
from usp._formats.templates import BLANKS, Element, Template
from usp._formats.url_batches import checked, ignore
from usp._formats.xml.cut import FIELDS
from usp._formats.xml.entries import Field, Sort
from usp._formats.xml.namespaces import Space
from usp._formats.xml.nesting import MAX_FIELDS
from usp._formats.xml.trees import Unvouched, unvouched
from usp.objects.page import PageFields

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp._formats.abstract_parser import Note
    from usp._formats.url_batches import Columns
    from usp._formats.xml.entries import RawEntry
    from usp._formats.xml.lanes import LaneParser

_MARKS = "\x01\x02\x03\x04\x05\x06"
_ROUNDS = 4  # of learning, for a block
_MAX_FAILURES = 5  # blocks in a row, after which it is not tried any more
_MANY = 20  # records of an entry, which have fewer elements than an entry may have
_NAME = re.compile(r"<([^\s<>/!?]++)")
_NO_EXTENSIONS = PageFields()[3:]
_fields_of_page = partial(tuple.__new__, PageFields)  # how a named tuple is made quickly


class _Records:
    """Takes the records of an extension that are written with this name."""

    def __init__(self, name: str, meaning: _Meanings, space: Space) -> None:
        self.begin = f"<{name}"
        self._template = Template(partial(meaning.record, space))
        self._end = _end_of(name)

    def take(self, text: str, mark: str, base: str | None, note: Note) -> tuple[str, list[Any]]:
        """Return the text with marks for records, and the values of these."""
        template = self._template
        between, flat = template.split(text)
        rest = mark.join(between)
        if self.begin in rest:
            template.learn(self._examples(rest))
            between, flat = template.split(text)
            rest = mark.join(between)
        if self.begin in rest:
            raise Unvouched
        found: list[Any] = [None] * (len(between) - 1)
        for plan, numbers, columns in template.columns(flat):
            values = plan.read(columns, base, note)
            if len(numbers) == len(found):
                return rest, values
            for number, value in zip(numbers, values, strict=True):
                found[number] = value
        return rest, found

    def _examples(self, text: str) -> Iterator[str]:
        """Yield the records in a text."""
        parts = self._end.split(text)
        for before, end in zip(parts[::2], parts[1::2], strict=False):
            begin = before.rfind(self.begin)
            if begin >= 0:
                yield before[begin:] + end


class _Flags:
    """Takes elements without content, written with this name, that say all by being there."""

    def __init__(self, name: str) -> None:
        self.begin = f"<{name}"
        self._pattern = _empty(name)

    def take(self, text: str, mark: str, *_: object) -> tuple[str, list[Any]]:
        """Return the text with marks for elements, and True for each of them."""
        between = self._pattern.split(text)
        rest = mark.join(between)
        if self.begin in rest:
            raise Unvouched
        return rest, [True] * (len(between) - 1)


def _end_of(name: str) -> re.Pattern[str]:
    return re.compile(rf"(</{re.escape(name)}\s*+>)")


def _empty(name: str) -> re.Pattern[str]:
    name = re.escape(name)
    return re.compile(rf"<{name}\s*+(?:/>|>\s*+</{name}\s*+>)[{BLANKS}]*+")


class _Meanings:
    """What the elements of templates mean."""

    def __init__(self, parser: LaneParser, entry: type[RawEntry], end: str) -> None:
        self._parser = parser
        self._entry = entry
        self._end = end
        self._start = f"<{end[2:-1].strip()}>"

    def _steps(self, element: Element, text: str) -> list[tuple[Sort, str, Space, Place]]:
        """Return what an element has that means something, and where."""
        trees = self._parser.trees()
        root = trees.parse(text)
        if root is None or len(root) != 1:
            raise Unvouched
        sort, local, _ = trees.meaning(root[0].tag, type(None))
        if sort is not Sort.ENTRY or self._parser.entries[local] is not self._entry:
            raise Unvouched
        elements = list(root[0].iter())
        steps = trees.steps(elements, self._entry)
        own = elements[len(elements) - sum(1 for _ in element.all()) :]
        places = []
        column = -1
        for one, node in zip(element.all(), own, strict=True):
            column += one.has_text
            at = column if one.has_text else -1
            places.append(Place(at, one.repeats, one.says_nothing, Field("", "", node)))
        first = len(elements) - len(own)
        return [(sort, name, space, places[at - first]) for sort, name, space, at in steps]

    def record(self, space: Space, element: Element) -> RecordColumns:
        """Return what reads a record."""
        text = f"{self._start}{element.written()}{self._end}"
        begin, *steps = self._steps(element, text)
        places = {name: place for _, name, _, place in steps}
        if (
            begin[0] is not Sort.RECORD
            or any(step[0] is not Sort.RECORD_FIELD or step[2] is not space for step in steps)
            or len(places) < len(steps)
        ):
            raise Unvouched
        return RecordColumns(space, places)

    def entry(self, element: Element) -> dict[str, int]:
        """Return the columns of the fields of an entry."""
        steps = self._steps(element, element.written())
        steps = [step for step in steps if step[0] is not Sort.FIELD or not step[-1].says_nothing]
        places = {name: place for _, name, _, place in steps}
        if (
            any(step[0] is not Sort.FIELD for step in steps)
            or len(places) < len(steps)
            or "loc" not in places
            or any(place.column < 0 for place in places.values())
            or any(one.repeats for one in element.all())
        ):
            raise Unvouched
        return {name: place.column for name, place in places.items()}

    def note(self, name: str) -> None:
        """Note that there is such an element."""
        self._parser.meaning(name, self._entry)

    def space(self, name: str) -> Space | None:
        """Return the extension that a name begins a record of, if it does."""
        meaning = self._parser.would_mean(name, self._entry)
        return meaning.space if meaning.sort is Sort.RECORD else None


class RichBlocks:
    """Reads blocks of entries that all end with ``end``, below the root where ``parser`` is.

    What cannot be vouched for raises :class:`Unvouched`; so does what may be a problem, if ``strict``.
    """

    def __init__(self, parser: LaneParser, entry: type[RawEntry], end: str) -> None:
        self.end = end
        self._parser = parser
        self._meanings = _Meanings(parser, entry, end)
        self._template = Template(self._meanings.entry, _MARKS)
        self._links: LinkTemplate | None = None
        self._records: dict[Space, _Records | _Flags] = {}
        self._failures = 0

    def fields(self, block: str, *, strict: bool = False) -> tuple[list[str], list[PageFields]]:
        """Return the locs of entries, references decoded, and all of their fields."""
        if self._failures >= _MAX_FAILURES:
            raise Unvouched
        self._failures += 1
        found = self._fields(block, strict=strict)
        self._failures = 0
        return found

    def _fields(self, block: str, *, strict: bool) -> tuple[list[str], list[PageFields]]:
        if any(mark in block for mark in _MARKS) or (strict and "]]>" in block):
            raise Unvouched
        note: Note = unvouched if strict else ignore
        for _ in range(_ROUNDS):
            rest, values = self._take(block, note)
            between, flat = self._template.split(rest)
            left = "".join(between)
            if not left.strip(BLANKS):
                break
            self._learn(left)
        else:
            raise Unvouched
        entries, count = rest.split(self.end), len(between) - 1
        if len(entries) != count + 1:
            raise Unvouched
        locs, columns = self._own(flat, count, note)
        if strict and not columns.can_all_be_read():
            raise Unvouched
        defaults = dict(zip(PageFields._fields[3:], _NO_EXTENSIONS, strict=True))
        extensions: dict[str, Any] = {name: repeat(value) for name, value in defaults.items()}
        entries.pop()
        for space, (mark, found) in values.items():
            counts = [entry.count(mark) for entry in entries]
            if sum(counts) < len(found):  # some are inside the texts of others
                raise Unvouched
            if max(counts) > _MANY and block.count("<") >= MAX_FIELDS:
                raise Unvouched
            name = EXTENSIONS[space]
            extensions[name] = _shared(found, counts, defaults[name], many=MANY[space])
        rows = zip(*columns.values(), *extensions.values())  # noqa: B905 - some repeat for ever
        return locs, [*map(_fields_of_page, rows)]

    def _take(self, block: str, note: Note) -> tuple[str, dict[Space, tuple[str, list[Any]]]]:
        """Take all records out of a block; return what is left, and marks and values."""
        base = self._parser.base()
        values: dict[Space, tuple[str, list[Any]]] = {}
        first, marks = _MARKS[0], _MARKS[1:]
        if self._links is not None and self._links.begin in block:
            block, links = self._links.take(block, first, base, strict=note is unvouched)
            values[Space.XHTML] = first, links
        for mark, (space, records) in zip(marks, self._records.items(), strict=False):
            if records.begin in block:
                block, found = records.take(block, mark, base, note)
                values[space] = mark, found
        return block, values

    def _learn(self, left: str) -> None:
        """Learn from entries that do not match."""
        added = False
        for name in dict.fromkeys(_NAME.findall(left)):
            space = self._meanings.space(name)
            if space is None:
                continue
            added = True
            if space is Space.XHTML:
                if self._links or not self._parser.scope.declares(name.rpartition(":")[0]):
                    raise Unvouched  # perhaps a link declares its prefix itself
                self._meanings.note(name)
                self._links = LinkTemplate(name)
            elif space in self._records:
                raise Unvouched
            elif space is Space.MOBILE:
                if not self._parser.scope.declares(name.rpartition(":")[0]):
                    raise Unvouched
                self._meanings.note(name)
                self._records[space] = _Flags(name)
            else:
                self._records[space] = _Records(name, self._meanings, space)
        if not added:
            left = left.translate(_NO_MARKS)
            self._template.learn(f"{one}{self.end}" for one in left.split(self.end)[:-1])

    def _own(self, flat: list[str | None], count: int, note: Note) -> tuple[list[str], Columns]:
        """Return the locs of entries, and the fields of the protocol."""
        texts: dict[str, list[str]] = {name: [""] * count for name in ("loc", *FIELDS)}
        for places, numbers, columns in self._template.columns(flat):
            for name, at in places.items():
                column = stripped(columns[at], note)
                if len(numbers) == count:
                    texts[name] = column
                else:
                    for number, text in zip(numbers, column, strict=True):
                        texts[name][number] = text
        locs = texts.pop("loc")
        found = checked(texts, count)
        if found is None or "" in locs:
            raise Unvouched
        return locs, found


_NO_MARKS = dict.fromkeys(map(ord, _MARKS))


def _shared(values: list[Any], counts: list[int], default: Any, *, many: bool) -> list[Any]:
    """Return the values of each entry, or the last of them."""
    found: list[Any] = []
    at = 0
    for count in counts:
        end = at + count
        found.append((values[at:end] if many else values[end - 1]) if count else default)
        at = end
    return found
