"""The decisions of a crawl: work out, results in. No I/O, no clock, no threads.

A crawl knows *documents* and *places*. A document is what a URL answers: it is fetched once. A place
is where it stands in the tree: a document that two indexes declare has two places. Documents are
fetched in any order; places are settled in the order of the tree, depth first, so that callbacks run
and limits cut in an order that does not depend on the network.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING
from urllib.parse import urldefrag, urlsplit

from usp.crawl.events import (
    Event,
    PagesReady,
    SitemapFailed,
    SitemapFinished,
    SitemapFound,
    SitemapReceived,
    SitemapStarted,
)
from usp.crawl.fetch import Arrival, Failed, Fetch, NotFetched, Received
from usp.crawl.pages import StoredPages
from usp.crawl.places import Doc, Place
from usp.crawl.queue import Queue
from usp.crawl.retry import DECLARED, PROBE, log_failure
from usp.formats.document import Role
from usp.helpers import is_http_url
from usp.objects.problem import Problem
from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap
from usp.web_client.abstract_client import WebClientErrorResponse

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Iterable, Iterator

    from usp.crawl.choice import Choice
    from usp.formats.parser import ChildEntry

log = logging.getLogger(__name__)

MAX_LEVEL = 11
"""How deep below its start a sitemap is followed."""

MAX_SILENT = 2
"""A host that has never answered is given up after so many requests without an answer in time."""

MAX_SITEMAPS = 100_000
"""How many nodes a tree may have."""


class Crawl:
    """Decides what is fetched next and where it stands in the tree.

    A driver asks for orders (:meth:`next_fetches`), obeys them, and reports (:meth:`finished`) until
    the crawl is :attr:`complete`. ``awaited`` is the next place of the tree, whose document is not
    there yet; a stream that sets ``settled`` to a queue finds there the places before it, in order.
    """

    def __init__(
        self,
        *,
        choice: Choice | None = None,
        per_host: int = 1,
        max_sitemaps: int = MAX_SITEMAPS,
    ) -> None:
        self._choice = choice
        self._max_sitemaps = max_sitemaps
        self._docs: dict[tuple[Role, str], Doc] = {}
        self._roots: list[Place] = []
        self._places = 0
        self._events: list[Event] = []
        self._queue = Queue[Doc](per_host)
        self._dead: dict[str, str] = {}
        self._silent: dict[str, int] = {}
        self._walk: Iterator[Place] | None = None
        self.awaited: Place | None = None
        self.settled: deque[Place] | None = None
        self.complete = False

    # What is wanted -------------------------------------------------------------------------------

    def want(
        self,
        url: str,
        *,
        role: Role = Role.SITEMAP,
        level: int = 0,
        parents: frozenset[str] = frozenset(),
        probe: bool = False,
        quiet: bool = False,
    ) -> Place:
        """Put a document at the top of the tree, behind those that are wanted already.

        A ``probe`` may well not be there: it is asked for less often, and ``quiet`` about it.
        """
        position = (len(self._roots),)
        doc = self._document(
            url, role, position, level, parent_url=None, probe=probe, quiet=probe or quiet
        )
        place = Place(url, level, parents, position, doc=doc)
        self._places += 1
        self._roots.append(place)
        return place

    def _document(
        self,
        url: str,
        role: Role,
        position: tuple[int, ...],
        level: int,
        *,
        parent_url: str | None,
        probe: bool = False,
        quiet: bool = False,
    ) -> Doc:
        key = (role, urldefrag(url)[0])
        doc = self._docs.get(key)
        if doc is None:
            doc = Doc(key[1], role, position, level, probe, quiet, _host(url))
            self._docs[key] = doc
            self._queue.put(doc)
            self._events.append(SitemapFound(url, parent_url, level))
        elif doc.probe and not probe:
            self._take_seriously(doc)
        return doc

    def _take_seriously(self, doc: Doc) -> None:
        """Ask again for what was given up as a probe, now that somebody has declared it."""
        doc.probe = doc.quiet = False
        if isinstance(doc.result, Failed):
            pause = DECLARED.delay(doc.attempt, doc.result.error)
            if pause is not None:
                doc.result = None
                self._queue.put(doc)

    # Work out -------------------------------------------------------------------------------------

    def next_fetches(self, room: int, now: float) -> list[Fetch]:
        """Give what is to be fetched now: ``room`` orders at most, no host asked too much at once."""
        self._pump()
        orders: list[Fetch] = []
        while len(orders) < room and not self.complete:
            doc = self._queue.get(now)
            if doc is None:
                break
            if doc.host in self._dead:
                self._queue.done(doc)
                self._settle(doc, Failed(_given_up(self._dead[doc.host])))
                continue
            doc.attempt += 1
            self._events.append(SitemapStarted(doc.url, doc.attempt))
            orders.append(Fetch(doc.url, doc.role, doc.attempt))
        return orders

    def wake_at(self) -> float | None:
        """Give the time at which a request that failed is due again, if one is waiting."""
        return self._queue.next_due()

    # Results in -----------------------------------------------------------------------------------

    def arriving(self, order: Fetch, arrival: Arrival) -> None:
        """Take note of a page sitemap that has begun to come in."""
        self._docs[order.role, order.url].arrival = arrival

    def finished(self, order: Fetch, result: Received | Failed, now: float) -> None:
        """Take what an order has led to."""
        doc = self._docs[order.role, order.url]
        self._queue.done(doc)
        known_dead = doc.host in self._dead
        self._judge_host(doc.host, result)
        if isinstance(result, Failed):
            error = result.error
            pause = (PROBE if doc.probe else DECLARED).delay(doc.attempt, error)
            quiet = doc.quiet or doc.role is not Role.SITEMAP
            again = pause is not None and doc.host not in self._dead
            log_failure(doc.url, error, retry=again, quiet_404=quiet, quiet=known_dead)
            if pause is not None and again:
                self._queue.put(doc, not_before=now + pause)
                return
        self._settle(doc, result)

    def _judge_host(self, host: str, result: Received | Failed) -> None:
        """Give up a host where nobody is, or that has never answered."""
        if isinstance(result, Received) or result.error.status is not None:
            self._silent[host] = -1  # it answers: silence is about single documents now
        elif result.error.unreachable:
            self._dead.setdefault(host, result.error.message())
        elif result.error.silent and self._silent.get(host, 0) >= 0:
            self._silent[host] = self._silent.get(host, 0) + 1
            if self._silent[host] >= MAX_SILENT:
                self._dead.setdefault(host, result.error.message())

    def top_of(self, place: Place) -> Place:
        """Give the place at the top of the tree that a place stands below, or is."""
        top = self._roots[place.position[0]]
        if top.is_homepage and len(place.position) > 1:
            return top.children[place.position[1]]
        return top

    def take_events(self) -> list[Event]:
        """Give what has happened since the last call."""
        events, self._events = self._events, []
        return events

    def _settle(self, doc: Doc, result: Received | Failed) -> None:
        doc.result = result
        doc.arrival = None
        if isinstance(result, Failed):
            self._events.append(SitemapFailed(doc.url, result.error.message(), doc.attempt))
        else:
            self._tell(doc, result)
            if not self._choice:
                self._fetch_ahead(doc, result)
        self._pump()

    def _tell(self, doc: Doc, result: Received) -> None:
        exchange, look = result.document.exchange, result.look
        self._events.append(
            SitemapReceived(doc.url, exchange.final_url, exchange.received, exchange.seconds)
        )
        if look.kind is None:
            reason = look.refusal or "it is no sitemap"
            level = logging.DEBUG if doc.quiet else logging.WARNING
            log.log(level, "%s is no sitemap: %s", exchange.final_url, reason)
            self._events.append(SitemapFailed(doc.url, reason, doc.attempt))
            return
        for problem in look.problems:
            log.warning("%s: %s", exchange.final_url, problem)
        log.info("%s: %s, %d bytes", exchange.final_url, look.kind.__name__, exchange.received)
        self._events.append(SitemapFinished(doc.url, look.kind.__name__))
        if issubclass(look.kind, AbstractPagesSitemap) or look.pages_at is not None:
            pages = StoredPages(result.document, exchange.final_url)
            self._events.append(PagesReady(exchange.final_url, pages))

    def _fetch_ahead(self, doc: Doc, result: Received) -> None:
        """Queue the children of a document whose place is not settled yet: nobody will object."""
        if doc.level >= MAX_LEVEL:
            return
        parent_url = result.document.exchange.final_url
        for at, child in enumerate(unique(result.look.children)):
            if len(self._docs) >= self._max_sitemaps:
                return
            position = (*doc.position, at)
            self._document(child.loc, Role.SITEMAP, position, doc.level + 1, parent_url=parent_url)

    # The tree, place by place ---------------------------------------------------------------------

    def _pump(self) -> None:
        """Settle places as far as their documents have come."""
        if self._walk is None:
            self._walk = self._walk_places(self._roots)
        while not self.complete and (self.awaited is None or self.awaited.is_there):
            self.awaited = next(self._walk, None)
            self.complete = self.awaited is None

    def _walk_places(self, places: Iterable[Place]) -> Iterator[Place]:
        """Settle places in the order of the tree; gives each whose document must come first."""
        for place in places:
            if place.doc is not None:
                while place.doc.result is None:
                    yield place
                self._settle_place(place, place.doc)
            received = place.received
            pages_at = received.look.pages_at if received else None
            before, behind = place.children[: pages_at or 0], place.children[pages_at or 0 :]
            yield from self._walk_places(before)
            if self.settled is not None:
                self.settled.append(place)
            yield from self._walk_places(behind)

    def _settle_place(self, place: Place, doc: Doc) -> None:
        result, final_url = doc.result, place.final_url
        if isinstance(result, Failed) and isinstance(result.error, NotFetched):
            place.reason = "Un-fetched child sitemap"
            return
        if isinstance(result, Failed):
            place.reason = f"Unable to fetch sitemap from {place.url}: {result.error.message()}"
            return
        assert result is not None
        look = result.look
        if final_url != place.url and final_url in place.parents:
            place.astray = True
            place.reason = (
                f"Recursion detected when {place.url} redirected to {final_url} "
                f"with parent URLs {_listed(place.parents)}."
            )
        elif look.kind is None:
            place.reason = f"No parsers support sitemap from {final_url}: {look.refusal}"
            place.problems.extend(look.problems)
        elif issubclass(look.kind, AbstractIndexSitemap):
            self._add_children(place, result)

    def _add_children(self, place: Place, result: Received) -> None:
        parents = place.parents | {place.final_url}
        children = unique(result.look.children)
        if self._choice and not place.is_homepage:
            children = self._choice.of(children, place.level, parents)
        for at, child in enumerate(children):
            if self._places >= self._max_sitemaps:
                left = len(children) - at
                place.problems.append(
                    Problem(
                        f"{left} sitemaps were left out: the tree has {self._max_sitemaps} already",
                        lost=left,
                    )
                )
                return
            self._places += 1
            place.children.append(self._child(place, child, parents, (*place.position, at)))

    def _child(
        self, parent: Place, entry: ChildEntry, parents: frozenset[str], position: tuple[int, ...]
    ) -> Place:
        url, level = entry.loc, parent.level + 1
        place = Place(url, level, parents, position, entry.lastmod)
        refusal = refuse(url, level, parents)
        if refusal:
            place.reason = f"Unable to add sub-sitemap from URL {url}: {refusal}"
        else:
            place.doc = self._document(
                url, Role.SITEMAP, position, level, parent_url=parent.final_url
            )
        return place


def refuse(url: str, level: int, parents: Iterable[str]) -> str | None:
    """Say why a sitemap is not even asked for, if it is not."""
    if not is_http_url(url.replace(" ", "%20")):
        return f"URL {url} is not a HTTP(s) URL."
    if level > MAX_LEVEL:
        return f"Recursion level exceeded {MAX_LEVEL} for URL {url}."
    if urldefrag(url)[0] in {urldefrag(parent)[0] for parent in parents}:
        return f"Recursion detected in URL {url} with parent URLs {_listed(parents)}."
    return None


def _listed(urls: Iterable[str]) -> str:
    return "{" + ", ".join(repr(url) for url in sorted(urls)) + "}"


def unique(children: Iterable[ChildEntry]) -> list[ChildEntry]:
    """Leave out what the same index declares again."""
    first: dict[str, ChildEntry] = {}
    for child in children:
        first.setdefault(child.loc, child)
    return list(first.values())


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return f"{parts.scheme}://{parts.netloc}".lower()


def _given_up(reason: str) -> WebClientErrorResponse:
    return WebClientErrorResponse(f"nobody answers at this host ({reason})", retryable=False)
