"""Chooses pages, one by one or in blocks, and remembers what was given."""

from __future__ import annotations

from itertools import chain, compress, islice
from typing import TYPE_CHECKING

from usp._base.dates import in_utc, known_date
from usp.objects.page import PageList
from usp.objects.sitemap import AbstractPagesSitemap

if TYPE_CHECKING:
    import re
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Patterns


class SelectionRun:
    """One pass over pages, which remembers what it gave."""

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
        """Whether as many pages were given as are wanted."""
        return self._left == 0

    def wants(self, sitemap_url: str) -> bool:
        """Return whether the pages of a sitemap are wanted at all."""
        return self._sitemaps.match(sitemap_url)

    def pages(self, pages: Iterable[SitemapPage]) -> Iterator[SitemapPage]:
        """Return the wanted ones of pages; nothing more is asked for once there are enough."""
        remaining = iter(pages)
        while not self.over and (page := next(remaining, None)) is not None:
            if self._wants_page(page):
                yield page

    def _wants_page(self, page: SitemapPage) -> bool:
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
        """Return what is wanted of ``tree.page_blocks()``; a sitemap that is not wanted is not read."""
        for sitemap in _page_sitemaps(tree):
            if self.over:
                return
            if self.wants(sitemap.url):
                yield from self.of_blocks(sitemap.page_blocks())

    def of_blocks(
        self, blocks: Iterable[tuple[AbstractSitemap, PageBlock]]
    ) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Return what is wanted of blocks; one of which nothing is wanted is left out."""
        for sitemap, block in blocks:
            if self.over:
                return
            wanted = self._of_block(block) if self.wants(sitemap.url) else None
            if wanted is not None:
                yield sitemap, wanted

    def of_stream(self, blocks: Iterable[tuple[str, PageBlock]]) -> Iterator[tuple[str, PageBlock]]:
        """Yield what is wanted of blocks that come with the address of their sitemap.

        Nothing more is asked for once there are enough: the next block may not be here yet.
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
        texts = None
        dates: list[datetime | None] = []
        if self._by_date:
            texts = block.texts()
            if texts is None:  # the pages must be asked, and then remember what they said
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
        return _Picked(block, keep, texts) if count else None

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
        """Say how many pages were given although nobody knows whether they are of the period."""
        if count and self._in_period and self._on_undated is not None:
            self._on_undated(count)

    def _wants_date(self, date: datetime | None) -> bool:
        if date is None:
            return self._keep_undated
        moment = in_utc(date)
        if self._first is not None and moment < self._first:
            return False
        return self._end is None or moment < self._end


class _Picked:
    """Some pages of a block."""

    __slots__ = ("_block", "_keep", "_texts", "urls")

    def __init__(
        self, block: PageBlock, keep: list[bool], texts: Mapping[str, Sequence[str]] | None
    ) -> None:
        self._block = block
        self._keep = keep
        self._texts = texts
        self.urls = list(compress(block.urls, keep))

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages, in order."""
        return compress(self._block.pages(), self._keep)

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields in columns, if the block has them so."""
        texts = self._block.texts() if self._texts is None else self._texts
        if texts is None:
            return None
        return {name: list(compress(column, self._keep)) for name, column in texts.items()}


def date_of(page: SitemapPage) -> datetime | None:
    """Return when a page changed, or else when it was published.

    News and feeds say when a story was published, and mostly nothing else.
    """
    if page.last_modified is not None or page.news_story is None:
        return page.last_modified
    return page.news_story.publish_date


def _sitemap_of(page: SitemapPage) -> str:
    if page.sitemap_url is None:
        raise ValueError(
            "patterns for sitemaps need pages that know their sitemap: "
            "hand in the tree, or the pages of usp.stream"
        )
    return page.sitemap_url


def _page_sitemaps(tree: AbstractSitemap) -> Iterator[AbstractSitemap]:
    return (
        node
        for node in chain((tree,), tree.all_sitemaps())
        if isinstance(node, AbstractPagesSitemap)
    )
