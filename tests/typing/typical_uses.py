"""Typical uses of the library, as type checkers see them. Nothing here is run: mypy and pyright read it.

A line that must be an error carries an ignore comment for both, and both report comments that ignore
nothing.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator, Iterator
from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any, Unpack, assert_type

import usp
import usp.aio
import usp.tree
from usp import (
    AbstractSitemap,
    CrawlOptions,
    IndexWebsiteSitemap,
    Limits,
    RequestsWebClient,
    Selection,
    SitemapPage,
    Zones,
)
from usp.changes import FieldChange, PageChange
from usp.events import Event, SitemapFailed
from usp.fetch_parse import SitemapFetcher
from usp.helpers import RecurseCallbackType
from usp.objects.page import SitemapPageChangeFrequency
from usp.options import WebsiteKeywords
from usp.tree import sitemap_tree_for_homepage

URL = "https://example.org/"
SITEMAP = "https://example.org/sitemap.xml"


def modules_that_are_loaded_late() -> None:
    assert_type(usp.objects.page.SitemapPage(URL), SitemapPage)
    assert_type(usp.fetch_parse.IndexXMLSitemap(URL, []), usp.objects.sitemap.IndexXMLSitemap)
    assert_type(usp.fetch_parse.MIN_VALID_PRIORITY, Decimal)
    assert_type(usp.web_client.requests_client.RequestsWebClient(), RequestsWebClient)


def trees() -> None:
    tree = usp.sitemap_tree_for_homepage(URL)
    assert_type(tree, IndexWebsiteSitemap)
    assert_type(
        sitemap_tree_for_homepage(URL, None, False, use_html_links=True), IndexWebsiteSitemap
    )
    assert_type(usp.tree.sitemap_tree_for_homepage(URL).sub_sitemaps, list[AbstractSitemap])
    assert_type(usp.sitemap_tree_for_sitemap(SITEMAP, wait=0.5), AbstractSitemap)
    assert_type(usp.sitemap_from_str("<urlset/>"), AbstractSitemap)
    assert_type(usp.sitemap_from_bytes(b"<urlset/>", SITEMAP), AbstractSitemap)
    assert_type(usp.sitemap_from_file("sitemap.xml.gz"), AbstractSitemap)
    assert_type(SitemapFetcher(SITEMAP, 0, keep_partial=True).sitemap(), AbstractSitemap)
    assert_type(tree.is_complete, bool)
    assert_type(tree.failures(), list[usp.Failure])
    assert_type(tree.exchange, usp.Exchange | None)
    assert_type(tree.failures()[0].code, usp.FailureCode)
    assert_type([failure.code for failure in tree.failures()], list[usp.FailureCode])
    assert_type(tree.page_count(), int)
    for node in tree.all_sitemaps():
        assert_type(node, AbstractSitemap)
        for problem in node.problems:
            assert_type((problem.message, problem.line), tuple[str, int | None])
            if problem.code is usp.ProblemCode.BARE_AMPERSAND:
                print(problem.times, problem.lost)
        if isinstance(node, usp.InvalidSitemap):
            assert_type(node.reason, str)
        elif isinstance(node, usp.AbstractPagesSitemap):
            assert_type(node.pages, list[SitemapPage])
    assert_type(tree.to_dict(with_pages=False), dict[str, Any])


def values_of_pages(tree: AbstractSitemap) -> None:
    for page in tree.all_pages():
        assert_type(page, SitemapPage)
        assert_type(page.url, str)
        assert_type(page.priority, Decimal)
        assert_type(page.last_modified, datetime | None)
        assert_type(page.change_frequency, SitemapPageChangeFrequency | None)
        assert_type(page.alternates, list[tuple[str, str]] | None)
        assert_type(page.sitemap_url, str | None)
        if page.news_story is not None:
            assert_type(page.news_story.publish_date, datetime | None)
        for image in page.images or ():
            assert_type(image.loc, str)
        for video in page.videos or ():
            assert_type(video, usp.SitemapVideo)


def streams() -> None:
    assert_type(usp.pages(URL), Generator[SitemapPage, None, None])
    assert_type(usp.pages_of_sitemap(SITEMAP, crawl_delay=True), Generator[SitemapPage, None, None])


async def asynchronous() -> None:
    client = usp.AiohttpWebClient(user_agent="mine/1.0", zones=Zones(allow=("10.0.0.0/8",)))
    tree = await usp.aio.sitemap_tree_for_homepage(URL, client, use_known_paths=False)
    assert_type(tree, IndexWebsiteSitemap)
    assert_type(await usp.aio.sitemap_tree_for_sitemap(SITEMAP, crawl_delay=True), AbstractSitemap)
    assert_type(usp.aio.pages(URL, keep_partial=True), AsyncGenerator[SitemapPage, None])
    async for page in usp.aio.pages_of_sitemap(SITEMAP, limits=Limits(pages=10)):
        assert_type(page, SitemapPage)


def one_set_of_options() -> None:
    def listen(event: Event) -> None:
        if isinstance(event, SitemapFailed):
            print(event.url, event.reason)

    def follow(url: str, level: int, parents: set[str]) -> bool:
        return level < 2 and url not in parents

    callback: RecurseCallbackType = follow
    options = CrawlOptions(
        limits=Limits(seconds=60, pages=None),
        recurse_callback=callback,
        recurse_entry_callback=lambda child: child.last_modified is not None,
        on_event=listen,
        on_failure=lambda failure: print(failure.url, failure.reason),
        extra_known_paths=["feeds/all.xml"],
    )
    assert_type(usp.sitemap_tree_for_homepage(URL, options=options, wait=2), IndexWebsiteSitemap)
    assert_type(usp.pages(URL, options=options), Generator[SitemapPage, None, None])
    assert_type(options.effective_limits, Limits)


def handed_on(url: str, **options: Unpack[WebsiteKeywords]) -> int:
    """A function of one's own can take the same keywords."""
    return sum(1 for _ in usp.pages(url, **options))


