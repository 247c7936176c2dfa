"""A table of pages as a tree: our own exports, and any other table with a column of URLs.

It is read once, row by row. The pages wait in a temporary file, in blocks of the sitemaps that list
them; what cannot be read is a problem of its sitemap, with the line.
"""

from __future__ import annotations

import csv
import json
import pickle
import re
import tempfile
from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from decimal import Decimal
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, NamedTuple

from usp._base.dates import known_date, utc_text
from usp._base.names import PAGE_COLUMNS, load_extra
from usp._base.reason import Reason
from usp._base.urls import TABLES
from usp._formats.abstract_parser import PageBatch
from usp._formats.batches import read_core_fields, rows_of_columns
from usp._formats.decode import Decoder
from usp._formats.document import is_json_feed
from usp._store import SpoolFull, Store
from usp.helpers import is_http_url
from usp.limits import LimitReached
from usp.objects.extension_values import FieldSpec, Kind, Table
from usp.objects.extensions import EXTENSIONS
from usp.objects.page import NodePages
from usp.objects.problem import FailureCode, Problem, ProblemCode, Problems
from usp.objects.sitemap import (
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    PagesTextSitemap,
)

if TYPE_CHECKING:
    from usp.limits import Limits
    from usp.objects.page import PageBlock, PageFields, SitemapPage

_URL_COLUMNS = ("url", "loc", "address", "page", "page url", "top pages", "landing page")
"""What a column of URLs is called by us, by other crawlers, and by what counts visits and clicks."""

_STATUS, _INDEXABILITY = "status code", "indexability"  # of what a crawler has fetched
_OTHERS = ({"parent", "type"}, {"what", "change"}, {"code", "severity"})
_NEEDS = "a table of pages needs a column named url, loc, address or page"
_OWN = ("lastmod", "changefreq", "priority")
_TOGETHER = 4096  # rows that are held before they are stored
_SHOWN = 12  # columns that a message names

_Row = Mapping[str, Any]


_LONGEST_CELL = 1 << 24
_MOST_LINES = 200  # that a row of CSV may have
_NEAR = 16  # characters before the end at which an error may be that more is to come
_FORMULA = ("=", "+", "-", "@")
_SEPARATOR = re.compile(r'\A"?sep=[^\r\n]?"?(?:[\r\n]+|\Z)', re.IGNORECASE)  # which Excel reads


class UnknownTable(Exception):  # noqa: N818 - says what it is
    """A table without the pages of a website; the message says what it has instead."""


class TableSitemap(IndexWebsiteSitemap):
    """The root of a tree that was a table: ``columns`` are those of our tables that it has.

    ``has_many_sites`` is whether it was a dataset: no website that may have moved to another host.
    """

    columns: frozenset[str] = frozenset()
    has_many_sites = False


def table_form(head: bytes, text: str, name: str) -> str | None:
    """Return the format of a table by how it begins, or None; ``text`` is the head, decoded."""
    if head.startswith(b"PAR1"):
        return "parquet"
    begun = text.lstrip("\ufeff \t\r\n")
    first = _SEPARATOR.sub("", begun, count=1).replace("\r", "\n").partition("\n")[0]
    if first.startswith(("{", "[")):
        return None if is_json_feed(begun, None) else "json"
    names = _names(first)
    is_named = name.lower().removesuffix(".gz").endswith(TABLES)
    is_list = len(names) == 1 and is_http_url(names[0])  # a text sitemap that is named as a table
    if any(one in names for one in _URL_COLUMNS) or (is_named and first and not is_list):
        return "csv"
    return None


def tree_of_table(chunks: Iterable[bytes], form: str, url: str, limits: Limits) -> AbstractSitemap:
    """Return the tree of a table: its sitemaps below one root; ``chunks`` are its bytes."""
    table = _Reading(url, limits)
    read = {"csv": _csv_rows, "json": _json_rows, "parquet": _parquet_rows}[form]
    try:
        table.read(read(chunks, table))
    except UnknownTable as error:
        reason = Reason(FailureCode.NOT_A_SITEMAP, str(error))
        return InvalidSitemap(url, reason.text, failure=reason)
    return table.tree()


