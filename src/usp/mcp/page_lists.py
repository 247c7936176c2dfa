"""Lists of pages that match, in order: found in one pass over a tree, then read part by part.

A list is an array of places, eight bytes each: which sitemap, and which page of it. So its parts belong
together, the last one comes as quickly as the first, and only pages that are returned become objects.
"""

from __future__ import annotations

from array import array
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress
from typing import TYPE_CHECKING

from usp._base.dates import in_utc, known_date
from usp._crawl.seen_urls import SeenUrls
from usp.mcp.reading import page_sitemaps
from usp.selection import date_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from usp.mcp.reading import Reading
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Selection, SelectionRun

MOST_PLACES = 2_000_000
"""Places in all lists that are kept: 16 MB."""

_BITS = 32  # of the number of a page in its sitemap


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which pages are listed, and in which order.

    ``contains`` is a text, in lower case, that the URL or the title has. Without ``keep_undated`` pages
    without a date are only counted.
    """

    selection: Selection
    contains: str = ""
    keep_undated: bool = True
    newest_first: bool = True


@dataclass(frozen=True, slots=True)
class PageList:
    """The places of pages, in order, and how many of those that match have no date."""

    places: array[int]
    undated: int

    def pages(
        self, reading: Reading, tree: AbstractSitemap, begin: int, most: int
    ) -> list[tuple[SitemapPage, str]]:
        """Return some of the pages, each with the URL of its sitemap."""
        places = self.places[begin : begin + most]
        numbers: dict[int, set[int]] = {}
        for place in places:
            numbers.setdefault(place >> _BITS, set()).add(place & ((1 << _BITS) - 1))
        found: dict[int, tuple[SitemapPage, str]] = {}
        for number, sitemap in enumerate(page_sitemaps(tree)):
            for at, page in _read(reading, sitemap, numbers.get(number, set())):
                found[number << _BITS | at] = page, sitemap.url
        return [found[place] for place in places if place in found]


def _read(
    reading: Reading, sitemap: AbstractSitemap, numbers: set[int]
) -> Iterator[tuple[int, SitemapPage]]:
    """Yield the pages of a sitemap that have these numbers; no more of it is read than that takes."""
    if not numbers:
        return
    first = 0
    for _, block in reading.blocks(sitemap):
        end = first + len(block.urls)
        if any(first <= number < end for number in numbers):
            pages = enumerate(block.pages(), first)
            yield from ((at, page) for at, page in pages if at in numbers)
        first = end
        if first > max(numbers):
            return


def find_pages(reading: Reading, tree: AbstractSitemap, wanted: Wanted) -> PageList:
    """Return the list of the pages of a tree that are wanted, each URL once."""
    sitemaps = list(page_sitemaps(tree))
    run = wanted.selection.run(tree.url)
    seen = SeenUrls() if len(sitemaps) > 1 else None  # one sitemap has each URL only once
    places: array[int] = array("Q")
    stamps: array[float] = array("d")
    undated = 0
    for number, sitemap in enumerate(sitemaps):
        if not run.wants(sitemap.url):
            continue
        first = number << _BITS
        for _, block in reading.blocks(sitemap):
            chosen = _matching(block, run, wanted.contains, sitemap)
            if seen is not None:
                new = seen.add_all([block.urls[at] for at in chosen])
                chosen = chosen if new is None else list(compress(chosen, new))
            times = _stamps(block)
            if len(chosen) < len(times):
                times = [times[at] for at in chosen]
            without = times.count(None)
            undated += without
            if without and not wanted.keep_undated:
                dated = [time is not None for time in times]
                chosen, times = list(compress(chosen, dated)), list(compress(times, dated))
            places.extend([first + at for at in chosen])
            stamps.extend([-_LATEST if time is None else time for time in times])
            first += len(block.urls)
    if wanted.newest_first:
        order = sorted(range(len(places)), key=stamps.__getitem__, reverse=True)  # stable
        places = array("Q", map(places.__getitem__, order))
    return PageList(places, undated)


def _matching(
    block: PageBlock, run: SelectionRun, contains: str, sitemap: AbstractSitemap
) -> Sequence[int]:
    """Return the numbers of the pages of a block that match."""
    selected = next((part for _, part in run.of_blocks([(sitemap, block)])), None)
    if selected is None:
        return ()
    chosen: Sequence[int] = range(len(block.urls))
    if len(selected.urls) < len(block.urls):
        remaining = iter(enumerate(block.urls))  # both in the same order, and each URL once
        chosen = [next(at for at, one in remaining if one == url) for url in selected.urls]
    if not contains:
        return chosen
    texts: Callable[[int], str] = block.urls.__getitem__
    if block.texts() is None:  # only then pages have anything but dates and the like
        stories = [page.news_story for page in block.pages()]
        titles = ["" if story is None else story.title or "" for story in stories]
        urls = block.urls
        texts = lambda at: f"{urls[at]}\n{titles[at]}"  # noqa: E731 - of this block
    return [at for at in chosen if contains in texts(at).casefold()]


_LATEST = 1e18  # seconds; no date has so many


def _stamps(block: PageBlock) -> list[float | None]:
    """Return the dates of the pages of a block, in seconds."""
    texts = block.texts()
    if texts is not None:
        column = texts.get("lastmod", [""] * len(block.urls))
        known = {text: _stamp(text) for text in set(column)}
        return [known[text] for text in column]
    dates = (date_of(page) for page in block.pages())
    return [None if date is None else in_utc(date).timestamp() for date in dates]


@lru_cache(maxsize=65_536)
def _stamp(text: str) -> float | None:
    date = known_date(text)
    return None if date is None else in_utc(date).timestamp()


class PageLists:
    """Keeps the last lists, so that their next parts need not find them again; in bounded memory."""

    def __init__(self, most: int = MOST_PLACES) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[str, str], PageList] = OrderedDict()

    def get(self, key: tuple[str, str]) -> PageList | None:
        """Return a list that is kept."""
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def keep(self, key: tuple[str, str], pages: PageList) -> None:
        """Keep a list, as long as there is room."""
        self._kept[key] = pages
        while sum(len(one.places) for one in self._kept.values()) > self._most:
            self._kept.popitem(last=False)
