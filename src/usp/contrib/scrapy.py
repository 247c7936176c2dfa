"""A spider for Scrapy that starts with the pages of sitemaps (extra ``scrapy``)."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from scrapy import Request, Spider, signals
from scrapy.utils.reactor import is_asyncio_reactor_installed, is_reactor_installed

from usp import aio
from usp.events import Event, SitemapFinished
from usp.exceptions import SitemapException
from usp.options import CrawlOptions
from usp.selection import Selection
from usp.web_client.aiohttp_client import AiohttpWebClient

if TYPE_CHECKING:
    from usp.objects.page import SitemapPage
    from usp.objects.problem import Failure
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

__all__ = ["SitemapPagesSpider"]

_AHEAD = 100  # pages that are read before they are asked for
_SITES = 8  # websites whose sitemaps are read at a time
_NAMED = 5  # failures that are logged by name; the library's own loggers have all of them


class SitemapPagesSpider(Spider):
    """A spider that starts with the pages in the sitemaps of websites.

    Pages are requested while their sitemaps are still being read, and no faster than Scrapy downloads
    them: neither a tree nor a long queue is kept in memory. ``response.meta["sitemap_page"]`` is the
    :class:`usp.SitemapPage`, with its dates, news, images and so on. Can also be combined with another
    spider: ``class News(SitemapPagesSpider, CrawlSpider)``.

    What was read and what failed is logged and counted in the stats that begin with ``sitemaps/``.
    Needs the asyncio reactor, the default of Scrapy.
    """

    websites: str | Iterable[str] = ()
    """Homepages; their sitemaps are looked for in robots.txt and at well-known paths."""

    sitemap_urls: str | Iterable[str] = ()
    """URLs of sitemaps, sitemap indexes, feeds or robots.txt files."""

    selection: Selection = Selection()
    """Which pages are requested; ``limit`` and ``unique`` apply to each website by itself."""

    crawl_options: CrawlOptions = CrawlOptions()
    """How sitemaps are found and fetched. Those from which no page can be selected are skipped."""

    _reading: asyncio.Task[None] | None = None

    def request_for_page(self, page: SitemapPage) -> Request | None:
        """Return the request for a page, or None to leave it out."""
        return Request(page.url, meta={"sitemap_page": page})

    def sitemap_client(self) -> AbstractAsyncWebClient | AbstractWebClient:
        """Return the client that fetches sitemaps; by default one that follows Scrapy's settings."""
        settings = self.crawler.settings
        return AiohttpWebClient(
            user_agent=getattr(self, "user_agent", None) or settings["USER_AGENT"],
            timeout=settings.getfloat("DOWNLOAD_TIMEOUT") or None,
            max_concurrent_requests=settings.getint("CONCURRENT_REQUESTS_PER_DOMAIN") or None,
        )

    async def start(self) -> AsyncIterator[Any]:
        """Yield a request for each selected page, when Scrapy has room for it."""
        if is_reactor_installed() and not is_asyncio_reactor_installed():
            raise RuntimeError(
                f"{type(self).__name__} needs the asyncio reactor: set TWISTED_REACTOR to "
                "'twisted.internet.asyncioreactor.AsyncioSelectorReactor'"
            )
        crawler = self.crawler
        pages: asyncio.Queue[Any] = asyncio.Queue(_AHEAD)
        self._reading = asyncio.ensure_future(self._read(pages))
        # Scrapy drops this generator when it closes the spider, and does not close it.
        crawler.signals.connect(self._stop_reading, signals.spider_closed)
        try:
            while (page := await pages.get()) is not None:
                if isinstance(page, Exception):
                    raise page
                request = self.request_for_page(page)
                if request is None:
                    continue
                # Without this, all requests would wait in Scrapy's scheduler.
                while crawler.engine is not None and crawler.engine.needs_backout():
                    await crawler.signals.wait_for(signals.scheduler_empty)
                yield request
                self._count("pages")
        finally:
            await self._stop_reading()

    async def _stop_reading(self) -> None:
        if self._reading is not None:
            self._reading.cancel()
            await asyncio.wait([self._reading])

    async def _read(self, pages: asyncio.Queue[Any]) -> None:
        """Read all websites and sitemaps; the last item is None, or an exception."""
        end = None
        some = asyncio.Semaphore(_SITES)
        client = self.sitemap_client()
        sources = ((aio.pages, self.websites), (aio.pages_of_sitemap, self.sitemap_urls))
        try:
            async with asyncio.TaskGroup() as group:
                for stream, urls in sources:
                    for url in [urls] if isinstance(urls, str) else urls:
                        opened = partial(stream, url, client)
                        group.create_task(self._read_one(url, opened, pages, some))
        except* Exception as errors:  # noqa: BLE001 - raised where Scrapy sees it
            end = errors.exceptions[0]
        await pages.put(end)

    async def _read_one(
        self,
        url: str,
        opened: Callable[..., Any],
        pages: asyncio.Queue[Any],
        some: asyncio.Semaphore,
    ) -> None:
        run, count = self.selection.run(url), 0
        failed: list[str] = []
        async with some:
            try:
                stream = opened(options=self._options(failed))
            except SitemapException as error:
                self._count("failures")
                self.logger.warning("%s", error)
                return
            async with aclosing(stream):
                while not run.over and (page := await anext(stream, None)) is not None:
                    count += 1
                    if run.takes(page):
                        await pages.put(page)
        if failed or not count:
            more = [f"and {len(failed) - _NAMED} more"] if len(failed) > _NAMED else []
            missing = "; ".join([*failed[:_NAMED], *more]) or "nothing"
            self.logger.warning(
                "Sitemaps of %s: %d pages read; missing or incomplete: %s", url, count, missing
            )

    def _options(self, failed: list[str]) -> CrawlOptions:
        """Return the options of a crawl, with Scrapy's delay; what fails is added to the list."""
        options = self.selection.crawl_options(self.crawl_options)

        def on_event(event: Event) -> None:
            if isinstance(event, SitemapFinished):
                self._count("read")
            if options.on_event is not None:
                options.on_event(event)

        def on_failure(failure: Failure) -> None:
            self._count("failures")
            self._count(f"failures/{failure.code.value}")
            failed.append(f"{failure.url} ({failure.brief})")
            if options.on_failure is not None:
                options.on_failure(failure)

        delay = self.crawler.settings.getfloat("DOWNLOAD_DELAY")
        return replace(
            options, wait=options.wait or delay, on_event=on_event, on_failure=on_failure
        )

    def _count(self, what: str) -> None:
        if self.crawler.stats is not None:
            self.crawler.stats.inc_value(f"sitemaps/{what}")
