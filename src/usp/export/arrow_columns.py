"""Columns that are collected until they are a record batch."""

from __future__ import annotations

from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from usp._base.dates import PRECISIONS
from usp.export.arrow_dates import read_dates
from usp.export.arrow_values import array_of, by_distinct, texts_array
from usp.export.rows import change_frequency, page_value, priority
from usp.export.schema import COLUMNS, Kind, arrow_schema, arrow_type, pyarrow
from usp.objects.page import SitemapPageChangeFrequency

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from usp.objects.page import PageBlock, SitemapPage

_FREQUENCIES = tuple(frequency.value for frequency in SitemapPageChangeFrequency)
_READ = {  # column: what it is read from
    "url": "url",
    "lastmod": "lastmod",
    "lastmod_precision": "lastmod",
    "changefreq": "changefreq",
    "priority": "priority",
}
_WORDS = {"lastmod_precision": PRECISIONS, "changefreq": _FREQUENCIES}


class _Columns:
    """What both ways of collecting share: addresses, and the sitemaps that they stand in."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names
        self.count = 0  # pages
        self._sitemaps: list[tuple[str | None, int]] = []

    def batches(self) -> list[Any]:
        """Give what was collected as one batch, or none."""
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


class TextColumns(_Columns):
    """Collects blocks whose fields are given as texts."""

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
        """Take a block; its texts are given to Arrow while they are at hand, in the CPU's cache."""
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
            return pa.repeat(pa.scalar(priority("")), self.count)
        return pa.nulls(self.count, arrow_type(COLUMNS[name]))

    def _field(self, name: str) -> Any:
        """Read an address or a field of the protocol."""
        pa = pyarrow()
        if name == "lastmod_precision" and self._dates:
            return self._dates[1]
        texts = pa.concat_arrays(self._texts[_READ[name]])
        if name == "url":
            return texts
        if name == "priority":
            return by_distinct(texts, priority, pa.float64())
        if name == "changefreq":
            return _dictionary(by_distinct(texts, _frequency_number, pa.int32()), _FREQUENCIES)
        self._dates = read_dates(texts)
        return self._dates[name != "lastmod"]


class PageColumns(_Columns):
    """Collects pages that must be asked."""

    def __init__(self, names: tuple[str, ...]) -> None:
        super().__init__(names)
        self._pages: list[SitemapPage] = []

    def add(self, sitemap_url: str | None, block: PageBlock, texts: object) -> None:
        """Take a block."""
        del texts
        before = len(self._pages)
        self._pages += block.pages()
        self.count = len(self._pages)
        self._sitemaps.append((sitemap_url, self.count - before))

    def _array(self, name: str) -> Any:
        if name == "sitemap":
            return self._sitemap()
        value = page_value(name)
        values = [value(page) for page in self._pages]
        words = _WORDS.get(name)
        if words:
            number = {word: at for at, word in enumerate(words)}
            return _dictionary([number.get(word) for word in values], words)
        return array_of(values, COLUMNS[name])


def _frequency_number(text: str) -> int | None:
    word = change_frequency(text)
    return None if word is None else _FREQUENCIES.index(word)


def _dictionary(indices: Any, words: Iterable[str]) -> Any:
    pa = pyarrow()
    if isinstance(indices, list):
        indices = pa.array(indices, pa.int32())
    return pa.DictionaryArray.from_arrays(indices, texts_array(list(words)))