def tree_of_batches(batches: Any, url: str, limits: Limits) -> AbstractSitemap:
    """Return the tree of pages that are in Arrow already: a ``pyarrow.RecordBatchReader``.

    These come in another order each time. A page that two sitemaps list has the date of the first.
    """
    table = _Reading(url, limits)
    table.take_columns(batches.schema.names)
    table.read(_rows_in(batches))
    tree = table.tree(in_order=True)
    tree.has_many_sites = True
    return tree


# Rows with their lines; None for what is none -------------------------------------------------------


def _texts(chunks: Iterable[bytes], table: _Reading) -> Iterator[str]:
    """Yield the text of a table; one of many pages is larger than any document may be."""
    limits = replace(table.limits, unpacked_bytes=None)
    decoder = Decoder(limits=limits, problems=table.problems)
    try:
        yield from chain.from_iterable(map(decoder.texts, chunks))
    except LimitReached as limit:
        table.problems.end(limits.reached(limit.name))
    yield decoder.close()


def _names(line: str) -> list[str]:
    try:
        cells = next(csv.reader([line], delimiter=_delimiter(line)), [])
    except csv.Error:  # a cell too long for a name, or a line that ends with "\r" in its middle
        return []
    return [cell.strip().lower() for cell in cells]


def _delimiter(line: str) -> str:
    return max(",;\t", key=line.count)


def _lines(texts: Iterable[str]) -> Iterator[str]:
    """Yield the lines; they end with a carriage return if there is nothing else, as on old Macs."""
    begun, end = [""], ""  # of a line that goes on
    for text in filter(None, texts):
        end = end or ("\r" if "\r" in text[:-1] and "\n" not in text else "\n")
        begun.append(text)
        if end in text:
            *lines, rest = "".join(begun).split(end)
            yield from (f"{line}\n" for line in lines)
            begun = [rest]
    if last := "".join(begun):
        yield last


def _csv_rows(chunks: Iterable[bytes], table: _Reading) -> Iterator[tuple[int, _Row | None]]:
    remaining = _lines(_texts(chunks, table))
    lines = ((at, line.lstrip("\ufeff")) for at, line in enumerate(remaining, 2))
    named = ((at, line) for at, line in lines if line.strip() and not _SEPARATOR.match(line))
    at, first = next(named, (2, ""))
    head = _names(first)
    table.take_columns(head)
    before = csv.field_size_limit(_LONGEST_CELL)
    try:
        for count, cells in _records(remaining, _delimiter(first), len(head)):
            if cells is None or any(cells):
                yield at, None if cells is None else dict(zip(head, cells, strict=False))
            at += count
    finally:
        csv.field_size_limit(before)


def _records(
    remaining: Iterator[str], delimiter: str, width: int
) -> Iterator[tuple[int, list[str] | None]]:
    """Yield the cells of each row and how many lines it has; None if it cannot be read.

    After a quote that is never closed, the next line is the next row.
    """
    again, taken = deque[str](), list[str]()

    def lines() -> Iterator[str]:
        while len(taken) <= _MOST_LINES:
            line = again.popleft() if again else next(remaining, None)
            if line is None:
                return
            taken.append(line)
            yield line

    while True:
        taken.clear()
        try:
            cells = next(csv.reader(lines(), delimiter=delimiter, strict=True), None)
        except csv.Error:
            cells = ["?"] * (width + 1)
        if cells is None:
            return
        is_other = len(cells) != width and (len(taken) > 1 or any(cells[width:]))
        again.extendleft(reversed(taken[1:]) if is_other else ())
        yield (1, None) if is_other else (len(taken), cells)


_BETWEEN = re.compile(r"[\s,\[\]]*")


