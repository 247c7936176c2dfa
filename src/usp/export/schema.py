"""The columns of the table, whatever it is written as.

The table is described without Arrow, so that the text formats need none; :func:`arrow_schema` says the
same to Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from enum import Enum, auto
from functools import cache
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.extras import MissingExtraError, load_extra
from usp.objects.page import SitemapImage
from usp.objects.video import SitemapVideoPrice, SitemapVideoTVShow

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

__all__ = ["COLUMNS", "MissingExtraError", "arrow_schema", "chosen", "pyarrow"]


class Kind(Enum):
    """What a single value is."""

    TEXT = auto()
    WORD = auto()  # a text that repeats
    TIME = auto()  # a moment in UTC
    NUMBER = auto()
    WHOLE = auto()
    FLAG = auto()


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Values under names; each with how it is got from the object."""

    fields: Mapping[str, tuple[Callable[[Any], Any], Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """A list."""

    of: Any


AnyKind: TypeAlias = Kind | Record | Many


def _record(kinds: Mapping[str, AnyKind]) -> Record:
    return Record({name: (attrgetter(name), kind) for name, kind in kinds.items()})


def _pair(first: str, kind: AnyKind, second: str, other: AnyKind) -> Record:
    return Record({first: (itemgetter(0), kind), second: (itemgetter(1), other)})


def _texts(value: Any) -> dict[str, AnyKind]:
    return {field.name: Kind.TEXT for field in fields(value)}


_NEWS = Record(
    {
        "title": (attrgetter("title"), Kind.TEXT),
        "publication_date": (attrgetter("publish_date"), Kind.TIME),
        "publication_name": (attrgetter("publication_name"), Kind.TEXT),
        "publication_language": (attrgetter("publication_language"), Kind.TEXT),
        "access": (attrgetter("access"), Kind.TEXT),
        "genres": (attrgetter("genres"), Many(Kind.TEXT)),
        "keywords": (attrgetter("keywords"), Many(Kind.TEXT)),
        "stock_tickers": (attrgetter("stock_tickers"), Many(Kind.TEXT)),
    }
)
_TV_SHOW = {
    "season_number": Kind.WHOLE,
    "episode_number": Kind.WHOLE,
    "premier_date": Kind.TIME,
}
_VIDEO: dict[str, AnyKind] = {
    "thumbnail_loc": Kind.TEXT,
    "title": Kind.TEXT,
    "description": Kind.TEXT,
    "content_loc": Kind.TEXT,
    "player_loc": Kind.TEXT,
    "player_allow_embed": Kind.FLAG,
    "player_autoplay": Kind.TEXT,
    "duration": Kind.WHOLE,
    "expiration_date": Kind.TIME,
    "rating": Kind.NUMBER,
    "view_count": Kind.WHOLE,
    "publication_date": Kind.TIME,
    "family_friendly": Kind.FLAG,
    "restriction": Many(Kind.TEXT),
    "restriction_relationship": Kind.TEXT,
    "platform": Many(Kind.TEXT),
    "platform_relationship": Kind.TEXT,
    "prices": Many(_record(_texts(SitemapVideoPrice))),
    "requires_subscription": Kind.FLAG,
    "uploader": Kind.TEXT,
    "uploader_info": Kind.TEXT,
    "live": Kind.FLAG,
    "tags": Many(Kind.TEXT),
    "category": Kind.TEXT,
    "gallery_loc": Kind.TEXT,
    "gallery_title": Kind.TEXT,
    "content_segments": Many(_pair("loc", Kind.TEXT, "duration", Kind.WHOLE)),
    "id": Kind.TEXT,
    "id_type": Kind.TEXT,
    "tv_show": _record(_texts(SitemapVideoTVShow) | _TV_SHOW),
}

COLUMNS: Mapping[str, AnyKind] = {
    "url": Kind.TEXT,
    "lastmod": Kind.TIME,
    "lastmod_precision": Kind.WORD,
    "changefreq": Kind.WORD,
    "priority": Kind.NUMBER,
    "sitemap": Kind.WORD,
    "news": _NEWS,
    "images": Many(_record(_texts(SitemapImage))),
    "videos": Many(_record(_VIDEO)),
    "alternates": Many(_pair("hreflang", Kind.TEXT, "href", Kind.TEXT)),
    "mobile": Kind.FLAG,
}
"""Every column and what its values are, in order."""


def chosen(columns: Iterable[str] | None, known: Iterable[str] = COLUMNS) -> tuple[str, ...]:
    """Return the names of the wanted columns; all of them for None.

    Raises ``ValueError`` for an unknown name.
    """
    there = tuple(known)
    if columns is None:
        return there
    names = tuple(dict.fromkeys((columns,) if isinstance(columns, str) else columns))
    if unknown := [name for name in names if name not in there]:
        raise ValueError(f"there is no column {unknown[0]!r}; there are {', '.join(there)}")
    if not names:
        raise ValueError(f"no column is chosen; there are {', '.join(there)}")
    return names


def pyarrow(part: str = "") -> Any:
    """Return pyarrow, or a module of it; raises ``MissingExtraError`` without the extra ``arrow``."""
    return load_extra(f"pyarrow{part}", "Arrow tables and Parquet files need pyarrow", "arrow")


def arrow_schema(columns: Iterable[str] | None = None) -> Any:
    """Give the ``pyarrow.Schema`` of the table, or of some of its columns."""
    pa = pyarrow()
    fields = [pa.field(name, arrow_type(COLUMNS[name])) for name in chosen(columns)]
    return pa.schema(fields)


@cache
def arrow_type(kind: AnyKind) -> Any:
    """Give the type that a kind of value has in Arrow."""
    pa = pyarrow()
    if isinstance(kind, Many):
        return pa.list_(arrow_type(kind.of))
    if isinstance(kind, Record):
        return pa.struct([(name, arrow_type(inner)) for name, (_, inner) in kind.fields.items()])
    return {
        Kind.TEXT: pa.string(),
        Kind.WORD: pa.dictionary(pa.int32(), pa.string()),
        Kind.TIME: pa.timestamp("us", "UTC"),
        Kind.NUMBER: pa.float64(),
        Kind.WHOLE: pa.int64(),
        Kind.FLAG: pa.bool_(),
    }[kind]
