"""usp's snapshots: what recording, loading and updating cost, beside the crawl itself."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from measure import measure

import usp

if TYPE_CHECKING:
    from collections.abc import Callable


def _urls(tree: Any) -> int:
    return sum(1 for page in tree.all_pages() if page.url)


def _timed(job: Callable[[], Any]) -> tuple[Any, dict[str, float]]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = job()
    return result, {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Do one job; what it needs is made before, and its time does not count."""
    homepage, job = options["homepage"], options["job"]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "site.warc.gz"
        if job == "urls":
            found, taken = _timed(lambda: _urls(usp.sitemap_tree_for_homepage(homepage)))
        elif job == "record":
            found, taken = _timed(
                lambda: _urls(usp.sitemap_tree_for_homepage(homepage, record=path))
            )
        else:
            tree = usp.sitemap_tree_for_homepage(homepage, record=path)
            if job == "iterate":
                found, taken = _timed(lambda: _urls(tree))
            elif job == "load":
                found, taken = _timed(lambda: _urls(usp.load(path)))
            else:
                update, taken = _timed(lambda: usp.update(path))
                found = _urls(update.tree)
        return {"found": found, "bytes": path.stat().st_size if path.exists() else 0, **taken}


measure(work)
