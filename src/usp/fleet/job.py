"""The job of a worker, on whatever engine: sites in, rows out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from usp.export.schema import pyarrow
from usp.fleet.flight import Flight
from usp.fleet.groups import host_key
from usp.fleet.options import FleetOptions
from usp.fleet.sites import apart, homepage
from usp.fleet.tables import wrap

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator

    from usp._base.urls import Login

__all__ = ["crawl_sites", "crawl_tables"]


def crawl_sites(batches: Iterable[Any], options: FleetOptions | None = None) -> Iterator[Any]:
    """Crawl the sites that stand in the column ``site`` of record batches or tables.

    Each is the address of a homepage or the name of a host; other columns are ignored. Gives record
    batches of the wide table (:func:`usp.fleet.tables.wide_schema`). The rows of one site stand
    together, in one batch or several, and its row of the table ``sites`` comes last: a site without
    that row is not complete. A site that fails is a row with a reason. Sites of the same host follow
    each other; needs the extras ``async`` and ``arrow``.
    """
    pyarrow()
    given = options or FleetOptions()
    wanted = replace(given, logins=dict(given.logins))  # filled while the sites come in
    for item in crawl_tables(_sites_in(batches, wanted.logins), wanted):
        if item is not None:
            table, batch = item
            yield wrap(table, batch, wanted.columns)


def crawl_tables(
    batches: Iterator[list[tuple[str, str]]], options: FleetOptions
) -> Generator[tuple[str, Any] | None]:
    """Crawl ``(site, key)`` pairs; give batches of the three tables, None while nothing comes."""
    return Flight(batches, options).results()


def _sites_in(batches: Iterable[Any], logins: dict[str, Login]) -> Iterator[list[tuple[str, str]]]:
    for batch in batches:
        if "site" not in batch.schema.names:
            names = ", ".join(batch.schema.names) or "none"
            raise ValueError(f"the sites stand in a column named 'site'; the columns are: {names}")
        texts = (homepage(str(text)) for text in batch.column("site").to_pylist() if text)
        yield [(site, host_key(site)) for site in apart(texts, logins)]
