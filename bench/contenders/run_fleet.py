"""Many sites: usp's fleet writes the dataset, the peer reads every site's pages in two processes.

The peer may be given fewer sites of the same kind (``peer_sites``); its time is then multiplied. With
``moto``, a Python that has it, the dataset is in an S3 server on loopback instead of a folder.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import measure

from usp.tree import sitemap_tree_for_homepage

try:
    from usp.fleet.options import FleetOptions
    from usp.fleet.run import FleetRun, crawl_fleet
    from usp.web_client.zones import Zones
except ImportError:
    crawl_fleet = None  # the peer has no such thing

if TYPE_CHECKING:
    from collections.abc import Iterator

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
        place = "s3://bucket/dataset" if "AWS_ENDPOINT_URL" in os.environ else f"{folder}/dataset"
        summary = crawl_fleet(sites, place, run)
    return int(summary["pages"])


@contextmanager
def _started(command: list[str]) -> Iterator[int]:
    """Start a server; give the port that it prints."""
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as serving:
        try:
            assert serving.stdout
            yield int(serving.stdout.readline())
        finally:
            serving.kill()


@contextmanager
def _store(moto: str | None) -> Iterator[None]:
    """Start an S3 server if there should be one, and put it into the environment."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        del os.environ[name]
    if moto is None:
        yield
        return
    with _started([moto, str(Path(__file__).with_name("s3_server.py"))]) as port:
        os.environ |= {
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
            "AWS_ALLOW_HTTP": "true",
            "AWS_REGION": "us-east-1",
            "AWS_ACCESS_KEY_ID": "bench",
            "AWS_SECRET_ACCESS_KEY": "bench",
        }
        yield


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Crawl so many sites; everything that is started for it is in the time."""
    count = int(options["sites"])
    asked = count if crawl_fleet else int(options.get("peer_sites", count))
    server = [sys.executable, str(Path(__file__).with_name("fleet_server.py"))]
    server += [options["root"], str(options["latency"])]
    with _started(server) as port, _store(options.get("moto")):
        sites = [
            f"http://127.{1 + at // 62500}.{1 + at // 250 % 250}.{1 + at % 250}:{port}/"
            for at in range(asked)
        ]
        begin = time.perf_counter()
        found = (_fleet if crawl_fleet else _peer)(sites)
        seconds = time.perf_counter() - begin
        used = resource.getrusage(resource.RUSAGE_CHILDREN)  # servers are counted when they end
        own = resource.getrusage(resource.RUSAGE_SELF)
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
