"""What a dataset has now, or had at a time, and what has changed: queries, Arrow, statistics.

The tables of a dataset are histories (:mod:`usp.fleet.tables`). What counts now are queries of them,
which DuckDB, Polars and Spark all understand: :func:`current_sql`.

A position of the changes is a version of the table ``visits``. What each writer had committed by
then is in the log of that version, so that exactly the commits since are new.

A dataset of an earlier version has tables of one crawl; :func:`take_over` makes visits of them.
"""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.files import DatasetError, NotADatasetError, deltalake
from usp._base.names import load_extra
from usp.export.schema import ALL_COLUMNS, pyarrow
from usp.fleet.dataset import Dataset
from usp.fleet.joins import read_errors
from usp.fleet.site_list import homepage
from usp.fleet.tables import (
    CHANGES,
    SUMS,
    bucket_of,
    columns_of,
    domain_of,
    failure_row,
    quoted,
    schema_of,
    typed,
)

if TYPE_CHECKING:
    import os
    from contextlib import AbstractContextManager

__all__ = ["CURRENT", "ChangesFeed", "OpenDataset", "current_sql", "dataset_stats", "take_over"]

_INTERNAL = frozenset({"bucket", "writer", "number", "document", "absent", "absent_at"})
_TABLES = {"sites": ("visits",), "sitemaps": ("visits", "fetches")}
_TABLES["pages"] = ("visits", "fetches", "pages")
_JOINED = ("bucket", "site", "sitemap", "visit")
_OF_PAGES = ("site", "domain", "digest", "first_seen", "last_seen")

_LAST_VISITS = """with ranked as (
    select bucket, visit, row_number() over (
        partition by bucket, site order by started desc, number desc, writer desc) as place
    from visits{seen})
select {columns} from visits v join ranked r on v.bucket = r.bucket and v.visit = r.visit
where r.place = 1"""

_LAST_FETCHES = """with counted as (select bucket, visit from visits{seen}),
ranked as (
    select f.*, row_number() over (
        partition by f.bucket, f.site, f.sitemap
        order by f.fetched_at desc, f.number desc, f.writer desc) as place
    from fetches f join counted c on f.bucket = c.bucket and f.visit = c.visit{good})
"""

_PAGES = """select {columns} from pages p join ranked r on p.bucket = r.bucket and p.site = r.site
and p.sitemap = r.sitemap and p.visit = r.pages_visit where r.place = 1{only}"""
_SITEMAPS = "select {columns} from ranked r where place = 1 and type <> 'gone'"

CURRENT = {
    "pages": _LAST_FETCHES + _PAGES,
    "sitemaps": _LAST_FETCHES + _SITEMAPS,
    "sites": _LAST_VISITS,
}
"""What there is now, as queries of the tables ``visits``, ``fetches`` and ``pages``."""

_ALIASES = {"pages": "p", "sitemaps": "r", "sites": "v"}


def current_sql(
    view: str,
    columns: Sequence[str] | None = None,
    *,
    at: datetime | None = None,
    site: str | None = None,
) -> str:
    """Return the query of ``pages``, ``sitemaps`` or ``sites`` as they are now, or were at a time.

    It reads the tables ``visits``, ``fetches`` and ``pages`` of a dataset, whatever program knows them
    by these names. ``columns`` are some of the columns; ``site`` is the only one: a URL, or a host.
    With ``at``, it is SQL of DuckDB.
    """
    if view not in CURRENT:
        raise ValueError(f"unknown view {view!r}; choose from {', '.join(CURRENT)}")
    seen = only = _only(site)
    if at is not None:
        seen = [*only, f"started <= timestamptz '{at.astimezone(UTC):%Y-%m-%d %H:%M:%S.%f}+00'"]
    good = [f"f.{one}" for one in (*only, *["good"] * (view == "pages"))]
    named = (f"{_ALIASES[view]}.{name}" for name in columns or view_columns(view))
    return CURRENT[view].format(
        columns=", ".join(named).replace("p.last_seen", "r.fetched_at as last_seen"),
        seen=" where " * bool(seen) + " and ".join(seen),
        good=" where " * bool(good) + " and ".join(good),
        only="".join(f" and p.{one}" for one in only),
    )


def _only(site: str | None) -> list[str]:
    """Return the conditions for the rows of one site; none for all sites."""
    if site is None:
        return []
    home = homepage(site)[0]
    either = [home] if "://" in site else [home, home.replace("https://", "http://", 1)]
    sites = ", ".join(map(quoted, either))
    return [f"bucket = {bucket_of(domain_of(home))}", f"site in ({sites})"]


