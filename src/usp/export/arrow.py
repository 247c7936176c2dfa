"""The pages of a tree as an Arrow table, built from the parser's own columns.

Where the parser gives fields as columns of texts, no page object is made: a batch collects texts, and
each distinct text is read once. Other pages are asked one by one.
"""

from __future__ import annotations

from itertools import accumulate, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from usp._base.dates import PRECISIONS, in_utc, known_date, precision_of_text
from usp.export.schema import (
    COLUMNS,
    OF_PAGES,
    OF_TEXTS,
    TEXTS,
    Kind,
    Many,
    Record,
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

    from usp.export.schema import AnyKind
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Pages

__all__ = [
    "BATCH_ROWS",
    "batches_of",
    "c_stream",
    "reader",
    "record_batches",
    "to_arrow",
]

BATCH_ROWS = 1 << 16
_PAGES = 1 << 11  # page objects at a time: with their values they take the most memory

_FREQUENCIES = tuple(frequency.value for frequency in SitemapPageChangeFrequency)
_READ = {"url": "url", **OF_TEXTS}
_WORDS = {"lastmod_precision": PRECISIONS, "changefreq": _FREQUENCIES}


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
    collected: _TextColumns | _PageColumns = _TextColumns(names)
    size = 0
    for sitemap_url, block in blocks:
        count = len(block.urls)
        if size and size + count > rows:
            yield from _together([*parts, *collected.batches()], rows)
            parts, collected, size = [], type(collected)(names), 0
        texts = block.texts()
        kind = _PageColumns if texts is None else _TextColumns
        if not isinstance(collected, kind):
            parts += collected.batches()
            collected = kind(names)
        if texts is None and collected.count >= _PAGES:
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


class _Columns:
    """Common part of both collectors: the URLs of pages and of their sitemaps."""

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
        return _dictionary(pa.concat_arrays(runs), list(numbers))


class _TextColumns(_Columns):
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
        pa = pyarrow()
        count = len(block.urls)
        self.count += count
        self._sitemaps.append((sitemap_url, count))
        self._given.update(texts)
        for field, chunks in self._texts.items():
            column = block.urls if field == "url" else texts.get(field)
            chunks.append(pa.repeat("", count) if column is None else texts_array(column))

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
            return _dictionary(by_distinct(texts, _frequency_number, pa.int32()), _FREQUENCIES)
        self._dates = read_dates(texts)
        return self._dates[name != "lastmod"]


class _PageColumns(_Columns):
    """Collects blocks that have to be read page by page."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self._pages: list[SitemapPage] = []

    def add(self, sitemap_url: str | None, block: PageBlock, texts: object) -> None:
        """Add a block."""
        del texts
        before = len(self._pages)
        self._pages += block.pages()
        self.count = len(self._pages)
        self._sitemaps.append((sitemap_url, self.count - before))

    def _array(self, name: str) -> Any:
        if name == "sitemap":
            return self._sitemap()
        value = OF_PAGES[name]
        values = [value(page) for page in self._pages]
        words = _WORDS.get(name)
        if words:
            number = {word: at for at, word in enumerate(words)}
            return _dictionary([number.get(word) for word in values], words)
        return array_of(values, COLUMNS[name])


def _frequency_number(text: str) -> int | None:
    word = read_frequency(text)
    return None if word is None else _FREQUENCIES.index(word)


def _dictionary(indices: Any, words: Iterable[str]) -> Any:
    pa = pyarrow()
    if isinstance(indices, list):
        indices = pa.array(indices, pa.int32())
    return pa.DictionaryArray.from_arrays(indices, texts_array(list(words)))


# Values of objects, and columns of texts, as Arrow arrays ------------------------------------------


_LARGEST = (1 << 63) - 1

# Dates that Arrow parses as our own parser does. Outside of these years they may differ.
_USUAL = (
    r"^[12][0-9]{3}-[01][0-9]-[0-3][0-9]"
    r"(?:[T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,6})?"
    r"(?:Z|[+-](?:0[0-9]|1[0-4]):[0-5][0-9])?)?$"
)
_ZONE = r"(?:Z|[+-][0-9]{2}:[0-9]{2})$"
_DAY = len("2024-05-31")
_FEW = 200  # distinct texts up to which our own parser is faster than Arrow


def array_of(values: Sequence[Any], kind: AnyKind) -> Any:
    """Return values of the objects as an Arrow array."""
    pa = pyarrow()
    if isinstance(kind, Many):
        ends = accumulate(len(value) if value else 0 for value in values)
        offsets = [0, *ends]
        # A null offset makes its list null; the last offset only ends the list before it.
        begins = [at if value else None for at, value in zip(offsets, values, strict=False)]
        inner = array_of([item for value in values if value for item in value], kind.of)
        return pa.ListArray.from_arrays(pa.array([*begins, offsets[-1]], pa.int32()), inner)
    if isinstance(kind, Record):
        columns = [
            array_of([None if value is None else get(value) for value in values], inner)
            for get, inner in kind.fields.values()
        ]
        unknown = pa.array([value is None for value in values], pa.bool_())
        return pa.StructArray.from_arrays(columns, fields=list(arrow_type(kind)), mask=unknown)
    if kind in TEXTS:
        return texts_array(values)
    return pa.array([_single(value, kind) for value in values], arrow_type(kind))


def _single(value: Any, kind: Kind) -> Any:
    if value is None:
        return None
    if kind is Kind.TIME:
        return in_utc(value)
    if kind is Kind.NUMBER:
        return float(value)
    if kind is Kind.WHOLE:
        return max(-_LARGEST, min(value, _LARGEST))
    return value


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
    pa = pyarrow()
    encoded = texts.dictionary_encode()
    distinct = encoded.dictionary
    read = _read_usual(distinct) if len(distinct) > _FEW else None
    moments, precisions = read or _read_one_by_one(distinct.to_pylist())
    numbers = precisions.take(encoded.indices)
    words = pa.array(PRECISIONS, pa.string())
    return moments.take(encoded.indices), pa.DictionaryArray.from_arrays(numbers, words)


def _read_one_by_one(texts: list[str]) -> tuple[Any, Any]:
    pa = pyarrow()
    dates = [known_date(text) for text in texts]
    moments = [None if date is None else in_utc(date) for date in dates]
    precisions = [precision_of_text(text) for text in texts]
    numbers = [None if word is None else PRECISIONS.index(word) for word in precisions]
    return pa.array(moments, arrow_type(Kind.TIME)), pa.array(numbers, pa.int32())


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
        moments = pc.binary_join_element_wise(texts, ends, "").cast(arrow_type(Kind.TIME))
    except pa.ArrowInvalid:  # a thirtieth of February
        return None
    day, second, fraction = map(PRECISIONS.index, ("day", "second", "fraction"))
    finer = pc.if_else(pc.match_substring(texts, "."), fraction, second)
    return moments, pc.if_else(days, day, finer).cast(pa.int32())
