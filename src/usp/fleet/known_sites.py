"""The sites of a run: those of a list that are new, and those of a dataset that are due.

None of them are all in memory: a list is read as it is crawled, a dataset bucket by bucket. DuckDB
sorts and joins, within a limit of memory, and uses a temporary folder for more.
"""

from __future__ import annotations

import math
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from usp.export.schema import pyarrow
from usp.fleet.page_changes import connected, read_errors
from usp.fleet.previous_visit import Known
from usp.fleet.site_list import host_key
from usp.fleet.tables import Shard, domain_of, quoted

if TYPE_CHECKING:
    from usp.fleet.dataset import Dataset

T = TypeVar("T")

_MEMORY = "100MB"
_BATCH = 4096  # sites of a list that are looked for at a time
_ROWS = 256  # sites that are read from a dataset at a time
_SLICE = 100_000  # rows of the table of fetches that are read at a time
_FEW = 500  # sites whose names a query of the table of fetches can have

_LAST = "row_number() over (partition by {} order by {} desc, number desc, writer desc) = 1"
_LAST_VISIT = _LAST.format("site", "started")
_LAST_VISITS = """select h, last % 2 = 1 as wanted from (
    select hash(site) as h, max(epoch_us(started) * 2 + wanted::int) as last from rows {listed}
    group by h) where wanted or {is_listed}"""
"""Whether a site is wanted: 9 bytes, however long its name is. Others matter for a list only."""
_LAST_FETCH = _LAST.format("site, sitemap", "fetched_at")
_KNOWN = f"""with last as (select * from fetched qualify {_LAST_FETCH}),
    documents as (select site, sitemap, max_by(document, fetched_at) as document from fetched
        where document is not null group by all),
    whole as (select last.* replace (documents.document as document,
            case when last.pages_visit is null or n is null or n = last.pages then digest end as digest)
        from last left join documents using (site, sitemap)
            left join listed_pages using (site, sitemap))
    select any_value(wanted) as visit,
        list(whole) filter (where whole.sitemap is not null) as rows
    from wanted left join whole using (site) group by wanted.site"""  # noqa: S608 - our own words


_COUNTS = f"""with last as (select site, sitemap, pages_visit as visit from fetched
        where {{checks}} qualify {_LAST_FETCH})
    select site, sitemap, count(rows.visit) as n from last left join rows using (site, sitemap, visit)
    group by all"""  # noqa: S608 - the same


