"""The sites of a run: those of a list that are new, and those of a dataset that are due.

None of them are all in memory: a list is read as it is crawled, a dataset bucket by bucket. DuckDB
sorts and joins, within a limit of memory, and uses a temporary folder for more.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any

from usp.export.schema import pyarrow
from usp.fleet.page_changes import connected, read_errors
from usp.fleet.site_list import WaitingSite, host_key
from usp.fleet.tables import BUCKETS, bucket_of, domain_of, quoted, typed

if TYPE_CHECKING:
    from usp.fleet.dataset import Dataset
    from usp.fleet.options import Shard

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
