"""Drives a crawl on threads, from start to end; and what both drivers share, in ``DriverCore``."""

from __future__ import annotations

import math
import queue
import threading
import time
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from usp._base import shortage
from usp._base.reason import Reason
from usp._base.urls import read_url
from usp._crawl.crawl import Crawl
from usp._crawl.fetch import client_for, concurrency_of, fetch_document
from usp._crawl.orders import (
    GIVEN_UP,
    PATIENCE,
    Arrival,
    Failed,
    FetchOrder,
    HasEarlierResults,
    Received,
)
from usp._crawl.receiver import FetchContext, failure_from
from usp._store import Store
from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from usp._crawl.page_stream import PageStream
    from usp._crawl.website import OneSitemap, Search, Website
    from usp.web_client.abstract_client import AbstractWebClient

FetchUpdate: TypeAlias = tuple[FetchOrder, Received | Failed | Arrival]
"""The result of an order, or a document that has begun to arrive."""

INTERRUPTED = Reason(FailureCode.INTERRUPTED, "the crawl was interrupted")
"""Why a crawl ends on Ctrl-C if what was found is to be kept."""

_TOTAL_FACTOR = 2  # total requests of a crawl at a time, as a multiple of those to one host
_HEAD_START = 0.003  # seconds
_IDLE = 1.0  # seconds without a new page after which progress is not shown


class DriverCore:
    """Passes orders, results and events between a crawl and its driver, and keeps the time.

    ``top`` is the top of the tree. With a kind of ``stream``, pages are read while documents are
    received: they are in it. What is recorded is in place when the driver is closed.
    """

    wake: Callable[[], object]
    """End the wait of a step; may be called from any thread."""

    _announce: Callable[[FetchOrder, Arrival], object] | None = None

    def __init__(self, search: Search, client: Any, stream: type[PageStream] | None) -> None:
        options, most = search.options, concurrency_of(client)
        self._listeners = [] if options.on_event is None else [options.on_event]
        self._shown: AbstractContextManager[None] = nullcontext()
        if options.progress:
            from usp._base.progress_line import Progress, shown  # noqa: PLC0415 - few ask for it

            self._progress = Progress()
            self._progress_at = 0.0  # when pages were last asked for
            self._shown = shown(self._progress, self._is_idle)
            self._listeners.append(self._progress)
        self.crawl = Crawl(options, per_host=most, start=read_url(search.start_url))
        self.top = search.begin(self.crawl)
        self.stream = None if stream is None else stream(self.crawl, time.monotonic)
        self._most = most * _TOTAL_FACTOR if most > 1 else 1  # requests in progress, in total
        self._busy = 0
        self._is_stopped = False  # the results are no longer wanted
        self._ends_at: float | None = None
        self._others_at = 0.0  # when other requests may follow the first one, once it was sent
        self._starved = False  # whether there were fewer descriptors than room
        record = search.record
        if record is None and options.record is not None:
            from usp._snapshot.recording import SnapshotRecorder  # noqa: PLC0415 - an extra

            record = SnapshotRecorder(options.record, options).begin
        self._recorder = None if record is None else record(self.crawl, self.top)
        known = (one for one in (client, self._recorder) if isinstance(one, HasEarlierResults))
        earlier = next(known, None)
        if earlier and callable(getattr(type(client), "set_conditions", None)):
            client.set_conditions(earlier.conditions())
        limits = self.crawl.limits
        given = (client, Store(spool=limits.spool_bytes), limits, self._stop_reason)
        announce, names = self._announce if stream else None, search.options.use_neighbours
        self._context = FetchContext(*given, announce, earlier, names_hosts=names)

    def _is_idle(self) -> bool:
        """Return whether nobody asks for pages, and count those that were given."""
        stream, progress, now = self.stream, self._progress, time.monotonic()
        if stream is None or not stream.is_reading or progress.pages != stream.count:
            self._progress_at = now
        progress.pages = stream.count if stream else 0
        return now - self._progress_at > _IDLE

    def _orders(self) -> list[FetchOrder]:
        """Return what to fetch now, as far as there is room and a descriptor for it."""
        wanted, now = self._most - self._busy, time.monotonic()
        if not self._others_at:
            self._others_at = now + _HEAD_START
            wanted = min(wanted, 1)
        else:
            self._others_at = math.inf
        granted = shortage.begin(wanted)
        orders = self.crawl.next_fetches(granted, now)
        shortage.give_back(granted - len(orders))
        self._starved = granted < wanted
        self._busy += len(orders)
        self._flush_events()
        return orders

    def _take(self, update: FetchUpdate) -> None:
        order, what = update
        if isinstance(what, Arrival):
            self.crawl.arriving(order, what)
        else:
            self._busy -= 1
            shortage.give_back(1)
            self.crawl.finished(order, what, time.monotonic())
        self._flush_events()

    def _flush_events(self) -> None:
        if self._recorder is not None:
            self._recorder.take(self.crawl.take_documents())
        for event in self.crawl.take_events() if self._listeners else ():
            for listener in self._listeners:
                listener(event)

    def _stop_reason(self) -> Reason | None:
        """Return why a fetch should end, if it should; may be called from any thread."""
        crawl = self.crawl
        if self._is_stopped:
            return GIVEN_UP
        if crawl.ending is None and time.monotonic() >= crawl.ends_at:
            return crawl.limits.reached("seconds")
        return crawl.ending

    def _pause(self) -> float | None:
        """Return the maximum number of seconds to wait for an update; None for no maximum."""
        now, crawl = time.monotonic(), self.crawl
        if crawl.ending is not None:
            self._ends_at = self._ends_at or now + PATIENCE
            if now >= self._ends_at:
                crawl.abandon()
            return max(0.0, self._ends_at - now)
        if self.stream is not None and not self.stream.must_wait(self.wake):
            return 0.0
        # A request that is due can begin only when there is room, and room comes with updates.
        wake_at = min(crawl.wake_at(room=self._busy < self._most), self._others_at)
        if self._starved:  # descriptors may be closed without notice
            wake_at = min(wake_at, now + shortage.PAUSE)
        return None if wake_at == math.inf else max(0.0, wake_at - now)

    def interrupted(self) -> bool:
        """End the crawl, and return True if what was found is to be kept; not a second time."""
        if not self.crawl.options.keep_partial or self.crawl.ending == INTERRUPTED:
            return False
        self.crawl.end(INTERRUPTED)
        if self.stream is not None:
            self.stream.interrupted(INTERRUPTED)
        return True


