"""What extensions say of a page: images, news, PageMaps, ResourceSync; what all such values share.

A field says how documents write it; a :class:`Table` has the fields of a value.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from datetime import datetime
from decimal import Decimal
from enum import Enum, auto
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any, ClassVar

from usp._base.display import printable

_PAGES = "_pages_value"
_SLOTS = 2  # a pair: the dictionary of the object, which is None, and its slots
_set = object.__setattr__  # how a frozen value sets its fields once, in its own constructor


def old_fields(state: object) -> dict[str, Any] | None:
    """Return the fields of an object pickled by 1.8.1 by their plain names; None if it was not.

    Such a state has private names, ``_SitemapPage__url``, and one of its own for the pages of a node.
    """
    if not (isinstance(state, tuple) and len(state) == _SLOTS and isinstance(state[1], dict)):
        return None
    found = {name.rpartition("__")[2]: value for name, value in state[1].items()}
    if _PAGES in found:
        found["pages"] = found.pop(_PAGES)
    return found


# The types of nearly all fields, which are plain already.
_SCALARS = frozenset({str, type(None), bool, int, datetime, Decimal})


def plain(value: object) -> Any:
    """Return a value as dictionaries, lists and scalars, for ``to_dict``."""
    if isinstance(value, list | tuple):
        return [item if type(item) in _SCALARS else plain(item) for item in value]
    return value.to_dict() if isinstance(value, PlainValue) else value


class PlainValue:
    """What the frozen dataclasses of this package share: ``to_dict`` and ``repr``."""

    __slots__ = ()
    __dataclass_fields__: ClassVar[dict[str, Any]]  # by their names

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary, nested values as dictionaries too."""
        return {
            name: value if type(value := getattr(self, name)) in _SCALARS else plain(value)
            for name in self.__dataclass_fields__
        }

    def __repr__(self) -> str:
        """Return class and fields, texts as they are: programs print and parse it."""
        texts = ", ".join(f"{name}={getattr(self, name)}" for name in self.__dataclass_fields__)
        return shown(f"{type(self).__name__}({texts})")


def shown(text: str) -> str:
    """Return what is printed of a value: as 1.8.1 prints it, but without a website's controls."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _set_state(self: PlainValue, state: Any) -> None:
    """Set the fields of a value from its pickle: ours has them in order, that of 1.8.1 by name."""
    given = old_fields(state) or dict(zip(self.__dataclass_fields__, state, strict=True))
    for name, value in given.items():
        _set(self, name, value)


class Kind(Enum):
    """What a single value is."""

    TEXT = auto()
    VERBATIM = auto()  # a text that is decoded once, where others are decoded twice
    ADDRESS = auto()  # a text that is resolved against the address of the page
    ADDRESS_OR_NAME = auto()  # resolved if it begins with a slash
    WORD = auto()  # a text that repeats, in a column of its own
    TIME = auto()
    NUMBER = auto()
    WHOLE = auto()
    FLAG = auto()


SELF = ""  # as the name of an element: the element of the record itself
# How several values are written: an element each. Otherwise what separates them in one element.
EACH = ""

_KINDS = {"int": Kind.WHOLE, "bool": Kind.FLAG, "datetime": Kind.TIME, "Decimal": Kind.NUMBER}


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field: its name in the value, what it is, and where it stands in the document."""

    name: str
    kind: Kind | Table = Kind.TEXT
    element: str | None = None  # the element, if that is not called as the field
    # The attribute of the element that has the value, if its text does not.
    attribute: str | None = None
    instead: str | None = None  # the attribute that may have the value where the text is empty
    many: str | None = None  # how several are written: EACH, or what separates them
    within: str | None = None  # the element around the field's own, which has no other meaning
    required: bool = False  # whether there is no value without the field
    always: bool = False  # whether the element is written even if it is empty
    default: str | None = None
    column: str | None = None  # the name in tables, if it is another
    argument: str | None = None  # the name in the constructor of the value, if it is another
    beside: bool = False  # whether its elements stand beside that of the record, not in it
    feeds_only: bool = False  # whether no XML sitemap has it, but other kinds do

    @property
    def tag(self) -> str:
        """The local name of the element."""
        return self.name if self.element is None else self.element

    @property
    def item(self) -> FieldSpec:
        """The field with one of its values, if it has several."""
        return replace(self, many=None)


@dataclass(frozen=True, eq=False)
class Table:
    """The fields of a value, in the order in which the extension's schema wants their elements."""

    element: str
    value: type | None  # the class of the value; None for a tuple of the fields
    specs: tuple[FieldSpec, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)  # attributes that every such element has

    @classmethod
    def of(cls, element: str, value: type, *first: str) -> Table:
        """Return the table of a value whose fields say how they are written; some of them first."""
        specs = {}
        for one in fields(value):
            kind = _KINDS.get(str(one.type).removesuffix(" | None"), Kind.TEXT)
            specs[one.name] = FieldSpec(one.name, **{"kind": kind, **one.metadata})
        return cls(element, value, tuple(specs[name] for name in dict.fromkeys((*first, *specs))))

    @cached_property
    def getters(self) -> dict[str, Callable[[Any], Any]]:
        """What gets each field of a value, by name and in the value's own order."""
        if self.value is None:
            return {spec.name: itemgetter(at) for at, spec in enumerate(self.specs)}
        return {one.name: attrgetter(one.name) for one in fields(self.value)}

    @cached_property
    def in_order(self) -> tuple[FieldSpec, ...]:
        """The fields in the order of the value."""
        by_name = {spec.name: spec for spec in self.specs}
        return tuple(by_name[name] for name in self.getters)

    @cached_property
    def elements(self) -> dict[str, list[FieldSpec]]:
        """The fields by element: those with its text and those with its attributes."""
        elements: dict[str, list[FieldSpec]] = {}
        for spec in self.specs:
            if not spec.feeds_only:
                elements.setdefault(spec.tag, []).append(spec)
        return elements

    def names(self) -> set[str]:
        """Return the names of all elements inside the record's own that have a value.

        Elements around others, which have none, are not among them.
        """
        names: set[str] = set()
        for spec in self.specs:
            if isinstance(spec.kind, Table):
                names |= spec.kind.names()
            elif spec.feeds_only:
                continue
            if spec.many is not None or not isinstance(spec.kind, Table):
                names.add(spec.tag)
        return names - {SELF}

    def make(self, found: Mapping[str, Any]) -> Any:
        """Return a value with these fields."""
        if self.value is None:
            return tuple(found.get(spec.name) for spec in self.specs)
        return self.value(**found)