def view_columns(view: str, of_pages: Sequence[str] | None = None) -> list[str]:
    """Return the columns of a view; ``of_pages`` are those that the table of pages has."""
    if view == "pages":
        stored = of_pages or schema_of("pages").names
        return [*_OF_PAGES, *(n for n in stored if n not in {*_OF_PAGES, *_INTERNAL, "visit"})]
    names = columns_of("visits" if view == "sites" else "fetches")
    return [name for name in names if name not in _INTERNAL]


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
        self.dataset.require()

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
        where = " and ".join(_only(site)) or "true"
        with self.errors():
            database = self.connection(*_TABLES[view], where=where, columns=columns)
            return database.sql(query).to_arrow_reader()

    def sql(self, view: str, site: str | None = None, columns: Sequence[str] | None = None) -> str:
        """Return the query of a view of this dataset."""
        known = view_columns(view, self.dataset.columns("pages"))
        if unknown := [name for name in columns or () if name not in known]:
            raise ValueError(f"unknown column {unknown[0]!r}; choose from {', '.join(known)}")
        return current_sql(view, columns or known, at=self.at, site=site)

    def connection(
        self, *tables: str, where: str = "true", columns: Iterable[str] | None = None
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
            names = [name for name in dataset.columns(table) if name != "document"]
            if table == "pages" and columns:
                names = [name for name in names if name in {*_JOINED, *columns}]
            database.register("rows", dataset.rows(table, names, where))
            database.execute(f"create temp table {table} as from rows")
            database.unregister("rows")
        return database

    def errors(self) -> AbstractContextManager[None]:
        """Turn errors of DuckDB and of the store into a :class:`DatasetError`."""
        return read_errors(self.dataset.store)


# Changes --------------------------------------------------------------------------------------------

_SHOWN = (
    "seen_at",
    "kind",
    "url",
    "title",
    "lastmod",
    "previous_lastmod",
    "site",
    "domain",
    "sitemap",
)
_CHANGES = f"""select {", ".join(f"c.{name}" for name in _SHOWN)}
from changes c join visits v on c.bucket = v.bucket and c.visit = v.visit
join commits on commits.writer = c.writer and c.number > commits.number
where {{conditions}} order by c.seen_at, c.site, c.url, c.kind"""  # noqa: S608 - our own words


class ChangesFeed:
    """What was added, changed, removed and moved in a dataset: each change once for every consumer.

    ``id`` is that of the dataset, of which a position is.
    """

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._open = OpenDataset(root)
        self._dataset = self._open.dataset
        self.id = str(self._dataset.table("visits").metadata().id)

    def has_site(self, site: str) -> bool:
        """Return whether a site was ever visited."""
        return bool(self._open.sites(site, ["site"]).read_all())

    def read(
        self,
        after: int | None = None,
        since: datetime | None = None,
        kinds: Sequence[str] = CHANGES,
        site: str | None = None,
    ) -> tuple[Any, int]:
        """Return the changes as a ``pyarrow.RecordBatchReader``, and the position after them.

        The oldest change is the first. ``after`` is such a position of an earlier call: then they are
        those that it did not have.
        """
        with self._open.errors():
            database = self._open.connection("visits", "changes")
            visits = self._dataset.table("visits", update=False)  # with the rows that are read
            commits = self._commits(database, visits, after)
            types = typed({"writer": "string", "number": "int64"})
            database.register("commits", pyarrow().Table.from_pylist(commits, types))
            # Statistics of the files tell which of them have higher numbers.
            least = min((one["number"] for one in commits), default=0)
            wanted: dict[str, Any] = {"c.number > ?": least, "v.number > ?": least}
            if since is not None:
                wanted["c.seen_at >= ?"] = since
            wanted["c.kind in (select unnest(?))"] = list(kinds)
            of_site = (f"c.{one}" for one in _only(site))
            query = _CHANGES.format(conditions=" and ".join([*wanted, *of_site]))
            found = database.sql(query, params=list(wanted.values())).to_arrow_reader()
        return found, int(visits.version())

    def _commits(self, database: Any, visits: Any, after: int | None) -> list[dict[str, Any]]:
        """Return the number of the last commit of each writer at a position."""
        then: Any = None
        if after is not None:
            if after > visits.version():
                raise DatasetError(
                    f"{self._dataset.store} has no position {after:,}: its last one is"
                    f" {visits.version():,}; is {after:,} that of another dataset?"
                )
            then = self._at(after)
        writers = database.execute("select distinct writer from visits").fetchall()
        numbers = {one: then and then.transaction_version(f"usp {one}") for (one,) in writers}
        return [{"writer": one, "number": int(number or 0)} for one, number in numbers.items()]

    def _at(self, version: int) -> Any:
        store = self._dataset.store
        try:
            return deltalake().DeltaTable(
                store.path("visits"), version=version, storage_options=store.options
            )
        except (deltalake(".exceptions").DeltaError, OSError) as error:
            raise DatasetError(
                f"the log of {store} does not reach back to position {version:,}; begin anew with"
                " --since"
            ) from error


# Statistics -----------------------------------------------------------------------------------------

_SUMMED = ", ".join(f"coalesce(sum({name}), 0)::bigint {name}" for name in SUMS)
_TOTALS = f"""select count(*) sites, {_SUMMED}, coalesce(round(sum(duration), 3), 0) as seconds
    from sites"""  # noqa: S608 - our own words
_OUTCOMES = """select outcome, count(*) sites, sum(pages)::bigint pages from sites
    group by outcome order by sites desc, outcome"""
_LARGEST = """select site, pages, sitemaps, bytes, round(duration, 3) as seconds from sites
    order by pages desc, site limit ?"""
_FORMATS = """select type, count(*) sitemaps, count(distinct site) sites,
    sum(pages)::bigint pages, sum(bytes)::bigint bytes from sitemaps
    group by type order by sitemaps desc, type"""
_FAILURES = """select code, count(*) sites, min(site) example, arg_min(reason, site) reason from sites
    where code is not null group by code order by sites desc, code limit ?"""
_KEPT = """select site, pages, reason from sites where outcome = 'kept'
    order by pages desc, site limit ?"""

_EXTENSIONS = {
    **{name: f"{name} is not null" for name in ("news", "images", "videos", "alternates")},
    "mobile": "mobile",  # a flag itself
}
_LISTED = ("site", "lastmod", *_EXTENSIONS)
_EXTENSION = "select count(*) pages, count(distinct site) sites from listed where "

_WINDOWS = (7, 30, 365)
_NEWEST = """(select max(lastmod) from listed
    where lastmod <= (select max(started) from sites) + interval 1 day)"""
_DATES = f"""select count(*) pages, count(lastmod) dated,
    strftime({_NEWEST}, '%Y-%m-%dT%H:%M:%SZ') as newest from listed"""  # noqa: S608 - our own words
_SINCE = f"""select count(*) pages from listed
    where lastmod > {_NEWEST} - to_days(?)"""  # noqa: S608 - the same
_YEARS = """select year(lastmod) as year, count(*) pages from listed
    where lastmod is not null group by 1 order by 1"""
_MONTHS = """select strftime(lastmod, '%Y-%m') as month, count(*) pages from listed
    where lastmod is not null group by 1 order by 1 desc limit 24"""


def dataset_stats(root: str | os.PathLike[str], most: int = 10) -> dict[str, Any]:
    """Return totals, outcomes, the largest sites, formats, reasons of failures and freshness.

    Sites that keep what an earlier visit found, because a later one failed, are listed under ``kept``.

    Only what is committed counts, also during a run. ``most`` is how many sites and reasons are
    listed. Raises ``DatasetError`` if there is no dataset, ``MissingExtraError`` without DuckDB.
    """
    data = OpenDataset(root)
    with data.errors(), data.connection() as database:
        for view in ("sites", "sitemaps"):
            database.execute(f"create temp view {view} as {data.sql(view)}")
        columns = [name for name in _LISTED if name in data.dataset.columns("pages")]
        values = ", ".join(f"{_EXTENSIONS.get(name, name)} as {name}" for name in columns)
        database.execute(
            f"create temp table listed as select {values} from ({data.sql('pages', None, columns)})"  # noqa: S608
        )
        return _sum_up(database, set(columns), most)


def _sum_up(database: Any, columns: set[str], most: int) -> dict[str, Any]:
    """Return everything; ``columns`` are those of the pages, which can be chosen."""

    def ask(question: str, *values: Any) -> list[dict[str, Any]]:
        result = database.execute(question, values)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    dates = "lastmod" in columns
    (freshness,) = ask(_DATES if dates else "select count(*) pages, null dated from listed")
    if dates:
        shares = {days: ask(_SINCE, days)[0]["pages"] for days in _WINDOWS}
        dated = freshness["dated"] or 1
        freshness |= {f"last_{days}_days": pages for days, pages in shares.items()}
        freshness["shares"] = {str(days): round(n / dated, 4) for days, n in shares.items()}
        freshness |= {"years": ask(_YEARS), "months": ask(_MONTHS)}
    return {
        "totals": ask(_TOTALS)[0],
        "outcomes": ask(_OUTCOMES),
        "largest": ask(_LARGEST, most),
        "formats": ask(_FORMATS),
        "extensions": [
            {"extension": name, **ask(_EXTENSION + name)[0]}
            for name in _EXTENSIONS
            if name in columns
        ],
        "kept": ask(_KEPT, most),
        "failures": [failure_row(*row.values()) for row in ask(_FAILURES, most)],
        "freshness": freshness,
    }


# A dataset of an earlier version: the tables pages, sitemaps and sites of one crawl -------------------

_WRITER = "earlier"
_SITES = """create table known as select *, bucket_of(domain) as bucket from (
    select *, domain_of(site) as domain, '0-' || row_number() over (order by site) as visit
    from old_sites)"""
_ROWS = {
    "pages": ("old_pages o join known k using (site)", {"first_seen": "k.started"}),
    "fetches": (
        # A sitemap that two indexes list was in the table twice.
        """(select * from old_sitemaps qualify
            row_number() over (partition by site, url order by depth) = 1) o
        join known k using (site)""",
        {
            "sitemap": "o.url",
            "good": "o.failure is null or coalesce(o.pages, 0) > 0",
            "pages_visit": "case when o.pages > 0 then k.visit end",
            **dict.fromkeys(("fetched_at", "first_seen", "due"), "k.started"),
            "failures": "(o.failure is not null)::int",
            "news": "false",
        },
    ),
    "visits": (
        "known k join known o using (visit)",
        {"due": "k.started", "run": "0", "failures": "(k.outcome = 'failed')::int"},
    ),
}
"""By table, in the order in which they are committed: where the rows are, and what has other names."""


def take_over(old: str | os.PathLike[str], root: str | os.PathLike[str]) -> dict[str, int]:
    """Write what a dataset of an earlier version has to a new one; return the number of rows.

    Everything is due at once. A call that was interrupted is completed by the same call.
    """
    before = Dataset(old)
    stored = {name: _table(before, name) for name in ("pages", "sitemaps", "sites")}
    names = [field.name for field in stored["pages"].schema().fields]
    if missing := {"sitemap", "url"}.difference(names):
        raise DatasetError(
            f"{before.store} has no column {min(missing)!r} of the pages, so that it cannot be known"
            " which sitemap lists them; crawl the sites again"
        )
    dataset = Dataset(root)
    dataset.make(tuple(name for name in ALL_COLUMNS if name in names))
    if dataset.was_crawled():
        raise DatasetError(f"{dataset.store} has been crawled already; choose a new dataset")
    data = OpenDataset(root)
    with data.errors():
        database = data.connection("visits")
        for name in stored:
            database.register(f"old_{name}", before.arrow_dataset(name))
        for name, function, kind in (
            ("domain_of", domain_of, "VARCHAR"),
            ("bucket_of", bucket_of, "INTEGER"),
        ):
            database.create_function(name, function, ["VARCHAR"], kind)
        database.execute(_SITES)
        return {name: _write(dataset, database, name) for name in _ROWS}


def _table(dataset: Dataset, name: str) -> Any:
    try:
        return dataset.table(name)
    except DatasetError as error:
        raise NotADatasetError(
            f"{dataset.store} is not a dataset of an earlier version: it has no table {name!r}"
        ) from error


def _write(dataset: Dataset, database: Any, name: str) -> int:
    """Append the rows of a table, unless that was done before; return how many these are."""
    mark, table = f"usp {_WRITER}", dataset.table(name)
    if table.transaction_version(mark) is not None:
        return 0
    source, others = _ROWS[name]
    old = database.sql(f"select o.* from {source}").columns  # noqa: S608 - our own words
    columns = {column: f"o.{column}" for column in old}
    columns |= {column: f"k.{column}" for column in ("site", "domain", "bucket", "visit")}
    columns |= {"writer": f"'{_WRITER}'", "number": "1::bigint", **others}
    # What nothing is known of is null.
    known = [column for column in dataset.columns(name) if column in columns]
    chosen = ", ".join(f"{columns[column]} as {column}" for column in known)
    rows = database.sql(f"select {chosen} from {source}")  # noqa: S608 - the same
    delta = deltalake()
    once = delta.CommitProperties(app_transactions=[delta.Transaction(mark, 1)])
    with dataset.store.words():
        delta.write_deltalake(
            table,
            rows.to_arrow_reader(),
            mode="append",
            schema_mode="merge",
            commit_properties=once,
        )
    ((count,),) = database.execute(f"select count(*) from {source}").fetchall()  # noqa: S608
    return int(count)
