"""Page by page: the pages of a website while its sitemaps are still coming in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.crawl.choice import Choice
from usp.crawl.plan import Plan
from usp.crawl.reading import PageStream
from usp.crawl.threads import ThreadDriver
from usp.fetch_parse import client_for
from usp.limits import DEFAULT
from usp.tree import website_search

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterable

    from usp.crawl.crawl import Crawl
    from usp.crawl.events import Listener
    from usp.crawl.website import Website
    from usp.helpers import (
        RecurseCallbackType,
        RecurseEntryCallbackType,
        RecurseListCallbackType,
    )
    from usp.limits import Limits
    from usp.objects.page import SitemapPage
    from usp.objects.problem import Failure
    from usp.web_client.abstract_client import AbstractWebClient

__all__ = ["pages"]


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


def _pages(
    search: Callable[[Crawl], Website],
    start_url: str,
    web_client: AbstractWebClient | None,
    plan: Plan,
) -> Generator[SitemapPage, None, None]:
    with client_for(web_client, start_url, plan) as client:
        crawl = plan.crawl(client, start_url)
        website = search(crawl)
        stream = PageStream(crawl, website.holds)
        with ThreadDriver(crawl, client, plan.store(), plan.on_event) as driver:
            while True:
                yield from stream.ready()
                if stream.over:
                    break
                growing = stream.waits_for
                if growing is not None:
                    driver.call_me(growing)
                # What came before the call was left is not waited for.
                driver.step(wait=not stream.can_go_on)
            while not crawl.complete:  # a limit has ended the stream: see what is missing
                driver.step()
            plan.tell_failures(website)
