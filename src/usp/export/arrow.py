"""The pages of a tree as an Arrow table, built from the parser's own columns; Parquet files of them.

Where the parser gives fields as columns of texts, no page object is made: a batch collects texts, and
each distinct text is read once. Where pages have more, the rows of a block become columns.
"""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC
from itertools import accumulate, chain
from typing import IO, TYPE_CHECKING, Any, TypeAlias

from usp._base.dates import in_utc, known_date, precision_of_text
from usp._formats.batches import read_frequency, read_priority
from usp.export.schema import (
    ALL_COLUMNS,
    COLUMNS,
    NOTHING,
    OF_FIELDS,
    OF_URLS,
    REPEATING,
    TEXTS,
    Kind,
    arrow_schema,
    arrow_type,
    chosen,
    pyarrow,
    row_values,
)
from usp.objects.extension_values import FieldSpec, Table
from usp.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from usp.objects.page import PageBlock, PageFields
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Blocks, Pages

    _Given: TypeAlias = tuple[str | None, Any, dict[str, Any] | list[PageFields]]
    """Of a block: the URL of its sitemap, an array of its URLs, arrays of its texts or its rows."""

__all__ = ["BATCH_ROWS", "batches_of", "c_stream", "reader", "record_batches", "to_arrow"]

BATCH_ROWS = 1 << 16
"""How many rows a batch has at most, unless another number is given."""

_ROWS = 1 << 11  # rows at a time: with their values they take the most memory


def record_batches(
    pages: Pages,
    columns: Iterable[str] | None = None,
    selection: Selection | None = None,
    batch_rows: int = BATCH_ROWS,
    *,
    site: str | None = None,
) -> Iterator[Any]:
    """Return pages, of a tree or any others, in record batches of at most ``batch_rows`` rows.

    ``columns`` are their columns, in this order; ``site`` is the homepage, needed if
    the pages are not those of a tree.
    """
    if batch_rows < 1:
        raise ValueError(f"batch_rows must be a positive integer, not {batch_rows!r}")
    names = chosen(columns)
    pyarrow()
    return batches_of((selection or Selection()).blocks(pages, site), names, batch_rows)


