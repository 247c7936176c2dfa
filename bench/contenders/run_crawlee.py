"""Crawlee: its SitemapRequestLoader, or the bare Sitemap.load beneath it (job ``load``)."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from crawlee._utils.robots import RobotsTxtFile
from crawlee._utils.sitemap import Sitemap
from crawlee.http_clients import ImpitHttpClient
from crawlee.request_loaders import SitemapRequestLoader
from measure import measure


async def declared(homepage: str, client: ImpitHttpClient) -> list[str]:
    """Give the sitemaps that robots.txt names."""
    robots = await RobotsTxtFile.find(homepage, client)
    return robots.get_sitemaps(enqueue_strategy="same-hostname")


async def loader(homepage: str) -> int:
    """Take every request from the loader, as a crawler would."""
    client = ImpitHttpClient()
    sitemaps = await declared(homepage, client)
    found = 0
    async with SitemapRequestLoader(sitemaps, http_client=client) as requests:
        while (request := await requests.fetch_next_request()) is not None:
            found += 1
            await requests.mark_request_as_handled(request)
    return found


async def load(homepage: str) -> int:
    """Load all URLs into a list."""
    client = ImpitHttpClient()
    return len((await Sitemap.load(await declared(homepage, client), client)).urls)


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Run one of the two."""
    logging.disable(logging.WARNING)
    reader = load if options["variant"] == "load" else loader
    return {"found": asyncio.run(reader(options["homepage"]))}


measure(work)
