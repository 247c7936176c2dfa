"""usp's tables: a tree and every URL of it, or a tree and a file of it."""

from __future__ import annotations

import contextlib
import tempfile
import time
from pathlib import Path
from typing import Any

from measure import measure

from usp.export import write
from usp.tree import sitemap_tree_for_homepage

with contextlib.suppress(ImportError):  # as with all contenders, imports are not measured
    import pyarrow.compute
    import pyarrow.parquet  # noqa: F401

    import usp.export.arrow  # noqa: F401


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Build the tree, and read its URLs or write them all to a file.

    What is written is counted afterwards, and that takes time of its own.
    """
    wall, cpu = time.perf_counter(), time.process_time()
    tree = sitemap_tree_for_homepage(options["homepage"])
    if options["job"] == "urls":
        return {"found": sum(1 for page in tree.all_pages() if page.url)}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"pages.{options['job']}"
        write(tree, path)
        taken = {"seconds": time.perf_counter() - wall, "cpu": time.process_time() - cpu}
        return {"found": _rows(path), "bytes": path.stat().st_size, **taken}


def _rows(path: Path) -> int:
    """Count what was written, without reading more of it than need be."""
    if path.suffix == ".parquet":
        from pyarrow import parquet  # noqa: PLC0415 - an extra

        return int(parquet.ParquetFile(path).metadata.num_rows)
    lines = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            lines += piece.count(b"\n")
    return lines - (path.suffix == ".csv")


measure(work)
