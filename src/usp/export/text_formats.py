"""The formats that are text: ``csv``, ``jsonl`` and ``json``, written a block of pages at a time.

Columns that are the same in every row of a block are filled into a form once; the others are filled in
row by row.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from itertools import repeat
from json.encoder import encode_basestring
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Any, Protocol

from usp._base.dates import known_utc_text, precision_of, precision_of_text, utc_text
from usp.export.schema import (
    COLUMNS,
    OF_FIELDS,
    OF_TEXTS,
    Kind,
    Many,
    Record,
    read_frequency,
    read_priority,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from usp.export.schema import AnyKind
    from usp.objects.page import PageBlock, PageFields
    from usp.selection import Blocks

_INFINITE = float("inf")
_QUOTED = re.compile(r'[",\r\n]')
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
_UNUSUAL = ('"', ",", "\r", *(f"\n{sign}" for sign in _FORMULA))


# csv: a header, then a line per page, as in RFC 4180 ------------------------------------------------


def write_csv(blocks: Blocks, stream: IO[bytes], names: Sequence[str]) -> None:
    """Write a table; nested values are written as JSON in their cell."""
    stream.write((",".join(names) + "\r\n").encode())
    style = _Line()
    for sitemap_url, block in blocks:
        lines = _rows(names, sitemap_url, block, style)
        stream.write("".join(lines).encode("utf-8", "replace"))


class _Line:
    begin, end = "", "\r\n"

    def label(self, name: str) -> str:
        """Return nothing: the header has the names."""
        del name
        return ""

    def cells(self, values: Sequence[Any], kind: AnyKind) -> Iterable[str]:
        """Return cells, an empty one where there is no value."""
        if kind is Kind.NUMBER:
            return ["" if value is None else _number_text(value) for value in values]
        if kind is Kind.FLAG:
            return ["" if value is None else "true" if value else "false" for value in values]
        if kind is Kind.TIME:
            return [value or "" for value in values]
        if not isinstance(kind, Kind):
            return ["" if value is None else quoted(to_json(value)) for value in values]
        texts = [value or "" for value in values]
        # Most URLs and words need no quotes; one check of all of them at once tells.
        joined = "\n" + "\n".join(texts)
        usual = joined.count("\n") == len(texts) and not any(sign in joined for sign in _UNUSUAL)
        return texts if usual else [quoted(guarded(text)) for text in texts]


def guarded(text: str) -> str:
    """Return text that spreadsheets do not run as a formula: prefixed with an apostrophe if needed."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def quoted(text: str) -> str:
    """Return a cell for a text, in quotes if it needs them."""
    if not _QUOTED.search(text):
        return text
    doubled = text.replace('"', '""')
    return f'"{doubled}"'


# jsonl: one object per line and page; json: the same objects in one array ---------------------------


def write_json_lines(blocks: Blocks, stream: IO[bytes], names: Sequence[str]) -> None:
    """Write one object per line; each has every column."""
    style = _Object("\n")
    for sitemap_url, block in blocks:
        lines = _rows(names, sitemap_url, block, style)
        stream.write("".join(lines).encode("utf-8", "replace"))


def write_json_array(blocks: Blocks, stream: IO[bytes], names: Sequence[str]) -> None:
    """Write one array, object by object."""
    style = _Object("")
    begin = "["
    for sitemap_url, block in blocks:
        objects = ",\n".join(_rows(names, sitemap_url, block, style))
        stream.write(f"{begin}\n{objects}".encode("utf-8", "replace"))
        begin = ","
    stream.write(b"[]\n" if begin == "[" else b"\n]\n")


class _Object:
    begin = "{"

    def __init__(self, after: str) -> None:
        self.end = "}" + after

    def label(self, name: str) -> str:
        """Return the key."""
        return f'"{name}":'

    def cells(self, values: Sequence[Any], kind: AnyKind) -> Iterable[str]:
        """Return values as JSON."""
        encode = _ENCODERS.get(kind, to_json) if isinstance(kind, Kind) else to_json
        return ["null" if value is None else encode(value) for value in values]


to_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False).encode


@lru_cache(maxsize=1024)
def _number_text(value: float) -> str:
    """Return a number as it is written; priorities repeat."""
    return repr(value)


_ENCODERS: dict[Kind, Callable[[Any], str]] = {
    Kind.TEXT: encode_basestring,
    Kind.WORD: encode_basestring,
    Kind.TIME: encode_basestring,
    Kind.NUMBER: _number_text,
}


# Rows -----------------------------------------------------------------------------------------------


class Style(Protocol):
    """How a row is written: the text around its cells, and the cells themselves."""

    begin: str
    end: str

    def label(self, name: str) -> str:
        """Return the text before the cell of a column."""
        ...

    def cells(self, values: Sequence[Any], kind: AnyKind) -> Iterable[str]:
        """Return the cells of a column of plain values."""
        ...


def _rows(
    names: Sequence[str], sitemap_url: str | None, block: PageBlock, style: Style
) -> Iterator[str]:
    """Return rows: the columns that vary, filled into a template that holds the constant ones."""
    members, columns = [], []
    for name, column in zip(names, _plain_columns(names, sitemap_url, block), strict=True):
        kind = COLUMNS[name]
        if isinstance(column, _Same):
            (cell,) = style.cells([column.value], kind)
            cell = cell.replace("%", "%%")
        else:
            columns.append(style.cells(column, kind))
            cell = "%s"
        members.append(style.label(name) + cell)
    form = style.begin + ",".join(members) + style.end
    if not columns:
        return repeat(form % (), len(block.urls))
    return map(form.__mod__, zip(*columns, strict=True))


class _Same:
    """A column whose value is the same in every row of a block."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _plain_columns(
    names: Iterable[str], sitemap_url: str | None, block: PageBlock
) -> list[_Same | Sequence[Any]]:
    """Return the columns of a block as plain values."""
    texts = block.texts()
    if texts is not None:
        return [_of_texts(name, sitemap_url, block, texts) for name in names]
    rows = block.rows()
    return [_of_rows(name, sitemap_url, block, rows) for name in names]


def _of_texts(
    name: str, sitemap_url: str | None, block: PageBlock, texts: Mapping[str, Sequence[str]]
) -> _Same | Sequence[Any]:
    if name == "url":
        return block.urls
    if name == "sitemap":
        return _Same(sitemap_url)
    if name not in OF_TEXTS:
        return _Same(False if COLUMNS[name] is Kind.FLAG else None)
    column, read = texts.get(OF_TEXTS[name]), _READ[name]
    return _Same(read("")) if column is None else list(map(read, column))


def _of_rows(
    name: str, sitemap_url: str | None, block: PageBlock, rows: Sequence[PageFields]
) -> _Same | Sequence[Any]:
    if name == "url":
        return block.urls
    if name == "sitemap":
        return _Same(sitemap_url)
    kind, values = COLUMNS[name], list(map(attrgetter(OF_FIELDS[name]), rows))
    if name == "lastmod_precision":
        return list(map(precision_of, values))
    if name == "changefreq":
        return [frequency and frequency.value for frequency in values]
    if isinstance(kind, Many | Record) and not any(values):
        return _Same(None)
    return list(map(plain, values, repeat(kind)))


_READ: Mapping[str, Callable[[str], Any]] = {
    "lastmod": known_utc_text,
    "lastmod_precision": precision_of_text,
    "changefreq": read_frequency,
    "priority": read_priority,
}


def plain(value: Any, kind: AnyKind) -> Any:
    """Return a value for JSON; None for an empty list."""
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
