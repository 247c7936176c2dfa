"""Page by page: the pages of a website, or of one sitemap, while sitemaps are still coming in."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from usp._crawl.choice import Choice
from usp._crawl.plan import Plan
from usp._crawl.reading import PageStream, pages_of
from usp._crawl.run import client_for
from usp._crawl.thread_driver import ThreadDriver
from usp.limits import DEFAULT
from usp.tree import sitemap_search, website_search

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable, Iterator

    from usp._crawl.crawl import Crawl
    from usp._crawl.events import Listener
    from usp._crawl.website import OneSitemap, Website
    from usp.helpers import (
        RecurseCallbackType,
        RecurseEntryCallbackType,
        RecurseListCallbackType,
    )
    from usp.limits import Limits
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.problem import Failure
    from usp.objects.sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["PageBlocks", "pages", "pages_of_sitemap"]


def pages(
    homepage_url: str,
    web_client: AbstractWebClient | None = None,
    use_robots: bool = True,
    use_known_paths: bool = True,
    extra_known_paths: Iterable[str] | None = None,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    normalize_homepage_url: bool = True,
    *,
    use_html_links: bool = False,
    recurse_entry_callback: RecurseEntryCallbackType | None = None,
    limits: Limits | None = None,
    crawl_delay: bool = False,
    on_event: Listener | None = None,
    on_failure: Callable[[Failure], object] | None = None,
) -> Generator[SitemapPage, None, None]:
    """Give the pages of a website as they come in, in the order of its tree.

    The options are those of ``sitemap_tree_for_homepage``, and so are the pages, one by one; each
    knows the sitemap it came from (``page.sitemap_url``). The first page comes with the first piece
    of the first sitemap. Sitemaps are fetched ahead of their turn and wait in a temporary file; when
    the generator is closed, nothing more is fetched. If it comes to its end, ``on_failure`` is told
    what is missing, as ``failures()`` of the tree would.

    Raises ``SitemapException`` at once if the URL is not an HTTP(S) URL.
    """
    search = website_search(
        homepage_url,
        use_robots=use_robots,
        use_known_paths=use_known_paths,
        extra_known_paths=extra_known_paths,
        normalize_homepage_url=normalize_homepage_url,
        use_html_links=use_html_links,
    )
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
    web_client: AbstractWebClient | None = None,
    *,
    recurse_callback: RecurseCallbackType | None = None,
    recurse_list_callback: RecurseListCallbackType | None = None,
    recurse_entry_callback: RecurseEntryCallbackType | None = None,
    limits: Limits | None = None,
    crawl_delay: bool = False,
    on_event: Listener | None = None,
    on_failure: Callable[[Failure], object] | None = None,
) -> Generator[SitemapPage, None, None]:
    """Yield the pages of a sitemap whose address is known, and of what it declares, as they come in.

    The options are those of ``sitemap_tree_for_sitemap``, and so are the pages; everything else is as
    with :func:`pages`.
    """
    plan = Plan(
        choice=Choice(recurse_callback, recurse_list_callback, recurse_entry_callback),
        limits=limits or DEFAULT,
        crawl_delay=crawl_delay,
        on_event=on_event,
        on_failure=on_failure,
    )
    return _pages(sitemap_search(url), url, web_client, plan)


def _pages(
    search: Callable[[Crawl], Website | OneSitemap],
    start_url: str,
    web_client: AbstractWebClient | None,
    plan: Plan,
) -> Generator[SitemapPage, None, None]:
    blocks = PageBlocks(search, start_url, web_client, plan)
    with closing(iter(blocks)) as coming:
        yield from pages_of(coming)


class PageBlocks:
    """The pages of a crawl in blocks, each with the address of its sitemap, as they come in.

    For those who want columns and not objects. Iterate over it once, and close the iterator if that
    is not to its end. ``search`` says where the crawl begins (:func:`usp.tree.website_search`,
    :func:`usp.tree.sitemap_search`): that is at the ``top``. ``tree`` is None until the last block
    was given.
    """

    def __init__(
        self,
        search: Callable[[Crawl], Website | OneSitemap],
        start_url: str,
        web_client: AbstractWebClient | None,
        plan: Plan,
    ) -> None:
        self._search = search
        self._start_url = start_url
        self._client = web_client
        self._plan = plan
        self.is_stopped = False
        self._wake: Callable[[], object] = bool
        self.top: Website | OneSitemap | None = None
        self.tree: AbstractSitemap | None = None

    def stop(self) -> None:
        """Fetch nothing more and end the iteration; may be called from any thread."""
        self.is_stopped = True
        self._wake()

    def __iter__(self) -> Generator[tuple[str, PageBlock], None, None]:
        """Yield blocks of pages in the order of the tree."""
        plan = self._plan
        with client_for(self._client, self._start_url, plan) as client:
            crawl = plan.crawl(client, self._start_url)
            top = self.top = self._search(crawl)
            stream = PageStream(crawl, top.holds)
            with ThreadDriver(
                crawl, client, plan.store(), plan.on_event, any_thread=plan.any_thread
            ) as driver:
                self._wake = driver.wake
                while not self.is_stopped:
                    yield from self._coming(stream)
                    if stream.over:
                        break
                    growing = stream.waits_for
                    if growing is not None:
                        driver.call_me(growing)
                    # What came before the call was left is not waited for.
                    driver.step(wait=not stream.can_go_on and not self.is_stopped)
                while not crawl.complete and not self.is_stopped:
                    driver.step()  # a limit has ended the stream: see what is missing
            if not self.is_stopped:
                stream.name_unread()
                self.tree = top.tree()
                plan.tell_failures(self.tree)

    def _coming(self, stream: PageStream) -> Iterator[tuple[str, PageBlock]]:
        """Yield the blocks that are there, until somebody stops that."""
        for step in stream.steps():
            if self.is_stopped:
                return
            if step is not None:
                yield step
