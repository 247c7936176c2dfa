"""``list_pages``: the pages of a website, filtered, the newest first, in parts."""

from __future__ import annotations

import heapq
import re
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import compress
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, field_validator

from usp._base.dates import as_written, in_utc, known_date, period
from usp._base.display import counted
from usp._crawl.seen_urls import SeenUrls
from usp.mcp.reading import page_sitemaps
from usp.mcp.schemas import ListArguments, Result, Source, Texts, Value, fitting
from usp.mcp.trees import NO_SKIPS, Skips
from usp.mcp.words import Refusal, clean, clean_url, nothing_read, quoted
from usp.objects.page_blocks import PickedPages
from usp.selection import Selection, date_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp.mcp.call import Call
    from usp.mcp.reading import Reading
    from usp.mcp.trees import Visit
    from usp.objects.page import PageBlock, SitemapPage

_AGO = re.compile(r"([0-9]{1,6})\s*([hdw])", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}
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
    total: int | None = Field(
        default=None, description="Number of pages that match, in all parts of the list."
    )
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
        yield f"{counted(self.total or 0, 'page')} found; {len(self.pages)} here:"
        for page in self.pages:
            title = f" {quoted(page.title)}" if page.title else ""
            yield f"{page.lastmod or page.published or 'undated'} {page.url}{title}"
        if self.undated:
            yield f"{counted(self.undated, 'page')} without a date; keep_undated lists them, too."
        if self.next_cursor:
            yield f"More with cursor={self.next_cursor}"


async def list_pages(call: Call, given: PageArguments) -> PageResult:
    """Return pages of a website."""
    selection = _selection(given, None)  # wrong values are refused before anything is fetched
    if given.cursor is None:
        sitemaps = [
            text for text in (*given.include, *given.exclude) if text.startswith("sitemap:")
        ]
        key = (given.since or "", *sorted(sitemaps)) if given.since or sitemaps else ()
        skips = Skips(selection, key) if key else NO_SKIPS
        visit, kept = await call.visit(given.url, refresh=given.refresh, skips=skips)
        begin = _Begin()
    else:
        visit, cursor = call.begun(given.cursor, 4, refresh=given.refresh)
        begin, kept = _Begin.of(cursor.position), True
    selection = _selection(given, visit.fetched)
    found = await call.read(_found, visit, selection, given, begin)
    if not found.sitemaps and visit.failures:
        raise nothing_read(visit.url, visit.failures)
    taken = fitting([one.page for one in found.pages])
    has_more = len(taken) < len(found.pages) or found.has_more
    last = found.pages[len(taken) - 1] if taken else None
    more = last is not None and has_more
    return PageResult(
        source=Source.of(visit, kept=kept),
        total=found.total,
        undated=found.undated if selection.since or selection.until else None,
        pages=taken,
        next_cursor=call.cursor(visit, *last.key, found.total, found.undated)
        if last and more
        else None,
    )


# Which pages ---------------------------------------------------------------------------------------


def _selection(given: PageArguments, now: datetime | None) -> Selection:
    """Return the filter; ``7d`` is seven days before the website was fetched.

    So it means the same for all parts of a list.
    """
    moment = now or datetime.now(UTC)
    try:
        return Selection(
            since=_moment("since", given.since, moment),
            until=_moment("until", given.until, moment),
            include=given.include,
            exclude=given.exclude,
            same_host=given.same_host,
        )
    except ValueError as error:
        raise Refusal(f"Wrong arguments: {clean(str(error))}.") from error


def _moment(name: str, text: str | None, now: datetime) -> str | datetime | None:
    if not text:
        return None
    match = _AGO.fullmatch(text.strip())
    try:
        if match is not None:
            return now - timedelta(hours=int(match[1]) * _HOURS[match[2].lower()])
        period(name, text)
    except (ValueError, OverflowError) as error:
        raise Refusal(
            f"Wrong arguments: {name} {clean(text)!r} is not a date. Use {_DATE}."
        ) from error
    return text


@dataclass(frozen=True, slots=True)
class _Begin:
    """Where a part of a list begins: after the page with this key; what is known of the whole list.

    The key of a page is how it is ordered: its date, None if it has none or dates do not matter, and
    its number among all that match.
    """

    date: float | None = None
    number: int = -1
    total: int | None = None
    undated: int | None = None

    @classmethod
    def of(cls, position: tuple[float | int | None, ...]) -> _Begin:
        date, number, total, undated = position
        return cls(date, int(number or 0), _whole(total), _whole(undated))

    @property
    def rank(self) -> tuple[float, int]:
        """Where it is in the order; smaller is earlier."""
        return _rank(self.date, self.number)


