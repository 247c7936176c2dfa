"""What the extensions say about a page: images, news, PageMaps; and what all such values share.

Their fields are in the tables of :mod:`usp.objects.extensions`; videos have a module of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
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


_SCALARS = frozenset({str, type(None), bool, int, datetime, Decimal})
"""The types of nearly all fields, which are plain already."""


def plain(value: object) -> Any:
    """Return a value as dictionaries, lists and scalars, for ``to_dict``."""
    if isinstance(value, list | tuple):
        return [item if type(item) in _SCALARS else plain(item) for item in value]
    return value.to_dict() if isinstance(value, PlainValue) else value


def _kind(value: object) -> Any:  # which caches take
    return type(value)


@cache
def _names_of(kind: Any) -> tuple[str, ...]:
    return tuple(field.name for field in dataclasses.fields(kind))


class PlainValue:
    """What the frozen dataclasses of this package share: ``to_dict`` and ``repr``."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a dictionary, nested values as dictionaries too."""
        return {
            name: value if type(value := getattr(self, name)) in _SCALARS else plain(value)
            for name in _names_of(_kind(self))
        }

    def __repr__(self) -> str:
        """Return class and fields, texts as they are: programs print and parse it."""
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in _names_of(_kind(self)))
        return shown(f"{type(self).__name__}({fields})")


def shown(text: str) -> str:
    """Return what is printed of a value: as 1.8.1 prints it, but without a website's controls."""
    return text if text.isprintable() else "\n".join(map(printable, text.split("\n")))


def _set_state(self: PlainValue, state: Any) -> None:
    """Set the fields of a value from its pickle: ours has them in order, that of 1.8.1 by name."""
    fields = old_fields(state) or dict(zip(_names_of(_kind(self)), state, strict=True))
    for name, value in fields.items():
        _set(self, name, value)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class SitemapImage(PlainValue):
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
class SitemapNewsStory(PlainValue):
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
