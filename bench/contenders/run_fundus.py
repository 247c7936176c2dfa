"""fundus: its Sitemap source, which starts at a sitemap (it reads no robots.txt)."""

from __future__ import annotations

from typing import Any

from fundus import Sitemap
from measure import measure


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Read every URL below the topmost index."""
    return {"found": sum(1 for url in Sitemap(f"{options['homepage']}index.xml") if url)}


measure(work)
