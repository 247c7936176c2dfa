"""Drives a crawl on threads: obeys its orders, several at a time, and reports back."""

from __future__ import annotations

import queue
import threading
import time
from typing import TYPE_CHECKING

from usp._base import shortage
from usp._crawl.clients import concurrency_of
from usp._crawl.fetch import PATIENCE, fetch_document, mistake
from usp._crawl.values import Arrival

if TYPE_CHECKING:
    from usp._crawl.crawl import Crawl
    from usp._crawl.values import Failed, Fetch, Received
    from usp._store import Store
    from usp.events import Listener
    from usp.web_client.abstract_client import AbstractWebClient

    News = tuple[Fetch, Received | Failed | Arrival]

TOTAL_FACTOR = 2
"""How many times the requests to one host a crawl may have under way in all."""

_HEAD_START = 0.003  # seconds


class ThreadDriver:
    """Drives a crawl, step by step or to its end; events are told in the thread that drives.

    A context: leaving it ends the threads. A client that promises no more than one request at a time
    is called in the thread that drives, unless ``any_thread`` will do.
    """

    def __init__(
        self,
        crawl: Crawl,
        client: AbstractWebClient,
        store: Store,
        on_event: Listener | None = None,
        *,
        any_thread: bool = False,
    ) -> None:
        self._crawl = crawl
        self._on_event = on_event
        self._patience = Patience(crawl)
        hands = _Workers if concurrency_of(client) > 1 or any_thread else _Here
        self._hands = hands(client, store, crawl)

    def __enter__(self) -> ThreadDriver:  # noqa: PYI034 - nobody subclasses it
        return self

    def __exit__(self, *_: object) -> None:
        self._hands.stop()

    def run(self) -> None:
        """Drive the crawl until it is complete."""
        while not self._crawl.complete:
            self.step()

    def step(self, *, wait: bool = True) -> None:
        """Give out orders, and take one piece of news; ``wait`` for it unless there is some."""
        crawl, hands = self._crawl, self._hands
        for order in self._patience.orders(hands.room()):
            hands.start(order)
        self._tell()
        if crawl.complete:
            return
        pause = self._patience.pause(room=hands.room() > 0)
        news = hands.news(pause if wait else 0.0)
        if news is None:
            return
        order, what = news
        if isinstance(what, Arrival):
            crawl.arriving(order, what)
        else:
            shortage.give_back(1)
            crawl.finished(order, what, time.monotonic())
        self._tell()

    def call_me(self, arrival: Arrival) -> None:
        """End the wait of a step when more of a document has come."""
        arrival.on_growth = self._hands.wake

    def wake(self) -> None:
        """End the wait of a step; may be called from any thread."""
        self._hands.wake()

    def _tell(self) -> None:
        for event in self._crawl.take_events():
            if self._on_event:
                self._on_event(event)


class Patience:
    """How long a driver waits for news: until something is due, and not long once a crawl ends.

    The very first request has a head start: if nobody is there, the others need not find out.
    """

    def __init__(self, crawl: Crawl) -> None:
        self._crawl = crawl
        self._ends_at: float | None = None
        self._others_at: float | None = None
        self._alone = True  # whether the others still wait
        self._starved = False  # whether there were fewer descriptors than room

    def orders(self, room: int) -> list[Fetch]:
        """Return what is to be fetched now, as far as there is room and a descriptor for it."""
        wanted = self._room(room)
        granted = shortage.begin(wanted)
        orders = self._crawl.next_fetches(granted, time.monotonic())
        shortage.give_back(granted - len(orders))
        self._starved = granted < wanted
        return orders

    def _room(self, room: int) -> int:
        if self._others_at is None:
            self._others_at = time.monotonic() + _HEAD_START
            return min(room, 1)
        self._alone = False
        return room

    def pause(self, *, room: bool) -> float | None:
        """Give the seconds to wait at most, None for as long as it takes."""
        now, crawl = time.monotonic(), self._crawl
        if crawl.ending is not None:
            self._ends_at = self._ends_at or now + PATIENCE
            if now >= self._ends_at:
                crawl.abandon()
            return max(0.0, self._ends_at - now)
        # What is due can begin only when there is room for it, and room comes with news.
        wake_at = crawl.wake_at(room=room)
        if self._alone and self._others_at is not None:
            wake_at = self._others_at if wake_at is None else min(wake_at, self._others_at)
        if self._starved:  # whoever closes a descriptor may not tell us
            wake_at = min(now + shortage.PAUSE, wake_at or now + shortage.PAUSE)
        return None if wake_at is None else max(0.0, wake_at - now)


class _Here:
    """Obeys one order at a time, in the caller's thread: for clients that promise no more."""

    def __init__(self, client: AbstractWebClient, store: Store, crawl: Crawl) -> None:
        self._client = client
        self._store = store
        self._crawl = crawl
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
        return order, fetch_document(
            order,
            self._client,
            self._store,
            lambda: self._crawl.overdue(time.monotonic()),
            limits=self._crawl.limits,
        )

    def wake(self) -> None:
        """Nothing: nobody waits while a document comes in."""

    def stop(self) -> None:
        """Nothing: what was started is over."""


class _Workers:
    """Obeys several orders at a time, each in a thread of its own; threads start when needed."""

    def __init__(self, client: AbstractWebClient, store: Store, crawl: Crawl) -> None:
        self._client = client
        self._store = store
        self._crawl = crawl
        self._most = concurrency_of(client) * TOTAL_FACTOR
        self._orders: queue.SimpleQueue[Fetch | None] = queue.SimpleQueue()
        self._news: queue.SimpleQueue[News | None] = queue.SimpleQueue()
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
        while (order := self._orders.get()) is not None and not self._stopped:
            self._obey(order)

    def _obey(self, order: Fetch) -> None:
        def announce(arrival: Arrival) -> None:
            self._news.put((order, arrival))

        result: Received | Failed
        try:
            result = fetch_document(
                order, self._client, self._store, self._given_up, announce, self._crawl.limits
            )
        except BaseException as error:  # noqa: BLE001 - a thread must not end without a word
            result = mistake(error)
        self._news.put((order, result))

    def _given_up(self) -> str | None:
        return "the crawl was given up" if self._stopped else self._crawl.overdue(time.monotonic())

    def stop(self) -> None:
        """End the threads; those that are still receiving end by themselves soon after."""
        self._stopped = True
        for _ in self._threads:
            self._orders.put(None)
        deadline = time.monotonic() + PATIENCE
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))
