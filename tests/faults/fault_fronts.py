"""The four ways to crawl a website, with one kind of result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from usp import aio
from usp.limits import Limits
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


def _client(timeout: tuple[float, float]) -> RequestsWebClient:
    client = RequestsWebClient()
    client.set_timeout(timeout)
    return client


def _of_tree(tree: Any) -> Outcome:
    failures = {failure.url: failure.reason for failure in tree.failures()}
    assert tree.is_complete == (not failures)
    return Outcome([page.url for page in tree.all_pages()], failures, tree)


def _tree(url: str, timeout: tuple[float, float], **options: Any) -> Outcome:
    client = _client(timeout)
    try:
        return _of_tree(sitemap_tree_for_homepage(url, client, **options))
    finally:
        client.close()


def _stream(url: str, timeout: tuple[float, float], **options: Any) -> Outcome:
    client = _client(timeout)
    try:
        return Outcome([page.url for page in pages(url, client, **options)])
    finally:
        client.close()


def _aio_tree(url: str, timeout: tuple[float, float], **options: Any) -> Outcome:
    async def run() -> Outcome:
        client = AiohttpWebClient(timeout=timeout)
        try:
            return _of_tree(await aio.sitemap_tree_for_homepage(url, client, **options))
        finally:
            await client.close()

    return asyncio.run(run())


def _aio_stream(url: str, timeout: tuple[float, float], **options: Any) -> Outcome:
    async def run() -> Outcome:
        client = AiohttpWebClient(timeout=timeout)
        try:
            return Outcome([page.url async for page in aio.pages(url, client, **options)])
        finally:
            await client.close()

    return asyncio.run(run())


FRONTS: dict[str, Callable[..., Outcome]] = {
    "tree": _tree,
    "stream": _stream,
    "aio tree": _aio_tree,
    "aio stream": _aio_stream,
}


def crawl(
    front: str,
    url: str,
    *,
    limits: Limits | None = None,
    timeout: tuple[float, float] = TIMEOUT,
    **options: Any,
) -> Outcome:
    """Crawl a website by one of the fronts."""
    return FRONTS[front](url, timeout, limits=limits, **options)