def _json_rows(chunks: Iterable[bytes], table: _Reading) -> Iterator[tuple[int, _Row | None]]:
    """Read objects, of a list or one after another; after a damaged one, go on with the next line."""
    texts, decode = _texts(chunks, table), json.JSONDecoder().raw_decode
    text, at, line, ended = "", 0, 1, False
    while True:
        between = _BETWEEN.match(text, at)
        assert between is not None  # which is never so: it may be empty
        line, at = line + between[0].count("\n"), between.end()
        error = None
        try:
            row, end = decode(text, at)
        except json.JSONDecodeError as wrong:
            error, row, end = wrong, None, text.find("\n", at) + 1 or len(text)
        if error and not ended and (error.pos > len(text) - _NEAR or error.msg[:2] == "Un"):
            more = "".join(islice(texts, 1 + (len(text) - at >> 16)))  # so that each is read twice
            text, at, ended = text[at:] + more, 0, not more
            continue
        if at == len(text):
            return
        yield line, row if isinstance(row, dict) else None
        line, at = line + text.count("\n", at, end), end


def _parquet_rows(chunks: Iterable[bytes], table: _Reading) -> Iterator[tuple[int, _Row | None]]:
    """Read Parquet, from a copy: a pipe has no end to begin at."""
    parquet = load_extra("pyarrow.parquet", "Parquet files need pyarrow", "arrow")
    with tempfile.TemporaryFile() as copy:
        copy.writelines(chunks)
        try:
            file = parquet.ParquetFile(copy)
        except (OSError, ValueError) as error:  # as Arrow's own are
            raise UnknownTable(f"not a readable Parquet file: {error}") from error
        try:
            table.take_columns(file.schema_arrow.names)
            known = {*PAGE_COLUMNS, *_URL_COLUMNS, _STATUS, _INDEXABILITY}
            known_columns = [name for name in file.schema_arrow.names if name.lower() in known]
            batches = file.iter_batches(_TOGETHER, columns=known_columns)
            yield from _rows_in(batches)
        except (OSError, ValueError) as error:  # as Arrow's own are
            why = Reason(FailureCode.NOT_A_SITEMAP, f"not a readable Parquet file: {error}")
            table.problems.end(why)


def _rows_in(batches: Iterable[Any]) -> Iterator[tuple[int, _Row]]:
    return enumerate(chain.from_iterable(one.to_pylist() for one in batches), 1)


# Pages ----------------------------------------------------------------------------------------------


class TableRow(NamedTuple):
    """A page of a table: the texts of its own fields, and its other fields."""

    url: str
    own: Mapping[str, str]
    more: Mapping[str, Any]


class TableBlock(PageBatch):
    """Pages of a table, with columns of texts if they have no other fields."""

    def __init__(self, rows: list[TableRow]) -> None:
        self.urls = [row.url for row in rows]
        self._given = rows

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields of the protocol in columns, if there are no others."""
        return None if any(row.more for row in self._given) else self.core_texts()

    def core_texts(self) -> Mapping[str, Sequence[str]]:
        """Return the same of all pages."""
        columns = {name: [row.own.get(name, "") for row in self._given] for name in _OWN}
        return {name: column for name, column in columns.items() if any(column)}

    def rows(self) -> Sequence[PageFields]:
        """Return everything except the URL of each page."""
        if not self._rows:  # asked for by each page
            own = rows_of_columns({"loc": self.urls, **self.core_texts()})
            pairs = zip(own, self._given, strict=True)
            self._rows = [row._replace(**given.more) if given.more else row for row, given in pairs]
        return self._rows


class TablePages(NodePages):
    """The pages of a sitemap that a table lists, in blocks that are stored."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._places: list[tuple[int, int]] = []
        self._count = 0

    def store(self, rows: list[TableRow]) -> None:
        """Add pages."""
        self._places.append(self._store.append(pickle.dumps(rows)))
        self._count += len(rows)

    def blocks(self) -> Iterator[PageBlock]:
        """Yield the pages in blocks."""
        for place in self._places:
            data = b"".join(self._store.read([place]))
            yield TableBlock(pickle.loads(data))  # noqa: S301 - our own

    def __iter__(self) -> Iterator[SitemapPage]:
        """Return the pages, from the first one."""
        return chain.from_iterable(block.pages() for block in self.blocks())

    def count(self) -> int:
        """Return the number of pages."""
        return self._count

    def problems(self, given_up: object = None) -> list[Problem]:
        """Return none: what is wrong was found when the table was read, and is known to the sitemap."""
        del given_up
        return []

    def __reduce__(self) -> tuple[Any, ...]:
        return NodePages, (list(self),)


