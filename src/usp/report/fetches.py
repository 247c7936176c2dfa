"""What was fetched, when and how long it took: put together from the events of a crawl."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp.events import SitemapFailed, SitemapReceived, SitemapStarted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from usp.events import Event


@dataclass(slots=True)
class Fetch:
    """One document: when it was first asked for and when it was there, in seconds from the first.

    ``begin`` and ``end`` are None if nobody looked at the clock when the events came.
    """

    url: str
    attempts: int = 0
    begin: float | None = None
    end: float | None = None
    seconds: float = 0.0
    received: int = 0
    failed: bool = False


class FetchLog:
    """Listens to a crawl: hand it in as ``on_event``, then hand it to the report.

    It keeps a few numbers for each document, and no event.
    """

    def __init__(self, clock: Callable[[], float] | None = time.monotonic) -> None:
        self._clock = clock
        self._start: float | None = None
        self._fetches: dict[str, Fetch] = {}
        self._final: dict[str, str] = {}

    @classmethod
    def of(cls, events: FetchLog | Iterable[Event] | None) -> FetchLog | None:
        """Take a log as it is, and make one without times from events."""
        if events is None or isinstance(events, FetchLog):
            return events
        log = cls(clock=None)
        for event in events:
            log(event)
        return log

    def __call__(self, event: Event) -> None:
        """Take note of an event."""
        if not isinstance(event, SitemapStarted | SitemapReceived | SitemapFailed):
            return
        now = self._now()
        fetch = self._fetches.setdefault(event.url, Fetch(event.url))
        if isinstance(event, SitemapStarted):
            fetch.attempts = max(fetch.attempts, event.attempt)
            if fetch.begin is None:
                fetch.begin = now
            return
        fetch.end = now
        if isinstance(event, SitemapReceived):
            fetch.seconds = event.seconds
            fetch.received = event.received
            self._final[event.final_url] = event.url
        else:
            fetch.failed = True
            fetch.attempts = max(fetch.attempts, event.attempts)

    def _now(self) -> float | None:
        if self._clock is None:
            return None
        now = self._clock()
        if self._start is None:
            self._start = now
        return now - self._start

    def of_url(self, url: str) -> Fetch | None:
        """Return what is known of the document that a node was read from."""
        return self._fetches.get(self._final.get(url, url))

    def all(self) -> list[Fetch]:
        """Return everything that was asked for, in the order of asking."""
        return [fetch for fetch in self._fetches.values() if fetch.attempts]