def reader(
    pages: Pages,
    columns: Iterable[str] | None = None,
    selection: Selection | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Any:
    """Return a ``pyarrow.RecordBatchReader`` that parses the pages while it is consumed."""
    batches = record_batches(pages, columns, selection, batch_rows)
    return pyarrow().RecordBatchReader.from_batches(arrow_schema(columns), batches)


def to_arrow(
    pages: Pages, columns: Iterable[str] | None = None, selection: Selection | None = None
) -> Any:
    """Return all pages as a ``pyarrow.Table``."""
    names = chosen(columns)
    batches = list(record_batches(pages, names, selection))
    return pyarrow().Table.from_batches(batches, arrow_schema(names)).unify_dictionaries()


def c_stream(sitemap: AbstractSitemap, requested_schema: object | None = None) -> object:
    """Return the pages by Arrow's C stream interface, for ``__arrow_c_stream__``."""
    return reader(sitemap).__arrow_c_stream__(requested_schema)


def batches_of(
    blocks: Iterable[tuple[str | None, PageBlock]], names: tuple[str, ...], rows: int = BATCH_ROWS
) -> Iterator[Any]:
    """Yield blocks, each given with the URL of its sitemap, as record batches of these columns."""
    read = {ALL_COLUMNS[name].element for name in names}
    parts: list[Any] = []  # of a batch
    waiting: list[_Given] = []  # blocks of the next part: all of them have texts, or none
    size = held = 0
    for sitemap_url, block in blocks:
        count, texts = len(block.urls), block.texts()
        is_full = size and size + count > rows
        is_other = waiting and isinstance(waiting[0][2], list) != (texts is None)
        if waiting and (is_full or is_other or (texts is None and held >= _ROWS)):
            parts.append(_batch(waiting, names))
            waiting, held = [], 0
        if is_full:
            yield from _together(parts, rows)
            parts, size = [], 0
        # Texts go to Arrow while they are still in the CPU's cache; the next ones use their memory.
        fields: dict[str, Any] | list[PageFields]
        if texts is None:
            fields = list(block.rows())
        else:
            fields = {name: texts_array(column) for name, column in texts.items() if name in read}
        waiting.append((sitemap_url, texts_array(block.urls), fields))
        del texts
        held += count
        size += count
    yield from _together([*parts, _batch(waiting, names)] if waiting else parts, rows)


def _together(parts: list[Any], rows: int) -> Iterator[Any]:
    """Yield one batch for several parts; a block that is larger than a batch is split."""
    if not parts:
        return
    whole = parts[0]
    if len(parts) > 1:
        table = pyarrow().Table.from_batches(parts).unify_dictionaries().combine_chunks()
        (whole,) = table.to_batches()
    for at in range(0, len(whole), rows):
        yield whole.slice(at, rows)


def _batch(blocks: Sequence[_Given], names: tuple[str, ...]) -> Any:
    """Return blocks as a record batch: from their texts if they have nothing else, or their rows."""
    pa = pyarrow()
    count = sum(len(urls) for _, urls, _ in blocks)
    rows = [row for _, _, fields in blocks if isinstance(fields, list) for row in fields]
    if rows:
        known = [name for name in names if name in OF_FIELDS]
        values = {name: array_of(row_values(rows, name), ALL_COLUMNS[name]) for name in known}
    else:
        values = _from_texts(blocks, names, count)
    values["url"] = pa.concat_arrays([urls for _, urls, _ in blocks])
    for name in OF_URLS.keys() & set(names):
        column = list(map(OF_URLS[name], values["url"].to_pylist()))
        values[name] = array_of(column, ALL_COLUMNS[name])
    sitemaps = texts_array([url for url, _, _ in blocks]).dictionary_encode()
    pairs = zip(sitemaps.indices, blocks, strict=True)
    runs = pa.concat_arrays([pa.repeat(at, len(urls)) for at, (_, urls, _) in pairs])
    values["sitemap"] = pa.DictionaryArray.from_arrays(runs, sitemaps.dictionary)
    return pa.RecordBatch.from_arrays([values[name] for name in names], schema=arrow_schema(names))


def _from_texts(blocks: Sequence[_Given], names: tuple[str, ...], count: int) -> dict[str, Any]:
    pa = pyarrow()
    kinds = {name: ALL_COLUMNS[name].kind for name in names}
    values = {
        name: pa.repeat(pa.scalar(NOTHING[kind]), count)
        if kind in NOTHING
        else pa.nulls(count, arrow_type(ALL_COLUMNS[name]))
        for name, kind in kinds.items()
    }
    given = [(len(urls), fields) for _, urls, fields in blocks if isinstance(fields, dict)]
    texts = {
        name: pa.concat_arrays([fields.get(name, pa.repeat("", most)) for most, fields in given])
        for name in set().union(*(fields for _, fields in given))
    }
    if "priority" in texts:
        values["priority"] = by_distinct(texts["priority"], read_priority, pa.float64())
    if "changefreq" in texts:
        words = by_distinct(texts["changefreq"], read_frequency, pa.string())
        values["changefreq"] = words.dictionary_encode()
    if "lastmod" in texts:
        values["lastmod"], values["lastmod_precision"] = read_dates(texts["lastmod"])
    return values


# Arrays of values: of objects, and of texts as documents write them ---------------------------------


# Dates that Arrow parses as our own parser does. Outside of these years they may differ.
_USUAL = (
    r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9]"
    r"(?:[T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
    r"(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?)?$"
)
_ZONE = r"(?:Z|[+-][0-9]{2}:[0-9]{2})$"
_DAY = len("2024-05-31")
_LARGEST = (1 << 63) - 1
_FEW = 200  # distinct texts up to which our own parser is faster than Arrow


