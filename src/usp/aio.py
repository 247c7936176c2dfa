"""The front doors on asyncio: the same names as in ``usp.tree`` and ``usp.stream``.

Needs ``pip install 'usp[async]'``, unless a client of your own is handed in. Cancelling the task, or
closing the generator, cancels what is under way.
"""

from __future__ import annotations

from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from usp._base.urls import without_login
from usp._crawl.asyncio_driver import END, LoopDriver, Stepper
from usp._crawl.choice import Choice
from usp._crawl.clients import prepared
from usp._crawl.plan import Plan
from usp._crawl.reading import PageStream, pages_of
from usp.limits import DEFAULT
from usp.tree import sitemap_search, website_search

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Callable

    from usp._crawl.crawl import Crawl
    from usp._crawl.events import Listener
    from usp._crawl.website import OneSitemap, Website
    from usp.helpers import (
        RecurseCallbackType,
        RecurseEntryCallbackType,
        RecurseListCallbackType,
    )
    from usp.limits import Limits
    from usp.objects.page import SitemapPage
    from usp.objects.problem import Failure
    from usp.objects.sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient
    from usp.web_client.aiohttp_client import AiohttpWebClient

__all__ = [
    "pages",
    "pages_of_sitemap",
    "sitemap_tree_for_homepage",
    "sitemap_tree_for_sitemap",
]


async def sitemap_tree_for_homepage(
    homepage_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    recurse_entry_callback: RecurseEntryCallbackType | None = None,
    limits: Limits | None = None,
    crawl_delay: bool = False,
    on_event: Listener | None = None,
    **where: Any,
) -> AbstractSitemap:
    """Find, fetch and read the sitemaps of a website.

    As ``usp.tree.sitemap_tree_for_homepage``; ``where`` takes the options that say where sitemaps
    are looked for (``use_robots``, ``use_known_paths``, ``extra_known_paths``, ``use_html_links``,
    ``normalize_homepage_url``).
    """
    search = website_search(homepage_url, **where)
    plan = Plan(
        choice=Choice(recurse_callback, recurse_list_callback, recurse_entry_callback),
        limits=limits or DEFAULT,
        crawl_delay=crawl_delay,
        on_event=on_event,
    )
    async with _crawl(homepage_url.strip(), web_client, plan) as (crawl, driver):
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
    limits: Limits | None = None,
    on_event: Listener | None = None,
) -> AbstractSitemap:
    """Fetch and read a sitemap whose address is known, and what it declares."""
    search = sitemap_search(url)
    plan = Plan(
        choice=Choice(recurse_callback, recurse_list_callback, recurse_entry_callback),
        limits=limits or DEFAULT,
        on_event=on_event,
    )
    async with _crawl(url, web_client, plan) as (crawl, driver):
        sitemap = search(crawl)
        await driver.run()
    return sitemap.tree()


def pages(
    homepage_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    recurse_entry_callback: RecurseEntryCallbackType | None = None,
    limits: Limits | None = None,
    crawl_delay: bool = False,
    on_event: Listener | None = None,
    on_failure: Callable[[Failure], object] | None = None,
    **where: Any,
) -> AsyncGenerator[SitemapPage, None]:
    """Give the pages of a website as they come in, in the order of its tree.

    As ``usp.stream.pages``. A generator that is not read to its end should be closed
    (``contextlib.aclosing``).
    """
    search = website_search(homepage_url, **where)
    plan = Plan(
        choice=Choice(recurse_callback, recurse_list_callback, recurse_entry_callback),
        limits=limits or DEFAULT,
        crawl_delay=crawl_delay,
        on_event=on_event,
        on_failure=on_failure,
    )
    return _pages(search, homepage_url.strip(), web_client, plan)


def pages_of_sitemap(
    url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None = None,
    *,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    recurse_entry_callback: RecurseEntryCallbackType | None = None,
    limits: Limits | None = None,
    crawl_delay: bool = False,
    on_event: Listener | None = None,
    on_failure: Callable[[Failure], object] | None = None,
) -> AsyncGenerator[SitemapPage, None]:
    """Yield the pages of a sitemap whose address is known, and of what it declares, as they come in.

    As ``usp.stream.pages_of_sitemap``.
    """
    plan = Plan(
        choice=Choice(recurse_callback, recurse_list_callback, recurse_entry_callback),
        limits=limits or DEFAULT,
        crawl_delay=crawl_delay,
        on_event=on_event,
        on_failure=on_failure,
    )
    return _pages(sitemap_search(url), url, web_client, plan)


async def _pages(
    search: Callable[[Crawl], Website | OneSitemap],
    start_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    plan: Plan,
) -> AsyncGenerator[SitemapPage, None]:
    async with _crawl(start_url, web_client, plan) as (crawl, driver):
        top = search(crawl)
        stream, stepper = PageStream(crawl, top.holds), Stepper()
        while True:
            steps = stream.steps()
            while (step := await stepper.next(steps)) is not END:
                for page in pages_of([step] if step else []):
                    yield page
            if stream.over:
                break
            growing = stream.waits_for
            if growing is not None:
                driver.call_me(growing)
            # What came before the call was left is not waited for.
            await driver.step(wait=not stream.can_go_on)
        while not crawl.complete:  # a limit has ended the stream: see what is missing
            await driver.step()
        stream.name_unread()
        plan.tell_failures(top.tree())


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
    start_url: str,
    web_client: AbstractAsyncWebClient | AbstractWebClient | None,
    plan: Plan,
) -> AsyncIterator[tuple[Crawl, LoopDriver]]:
    """Give a crawl and its driver; what was made for this crawl is closed in the end."""
    given = _own_client() if web_client is None else web_client
    client = prepared(given, without_login(start_url), plan)
    crawl = plan.crawl(client, start_url)
    try:
        async with LoopDriver(crawl, client, plan.store(), plan.on_event) as driver:
            yield crawl, driver
    finally:
        if client is not web_client:
            closing = client.close()
            if closing is not None:
                await closing
