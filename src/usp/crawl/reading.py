"""Reads the pages of a crawl while it goes on, in the order of the tree."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from usp.crawl.pages import PageReader, StoredPages
from usp.objects.sitemap import AbstractPagesSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from usp.crawl.crawl import Crawl
    from usp.crawl.fetch import Arrival
    from usp.crawl.places import Place
    from usp.objects.page import SitemapPage


class PageStream:
    """Gives the pages that can be read without waiting, each time it is asked.

    They come in the order of the tree: what comes in before its turn waits in the store. The
    document whose turn it is, is read while it comes in. ``holds`` says whether what is below a
    place at the top is in the tree at all.
    """

    def __init__(self, crawl: Crawl, holds: Callable[[Place], bool]) -> None:
        self._crawl = crawl
        self._holds = holds
        self._settled: deque[Place] = deque()
        crawl.settled = self._settled
        self._growing: _Growing | None = None

    @property
    def over(self) -> bool:
        """Whether there will be no more pages."""
        return self._crawl.complete and not self._settled and self._growing is None

    @property
    def waits_for(self) -> Arrival | None:
        """The document that must grow before there are more pages, if it is coming in."""
        return self._growing.arrival if self._growing else None

    @property
    def can_go_on(self) -> bool:
        """Whether more of that document has come than is read."""
        return self._growing is not None and self._growing.has_more

    def ready(self) -> Iterator[SitemapPage]:
        """Give the pages that are there."""
        while True:
            if self._growing is not None:
                yield from self._growing.read()
                if not self._growing.over:
                    return
                self._growing = None
            elif self._settled:
                yield from self._pages_of(self._settled.popleft())
            elif not self._begin_growing():
                return

    def _begin_growing(self) -> bool:
        place = self._crawl.awaited
        if place is None or place.streamed or place.arrival is None or not self._wanted(place):
            return False
        self._growing = _Growing(place, place.arrival)
        place.streamed = True
        return True

    def _wanted(self, place: Place) -> bool:
        return self._holds(self._crawl.top_of(place))

    def _pages_of(self, place: Place) -> Iterable[SitemapPage]:
        if place.is_homepage or not self._wanted(place):  # asked for every place, in order
            return ()
        received = place.received
        if received is None or place.streamed:
            return ()
        kind = received.look.kind
        has_pages = kind is not None and issubclass(kind, AbstractPagesSitemap)
        if not has_pages and received.look.pages_at is None:
            return ()
        return _from(place.final_url, StoredPages(received.document, place.final_url))


def _from(sitemap_url: str, pages: Iterable[SitemapPage]) -> Iterator[SitemapPage]:
    for page in pages:
        page._sitemap_url = sitemap_url  # noqa: SLF001 - pages of a stream know where they are from
        yield page


class _Growing:
    """Reads a document that is still coming in, as far as it has come."""

    def __init__(self, place: Place, arrival: Arrival) -> None:
        self.arrival = arrival
        self.over = False
        self._url = place.final_url
        self._reader = PageReader(self._url, arrival.exchange)
        self._position = 0

    @property
    def has_more(self) -> bool:
        return self.arrival.over or self.arrival.writer.size > self._position

    def read(self) -> Iterator[SitemapPage]:
        """Give the pages of what has come since the last time."""
        while True:
            no_more = self.arrival.over  # asked first: what comes after is not missed
            chunk = self.arrival.writer.read(self._position)
            if chunk:
                self._position += len(chunk)
                yield from _from(self._url, self._reader.feed(chunk))
            elif no_more:
                yield from _from(self._url, self._reader.close())
                self.over = True
                return
            else:
                return
