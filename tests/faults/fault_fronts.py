"""The four ways to crawl a website, with one kind of result."""

import asyncio
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from usp import aio
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient

TIMEOUT = (2.0, 1.0)
"""Seconds to connect and to wait for the next bytes."""


@dataclass(frozen=True)
class Outcome:
    """What a crawl gave: URLs of pages in order, failures by URL (None for streams), the tree."""

    pages: list[str]
    failures: dict[str, str] | None = None
    tree: Any = None


FRONTS = ("tree", "stream", "aio tree", "aio stream")


def crawl(
    front: str, url: str, *, timeout: tuple[float, float] = TIMEOUT, **options: Any
) -> Outcome:
    """Crawl a website by one of the fronts."""
    if front.startswith("aio "):
        return asyncio.run(_crawl(front, url, timeout, options))
    with closing(RequestsWebClient()) as client:
        client.set_timeout(timeout)
        if front == "tree":
            return _of_tree(sitemap_tree_for_homepage(url, client, **options))
        return Outcome([page.url for page in pages(url, client, **options)])


async def _crawl(
    front: str, url: str, seconds: tuple[float, float], options: dict[str, Any]
) -> Outcome:
    client = AiohttpWebClient(timeout=seconds)
    try:
        if front == "aio tree":
            return _of_tree(await aio.sitemap_tree_for_homepage(url, client, **options))
        return Outcome([page.url async for page in aio.pages(url, client, **options)])
    finally:
        await client.close()


def _of_tree(tree: Any) -> Outcome:
    failures = {failure.url: failure.reason for failure in tree.failures()}
    assert tree.is_complete == (not failures)
    return Outcome([page.url for page in tree.all_pages()], failures, tree)
