"""Takes over a dataset of an earlier version: the tables pages, sitemaps and sites of one crawl."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp._base.files import DatasetError, NotADatasetError, deltalake
from usp.export.schema import ALL_COLUMNS
from usp.fleet.current import OpenDataset
from usp.fleet.dataset import Dataset
from usp.fleet.tables import bucket_of, domain_of

if TYPE_CHECKING:
    import os

__all__ = ["take_over"]

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
