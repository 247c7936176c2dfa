"""The table as plain values, column by column, for the formats that are text."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from usp._base.dates import known_utc_text, precision_of, precision_of_text, utc_text
from usp._formats.url_batches import read_own
from usp.export.schema import COLUMNS, Kind, Many, Record
from usp.objects.extensions import EXTENSIONS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from usp.export.schema import AnyKind
    from usp.objects.page import PageBlock, SitemapPage

_INFINITE = float("inf")


# From the texts of a block ---------------------------------------------------------------------


@lru_cache(maxsize=64)
def change_frequency(text: str) -> str | None:
    """Read a change frequency as the parsers do."""
    read = read_own({"changefreq": text} if text else {})[2]
    return None if read is None else read.value


@lru_cache(maxsize=1024)
def priority(text: str) -> float:
    """Read a priority as the parsers do."""
    return float(read_own({"priority": text} if text else {})[0])


_READ: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "lastmod": ("lastmod", known_utc_text),
    "lastmod_precision": ("lastmod", precision_of_text),
    "changefreq": ("changefreq", change_frequency),
    "priority": ("priority", priority),
}


# From pages ------------------------------------------------------------------------------------


def page_value(name: str) -> Callable[[SitemapPage], Any]:
    """Give what gets a column's value, as an object, from a page."""
    return _VALUES[name]


def _frequency(page: SitemapPage) -> str | None:
    frequency = page.change_frequency
    return frequency.value if frequency else None


_VALUES: Mapping[str, Callable[[SitemapPage], Any]] = {
    "url": attrgetter("url"),
    "lastmod": attrgetter("last_modified"),
    "lastmod_precision": lambda page: precision_of(page.last_modified),
    "changefreq": _frequency,
    "priority": attrgetter("priority"),
    **{one.column: attrgetter(one.field) for one in EXTENSIONS if one.column},
}


def plain(value: Any, kind: AnyKind) -> Any:
    """Give a value as JSON has it; a list without items is none."""
    if value is None:
        return None
    if isinstance(kind, Many):
        return [plain(item, kind.of) for item in value] or None
    if isinstance(kind, Record):
        return {name: plain(get(value), inner) for name, (get, inner) in kind.fields.items()}
    if kind is Kind.TIME:
        return utc_text(value)
    if kind is Kind.NUMBER:
        number = float(value)
        return number if abs(number) < _INFINITE else None
    return value


# Both ------------------------------------------------------------------------------------------


class Same:
    """A column whose value is the same in every row of a block."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def plain_columns(
    names: Iterable[str], sitemap_url: str | None, block: PageBlock
) -> list[Same | Sequence[Any]]:
    """Give the columns of a block as plain values."""
    texts = block.texts()
    if texts is not None:
        return [_of_texts(name, sitemap_url, block, texts) for name in names]
    pages = list(block.pages())
    return [_of_pages(name, sitemap_url, pages) for name in names]


def _of_texts(
    name: str, sitemap_url: str | None, block: PageBlock, texts: Mapping[str, Sequence[str]]
) -> Same | Sequence[Any]:
    if name == "url":
        return block.urls
    if name == "sitemap":
        return Same(sitemap_url)
    if name not in _READ:
        return Same(False if COLUMNS[name] is Kind.FLAG else None)
    field, read = _READ[name]
    column = texts.get(field)
    return Same(read("")) if column is None else list(map(read, column))


def _of_pages(
    name: str, sitemap_url: str | None, pages: Sequence[SitemapPage]
) -> Same | Sequence[Any]:
    if name == "sitemap":
        return Same(sitemap_url)
    return list(map(plain, map(_VALUES[name], pages), repeat(COLUMNS[name])))
