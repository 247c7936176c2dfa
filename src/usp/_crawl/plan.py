"""How a crawl is to be made: what the caller of a front door has said."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp._base.urls import read_url
from usp._crawl.choice import Choice
from usp._crawl.clients import concurrency_of
from usp._crawl.crawl import Crawl
from usp._store import Store
from usp.limits import DEFAULT, Limits

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp._crawl.events import Listener
    from usp.objects.problem import Failure
    from usp.objects.sitemap import AbstractSitemap


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What every front door takes beside the address and the client."""

    choice: Choice = field(default_factory=Choice)
    limits: Limits = DEFAULT
    crawl_delay: bool = False
    wait: float = 0.0  # seconds between two requests to one host
    keep_partial: bool = False  # whether Ctrl-C ends the crawl with what is there
    any_thread: bool = False  # whether the client may be called in any thread, one at a time
    on_event: Listener | None = None
    on_failure: Callable[[Failure], object] | None = None  # for streams, at their end

    def tell_failures(self, tree: AbstractSitemap) -> None:
        """Tell what is missing in the tree of a stream, once that is over."""
        if self.on_failure is not None:
            for failure in tree.failures():
                self.on_failure(failure)

    def crawl(self, client: object, start_url: str) -> Crawl:
        """Begin a crawl with a client; a login in ``start_url`` is used for its host."""
        return Crawl(
            choice=self.choice,
            per_host=concurrency_of(client),
            limits=self.limits,
            crawl_delay=self.crawl_delay,
            wait=self.wait,
            start=read_url(start_url),
        )

    def store(self) -> Store:
        """Give a store for what the crawl fetches."""
        return Store(spool=self.limits.spool_bytes)

    @property
    def most_bytes(self) -> int | None:
        """How many bytes of a body a client should give: one more, and the limit is passed."""
        most = self.limits.document_bytes
        return None if most is None else most + 1
