"""``list_pages``: the pages of a website, filtered, the newest first, in parts.

A list is found in one pass over a tree, as an array of places, eight bytes each: which sitemap, and
which page of it. So its parts belong together, the last one comes as quickly as the first, and only
pages that are returned become objects.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING, Annotated, Any, Literal

from mcp.server.mcpserver.exceptions import ToolError
from pydantic import AfterValidator, Field

from usp._base.dates import as_written, in_utc, known_date
from usp._base.filters import moment
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
from usp.mcp.tree_cache import NeededPages
from usp.objects.abstract_sitemap import page_sitemaps
from usp.selection import Selection, date_of

if TYPE_CHECKING:
    from collections import OrderedDict

    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractSitemap

MOST_PLACES = 2_000_000
"""Places in all lists that are kept: 16 MB."""

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
        if pattern.removeprefix("sitemap:").startswith("re:"):
            raise ValueError("regular expressions are not accepted; use * as in '*/blog/*'")
    return patterns


Patterns = Annotated[Texts, AfterValidator(_simple)]


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


@dataclass(frozen=True, slots=True)
class PageFilter:
    """Which pages are listed, and in which order, as the caller wrote it."""

    contains: str
    since: str
    until: str
    keep_undated: bool
    include: tuple[str, ...]
    exclude: tuple[str, ...]
    same_host: bool
    order: str

    def selection(self, now: datetime) -> Selection:
        """Return the filter of pages: ``7d`` is seven days before a moment."""
        period: dict[str, Any] = {}
        for name, text in (("since", self.since), ("until", self.until)):
            try:
                period[name] = moment(name, text, now) if text else None
            except ValueError as error:
                wrong = f"{name} {clean(text)!r} is not a date. Use {_DATE}."
                raise ToolError(f"Wrong arguments: {wrong}") from error
        given = period | {"include": self.include, "exclude": self.exclude}
        try:
            return Selection(**given, same_host=self.same_host)
        except ValueError as error:
            raise ToolError(f"Wrong arguments: {clean(str(error))}.") from error

    def skipping(self) -> tuple[str, ...]:
        """Return what the caller wrote that allows sitemaps to be left out of a crawl."""
        sitemaps = [text for text in (*self.include, *self.exclude) if text.startswith("sitemap:")]
        return (self.since, *sorted(sitemaps)) if self.since or sitemaps else ()


async def list_pages(
    ctx: ToolContext,
    url: SiteUrl,
    refresh: Refresh = False,
    cursor: NextPart = "",
    contains: Annotated[
        Text,
        Field(
            max_length=200,
            description="Text that the URL or the title of the news must contain, in any case.",
        ),
    ] = "",
    since: Annotated[
        Text,
        Field(
            max_length=40,
            description=f"Only pages changed (or, failing that, published) then or later: {_DATE}.",
        ),
    ] = "",
    until: Annotated[
        Text, Field(max_length=40, description=f"Only pages changed then or before: {_DATE}.")
    ] = "",
    keep_undated: Annotated[
        bool,
        Field(
            description="With since or until: also list pages without a date. They are counted anyway."
        ),
    ] = False,
    include: Annotated[
        Patterns, Field(description=f"Only pages that match one of these patterns: {_PATTERN}")
    ] = (),  # type: ignore[assignment]  # an empty list
    exclude: Annotated[
        Patterns, Field(description="Leave out pages that match one of these patterns.")
    ] = (),  # type: ignore[assignment]
    same_host: Annotated[bool, Field(description="Only pages on the website's own host.")] = False,
    order: Annotated[
        Literal["newest", "declared"],
        Field(description="newest: by date, pages without one last. declared: as in the sitemaps."),
    ] = "newest",
    limit: Annotated[int, Field(ge=1, le=200, description="Most pages in one result.")] = 20,
) -> PageResult:
    """List the pages that the sitemaps of a website declare, the newest first.

    URL, date of the last change, and for news title and publication date. Filter by date, URL pattern,
    or text in URL or title. This reads sitemaps, not the pages themselves.
    """
    asked = PageFilter(
        contains, since, until, keep_undated, (*include,), (*exclude,), same_host, order
    )
    selection = asked.selection(datetime.now(UTC))  # wrong ones are refused before a request
    call = ToolCall(ctx, url)
    needs = NeededPages(selection, asked.skipping())
    part = await call.part(cursor, "list_pages", url, asked, refresh=refresh, needs=needs)
    cached = part.cached
    cached.require_pages()
    listed = call.state.lists.get((cached.name, part.digest))
    if listed is None:
        listed = await call.read(find_pages, cached.tree, asked, asked.selection(cached.fetched))
    keep_list(call.state.lists, (cached.name, part.digest), listed)
    found = await call.read(listed.pages, cached.tree, part.begin, limit)
    total = len(listed.places)
    pages, next_cursor = part.fitting([_page(page, sitemap) for page, sitemap in found], total)
    return PageResult(
        source=call.source(cached),
        total=total,
        undated=listed.undated if since or until else None,
        pages=pages,
        next_cursor=next_cursor,
    )


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

    def pages(
        self, token: CancelToken, tree: AbstractSitemap, begin: int, most: int
    ) -> list[tuple[SitemapPage, str]]:
        """Return some of the pages, each with the URL of its sitemap."""
        places = self.places[begin : begin + most]
        sitemaps = {place >> _BITS for place in places}
        found: dict[int, tuple[SitemapPage, str]] = {}
        for number, sitemap in enumerate(page_sitemaps(tree)):
            if number not in sitemaps:
                continue
            first = number << _BITS
            wanted = {place for place in places if place >> _BITS == number}
            for block in token.blocks(sitemap):
                here = range(first, first + len(block.urls))
                if any(place in here for place in wanted):
                    pages = zip(here, block.pages(), strict=True)
                    found.update({at: (page, sitemap.url) for at, page in pages if at in wanted})
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
    token: CancelToken, tree: AbstractSitemap, asked: PageFilter, selection: Selection
) -> MatchingPages:
    """Return the list of the pages of a tree that match, each URL once."""
    sitemaps = list(page_sitemaps(tree))
    run = selection.run(tree.url)
    contains = asked.contains.casefold()
    keep_undated = asked.keep_undated or not (asked.since or asked.until)
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
            times = _stamps(block)
            places.extend([first + at for at in chosen])
            stamps.extend([times[at] for at in chosen])
            first += len(block.urls)
    order = [at for at, stamp in enumerate(stamps) if keep_undated or stamp != _UNDATED]
    if asked.order == "newest":
        order.sort(key=stamps.__getitem__, reverse=True)  # stable
    return MatchingPages(array("Q", map(places.__getitem__, order)), stamps.count(_UNDATED))


def _searched(block: PageBlock) -> Sequence[str]:
    """Return the text of each page of a block that is searched: its URL, and the title of its news."""
    if block.texts() is not None:  # then pages have nothing but dates and the like
        return block.urls
    stories = [page.news_story for page in block.pages()]
    titles = ("" if story is None else story.title or "" for story in stories)
    return [f"{url}\n{title}" for url, title in zip(block.urls, titles, strict=True)]


def _stamps(block: PageBlock) -> list[float]:
    """Return the dates of the pages of a block, in seconds."""
    texts = block.texts()
    if texts is not None:
        return [_stamp_of(text) for text in texts.get("lastmod", [""] * len(block.urls))]
    return [_stamp(date_of(page)) for page in block.pages()]


@lru_cache(maxsize=65_536)
def _stamp_of(text: str) -> float:
    return _stamp(known_date(text))


def _stamp(date: datetime | None) -> float:
    return _UNDATED if date is None else in_utc(date).timestamp()
