"""The ways in which a website is crawled, to its end or not."""

from __future__ import annotations

import asyncio
from contextlib import aclosing, suppress
from itertools import islice
from typing import TYPE_CHECKING, Any

from usp import aio
from usp.limits import Limits
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient

if TYPE_CHECKING:
    from collections.abc import Callable

LIMITS = Limits(document_bytes=256 * 1024, seconds=20)
TIMEOUT = (1.0, 0.3)
_FEW = 5
_SOON = 0.02


class OnPurposeError(Exception):
    """What a callback raises."""


def _raise(*_: object) -> Any:
    raise OnPurposeError


def _client() -> RequestsWebClient:
    client = RequestsWebClient()
    client.set_timeout(TIMEOUT)
    return client


def tree(url: str) -> None:
    """Build a tree, and read all of it."""
    client = _client()
    root = sitemap_tree_for_homepage(url, client, limits=LIMITS, use_known_paths=False)
    for _ in root.all_pages():
        pass
    root.failures()
    client.close()


def tree_of_own_client(url: str) -> None:
    """Build a tree with the client that the library makes, and look at problems."""
    root = sitemap_tree_for_homepage(url, limits=LIMITS, use_known_paths=False)
    for node in root.all_sitemaps():
        len(node.problems)


def stream(url: str) -> None:
    """Read a stream to its end."""
    client = _client()
    for _ in pages(url, client, limits=LIMITS, use_known_paths=False):
        pass
    client.close()


def stream_closed(url: str) -> None:
    """Close a stream after a few pages."""
    client = _client()
    generator = pages(url, client, limits=LIMITS, use_known_paths=False)
    list(islice(generator, _FEW))
    generator.close()
    client.close()


def stream_forgotten(url: str) -> None:
    """Forget a stream after a few pages, client and all."""
    list(islice(pages(url, limits=LIMITS, use_known_paths=False), _FEW))


def callback_raises(url: str) -> None:
    """Raise in a callback."""
    client = _client()
    with suppress(OnPurposeError):
        sitemap_tree_for_homepage(
            url, client, limits=LIMITS, use_known_paths=False, recurse_callback=_raise
        )
    client.close()


def listener_raises(url: str) -> None:
    """Raise in a listener, in the middle of the crawl."""
    count = 0

    def listen(_: object) -> None:
        nonlocal count
        count += 1
        if count > _FEW:
            raise OnPurposeError

    with suppress(OnPurposeError):
        sitemap_tree_for_homepage(url, limits=LIMITS, use_known_paths=False, on_event=listen)


async def _aio_tree(url: str) -> None:
    client = AiohttpWebClient(timeout=TIMEOUT)
    try:
        root = await aio.sitemap_tree_for_homepage(
            url, client, limits=LIMITS, use_known_paths=False
        )
        for _ in root.all_pages():
            pass
    finally:
        await client.close()


async def _aio_stream(url: str, most: int | None = None) -> None:
    client = AiohttpWebClient(timeout=TIMEOUT)
    count = 0
    try:
        async with aclosing(
            aio.pages(url, client, limits=LIMITS, use_known_paths=False)
        ) as generator:
            async for _ in generator:
                count += 1
                if count == most:
                    break
    finally:
        await client.close()


async def _aio_cancelled(url: str) -> None:
    task = asyncio.ensure_future(_aio_tree(url))
    await asyncio.sleep(_SOON)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


async def _aio_raises(url: str) -> None:
    with suppress(OnPurposeError):
        await aio.sitemap_tree_for_homepage(
            url, limits=LIMITS, use_known_paths=False, recurse_list_callback=_raise
        )


WAYS: dict[str, Callable[[str], object]] = {
    "tree": tree,
    "tree, own client": tree_of_own_client,
    "stream": stream,
    "stream closed": stream_closed,
    "stream forgotten": stream_forgotten,
    "callback raises": callback_raises,
    "listener raises": listener_raises,
    "aio tree": lambda url: asyncio.run(_aio_tree(url)),
    "aio stream": lambda url: asyncio.run(_aio_stream(url)),
    "aio stream closed": lambda url: asyncio.run(_aio_stream(url, _FEW)),
    "aio cancelled": lambda url: asyncio.run(_aio_cancelled(url)),
    "aio callback raises": lambda url: asyncio.run(_aio_raises(url)),
}
