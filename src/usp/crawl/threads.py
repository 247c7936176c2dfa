"""Drives a crawl on threads: obeys its orders, several at a time, and reports back."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING

from usp.crawl.fetch import Failed, fetch_document
from usp.web_client.abstract_client import WebClientErrorResponse

if TYPE_CHECKING:
    from usp.crawl.crawl import Crawl
    from usp.crawl.events import Listener
    from usp.crawl.fetch import Fetch, Received
    from usp.store import Store
    from usp.web_client.abstract_client import AbstractWebClient

    Result = tuple[Fetch, Received | Failed]

TOTAL_FACTOR = 2
"""How many times the requests to one host a crawl may have under way in all."""

_PATIENCE = 1.0  # seconds to wait for threads that are still receiving when the crawl is given up


def run(
    crawl: Crawl, client: AbstractWebClient, store: Store, on_event: Listener | None = None
) -> None:
    """Drive a crawl until it is complete; events are told in this thread."""
    workers = _Workers(client, store) if client.max_concurrent_requests > 1 else None
    try:
        _drive(crawl, workers or _Here(client, store), on_event)
    finally:
        if workers:
            workers.stop()


def _drive(crawl: Crawl, hands: _Workers | _Here, on_event: Listener | None) -> None:
    while True:
        now = time.monotonic()
        for order in crawl.next_fetches(hands.room(), now):
            hands.start(order)
        _tell(crawl, on_event)
        if crawl.complete:
            return
        wake_at = crawl.wake_at()
        result = hands.wait(None if wake_at is None else max(0.0, wake_at - time.monotonic()))
        if result is not None:
            crawl.finished(*result, time.monotonic())
            _tell(crawl, on_event)


def _tell(crawl: Crawl, on_event: Listener | None) -> None:
    for event in crawl.take_events():
        if on_event:
            on_event(event)


class _Here:
    """Obeys one order at a time, in the caller's thread: for clients that promise no more."""

    def __init__(self, client: AbstractWebClient, store: Store) -> None:
        self._client = client
        self._store = store
        self._order: Fetch | None = None

    def room(self) -> int:
        return 1

    def start(self, order: Fetch) -> None:
        self._order = order

    def wait(self, timeout: float | None) -> Result | None:
        order, self._order = self._order, None
        if order is None:
            time.sleep(timeout or 0.0)
            return None
        return order, fetch_document(order, self._client, self._store)


class _Workers:
    """Obeys several orders at a time, each in a thread of its own; threads start when needed."""

    def __init__(self, client: AbstractWebClient, store: Store) -> None:
        self._client = client
        self._store = store
        self._most = client.max_concurrent_requests * TOTAL_FACTOR
        self._orders: queue.SimpleQueue[Fetch | None] = queue.SimpleQueue()
        self._results: queue.SimpleQueue[Result] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._busy = 0
        self._stopped = False

    def room(self) -> int:
        return self._most - self._busy

    def start(self, order: Fetch) -> None:
        self._busy += 1
        if self._busy > len(self._threads):
            thread = threading.Thread(target=self._work, name="usp-fetch", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._orders.put(order)

    def wait(self, timeout: float | None) -> Result | None:
        try:
            result = self._results.get(timeout=timeout)
        except queue.Empty:
            return None
        self._busy -= 1
        return result

    def _work(self) -> None:
        while (order := self._orders.get()) is not None and not self._stopped:
            try:
                result = fetch_document(order, self._client, self._store, lambda: self._stopped)
            except BaseException as error:  # noqa: BLE001 - a thread must not end without a word
                result = Failed(WebClientErrorResponse(repr(error), retryable=False))
            self._results.put((order, result))

    def stop(self) -> None:
        """End the threads; those that are still receiving end by themselves soon after."""
        self._stopped = True
        for _ in self._threads:
            self._orders.put(None)
        deadline = time.monotonic() + _PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
