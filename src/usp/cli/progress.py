"""A live line on the terminal while a command works."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from usp._base.display import clock, counted, size
from usp._base.urls import url_parts
from usp.cli.live import can_show, live_line
from usp.cli.output.text import printable
from usp.events import (
    Event,
    SitemapFailed,
    SitemapFinished,
    SitemapFound,
    SitemapReceived,
    SitemapStarted,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import TypeVar

    from usp.objects.page import PageBlock

    T = TypeVar("T")

_STEP = 1000  # pages between two looks at the clock
_MOST_HOSTS = 3


class Progress:
    """Counts what happens; ``line`` says it in a line."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._known = self._done = self._failed = self._bytes = self._pages = 0
        self._busy: dict[str, str] = {}  # hosts, by what they are being asked for

    def __call__(self, event: Event) -> None:
        """Take an event of a crawl."""
        if isinstance(event, SitemapFound):
            self._known += 1
        elif isinstance(event, SitemapStarted):
            self._busy[event.url] = url_parts(event.url).netloc
        elif isinstance(event, SitemapReceived):
            self._bytes += event.received
        elif isinstance(event, SitemapFinished):
            self._done += 1
            self._busy.pop(event.url, None)
        elif isinstance(event, SitemapFailed):
            self._failed += 1
            self._busy.pop(event.url, None)

    def counted(self, pages: Iterable[T]) -> Iterator[T]:
        """Count pages while they pass."""
        waiting = 0
        for page in pages:
            waiting += 1
            if waiting == _STEP:
                self._pages += waiting
                waiting = 0
            yield page
        self._pages += waiting

    def counted_blocks(
        self, blocks: Iterable[tuple[str, PageBlock]]
    ) -> Iterator[tuple[str, PageBlock]]:
        """Count the pages of blocks while they pass."""
        for sitemap_url, block in blocks:
            self._pages += len(block.urls)
            yield sitemap_url, block

    def line(self) -> str:
        """Return how far the work is, in one line."""
        seconds = max(time.monotonic() - self._started, 0.001)
        looked = self._done + self._failed
        parts = [
            f"{looked:,} of {counted(self._known, 'address')}, {counted(self._done, 'sitemap')}",
            counted(self._pages, "page") if self._pages else "",
            f"{size(self._bytes)}, {size(int(self._bytes / seconds))}/s",
            clock(seconds),
            self._hosts(),
        ]
        return " · ".join(part for part in parts if part)

    def _hosts(self) -> str:
        hosts = [printable(host) for host in dict.fromkeys(list(self._busy.values()))]
        more = f" and {len(hosts) - _MOST_HOSTS} more" if len(hosts) > _MOST_HOSTS else ""
        return ", ".join(hosts[:_MOST_HOSTS]) + more


@contextmanager
def progress(*, quiet: bool = False) -> Iterator[Progress]:
    """Show a live line on the standard error, if that is a terminal and nobody wants quiet."""
    counts = Progress()
    if quiet or not can_show():
        yield counts
        return
    with live_line(counts.line):
        yield counts
