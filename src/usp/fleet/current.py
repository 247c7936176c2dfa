"""What a dataset has now, or had at a time: its pages, sitemaps and sites, as queries and as Arrow.

The tables of a dataset are histories (:mod:`usp.fleet.tables`). What counts now are queries of them,
which DuckDB, Polars and Spark all understand: :func:`current_sql`.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.files import NotADatasetError
from usp._base.names import load_extra
from usp.fleet.dataset import Dataset
from usp.fleet.page_changes import read_errors
from usp.fleet.site_list import homepage
from usp.fleet.tables import BUCKETS, GONE, bucket_of, domain_of, quoted, schema_of

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

__all__ = ["CURRENT", "OpenDataset", "current_sql"]

_INTERNAL = frozenset({"bucket", "writer", "number", "document", "absent", "absent_at"})
_TABLES = {"sites": ("visits",), "sitemaps": ("visits", "fetches")}
_TABLES["pages"] = ("visits", "fetches", "pages")
_JOINED = ("bucket", "site", "sitemap", "visit")
_OF_PAGES = ("site", "domain", "digest", "first_seen", "last_seen")

_LAST_VISITS = """with ranked as (
    select bucket, visit, row_number() over (
        partition by bucket, site order by started desc, number desc, writer desc) as place
    from visits{where})
select {columns} from visits v join ranked r on v.bucket = r.bucket and v.visit = r.visit
where r.place = 1{more}"""

_LAST_FETCHES = """with counted as (select bucket, visit from visits{where}),
ranked as (
    select f.*, row_number() over (
        partition by f.bucket, f.site, f.sitemap
        order by f.fetched_at desc, f.number desc, f.writer desc) as place
    from fetches f join counted c on f.bucket = c.bucket and f.visit = c.visit{only})
