"""Drives a crawl on threads, from start to end; and what both drivers share, in ``DriverCore``."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from usp._base import shortage
from usp._base.reason import Reason
from usp._base.urls import read_url
from usp._crawl.crawl import Crawl
from usp._crawl.fetch import client_for, concurrency_of, fetch_document
from usp._crawl.orders import GIVEN_UP, PATIENCE, Arrival, Failed, FetchOrder, Received
from usp._crawl.receiver import failure_from
from usp._store import Store
from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    from usp._crawl.orders import FinalResult
    from usp.objects.sitemap import AbstractSitemap
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient

    T = TypeVar("T")
    N = TypeVar("N", bound=AbstractSitemap)
    N_co = TypeVar("N_co", bound=AbstractSitemap, covariant=True)

    class CrawlStart(Protocol[N_co]):
        """What a crawl began with: a website or a sitemap."""

        def tree(self) -> N_co: ...

    class ResultRecorder(Protocol):
        """What takes the documents of a crawl as they are settled."""

        def take(self, documents: Iterable[FinalResult]) -> None: ...

        def close(self, *, keep: bool) -> None: ...

    Recording: TypeAlias = Callable[[Crawl, Any], ResultRecorder]


FetchUpdate: TypeAlias = tuple[FetchOrder, Received | Failed | Arrival]
"""The result of an order, or a document that has begun to arrive."""

INTERRUPTED = Reason(FailureCode.INTERRUPTED, "the crawl was interrupted")
"""Why a crawl ends on Ctrl-C if what was found is to be kept."""

_TOTAL_FACTOR = 2  # total requests of a crawl at a time, as a multiple of those to one host
_HEAD_START = 0.003  # seconds


def begin(client: object, start_url: str, options: CrawlOptions) -> Crawl:
    """Return a new crawl for a client; a login in ``start_url`` is used for its host."""
    return Crawl(
        options,
        per_host=concurrency_of(client),
        start=read_url(start_url),
        collect_events=options.on_event is not None,
    )


class DriverCore:
    """Passes orders, results and events between a crawl and its driver, and keeps the time.

    The very first request has a head start: if the host cannot be reached, no others are sent.
    """

    def __init__(
        self,
        crawl: Crawl,
        client: object,
        options: CrawlOptions,
        recorder: ResultRecorder | None = None,
    ) -> None:
        self.store = Store(spool=crawl.limits.spool_bytes)
        most = concurrency_of(client)
        self.most = most * _TOTAL_FACTOR if most > 1 else 1  # requests in progress, in total
        self.busy = 0
        self.is_stopped = False  # the results are no longer wanted
        self._crawl = crawl
        self._on_event = options.on_event
        self._recorder = recorder
        self._ends_at: float | None = None
        self._others_at: float | None = None
        self._alone = True  # whether the other requests still wait
        self._starved = False  # whether there were fewer descriptors than room

    def orders(self) -> list[FetchOrder]:
        """Return what to fetch now, as far as there is room and a descriptor for it."""
        wanted, now = self.most - self.busy, time.monotonic()
        if self._others_at is None:
            self._others_at = now + _HEAD_START
            wanted = min(wanted, 1)
        else:
            self._alone = False
        granted = shortage.begin(wanted)
        orders = self._crawl.next_fetches(granted, now)
        shortage.give_back(granted - len(orders))
        self._starved = granted < wanted
        self.busy += len(orders)
        self.flush_events()
        return orders

    def take(self, update: FetchUpdate) -> None:
        """Pass the result of an order to the crawl, and emit the events that follow."""
        order, what = update
        if isinstance(what, Arrival):
            self._crawl.arriving(order, what)
        else:
            self.busy -= 1
            shortage.give_back(1)
            self._crawl.finished(order, what, time.monotonic())
        self.flush_events()

    def flush_events(self) -> None:
        """Emit the events, and record the documents, since the last call."""
        if self._recorder is not None:
            self._recorder.take(self._crawl.take_documents())
        if self._on_event is not None:
            for event in self._crawl.take_events():
                self._on_event(event)

    def stop_reason(self) -> Reason | None:
        """Return why a fetch should end, if it should; may be called from any thread."""
        return GIVEN_UP if self.is_stopped else self._crawl.overdue(time.monotonic())

    def pause(self) -> float | None:
        """Return the maximum number of seconds to wait for an update; None for no maximum."""
        now, crawl = time.monotonic(), self._crawl
        if crawl.ending is not None:
            self._ends_at = self._ends_at or now + PATIENCE
            if now >= self._ends_at:
                crawl.abandon()
            return max(0.0, self._ends_at - now)
        # A request that is due can begin only when there is room, and room comes with updates.
        wake_at = crawl.wake_at(room=self.busy < self.most)
        if self._alone and self._others_at is not None:
            wake_at = self._others_at if wake_at is None else min(wake_at, self._others_at)
        if self._starved:  # descriptors may be closed without notice
            wake_at = min(now + shortage.PAUSE, wake_at or now + shortage.PAUSE)
        return None if wake_at is None else max(0.0, wake_at - now)


class ThreadDriver:
    """Drives a crawl, step by step or to its end; events are emitted in the driving thread.

    A context manager: leaving it ends the threads. A client that allows one request at a time is
    called in the driving thread, unless ``any_thread`` is set. ``streams`` is whether page sitemaps
    are read while they are received.
    """

    def __init__(
        self,
        crawl: Crawl,
        client: AbstractWebClient,
        options: CrawlOptions,
        *,
        any_thread: bool = False,
        streams: bool = False,
        recorder: ResultRecorder | None = None,
    ) -> None:
        self._crawl = crawl
        self._core = core = DriverCore(crawl, client, options, recorder)
        fetch = partial(
            fetch_document,
            client=client,
            store=core.store,
            stop_reason=core.stop_reason,
            limits=crawl.limits,
        )
        alone = concurrency_of(client) == 1 and not any_thread
        self._executor = InlineExecutor(fetch) if alone else ThreadExecutor(fetch, core, streams)
        self.wake = self._executor.wake
        """End the wait of a step; may be called from any thread."""

    def __enter__(self) -> ThreadDriver:  # noqa: PYI034 - there are no subclasses
        return self

    def __exit__(self, *_: object) -> None:
        self._core.is_stopped = True
        self._executor.stop()

    def run(self) -> None:
        """Drive the crawl until it is complete."""
        while not self._crawl.complete:
            self.step()

    def step(self, *, wait: bool = True) -> None:
        """Start new orders and process one update; if there is none, ``wait`` for it."""
        for order in self._core.orders():
            self._executor.start(order)
        if self._crawl.complete:
            return
        pause = self._core.pause()
        update = self._executor.next_update(pause if wait else 0.0)
        if update is not None:
            self._core.take(update)


class InlineExecutor:
    """Executes one order at a time, in the caller's thread: for clients that allow no more."""

    def __init__(self, fetch: Callable[..., Received | Failed]) -> None:
        self._fetch = fetch
        self._order: FetchOrder | None = None
        self._awake = threading.Event()
        self.wake = self._awake.set

    def start(self, order: FetchOrder) -> None:
        self._order = order

    def next_update(self, timeout: float | None) -> FetchUpdate | None:
        order, self._order = self._order, None
        if order is None:
            self._awake.wait(timeout or 0.0)
            self._awake.clear()
            return None
        return order, self._fetch(order)

    def stop(self) -> None:
        """Do nothing: what was started has ended."""


