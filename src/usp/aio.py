"""The entry points for asyncio, with the same names as in ``usp.tree`` and ``usp.stream``.

Needs ``pip install 'usp[async]'``, unless you pass a client of your own. Cancelling the task, or
closing the generator, cancels the requests that are in progress.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from usp._base.urls import without_login
from usp._crawl.asyncio_driver import AsyncioDriver, Stepper
from usp._crawl.driving import INTERRUPTED, begin, prepared, store_for, tree_of
from usp._crawl.fetch import END
from usp._crawl.reading import PageStream, pages_of
from usp.options import SitemapKeywords, WebsiteKeywords, combined, shows
from usp.tree import sitemap_search, website_search

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable
    from typing import TypeVar, Unpack

    from usp._crawl.crawl import Crawl
    from usp._crawl.driving import Top
    from usp._crawl.website import OneSitemap, Website
    from usp.objects.page import SitemapPage
    from usp.objects.sitemap import AbstractSitemap, IndexWebsiteSitemap
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient
    from usp.web_client.aiohttp_client import AiohttpWebClient

    N = TypeVar("N", bound=AbstractSitemap)

__all__ = [
    "pages",
    "pages_of_sitemap",
    "sitemap_tree_for_homepage",
    "sitemap_tree_for_sitemap",
]


@shows(WebsiteKeywords)
async def sitemap_tree_for_homepage(
    homepage_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> IndexWebsiteSitemap:
    """Find, fetch and read the sitemaps of a website; return their tree.

    Like ``usp.tree.sitemap_tree_for_homepage``, with the same options.
    """
    options = combined(options, keywords, WebsiteKeywords)
    search = website_search(homepage_url, options)
    return await _tree(search, homepage_url.strip(), web_client, options)


@shows(SitemapKeywords)
async def sitemap_tree_for_sitemap(
    url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[SitemapKeywords],
) -> AbstractSitemap:
    """Fetch and read a sitemap and the sitemaps that it lists; return their tree.

    Like ``usp.tree.sitemap_tree_for_sitemap``, with the same options.
    """
    options = combined(options, keywords, SitemapKeywords)
    return await _tree(sitemap_search(url), url, web_client, options)


@shows(WebsiteKeywords)
def pages(
    homepage_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> AsyncGenerator[SitemapPage, None]:
    """Yield the pages of a website as they come in, in the order of its tree.

    Like ``usp.stream.pages``, with the same options. A generator that is not exhausted should be
    closed (``contextlib.aclosing``).
    """
    options = combined(options, keywords, WebsiteKeywords)
    search = website_search(homepage_url, options)
    return _pages(search, homepage_url.strip(), web_client, options)


@shows(SitemapKeywords)
def pages_of_sitemap(
    url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[SitemapKeywords],
) -> AsyncGenerator[SitemapPage, None]:
    """Yield the pages of a sitemap, and of the sitemaps that it lists, as they come in.

    Like ``usp.stream.pages_of_sitemap``, with the same options.
    """
    options = combined(options, keywords, SitemapKeywords)
    return _pages(sitemap_search(url), url, web_client, options)


async def _tree(
    search: Callable[[Crawl], Top[N]],
    start_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions,
) -> N:
    async with _crawl(start_url, web_client, options) as (crawl, driver):
        top = search(crawl)
        try:
            await driver.run()
        except asyncio.CancelledError:
            if not options.keep_partial:
                raise
            _end(crawl)
            await driver.run()
    return tree_of(top, options)


async def _pages(
    search: Callable[[Crawl], Website | OneSitemap],
    start_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions,
) -> AsyncGenerator[SitemapPage, None]:
    async with _crawl(start_url, web_client, options, streams=True) as (crawl, driver):
        top = search(crawl)
        stream, stepper = PageStream(crawl, time.monotonic), Stepper()
        while True:
            try:
                steps = stream.steps()
                while (step := await stepper.next(steps)) is not END:
                    for page in pages_of([step] if step else []):
                        yield page
                if stream.over:
                    break
                growing = stream.waits_for
                if growing is not None:
                    driver.wake_by(growing)
                # What came before the call was left is not waited for.
                await driver.step(wait=not stream.can_go_on)
            except asyncio.CancelledError:
                if not options.keep_partial or crawl.ending == INTERRUPTED:
                    raise
                _end(crawl)
                stream.interrupted(INTERRUPTED)
        while not crawl.complete:  # a limit has ended the stream: see what is missing
            await driver.step()
        stream.name_unread()
        tree_of(top, options)


def _end(crawl: Crawl) -> None:
    """End a crawl whose task was cancelled and keep what was found; the task continues."""
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    crawl.end(INTERRUPTED)


def _own_client() -> AiohttpWebClient:
    try:
        from usp.web_client.aiohttp_client import AiohttpWebClient  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ImportError(
            "usp.aio needs aiohttp: pip install 'usp[async]', or pass a web_client of your own"
        ) from error
    return AiohttpWebClient()


@asynccontextmanager
async def _crawl(
    start_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions,
    *,
    streams: bool = False,
) -> AsyncIterator[tuple[Crawl, AsyncioDriver]]:
    """Yield a crawl and its driver; a client that was created for it is closed at the end."""
    given = _own_client() if web_client is None else web_client
    client = prepared(given, without_login(start_url), options.effective_limits, awaits=True)
    crawl = begin(client, start_url, options)
    try:
        async with AsyncioDriver(
            crawl, client, store_for(crawl), options.on_event, streams=streams
        ) as driver:
            yield crawl, driver
    finally:
        if client is not web_client:
            closing = client.close()
            if closing is not None:
                await closing
