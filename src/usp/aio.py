"""The entry points for asyncio, with the same names as in ``usp.tree`` and ``usp.stream``.

Needs the extra ``async``, unless you pass a client of your own. Cancelling the task, or
closing the generator, cancels the requests that are in progress.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING, cast

from usp import snapshot
from usp._base.names import lazy_getattr, load_extra
from usp._crawl.asyncio_driver import AsyncioDriver, Stepper
from usp._crawl.fetch import END, prepared
from usp._crawl.page_stream import PageStream, pages_of
from usp._crawl.website import sitemap_search, tree_of, website_search
from usp._snapshot.recording import UpdatePolicy, UpdateRecorder
from usp.options import SitemapKeywords, WebsiteKeywords, combined, shows

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator
    from os import PathLike
    from typing import Unpack

    from usp._crawl.website import OneSitemap, Search, Website
    from usp.changes import diff_async as diff
    from usp.changes.watching import watch_async as watch
    from usp.checks import check_async as check
    from usp.objects.page import SitemapPage
    from usp.objects.sitemap import AbstractSitemap, IndexWebsiteSitemap
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient
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

    Like ``usp.tree.sitemap_tree_for_homepage``.
    """
    options = combined(options, keywords, WebsiteKeywords)
    tree = await _tree(website_search(homepage_url, options), web_client)
    return cast("IndexWebsiteSitemap", tree)


@shows(SitemapKeywords)
async def sitemap_tree_for_sitemap(
    url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[SitemapKeywords],
) -> AbstractSitemap:
    """Fetch and read a sitemap and the sitemaps that it lists; return their tree.

    Like ``usp.tree.sitemap_tree_for_sitemap``.
    """
    options = combined(options, keywords, SitemapKeywords)
    return await _tree(sitemap_search(url, options), web_client)


@shows(WebsiteKeywords)
def pages(
    homepage_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> AsyncGenerator[SitemapPage, None]:
    """Yield the pages of a website as they arrive, in the order of its tree.

    Like ``usp.stream.pages``. A generator that is not exhausted should be
    closed (``contextlib.aclosing``).
    """
    options = combined(options, keywords, WebsiteKeywords)
    return _pages(website_search(homepage_url, options), web_client)


@shows(SitemapKeywords)
def pages_of_sitemap(
    url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[SitemapKeywords],
) -> AsyncGenerator[SitemapPage, None]:
    """Yield the pages of a sitemap, and of the sitemaps that it lists, as they arrive.

    Like ``usp.stream.pages_of_sitemap``.
    """
    options = combined(options, keywords, SitemapKeywords)
    return _pages(sitemap_search(url, options), web_client)


@shows(WebsiteKeywords, snapshot.load)
async def load(
    path: str | PathLike[str],
    url: str | None = None,
    *,
    last_good: bool = False,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> AbstractSitemap:
    """Return the tree of a snapshot; nothing is fetched.

    Like ``usp.load``. The file is read in a thread, where callbacks run too.
    """
    given = partial(snapshot.load, last_good=last_good, options=options, **keywords)
    return await asyncio.to_thread(given, path, url)


@shows(WebsiteKeywords, snapshot.update)
async def update(
    path: str | PathLike[str],
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    trust_lastmod: bool = False,
    output: str | PathLike[str] | None = None,
    accept: bool = False,
    max_removed: float = 0.5,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> snapshot.Update:
    """Bring a snapshot up to date; return the tree as it is now, and what the update saved.

    Like ``usp.update``.
    """
    policy = UpdatePolicy(trust_lastmod, accept, max_removed)
    plan = await asyncio.to_thread(UpdateRecorder, policy, path, output, options, keywords)
    return await run_update(plan, web_client)


async def run_update(
    plan: UpdateRecorder, web_client: AbstractAsyncWebClient | AbstractWebClient | None
) -> snapshot.Update:
    """Crawl on asyncio; return what came of an update."""
    await _tree(plan.search, web_client)
    return await asyncio.to_thread(snapshot.update_of, plan)


async def _tree(
    search: Search, web_client: AbstractAsyncWebClient | AbstractWebClient | None
) -> AbstractSitemap:
    return tree_of(await top_of(search, web_client))


async def top_of(
    search: Search, web_client: AbstractAsyncWebClient | AbstractWebClient | None
) -> Website | OneSitemap:
    """Crawl on asyncio; return the top of the tree."""
    async with _driving(search, web_client) as driver:
        while not driver.crawl.complete:
            try:
                await driver.step()
            except asyncio.CancelledError:
                if not driver.interrupted():
                    raise
    return driver.top


async def _pages(
    search: Search, web_client: AbstractAsyncWebClient | AbstractWebClient | None
) -> AsyncGenerator[SitemapPage, None]:
    async with _driving(search, web_client, stream=PageStream) as driver:
        stream, stepper = driver.stream, Stepper()
        assert stream is not None
        while not stream.over:
            try:
                steps = stream.steps()
                while (step := await stepper.next(steps)) is not END:
                    for page in pages_of([step] if step else []):
                        yield page
                await driver.step()
            except asyncio.CancelledError:
                if not driver.interrupted():
                    raise
        while not driver.crawl.complete:  # a limit has ended the stream: see what is missing
            await driver.step()
    stream.name_unread()
    tree_of(driver.top)


@asynccontextmanager
async def _driving(
    search: Search,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    *,
    stream: type[PageStream] | None = None,
) -> AsyncIterator[AsyncioDriver]:
    """Yield the driver of a crawl; a client that was created for it is closed at the end."""
    given = web_client
    if given is None:
        needs = "usp.aio needs aiohttp, or a web_client of your own"
        given = load_extra("usp.web_client.aiohttp_client", needs, "async").AiohttpWebClient()
    limits = search.options.effective_limits
    client = prepared(given, search.start_url, limits, awaits=True)
    try:
        async with AsyncioDriver(search, client, stream=stream) as driver:
            yield driver
    finally:
        if client is not web_client:
            closing = client.close()
            if closing is not None:
                await closing
