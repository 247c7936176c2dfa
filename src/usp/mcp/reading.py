"""Work in threads that can be stopped: reading pages takes time, and callers go away."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from usp.objects.abstract_sitemap import walk
from usp.objects.sitemap import AbstractPagesSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp.objects.page import PageBlock
    from usp.objects.sitemap import AbstractSitemap


class Stopped(Exception):  # noqa: N818 - says what happened
    """The caller has gone, or the time of the call is over."""


class Reading:
    """Tells a thread when to stop, and others how far it is."""

    def __init__(self, seconds: float | None, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._end = None if seconds is None else clock() + seconds
        self._is_cancelled = False
        self.pages = 0

    def cancel(self) -> None:
        """Stop the work at its next step."""
        self._is_cancelled = True

    @property
    def overtime(self) -> float:
        """How many seconds ago it should have ended; negative while there is time left."""
        return -1.0 if self._end is None else self._clock() - self._end

    def step(self, pages: int = 0) -> None:
        """Count pages that were read; raises :class:`Stopped` if it is time to stop."""
        self.pages += pages
        if self._is_cancelled or self.overtime > 0:
            raise Stopped

    def blocks(self, node: AbstractSitemap) -> Iterator[tuple[AbstractSitemap, PageBlock]]:
        """Yield the pages of a sitemap in blocks; may raise :class:`Stopped` at each."""
        for sitemap, block in node.page_steps():
            self.step(0 if block is None else len(block.urls))
            if block is not None:
                yield sitemap, block


def page_sitemaps(tree: AbstractSitemap) -> Iterator[AbstractSitemap]:
    """Yield the sitemaps of a tree that list pages, in its order."""
    return (node for node in walk(tree) if isinstance(node, AbstractPagesSitemap))
