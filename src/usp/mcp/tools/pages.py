"""``list_pages``: the pages of a website, filtered, the newest first, in parts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from usp._base.dates import as_written
from usp._base.display import counted
from usp._base.periods import moment
from usp.mcp.page_lists import Wanted, find_pages
from usp.mcp.reading import page_sitemaps
from usp.mcp.schemas import ListArguments, Result, Source, Texts, Value, fitting
from usp.mcp.trees import NO_SKIPS, Skips
from usp.mcp.words import Refusal, clean, clean_url, nothing_read, quoted
from usp.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import date

    from usp.mcp.call import Call
    from usp.mcp.page_lists import PageList
    from usp.mcp.trees import Visit
    from usp.objects.page import SitemapPage

_MOST_LANGUAGES = 20
_DATE = "2025, 2025-01-31, 2025-01-31T12:00Z, or how long ago: 12h, 7d, 4w"
_PATTERN = (
    "'*/blog/*' must match the whole URL, '/blog/*' all from the path on, 'sitemap:*news*' the URL of "
    "the sitemap that lists the page."
)


class PageArguments(ListArguments):
    """Which pages to list."""

    contains: str | None = Field(
        default=None,
        max_length=200,
        description="Text that the URL or the title of the news must contain; case does not matter.",
    )
    since: str | None = Field(
        default=None,
        max_length=40,
        description=f"Only pages changed (or, failing that, published) then or later: {_DATE}.",
    )
    until: str | None = Field(
        default=None, max_length=40, description=f"Only pages changed then or before: {_DATE}."
    )
    keep_undated: bool = Field(
        default=False,
        description="With since or until: also list pages without a date. They are counted anyway.",
    )
    include: Texts = Field(
        default_factory=list,
        description=f"Only pages that match one of these patterns: {_PATTERN}",
    )
    exclude: Texts = Field(
        default_factory=list, description="Leave out pages that match one of these patterns."
    )
    same_host: bool = Field(default=False, description="Only pages on the website's own host.")
    order: Literal["newest", "declared"] = Field(
        default="newest",
        description="newest: by date, pages without one last. declared: as in the sitemaps.",
    )
    limit: int = Field(default=20, ge=1, le=200, description="Most pages in one result.")

    @field_validator("include", "exclude")
    @classmethod
    def _is_simple(cls, patterns: list[str]) -> list[str]:
        """Refuse regular expressions: there are some that take forever, and would stop the server."""
        for pattern in patterns:
            if pattern.removeprefix("sitemap:").startswith("re:"):
                raise ValueError("regular expressions are not accepted; use * as in '*/blog/*'")
        return patterns


class Page(Value):
    """A page as a sitemap declares it."""

    url: str
    lastmod: str | None = Field(default=None, description="When it was last changed.")
    title: str | None = Field(default=None, description="Title, of news and feeds.")
    published: str | None = Field(
        default=None, description="Date of publication, of news and feeds."
    )
    publication: str | None = Field(default=None, description="Name of the publication, of news.")
    images: int | None = None
    videos: int | None = None
    languages: list[str] | None = Field(
        default=None, description="Languages in which it is linked as a version (hreflang)."
    )
    sitemap: str | None = Field(default=None, description="Sitemap that lists it.")


class PageResult(Result):
    """Pages; each URL once."""

    source: Source
    total: int = Field(description="Number of pages that match, in all parts of the list.")
    undated: int | None = Field(
        default=None,
        description="With since or until: pages that match otherwise but have no date. They are "
        "listed, and part of the total, only with keep_undated.",
    )
    pages: list[Page]
    next_cursor: str | None = None

    def lines(self) -> Iterable[str]:
        """Yield the result as text."""
        yield from self.source.lines()
        yield f"{counted(self.total, 'page')} found; {len(self.pages)} here:"
        for page in self.pages:
            title = f" {quoted(page.title)}" if page.title else ""
            yield f"{page.lastmod or page.published or 'undated'} {page.url}{title}"
        if not self.total:
            yield "summarise_site tells what the site has, and whether a sitemap was found at all."
        if self.undated:
            yield f"{counted(self.undated, 'page')} without a date; keep_undated lists them, too."
        if self.next_cursor:
            yield f"More with cursor={self.next_cursor}"


async def list_pages(call: Call, given: PageArguments) -> PageResult:
    """Return pages of a website."""
    selection = _selection(given, datetime.now(UTC))  # wrong ones are refused before a request
    if given.cursor is None:
        sitemaps = [
            text for text in (*given.include, *given.exclude) if text.startswith("sitemap:")
        ]
        key = (given.since or "", *sorted(sitemaps)) if given.since or sitemaps else ()
        skips = Skips(selection, key) if key else NO_SKIPS
        visit, kept = await call.visit(given.url, refresh=given.refresh, skips=skips)
        begin = 0
    else:
        visit, cursor = call.begun(given.cursor, 1, refresh=given.refresh)
        begin, kept = max(int(cursor.position[0] or 0), 0), True
    if visit.failures and next(page_sitemaps(visit.tree), None) is None:
        raise nothing_read(visit.url, visit.failures)
    listed = await _listed(call, visit, given)
    found = await call.read(listed.pages, visit.tree, begin, given.limit)
    taken = fitting([_page(page, sitemap) for page, sitemap in found])
    total, end = len(listed.places), begin + len(taken)
    return PageResult(
        source=Source.of(visit, kept=kept),
        total=total,
        undated=listed.undated if given.since or given.until else None,
        pages=taken,
        next_cursor=call.cursor(visit, end) if taken and end < total else None,
    )


async def _listed(call: Call, visit: Visit, given: PageArguments) -> PageList:
    """Return the list of all pages that match, which another part of it may have found."""
    key = visit.name, call.digest
    known = call.lists.get(key)
    if known is not None:
        return known
    wanted = Wanted(
        _selection(given, visit.fetched),
        contains=(given.contains or "").casefold(),
        keep_undated=given.keep_undated or not (given.since or given.until),
        newest_first=given.order == "newest",
    )
    listed = await call.read(find_pages, visit.tree, wanted)
    call.lists.keep(key, listed)
    return listed


# Which pages ---------------------------------------------------------------------------------------


def _selection(given: PageArguments, now: datetime) -> Selection:
    """Return the filter; ``7d`` is seven days before a moment: the same for all parts of a list."""
    try:
        return Selection(
            since=_moment("since", given.since, now),
            until=_moment("until", given.until, now),
            include=given.include,
            exclude=given.exclude,
            same_host=given.same_host,
        )
    except ValueError as error:
        raise Refusal(f"Wrong arguments: {clean(str(error))}.") from error


def _moment(name: str, text: str | None, now: datetime) -> date | str | None:
    try:
        return moment(name, text, now) if text else None
    except ValueError as error:
        raise Refusal(
            f"Wrong arguments: {name} {clean(text or '')!r} is not a date. Use {_DATE}."
        ) from error


def _page(page: SitemapPage, sitemap: str) -> Page:
    news: Any = page.news_story
    published = news and news.publish_date
    languages = list(dict.fromkeys(clean(code, 20) for code, _ in page.alternates or ()))
    return Page(
        url=clean_url(page.url),
        lastmod=None if page.last_modified is None else as_written(page.last_modified),
        title=clean(news.title) if news and news.title else None,
        published=published and as_written(published),
        publication=clean(news.publication_name) if news and news.publication_name else None,
        images=len(page.images or ()) or None,
        videos=len(page.videos or ()) or None,
        languages=languages[:_MOST_LANGUAGES] or None,
        sitemap=clean_url(sitemap),
    )
