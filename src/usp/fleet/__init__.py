"""Many sites, from one machine to a cluster.

:func:`crawl_fleet` crawls sites into a dataset on disk; :func:`crawl_sites` is what one worker does:
sites in, rows out, as Arrow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr

if TYPE_CHECKING:
    from usp._base.files import DatasetError
    from usp.fleet.crawler import crawl_sites
    from usp.fleet.current import ChangesFeed, OpenDataset, current_sql, dataset_stats
    from usp.fleet.current import OpenDataset as open  # noqa: A004, N813 - usp.fleet.open
    from usp.fleet.options import FLEET_LIMITS, FleetOptions
    from usp.fleet.run import FleetProgress, FleetRun, crawl_fleet
    from usp.fleet.site_list import SiteListError, read_sites
    from usp.fleet.tables import schema_of, unwrap, wide_schema
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "FLEET_LIMITS",
    "ChangesFeed",
    "DatasetError",
    "FleetOptions",
    "FleetProgress",
    "FleetRun",
    "OpenDataset",
    "SiteListError",
    "crawl_fleet",
    "crawl_sites",
    "current_sql",
    "dataset_stats",
    "open",
    "read_sites",
    "schema_of",
    "unwrap",
    "wide_schema",
]


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