"""

_PAGES = """select {columns} from pages p join ranked r on p.bucket = r.bucket and p.site = r.site
and p.sitemap = r.sitemap and p.visit = r.pages_visit where r.place = 1{more}"""
_SITEMAPS = "select {columns} from ranked r where place = 1 and type <> '{gone}'"

CURRENT = {
    "pages": _LAST_FETCHES + _PAGES,
    "sitemaps": _LAST_FETCHES + _SITEMAPS,
    "sites": _LAST_VISITS,
}
"""What there is now, as queries of the tables ``visits``, ``fetches`` and ``pages``."""


def current_sql(
    view: str,
    columns: Sequence[str] | None = None,
    *,
    at: datetime | None = None,
    site: str | None = None,
    buckets: int = BUCKETS,
) -> str:
    """Return the query of ``pages``, ``sitemaps`` or ``sites`` as they are now, or were at a time.

    It reads the tables ``visits``, ``fetches`` and ``pages`` of a dataset, whatever program knows them
    by these names. ``columns`` are some of the columns; ``site`` is the only one, in a dataset of so
    many ``buckets``. With ``at``, it is SQL of DuckDB.
    """
    if view not in CURRENT:
        raise ValueError(f"unknown view {view!r}; choose from {', '.join(CURRENT)}")
    where = only = _only(site, buckets)
    if at is not None:
        where = [*only, f"started <= timestamptz '{at.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00'"]

    def clauses(begin: str, alias: str, wanted: Sequence[str]) -> str:
        return "".join(
            f"{begin if number == 0 else ' and '}{alias}{one}" for number, one in enumerate(wanted)
        )

    good = ["good"] if view == "pages" else []
    return CURRENT[view].format(
        columns=", ".join(_expression(view, name) for name in columns or view_columns(view)),
        where=clauses(" where ", "", where),
        only=clauses(" where ", "f.", [*only, *good]),
        more=clauses(" and ", "v." if view == "sites" else "p.", only),
        gone=GONE,
    )


def _only(site: str | None, buckets: int) -> list[str]:
    """Return the conditions for the rows of one site; none for all sites."""
    if site is None:
        return []
    home = homepage(site)[0]
    return [f"bucket = {bucket_of(domain_of(home), buckets)}", f"site = {quoted(home)}"]


def view_columns(view: str, of_pages: Sequence[str] | None = None) -> list[str]:
    """Return the columns of a view; ``of_pages`` are those that the table of pages has."""
    if view == "pages":
        stored = of_pages or schema_of("pages").names
        return [*_OF_PAGES, *(n for n in stored if n not in {*_OF_PAGES, *_INTERNAL, "visit"})]
    table = "visits" if view == "sites" else "fetches"
    return [name for name in schema_of(table).names if name not in _INTERNAL]


def _expression(view: str, name: str) -> str:
    if name == "last_seen" and view == "pages":
        return "r.fetched_at as last_seen"
    return f"{ {'pages': 'p', 'sitemaps': 'r', 'sites': 'v'}[view] }.{name}"


class OpenDataset:
    """A dataset to read, as it is now or was at a time.

    Each method returns a ``pyarrow.RecordBatchReader``, a stream of rows.
    ``site`` is the only site to read, which is found at once in a large dataset; ``columns`` are some
    of the columns. Only what is committed counts, also during a run. Needs the extra ``fleet``; raises
    ``DatasetError`` if there is none.
    """

    def __init__(self, root: str | os.PathLike[str], at: datetime | None = None) -> None:
        self.dataset = Dataset(root)
        self.at = at
        if not self.dataset.exists():
            raise NotADatasetError(
                f"{self.dataset.store} is not a dataset; pass what 'usp crawl SITES -o DATASET' has"
                " written"
            )

    def pages(self, site: str | None = None, columns: Sequence[str] | None = None) -> Any:
        """Return the pages that are listed now."""
        return self._read("pages", site, columns)

    def sitemaps(self, site: str | None = None, columns: Sequence[str] | None = None) -> Any:
        """Return the sitemaps, with the status of their last request and when they are due."""
        return self._read("sitemaps", site, columns)

    def sites(self, site: str | None = None, columns: Sequence[str] | None = None) -> Any:
        """Return the sites, each with what came of its last visit."""
        return self._read("sites", site, columns)

    def _read(self, view: str, site: str | None, columns: Sequence[str] | None) -> Any:
        query = self.sql(view, site, columns)
        where = " and ".join(_only(site, self.dataset.buckets)) or "true"
        with self.errors():
            database = self.connection(*_TABLES[view], where=where, columns=columns)
            return database.sql(query).to_arrow_reader()

    def sql(self, view: str, site: str | None = None, columns: Sequence[str] | None = None) -> str:
        """Return the query of a view of this dataset."""
        known = view_columns(view, self.dataset.columns("pages"))
        if unknown := [name for name in columns or () if name not in known]:
            raise ValueError(f"unknown column {unknown[0]!r}; choose from {', '.join(known)}")
        buckets = self.dataset.buckets
        return current_sql(view, columns or known, at=self.at, site=site, buckets=buckets)

    def connection(
        self, *tables: str, where: str = "true", columns: Sequence[str] | None = None
    ) -> Any:
        """Return a connection of DuckDB that knows tables by their names.

        Those of a folder are read when they are needed; of others, the rows that are wanted are copied.
        """
        duckdb = load_extra("duckdb", "Reading a dataset needs duckdb", "fleet")
        folder = Path(tempfile.gettempdir(), f"usp-{secrets.token_hex(8)}")  # DuckDB removes it
        database = duckdb.connect(config={"temp_directory": str(folder)})
        database.execute("set timezone = 'UTC'")
        dataset = self.dataset
        for table in tables or _TABLES["pages"]:
            features = dataset.table(table).protocol().reader_features
            if not (dataset.store.is_remote or features):
                database.register(table, dataset.arrow_dataset(table))
                continue
            needed = {*_JOINED, *columns} if table == "pages" and columns else None
            named = [
                name
                for name in dataset.columns(table)
                if name != "document" and (needed is None or name in needed)
            ]
            database.register("rows", dataset.rows(table, named, where))
            database.execute(f"create temp table {table} as from rows")
            database.unregister("rows")
        return database

    def errors(self) -> AbstractContextManager[None]:
        """Turn errors of DuckDB and of the store into a :class:`DatasetError`."""
        return read_errors(self.dataset.store)