class _Reading:
    """Reads a table once."""

    def __init__(self, url: str, limits: Limits) -> None:
        self.limits = limits
        self.problems = Problems()
        self._url = url
        self._store = Store(spool=limits.spool_bytes)
        self._sitemaps: dict[str, TablePages] = {}
        self._waiting: defaultdict[str, list[TableRow]] = defaultdict(list)  # by their sitemaps
        self._names: dict[str, str] | None = None  # of its columns, by ours
        self._crawled: dict[str, str] = {}  # columns of a crawl
        self._held = self._pages = 0

    def take_columns(self, names: Iterable[str]) -> None:
        """Take the names of the columns; raises ``UnknownTable`` if it is no table of pages."""
        by_name = {name.strip().lower(): name for name in names}
        url = next((by_name[name] for name in _URL_COLUMNS if name in by_name), None)
        if url is None or any(others <= by_name.keys() for others in _OTHERS):
            shown = ", ".join(list(by_name)[:_SHOWN])
            more = ", …" if len(by_name) > _SHOWN else ""
            needs = _NEEDS if url is None else "this table is one of ours, but not of pages"
            raise UnknownTable(f"its columns are {shown or 'not named'}{more}; {needs}")
        self._names = {name: by_name[name] for name in PAGE_COLUMNS if name in by_name}
        self._names["url"] = url
        crawled = (name for name in (_STATUS, _INDEXABILITY) if name in by_name)
        self._crawled = {name: by_name[name] for name in crawled}

    def read(self, rows: Iterable[tuple[int, _Row | None]]) -> None:
        """Take all rows; what was read before a limit is kept."""
        try:
            for line, row in rows:
                if self._names is None and row is not None:
                    self.take_columns(row)
                self._add(line, row or {})
                self._held += 1
                if self._held == _TOGETHER:
                    self._flush()
            self._flush()
            if self._names is None and self.problems.listed():
                raise UnknownTable(f"none of its rows has named columns; {_NEEDS}")
        except SpoolFull:
            self.problems.end(self.limits.reached("spool_bytes"))
        except LimitReached as limit:
            self.problems.end(self.limits.reached(limit.name))
            self._flush()

    def _flush(self) -> None:
        for url, rows in self._waiting.items():
            self._listed(url).store(rows)
        self._waiting.clear()
        self._held = 0

    def _listed(self, url: str) -> TablePages:
        return self._sitemaps.setdefault(url, TablePages(self._store))

    def _add(self, line: int, row: _Row) -> None:
        names = self._names or {}
        given = {name: row.get(column) for name, column in names.items()}
        note = self.problems.add
        url = _unguarded(given.get("url"))
        if not is_http_url(url):
            code = ProblemCode.BAD_LOC if url else ProblemCode.NO_LOC
            note(code if row else ProblemCode.BAD_LINE, line, url or None, lost=1)
            return
        found = {name: _text(row.get(column)) for name, column in self._crawled.items()}
        if _is_no_page(found):
            return
        if self._pages == self.limits.pages:
            raise LimitReached("pages")
        self._pages += 1
        own = {name: text for name in _OWN if (text := _text(given.get(name)))}
        if "lastmod" in own:
            own["lastmod"] = _as_precise(own["lastmod"], given.get("lastmod_precision"))
        read_core_fields(own, lambda code, text, *_: note(code, line, text))
        more: dict[str, Any] = {}
        for column, spec in _EXTENSIONS.items():
            try:
                value = _typed(_object(given.get(column), spec), spec)
            except (ArithmeticError, AttributeError, TypeError, ValueError):
                note(ProblemCode.BAD_EXTENSION_FIELD, line, f"{column}: {given[column]}")
            else:
                more |= {spec.name: value} if value else {}
        self._waiting[_unguarded(given.get("sitemap"))].append(TableRow(url, own, more))

    def tree(self, *, in_order: bool = False) -> TableSitemap:
        """Return the tree of what was read; ``in_order`` of URLs, whatever came first."""
        if not self._sitemaps:
            self._listed("")
        listed = sorted(self._sitemaps.items()) if in_order else self._sitemaps.items()
        tree = TableSitemap(
            self._url,
            [PagesTextSitemap(url or self._url, pages) for url, pages in listed],
            problems=self.problems.listed(),
            failure=self.problems.unfinished,
        )
        tree.columns = frozenset(self._names or ())
        return tree


