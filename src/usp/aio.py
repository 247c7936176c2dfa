"""The front doors on asyncio: the same names as in ``usp.tree`` and ``usp.stream``.

Needs ``pip install 'usp[async]'``, unless a client of your own is handed in. Cancelling the task, or
closing the generator, cancels what is under way.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from usp.crawl.build import node_for
from usp.crawl.choice import Choice
from usp.crawl.crawl import Crawl, refuse
from usp.crawl.fetch import MAX_RESPONSE_BYTES
from usp.crawl.loop import LoopDriver
from usp.crawl.reading import PageStream
from usp.exceptions import SitemapException
from usp.formats.document import Role
from usp.store import Store
from usp.tree import website_search

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from usp.crawl.events import Listener
    from usp.crawl.website import Website
    from usp.helpers import (
        RecurseCallbackType,
        RecurseEntryCallbackType,
        RecurseListCallbackType,
    )
    from usp.objects.page import SitemapPage
    from usp.objects.sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient
    from usp.web_client.aiohttp_client import AiohttpWebClient

__all__ = ["pages", "sitemap_tree_for_homepage", "sitemap_tree_for_sitemap"]


async def sitemap_tree_for_homepage(
    homepage_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    recurse_entry_callback: RecurseEntryCallbackType | None = None,
    on_event: Listener | None = None,
    **where: Any,
) -> AbstractSitemap:
    """Find, fetch and read the sitemaps of a website.

    As ``usp.tree.sitemap_tree_for_homepage``; ``where`` takes the options that say where sitemaps
    are looked for (``use_robots``, ``use_known_paths``, ``extra_known_paths``, ``use_html_links``,
    ``normalize_homepage_url``).
    """
    search = website_search(homepage_url, **where)
    choice = Choice(recurse_callback, recurse_list_callback, recurse_entry_callback)
    async with _crawl(web_client, choice, on_event) as (crawl, driver):
        website = search(crawl)
        await driver.run()
    return website.tree()


async def sitemap_tree_for_sitemap(
    url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    recurse_entry_callback: RecurseEntryCallbackType | None = None,
    on_event: Listener | None = None,
) -> AbstractSitemap:
    """Fetch and read a sitemap whose address is known, and what it declares."""
    refusal = refuse(url, 0, ())
    if refusal:
        raise SitemapException(refusal)
    choice = Choice(recurse_callback, recurse_list_callback, recurse_entry_callback)
    async with _crawl(web_client, choice, on_event) as (crawl, driver):
        role = Role.ROBOTS if url.endswith("/robots.txt") else Role.SITEMAP
        place = crawl.want(url, role=role)
        await driver.run()
    return node_for(place)


def pages(
    homepage_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    recurse_entry_callback: RecurseEntryCallbackType | None = None,
    on_event: Listener | None = None,
    **where: Any,
) -> AsyncGenerator[SitemapPage, None]:
    """Give the pages of a website as they come in, in the order of its tree.

    As ``usp.stream.pages``. A generator that is not read to its end should be closed
    (``contextlib.aclosing``).
    """
    search = website_search(homepage_url, **where)
    choice = Choice(recurse_callback, recurse_list_callback, recurse_entry_callback)
    return _pages(search, web_client, choice, on_event)


async def _pages(
    search: Callable[[Crawl], Website],
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    choice: Choice,
    on_event: Listener | None,
) -> AsyncGenerator[SitemapPage, None]:
    async with _crawl(web_client, choice, on_event) as (crawl, driver):
        stream = PageStream(crawl, search(crawl).holds)
        while True:
            for page in stream.ready():
                yield page
            if stream.over:
                return
            growing = stream.waits_for
            if growing is not None:
                driver.call_me(growing)
            # What came before the call was left is not waited for.
            await driver.step(wait=not stream.can_go_on)


def _own_client() -> AiohttpWebClient:
    try:
        from usp.web_client.aiohttp_client import AiohttpWebClient  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ImportError(
            "usp.aio needs aiohttp: pip install 'usp[async]', or hand in a web_client of your own"
        ) from error
    return AiohttpWebClient()


@asynccontextmanager
async def _crawl(
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    choice: Choice,
    on_event: Listener | None,
) -> AsyncIterator[tuple[Crawl, LoopDriver]]:
    """Give a crawl and its driver; a client that nobody handed in is made, and closed in the end."""
    client = web_client
    if client is None:
        client = _own_client()
    client.set_max_response_data_length(MAX_RESPONSE_BYTES)
    crawl = Crawl(choice=choice, per_host=client.max_concurrent_requests)
    try:
        async with LoopDriver(crawl, client, Store(), on_event) as driver:
            yield crawl, driver
    finally:
        if web_client is None:
            await client.close()  # type: ignore[union-attr]
