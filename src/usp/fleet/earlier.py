"""What the last crawl has found of a site, for one that downloads only what has changed.

Page sitemaps are requested with the validators of their rows in ``sitemaps``. Of one that has not
changed, the rows are copied from the files in which they are; robots.txt and indexes are always
downloaded.
"""

from __future__ import annotations

import threading
from collections import OrderedDict, defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from usp._base.urls import BadUrl, read_url
from usp._crawl.orders import Look, Received
from usp._http.flow import condition
from usp._store import Document
from usp._store import Store as Documents
from usp.export.schema import pyarrow
from usp.fleet.parts import with_all_columns
from usp.fleet.store import DatasetError
from usp.fleet.tables import schema_of
from usp.objects.sitemap import KINDS, AbstractPagesSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp._crawl.orders import Fetch
    from usp._http.flow import Conditions
    from usp.fleet.options import FleetOptions
    from usp.fleet.store import Store
    from usp.objects.exchange import Exchange

_MOST_FILES = 4  # groups of files whose sitemaps are kept in memory
_MOST_PAGES = 1 << 15  # in one batch
_NOT_MODIFIED = 304
_NO_PAGES = b"<urlset/>"
_KINDS = {kind.name: node for node, kind in KINDS.items() if issubclass(node, AbstractPagesSitemap)}
_VALIDATORS = {"etag": "ETag", "last_modified": "Last-Modified"}


class EarlierFiles:
    """Finds what the last crawl has found of sites, in the files in which they are."""

    def __init__(self, store: Store, options: FleetOptions) -> None:
        self._store = store
        self._options = options
        self._lock = threading.Lock()
        self._files: OrderedDict[str, _File] = OrderedDict()

    def of(self, site: str, name: str | None) -> Earlier | None:
        """Return what is known of a site that is in the files of this name, if it can be used."""
        if name is None or not self._options.keeps_unchanged:
            return None
        with self._lock:
            if name not in self._files:
                try:
                    self._files[name] = _File(self._store, name, self._options)
                except (DatasetError, OSError):
                    return None  # then everything is downloaded
            self._files.move_to_end(name)
            while len(self._files) > _MOST_FILES:
                self._files.popitem(last=False)
            file = self._files[name]
        rows = file.sitemaps.get(site)
        return Earlier(site, rows, file) if rows else None


class Earlier:
    """The page sitemaps of a site that may be unchanged, by URL, and their pages."""

    def __init__(self, site: str, rows: dict[str, dict[str, Any]], file: _File) -> None:
        self._site = site
        self._rows = rows
        self._file = file

    def conditions(self) -> Conditions:
        """Return the headers that ask for the sitemaps only if they have changed."""
        found = (
            condition(url, url, {name: row[key] for key, name in _VALIDATORS.items()})
            for url, row in self._rows.items()
        )
        return dict(one for one in found if one is not None)

    def row(self, told: Exchange | None) -> dict[str, Any] | None:
        """Return the row of a sitemap if its response says that it has not changed."""
        if told is None or told.status != _NOT_MODIFIED:
            return None
        row = self._rows.get(_text(told.url) or "")
        if row is None:
            return None
        newer = {key: told.header(name) for key, name in _VALIDATORS.items()}
        return row | {key: value for key, value in newer.items() if value}

    def document(self, order: Fetch, told: Exchange) -> Received | None:
        """Return a document without pages in place of one that has not changed."""
        row = self.row(replace(told, url=order.url))
        if row is None:
            return None
        document = Document(Documents(), told, len(_NO_PAGES), _NO_PAGES)
        return Received(document, Look(_KINDS[row["type"]]))

    def pages(self, sitemaps: Iterable[str]) -> Iterator[Any]:
        """Yield the rows of the pages of some sitemaps, in batches."""
        yield from self._file.pages(self._site, list(sitemaps))


class _File:
    """The files of one group: their sitemaps, and where the pages of each site are."""

    def __init__(self, store: Store, name: str, options: FleetOptions) -> None:
        self._store = store
        self._name = name
        self._schema = schema_of("pages", options.columns)
        self._lock = threading.Lock()
        self._places: dict[str, list[tuple[int, int, int]]] | None = None
        self._last: tuple[int, Any] = (-1, None)
        same = {
            row["site"]
            for row in self._read("sites", ["site", "options", "code"])
            if row["options"] == options.digest and not _is_cut(row["code"] or "")
        }
        self.sitemaps: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        twice: set[tuple[str, str]] = set()
        for row in self._read("sitemaps"):
            if row["site"] in same and (url := _text(row["url"])) is not None:
                if url in self.sitemaps[row["site"]]:
                    twice.add((row["site"], url))
                self.sitemaps[row["site"]][url] = row
        for site, rows in self.sitemaps.items():
            self.sitemaps[site] = {
                url: row
                for url, row in rows.items()
                if (row["etag"] or row["last_modified"])
                and row["failure"] is None
                and row["type"] in _KINDS
                and (site, url) not in twice
            }

    def _read(self, table: str, columns: list[str] | None = None) -> list[dict[str, Any]]:
        with self._store.reading(f"{table}/{self._name}") as source:
            read = pyarrow(".parquet").read_table(source, columns=columns)
        rows: list[dict[str, Any]] = read.to_pylist()
        return rows

    def pages(self, site: str, sitemaps: list[str]) -> Iterator[Any]:
        pa, compute = pyarrow(), pyarrow(".compute")
        wanted = pa.array(sitemaps, pa.string())
        for group, start, length in self._index().get(site, ()):
            rows = self._row_group(group).slice(start, length)
            kept = rows.filter(compute.is_in(rows.column("sitemap"), value_set=wanted))
            for batch in kept.to_batches(max_chunksize=_MOST_PAGES):
                yield with_all_columns(batch, self._schema)

    def _index(self) -> dict[str, list[tuple[int, int, int]]]:
        """Return the row groups of the pages of each site, and the first row and their number."""
        with self._lock:
            if self._places is None:
                compute = pyarrow(".compute")
                self._places = defaultdict(list)
                with self._store.reading(f"pages/{self._name}") as source:
                    file = pyarrow(".parquet").ParquetFile(source)
                    for group in range(file.num_row_groups):
                        sites = file.read_row_group(group, ["site"]).column("site")
                        texts = sites.cast(pyarrow().string()).combine_chunks()
                        runs, start = compute.run_end_encode(texts), 0
                        ends = runs.run_ends.to_pylist()
                        for site, end in zip(runs.values.to_pylist(), ends, strict=True):
                            self._places[site].append((group, start, end - start))
                            start = end
            return self._places

    def _row_group(self, group: int) -> Any:
        """Return a row group; the last one is kept, since sites come in the order of the file."""
        with self._lock:
            if self._last[0] != group:
                with self._store.reading(f"pages/{self._name}") as source:
                    file = pyarrow(".parquet").ParquetFile(source)
                    self._last = (group, file.read_row_group(group))
            return self._last[1]


def _is_cut(code: str) -> bool:
    """Return whether the pages that were found may not be all that there are in their sitemaps."""
    return code.startswith("limit-") or code == "internal-error"


def _text(url: str) -> str | None:
    try:
        return read_url(url).text()
    except BadUrl:
        return None