def written(unset: Any = None, *, kw_only: Any = MISSING, **how: Any) -> Any:
    """Return a field that says how documents write it, if not as an element of the same name."""
    return field(default=unset, kw_only=kw_only, metadata=how)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class SitemapImage(PlainValue):
    """An image of a page, from the image extension."""

    loc: str = written(kind=Kind.ADDRESS, required=True)
    caption: str | None = None
    geo_location: str | None = None
    title: str | None = None
    license: str | None = written(kind=Kind.ADDRESS_OR_NAME, argument="license_")

    def __init__(
        self,
        loc: str,
        caption: str | None = None,
        geo_location: str | None = None,
        title: str | None = None,
        license_: str | None = None,
    ) -> None:
        _set(self, "loc", loc)
        _set(self, "caption", caption)
        _set(self, "geo_location", geo_location)
        _set(self, "title", title)
        _set(self, "license", license_)

    __setstate__ = _set_state


_LISTS = ("genres", "keywords", "stock_tickers", "authors")


@dataclass(frozen=True, slots=True, repr=False)
class SitemapNewsStory(PlainValue):
    """A news story, from the news extension or from a feed."""

    title: str = written(MISSING, required=True)
    publish_date: datetime | None = written(
        MISSING, element="publication_date", required=True, column="publication_date"
    )
    publication_name: str | None = written(element="name", within="publication")
    publication_language: str | None = written(element="language", within="publication")
    access: str | None = None
    genres: list[str] = written(many=",")
    keywords: list[str] = written(many=",")
    stock_tickers: list[str] = written(many=",")
    authors: list[str] = written(many=",", feeds_only=True, kw_only=True)

    def __post_init__(self) -> None:
        """Make lists of what is given, or not."""
        for name in _LISTS:
            _set(self, name, list(getattr(self, name) or ()))

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary; ``authors`` only if there are any."""
        result = PlainValue.to_dict(self)
        if not self.authors:
            del result["authors"]
        return result

    def __repr__(self) -> str:
        """Return class and fields, ``authors`` only if there are any: 1.8.1 had none."""
        text = PlainValue.__repr__(self)
        return text if self.authors else f"{text.removesuffix(', authors=[])')})"

    def __setstate__(self, state: Any) -> None:
        _set(self, "authors", [])
        _set_state(self, state)

    def __hash__(self) -> int:
        return hash((self.title, self.publication_name))


@dataclass(frozen=True, slots=True, repr=False)
class SitemapPageMapObject(PlainValue):
    """A DataObject of Google's PageMap: its type, its id and its attributes in order."""

    type: str | None
    id: str | None
    attributes: tuple[tuple[str, str], ...]


# ResourceSync (NISO Z39.99) ------------------------------------------------------------------------


_Time = datetime  # a field of a resource has that name


@dataclass(frozen=True, slots=True, repr=False)
class SitemapResourceLink(PlainValue):
    """A link of a resource (``rs:ln``): a copy, another form, a description, what it belongs to."""

    rel: str = written(kind=Kind.VERBATIM, element=SELF, attribute="rel", required=True)
    href: str = written(kind=Kind.ADDRESS, element=SELF, attribute="href", required=True)
    hash: str | None = written(element=SELF, attribute="hash")
    length: int | None = written(element=SELF, attribute="length")
    type: str | None = written(element=SELF, attribute="type")
    modified: _Time | None = written(kind=Kind.TIME, element=SELF, attribute="modified")
    path: str | None = written(element=SELF, attribute="path")
    pri: int | None = written(element=SELF, attribute="pri")


_LINK = Table.of("ln", SitemapResourceLink)


@dataclass(frozen=True, slots=True, repr=False, kw_only=True)
class SitemapResource(PlainValue):
    """What ResourceSync says of a resource (``rs:md``), and its ``links``.

    ``change`` is ``created``, ``updated`` or ``deleted``, and ``datetime`` when that was; ``hash`` has
    each hash with its algorithm, separated by blanks; ``length`` is in bytes.
    """

    capability: str | None = written(element=SELF, attribute="capability")
    change: str | None = written(element=SELF, attribute="change")
    datetime: _Time | None = written(kind=Kind.TIME, element=SELF, attribute="datetime")
    hash: str | None = written(element=SELF, attribute="hash")
    length: int | None = written(element=SELF, attribute="length")
    type: str | None = written(element=SELF, attribute="type")
    encoding: str | None = written(element=SELF, attribute="encoding")
    path: str | None = written(element=SELF, attribute="path")
    links: tuple[SitemapResourceLink, ...] = written(
        (), kind=_LINK, element="ln", many=EACH, beside=True
    )