# Cells ----------------------------------------------------------------------------------------------

_EXTENSIONS = {one.column: one.spec for one in EXTENSIONS if one.column}
_NOT_INDEXABLE = ("non-indexable", "noindex", "not indexable")
_LENGTHS = {"year": 4, "month": 7, "day": 10, "minute": 16}
_UTC = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")


def _is_no_page(crawled: Mapping[str, str]) -> bool:
    """Return whether a crawler found something that no sitemap should list, such as a redirect.

    Without a status, or with a text for it that is no number, nothing is known.
    """
    status = crawled.get(_STATUS, "").removesuffix(".0")  # as spreadsheets write numbers
    is_other = status.isdecimal() and status != "200"
    return is_other or crawled.get(_INDEXABILITY, "").lower() in _NOT_INDEXABLE


def _text(value: object) -> str:
    if isinstance(value, datetime):
        return utc_text(value)
    return "" if value is None else str(value).strip()


def _unguarded(value: object) -> str:
    """Return a text without the apostrophe before what a spreadsheet would take for a formula."""
    text = _text(value)
    return text[1:] if text[:1] == "'" and text[1:2] in _FORMULA else text


def _as_precise(text: str, precision: object) -> str:
    """Return a date in UTC as it was before it got all of its parts."""
    length = _LENGTHS.get(str(precision))
    if length is None or not _UTC.fullmatch(text):
        return text
    return text[:length] + ("Z" if precision == "minute" else "")


def _object(given: Any, spec: FieldSpec) -> Any:
    """Return a value of a cell: text tables have JSON there."""
    if not isinstance(given, str):
        return given
    text = given.lower() if spec.kind is Kind.FLAG else given  # spreadsheets write TRUE
    return json.loads(text) if text.strip() else None


def _typed(value: Any, spec: FieldSpec, several: Callable[..., Any] = list) -> Any:
    """Return what a page has for a value of a table."""
    if value is None:
        return None
    if spec.many is not None:
        return several(_typed(one, spec.item) for one in value)
    kind = spec.kind
    if isinstance(kind, Table):
        fields = ((one, value.get(one.column or one.name)) for one in kind.in_order)
        return kind.make(
            {
                one.argument or one.name: _typed(given, one, tuple)
                for one, given in fields
                if given is not None
            }
        )
    return _READ[kind](value) if kind in _READ else str(value)


_READ: Mapping[Kind, Callable[[Any], Any]] = {
    Kind.TIME: lambda value: value if isinstance(value, datetime) else known_date(value),
    Kind.NUMBER: lambda value: Decimal(str(value)),
    Kind.WHOLE: int,
    Kind.FLAG: bool,
}
