"""Reads the pages of a crawl that is still going on, in the order of the tree."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, repeat
from typing import TYPE_CHECKING

from usp._crawl.orders import PATIENCE, Arrival
from usp._crawl.stored_pages import StoredPages, UniquePages, page_blocks, page_steps
from usp._formats.document import DocumentParser
from usp.objects.page import PageBlock, SitemapPage, of_sitemap
from usp.objects.page_blocks import PageList

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._crawl.crawl import Crawl
    from usp._crawl.tree_slots import TreeSlot
    from usp.limits import Limits


class PageStream:
    """Yields the pages that can be read without waiting.

    They are in the order of the tree: documents that arrive before their turn wait in the store, and
    the one whose turn it is is read while it is received.
    """

    def __init__(self, crawl: Crawl, clock: Callable[[], float]) -> None:
        self._crawl = crawl
        self._settled: deque[TreeSlot] = deque()
        self._streamed: set[TreeSlot] = set()  # read while they were received
        self._growing: _Growing | None = None
        self._clock = clock
        self._current: TreeSlot | None = None  # whose document is being read
        self._reading = False  # whether pages are being read now
        self._count = 0
        self._full = False
        self._late = 0.0  # seconds of reading after the time of the crawl
        self._unread = False  # whether the time was over before everything was read

    @property
    def over(self) -> bool:
        """Whether there will be no more pages."""
        self._take_settled()
        done = self._crawl.complete and not self._settled and self._growing is None
        return done or self._full

    def must_wait(self, wake: Callable[[], object]) -> bool:
        """Return whether there are no more pages for now; ``wake`` is called when there may be.

        That is when more of the document that is being read has arrived.
        """
        growing = self._growing
        if growing is None or self._full:
            return True
        growing.arrival.call_once(wake)
        return not growing.has_more

    def steps(self) -> Iterator[tuple[str, PageBlock] | None]:
        """Yield the pages that have arrived, up to the limit, in blocks with the URL of their sitemap.

        None is yielded after a step without pages, so that others may go on.

        Reading ends soon after the time limit of the crawl, even if pages are left.
        """
        most, reading = self._crawl.limits.pages, self._ready()
        while self._late <= PATIENCE:
            began = self._clock()
            self._reading = True
            step = next(reading, None)
            if step is None:
                self._reading = False
                return
            now = self._clock()
            if now >= self._crawl.ends_at:
                self._late += now - began
            sitemap_url, block = step
            if block is None:
                yield None
                continue
            count = len(block.urls)
            room = count if most is None else most - self._count
            if count > room:
                self._count += room
                self._full = True
                self._crawl.end(self._crawl.limits.reached("pages"))
                if room:
                    yield sitemap_url, PageList(list(islice(block.pages(), room)))
                return
            self._count += count
            yield sitemap_url, block
        self._full = self._unread = True
        self._crawl.end(self._crawl.limits.reached("seconds"))

    def name_unread(self) -> None:
        """Record in the tree what was not read in time; called once the crawl is complete."""
        if not self._unread:
            return
        self._take_settled()
        reason = self._crawl.limits.reached("seconds")
        for slot in (self._current, *self._settled):
            if slot and slot.received and slot.received.probe.has_pages:
                slot.miss(reason)

    def interrupted(self, reason: Reason) -> None:
        """Go on with the next document if one was being read when the stream was interrupted.

        In the tree, that one will be incomplete.
        """
        if not self._reading:
            return
        self._reading = False
        if self._current is not None:
            self._current.miss(reason)
        self._growing = self._current = None

    def _take_settled(self) -> None:
        self._settled.extend(self._crawl.take_settled())

    def _ready(self) -> Iterator[tuple[str, PageBlock | None]]:
        while True:
            self._take_settled()
            if self._growing is None and not self._settled:
                self._begin_growing()
            if self._growing is not None:
                yield from zip(repeat(self._growing.url), self._growing.read(), strict=False)
                if not self._growing.over:
                    return
            elif self._settled:
                slot = self._current = self._settled.popleft()
                yield from zip(repeat(slot.final_url), self._blocks_of(slot), strict=False)
            else:
                return
            self._growing = self._current = None

    def _begin_growing(self) -> None:
        slot = self._crawl.awaited
        if slot is None or slot in self._streamed or slot.arrival is None:
            return
        if self._crawl.includes(slot):
            self._growing = _Growing(slot, slot.arrival, self._crawl.limits)
            self._current = slot
            self._streamed.add(slot)

    def _blocks_of(self, slot: TreeSlot) -> Iterable[PageBlock | None]:
        if slot.is_homepage or not self._crawl.includes(slot):  # called for every slot, in order
            return ()
        received = slot.received
        if received is None or slot in self._streamed or not received.probe.has_pages:
            return ()
        return StoredPages(received.document, slot.final_url, self._crawl.limits).steps()


def pages_of(blocks: Iterable[tuple[str, PageBlock]]) -> Iterator[SitemapPage]:
    """Yield the pages of blocks, each with the URL of its sitemap."""
    for sitemap_url, block in blocks:
        yield from of_sitemap(sitemap_url, block.pages())


class _Growing:
    """Reads a document that is still being received, as far as it has arrived.

    If it breaks off and is requested again, the remaining pages are read from the final document.
    """

    def __init__(self, slot: TreeSlot, arrival: Arrival, limits: Limits) -> None:
        self.arrival = arrival
        self.over = False
        self._slot = slot
        self._limits = limits
        self.url = slot.final_url
        self._given = UniquePages(limits.url_length)
        self._parser = DocumentParser(self.url, arrival.exchange, fast=True, limits=limits)
        self._position = 0

    @property
    def has_more(self) -> bool:
        return self._slot.is_there or self.arrival.writer.size > self._position

    def read(self) -> Iterator[PageBlock | None]:
        """Yield the pages that have arrived since the last call, and None after a step without any."""
        while True:
            settled = self._slot.is_there  # checked first, so that nothing is missed
            chunk = self.arrival.writer.read(self._position)
            if chunk:
                self._position += len(chunk)
                yield from page_steps(self._parser.steps(chunk), self._given)
                continue
            if settled:
                yield from self._rest()
                self.over = True
            return

    def _rest(self) -> Iterator[PageBlock | None]:
        received = self._slot.received
        if received is None or received.document is self.arrival.document:
            broken = received.document.exchange.broken if received else self._slot.reason
            return page_blocks(self._parser.close(broken), self._given)
        return StoredPages(received.document, self.url, self._limits).steps(self._given)
