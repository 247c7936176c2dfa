"""``list_pages``: the pages of a website, filtered, the newest first, in parts."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, Field

from usp._base.dates import as_written, in_utc
from usp._base.filters import FOR_SITEMAPS, for_sitemaps, is_regular
from usp._base.seen_urls import SeenUrls
from usp.matching import Ranking
from usp.mcp.tool_call import (
    CancelToken,
    Cursor,
    Limit,
    ListResult,
    Refresh,
    SiteAddress,
    SiteText,
    SiteUrl,
    Text,
    Texts,
    ToolCall,
    ToolContext,
    ToolValue,
    clean,
    optional,
    refusing_wrong_arguments,
)
from usp.objects.abstract_sitemap import page_sitemaps
from usp.selection import Selection, dates_in

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractSitemap

_MOST_LANGUAGES = _MOST_KEYWORDS = 20
_BITS = 32  # of the number of a page in its sitemap
_UNDATED = -1e18  # seconds; every date comes later
_DATE = "2025, 2025-01-31, 2025-01-31T12:00Z, or how long ago: 12h, 7d, 4w"
_PATTERN = (
    "'*/blog/*' must match the full URL, '/blog/*' all from the path on, 'sitemap:*news*' the URL of "
    "the sitemap that lists the page."
)


def _simple(patterns: list[str]) -> list[str]:
    """Refuse regular expressions: there are some that take forever, and would stop the server."""
    if any(is_regular(pattern.removeprefix(FOR_SITEMAPS)) for pattern in patterns):
        raise ValueError("regular expressions are not accepted; use * as in '*/blog/*'")
    return patterns


Patterns = Annotated[Texts, AfterValidator(_simple)]
DateText = Annotated[Text, Field(max_length=40)]


class Page(ToolValue):
    """A page as a sitemap declares it."""

    url: SiteAddress
    lastmod: str | None = optional("When it was last changed.")
    title: SiteText | None = optional("Title, of news and feeds.")
    published: str | None = optional("Date of publication, of news and feeds.")
    publication: SiteText | None = optional("Name of the publication, of news.")
    keywords: list[SiteText] | None = optional(
        "Keywords of news, tags of feeds, headings above a link in llms.txt or an HTML sitemap."
    )
    images: int | None = optional("Number of images.")
    videos: int | None = optional("Number of videos.")
    languages: list[str] | None = optional(
        "Languages in which it is linked as a version (hreflang)."
    )
    sitemap: SiteAddress | None = optional("Sitemap that lists it.")


class PageResult(ListResult):
    """Pages; each URL once. If there are none, call summarise_site to see what the site has."""

    undated: int | None = optional(
        "With since or until: pages that match otherwise but have no date. They are "
        "listed, and part of the total, only with keep_undated."
    )
    pages: list[Page]


async def list_pages(
    ctx: ToolContext,
    url: SiteUrl,
    refresh: Refresh = False,
    cursor: Cursor = "",
    contains: Text = Field(
        "",
        max_length=200,
        description="Text that the URL or the title of the news must contain, in any case.",
    ),
    match: Text = Field(
        "",
        max_length=200,
        description="Words, as in 'pricing api': only pages whose URL, title or keywords have any of "
        "them, those that fit best first, whatever the order.",
    ),
    since: DateText = Field(
        "", description=f"Only pages changed (or, failing that, published) then or later: {_DATE}."
    ),
    until: DateText = Field("", description=f"Only pages changed then or before: {_DATE}."),
    keep_undated: bool = Field(
        False,
        description="With since or until: also list pages without a date. They are counted anyway.",
    ),
    include: Patterns = Field(
        [], description=f"Only pages that match one of these patterns: {_PATTERN}"
    ),
    exclude: Patterns = Field([], description="Leave out pages that match one of these patterns."),
    same_host: bool = Field(False, description="Only pages on the website's own host."),
    order: Literal["newest", "declared"] = Field(
        "newest",
        description="newest: by date, pages without one last. declared: as in the sitemaps.",
    ),
    limit: Limit = 20,
) -> PageResult:
    """List the pages that the sitemaps of a website declare, the newest or the best match first.

    URL, date of the last change, and for news title and publication date. Filter by date, URL pattern,
    or text in URL or title, or look for words. This reads sitemaps, not the pages themselves.
    """
    rest: dict[str, Any] = {"include": include, "exclude": exclude, "same_host": same_host}
    has_period = bool(since or until)
    with refusing_wrong_arguments():
        selection = Selection(since=since or None, until=until or None, **rest)
        ranking = Ranking(match) if match else None
    asked = ("list_pages", contains, match, since, until, keep_undated, *rest.values(), order)
    call = ToolCall(ctx, url, refresh, cursor, asked)
    crawl = selection.crawl_options(call.options.crawl)
    skipping = (since, for_sitemaps(include), for_sitemaps(exclude))
    cached = await call.tree(crawl, skipping if any(skipping) else None)
    listed = cached.lists.get(call.digest)
    if listed is None:
        how = contains.casefold(), ranking, keep_undated or not has_period, order == "newest"
        listed = await call.read(find_pages, cached.tree, selection, *how)
        cached.lists.clear()
        cached.lists[call.digest] = listed
    found = await call.read(listed.pages, cached.tree, call.begin, limit)
    part = call.part(cached, len(listed.places), pages=found)
    return PageResult(**part, undated=listed.undated if has_period else None)


@dataclass(frozen=True, slots=True)
class MatchingPages:
    """Which pages match, in order, and how many of them have no date.

    A place is eight bytes: which sitemap, and which page of it.
    """

    places: array[int]
    undated: int

    def pages(self, token: CancelToken, tree: AbstractSitemap, begin: int, most: int) -> list[Page]:
        """Return some of the pages; only these become objects."""
        places = self.places[begin : begin + most]
        found: dict[int, Page] = {}
        for number, sitemap in enumerate(page_sitemaps(tree)):
            wanted = {place for place in places if place >> _BITS == number}
            first = number << _BITS
            for block in token.blocks(sitemap) if wanted else ():
                here = range(first, first + len(block.urls))
                if any(place in here for place in wanted):
                    pages = zip(here, block.pages(), strict=True)
                    found |= {at: _page(page, sitemap.url) for at, page in pages if at in wanted}
                first = here.stop
                if first > max(wanted):
                    break
        return [found[place] for place in places if place in found]


def find_pages(
    token: CancelToken,
    tree: AbstractSitemap,
    selection: Selection,
    contains: str,
    ranking: Ranking | None,
    keep_undated: bool,
    newest: bool,
) -> MatchingPages:
    """Return which pages of a tree match, each URL once; in one pass."""
    run, seen = selection.run(tree.url), SeenUrls()
    places: array[int] = array("Q")
    stamps: array[float] = array("d")
    for number, sitemap in enumerate(page_sitemaps(tree)):
        first = number << _BITS
        for block in token.blocks(sitemap) if run.wants(sitemap.url) else ():
            keep = run.keep(block)
            if contains:
                texts = map(str.casefold, _searched(block))
                keep = [one and contains in text for one, text in zip(keep, texts, strict=True)]
            weights = ranking.weigh(block) if ranking else {}
            chosen = [
                at for at, one in enumerate(keep) if one and (ranking is None or at in weights)
            ]
            new = seen.add_all([block.urls[at] for at in chosen])
            chosen = chosen if new is None else list(compress(chosen, new))
            if ranking:
                ranking.add(weights[at] for at in chosen)
            dates = dates_in(block)
            places.extend([first + at for at in chosen])
            stamps.extend([_stamp(dates[at]) for at in chosen])
            first += len(block.urls)
    by_fit = [at for at, _ in ranking.best()] if ranking else range(len(stamps))
    order = [at for at in by_fit if keep_undated or stamps[at] != _UNDATED]
    if newest and not ranking:
        order.sort(key=stamps.__getitem__, reverse=True)  # stable
    return MatchingPages(array("Q", map(places.__getitem__, order)), stamps.count(_UNDATED))


@lru_cache(maxsize=65_536)
def _stamp(date: datetime | None) -> float:
    return _UNDATED if date is None else in_utc(date).timestamp()


def _page(page: SitemapPage, sitemap: str) -> Page:
    news: Any = page.news_story
    published = news and news.publish_date
    languages = list(dict.fromkeys(clean(code, 20) for code, _ in page.alternates or ()))
    return Page(
        url=page.url,
        lastmod=None if page.last_modified is None else as_written(page.last_modified),
        title=(news and news.title) or None,
        published=published and as_written(published),
        publication=(news and news.publication_name) or None,
        keywords=(news and news.keywords[:_MOST_KEYWORDS]) or None,
        images=len(page.images or ()) or None,
        videos=len(page.videos or ()) or None,
        languages=languages[:_MOST_LANGUAGES] or None,
        sitemap=sitemap,
    )


def _searched(block: PageBlock) -> Sequence[str]:
    """Return the text of each page of a block that is searched: its URL, and the title of its news."""
    stories = (row.news_story for row in block.rows())
    titles = ("" if story is None else story.title or "" for story in stories)
    return [f"{url}\n{title}" for url, title in zip(block.urls, titles, strict=True)]
