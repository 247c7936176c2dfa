"""The pages of a tree as an Arrow table, built from the parser's own columns; Parquet files of them.

Where the parser gives fields as columns of texts, no page object is made: a batch collects texts, and
each distinct text is read once. Where pages have more, the rows of a block become columns.
"""

from __future__ import annotations

import io
from concurrent.futures import ThreadPoolExecutor, wait
from functools import lru_cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import IO, TYPE_CHECKING, Any

from usp._base.dates import PRECISIONS, precision_of
from usp.export.arrow_arrays import array_of, by_distinct, dictionary, read_dates, texts_array
from usp.export.schema import (
    COLUMNS,
    OF_FIELDS,
    OF_TEXTS,
    REPEATING,
    Kind,
    arrow_schema,
    arrow_type,
    chosen,
    pyarrow,
    read_frequency,
    read_priority,
)
from usp.objects.page import SitemapPageChangeFrequency
from usp.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from concurrent.futures import Future

    from usp.objects.page import PageBlock, PageFields
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Blocks, Pages

__all__ = [
    "BATCH_ROWS",
    "batches_of",
    "c_stream",
    "reader",
    "record_batches",
    "to_arrow",
]

BATCH_ROWS = 1 << 16
"""How many rows a batch has at most, unless another number is given."""

_ROWS = 1 << 11  # rows at a time: with their values they take the most memory

_FREQUENCIES = tuple(frequency.value for frequency in SitemapPageChangeFrequency)
_FREQUENCY_NUMBERS = {one: at for at, one in enumerate(SitemapPageChangeFrequency)}
_PRECISION_NUMBERS: dict[str | None, int] = {word: at for at, word in enumerate(PRECISIONS)}
_WORDS = {"changefreq": _FREQUENCIES, "lastmod_precision": PRECISIONS}
_READ = {"url": "url", **OF_TEXTS}


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
    parts: list[Any] = []  # parts of a batch, each built in one of the two ways below
    collected: _TextColumns | _RowColumns = _TextColumns(names)
    size = 0
    for sitemap_url, block in blocks:
        count = len(block.urls)
        if size and size + count > rows:
            yield from _together([*parts, *collected.batches()], rows)
            parts, collected, size = [], type(collected)(names), 0
        texts = block.texts()
        kind = _RowColumns if texts is None else _TextColumns
        if not isinstance(collected, kind):
            parts += collected.batches()
            collected = kind(names)
        if texts is None and collected.count >= _ROWS:
            parts += collected.batches()
            collected = kind(names)
        collected.add(sitemap_url, block, texts)
        del texts  # thousands of strings, whose memory the next ones can use
        size += count
    yield from _together([*parts, *collected.batches()], rows)


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


# Columns that are collected into a record batch -----------------------------------------------------


class _BatchBuilder:
    """What both ways share: the URLs of pages and of their sitemaps."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.count = 0  # pages
        self._sitemaps: list[tuple[str | None, int]] = []

    def batches(self) -> list[Any]:
        """Return the collected columns as one batch, or nothing."""
        if not self.count:
            return []
        arrays = [self._array(name) for name in self._names]
        return [pyarrow().RecordBatch.from_arrays(arrays, schema=arrow_schema(self._names))]

    def _array(self, name: str) -> Any:
        raise NotImplementedError

    def _sitemap(self) -> Any:
        pa = pyarrow()
        numbers: dict[str, int] = {}
        runs = []
        for url, of_sitemap in groupby(self._sitemaps, itemgetter(0)):
            number = None if url is None else numbers.setdefault(url, len(numbers))
            count = sum(map(itemgetter(1), of_sitemap))
            runs.append(pa.repeat(pa.scalar(number, pa.int32()), count))
        return dictionary(pa.concat_arrays(runs), list(numbers))


class _TextColumns(_BatchBuilder):
    """Collects blocks whose fields are available as text."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        fields = dict.fromkeys(_READ[name] for name in names if name in _READ)
        self._texts: dict[str, list[Any]] = {field: [] for field in fields}
        self._given: set[str] = set()  # the fields that any page has
        self._dates: tuple[Any, Any] | None = None

    def add(
        self,
        sitemap_url: str | None,
        block: PageBlock,
        texts: Mapping[str, Sequence[str]] | None,
    ) -> None:
        """Add a block; its texts go to Arrow while they are still in the CPU's cache."""
        assert texts is not None
        count = len(block.urls)
        self.count += count
        self._sitemaps.append((sitemap_url, count))
        self._given.update(texts)
        for field, chunks in self._texts.items():
            column = block.urls if field == "url" else texts.get(field)
            chunks.append(_blanks(count) if column is None else texts_array(column))

    def _array(self, name: str) -> Any:
        pa = pyarrow()
        if name == "sitemap":
            return self._sitemap()
        if COLUMNS[name] is Kind.FLAG:
            return pa.repeat(pa.scalar(False), self.count)
        if name == "url" or _READ.get(name) in self._given:
            return self._field(name)
        if name == "priority":
            return pa.repeat(pa.scalar(read_priority("")), self.count)
        words = _WORDS.get(name)
        if words is not None:  # the same ones, whether or not a page has any
            return dictionary(pa.nulls(self.count, pa.int32()), words)
        return pa.nulls(self.count, arrow_type(COLUMNS[name]))

    def _field(self, name: str) -> Any:
        """Return the column of the URLs or of a field of the protocol."""
        pa = pyarrow()
        if name == "lastmod_precision" and self._dates:
            return self._dates[1]
        texts = pa.concat_arrays(self._texts[_READ[name]])
        if name == "url":
            return texts
        if name == "priority":
            return by_distinct(texts, read_priority, pa.float64())
        if name == "changefreq":
            return dictionary(by_distinct(texts, _frequency_number, pa.int32()), _FREQUENCIES)
        self._dates = read_dates(texts)
        return self._dates[name != "lastmod"]