class ThreadExecutor:
    """Executes several orders at a time, each in its own thread; threads start when needed."""

    def __init__(
        self, fetch: Callable[..., Received | Failed], core: DriverCore, streams: bool
    ) -> None:
        self._fetch = fetch
        self._core = core
        self._streams = streams
        self._orders: queue.SimpleQueue[FetchOrder | None] = queue.SimpleQueue()
        self._updates: queue.SimpleQueue[FetchUpdate | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self.wake = partial(self._updates.put, None)

    def start(self, order: FetchOrder) -> None:
        self._orders.put(order)
        if self._core.busy > len(self._threads):
            thread = threading.Thread(target=self._work, name="usp-fetch", daemon=True)
            self._threads.append(thread)
            thread.start()

    def next_update(self, timeout: float | None) -> FetchUpdate | None:
        try:
            if timeout == 0:
                return self._updates.get_nowait()
            return self._updates.get(timeout=timeout)
        except queue.Empty:
            return None

    def _work(self) -> None:
        while (order := self._orders.get()) is not None and not self._core.is_stopped:
            announce = partial(self._announce, order) if self._streams else None
            result: Received | Failed
            try:
                result = self._fetch(order, announce=announce)
            except BaseException as error:  # noqa: BLE001 - a thread must not end without a word
                result = failure_from(error)
            self._updates.put((order, result))

    def _announce(self, order: FetchOrder, arrival: Arrival) -> None:
        self._updates.put((order, arrival))

    def stop(self) -> None:
        """End the threads; those that are still receiving end by themselves soon after."""
        for _ in self._threads:
            self._orders.put(None)
        deadline = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


# A crawl from start to end -------------------------------------------------------------------------


def begin_recording(
    crawl: Crawl, top: Any, options: CrawlOptions, record: Recording | None = None
) -> ResultRecorder | None:
    """Return the recorder of a crawl, to be closed by the caller, if one is requested."""
    if record is not None:
        return record(crawl, top)
    if options.record is None:
        return None
    from usp._snapshot.recording import SnapshotRecorder  # noqa: PLC0415 - warcio is an extra

    return SnapshotRecorder(options.record, crawl, top, options)


@contextmanager
def driving(
    search: Callable[[Crawl], T],
    start_url: str,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
    record: Recording | None = None,
    **how: bool,
) -> Iterator[tuple[Crawl, T, ThreadDriver]]:
    """Yield a crawl, the result of ``search``, which is the top of the tree, and the driver.

    ``how`` are keywords of the driver. What is recorded is in place at the end.
    """
    with client_for(web_client, start_url, options) as client:
        crawl = begin(client, start_url, options)
        top = search(crawl)
        recorder, done = begin_recording(crawl, top, options, record), False
        try:
            with ThreadDriver(crawl, client, options, recorder=recorder, **how) as driver:
                yield crawl, top, driver
            done = True
        finally:
            if recorder is not None:
                recorder.close(keep=done)


def crawl_with(
    search: Callable[[Crawl], T],
    start_url: str,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
    record: Recording | None = None,
) -> T:
    """Run a crawl from start to end; return the result of ``search``, the top of the tree."""
    with driving(search, start_url, web_client, options, record) as (crawl, top, driver):
        try:
            driver.run()
        except KeyboardInterrupt:
            if not options.keep_partial:
                raise
            crawl.end(INTERRUPTED)
            driver.run()
    return top


def tree_of(top: CrawlStart[N], options: CrawlOptions) -> N:
    """Return the tree of a complete crawl, after calling ``on_failure`` for what is missing."""
    tree = top.tree()
    if options.on_failure is not None:
        for failure in tree.failures():
            options.on_failure(failure)
    return tree