class ThreadDriver(DriverCore):
    """Drives a crawl, step by step; events are emitted in the driving thread.

    A context manager: leaving it ends the threads, which start when they are needed. A client that
    allows one request at a time is called in the driving thread, unless ``any_thread`` is set.
    """

    def __init__(
        self,
        search: Search,
        client: AbstractWebClient,
        *,
        any_thread: bool = False,
        stream: type[PageStream] | None = None,
    ) -> None:
        self._in_threads = any_thread or concurrency_of(client) > 1
        self._to_fetch: queue.SimpleQueue[FetchOrder | None] = queue.SimpleQueue()
        self._updates: queue.SimpleQueue[FetchUpdate | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self.wake = partial(self._updates.put, None)
        if self._in_threads:
            self._announce = self._put
        super().__init__(search, client, stream)

    def __enter__(self) -> Self:
        self._shown.__enter__()
        return self

    def __exit__(self, kind: type[BaseException] | None, *exception: object) -> None:
        """End the threads; those that are still receiving end by themselves soon after."""
        self._is_stopped = True
        done = False
        try:
            for _ in self._threads:
                self._to_fetch.put(None)
            if self._busy and getattr(self._context.client, "is_ours", None) is True:
                self._context.client.abort()
            deadline = time.monotonic() + PATIENCE
            for thread in self._threads:
                thread.join(max(0.0, deadline - time.monotonic()))
            done = kind is None
        finally:
            self._shown.__exit__(None, None, None)
            if self._recorder is not None:
                self._recorder.close(keep=done)

    def step(self) -> None:
        """Start new orders and process one update; wait for it if the stream has nothing to read."""
        for order in self._orders():
            if not self._in_threads:
                self._put(order, fetch_document(order, self._context))
                continue
            self._to_fetch.put(order)
            if self._busy > len(self._threads):
                thread = threading.Thread(target=self._work, name="usp-fetch", daemon=True)
                self._threads.append(thread)
                thread.start()
        if self.crawl.complete:
            return
        try:
            update = self._updates.get(timeout=self._pause())
        except queue.Empty:
            return
        if update is not None:
            self._take(update)

    def _put(self, order: FetchOrder, what: Received | Failed | Arrival) -> None:
        self._updates.put((order, what))

    def _work(self) -> None:
        while (order := self._to_fetch.get()) is not None and not self._is_stopped:
            result: Received | Failed
            try:
                result = fetch_document(order, self._context)
            except BaseException as error:  # noqa: BLE001 - a thread must not end without a word
                result = failure_from(error)
            self._put(order, result)


# A crawl from start to end -------------------------------------------------------------------------


def crawl_with(search: Search, web_client: AbstractWebClient | None) -> Website | OneSitemap:
    """Run a crawl from start to end; return the top of the tree."""
    with (
        client_for(web_client, search.start_url, search.options) as client,
        ThreadDriver(search, client) as driver,
    ):
        while not driver.crawl.complete:
            try:
                driver.step()
            except KeyboardInterrupt:
                if not driver.interrupted():
                    raise
    return driver.top
