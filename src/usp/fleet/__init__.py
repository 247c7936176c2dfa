"""Many sites, from one machine to a cluster.

:func:`crawl_sites` is the job of a worker: sites in, rows out, as Arrow.
"""

from __future__ import annotations

from usp.fleet.job import crawl_sites
from usp.fleet.options import FLEET_LIMITS, FleetOptions
from usp.fleet.tables import schema_of, unwrap, wide_schema

__all__ = [
    "FLEET_LIMITS",
    "FleetOptions",
    "crawl_sites",
    "schema_of",
    "unwrap",
    "wide_schema",
]
