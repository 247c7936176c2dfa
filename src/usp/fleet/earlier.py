"""What the last crawl has found of a site, for one that downloads only what has changed.

Page sitemaps are requested with the validators of their rows in ``sitemaps``. Of one that has not
changed, the rows are copied from the files in which they are; robots.txt and indexes are always
downloaded.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from usp._base.stores import DatasetError
from usp._base.urls import BadUrl, read_url
from usp._crawl.orders import Look, Received
from usp._http.flow import condition
from usp._store import Document
from usp._store import Store as Documents
from usp.export.schema import pyarrow
from usp.fleet.parts import scan
from usp.fleet.tables import schema_of
from usp.objects.sitemap import KINDS, AbstractPagesSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp._base.stores import Store
    from usp._crawl.orders import Fetch
    from usp._http.flow import Conditions
    from usp.fleet.options import FleetOptions
    from usp.objects.exchange import Exchange

_MOST_FILES = 4  # groups of files whose sitemaps are kept in memory
_MOST_PAGES = 1 << 15  # in one batch
_CUT = ("limit-", "internal-error")
"""How codes begin with which the pages that were found may not be all that there are."""

_NOT_MODIFIED = 304
_NO_PAGES = b"<urlset/>"
_KINDS = {kind.name: node for node, kind in KINDS.items() if issubclass(node, AbstractPagesSitemap)}
_VALIDATORS = {"etag": "ETag", "last_modified": "Last-Modified"}


def finder(store: Store, options: FleetOptions) -> Callable[[str, str | None], Earlier | None]:
    """Return a function that finds what is known of a site, in the files of a name, if it is of use."""
    file_of = lru_cache(_MOST_FILES)(lambda name: _File(store, name, options))
    lock = threading.Lock()

    def find(site: str, name: str | None) -> Earlier | None:
        if name is None or not options.keeps_unchanged:
            return None
        try:
            with lock:
                file = file_of(name)
        except (DatasetError, OSError):
            return None  # then everything is downloaded
        rows = file.sitemaps.get(site)
        return Earlier(site, rows, file) if rows else None

    return find


@dataclass(frozen=True, slots=True, eq=False)
class Earlier:
    """The page sitemaps of a site that may be unchanged, by URL, and the file with their pages."""

    _site: str
    _rows: dict[str, dict[str, Any]]
    _file: _File

    def conditions(self) -> Conditions:
        """Return the headers that ask for the sitemaps only if they have changed."""
        found = (
            condition(url, url, {name: row[key] for key, name in _VALIDATORS.items()})
            for url, row in self._rows.items()
        )
        return dict(one for one in found if one is not None)

    def row(self, told: Exchange | None) -> dict[str, Any] | None:
        """Return the row of a sitemap if its response says that it has not changed."""
        if told is None or told.status != _NOT_MODIFIED or _text(told.url) not in self._rows:
            return None
        newer = {key: told.header(name) for key, name in _VALIDATORS.items()}
        return self._rows[_text(told.url)] | {key: value for key, value in newer.items() if value}

    def document(self, order: Fetch, told: Exchange) -> Received | None:
        """Return a document without pages in place of one that has not changed."""
        row = self.row(replace(told, url=order.url))
        if row is None:
            return None
        document = Document(Documents(), told, len(_NO_PAGES), _NO_PAGES)
        return Received(document, Look(_KINDS[row["type"]]))

    def pages(self, sitemaps: list[str]) -> Iterator[Any]:
        """Yield the rows of the pages of some sitemaps, in batches."""
        return self._file.pages(self._site, sitemaps)


class _File:
    """The files of one group: their sitemaps, and where the pages of each site are."""

    def __init__(self, store: Store, name: str, options: FleetOptions) -> None:
        self._store = store
        self._name = name
        self._columns = options.columns
        self._lock = threading.Lock()
        self._groups: list[Any] = []
        self._places: dict[str, list[tuple[int, int, int]]] | None = None
        self._last: tuple[int, Any] = (-1, None)
        same = {
            row["site"]
            for row in self._rows("sites")
            if row["options"] == options.digest and not (row["code"] or "").startswith(_CUT)
        }
        rows = [(row, _text(row["url"])) for row in self._rows("sitemaps") if row["site"] in same]
        times = Counter((row["site"], url) for row, url in rows)
        self.sitemaps: dict[str, dict[str, dict[str, Any]]] = defaultdict(dict)
        for row, url in rows:
            has_validator = row["etag"] or row["last_modified"]
            is_good = row["failure"] is None and row["type"] in _KINDS
            if url and has_validator and is_good and times[row["site"], url] == 1:
                self.sitemaps[row["site"]][url] = row

    def _rows(self, table: str) -> list[dict[str, Any]]:
        with self._store.words():
            return list(scan(self._store, f"{table}/{self._name}").to_table().to_pylist())

    def pages(self, site: str, sitemaps: list[str]) -> Iterator[Any]:
        wanted = pyarrow(".compute").field("sitemap").isin(sitemaps)
        with self._lock, self._store.words():
            if self._places is None:
                (file,) = scan(self._store, f"pages/{self._name}", self._columns).get_fragments()
                self._groups = file.split_by_row_group()
                self._places = _places(self._groups)
        for group, start, length in self._places.get(site, ()):
            kept = self._row_group(group).slice(start, length).filter(wanted)
            yield from kept.to_batches(max_chunksize=_MOST_PAGES)

    def _row_group(self, number: int) -> Any:
        """Return a row group; the last one is kept, since sites come in the order of the file."""
        with self._lock, self._store.words():
            if self._last[0] != number:
                schema = schema_of("pages", self._columns)
                self._last = (number, self._groups[number].to_table(schema))
            return self._last[1]


def _places(groups: list[Any]) -> dict[str, list[tuple[int, int, int]]]:
    """Return where the pages of each site are: row groups, and the first row and number of rows."""
    places: dict[str, list[tuple[int, int, int]]] = defaultdict(list)
    for number, group in enumerate(groups):
        sites = group.to_table(columns=["site"]).column("site").cast(pyarrow().string())
        runs, start = pyarrow(".compute").run_end_encode(sites.combine_chunks()), 0
        for site, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            places[site].append((number, start, end - start))
            start = end
    return places


def _text(url: str) -> str:
    try:
        return read_url(url).text()
    except BadUrl:
        return ""
