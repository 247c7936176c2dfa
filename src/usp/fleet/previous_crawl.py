"""What the last crawl has found of a site, for one that downloads only what has changed.

Page sitemaps are requested with the validators of their rows in ``sitemaps``. Of one that has not
changed, the rows are copied from the files in which they are; robots.txt and indexes are always
downloaded. The rows of what has failed now are copied as well.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from usp._base.files import DatasetError, FileStore
from usp._base.urls import BadUrl, read_url
from usp._crawl.orders import FetchOrder, Probe, Received
from usp._http.flow import Conditions, conditions_of
from usp._store import Document
from usp._store import Store as Documents
from usp.export.schema import pyarrow
from usp.export.sitemaps import places_in
from usp.fleet.tables import TABLES, plain_schema, scan, schema_of
from usp.objects.sitemap import KINDS, AbstractPagesSitemap, AbstractSitemap, IndexWebsiteSitemap

if TYPE_CHECKING:
    from usp.fleet.options import FleetOptions
    from usp.objects.exchange import Exchange

_MOST_FILES = 12  # files whose rows are found again without reading them: three of each part
_MOST_PAGES = 1 << 15  # in one batch
_CUT = ("limit-", "internal-error")
"""How codes begin with which the pages that were found may not be all that there are."""

_NOT_MODIFIED = 304
_NO_PAGES = b"<urlset/>"
_KINDS = {kind.name: node for node, kind in KINDS.items() if issubclass(node, AbstractPagesSitemap)}
_VALIDATORS = {"etag": "ETag", "last_modified": "Last-Modified"}


def finder(
    store: FileStore, options: FleetOptions, *, accept: bool = False
) -> Callable[[str, tuple[str, ...]], PreviousCrawl | None]:
    """Return a function that finds what is known of a site, in the files that have its rows."""
    rows_of = lru_cache(_MOST_FILES)(partial(_Rows, store, columns=options.columns))
    lock = threading.Lock()

    def find(site: str, names: tuple[str, ...]) -> PreviousCrawl | None:
        if not any(name.startswith("sites/") for name in names):
            return None
        try:
            with lock:  # pages are looked for if they are wanted
                tables = {name: rows_of(_of_table(name, names)) for name in TABLES[1:]}
            (*_, row), rows = (
                [row for one in tables[name].of(site) for row in one.to_pylist()]
                for name in ("sites", "sitemaps")
            )
        except (DatasetError, OSError):
            return None  # then everything is downloaded
        pages = partial(rows_of, _of_table("pages", names))
        return PreviousCrawl(row, rows, pages, options, accept=accept)

    return find


def _of_table(table: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files of a table; those of the latest part, if a site is there more than once."""
    *_, last = sorted(name for name in names if name.startswith("sites/"))
    twice = sum(name.startswith("sites/") for name in names) > 1
    end = last.removeprefix("sites") if twice else ""
    return tuple(name for name in names if name.startswith(f"{table}/") and name.endswith(end))


