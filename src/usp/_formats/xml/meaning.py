"""What an element means to a parser, by its name and where it stands."""

from __future__ import annotations

from enum import Enum, auto
from typing import TYPE_CHECKING, NamedTuple

from usp._formats.xml.namespaces import Space

if TYPE_CHECKING:
    from usp._formats.xml.entries import RawEntry
    from usp._formats.xml.namespaces import Name


class Sort(Enum):
    """What an element is."""

    OTHER = auto()
    ENTRY = auto()
    FIELD = auto()  # of the document's own vocabulary
    RECORD = auto()  # begins a record of an extension
    RECORD_FIELD = auto()


class Meaning(NamedTuple):
    """What an element means where it stands: outside of entries, or in one of some class."""

    sort: Sort
    local: str
    space: Space


def meaning_inside(name: Name, entry: type[RawEntry], *, own: bool) -> Meaning:
    """Give what an element means inside an entry; ``own`` if it is of the document's vocabulary."""
    space, local = name.space, name.local
    if own and local in entry.own_fields:
        return Meaning(Sort.FIELD, local, space)
    if own and local == "link":  # the prefix of xhtml:link was forgotten
        space = Space.XHTML
    extension = entry.extensions.get(space)
    if extension is not None and local == extension.record:
        return Meaning(Sort.RECORD, local, space)
    if extension is not None and local in extension.fields:
        return Meaning(Sort.RECORD_FIELD, local, space)
    return Meaning(Sort.OTHER, local, space)
