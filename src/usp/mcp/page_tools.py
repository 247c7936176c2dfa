"""``list_pages``: the pages of a website, filtered, the newest first, in parts.

A list is found in one pass over a tree, as an array of places, eight bytes each: which sitemap, and
which page of it. So its parts belong together, the last one comes as quickly as the first, and only
pages that are returned become objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AfterValidator, Field

from usp._base.dates import as_written, in_utc
from usp._base.filters import FOR_SITEMAPS, for_sitemaps, is_regular, moment
from usp._base.seen_urls import SeenUrls
from usp.mcp.tool_call import CancelToken, ToolCall, ToolContext
from usp.mcp.tool_values import (
    NextPart,
    Refresh,
    ResultSource,
    SiteAddress,
    SiteText,
    SiteUrl,
    Text,
    Texts,
    ToolValue,
    clean,
    optional,
)
from usp.objects.abstract_sitemap import page_sitemaps
from usp.selection import Selection, dates_in

if TYPE_CHECKING:
    from collections import OrderedDict

    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractSitemap

MOST_PLACES = 2_000_000  # places in all lists that are kept: 16 MB
_MOST_LANGUAGES = 20
_BITS = 32  # of the number of a page in its sitemap
_UNDATED = -1e18  # seconds; every date comes later
_DATE = "2025, 2025-01-31, 2025-01-31T12:00Z, or how long ago: 12h, 7d, 4w"
_PATTERN = (
    "'*/blog/*' must match the whole URL, '/blog/*' all from the path on, 'sitemap:*news*' the URL of "
    "the sitemap that lists the page."
)


def _simple(patterns: list[str]) -> list[str]:
    """Refuse regular expressions: there are some that take forever, and would stop the server."""
    for pattern in patterns:
        if is_regular(pattern.removeprefix(FOR_SITEMAPS)):
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
    images: int | None = None
    videos: int | None = None
    languages: list[str] | None = optional(
        "Languages in which it is linked as a version (hreflang)."
    )
    sitemap: SiteAddress | None = optional("Sitemap that lists it.")


class PageResult(ToolValue):
    """Pages; each URL once."""

    source: ResultSource
    total: int = Field(
        description="Number of pages that match, in all parts of the list. If there are none, "
        "summarise_site tells what the site has, and whether a sitemap was found at all."
    )
    undated: int | None = optional(
        "With since or until: pages that match otherwise but have no date. They are "
        "listed, and part of the total, only with keep_undated."
    )
    pages: list[Page]
    next_cursor: str | None = None


async def list_pages(
    ctx: ToolContext,
    url: SiteUrl,
    refresh: Refresh = False,
    cursor: NextPart = "",
    contains: Text = Field(
        "",
        max_length=200,
        description="Text that the URL or the title of the news must contain, in any case.",
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
    limit: int = Field(20, ge=1, le=200, description="Most pages in one result."),
) -> PageResult:
    """List the pages that the sitemaps of a website declare, the newest first.

    URL, date of the last change, and for news title and publication date. Filter by date, URL pattern,
    or text in URL or title. This reads sitemaps, not the pages themselves.
    """
    period = {name: text for name, text in (("since", since), ("until", until)) if text}
    rest = {"include": include, "exclude": exclude, "same_host": same_host}
    selection = _selection(period, rest, datetime.now(UTC))  # refuses wrong ones before a request
    skipping = (since, for_sitemaps(include), for_sitemaps(exclude))
    asked = ("list_pages", contains, *period.items(), keep_undated, *rest.values(), order)
    call = ToolCall(ctx, url, refresh, asked, selection, skipping if any(skipping) else None)
    cached = await call.tree(cursor)
    cached.require_pages()
    place = cached.name, call.digest
    listed = call.state.lists.get(place)
    if listed is None:
        chosen = _selection(period, rest, cached.fetched)
        how = contains.casefold(), keep_undated or not period, order == "newest"
        listed = await call.read(find_pages, cached.tree, chosen, *how)
    keep_list(call.state.lists, place, listed)
    found = await call.read(listed.pages, cached.tree, call.begin, limit)
    part = call.part(cached, len(listed.places), pages=found)
    return PageResult(**part, undated=listed.undated if period else None)


def _selection(period: Mapping[str, str], rest: Mapping[str, Any], now: datetime) -> Selection:
    """Return a filter of pages; the words are those of the caller, ``7d`` is counted back from now."""
    moments: dict[str, Any] = {}
    for name, text in period.items():
        try:
            moments[name] = moment(name, text, now)
        except ValueError as error:
            wrong = f"{name} {clean(text)!r} is not a date. Use {_DATE}."
            raise ToolError(f"Wrong arguments: {wrong}") from error
    try:
        return Selection(**moments, **rest)
    except ValueError as error:
        raise ToolError(f"Wrong arguments: {clean(str(error))}.") from error


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
        images=len(page.images or ()) or None,
        videos=len(page.videos or ()) or None,
        languages=languages[:_MOST_LANGUAGES] or None,
        sitemap=sitemap,
    )


# Lists of pages ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MatchingPages:
    """The places of pages, in order, and how many of those that match have no date."""

    places: array[int]
    undated: int

    def pages(self, token: CancelToken, tree: AbstractSitemap, begin: int, most: int) -> list[Page]:
        """Return some of the pages."""
        places = self.places[begin : begin + most]
        sitemaps = {place >> _BITS for place in places}
        found: dict[int, Page] = {}
        for number, sitemap in enumerate(page_sitemaps(tree)):
            if number not in sitemaps:
                continue
            first = number << _BITS
            wanted = {place for place in places if place >> _BITS == number}
            for block in token.blocks(sitemap):
                here = range(first, first + len(block.urls))
                if any(place in here for place in wanted):
                    pages = zip(here, block.pages(), strict=True)
                    found |= {at: _page(page, sitemap.url) for at, page in pages if at in wanted}
                first = here.stop
                if first > max(wanted):
                    break
        return [found[place] for place in places if place in found]


def keep_list(
    lists: OrderedDict[tuple[str, str], MatchingPages],
    key: tuple[str, str],
    found: MatchingPages,
    most: int = MOST_PLACES,
) -> None:
    """Keep a list, so that its next parts need not find it again, as long as there is room."""
    lists[key] = found
    lists.move_to_end(key)
    while sum(len(one.places) for one in lists.values()) > most:
        lists.popitem(last=False)


def find_pages(
    token: CancelToken,
    tree: AbstractSitemap,
    selection: Selection,
    contains: str,
    keep_undated: bool,
    newest: bool,
) -> MatchingPages:
    """Return the list of the pages of a tree that match, each URL once."""
    sitemaps = list(page_sitemaps(tree))
    run = selection.run(tree.url)
    seen = SeenUrls() if len(sitemaps) > 1 else None  # one sitemap has each URL only once
    places: array[int] = array("Q")
    stamps: array[float] = array("d")
    for number, sitemap in enumerate(sitemaps):
        if not run.wants(sitemap.url):
            continue
        first = number << _BITS
        for found in token.blocks(sitemap):
            block, keep = run.keep(found)
            if contains:
                texts = map(str.casefold, _searched(block))
                keep = [one and contains in text for one, text in zip(keep, texts, strict=True)]
            chosen = list(compress(range(len(keep)), keep))
            if seen is not None:
                new = seen.add_all([block.urls[at] for at in chosen])
                chosen = chosen if new is None else list(compress(chosen, new))
            dates = dates_in(block)
            places.extend([first + at for at in chosen])
            stamps.extend([_stamp(dates[at]) for at in chosen])
            first += len(block.urls)
    order = [at for at, stamp in enumerate(stamps) if keep_undated or stamp != _UNDATED]
    if newest:
        order.sort(key=stamps.__getitem__, reverse=True)  # stable
    return MatchingPages(array("Q", map(places.__getitem__, order)), stamps.count(_UNDATED))


def _searched(block: PageBlock) -> Sequence[str]:
    """Return the text of each page of a block that is searched: its URL, and the title of its news."""
    if block.texts() is not None:  # then pages have nothing but dates and the like
        return block.urls
    stories = [page.news_story for page in block.pages()]
    titles = ("" if story is None else story.title or "" for story in stories)
    return [f"{url}\n{title}" for url, title in zip(block.urls, titles, strict=True)]


@lru_cache(maxsize=65_536)
def _stamp(date: datetime | None) -> float:
    return _UNDATED if date is None else in_utc(date).timestamp()
