"""What a run has, joined with what a dataset has: its sites, and the pages of a visit.

DuckDB sorts and joins, within a limit of memory, and uses a temporary folder for more.

None of the sites are all in memory: a list is read as it is crawled, a dataset bucket by bucket.

The new pages of a part wait in a file. When the part is finished, they are joined with those that they
replace: pages keep the date when they were first seen, and what is different becomes rows of
``changes``.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from itertools import islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.files import DatasetError, FileStore
from usp._base.names import load_extra
from usp.export.arrow import ParquetFileWriter
from usp.export.schema import pyarrow
from usp.fleet.site_list import WaitingSite, host_key
from usp.fleet.tables import BUCKETS, bucket_of, domain_of, file_schema, quoted, typed

if TYPE_CHECKING:
    from usp.fleet.dataset import Dataset
    from usp.fleet.options import Shard


def connected(folder: str, memory: str) -> Any:
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


# The sites of a run: those of a list that are new, those of a dataset that are due -------------------

_MEMORY = "60MB"
_BATCH = 4096  # sites of a list that are looked for at a time, at first
_MOST_BATCH = 1 << 15  # and later: each time, all that are known are read
_ROWS = 256  # sites that are read from a dataset at a time
_SLICE = 8_000  # rows of the table of fetches that are read at a time
_FEW = 500  # sites whose names a query of the table of fetches can have

_LISTED = {"site": "string", "bucket": "int32"}
_LAST = "row_number() over (partition by {} order by {} desc, number desc, writer desc) = 1"
_LAST_VISIT = _LAST.format("site", "started")
_LAST_VISITS = """select hash(site) as h, max(epoch_us(started) * 2 + wanted::int) % 2 = 1 as wanted
    from rows semi join (from listed where bucket = {bucket}) using (site) group by h"""
"""Whether the last visit of a site is wanted: 9 bytes, however long its name is."""

_WANTED_VISITS = """select hash(site) as h from rows group by h
    having max(epoch_us(started) * 2 + wanted::int) % 2 = 1"""
_DELETE = "delete from listed where {} and hash(site) in (select h from wanted)"
_LAST_FETCH = _LAST.format("site, sitemap", "fetched_at")
_KNOWN = f"""with visited as materialized (from visits semi join wanted on hash(site) = h),
    last_visits as (from visited qualify {_LAST_VISIT}),
    fetched as materialized (from fetches semi join visited using (site, visit)),
    last as (from fetched qualify {_LAST_FETCH}),
    documents as (select site, sitemap, max_by(document, fetched_at) as document from fetched
        where document is not null group by all),
    whole as (select last.* replace (documents.document as document,
            case when pages_visit is null or not {{checks}} or n = pages then digest end as digest)
        from last left join documents using (site, sitemap)
            left join stored p on (p.site, p.sitemap, p.visit) = (last.site, last.sitemap, pages_visit))
    select any_value(last_visits) as visit,
        list(whole) filter (where whole.sitemap is not null) as rows
    from last_visits left join whole using (site) group by last_visits.site"""  # noqa: S608 - our own words


class KnownSites(AbstractContextManager["KnownSites"]):
    """What a dataset knows of sites, for one shard of a run."""

    def __init__(self, dataset: Dataset, shard: Shard) -> None:
        self.dataset = dataset
        self._shard = shard
        self._is_listed = False
        self._folder = tempfile.TemporaryDirectory(prefix="usp-", ignore_cleanup_errors=True)
        self._database = connected(self._folder.name, _MEMORY)

    def __exit__(self, *_: object) -> None:
        self._database.close()
        self._folder.cleanup()

    def _fill(self, table: str, rows: Any, query: str = "from rows") -> None:
        self._database.register("rows", rows)
        with read_errors(self.dataset.store):
            self._database.execute(f"create or replace table {table} as {query}")
        self._database.unregister("rows")

    def _ask(self, query: str) -> list[Any]:
        """Return the values of a column."""
        return [value for (value,) in self._database.execute(query).fetchall()]

    def _names(self, sites: Iterable[str]) -> Iterator[Any]:
        """Yield the sites of a list that are in this shard, with their buckets, in batches."""
        left, size = iter(sites), _BATCH
        while batch := list(islice(left, size)):
            domains = {site: domain_of(site) for site in batch}
            here = {site: bucket_of(one) for site, one in domains.items() if one in self._shard}
            columns = {"site": list(here), "bucket": list(here.values())}
            yield pyarrow().RecordBatch.from_pydict(columns, typed(_LISTED))
            size = min(2 * size, _MOST_BATCH)

    def new(self, sites: Iterable[str]) -> Iterator[tuple[str, bool]]:
        """Yield the sites of a list, and whether they are in any visit; those that are not, once."""
        hashes = "select hash(site) as h from rows"  # 8 bytes, however long the names are
        self._fill("known", self.dataset.rows("visits", ["site"]), hashes)
        for batch in self._names(sites):
            self._database.register("rows", pyarrow().Table.from_batches([batch]))
            there = set(self._ask(f"select h from known semi join ({hashes}) using (h)"))  # noqa: S608
            hashed = self._database.execute("select site, hash(site) from rows").fetchall()
            self._database.execute(f"insert into known {hashes}")
            yield from ((site, number in there) for site, number in hashed)

    def listed(self, sites: Iterable[str]) -> None:
        """Take a list of sites, so that only these are known."""
        reader = pyarrow().RecordBatchReader.from_batches(typed(_LISTED), self._names(sites))
        self._fill("listed", reader, "select distinct * from rows")
        self._is_listed = True

    def unknown(self) -> Iterator[str]:
        """Yield the sites of the list that :meth:`known` has not found in any visit."""
        if self._is_listed:
            for batch in self._database.sql("select site from listed").to_arrow_reader(_BATCH):
                yield from batch.column("site").to_pylist()

    def known(self, where: str, *, checks: bool = False) -> Iterator[WaitingSite]:
        """Yield what is known of the sites whose last visit fulfils a condition.

        With ``checks``, a sitemap some of whose pages somebody has deleted is as good as unknown.
        """
        # Both the bucket and the shard depend on the same hash.
        common = math.gcd(BUCKETS, self._shard.of)
        for bucket in range(self._shard.number % common, BUCKETS, common):
            for here in self._parts(bucket, where):
                yield from self._known(here, checks=checks)

    def requests_of_last_hour(self) -> Counter[str]:
        """Return how many requests the visits of the last hour have sent, by host."""
        found: Counter[str] = Counter()
        recent = "select site, requests from visits where started > now() - interval '1 hour'"
        for batch in self.dataset.query(recent, "visits"):
            for site, count in zip(*batch.to_pydict().values(), strict=True):
                found[host_key(site)] += count or 0
        return found

    def _parts(self, bucket: int, where: str) -> Iterator[str]:
        """Yield conditions of the rows of some sites of a bucket, among them those that are wanted."""
        here, database = f"bucket = {bucket}", self._database
        visits = (
            f"select site, started, coalesce({where}, false) as wanted from visits where {here}"  # noqa: S608
        )
        last = _LAST_VISITS.format(bucket=bucket) if self._is_listed else _WANTED_VISITS
        self._fill("wanted", self.dataset.query(visits, "visits"), last)
        if self._is_listed:
            database.execute(_DELETE.format(here))
            database.execute("delete from wanted where not wanted")
        (found,) = self._ask("select count(*) from wanted")
        if found > _FEW:
            counting = f"select count(*) as n from fetches where {here}"  # noqa: S608
            (rows,) = self.dataset.query(counting, "fetches").read_all()["n"].to_pylist()
            slices = math.ceil(rows / _SLICE)
            edges = [f"{(part << 16) // slices:04x}" for part in range(slices)] + ["g"]
            for low, high in pairwise(edges):
                yield f"{here} and md5(site) >= '{low}' and md5(site) < '{high}'"
        elif found:
            names = self.dataset.rows("visits", ["site"], f"{here} and ({where})")
            few = "select distinct site from rows semi join wanted on hash(site) = h"
            self._fill("named", names, few)
            yield f"{here} and site in ({', '.join(map(quoted, self._ask('from named')))})"

    def _known(self, here: str, *, checks: bool) -> Iterator[WaitingSite]:
        """Yield what is known of a part of the sites, which is all in memory."""
        stored = f"""select site, sitemap, visit, count(*) as n from pages where {here} and {checks}
            group by site, sitemap, visit"""  # noqa: S608
        for table, rows in (
            ("visits", self.dataset.rows("visits", where=here)),
            ("fetches", self.dataset.rows("fetches", where=here)),
            ("stored", self.dataset.query(stored, "pages")),
        ):
            self._database.register(table, rows)
        for batch in self._database.sql(_KNOWN.format(checks=checks)).to_arrow_reader(_ROWS):
            for one in batch.to_pylist():
                if one["visit"]["domain"] in self._shard:
                    yield WaitingSite.of(one["visit"], one["rows"] or ())


# What has changed on the sitemaps of sites that were there before: pages added, removed, moved -------

_PART_MEMORY = "200MB"
_PAGES_ROWS = 1 << 15  # rows of a batch

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
        with (
            connected(self._folder.name, _PART_MEMORY) as database,
            read_errors(self._dataset.store),
        ):
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
                for batch in database.sql(query).to_arrow_reader(_PAGES_ROWS):
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
