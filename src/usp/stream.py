"""Streams: the pages of a website, or of one sitemap, while sitemaps are still being fetched."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from typing import TYPE_CHECKING, Unpack

from usp._crawl.fetch import client_for
from usp._crawl.page_stream import PageStream, pages_of
from usp._crawl.thread_driver import INTERRUPTED, ThreadDriver, tree_of
from usp.options import CrawlOptions, SitemapKeywords, WebsiteKeywords, combined, shows
from usp.tree import sitemap_search, website_search

if TYPE_CHECKING:
    from usp._crawl.crawl import Crawl
    from usp._crawl.website import OneSitemap, Website
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["pages", "pages_of_sitemap"]


@shows(WebsiteKeywords)
def pages(
    homepage_url: str,
    web_client: AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[WebsiteKeywords],
) -> Generator[SitemapPage, None, None]:
    """Yield the pages of a website as they arrive, in the order of its tree.

    The options are those of ``sitemap_tree_for_homepage`` (:class:`usp.CrawlOptions`), and the pages
    are the same; ``page.sitemap_url`` is the sitemap of a page. The first page is available with the
    first chunk of the first sitemap. Sitemaps are fetched ahead of time and kept in a temporary file;
    closing the generator stops the requests. At the end, ``on_failure`` is called for everything that
    is missing, with the values that ``failures()`` of the tree would return.

    Raises ``SitemapException`` at once if the URL is not an HTTP(S) URL.
    """
    options = combined(options, keywords, WebsiteKeywords)
    search = website_search(homepage_url, options)
    return _pages(search, homepage_url.strip(), web_client, options)


@shows(SitemapKeywords)
def pages_of_sitemap(
    url: str,
    web_client: AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[SitemapKeywords],
) -> Generator[SitemapPage, None, None]:
    """Yield the pages of a sitemap, and of the sitemaps that it lists, as they come in.

    The options are those of ``sitemap_tree_for_sitemap``, and the pages are the same; everything else
    is as in :func:`pages`.
    """
    options = combined(options, keywords, SitemapKeywords)
    return _pages(sitemap_search(url), url, web_client, options)


def _pages(
    search: Callable[[Crawl], Website | OneSitemap],
    start_url: str,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
) -> Generator[SitemapPage, None, None]:
    blocks = PageBlocks(search, start_url, web_client, options)
    with closing(iter(blocks)) as coming:
        yield from pages_of(coming)


class PageBlocks:
    """The pages of a crawl in blocks, each with the URL of its sitemap, as they arrive.

    For callers that want columns rather than objects. Iterate over it once, and close the iterator
    unless it is exhausted. ``search`` starts the crawl (:func:`usp.tree.website_search`,
    :func:`usp.tree.sitemap_search`) and returns its ``top``. ``tree`` is None until the last block has
    been yielded. With ``any_thread``, a client that takes one request at a time may be called in any
    thread.
    """

    def __init__(
        self,
        search: Callable[[Crawl], Website | OneSitemap],
        start_url: str,
        web_client: AbstractWebClient | None,
        options: CrawlOptions,
        *,
        any_thread: bool = False,
    ) -> None:
        self._search = search
        self._start_url = start_url
        self._client = web_client
        self._options = options
        self._any_thread = any_thread
        self.is_stopped = False
        self._wake: Callable[[], object] = bool
        self.top: Website | OneSitemap | None = None
        self.tree: AbstractSitemap | None = None

    def stop(self) -> None:
        """Stop fetching and end the iteration; may be called from any thread."""
        self.is_stopped = True
        self._wake()

    def __iter__(self) -> Generator[tuple[str, PageBlock], None, None]:
        """Yield blocks of pages in the order of the tree."""
        options = self._options
        with (
            client_for(self._client, self._start_url, options) as client,
            ThreadDriver(
                self._search,
                self._start_url,
                client,
                options,
                any_thread=self._any_thread,
                streams=True,
            ) as driver,
        ):
            crawl, self.top, self._wake = driver.crawl, driver.top, driver.wake
            stream = PageStream(crawl, time.monotonic)
            while not self.is_stopped:
                try:
                    yield from self._coming(stream)
                    if stream.over:
                        break
                    # Do not wait for what has arrived in the meantime.
                    driver.step(wait=stream.must_wait(driver.wake) and not self.is_stopped)
                except KeyboardInterrupt:
                    if not options.keep_partial or crawl.ending == INTERRUPTED:
                        raise
                    crawl.end(INTERRUPTED)
                    stream.interrupted(INTERRUPTED)
            while not crawl.complete and not self.is_stopped:
                driver.step()  # a limit has ended the stream: see what is missing
        if not self.is_stopped:
            stream.name_unread()
            self.tree = tree_of(driver.top, options)

    def _coming(self, stream: PageStream) -> Iterator[tuple[str, PageBlock]]:
        """Yield blocks as they become available, until the stream is stopped."""
        for step in stream.steps():
            if self.is_stopped:
                return
            if step is not None:
                yield step
