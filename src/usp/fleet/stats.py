"""Statistics of a dataset, computed from its tables by DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp._base.names import load_extra
from usp.fleet.dataset import Dataset
from usp.fleet.store import DatasetError
from usp.fleet.tables import TABLES
from usp.objects.failure_codes import BY_VALUE

if TYPE_CHECKING:
    import os

__all__ = ["dataset_stats"]

_USERS = "select count(*) pages, count(distinct site) sites from pages where"
_EXTENSIONS = {
    "news": f"{_USERS} news is not null",
    "images": f"{_USERS} images is not null",
    "videos": f"{_USERS} videos is not null",
    "alternates": f"{_USERS} alternates is not null",
    "mobile": f"{_USERS} mobile",
}
_WINDOWS = (7, 30, 365)
_NEWEST = """(select max(lastmod) from pages
    where lastmod <= (select max(started) from sites) + interval 1 day)"""
_DATES = f"""select count(*) pages, count(lastmod) dated,
    strftime({_NEWEST}, '%Y-%m-%dT%H:%M:%SZ') as newest from pages"""  # noqa: S608 - our own words
_SINCE = f"""select count(*) pages from pages
    where lastmod > {_NEWEST} - to_days(?)"""  # noqa: S608 - the same


def dataset_stats(root: str | os.PathLike[str], most: int = 10) -> dict[str, Any]:
    """Return totals, outcomes, the largest sites, formats, reasons of failures and freshness.

    Only what is committed counts, also during a run. ``most`` is how many sites and reasons are
    listed. Raises ``DatasetError`` if there is no dataset, ``MissingExtraError`` without DuckDB.
    """
    dataset = Dataset(root)
    dataset.check()
    duckdb = load_extra("duckdb", "The statistics of a dataset need duckdb", "fleet")
    try:
        return _sum_up(duckdb, dataset, most)
    except (duckdb.Error, OSError) as error:
        raise DatasetError(f"{dataset.store} cannot be read: {_first_line(error)}") from error


def _first_line(error: Exception) -> str:
    return str(error).partition("\n")[0]


def _sum_up(duckdb: Any, dataset: Dataset, most: int) -> dict[str, Any]:
    with duckdb.connect() as database:
        database.execute("set timezone = 'UTC'")
        _open(database, dataset)
        ask = _Queries(database)
        return {
            "totals": ask.one(
                "select count(*) sites, sum(sitemaps)::bigint sitemaps, sum(pages)::bigint pages,"
                " sum(bytes)::bigint bytes, sum(requests)::bigint requests,"
                " round(sum(duration), 3) as seconds from sites"
            ),
            "outcomes": ask.all(
                "select outcome, count(*) sites, sum(pages)::bigint pages from sites"
                " group by outcome order by sites desc, outcome"
            ),
            "largest": ask.all(
                "select site, pages, sitemaps, bytes, round(duration, 3) as seconds from sites"
                " order by pages desc, site limit ?",
                most,
            ),
            "formats": ask.all(
                "select type, count(*) sitemaps, count(distinct site) sites,"
                " sum(pages)::bigint pages, sum(bytes)::bigint bytes from sitemaps"
                " group by type order by sitemaps desc, type"
            ),
            "extensions": _extensions(ask),
            "failures": _failures(ask, most),
            "freshness": _freshness(ask),
        }


def _open(database: Any, dataset: Dataset) -> None:
    """Make each table available under its name."""
    for table in TABLES:
        database.register(table, dataset.table(table).to_pyarrow_dataset())


class _Queries:
    """Runs queries in SQL."""

    def __init__(self, database: Any) -> None:
        self._database = database

    def all(self, question: str, *values: Any) -> list[dict[str, Any]]:
        """Return all rows, as dictionaries."""
        result = self._database.execute(question, values)
        names = [column[0] for column in result.description]
        return [dict(zip(names, row, strict=True)) for row in result.fetchall()]

    def one(self, question: str, *values: Any) -> dict[str, Any]:
        """Return the first row."""
        return self.all(question, *values)[0]


def _columns(ask: _Queries) -> set[str]:
    """Return the columns of the pages: those that were chosen."""
    return {row["column_name"] for row in ask.all("describe pages")}


def _failures(ask: _Queries, most: int) -> list[dict[str, Any]]:
    """Return why something is missing, by code."""
    rows = ask.all(
        "select code, count(*) sites from sites"
        " where reason is not null group by 1 order by sites desc, 1 limit ?",
        most,
    )
    return [
        {
            "code": row["code"],
            "reason": getattr(BY_VALUE.get(row["code"]), "message", None),
            "sites": row["sites"],
        }
        for row in rows
    ]


def _extensions(ask: _Queries) -> list[dict[str, Any]]:
    present = _columns(ask)
    return [
        {"extension": name} | ask.one(question)
        for name, question in _EXTENSIONS.items()
        if name in present
    ]


def _freshness(ask: _Queries) -> dict[str, Any]:
    """Return how old the pages say they are; dates in the future do not count as the newest."""
    if "lastmod" not in _columns(ask):
        return {"pages": ask.one("select count(*) n from pages")["n"], "dated": None}
    result = ask.one(_DATES)
    result |= {f"last_{days}_days": ask.one(_SINCE, days)["pages"] for days in _WINDOWS}
    result["shares"] = {
        str(days): round(result[f"last_{days}_days"] / result["dated"], 4) if result["dated"] else 0
        for days in _WINDOWS
    }
    result["years"] = ask.all(
        "select year(lastmod) as year, count(*) pages from pages where lastmod is not null"
        " group by 1 order by 1"
    )
    result["months"] = ask.all(
        "select strftime(lastmod, '%Y-%m') as month, count(*) pages from pages"
        " where lastmod is not null group by 1 order by 1 desc limit 24"
    )
    return result