def clients() -> None:
    client = RequestsWebClient(verify="ca.pem", wait=1, headers={"Accept-Language": "de"})
    client.set_timeout((5, 30))
    usp.sitemap_tree_for_homepage(URL, client)


def what_changed(tree: AbstractSitemap) -> None:
    changes = usp.diff(tree, "site.warc.gz")
    for change in changes:
        if isinstance(change, PageChange):
            assert_type(change.after, SitemapPage | None)
            assert_type(change.fields, tuple[FieldChange, ...])
    assert_type(changes.counts().changed, bool)
    for current in usp.watch(URL, "site.warc.gz", every=60, sitemaps_since=date(2025, 1, 31)):
        assert_type(list(current), list[PageChange])


async def watching() -> None:
    async for current in usp.aio.watch(URL, "site.warc.gz"):
        assert_type(current.error, Exception | None)


def snapshots(tree: AbstractSitemap) -> None:
    tree.save("site.warc.gz")
    usp.sitemap_tree_for_homepage(URL, record=Path("site.warc.gz"))
    assert_type(usp.load("site.warc.gz", limits=Limits(pages=10)), AbstractSitemap)
    done = usp.update("site.warc.gz", RequestsWebClient(), trust_lastmod=True)
    assert_type(done, usp.Update)
    assert_type((done.tree, done.requests, done.saved_seconds), tuple[AbstractSitemap, int, float])


async def asynchronous_snapshots() -> None:
    assert_type(await usp.aio.load("site.warc.gz"), AbstractSitemap)
    assert_type((await usp.aio.update("site.warc.gz", output="new.warc.gz")).changed, int)


def selections(tree: AbstractSitemap) -> None:
    assert_type(tree.select(since="7d", include=["/blog/*"], limit=10), Iterator[SitemapPage])
    chosen = Selection(since=date(2025, 1, 1), unique=True, same_host=True)
    assert_type(chosen.of(tree), Iterator[SitemapPage])
    assert_type(chosen.of(usp.pages(URL), URL), Iterator[SitemapPage])


def mistakes(tree: AbstractSitemap) -> None:
    """Are found."""
    usp.sitemap_tree_for_homepage(URL, use_robot=False)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    usp.sitemap_tree_for_sitemap(SITEMAP, use_robots=False)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    usp.pages(URL, limits={"pages": 3})  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    usp.aio.pages(URL, crawl_delay="yes")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    CrawlOptions(False)  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    tree.select(sinse="7d")  # type: ignore[call-arg] # pyright: ignore[reportCallIssue]
    tree.select(limit="3")  # type: ignore[arg-type] # pyright: ignore[reportArgumentType]
    print(usp.nothing)  # type: ignore[attr-defined] # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
