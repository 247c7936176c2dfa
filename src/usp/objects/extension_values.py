"""What the extensions say about a page: images, news, PageMaps; and what all such values share.

Their fields are in the tables of :mod:`usp.objects.extensions`; videos have a module of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from functools import cache
from typing import Any

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
    fields = {name.rpartition("__")[2]: value for name, value in state[1].items()}
    if _PAGES in fields:
        fields["pages"] = fields.pop(_PAGES)
    return fields


def plain(value: object) -> Any:
    """Return a value as dictionaries, lists and scalars, for ``to_dict``."""
    if isinstance(value, list | tuple):
        return [item if type(item) in _SCALARS else plain(item) for item in value]
    return value.to_dict() if isinstance(value, PlainValue) else value


_SCALARS = frozenset({str, type(None), bool, int, datetime, Decimal})
"""The types of nearly all fields, which are plain already."""


def _kind(value: object) -> Any:  # which caches take
    return type(value)


@cache
def _names_of(kind: Any) -> tuple[str, ...]:
    """Return the names of the fields of a class, in order."""
    return tuple(field.name for field in dataclasses.fields(kind))


@cache
def _dictionary_of(kind: Any) -> Callable[[Any], dict[str, Any]]:
    """Return what makes a dictionary of a value, compiled once as dataclasses compile methods."""
    items = []
    for field in dataclasses.fields(kind):
        value = f"self.{field.name}"
        if str(field.type) in _TEXTS:
            value = f"[*{value}]"
        elif str(field.type).removesuffix(" | None") not in _PLAIN_TYPES:
            value = f"plain({value})"
        items.append(f"{field.name!r}: {value}")
    compiled: Callable[[Any], dict[str, Any]]
    compiled = eval(f"lambda self: {{{', '.join(items)}}}", {"plain": plain})  # noqa: S307 - names
    return compiled


_PLAIN_TYPES = frozenset({"str", "bool", "int", "datetime", "Decimal"})
_TEXTS = frozenset({"list[str]", "tuple[str, ...]"})


class PlainValue:
    """What the frozen dataclasses of this package share: ``to_dict``, ``repr`` and old pickles."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary, nested values as dictionaries too."""
        return _dictionary_of(_kind(self))(self)

    def __repr__(self) -> str:
        """Return class and fields, texts as they are: programs print and parse it."""
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in self._printed())
        return shown(f"{type(self).__name__}({fields})")

    def _printed(self) -> Iterable[str]:
        """Return the names of the fields that are printed."""
        return _names_of(_kind(self))


def shown(text: str) -> str:
    """Return what is printed of a value: as 1.8.1 prints it, but without a website's controls."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _set_state(self: PlainValue, state: object) -> None:
    """Set the fields of a value from its pickle: ours has them in order, that of 1.8.1 by name."""
    fields = old_fields(state)
    names = _names_of(_kind(self))
    if fields is None:
        assert isinstance(state, list)
        fields = dict(zip(names, state, strict=False))
    fields = _newer_of(_kind(self)) | fields
    for name in names:
        _set(self, name, fields[name])


@cache
def _newer_of(kind: Any) -> dict[str, Any]:
    given = {field.name: field.default for field in dataclasses.fields(kind)}
    return {name: value for name, value in given.items() if value is not dataclasses.MISSING}


class OldPlainValue(PlainValue):
    """What is shared by values that 1.8.1 has, too.

    A field with a default is newer. Unless it is set, it is neither printed nor in ``to_dict``, and
    programs see the value that they know.
    """

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary, newer ones only if they are set."""
        fields = _dictionary_of(_kind(self))(self)
        for name, default in _newer_of(_kind(self)).items():
            if fields[name] == default:
                del fields[name]
        return fields

    def _printed(self) -> Iterable[str]:
        newer = _newer_of(_kind(self))
        names = super()._printed()
        return [name for name in names if name not in newer or getattr(self, name) != newer[name]]


@dataclass(frozen=True, slots=True, repr=False, init=False)
class SitemapImage(OldPlainValue):
    """An image of a page, from the image extension."""

    loc: str
    caption: str | None
    geo_location: str | None
    title: str | None
    license: str | None

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


@dataclass(frozen=True, slots=True, repr=False, init=False)
class SitemapNewsStory(OldPlainValue):
    """A news story, from the news extension or from a feed."""

    title: str
    publish_date: datetime | None
    publication_name: str | None
    publication_language: str | None
    access: str | None
    genres: list[str]
    keywords: list[str]
    stock_tickers: list[str]

    def __init__(
        self,
        title: str,
        publish_date: datetime | None,
        publication_name: str | None = None,
        publication_language: str | None = None,
        access: str | None = None,
        genres: Iterable[str] | None = None,
        keywords: Iterable[str] | None = None,
        stock_tickers: Iterable[str] | None = None,
    ) -> None:
        _set(self, "title", title)
        _set(self, "publish_date", publish_date)
        _set(self, "publication_name", publication_name)
        _set(self, "publication_language", publication_language)
        _set(self, "access", access)
        _set(self, "genres", list(genres) if genres else [])
        _set(self, "keywords", list(keywords) if keywords else [])
        _set(self, "stock_tickers", list(stock_tickers) if stock_tickers else [])

    __setstate__ = _set_state

    def __hash__(self) -> int:
        return hash((self.title, self.publication_name))


@dataclass(frozen=True, slots=True, repr=False)
class SitemapPageMapObject(PlainValue):
    """A DataObject of Google's PageMap: its type, its id and its attributes in order."""

    type: str | None
    id: str | None
    attributes: tuple[tuple[str, str], ...]
