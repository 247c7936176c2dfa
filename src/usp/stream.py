"""Streams: the pages of a website, or of one sitemap, while sitemaps are still being fetched."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import closing
from itertools import takewhile
from typing import TYPE_CHECKING, Unpack

from usp._crawl.fetch import client_for
from usp._crawl.page_stream import PageStream, pages_of
from usp._crawl.thread_driver import ThreadDriver
from usp._crawl.website import sitemap_search, tree_of, website_search
from usp.options import CrawlOptions, SitemapKeywords, WebsiteKeywords, combined, shows

if TYPE_CHECKING:
    from usp._crawl.website import OneSitemap, Search, Website
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

    The pages are those of ``sitemap_tree_for_homepage``, with the options of :class:`usp.CrawlOptions`;
    ``page.sitemap_url`` is the sitemap of a page. The first page is available with the first chunk of
    the first sitemap. Sitemaps are fetched ahead of time and kept in a temporary file; closing the
    generator stops the requests. At the end, ``on_failure`` is called for everything that is missing,
    with the values that ``failures()`` of the tree would return.

    Raises ``SitemapException`` at once if the URL is not an HTTP(S) URL.
    """
    options = combined(options, keywords, WebsiteKeywords)
    return _pages(website_search(homepage_url, options), web_client)


@shows(SitemapKeywords)
def pages_of_sitemap(
    url: str,
    web_client: AbstractWebClient | None = None,
    *,
    options: CrawlOptions | None = None,
    **keywords: Unpack[SitemapKeywords],
) -> Generator[SitemapPage, None, None]:
    """Yield the pages of a sitemap, and of the sitemaps that it lists, as they come in.

    The pages are those of ``sitemap_tree_for_sitemap``; everything else is as in :func:`pages`.
    """
    options = combined(options, keywords, SitemapKeywords)
    return _pages(sitemap_search(url, options), web_client)


def _pages(
    search: Search, web_client: AbstractWebClient | None
) -> Generator[SitemapPage, None, None]:
    with closing(iter(PageBlocks(search, web_client))) as coming:
        yield from pages_of(coming)


class PageBlocks:
    """The pages of a crawl in blocks, each with the URL of its sitemap, as they arrive.

    For callers that want columns rather than objects. Iterate over it once, and close the iterator
    unless it is exhausted. ``top`` is the top of the tree, ``tree`` None until the last block has been
    yielded. With ``any_thread``, a client that takes one request at a time may be called in
    any thread. With ``unordered``, sitemaps do not wait for those before them.
    """

    def __init__(
        self,
        search: Search,
        web_client: AbstractWebClient | None,
        *,
        any_thread: bool = False,
        unordered: bool = False,
    ) -> None:
        self._search = search
        self._client = web_client
        self._any_thread = any_thread
        self._unordered = unordered
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
        search = self._search
        with (
            client_for(self._client, search.start_url, search.options) as client,
            ThreadDriver(search, client, any_thread=self._any_thread, stream=PageStream) as driver,
        ):
            crawl, stream = driver.crawl, driver.stream
            assert stream is not None
            crawl.arrived = {} if self._unordered else None
            self.top, self._wake = driver.top, driver.wake
            while not (stream.over or self.is_stopped):
                try:
                    steps = takewhile(lambda _: not self.is_stopped, stream.steps())
                    yield from filter(None, steps)
                    driver.step()
                except KeyboardInterrupt:
                    if not driver.interrupted():
                        raise
            while not (crawl.complete or self.is_stopped):
                driver.step()  # a limit has ended the stream: see what is missing
        if not self.is_stopped:
            stream.name_unread()
            self.tree = tree_of(driver.top)
