"""How the elements of an entry become the fields of a page, for all entries that are written alike."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from usp._formats.extensions import FIELDS as EXTENSIONS
from usp._formats.extensions import MANY, READERS, TABLES
from usp._formats.url_batches import ignore, read_own, remembered_own
from usp._formats.xml.cut import FIELDS
from usp._formats.xml.entries import Field, Sort
from usp._formats.xml.trees import Unvouched, unvouched
from usp.objects.page import PageFields

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Note
    from usp._formats.extensions import Shortcut
    from usp._formats.xml.entries import Step
    from usp._formats.xml.namespaces import Space
    from usp.objects.page import OwnFields

_OFTEN = 8  # entries, for which it pays to prepare how their records are read
_new = tuple.__new__  # how a named tuple is made quickly
_NO_EXTENSIONS = PageFields()[3:]
_NUMBERS = {name: number for number, name in enumerate(PageFields.__annotations__)}


def are_final(texts: Iterable[str | None]) -> bool:
    """Return whether there is no reference in texts that would be decoded once more."""
    joined = "".join(filter(None, texts))
    return "&" not in joined or ";" not in joined


class _Records:
    """The elements of an extension in an entry, by record: name, number, and number of the text."""

    def __init__(self, space: Space, records: list[list[tuple[str, int, int]]]) -> None:
        self.at = _NUMBERS[EXTENSIONS[space]]
        self._records = records
        self._read = READERS[space]
        self._many = MANY[space]
        self._table = TABLES.get(space)
        self._shortcuts: list[Shortcut] = []
        self._count = 0  # of entries that were read

    def _make_shortcuts(self) -> None:
        for record in self._records if self._many else self._records[-1:]:
            names, _, places = map(list, zip(*record, strict=True))
            shortcut = None if self._table is None else self._table.shortcut(names, places)
            if shortcut is None:
                self._shortcuts.clear()
                break
            self._shortcuts.append(shortcut)

    def read(
        self,
        texts: Sequence[str | None],
        elements: Sequence[Element],
        base: str | None,
        note: Note,
        *,
        quick: bool,
    ) -> Any:
        """Return what they become; ``quick`` if there are no references in their texts."""
        self._count += 1
        if self._count == _OFTEN:
            self._make_shortcuts()
        if quick and self._shortcuts:
            try:
                found = [read(texts, base) for read in self._shortcuts]
            except ValueError:
                pass  # what is wrong with it, the reader of records knows
            else:
                return found if self._many else found[0]
        records = [
            [Field(name, texts[text] or "", elements[at]) for name, at, text in record]
            for record in self._records
        ]
        return self._read(records, note, base)


class EntryPlan:
    """How the elements of an entry become its fields.

    ``leaves`` are the numbers of the elements whose texts are given, in this order and without blanks
    around them; None if they are empty, and once more at the end.
    """

    def __init__(self, steps: list[Step]) -> None:
        self.leaves = [at for sort, _, _, at in steps if sort is not Sort.RECORD]
        numbers = {at: number for number, at in enumerate(self.leaves)}
        nothing = len(numbers)
        self._own: dict[str, list[int]] = {name: [] for name in ("loc", *FIELDS)}
        records: dict[Space, list[list[tuple[str, int, int]]]] = {}
        for sort, name, space, at in steps:
            if sort is Sort.FIELD:
                self._own[name].append(numbers[at])
            elif sort is Sort.RECORD:
                records.setdefault(space, []).append([(name, at, nothing)])
            elif sort is Sort.RECORD_FIELD:
                records.setdefault(space, [[]])[-1].append((name, at, numbers[at]))
        locs = self._own.pop("loc")
        nested = any(sort is Sort.NESTED_LOC for sort, *_ in steps)
        self.loc = self.leaves[locs[0]] if len(locs) == 1 and not nested else None
        self._places = [(*self._own[name], nothing)[0] for name in FIELDS]
        self._is_simple = max(map(len, self._own.values())) <= 1
        self._written = records

    @cached_property
    def _records(self) -> list[_Records]:
        return [_Records(space, found) for space, found in self._written.items()]

    @cached_property
    def own_leaves(self) -> list[int | None]:
        """The elements of the fields of the protocol; :class:`Unvouched` is raised if one repeats."""
        if not self._is_simple:
            raise Unvouched
        leaves = [*self.leaves, None]
        return [leaves[at] for at in self._places]

    def fields(
        self,
        texts: Sequence[str | None],
        elements: Sequence[Element],
        base: str | None,
        *,
        strict: bool = False,
    ) -> PageFields:
        """Return all fields of an entry with such elements.

        With ``strict``, :class:`Unvouched` is raised if there may be a problem.
        """
        note = unvouched if strict else ignore
        quick = are_final(texts)
        fields: list[Any] = [*self.own(texts, note), *_NO_EXTENSIONS]
        for one in self._records:
            fields[one.at] = one.read(texts, elements, base, note, quick=quick)
        return _new(PageFields, fields)

    def own(self, texts: Sequence[str | None], note: Note = ignore) -> OwnFields:
        """Return the fields of the protocol."""
        if self._is_simple and note is ignore:
            return remembered_own(*[texts[at] for at in self._places])
        return read_own(self.given(texts), note)

    def given(self, texts: Sequence[str | None]) -> dict[str, str]:
        """Return the texts of the fields of the protocol that an entry has, by name."""
        found = {}
        for name, numbers in self._own.items():
            for number in numbers:
                text = texts[number]
                if text:  # of several the last one counts
                    found[name] = text
        return found
