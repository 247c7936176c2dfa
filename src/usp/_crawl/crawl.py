"""The decisions of a crawl: work out, results in. No I/O, no clock, no threads.

A crawl has *documents* and *slots*. A document is what a URL returns: it is fetched once. A slot is
its position in the tree: a document that two indexes declare has two slots. Documents are fetched in
any order; slots are settled in the order of the tree, depth first (:class:`TreeBuilder`), so that the
order in which callbacks run and limits take effect does not depend on the network.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from usp._base.urls import BadUrl, HttpUrl, read_url, without_fragment
from usp._crawl import journal
from usp._crawl.orders import (
    Arrival,
    Failed,
    Fetched,
    FetchOrder,
    FinalResult,
    HostGivenUp,
    LeftOut,
    NotRequested,
    Received,
)
from usp._crawl.schedule import Schedule
from usp._crawl.stored_pages import StoredPages
from usp._crawl.tree_builder import TreeBuilder, refuse, without_fragments
from usp._crawl.tree_slots import TreeSlot
from usp._formats.document import Role
from usp.events import (
    Event,
    PagesReady,
    SitemapFailed,
    SitemapFinished,
    SitemapFound,
    SitemapReceived,
    SitemapStarted,
)
from usp.options import CrawlOptions
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason, words_of

if TYPE_CHECKING:
    from usp._base.reason import Reason

_INDEXES = 2  # of which each declares as many URLs as one may


class Crawl(TreeBuilder):
    """Decides what is fetched next, and where it belongs in the tree.

    A driver gets orders (:meth:`next_fetches`), executes them, and reports the results
    (:meth:`finished`) until the crawl is ``complete``. ``awaited`` is the next slot of the tree,
    whose document has not arrived yet; :meth:`take_settled` returns the slots before it, in order.
    Once ``ending`` has a reason, nothing more is requested, and fetches in progress should end soon.

    ``options`` are the caller's, ``per_host`` is how many requests to one host the client allows at a
    time. ``chance`` returns random numbers from 0 to 1, for the pauses between attempts. A login in
    the URL of the ``start`` is used for its host.
    """

    def __init__(
        self,
        options: CrawlOptions | None = None,
        *,
        per_host: int = 1,
        chance: Callable[[], float] = random.random,
        start: HttpUrl | None = None,
    ) -> None:
        super().__init__(options or CrawlOptions())
        self._start = start
        self._orders: dict[tuple[Role, str], FetchOrder] = {}
        self._above_roots: frozenset[str] = frozenset()  # given by the caller
        self._declared = 0  # documents, without known paths
        self._collect_events = self.options.on_event is not None
        self._final: list[FetchOrder] = []  # with a result that was not taken yet
        self._schedule = Schedule(self.options, per_host, chance)
        self.ends_at = math.inf  # once it has begun, if there is a time limit
        self._url_text = 0  # characters of the URLs that indexes declare

    # What is requested ----------------------------------------------------------------------------

    def want(
        self,
        url: str,
        *,
        role: Role = Role.SITEMAP,
        level: int = 0,
        parents: frozenset[str] = frozenset(),
        guess: bool = False,
        quiet: bool = False,
    ) -> TreeSlot:
        """Add a document at the top of the tree, after those that were added before.

        A ``guess`` may well not exist: it is retried less often, and failures are logged quietly. If
        children may be left out, it is requested only when everything before it is settled: it may
        be one of them.
        """
        position = (len(self.wanted),)
        slot = TreeSlot(url, level, None, position, declared_by=parents, guess=guess)
        self.wanted.append(slot)
        self._slots += not guess
        self._above_roots |= without_fragments(parents)
        if guess and self._filter.may_skip:
            self._later.append(slot)
        else:
            slot.order = self._request(slot, role=role, quiet=quiet)
        return slot

    def _request(
        self,
        slot: TreeSlot,
        parent_url: str | None = None,
        role: Role = Role.SITEMAP,
        *,
        quiet: bool = False,
    ) -> FetchOrder:
        url = without_fragment(slot.url)
        order = self._orders.get((role, url))
        if order is not None:
            if order.is_guess and not slot.guess:
                self._declare(order, slot.lastmod)
            return order
        host = origin = url  # unless it can be read
        login, start = None, self._start
        try:
            there = read_url(url)
        except BadUrl:
            pass  # of a caller's own known path: its request will fail
        else:
            host, origin = sys.intern(there.site), sys.intern(there.origin)
            if start and start.login and there.login is None and start.may_share(there):
                login = start.login
        where = (slot.position, slot.level, slot.guess, quiet or slot.guess)
        order = FetchOrder(url, role, *where, host, origin, login, slot.lastmod)
        self._orders[role, url] = order
        self._declared += not slot.guess
        if self._collect_events:
            self._events.append(SitemapFound(slot.url, parent_url, slot.level))
        if self.ending is not None:
            order.result = Failed(NotRequested(self.ending, retryable=False))
            self._final.append(order)
        else:
            self._schedule.add(order)
        return order

    def _declare(self, order: FetchOrder, lastmod: str | None) -> None:
        """Request a document that failed as a guess again, now that it is declared."""
        order.is_guess = order.quiet = False
        order.lastmod = lastmod
        error = _error_of(order.result)
        if error is not None and self.ending is None and self._schedule.add_declared(order, error):
            order.result, order.failed_as_guess = None, True

    # Work out -------------------------------------------------------------------------------------

    def next_fetches(self, room: int, now: float) -> list[FetchOrder]:
        """Return what to fetch now: at most ``room`` orders, within the limits per host."""
        if self.ends_at == math.inf and self.limits.seconds is not None:
            self.ends_at = now + self.limits.seconds
        if now >= self.ends_at:
            self.end(self.limits.reached("seconds"))
        self._advance()
        orders: list[FetchOrder] = []
        while len(orders) < room and not self.complete and self.ending is None:
            order = self._schedule.next(now)
            if order is None:
                break
            given_up = self._schedule.health[order.origin].given_up
            if given_up is not None:
                self._schedule.done(order)
                error = HostGivenUp(given_up, retryable=False)
                self._settle(order, order.partial or Failed(error, order.last))
                continue
            order.attempt += 1
            order.is_active = True
            journal.fetching(order.url, order.level)
            if self._collect_events:
                self._events.append(SitemapStarted(order.url, order.attempt))
            orders.append(order)
        return orders

    def wake_at(self, *, room: bool = True) -> float:
        """Return the time at which there is something to do even if nothing arrives, or infinity.

        A request that is due matters only if there is ``room`` for it.
        """
        return min(self._schedule.next_due(), self.ends_at) if room else self.ends_at

    def end(self, reason: Reason) -> None:
        """Request nothing more; the results of fetches in progress are still accepted."""
        if self.ending is None:
            self.ending = reason
            self._give_up(active=False)

    def abandon(self) -> None:
        """Stop waiting for fetches in progress, after :meth:`end`."""
        self._give_up(active=True)

    def _give_up(self, *, active: bool) -> None:
        assert self.ending is not None
        for order in list(self._orders.values()):
            if order.result is None and (active or not order.is_active):
                error = NotRequested(self.ending, retryable=False)
                self._settle(order, order.partial or Failed(error, order.last))

    # Results in -----------------------------------------------------------------------------------

    def arriving(self, order: FetchOrder, arrival: Arrival) -> None:
        """Record a page sitemap whose first part has arrived."""
        if order.is_active and order.result is None:  # else it is no longer awaited
            order.arrival = arrival

    def finished(self, order: FetchOrder, result: Received | Failed, now: float) -> None:
        """Take the result of an order."""
        order.is_active = False
        if isinstance(result, Failed) and result.error.shortage is not None:
            self._schedule.wait_out(order, result.error.shortage, now)
            return
        given_up = self._schedule.health[order.origin].given_up is not None
        self._schedule.finished(order, result, now)
        if order.result is not None:
            return  # it is no longer awaited
        error = _error_of(result)
        if error is not None:
            if isinstance(result, Failed):
                order.last = result.exchange
            elif order.partial is None or order.partial.document.size <= result.document.size:
                order.partial = result
            pause = self._schedule.repeat(order, error, now, ending=self.ending is not None)
            journal.request_failed(order, error, pause, quiet=given_up)
            if pause is not None:
                return
            result = order.partial or result
        self._settle(order, result)

    def recall(self, order: FetchOrder, final: FinalResult) -> None:
        """Take the result of an order in another crawl: it is not retried, and no host is judged."""
        self._schedule.done(order)
        order.is_active = False
        order.attempt = final.attempts
        if order.result is None:
            self._settle(order, final.result)

    def take_documents(self) -> list[FinalResult]:
        """Return the documents that were settled since the last call, each with its result."""
        orders, self._final = self._final, []
        return [order.final_result() for order in orders if order.result is not None]

    def fetched(self, kind: str, url: str) -> Fetched:
        """Return what the tree was read from; ``kind`` and ``url`` are where the crawl began."""
        documents = tuple(
            order.final_result(with_children=False)
            for order in self._orders.values()
            if order.result is not None
        )
        return Fetched((kind, url), self.options, documents)

    def take_events(self) -> list[Event]:
        """Return what has happened since the last call."""
        events, self._events = self._events, []
        return events

    def _settle(self, order: FetchOrder, result: Received | Failed) -> None:
        if isinstance(result, Received) and result.probe.children:
            result = self._bounded(result)
        order.result, order.arrival = result, None
        self._final.append(order)
        if order.role is Role.ROBOTS:
            delay = result.probe.crawl_delay if isinstance(result, Received) else None
            self._schedule.robots_settled(order.host, delay)
        if self._collect_events:
            self._add_events(order, result)
        if isinstance(result, Received):
            journal.received(result.document, result.probe, quiet=order.quiet)
            if not self._filter.has_callbacks:
                self._fetch_ahead(order, result)
        self._advance()

    def _bounded(self, result: Received) -> Received:
        """Return a result without its children if the URLs of the tree would take too much memory."""
        probe = result.probe
        self._url_text += sum(len(child.loc) for child in probe.children)
        if self._url_text <= _INDEXES * self.limits.url_text:
            return result
        count = len(probe.children) + (probe.left_out.count if probe.left_out else 0)
        left_out = LeftOut(count, self.limits.reached("url_length"))
        return replace(result, probe=replace(probe, children=(), left_out=left_out))

    def _add_events(self, order: FetchOrder, result: Received | Failed) -> None:
        """Add the events for the result of a document."""
        if isinstance(result, Failed):
            why, message = failure_reason(result.error), words_of(result.error)
            self._events.append(SitemapFailed(order.url, message, order.attempt, why.code))
            return
        exchange, probe = result.exchange, result.probe
        self._events.append(
            SitemapReceived(order.url, exchange.final_url, exchange.received, exchange.seconds)
        )
        if probe.kind is None:
            assert probe.refusal is not None
            code = probe.refusal.code
            self._events.append(SitemapFailed(order.url, str(probe.refusal), order.attempt, code))
            return
        self._events.append(SitemapFinished(order.url, probe.kind.__name__))
        if probe.has_pages:
            pages = StoredPages(result.document, exchange.final_url, self.limits)
            self._events.append(PagesReady(exchange.final_url, pages))

    def _fetch_ahead(self, order: FetchOrder, result: Received) -> None:
        """Queue the children of a document before its slot is settled: no callback will object."""
        level = order.level + 1
        children, _ = self._filter.select(result.probe, order.level, frozenset(), ask=False)
        for at, child in enumerate(children):
            limits = self.limits_of(child.loc, self._above_roots)
            if limits.sitemaps is not None and self._declared >= limits.sitemaps:
                continue
            if (Role.ROBOTS, child.loc) in self._orders:
                continue  # if it is below its robots.txt, it will be refused
            if refuse(child.loc, level, self._above_roots, limits) is None:
                slot = TreeSlot(child.loc, level, None, (*order.position, at), child.lastmod)
                self._request(slot, result.exchange.final_url)


def _error_of(result: Received | Failed | None) -> WebClientErrorResponse | None:
    """Return the error of a document that failed, or that broke off and may be complete next time."""
    if isinstance(result, Failed):
        return result.error
    broken = result.probe.broken if result is not None else None
    if broken is None:
        return None
    return WebClientErrorResponse(broken.after("the transfer broke off"), retryable=True)