def array_of(values: Sequence[Any], spec: FieldSpec) -> Any:
    """Return values of the objects as an Arrow array; an empty list is null."""
    pa, kind = pyarrow(), spec.kind
    if (spec.many is not None or isinstance(kind, Table)) and not any(values):
        return pa.nulls(len(values), arrow_type(spec))
    if spec.many is not None:
        return _lists(values, spec)
    if isinstance(kind, Table):
        return _records(values, kind, arrow_type(spec))
    if kind in TEXTS:
        return texts_array(values)
    if kind is Kind.WORD:
        return texts_array(values).dictionary_encode()
    single = _SINGLE.get(kind)
    if single is not None:
        values = [None if value is None else single(value) for value in values]
    return pa.array(values, arrow_type(spec))


def _lists(values: Sequence[Any], spec: FieldSpec) -> Any:
    pa = pyarrow()
    offsets = [0, *accumulate(len(value) if value else 0 for value in values)]
    # A null offset makes its list null; the last offset only ends the list before it.
    begins = [at if value else None for at, value in zip(offsets, values, strict=False)]
    inner = array_of(list(chain.from_iterable(filter(None, values))), spec.item)
    return pa.ListArray.from_arrays(pa.array([*begins, offsets[-1]], pa.int32()), inner)


def _records(values: Sequence[Any], table: Table, kind: Any) -> Any:
    """Return structs; values that are missing cost nothing but their place."""
    pa = pyarrow()
    missing = [value is None for value in values]
    given = [value for value in values if value is not None] if any(missing) else values
    columns = [
        array_of(list(map(table.getters[spec.name], given)), spec) for spec in table.in_order
    ]
    records = pa.StructArray.from_arrays(columns, fields=list(kind))
    if given is values:
        return records
    places = accumulate((not one for one in missing), initial=0)
    return records.take(
        pa.array([None if gone else at for gone, at in zip(missing, places, strict=False)])
    )


_SINGLE: Mapping[Kind, Callable[[Any], Any]] = {
    # Arrow takes a date without an offset as one in UTC, too.
    Kind.TIME: lambda date: date if date.tzinfo is None or date.tzinfo is UTC else in_utc(date),
    Kind.NUMBER: float,
    Kind.WHOLE: lambda number: max(-_LARGEST, min(number, _LARGEST)),
}


def texts_array(texts: Sequence[str | None]) -> Any:
    """Return text as an Arrow array; a lone surrogate becomes ``?``."""
    pa = pyarrow()
    try:
        return pa.array(texts, pa.string())
    except UnicodeEncodeError:
        whole = [t if t is None else t.encode("utf-8", "replace").decode("utf-8") for t in texts]
        return pa.array(whole, pa.string())


def by_distinct(texts: Any, read: Callable[[str], Any], kind: Any) -> Any:
    """Parse an array of text, each distinct value once."""
    encoded = texts.dictionary_encode()
    values = [read(text) for text in encoded.dictionary.to_pylist()]
    return pyarrow().array(values, kind).take(encoded.indices)


# Dates ----------------------------------------------------------------------------------------------


def read_dates(texts: Any) -> tuple[Any, Any]:
    """Return the timestamps of an array of text, and their precision."""
    encoded = texts.dictionary_encode()
    distinct = encoded.dictionary
    read = _read_usual(distinct) if len(distinct) > _FEW else None
    if read is None:
        one_by_one = distinct.to_pylist()
        moments = array_of(list(map(known_date, one_by_one)), COLUMNS["lastmod"])
        read = moments, texts_array(list(map(precision_of_text, one_by_one)))
    moments, precisions = (column.take(encoded.indices) for column in read)
    return moments, precisions.dictionary_encode()


def _read_usual(texts: Any) -> tuple[Any, Any] | None:
    """Return distinct texts as parsed by Arrow; None if one of them has an unusual form."""
    pa, pc = pyarrow(), pyarrow(".compute")
    texts = pc.if_else(pc.equal(texts, ""), None, texts)
    if not pc.all(pc.match_substring_regex(texts, _USUAL)).as_py():
        return None
    days = pc.equal(pc.utf8_length(texts), _DAY)
    with_zone = pc.match_substring_regex(texts, _ZONE)
    ends = pc.if_else(days, "T00:00:00Z", pc.if_else(with_zone, "", "Z"))
    try:
        moments = pc.binary_join_element_wise(texts, ends, "").cast(arrow_type(COLUMNS["lastmod"]))
    except pa.ArrowInvalid:  # a thirtieth of February
        return None
    finer = pc.if_else(pc.match_substring(texts, "."), "fraction", "second")
    return moments, pc.if_else(days, "day", finer)


