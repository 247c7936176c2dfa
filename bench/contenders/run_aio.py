"""The tree of a website on asyncio; ultimate-sitemap-parser builds it as it always does."""

from __future__ import annotations

import asyncio
from typing import Any

from measure import measure

from usp.tree import sitemap_tree_for_homepage

try:
    import aiohttp  # noqa: F401 - as with all contenders, imports are not measured

    from usp import aio
except ImportError:
    aio = None


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Build the tree of the homepage, then read the url of every page."""
    homepage = options["homepage"]
    if aio is None:
        tree = sitemap_tree_for_homepage(homepage)
    else:
        tree = asyncio.run(aio.sitemap_tree_for_homepage(homepage))
    return {"found": sum(1 for page in tree.all_pages() if page.url)}


measure(work)
