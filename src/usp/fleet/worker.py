"""What a worker does with a parcel of sites, wherever it runs: crawl, write, commit, tell."""

from __future__ import annotations

import gc
import logging
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from usp._base.shortage import more_descriptors
from usp.fleet.dataset import Dataset
from usp.fleet.job import crawl_tables
from usp.fleet.locks import working
from usp.fleet.tables import rows_of
from usp.fleet.writer import GROUP_SECONDS, GroupWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from usp.fleet.options import FleetOptions

Row = dict[str, Any]


def crawl_into(
    batches: Iterator[list[tuple[str, str]]],
    options: FleetOptions,
    place: tuple[Path, int, str],
    *,
    on_site: Callable[[Row], None] | None = None,
    stopped: Callable[[], bool] = lambda: False,
    commit_seconds: float = GROUP_SECONDS,
) -> Iterator[list[Row]]:
    """Crawl sites into a dataset; give the rows of ``sites`` of each group, once it is committed.

    ``place`` is the dataset, the number of the run and the name of the writer, which nobody else has.
    """
    root, run, name = place
    with _as_a_worker(), working(root, run):
        writer = GroupWriter(Dataset(root), run, name, options.columns, seconds=commit_seconds)
        between = True  # two sites, and not in the middle of one
        try:
            with closing(crawl_tables(batches, options)) as items:
                for item in items:
                    if item is not None:
                        done = writer.add(*item)
                        between = item[0] == "sites"
                        if between and on_site is not None:
                            on_site(item[1].to_pylist()[0])
                    else:
                        done = writer.tick() if between else []
                    if done:
                        yield done
                    if between and stopped():
                        break
            done = writer.commit()
            if done:
                yield done
        finally:
            writer.discard()


@contextmanager
def _as_a_worker() -> Iterator[None]:
    """Set the process to this work, and back afterwards: it may be somebody's own."""
    logger = logging.getLogger("usp")
    level, thresholds = logger.level, gc.get_threshold()
    logger.setLevel(logging.CRITICAL)  # what fails is a row with a reason
    gc.set_threshold(100_000, 50, 100)  # blocks of entries are many objects, and no garbage
    try:
        with more_descriptors():
            yield
    finally:
        logger.setLevel(level)
        gc.set_threshold(*thresholds)


def write_failed(
    options: FleetOptions, place: tuple[Path, int, str], site: str, reason: str
) -> Row:
    """Commit the row of a site that ends every worker it is given to."""
    row = failed_row(site, reason)
    root, run, name = place
    writer = GroupWriter(Dataset(root), run, name, options.columns)
    writer.add("sites", rows_of("sites", [row]))
    writer.commit()
    return row


def failed_row(site: str, reason: str) -> Row:
    """Give the row of a site of which nothing is known."""
    return {
        "site": site,
        "outcome": "failed",
        "reason": reason,
        **dict.fromkeys(("sitemaps", "pages", "bytes", "requests"), 0),
        "duration": 0.0,
        "started": datetime.now(UTC),
    }


KILLER = "the worker process ended while it had this site alone; smaller limits may help (--max)"
