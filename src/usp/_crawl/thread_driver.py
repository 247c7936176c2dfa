"""Drives a crawl on threads, from start to end: executes its orders, several at a time."""

from __future__ import annotations

import queue
import threading
import time
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from usp._base.urls import without_login
from usp._crawl import journal
from usp._crawl.driving import (
    INTERRUPTED,
    Driving,
    begin,
    concurrency_of,
    mistake,
    prepared,
    recording,
    room_of,
    store_for,
)
from usp._crawl.fetch import fetch_document
from usp._crawl.orders import PATIENCE, Arrival
from usp.web_client.abstract_client import WebClientErrorResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import TypeVar

    from usp._crawl.crawl import Crawl
    from usp._crawl.driving import News, Recorder, Recording
    from usp._crawl.orders import Failed, Fetch, Received
    from usp._crawl.schedule import RetryPolicy
    from usp._store import Store
    from usp.events import Listener
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractWebClient, AbstractWebClientResponse

    T = TypeVar("T")


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
        store: Store,
        on_event: Listener | None = None,
        *,
        any_thread: bool = False,
        streams: bool = False,
        recorder: Recorder | None = None,
    ) -> None:
        self._crawl = crawl
        self._driving = Driving(crawl, on_event, recorder)
        given_up = self._driving.given_up
        fetch = partial(
            fetch_document, client=client, store=store, given_up=given_up, limits=crawl.limits
        )
        alone = concurrency_of(client) == 1 and not any_thread
        self._work = (
            _Here(fetch)
            if alone
            else (_Workers(fetch, room_of(client), self._driving, streams=streams))
        )

    def __enter__(self) -> ThreadDriver:  # noqa: PYI034 - there are no subclasses
        return self

    def __exit__(self, *_: object) -> None:
        self._driving.stop()
        self._work.stop()

    def run(self) -> None:
        """Drive the crawl until it is complete."""
        while not self._crawl.complete:
            self.step()

    def step(self, *, wait: bool = True) -> None:
        """Start new orders and process one piece of news; if there is none, ``wait`` for it."""
        driving, work = self._driving, self._work
        for order in driving.orders(work.room()):
            work.start(order)
        driving.tell()
        if self._crawl.complete:
            return
        pause = driving.pause(room=work.room() > 0)
        news = work.news(pause if wait else 0.0)
        if news is not None:
            driving.take(news)

    def wake_by(self, arrival: Arrival) -> None:
        """End the wait of a step when more of a document has arrived."""
        arrival.call_once(self._work.wake)

    def wake(self) -> None:
        """End the wait of a step; may be called from any thread."""
        self._work.wake()


class _Here:
    """Executes one order at a time, in the caller's thread: for clients that allow no more."""

    def __init__(self, fetch: Callable[..., Received | Failed]) -> None:
        self._fetch = fetch
        self._order: Fetch | None = None

    def room(self) -> int:
        return 0 if self._order else 1

    def start(self, order: Fetch) -> None:
        self._order = order

    def news(self, timeout: float | None) -> News | None:
        order, self._order = self._order, None
        if order is None:
            time.sleep(timeout or 0.0)
            return None
        return order, self._fetch(order)

    def wake(self) -> None:
        """Do nothing: there is no wait while a document is received."""

    def stop(self) -> None:
        """Do nothing: what was started has ended."""


class _Workers:
    """Executes several orders at a time, each in its own thread; threads start when needed."""

    def __init__(
        self,
        fetch: Callable[..., Received | Failed],
        most: int,
        driving: Driving,
        *,
        streams: bool,
    ) -> None:
        self._streams = streams
        self._fetch = fetch
        self._most = most
        self._driving = driving
        self._orders: queue.SimpleQueue[Fetch | None] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[News | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0

    def room(self) -> int:
        return self._most - self._busy

    def start(self, order: Fetch) -> None:
        self._busy += 1
        if self._busy > len(self._threads):
            thread = threading.Thread(target=self._work, name="usp-fetch", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._orders.put(order)

    def news(self, timeout: float | None) -> News | None:
        try:
            news = self._news.get(timeout=timeout) if timeout != 0 else self._news.get_nowait()
        except queue.Empty:
            return None
        if news is not None and not isinstance(news[1], Arrival):
            self._busy -= 1
        return news

    def wake(self) -> None:
        """End a wait for news; called from any thread."""
        self._news.put(None)

    def _work(self) -> None:
        while (order := self._orders.get()) is not None and not self._driving.is_stopped:
            self._obey(order)

    def _obey(self, order: Fetch) -> None:
        def announce(arrival: Arrival) -> None:
            self._news.put((order, arrival))

        result: Received | Failed
        try:
            result = self._fetch(order, announce=announce if self._streams else None)
        except BaseException as error:  # noqa: BLE001 - a thread must not end without a word
            result = mistake(error)
        self._news.put((order, result))

    def stop(self) -> None:
        """End the threads; those that are still receiving end by themselves soon after."""
        for _ in self._threads:
            self._orders.put(None)
        deadline = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))


# A crawl from start to end -------------------------------------------------------------------------


def crawl_with(
    search: Callable[[Crawl], T],
    start_url: str,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
    record: Recording | None = None,
) -> T:
    """Run a crawl from start to end; return the result of ``search``, the top of the tree."""
    with client_for(web_client, start_url, options) as client:
        crawl = begin(client, start_url, options)
        top = search(crawl)
        with (
            recording(crawl, top, options, record) as recorder,
            ThreadDriver(
                crawl, client, store_for(crawl), options.on_event, recorder=recorder
            ) as driver,
        ):
            try:
                driver.run()
            except KeyboardInterrupt:
                if not options.keep_partial:
                    raise
                crawl.end(INTERRUPTED)
                driver.run()
    return top


@contextmanager
def client_for(
    web_client: AbstractWebClient | None, start_url: str, options: CrawlOptions
) -> Iterator[AbstractWebClient]:
    """Yield the client for one crawl: ours, or the caller's."""
    given = own_client() if web_client is None else web_client
    client = prepared(given, without_login(start_url), options.effective_limits, awaits=False)
    try:
        yield client
    finally:
        if client is not web_client:
            client.close()


def own_client() -> AbstractWebClient:
    """Return the default client; ``requests`` is loaded now, since many programs never need it."""
    from usp.web_client.requests_client import RequestsWebClient  # noqa: PLC0415

    return RequestsWebClient()


def get_with_retries(
    url: str, web_client: AbstractWebClient, policy: RetryPolicy, *, quiet_404: bool = False
) -> AbstractWebClientResponse:
    """Fetch a URL in this thread, sleeping between the attempts."""
    attempt = 1
    while True:
        response = web_client.get(url)
        if not isinstance(response, WebClientErrorResponse):
            return response
        pause = policy.delay(attempt, response)
        journal.request_failed(without_login(url), response, retry_in=pause, quiet_404=quiet_404)
        if pause is None:
            return response
        time.sleep(pause)
        attempt += 1