def _blanks(count: int) -> Any:
    """Return so many empty texts; a slice of what is there already, unless they are many."""
    most = max(count, _ROWS)
    return _many_blanks(most).slice(0, count)


@lru_cache(maxsize=2)
def _many_blanks(count: int) -> Any:
    return pyarrow().repeat("", count)


class _RowColumns(_BatchBuilder):
    """Collects blocks whose pages have more than texts say."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self._urls: list[str] = []
        self._rows: list[PageFields] = []

    def add(self, sitemap_url: str | None, block: PageBlock, texts: object) -> None:
        """Add a block."""
        del texts
        self._urls += block.urls
        self._rows += block.rows()
        before, self.count = self.count, len(self._urls)
        self._sitemaps.append((sitemap_url, self.count - before))

    def _array(self, name: str) -> Any:
        if name == "sitemap":
            return self._sitemap()
        if name == "url":
            return texts_array(self._urls)
        values = list(map(attrgetter(OF_FIELDS[name]), self._rows))
        if name == "lastmod_precision":
            return dictionary([_PRECISION_NUMBERS.get(precision_of(d)) for d in values], PRECISIONS)
        if name == "changefreq":
            return dictionary(list(map(_FREQUENCY_NUMBERS.get, values)), _FREQUENCIES)
        return array_of(values, COLUMNS[name])


def _frequency_number(text: str) -> int | None:
    word = read_frequency(text)
    return None if word is None else _FREQUENCIES.index(word)


# Parquet files --------------------------------------------------------------------------------------


GROUP_ROWS = 1 << 17
"""A row group is written once it has this many rows, or is this large."""

_GROUP_BYTES = 48 << 20
_PARQUET_BATCH_ROWS = 1 << 15


def write_parquet(blocks: Blocks, stream: IO[bytes], names: Sequence[str]) -> None:
    """Write a table, zstd-compressed, each row group in another thread while the next one is read."""
    names = tuple(names)
    repeating = [name for name in names if COLUMNS[name] in REPEATING]
    writer = ParquetFileWriter(lambda: stream, arrow_schema(names), repeating)
    threads = ThreadPoolExecutor(1, thread_name_prefix="usp-write")
    running: Future[None] | None = None
    try:
        for batch in batches_of(blocks, names, _PARQUET_BATCH_ROWS):
            for group in writer.full_group(batch):
                if running is not None:
                    running.result()
                running = threads.submit(writer.write_group, group)
        if running is not None:
            running.result()
        writer.close()
    except BaseException:
        _wait_for(running)
        writer.abandon()
        raise
    finally:
        threads.shutdown()


def _wait_for(running: Future[None] | None) -> None:
    """Wait until a row group is written, even if Ctrl-C comes again: it must not be closed before."""
    while running is not None and not running.done():
        try:
            wait([running])
        except KeyboardInterrupt:
            continue


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
        for group in self.full_group(batch):
            self.write_group(group)

    def full_group(self, batch: Any) -> Iterator[list[Any]]:
        """Add a batch; yield the batches of the row group that is full with it, if one is."""
        self.rows += len(batch)
        self._group_rows += len(batch)
        self._group_bytes += batch.nbytes
        if len(batch):
            self._batches.append(batch)
        if self._group_rows >= GROUP_ROWS or self._group_bytes >= _GROUP_BYTES:
            group, self._batches = self._batches, []
            self._group_rows = self._group_bytes = 0
            yield group

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
        if self._batches:
            self.write_group(self._batches)
        self._opened().close()

    def abandon(self) -> None:
        """Write nothing any more: Arrow would complete the file at its end, whatever went wrong."""
        if self._sink is not None and self._file is not None:
            self._sink.stream = None
            self._file.close()


class _Sink(io.RawIOBase):
    """A stream that Arrow writes to: it knows its position, whatever is below it."""

    def __init__(self, stream: Any) -> None:
        self.stream = stream
        self._at = 0

    def writable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def write(self, data: Any) -> int:
        if self.stream is not None:
            self.stream.write(data)
        self._at += len(data)
        return len(data)
