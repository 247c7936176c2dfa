"""Many sites: usp's fleet writes the dataset, the peer reads every site's pages in two processes.

The peer may be given fewer sites of the same kind (``peer_sites``); its time is then multiplied.
"""

from __future__ import annotations

import logging
import multiprocessing
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import measure

from usp.tree import sitemap_tree_for_homepage

try:
    from usp.fleet.options import FleetOptions
    from usp.fleet.run import FleetRun, crawl_fleet
    from usp.web_client.zones import Zones
except ImportError:
    crawl_fleet = None  # the peer has no such thing

_PROCESSES = 2


def _of_peer(site: str) -> int:
    logging.disable(logging.CRITICAL)
    return sum(1 for page in sitemap_tree_for_homepage(site).all_pages() if page.url)


def _peer(sites: list[str]) -> int:
    with multiprocessing.get_context("spawn").Pool(_PROCESSES) as pool:
        return sum(pool.imap_unordered(_of_peer, sites))


def _fleet(sites: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        zones = Zones(allow=("127.0.0.0/8",), trust_start=False)
        run = FleetRun(workers=_PROCESSES, options=FleetOptions(zones=zones))
        summary = crawl_fleet(sites, Path(folder) / "dataset", run)
    return int(summary["pages"])


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Crawl so many sites; everything that is started for it is in the time."""
    count = int(options["sites"])
    asked = count if crawl_fleet else int(options.get("peer_sites", count))
    server = [sys.executable, str(Path(__file__).with_name("fleet_server.py"))]
    server += [options["root"], str(options["latency"])]
    with subprocess.Popen(server, stdout=subprocess.PIPE, text=True) as serving:
        try:
            assert serving.stdout
            port = int(serving.stdout.readline())
            sites = [
                f"http://127.{1 + at // 62500}.{1 + at // 250 % 250}.{1 + at % 250}:{port}/"
                for at in range(asked)
            ]
            begin = time.perf_counter()
            found = (_fleet if crawl_fleet else _peer)(sites)
            seconds = time.perf_counter() - begin
            used = resource.getrusage(resource.RUSAGE_CHILDREN)
            own = resource.getrusage(resource.RUSAGE_SELF)
        finally:
            serving.kill()
    times = count / asked
    return {
        "found": round(found * times),
        "seconds": seconds * times,
        "cpu": (used.ru_utime + used.ru_stime + own.ru_utime + own.ru_stime) * times,
        "memory": used.ru_maxrss * 1024,
        "sites": asked,
    }


if __name__ == "__main__":
    measure(work)
