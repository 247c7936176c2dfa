"""What both drivers of a crawl do: everything but wait and fetch."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, TypeAlias

from usp._base import shortage
from usp._crawl.clients import concurrency_of
from usp._crawl.values import GIVEN_UP, PATIENCE, Arrival, Failed, Fetch, Received

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._crawl.crawl import Crawl
    from usp.events import Listener

News: TypeAlias = tuple[Fetch, Received | Failed | Arrival]
"""What came of an order, or has begun to come."""

_TOTAL_FACTOR = 2  # times the requests to one host that a crawl may have under way in all
_HEAD_START = 0.003  # seconds


def room_of(client: object) -> int:
    """Return how many requests a client may have under way in all."""
    most = concurrency_of(client)
    return most * _TOTAL_FACTOR if most > 1 else 1


class Driving:
    """Takes a crawl's orders and gives it the news, by the clock; whoever listens is told the events.

    The very first request has a head start: if nobody is there, the others need not find out.
    """

    def __init__(self, crawl: Crawl, on_event: Listener | None = None) -> None:
        self._crawl = crawl
        self._on_event = on_event
        self._ends_at: float | None = None
        self._others_at: float | None = None
        self._alone = True  # whether the others still wait
        self._starved = False  # whether there were fewer descriptors than room
        self.is_stopped = False  # nobody is interested any more

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

    def take(self, news: News) -> None:
        """Report to the crawl what came of an order; tell whoever listens what follows from it."""
        order, what = news
        if isinstance(what, Arrival):
            self._crawl.arriving(order, what)
        else:
            shortage.give_back(1)
            self._crawl.finished(order, what, time.monotonic())
        self.tell()

    def tell(self) -> None:
        """Tell whoever listens what has happened."""
        for event in self._crawl.take_events():
            if self._on_event:
                self._on_event(event)

    @property
    def patience(self) -> float:
        """Seconds to wait for what is still being received when nobody is interested any more."""
        return PATIENCE

    def stop(self) -> None:
        """End what is being fetched: nobody is interested any more."""
        self.is_stopped = True

    def given_up(self) -> Reason | None:
        """Return why a fetch should end, if it should; may be asked from any thread."""
        return GIVEN_UP if self.is_stopped else self._crawl.overdue(time.monotonic())

    def pause(self, *, room: bool) -> float | None:
        """Return the seconds to wait for news at most, None for as long as it takes."""
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
