"""Statistics of a dataset, computed from its tables by DuckDB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp.fleet.current import OpenDataset
from usp.fleet.run import SUMS, failure_row

if TYPE_CHECKING:
    import os

__all__ = ["dataset_stats"]

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