class PreviousCrawl:
    """What the last crawl has found: ``row`` of the site, ``rows`` of sitemaps, and a ``count``."""

    def __init__(
        self,
        row: dict[str, Any],
        rows: list[dict[str, Any]],
        pages: Callable[[], _Rows],
        options: FleetOptions,
        *,
        accept: bool,
    ) -> None:
        self.row, self.rows = row, rows
        self.is_comparable = row["options"] == options.digest
        self.count = max(row["pages"] or 0, sum(one["pages"] or 0 for one in rows))
        self.keeps = bool(self.count) and not accept
        self._pages = pages
        is_whole = not (row["code"] or "").startswith(_CUT)
        self._unchanged: dict[str, dict[str, Any]] = {}
        if self.is_comparable and is_whole and options.keeps_unchanged:
            times = Counter(_text(one["url"]) for one in rows)
            for one in rows:
                url = _text(one["url"])
                has_validator = one["etag"] or one["last_modified"]
                is_good = one["failure"] is None and one["type"] in _KINDS
                if url and has_validator and is_good and times[url] == 1:
                    self._unchanged[url] = one

    def conditions(self) -> Conditions:
        """Return the headers that ask for the sitemaps only if they have changed."""
        return conditions_of(
            (url, url, {name: row[key] for key, name in _VALIDATORS.items()}.get)
            for url, row in self._unchanged.items()
        )

    def unchanged(self, exchange: Exchange | None) -> dict[str, Any] | None:
        """Return the row of a sitemap if its response says that it has not changed."""
        if exchange is None or exchange.status != _NOT_MODIFIED:
            return None
        row = self._unchanged.get(_text(exchange.url))
        newer = {key: exchange.header(name) for key, name in _VALIDATORS.items()}
        return row and row | {key: value for key, value in newer.items() if value}

    def document(self, order: FetchOrder, exchange: Exchange) -> Received | None:
        """Return a document without pages in place of one that has not changed."""
        row = self.unchanged(replace(exchange, url=order.url))
        if row is None:
            return None
        document = Document(Documents(), exchange, len(_NO_PAGES), _NO_PAGES)
        return Received(document, Probe(_KINDS[row["type"]]))

    def pages(self, times: Counter[str] | None = None) -> Iterator[Any]:
        """Yield the rows of all pages, or those of some sitemaps, so many times each, in batches."""
        for turn in range(max(times.values(), default=0) if times is not None else 1):
            urls = None if times is None else [url for url in times if times[url] > turn]
            for rows in self._pages().of(self.row["site"]):
                wanted = rows
                if urls is not None:
                    wanted = rows.filter(pyarrow(".compute").field("sitemap").isin(urls))
                yield from wanted.to_batches(max_chunksize=_MOST_PAGES)

    def lost(self, tree: AbstractSitemap) -> list[dict[str, Any]]:
        """Return the rows of sitemaps that failed in a new crawl, or that others hide which did."""
        above = {node.url: parent for node, parent, _ in places_in(tree)}
        failed: dict[str | None, int] = {
            node.url: node.page_count() if isinstance(node, AbstractPagesSitemap) else 0
            for node in tree.all_sitemaps()
            if node.failure is not None
        }
        for failure in tree.not_found if isinstance(tree, IndexWebsiteSitemap) else ():
            failed[failure.url] = 0
            if failure.url.endswith("/robots.txt"):  # which had another URL if it was redirected
                failed[None] = 0
        parents = {row["url"]: row["parent"] for row in self.rows}
        for url in [url for url in failed if url in above and url not in parents]:
            failed.setdefault(above[url], 0)  # the same, of a sitemap: it is one that it had

        def is_lost(row: dict[str, Any]) -> bool:
            url: str | None = row["url"]
            if url in above:
                better = row["failure"] is None or (row["pages"] or 0) > failed.get(url, 0)
                return url in failed and better
            for _ in range(len(parents) + 1):  # not for ever, whatever the rows say
                if url is None or url in above or url in failed:
                    break
                url = parents.get(url)
            return url in failed

        rows = list(filter(is_lost, self.rows))
        return rows if any(row["pages"] for row in rows) else []


class _Rows:
    """Some files of a table, and where in them the rows of each site are."""

    def __init__(
        self, store: FileStore, names: tuple[str, ...], *, columns: Sequence[str] | None
    ) -> None:
        self._store = store
        self._groups: list[Any] = []
        self._places = defaultdict[str, list[tuple[int, int, int]]](list)
        self._group = lru_cache(maxsize=1)(self._load)  # sites come in the order of the file
        if names:
            table = names[0].partition("/")[0]
            self._schemas = plain_schema(table, columns), schema_of(table, columns)
            with store.words():
                for file in scan(store, names, columns).get_fragments():
                    for group in file.split_by_row_group():
                        self._add(group)

    def _add(self, group: Any) -> None:
        """Take note of the first row and the number of rows that each site has in a row group."""
        pa, start = pyarrow(), 0
        sites = group.to_table(pa.schema([("site", pa.string())])).column("site")
        runs = pyarrow(".compute").run_end_encode(sites.combine_chunks())
        for site, end in zip(runs.values.to_pylist(), runs.run_ends.to_pylist(), strict=True):
            self._places[site].append((len(self._groups), start, end - start))
            start = end
        self._groups.append(group)

    def of(self, site: str) -> Iterator[Any]:
        """Yield the rows of a site, in tables."""
        for group, start, length in self._places.get(site, ()):
            yield self._group(group).slice(start, length)

    def _load(self, number: int) -> Any:
        plain, schema = self._schemas
        with self._store.words():
            return self._groups[number].to_table(plain).cast(schema)


def _text(url: str) -> str:
    try:
        return read_url(url).text()
    except BadUrl:
        return ""
