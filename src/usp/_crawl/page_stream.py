"""Reads the pages of a crawl that is still going on, in the order of the tree."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from usp._crawl.orders import PATIENCE, Arrival, FetchOrder, Received, TreeSlot
from usp._crawl.stored_pages import StoredPages, UniquePages, first_pages, page_steps
from usp._formats.document import DocumentParser
from usp.objects.page import PageBlock, SitemapPage, of_sitemap

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._crawl.crawl import Crawl


_WAIT: Any = object()  # what a document yields while more of it has to arrive


class PageStream:
    """Yields the pages that can be read without waiting.

    They are in the order of the tree: documents that arrive before their turn wait in the store, and
    the one whose turn it is is read while it is received. If the crawl collects those that have
    ``arrived``, nothing waits for its turn: each is read once it is there as a whole.
    """

    def __init__(self, crawl: Crawl, clock: Callable[[], float]) -> None:
        self._crawl = crawl
        self._clock = clock
        self._decided: deque[TreeSlot] = deque()
        self._streamed: set[TreeSlot] = set()  # read while they were received
        self._early: set[FetchOrder | None] = set()  # read before their turn
        self._current: TreeSlot | None = None  # whose document is being read
        self._url = ""  # of its sitemap
        self._blocks: Iterator[PageBlock | None] = iter(())
        self._arrival: Arrival | None = None  # the same document, if it is still being received
        self._position = 0  # how far that was read
        self.is_reading = False  # whether pages are being read now
        self.count = 0
        self._full = False
        self._late = 0.0  # seconds of reading after the time of the crawl
        self._unread = False  # whether the time was over before everything was read

    @property
    def over(self) -> bool:
        """Whether there will be no more pages."""
        self._take_decided()
        done = self._crawl.complete and not self._decided and self._current is None
        return done or self._full

    def must_wait(self, wake: Callable[[], object]) -> bool:
        """Return whether there are no more pages for now; ``wake`` is called when there may be.

        That is when more of the document that is being read has arrived.
        """
        slot, arrival = self._current, self._arrival
        if slot is None or arrival is None or self._full:
            return True
        arrival.wake = wake
        return not slot.is_there and arrival.writer.size <= self._position

    def steps(self) -> Iterator[tuple[str, PageBlock] | None]:
        """Yield the pages that have arrived, up to the limit, in blocks with the URL of their sitemap.

        None is yielded after a step without pages, so that others may go on.

        Reading ends soon after the time limit of the crawl, even if pages are left.
        """
        most = self._crawl.limits.pages
        while self._late <= PATIENCE:
            began = self._clock()
            self.is_reading = True
            step = self._next()
            if step is None:
                self.is_reading = False
                return
            now = self._clock()
            if now >= self._crawl.ends_at:
                self._late += now - began
            sitemap_url, block = step
            if block is None:
                yield None
                continue
            if most is not None and self.count + len(block.urls) > most:
                block = first_pages(block, most - self.count)
                self._full = True
                self._crawl.end(self._crawl.limits.reached("pages"))
            self.count += len(block.urls)
            if block.urls:
                yield sitemap_url, block
            if self._full:
                return
        self._full = self._unread = True
        self._crawl.end(self._crawl.limits.reached("seconds"))

    def name_unread(self) -> None:
        """Record in the tree what was not read in time; called once the crawl is complete."""
        if not self._unread:
            return
        self._take_decided()
        reason = self._crawl.limits.reached("seconds")
        for slot in (self._current, *self._decided):
            is_read = slot is not None and slot.order in self._early
            if slot and slot.received and slot.received.probe.has_pages and not is_read:
                slot.miss(reason)

    def interrupted(self, reason: Reason) -> None:
        """Go on with the next document if one was being read when the stream was interrupted.

        In the tree, that one will be incomplete.
        """
        if not self.is_reading:
            return
        self.is_reading = False
        if self._current is not None:
            self._current.miss(reason)
        self._current = self._arrival = None

    def _take_decided(self) -> None:
        self._decided.extend(self._crawl.take_decided())

    def _next(self) -> tuple[str, PageBlock | None] | None:
        """Return the next step, with the URL of its sitemap; None if there is none for now."""
        while self._current is not None or self._begin():
            for block in self._blocks:
                return None if block is _WAIT else (self._url, block)
            self._current = self._arrival = None
        return None

    def _begin(self) -> bool:
        """Begin with the document whose turn it is; return False if nothing of it has arrived."""
        self._take_decided()
        if self._decided:
            slot = self._current = self._decided.popleft()  # at once: it is missed if interrupted
            self._blocks = iter(self._blocks_of(slot))
        elif self._crawl.arrived is not None:
            early = self._before_its_turn(self._crawl.arrived)
            if early is None:
                return False
            slot = self._current = early
            self._blocks = self._stored(slot)
        else:
            awaited = self._crawl.awaited
            arrival = awaited.arrival if awaited and awaited not in self._streamed else None
            if awaited is None or arrival is None or not self._crawl.includes(awaited):
                return False
            slot = self._current = awaited
            self._arrival, self._position = arrival, 0
            self._streamed.add(slot)
            self._blocks = self._growing(slot, arrival)
        self._url = slot.final_url
        return True

    def _blocks_of(self, slot: TreeSlot) -> Iterable[PageBlock | None]:
        if slot.is_homepage or not self._crawl.includes(slot):  # called for every slot, in order
            return ()
        received = slot.received
        if received is None or slot in self._streamed or not received.probe.has_pages:
            return ()
        if self._crawl.arrived is not None and slot.order is not None:
            self._crawl.arrived.get(slot.order.position[0], {}).pop(slot.order, None)
            if slot.order in self._early:  # in the tree for a second time, it is read again
                self._early.discard(slot.order)
                return ()
        return self._stored(slot)

    def _stored(self, slot: TreeSlot) -> Iterator[PageBlock | None]:
        assert slot.received is not None
        return iter(StoredPages(slot.received.document, slot.final_url, self._crawl.limits).steps())

    def _before_its_turn(self, arrived: dict[int, dict[FetchOrder, None]]) -> TreeSlot | None:
        """Return a slot for a document that has arrived, if what is above it is in the tree.

        That is not known of what a homepage links to.
        """
        for at, orders in arrived.items():
            root = self._crawl.wanted[at]
            if orders and root.received and not root.is_homepage and self._crawl.includes(root):
                order = next(iter(orders))
                del orders[order]
                self._early.add(order)
                assert isinstance(order.result, Received)
                return TreeSlot(order.url, order=order, received=order.result)
        return None

    def _growing(self, slot: TreeSlot, arrival: Arrival) -> Iterator[PageBlock | None]:
        """Yield the pages of a document as far as it has arrived, and ``_WAIT`` for more of it.

        If it breaks off and is requested again, the remaining pages are read from the final document.
        """
        url, limits = slot.final_url, self._crawl.limits
        unique = UniquePages(limits.url_length)
        parser = DocumentParser(url, arrival.exchange, fast=True, limits=limits)
        while True:
            is_there = slot.is_there  # checked first, so that nothing is missed
            chunk = arrival.writer.read(self._position)
            if chunk:
                self._position += len(chunk)
                yield from page_steps(parser.steps(chunk), unique)
            elif is_there:
                break
            else:
                yield _WAIT
        received = slot.received
        if received is None or received.document is arrival.document:
            broken = received.document.exchange.broken if received else slot.reason
            yield from page_steps([parser.close(broken)], unique)
        else:
            yield from StoredPages(received.document, url, limits).steps(unique)


def pages_of(blocks: Iterable[tuple[str, PageBlock]]) -> Iterator[SitemapPage]:
    """Yield the pages of blocks, each with the URL of its sitemap."""
    for sitemap_url, block in blocks:
        yield from of_sitemap(sitemap_url, block.pages())
