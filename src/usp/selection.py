"""Filters for pages: by date, by URL, each URL once, up to a number."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from itertools import chain, compress, groupby, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, overload

from usp._base.dates import in_utc, known_date
from usp._base.filters import Moment, Patterns, checked, for_pages, for_sitemaps, moment, period
from usp._base.urls import url_parts
from usp.objects.page_blocks import PageList, PickedPages
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap
from usp.options import CrawlOptions

__all__ = [
    "Moment",
    "Selection",
    "SelectionRun",
]

if TYPE_CHECKING:
    from collections.abc import AsyncIterable, Callable, Iterable, Iterator, Sequence
    from datetime import datetime

    from usp.objects.page import PageBlock, SitemapPage

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
    _first: datetime | None = field(init=False, repr=False, compare=False)
    _end: datetime | None = field(init=False, repr=False, compare=False)
    _pages: Patterns = field(init=False, repr=False, compare=False)
    _sitemaps: Patterns = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = {name: checked(name, getattr(self, name)) for name in ("include", "exclude")}
        most: object = self.limit
        whole = isinstance(most, int) and not isinstance(most, bool)
        if most is not None and not (whole and most >= 0):  # type: ignore[operator]
            raise ValueError(f"limit must be a non-negative integer or None, not {most!r}")
        since, until = self.since, self.until  # as they were written
        for name in ("since", "until"):
            if getattr(self, name) is not None:
                object.__setattr__(self, name, moment(name, getattr(self, name)))
        values: dict[str, Any] = {
            **given,
            "_first": None if self.since is None else period("since", self.since)[0],
            "_end": None if self.until is None else period("until", self.until)[1],
            "_pages": Patterns.of(*map(for_pages, given.values())),
            "_sitemaps": Patterns.of(*map(for_sitemaps, given.values())),
        }
        first, end = values["_first"], values["_end"]
        if first is not None and end is not None and first >= end:
            raise ValueError(f"since {since} is after until {until}")
        for name, value in values.items():
            object.__setattr__(self, name, value)

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
        blocks = pages.page_blocks()
        if not self.takes_all:
            blocks = self.run(site or pages.url).blocks(pages)
        return ((sitemap.url, block) for sitemap, block in blocks)

    def run(self, site: str | None = None) -> SelectionRun:
        """Return a new run, to which ``unique`` and ``limit`` apply as a whole."""
        return SelectionRun(
            patterns=self._pages,
            sitemaps=self._sitemaps,
            period=(self._first, self._end),
            keep_undated=self.keep_undated,
            unique=self.unique,
            limit=self.limit,
            host=of_host(site) if self.same_host else None,
            on_undated=self.on_undated,
        )


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

    def __init__(
        self,
        *,
        patterns: Patterns,
        sitemaps: Patterns,
        period: tuple[datetime | None, datetime | None],
        keep_undated: bool,
        unique: bool,
        limit: int | None,
        host: re.Pattern[str] | None,
        on_undated: Callable[[int], object] | None = None,
    ) -> None:
        self._patterns = patterns
        self._sitemaps = sitemaps
        self._first, self._end = period
        self._keep_undated = keep_undated
        self._seen: set[str] | None = set() if unique else None
        self._left = limit
        self._host = host
        self._by_url = bool(patterns) or self._host is not None
        self._on_undated = on_undated
        self._in_period = period != (None, None)
        self._by_date = self._in_period or not keep_undated

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
        if self._sitemaps and not self.wants(_sitemap_of(page)):
            return False
        if self._by_url and not self._wants_url(page.url):
            return False
        date = date_of(page) if self._by_date else None
        if self._by_date and not self._wants_date(date):
            return False
        if self._seen is not None:
            if page.url in self._seen:
                return False
            self._seen.add(page.url)
        if self._left is not None:
            self._left -= 1
        if date is None:
            self._tell_undated(1)
        return True

    def blocks(self, tree: AbstractSitemap) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the selected pages of ``tree.page_blocks()``; excluded sitemaps are not parsed."""
        for sitemap in _page_sitemaps(tree):
            if self.over:
                return
            if self.wants(sitemap.url):
                yield from self.of_blocks(sitemap.page_blocks())

    def of_blocks(
        self, blocks: Iterable[tuple[AbstractSitemap, PageBlock]]
    ) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the selected pages of blocks; a block without any is left out."""
        for sitemap, block in blocks:
            if self.over:
                return
            wanted = self._of_block(block) if self.wants(sitemap.url) else None
            if wanted is not None:
                yield sitemap, wanted

    def of_stream(self, blocks: Iterable[tuple[str, PageBlock]]) -> Iterator[tuple[str, PageBlock]]:
        """Yield the selected pages of blocks that come with the URL of their sitemap.

        After the last one no further block is requested: it may not have arrived yet.
        """
        remaining = iter(blocks)
        while not self.over and (given := next(remaining, None)) is not None:
            sitemap_url, block = given
            wanted = self._of_block(block) if self.wants(sitemap_url) else None
            if wanted is not None:
                yield sitemap_url, wanted

    def _of_block(self, block: PageBlock) -> PageBlock | None:
        urls = block.urls
        keep = [True] * len(urls)
        if self._by_url:
            keep = list(map(self._wants_url, urls))
        dates: list[datetime | None] = []
        if self._by_date:
            texts = block.texts()
            if texts is None:  # the pages have to be created; they keep what was parsed
                pages = list(block.pages())
                block = PageList(pages)
                dates = list(map(date_of, pages))
            elif "lastmod" in texts:  # a block that has columns has no news
                dates = list(map(known_date, texts["lastmod"]))
            else:
                dates = [None] * len(urls)
            wanted = map(self._wants_date, dates)
            keep = [one and other for one, other in zip(keep, wanted, strict=True)]
        if self._seen is not None:
            keep = [wanted and self._is_new(url) for wanted, url in zip(keep, urls, strict=True)]
        if self._left is not None:
            keep = self._up_to_limit(keep)
        self._tell_undated(sum(date is None for date in compress(dates, keep)))
        count = sum(keep)
        if count == len(urls):
            return block
        return PickedPages(block, keep) if count else None

    def _is_new(self, url: str) -> bool:
        assert self._seen is not None
        before = len(self._seen)
        self._seen.add(url)
        return len(self._seen) > before

    def _up_to_limit(self, keep: list[bool]) -> list[bool]:
        assert self._left is not None
        wanted = list(islice((at for at, one in enumerate(keep) if one), self._left))
        full = len(wanted) == self._left
        self._left -= len(wanted)
        if not full:
            return keep
        end = wanted[-1] + 1 if wanted else 0
        return keep[:end] + [False] * (len(keep) - end)

    def _wants_url(self, url: str) -> bool:
        if self._host is not None and not self._host.match(url):
            return False
        return self._patterns.match(url)

    def _tell_undated(self, count: int) -> None:
        """Report how many pages without a date were kept although a period was requested."""
        if count and self._in_period and self._on_undated is not None:
            self._on_undated(count)

    def _wants_date(self, date: datetime | None) -> bool:
        if date is None:
            return self._keep_undated
        moment = in_utc(date)
        if self._first is not None and moment < self._first:
            return False
        return self._end is None or moment < self._end


def date_of(page: SitemapPage) -> datetime | None:
    """Return when a page was last modified or, failing that, published.

    News and feeds mostly have the date of publication only.
    """
    if page.last_modified is not None or page.news_story is None:
        return page.last_modified
    return page.news_story.publish_date


def _sitemap_of(page: SitemapPage) -> str:
    if page.sitemap_url is None:
        raise ValueError(
            "patterns for sitemaps need pages that know their sitemap: "
            "pass the tree, or the pages of usp.stream"
        )
    return page.sitemap_url


def _page_sitemaps(tree: AbstractSitemap) -> Iterator[AbstractSitemap]:
    return (
        node
        for node in chain((tree,), tree.all_sitemaps())
        if isinstance(node, AbstractPagesSitemap)
    )