# Parquet files --------------------------------------------------------------------------------------


GROUP_ROWS = 1 << 17
"""A row group is written once it has this many rows, or is this large."""

_GROUP_BYTES = 48 << 20
_PARQUET_BATCH_ROWS = 1 << 15


def write_parquet(blocks: Blocks, stream: IO[bytes], names: Sequence[str]) -> None:
    """Write a table, zstd-compressed, each row group in another thread while the next one is read."""
    names = tuple(names)
    repeating = [name for name in names if ALL_COLUMNS[name].kind in REPEATING]
    writer = ParquetFileWriter(lambda: stream, arrow_schema(names), repeating)
    try:
        with ThreadPoolExecutor(1, thread_name_prefix="usp-write") as threads:
            running: Future[Any] = threads.submit(bool)  # nothing: no group is being written yet
            for batch in batches_of(blocks, names, _PARQUET_BATCH_ROWS):
                if writer.fills_group(batch):
                    running.result()
                    running = threads.submit(writer.write_group, writer.take_group())
            running.result()
        writer.close()
    except BaseException:
        writer.abandon()
        raise


class ParquetFileWriter:
    """Writes batches of any size as the row groups of a file, which is opened for the first of them.

    ``repeating`` are the columns that get a dictionary. The stream stays open.
    """

    def __init__(
        self, open_stream: Callable[[], Any], schema: Any, repeating: Iterable[str]
    ) -> None:
        self._open = open_stream
        self._schema = schema
        self._repeating = [name for name in repeating if name in schema.names]
        self._sink: _Sink | None = None
        self._file: Any = None
        self._batches: list[Any] = []
        self._group_rows = self._group_bytes = 0
        self.stream: Any = None
        self.rows = 0

    def add(self, batch: Any) -> None:
        """Add a batch; write the row group that is full with it."""
        if self.fills_group(batch):
            self.flush()

    def fills_group(self, batch: Any) -> bool:
        """Add a batch; return whether the row group is full with it."""
        self.rows += len(batch)
        self._group_rows += len(batch)
        self._group_bytes += batch.nbytes
        if len(batch):
            self._batches.append(batch)
        return self._group_rows >= GROUP_ROWS or self._group_bytes >= _GROUP_BYTES

    def take_group(self) -> list[Any]:
        """Return the batches of the row group, and begin the next one."""
        group, self._batches = self._batches, []
        self._group_rows = self._group_bytes = 0
        return group

    def flush(self) -> None:
        """Write what was added as a row group."""
        if self._batches:
            self.write_group(self.take_group())

    def write_group(self, batches: list[Any]) -> None:
        """Write batches as one row group."""
        table = pyarrow().Table.from_batches(batches, self._schema).unify_dictionaries()
        self._opened().write_table(table, row_group_size=len(table))

    def _opened(self) -> Any:
        if self._file is None:
            self.stream = self._open()
            self._sink = _Sink(self.stream)
            self._file = pyarrow(".parquet").ParquetWriter(
                self._sink, self._schema, compression="zstd", use_dictionary=self._repeating
            )
        return self._file

    def close(self) -> None:
        """Write what is left, and complete the file."""
        self.flush()
        self._opened().close()

    def abandon(self) -> None:
        """Write nothing any more: Arrow completes the file at its end, whatever went wrong.

        It is not closed, since another thread may be writing to it if Ctrl-C came twice.
        """
        if self._sink is not None:
            self._sink.stream = None


class _Sink(io.RawIOBase):
    """A stream that Arrow writes to, as long as there is one."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        if self.stream is not None:
            self.stream.write(data)
        return len(data)