class KnownSites(AbstractContextManager["KnownSites"]):
    """What a dataset knows of sites, for one shard of a run."""

    def __init__(self, dataset: Dataset, shard: Shard) -> None:
        self.dataset = dataset
        self._shard = shard
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

    def new(self, sites: Iterable[str], found: Callable[[int], object]) -> Iterator[str]:
        """Yield the sites of a list that are in no visit, each once.

        ``found`` is called with the number of those that are.
        """
        hashes = "select hash(site) from rows"  # 8 bytes, however long the names are
        self._fill("known", self.dataset.rows("visits", ["site"]), hashes)
        for batch in _batches(sites, _BATCH):
            names = [site for site in dict.fromkeys(batch) if domain_of(site) in self._shard]
            rows = pyarrow().table({"site": names})
            self._database.register("rows", rows)
            fresh = "select site from rows where hash(site) not in (from known)"
            new = [site for (site,) in self._database.execute(fresh).fetchall()]
            found(len(names) - len(new))
            self._database.execute("insert into known select hash(site) from rows")
            yield from new

    def listed(self, sites: Iterable[str]) -> int:
        """Take a list of sites, so that only these are known; return how many there are."""
        pa = pyarrow()
        batches = (
            pa.record_batch({"site": [site for site in batch if domain_of(site) in self._shard]})
            for batch in _batches(sites, _BATCH)
        )
        schema = pa.schema([("site", pa.string())])
        reader = pa.RecordBatchReader.from_batches(schema, batches)
        self._fill("listed", reader, "select distinct site from rows")
        ((count,),) = self._database.execute("select count(*) from listed").fetchall()
        return int(count)

    def unknown(self) -> Iterator[str]:
        """Yield the sites of the list that :meth:`known` has not found in any visit."""
        reader = self._database.sql("from listed").to_arrow_reader(_BATCH)
        for batch in reader:
            yield from batch.column("site").to_pylist()

    def known(
        self, where: str, *, is_listed: bool = False, checks: bool = False
    ) -> Iterator[Known]:
        """Yield what is known of the sites whose last visit fulfils a condition.

        With ``checks``, a sitemap some of whose pages somebody has deleted is as good as unknown.
        """
        for bucket in range(self.dataset.buckets):
            if self._may_have(bucket):
                yield from self._in_bucket(bucket, where, is_listed=is_listed, checks=checks)

    def requests_of_last_hour(self) -> Counter[str]:
        """Return how many requests the visits of the last hour have sent, by host."""
        found: Counter[str] = Counter()
        recent = """select site, cast(sum(requests) as bigint) as n from visits
            where started > now() - interval '1 hour' group by site"""
        for batch in self.dataset.query(recent, "visits"):
            for site, count in zip(*batch.to_pydict().values(), strict=True):
                found[host_key(site)] += count or 0
        return found

    def _may_have(self, bucket: int) -> bool:
        """Return whether sites of this shard may be in a bucket: both depend on the same hash."""
        common = math.gcd(self.dataset.buckets, self._shard.of)
        return bucket % common == self._shard.number % common

    def _in_bucket(
        self, bucket: int, where: str, *, is_listed: bool, checks: bool
    ) -> Iterator[Known]:
        database, here = self._database, f"bucket = {bucket}"
        visits = (
            f"select site, started, coalesce({where}, false) as wanted from visits where {here}"  # noqa: S608
        )
        self._fill(
            "last_visits",
            self.dataset.query(visits, "visits"),
            _LAST_VISITS.format(
                listed="semi join listed using (site)" * is_listed, is_listed=is_listed
            ),
        )
        if is_listed:
            database.execute("delete from listed where hash(site) in (select h from last_visits)")
            database.execute("delete from last_visits where not wanted")
        ((found,),) = database.execute("select count(*) from last_visits").fetchall()
        slices = 1
        if found > _FEW:
            counting = f"select count(*) as n from fetches where {here}"  # noqa: S608
            (rows,) = self.dataset.query(counting, "fetches").read_all()["n"]
            slices = math.ceil(rows.as_py() / _SLICE)
        elif found:
            names = self.dataset.rows("visits", ["site"], f"{here} and ({where})")
            self._fill(
                "named",
                names,
                "select distinct site from rows semi join last_visits on hash(site) = h",
            )
            few = database.execute("from named").fetchall()
            here += f" and site in ({', '.join(quoted(site) for (site,) in few)})"
        for part in range(slices if found else 0):
            yield from self._known(here, f"h % {slices} = {part}", checks=checks)

    def _known(self, here: str, part: str, *, checks: bool) -> Iterator[Known]:
        """Yield what is known of a part of the sites, which is all in memory."""
        database = self._database
        database.execute(f"create or replace table chosen as from last_visits where {part}")
        chosen = "from rows semi join chosen on hash(site) = h"
        self._fill("visited", self.dataset.rows("visits", where=here), chosen)
        database.execute(f"create or replace table wanted as from visited qualify {_LAST_VISIT}")
        self._fill(
            "fetched",
            self.dataset.rows("fetches", where=here),
            "from rows semi join wanted using (site) semi join visited using (visit)",
        )
        pages = self.dataset.rows("pages", ["site", "sitemap", "visit"], f"{here} and {checks}")
        self._fill("listed_pages", pages, _COUNTS.format(checks=checks))
        for batch in database.sql(_KNOWN).to_arrow_reader(_ROWS):
            for one in batch.to_pylist():
                if one["visit"]["domain"] in self._shard:
                    yield Known(one["visit"], tuple(one["rows"] or ()))


def _batches(values: Iterable[T], size: int) -> Iterator[list[T]]:
    left = iter(values)
    while batch := list(islice(left, size)):
        yield batch
