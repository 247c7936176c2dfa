"""The entry points for asyncio, with the same names as in ``usp.tree`` and ``usp.stream``.

Needs the extra ``async``, unless you pass a client of your own. Cancelling the task, or
closing the generator, cancels the requests that are in progress.
"""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

from usp import snapshot
from usp._base.names import lazy_getattr
from usp._crawl.asyncio_driver import AsyncioDriver, Stepper
from usp._crawl.fetch import END, prepared
from usp._crawl.page_stream import PageStream, pages_of
from usp._crawl.thread_driver import INTERRUPTED, tree_of
from usp.options import SitemapKeywords, WebsiteKeywords, combined, shows
from usp.tree import sitemap_search, website_search

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable
    from os import PathLike
    from typing import TypeVar, Unpack

    from usp._crawl.crawl import Crawl
    from usp._crawl.thread_driver import CrawlStart, Recording
    from usp._crawl.website import OneSitemap, Website
    from usp.changes import diff_async as diff
    from usp.changes.watching import watch_async as watch
    from usp.checks import check_async as check
    from usp.objects.page import SitemapPage
    from usp.objects.sitemap import AbstractSitemap, IndexWebsiteSitemap
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient
    from usp.web_client.aiohttp_client import AiohttpWebClient

    N = TypeVar("N", bound=AbstractSitemap)
    T = TypeVar("T")
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "check",
    "diff",
    "load",
    "pages",
    "pages_of_sitemap",
    "sitemap_tree_for_homepage",
    "sitemap_tree_for_sitemap",
    "update",
    "watch",
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
    """Yield the pages of a website as they arrive, in the order of its tree.

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
    """Yield the pages of a sitemap, and of the sitemaps that it lists, as they arrive.

    Like ``usp.stream.pages_of_sitemap``, with the same options.
    """
    options = combined(options, keywords, SitemapKeywords)
    return _pages(sitemap_search(url), url, web_client, options)


@shows(WebsiteKeywords)
async def load(
    path: str | PathLike[str],
    url: str | None = None,
    *,
    last_good: bool = False,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> AbstractSitemap:
    """Return the tree of a snapshot; nothing is fetched.

    Like ``usp.load``, with the same options. The file is read in a thread, where callbacks run too.
    """
    given = partial(snapshot.load, last_good=last_good, options=options, **keywords)
    return await asyncio.to_thread(given, path, url)


@shows(WebsiteKeywords)
async def update(
    path: str | PathLike[str],
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    trust_lastmod: bool = False,
    output: str | PathLike[str] | None = None,
    accept: bool = False,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> snapshot.Update:
    """Bring a snapshot up to date; return the tree as it is now, and what the update has spared.

    Like ``usp.update``, with the same options.
    """
    given = partial(snapshot.UpdatePlan, trusts=trust_lastmod, accept=accept)
    plan = await asyncio.to_thread(given, path, output, options, keywords)
    return await run_update(plan, web_client)


async def run_update(
    plan: snapshot.UpdatePlan, web_client: AbstractAsyncWebClient | AbstractWebClient | None
) -> snapshot.Update:
    """Crawl on asyncio; return what came of an update."""
    await _tree(plan.search, plan.start, web_client, plan.options, plan.recorder)
    return await asyncio.to_thread(plan.update)


async def _tree(
    search: Callable[[Crawl], CrawlStart[N]],
    start_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions,
    record: Recording | None = None,
) -> N:
    async with _driving(search, start_url, web_client, options, record) as driver:
        while not driver.crawl.complete:
            try:
                await driver.step()
            except asyncio.CancelledError:
                if not _end(driver.crawl, options):
                    raise
    return tree_of(driver.top, options)


async def _pages(
    search: Callable[[Crawl], Website | OneSitemap],
    start_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions,
) -> AsyncGenerator[SitemapPage, None]:
    async with _driving(search, start_url, web_client, options, streams=True) as driver:
        crawl = driver.crawl
        stream, stepper = PageStream(crawl, time.monotonic), Stepper()
        while True:
            try:
                steps = stream.steps()
                while (step := await stepper.next(steps)) is not END:
                    for page in pages_of([step] if step else []):
                        yield page
                if stream.over:
                    break
                # Do not wait for what has arrived in the meantime.
                await driver.step(wait=stream.must_wait(driver.wake))
            except asyncio.CancelledError:
                if not _end(crawl, options):
                    raise
                stream.interrupted(INTERRUPTED)
        while not crawl.complete:  # a limit has ended the stream: see what is missing
            await driver.step()
        stream.name_unread()
        tree_of(driver.top, options)


def _end(crawl: Crawl, options: CrawlOptions) -> bool:
    """End a crawl whose task was cancelled and return True, if what was found is to be kept.

    The task continues, until it is cancelled again.
    """
    if not options.keep_partial or crawl.ending == INTERRUPTED:
        return False
    task = asyncio.current_task()
    if task is not None:
        task.uncancel()
    crawl.end(INTERRUPTED)
    return True


def _own_client() -> AiohttpWebClient:
    try:
        from usp.web_client.aiohttp_client import AiohttpWebClient  # noqa: PLC0415 - an extra
    except ModuleNotFoundError as error:
        raise ImportError(
            "usp.aio needs aiohttp: pip install 'usp[async]', or pass a web_client of your own"
        ) from error
    return AiohttpWebClient()


@asynccontextmanager
async def _driving(
    search: Callable[[Crawl], T],
    start_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    options: CrawlOptions,
    record: Recording | None = None,
    *,
    streams: bool = False,
) -> AsyncIterator[AsyncioDriver[T]]:
    """Yield the driver of a crawl; a client that was created for it is closed at the end."""
    given = _own_client() if web_client is None else web_client
    client = prepared(given, start_url, options.effective_limits, awaits=True)
    try:
        async with AsyncioDriver(
            search, start_url, client, options, record, streams=streams
        ) as driver:
            yield driver
    finally:
        if client is not web_client:
            closing = client.close()
            if closing is not None:
                await closing
