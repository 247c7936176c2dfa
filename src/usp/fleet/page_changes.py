"""What has changed on the sitemaps of sites that were there before: pages added, removed, moved.

The new pages of a part wait in a file. When the part is finished, DuckDB joins them with those that
they replace, within a limit of memory: pages keep the date when they were first seen, and what is
different becomes rows of ``changes``.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.files import DatasetError, FileStore
from usp._base.names import load_extra
from usp.export.arrow import ParquetFileWriter
from usp.export.schema import pyarrow
from usp.fleet.tables import bucket_of, file_schema, quoted, typed

if TYPE_CHECKING:
    from usp.fleet.dataset import Dataset

MEMORY = "200MB"
_BATCH = 1 << 15  # rows

_REPLACED = {
    **dict.fromkeys(("site", "domain", "sitemap", "visit", "old"), "string"),
    "bucket": "int32",
    "seen_at": "moment",
}
_OLD = ("site", "sitemap", "url", "visit", "first_seen", "lastmod", "news")
_OLD_PAGES = """select site, sitemap, url, min(first_seen) as first_seen, {lastmod}, {title}
    from old_pages p semi join replaced r on (r.site, r.sitemap, r.old) = (p.site, p.sitemap, p.visit)
    group by site, sitemap, url"""
_FOUND = """with there as (
        select r.bucket, r.site, r.domain, r.sitemap, r.visit, r.seen_at, new.url, {lastmod}, {title}
        from replaced r join new using (site, sitemap, visit)
        group by all),
    before as (
        select r.bucket, r.site, r.domain, r.sitemap, r.visit, r.seen_at, old.* exclude (site, sitemap)
        from replaced r join old on old.site = r.site and old.sitemap = r.sitemap)
    select coalesce(there.bucket, before.bucket) as bucket, site,
        coalesce(there.domain, before.domain) as domain,
        coalesce(there.visit, before.visit) as visit, url, sitemap,
        case when before.bucket is null then 'added' when there.bucket is null then 'removed'
            else 'changed' end as kind,
        coalesce(there.seen_at, before.seen_at) as seen_at,
        there.lastmod, before.lastmod as previous_lastmod,
        coalesce(there.title, before.title) as title
    from there full join before using (site, sitemap, url)
    where before.bucket is null or there.bucket is null or there.lastmod is distinct from before.lastmod
        or there.title is distinct from before.title"""
_MANY = 500  # addresses that a query does not name any more
_COME_OR_GONE = f"select distinct url from found where kind <> 'changed' limit {_MANY}"  # noqa: S608 - a number
_ELSEWHERE = """select distinct site, url from elsewhere_pages p semi join found using (site, url)
    semi join kept k on (k.site, k.sitemap, k.visit) = (p.site, p.sitemap, p.visit)"""
_PAGES = """select new.* replace (coalesce(old.first_seen, new.first_seen) as first_seen),
    replaced.bucket
    from new join replaced using (site, sitemap, visit)
    left join old on old.site = new.site and old.sitemap = new.sitemap and old.url = new.url
    order by replaced.bucket, new.site, new.sitemap"""
_CHANGES = """with sorted as (
        select found.*, e.url is not null as is_there, max(kind = 'removed') over same as was_there,
            max(kind = 'added') over same as is_added, max(previous_lastmod) over same as moved_lastmod
        from found left join elsewhere e using (site, url)
        window same as (partition by site, found.url))
    select * exclude (is_there, was_there, is_added, moved_lastmod)
        replace (case when kind = 'added' and (was_there or is_there) then 'moved' else kind end
                as kind,
            case when kind = 'added' then moved_lastmod else previous_lastmod end as previous_lastmod)
    from sorted where not (kind = 'removed' and (is_added or is_there)) order by bucket, site, url"""


def connected(folder: str, memory: str = MEMORY) -> Any:
    """Return a database in memory, which uses a folder for what does not fit into a limit of it."""
    duckdb = load_extra("duckdb", "A dataset needs duckdb", "fleet")
    database = duckdb.connect()
    for setting in (
        f"memory_limit = '{memory}'",
        f"temp_directory = '{folder}'",
        "threads = 1",
        "timezone = 'UTC'",
        "preserve_insertion_order = false",
        "disabled_optimizers = 'join_filter_pushdown'",  # PyArrow cannot apply it to views of texts
    ):
        database.execute(f"set {setting}")
    return database


@contextmanager
def read_errors(store: FileStore) -> Iterator[None]:
    """Turn the errors of DuckDB and of a store into a :class:`DatasetError`."""
    duckdb = load_extra("duckdb", "A dataset needs duckdb", "fleet")
    try:
        with store.words():
            yield
    except duckdb.Error as error:
        reason = str(error).partition("\n")[0]
        raise DatasetError(f"{store} cannot be read: {reason}") from error


class PageComparison:
    """New pages of a part, and ``replaced``: of which sitemaps they are, and what was there before.

    A row of ``replaced`` has the ``visit`` with the new pages, if there are any, and the ``old`` one.
    Both are the same for the other sitemaps of the site: what is in these is neither new nor gone.
    """

    def __init__(self, dataset: Dataset, columns: Sequence[str] | None = None) -> None:
        self.replaced: list[dict[str, Any]] = []
        self._dataset = dataset
        self._columns = columns
        self._folder = tempfile.TemporaryDirectory(prefix="usp-", ignore_cleanup_errors=True)
        self._path = Path(self._folder.name, "new.parquet")
        schema = file_schema("pages", columns)
        self._file = ParquetFileWriter(lambda: self._path.open("wb"), schema, ())

    def add(self, batch: Any) -> None:
        """Add new pages."""
        self._file.add(batch)

    def results(self) -> Iterator[tuple[str, int, Any]]:
        """Yield the new pages and the changes, in batches: the table, the bucket, the batch."""
        self._file.close()
        self._file.stream.close()
        rows: dict[str, list[dict[str, Any]]] = {"replaced": [], "kept": []}
        for row in self.replaced:
            name = "kept" if row["old"] == row["visit"] else "replaced"
            rows[name].append(row | {"bucket": bucket_of(row["domain"])})
        there = set(self._dataset.columns("pages"))
        here = there.intersection(file_schema("pages", self._columns).names)
        fields = {
            "lastmod": f"{'max(lastmod)' if 'lastmod' in here else 'null::timestamptz'} as lastmod",
            "title": f"{'max(news.title)' if 'news' in here else 'null::varchar'} as title",
        }
        old = [name for name in _OLD if name in there]
        with connected(self._folder.name) as database, read_errors(self._dataset.store):
            for name, listed in rows.items():
                database.register(name, pyarrow().Table.from_pylist(listed, typed(_REPLACED)))
            database.execute(f"create view new as from read_parquet('{self._path}')")
            database.register("old_pages", self._stored(rows["replaced"], old))
            database.execute(f"create temp table old as {_OLD_PAGES.format(**fields)}")
            database.execute(f"create temp table found as {_FOUND.format(**fields)}")
            urls = [quoted(url) for (url,) in database.execute(_COME_OR_GONE).fetchall()]
            others = rows["kept"] if urls else []
            named = f"url in ({', '.join(urls)})" if len(urls) < _MANY else "true"
            database.register("elsewhere_pages", self._stored(others, _OLD[:4], named))
            database.execute(f"create temp table elsewhere as {_ELSEWHERE}")
            for table, query in (("pages", _PAGES), ("changes", _CHANGES)):
                for batch in database.sql(query).to_arrow_reader(_BATCH):
                    start = 0
                    runs = pyarrow(".compute").run_end_encode(batch.column("bucket"))
                    for bucket, end in zip(runs.values, runs.run_ends, strict=True):
                        yield table, bucket.as_py(), batch.slice(start, end.as_py() - start)
                        start = end.as_py()

    def _stored(
        self, rows: Sequence[dict[str, Any]], columns: Sequence[str], more: str = "true"
    ) -> Any:
        """Return the pages of the old visits of some sitemaps that fulfil a condition."""
        visits = {row["old"]: row["bucket"] for row in rows if row["old"] is not None}
        where = "false"
        if visits:
            where = f"bucket in ({', '.join(map(str, set(visits.values())))})"
            where += f" and visit in ({', '.join(map(quoted, visits))}) and {more}"
        return self._dataset.rows("pages", columns, where)

    def close(self) -> None:
        """Remove the file."""
        self._folder.cleanup()