def _whole(number: float | None) -> int | None:
    return None if number is None else int(number)


_UNDATED = 1e18  # after all dates
_FIRST = (-_UNDATED, -1)


def _rank(date: float | None, number: int) -> tuple[float, int]:
    return (_UNDATED if date is None else -date), number


@dataclass(frozen=True, slots=True)
class _Found:
    """A page, with its key."""

    key: tuple[float | None, int]
    page: Page

    @property
    def rank(self) -> tuple[float, int]:
        return _rank(*self.key)


@dataclass(slots=True)
class _Part:
    """A part of a list."""

    pages: list[_Found] = field(default_factory=list)
    has_more: bool = False
    total: int | None = None
    undated: int | None = None
    sitemaps: int = 0


def _found(
    reading: Reading, visit: Visit, selection: Selection, given: PageArguments, begin: _Begin
) -> _Part:
    """Return a part of the list: in one pass over all pages, which keeps only those of the part."""
    part = _Part(sitemaps=sum(1 for _ in page_sitemaps(visit.tree)))
    newest = given.order == "newest"
    after = begin.rank if begin.number >= 0 else _FIRST
    leaves_out = not given.keep_undated and bool(given.since or given.until)
    kept: list[_Found] = []
    number = undated = 0
    for sitemap, matching in _matching(reading, visit, selection, given):
        block, dates = matching, _dates(matching)
        if None in dates:
            undated += dates.count(None)
            if leaves_out:
                block = PickedPages(block, [date is not None for date in dates])
                dates = [date for date in dates if date is not None]
        stamps = [None if date is None or not newest else _stamp(date) for date in dates]
        keys = [(stamp, number + at) for at, stamp in enumerate(stamps)]
        ranked = [(_rank(*key), at) for at, key in enumerate(keys) if _rank(*key) > after]
        if len(kept) > given.limit:
            worst = kept[-1].rank
            ranked = [one for one in ranked if one[0] < worst]
        chosen = heapq.nsmallest(given.limit + 1, ranked)
        if chosen:
            kept += _pages(block, sitemap, keys, [at for _, at in chosen])
            kept = sorted(kept, key=lambda one: one.rank)[: given.limit + 1]
        number += len(keys)
        if not newest and begin.total is not None and len(kept) > given.limit:
            number, undated = begin.total, begin.undated or 0  # counted before
            break
    part.pages, part.has_more = kept[: given.limit], len(kept) > given.limit
    part.total, part.undated = number, undated
    return part


def _matching(
    reading: Reading, visit: Visit, selection: Selection, given: PageArguments
) -> Iterator[tuple[str, PageBlock]]:
    """Yield the pages that match in blocks, dated or not, each with the URL of the sitemap."""
    run = selection.run(visit.tree.url)
    wanted = (given.contains or "").casefold()
    seen = SeenUrls()
    for sitemap in page_sitemaps(visit.tree):
        if not run.wants(sitemap.url):
            continue
        for _, selected in run.of_blocks(reading.blocks(sitemap)):
            block: PageBlock | None = _containing(selected, wanted) if wanted else selected
            if block is None:
                continue
            new = seen.add_all(list(block.urls))
            if new is not None:
                if not any(new):
                    continue
                block = PickedPages(block, new)
            yield sitemap.url, block


def _containing(block: PageBlock, wanted: str) -> PageBlock | None:
    keep = [wanted in url.casefold() for url in block.urls]
    if block.texts() is None:  # only then pages have anything but dates and the like
        titles = (page.news_story.title if page.news_story else "" for page in block.pages())
        keep = [
            one or wanted in (title or "").casefold()
            for one, title in zip(keep, titles, strict=True)
        ]
    return PickedPages(block, keep) if any(keep) else None


def _dates(block: PageBlock) -> list[datetime | None]:
    texts = block.texts()
    if texts is None:
        return [date_of(page) for page in block.pages()]
    return [known_date(text) for text in texts.get("lastmod", [""] * len(block.urls))]


def _stamp(date: datetime) -> float:
    return in_utc(date).timestamp()


def _pages(
    block: PageBlock, sitemap: str, keys: Sequence[tuple[float | None, int]], numbers: Sequence[int]
) -> list[_Found]:
    """Return some pages of a block."""
    keep = [False] * len(keys)
    for at in numbers:
        keep[at] = True
    pages = compress(block.pages(), keep)
    return [
        _Found(key, _page(page, sitemap))
        for key, page in zip(compress(keys, keep), pages, strict=True)
    ]


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
