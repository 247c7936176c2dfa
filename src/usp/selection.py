"""Filters for pages: by date, by URL, each URL once, up to a number."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from itertools import accumulate, compress, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias, TypeVar, overload

from usp._base.dates import in_utc
from usp._base.filters import Moment, Patterns, checked, for_pages, for_sitemaps, moment, period
from usp._base.seen_urls import SeenUrls
from usp._base.urls import url_parts
from usp.objects.abstract_sitemap import page_sitemaps
from usp.objects.page import PageList, PickedPages
from usp.objects.sitemap import AbstractSitemap
from usp.options import CrawlOptions

__all__ = ["Moment", "Selection", "SelectionRun"]

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from usp.objects.page import PageBlock, PageFields, SitemapPage

    Options = TypeVar("Options", bound=CrawlOptions)

    Pages: TypeAlias = AbstractSitemap | Iterable[SitemapPage]
    """A tree, or an iterable of pages."""

    Blocks: TypeAlias = Iterable[tuple[str | None, PageBlock]]
    """Blocks of pages, each with the URL of its sitemap."""


_TOGETHER = 100  # pages of a stream that form a block


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """A filter for the pages of a tree or a stream.

    ``since`` and ``until`` refer to the date when a page was last modified or, failing that, to the
    date of publication in news and feeds. Both are inclusive, and a date without a time means the
    whole day, month or year. Dates without an offset are taken as UTC; ``12h``, ``7d``, ``4w`` and a
    ``timedelta`` are counted back from the creation of the selection. Pages without any
    date are kept unless ``keep_undated`` is False; ``on_undated`` is called with the number of those
    kept.

    ``include`` and ``exclude`` are patterns for the URL of the page: ``*/blog/*`` must match all of
    it, ``/blog/*`` everything from the path on, ``re:20[0-9]{2}`` any part. A pattern that begins
    with ``sitemap:`` is for the URL of the sitemap. A page is selected if any pattern of ``include``
    matches (one for pages and one for sitemaps, if both are given), and none of ``exclude``.

    With ``unique``, only the first page with a URL is selected, in the whole tree; with ``same_host``,
    only pages on the website's own host, with or without ``www.``. ``limit`` is the maximum number.

    Raises ``ValueError`` for dates and patterns that cannot be read, and if ``since`` is after
    ``until``.
    """

    since: Moment | None = None
    until: Moment | None = None
    keep_undated: bool = True
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    unique: bool = False
    same_host: bool = False
    limit: int | None = None
    on_undated: Callable[[int], object] | None = field(default=None, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("include", "exclude"):
            object.__setattr__(self, name, checked(name, getattr(self, name)))
        most: object = self.limit
        whole = isinstance(most, int) and not isinstance(most, bool)
        if most is not None and not (whole and most >= 0):  # type: ignore[operator]
            raise ValueError(f"limit must be a non-negative integer or None, not {most!r}")
        since, until = self.since, self.until  # as they were written
        for name in ("since", "until"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, moment(name, getattr(self, name)))
        _patterns(self)
        first, end = _period(self)
        if first is not None and end is not None and first >= end:
            raise ValueError(f"since {since} is after until {until}")

    @property
    def takes_all(self) -> bool:
        """Whether every page is selected."""
        return self == Selection()

    @overload
    def crawl_options(self, options: None = None) -> CrawlOptions: ...
    @overload
    def crawl_options(self, options: Options) -> Options: ...
    def crawl_options(self, options: CrawlOptions | None = None) -> CrawlOptions:
        """Return crawl options that skip sitemaps from which no page can be selected.

        These are sitemaps whose ``lastmod`` in the index is before ``since``, and those that the
        patterns for sitemaps leave out. Everything else is taken from ``options``, and so are filters
        of sitemaps that this selection does not have.
        """
        given = options or CrawlOptions()
        return replace(
            given,
            sitemaps_since=given.sitemaps_since if self.since is None else self.since,
            include_sitemaps=for_sitemaps(self.include) or given.include_sitemaps,
            exclude_sitemaps=(*given.exclude_sitemaps, *for_sitemaps(self.exclude)),
        )

    def of(self, pages: Pages, site: str | None = None) -> Iterator[SitemapPage]:
        """Yield the selected pages of a tree or of an iterable, lazily.

        ``site`` is the URL of the website, for ``same_host``; a tree has its own. Patterns for
        sitemaps need a tree or a stream: other pages do not know their sitemap.
        """
        if isinstance(pages, AbstractSitemap):
            run = self.run(site or pages.url)
            return (page for _, block in run.blocks(pages) for page in block.pages())
        return self.run(site).pages(pages)

    async def of_async(
        self, pages: AsyncIterable[SitemapPage], site: str | None = None
    ) -> AsyncGenerator[SitemapPage, None]:
        """Yield the selected pages of an asynchronous stream, such as that of ``usp.aio.pages``.

        The stream is closed with this generator, and after the last page that ``limit`` allows.
        """
        run = self.run(site)
        try:
            if self.limit != 0:
                async for page in pages:
                    if run.takes(page):
                        yield page
                    if run.over:
                        break
        finally:
            if isinstance(pages, AsyncGenerator):
                await pages.aclose()

    def blocks(
        self, pages: Pages, site: str | None = None
    ) -> Iterator[tuple[str | None, PageBlock]]:
        """Yield the selected pages in blocks, each with the URL of its sitemap, if it is known.

        ``site`` is as in :meth:`of`.
        """
        if not isinstance(pages, AbstractSitemap):
            return _blocks_of_stream(iter(pages) if self.takes_all else self.of(pages, site))
        blocks = self.run(site or pages.url).blocks(pages)
        return ((sitemap.url, block) for sitemap, block in blocks)

    def run(self, site: str | None = None) -> SelectionRun:
        """Return a new run, to which ``unique`` and ``limit`` apply as a whole."""
        return SelectionRun(self, site)


def _patterns(selection: Selection) -> tuple[Patterns, Patterns]:
    given = selection.include, selection.exclude
    return Patterns.of(*map(for_pages, given)), Patterns.of(*map(for_sitemaps, given))


def _period(selection: Selection) -> tuple[datetime | None, datetime | None]:
    """Return the first moment that is selected, and the first one after it that is not."""
    since, until = selection.since, selection.until
    first = None if since is None else period("since", since)[0]
    return first, None if until is None else period("until", until)[1]


def _blocks_of_stream(pages: Iterator[SitemapPage]) -> Iterator[tuple[str | None, PageBlock]]:
    for url, of_sitemap in groupby(pages, attrgetter("sitemap_url")):
        while some := list(islice(of_sitemap, _TOGETHER)):
            yield url, PageList(some)


# Choosing pages, one by one or in blocks -----------------------------------------------------------


def of_host(site: str | None) -> re.Pattern[str]:
    """Return a pattern that matches the URLs on the host of a website."""
    host = url_parts(site or "").hostname
    if host is None:
        raise ValueError("same_host needs the website: pass its URL as 'site'")
    name = re.escape(host.removeprefix("www."))
    return re.compile(
        rf"https?://(?:[^/?#]*@)?(?:www\.)?{name}(?::\d*)?(?:[/?#]|\Z)", re.IGNORECASE
    )


class SelectionRun:
    """One pass over pages; it counts the selected ones, and remembers their URLs for ``unique``."""

    def __init__(self, selection: Selection, site: str | None = None) -> None:
        self._patterns, self._sitemaps = _patterns(selection)
        self._host = of_host(site) if selection.same_host else None
        self._by_url = bool(self._patterns) or self._host is not None
        self._first, self._end = _period(selection)
        self._in_period = (self._first, self._end) != (None, None)
        self._keep_undated = selection.keep_undated
        self._by_date = self._in_period or not selection.keep_undated
        self._seen = SeenUrls() if selection.unique else None
        self._left = selection.limit
        self._on_undated = selection.on_undated

    @property
    def over(self) -> bool:
        """Whether the limit has been reached."""
        return self._left == 0

    def wants(self, sitemap_url: str) -> bool:
        """Return whether pages of this sitemap can be selected."""
        return self._sitemaps.match(sitemap_url)

    def pages(self, pages: Iterable[SitemapPage]) -> Iterator[SitemapPage]:
        """Yield the selected pages; after the last one, no further page is requested."""
        remaining = iter(pages)
        while not self.over and (page := next(remaining, None)) is not None:
            if self.takes(page):
                yield page

    def takes(self, page: SitemapPage) -> bool:
        """Return whether a page is selected; ask once for each, in order, until the run is over."""
        if self._sitemaps:
            if page.sitemap_url is None:
                raise ValueError(
                    "patterns for sitemaps need pages that know their sitemap: "
                    "pass the tree, or the pages of usp.stream"
                )
            if not self.wants(page.sitemap_url):
                return False
        return self.keep(PageList([page]))[0]

    def blocks(self, tree: AbstractSitemap) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the selected pages of ``tree.page_blocks()``; excluded sitemaps are not parsed."""
        for sitemap in page_sitemaps(tree):
            if not self.over and self.wants(sitemap.url):
                found = self.of_stream((sitemap.url, block) for _, block in sitemap.page_blocks())
                yield from ((sitemap, block) for _, block in found)

    def of_stream(self, blocks: Iterable[tuple[str, PageBlock]]) -> Iterator[tuple[str, PageBlock]]:
        """Yield the selected pages of blocks that come with the URL of their sitemap.

        After the last one no further block is requested: it may not have arrived yet.
        """
        remaining = iter(blocks)
        while not self.over and (given := next(remaining, None)) is not None:
            sitemap_url, block = given
            if self.wants(sitemap_url):
                keep = self.keep(block)
                if all(keep):
                    yield sitemap_url, block
                elif any(keep):
                    yield sitemap_url, PickedPages(block, keep)

    def keep(self, block: PageBlock) -> list[bool]:
        """Return which pages of a block are selected."""
        urls = block.urls
        keep = [True] * len(urls)
        if self._by_url:
            keep = list(map(self._wants_url, urls))
        dates: list[datetime | None] = []
        if self._by_date:
            dates = dates_in(block)
            wanted = map(self._wants_date, dates)
            keep = [one and other for one, other in zip(keep, wanted, strict=True)]
        if self._seen is not None:
            new = self._seen.add_all(list(compress(urls, keep)))
            if new is not None:
                is_new = iter(new)
                keep = [wanted and next(is_new) for wanted in keep]
        if self._left is not None:
            numbers = accumulate(keep)
            keep = [one and at <= self._left for one, at in zip(keep, numbers, strict=True)]
            self._left -= sum(keep)
        undated = sum(date is None for date in compress(dates, keep))
        if undated and self._in_period and self._on_undated is not None:
            self._on_undated(undated)
        return keep

    def _wants_url(self, url: str) -> bool:
        if self._host is not None and not self._host.match(url):
            return False
        return self._patterns.match(url)

    def _wants_date(self, date: datetime | None) -> bool:
        if date is None:
            return self._keep_undated
        moment = in_utc(date)
        if self._first is not None and moment < self._first:
            return False
        return self._end is None or moment < self._end


def date_of(page: SitemapPage | PageFields) -> datetime | None:
    """Return when a page was last modified or, failing that, published.

    News and feeds mostly have the date of publication only.
    """
    if page.last_modified is not None or page.news_story is None:
        return page.last_modified
    return page.news_story.publish_date


def dates_in(block: PageBlock) -> list[datetime | None]:
    """Return that date of each page of a block."""
    return list(map(date_of, block.rows()))
