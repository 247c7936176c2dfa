"""The decisions of a crawl: work out, results in. No I/O, no clock, no threads.

A crawl has *documents* and *slots*. A document is what a URL returns: it is fetched once. A slot is
its position in the tree: a document that two indexes declare has two slots. Documents are fetched in
any order; slots are decided in the order of the tree, depth first, so that the order in which
callbacks run and limits take effect does not depend on the network.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from itertools import repeat
from typing import TYPE_CHECKING

from usp import events
from usp._base.urls import BadUrl, HttpUrl, read_url, without_fragment
from usp._crawl import journal
from usp._crawl.child_filter import ChildFilter, child_slot, refuse, without_fragments
from usp._crawl.orders import (
    UNFETCHED,
    Arrival,
    ClientRaised,
    Failed,
    Fetched,
    FetchOrder,
    FinalResult,
    HostGivenUp,
    LeftOut,
    NoNetwork,
    NotRequested,
    Received,
    TreeSlot,
)
from usp._crawl.schedule import Schedule
from usp._crawl.stored_pages import StoredPages
from usp._formats.document import Role
from usp._formats.html import header_links, is_sitemap_page
from usp.options import CrawlOptions
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason, words_of

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._crawl.website import Website
    from usp.limits import Limits

_INDEXES = 2  # of which each declares as many URLs as one may


class Crawl:
    """Decides what is fetched next, and where it belongs in the tree.

    A driver gets orders (:meth:`next_fetches`), executes them, and reports the results
    (:meth:`finished`) until the crawl is ``complete``. ``awaited`` is the next slot of the tree,
    whose document has not arrived yet; :meth:`take_decided` returns the slots before it, in order.
    ``roots`` decides which of the slots at the top are in the tree, if not all of them are;
    ``limits_of`` which limits are those of a child, by its URL and those above it. Once ``ending`` has
    a reason, nothing more is requested, and fetches in progress should end soon.

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
        self.options = options = options or CrawlOptions()
        self.limits = options.effective_limits
        self.limits_of: Callable[[str, frozenset[str]], Limits] = lambda *_: self.limits
        self.awaited: TreeSlot | None = None
        self.complete = False
        self.roots: Website | None = None
        self.ending: Reason | None = None
        self.ends_at = math.inf  # once it has begun, if there is a time limit
        self.wanted: list[TreeSlot] = []  # at the top
        # With pages, by the root that they are below; if somebody wants to know.
        self.arrived: dict[int, dict[FetchOrder, None]] | None = None
        self._start = start
        self._orders: dict[tuple[Role, str], FetchOrder] = {}
        self._above_roots: frozenset[str] = frozenset()  # given by the caller
        self._declared = 0  # documents, without known paths
        self._collect_events = options.on_event is not None or options.progress
        self._events: list[events.Event] = []
        self._final: list[FetchOrder] = []  # with a result that was not taken yet
        self._schedule = Schedule(options, per_host, chance)
        self._filter = ChildFilter(options)
        self._later: list[TreeSlot] = []  # known paths that may turn out to be excluded
        self._ahead: list[tuple[TreeSlot, bool]] = []  # a stack; whether children are done
        self._advancing = False
        self._decided: list[TreeSlot] = []
        self._slots = 0  # in the tree
        self._pages = 0
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
        children may be left out, it is requested only when everything before it is decided: it may
        be one of them.
        """
        position = (len(self.wanted),)
        slot = TreeSlot(url, level, None, position, declared_by=parents, guess=guess)
        self.wanted.append(slot)
        self._ahead.insert(0, (slot, False))
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
        if role is Role.SITEMAP and self.options.use_html_sitemaps and is_sitemap_page(url):
            role = Role.HTML_SITEMAP
        order = self._orders.get((role, url))
        if order is not None:
            if order.is_guess and not slot.guess:
                self._declare(order, slot.lastmod)
            return order
        host = origin = url  # unless it can be read
        login, start = None, self._start
        with suppress(BadUrl):  # of a caller's own known path: its request will fail
            there = read_url(url)
            host, origin = sys.intern(there.site), sys.intern(there.origin)
            if start and start.login and there.login is None and start.may_share(there):
                login = start.login
        where = (slot.position, slot.level, slot.guess, quiet or slot.guess)
        order = FetchOrder(url, role, *where, host, origin, login, slot.lastmod)
        self._orders[role, url] = order
        self._declared += not slot.guess
        if self._collect_events:
            self._events.append(events.SitemapFound(slot.url, parent_url, slot.level))
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
                self._keep_result(order, order.partial or Failed(error, order.last))
                continue
            order.attempt += 1
            order.is_active = True
            journal.fetching(order.url, order.level)
            if self._collect_events:
                self._events.append(events.SitemapStarted(order.url, order.attempt))
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
            self.abandon(active=False)

    def abandon(self, *, active: bool = True) -> None:
        """Stop waiting for what is not requested any more and, if ``active``, for what was."""
        assert self.ending is not None
        for order in list(self._orders.values()):
            if order.result is None and (active or not order.is_active):
                error = NotRequested(self.ending, retryable=False)
                self._keep_result(order, order.partial or Failed(error, order.last))

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
                known = result.exchange
                if known is not None and known.started is not None:
                    order.earlier += ((known.started, known.seconds),)
                if self._collect_events:
                    often = (order.attempt + 1, self._schedule.attempts(order, error))
                    event = events.SitemapRetrying(order.url, *often, pause, error.retry_after)
                    self._events.append(event)
                return
            result = order.partial or result
        self._keep_result(order, result)

    def recall(self, order: FetchOrder, final: FinalResult) -> None:
        """Take the result of an order in another crawl: it is not retried, and no host is judged."""
        self._schedule.done(order)
        order.is_active = False
        order.attempt = final.attempts
        if order.result is None:
            self._keep_result(order, final.result)

    def take_documents(self) -> list[FinalResult]:
        """Return the documents that have a final result since the last call."""
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

    def take_events(self) -> list[events.Event]:
        """Return what has happened since the last call."""
        taken, self._events = self._events, []
        return taken

    def _keep_result(self, order: FetchOrder, result: Received | Failed) -> None:
        if isinstance(result, Received):
            if self.options.use_html_links and order.role in (Role.ROBOTS, Role.HOMEPAGE):
                result = _with_header_links(result)
            if order.role is Role.HOMEPAGE and not self.options.use_html_sitemaps:
                result = _without_page_links(result)
            if result.probe.children:
                result = self._bounded(result)
        order.result, order.arrival = result, None
        self._final.append(order)
        if order.role is Role.ROBOTS:
            delay = result.probe.crawl_delay if isinstance(result, Received) else None
            self._schedule.keep_crawl_delay(order.host, delay)
        if self._collect_events:
            self._events += self._events_of(order, result)
        if isinstance(result, Received):
            journal.received(result.document, result.probe, quiet=order.quiet)
            if self.arrived is not None and result.probe.has_pages and not result.probe.children:
                self.arrived.setdefault(order.position[0], {})[order] = None
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

    def _events_of(self, order: FetchOrder, result: Received | Failed) -> Iterator[events.Event]:
        url, tries = order.url, order.attempt
        if isinstance(result, Failed):
            code = failure_reason(result.error).code
            yield events.SitemapFailed(url, words_of(result.error), tries, code)
            return
        exchange, probe = result.exchange, result.probe
        final_url = exchange.final_url
        yield events.SitemapReceived(url, final_url, exchange.received, exchange.seconds)
        if probe.kind is None:
            assert probe.refusal is not None
            yield events.SitemapFailed(url, str(probe.refusal), tries, probe.refusal.code)
            return
        yield events.SitemapFinished(url, probe.kind.__name__)
        if probe.has_pages:
            pages = StoredPages(result.document, final_url, self.limits)
            yield events.PagesReady(final_url, pages)

    def _fetch_ahead(self, order: FetchOrder, result: Received) -> None:
        """Queue the children of a document before its slot is decided: no callback will object."""
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

    # The tree -------------------------------------------------------------------------------------

    def includes(self, slot: TreeSlot) -> bool:
        """Return whether what is at or below a slot is in the tree."""
        return self.roots is None or self.roots.includes(self._root_of(slot))

    def take_decided(self) -> list[TreeSlot]:
        """Return the slots that were decided since the last call, in the order of their pages."""
        decided, self._decided = self._decided, []
        return decided

    def _advance(self) -> None:
        """Go on as far as possible.

        If a callback raises an exception, its slot is tried again the next time.
        """
        if self._advancing:  # deciding on a slot has ended the crawl, and brought more results
            return
        self._advancing = True
        self.awaited = None
        ahead = self._ahead  # a stack, not recursion: a website decides how deep its tree is
        try:
            while ahead or (self.roots and self.ending is None and self.roots.want_more()):
                slot, is_done = ahead[-1]
                if is_done:
                    ahead.pop()
                    self._finish(slot)
                    continue
                if self._later and slot is self._later[0]:
                    self._request_known_paths()
                if not slot.is_there:
                    self.awaited = slot
                    return
                self._decide(slot)
                # Pages of an index are among its children; those of all others come first.
                pages_at = (slot.received.probe.pages_at if slot.received else None) or 0
                first, last = slot.children[:pages_at], slot.children[pages_at:]
                ahead[-1:] = [  # all at once: an interrupt must not leave a half of them
                    *zip(reversed(last), repeat(False)),
                    (slot, True),
                    *zip(reversed(first), repeat(False)),
                ]
            self.complete = True
        finally:
            self._advancing = False

    def _request_known_paths(self) -> None:
        later, self._later = self._later, []
        for slot in later:
            if self.roots is None or not self.roots.is_declared(slot):
                slot.order = self._request(slot)

    def _finish(self, slot: TreeSlot) -> None:
        most = self.limits.pages
        pages = slot.received.probe.pages if slot.received else None
        self._decided.append(slot)
        if most is None or not pages or not self.includes(slot):
            return
        room = most - self._pages
        self._pages += min(pages, room)
        if pages > room:
            slot.most = room
            reason = self.limits.reached("pages")
            slot.leave_out(LeftOut(pages - room, reason), "pages")
            self.end(reason)

    def _decide(self, slot: TreeSlot) -> None:
        result = slot.result
        if isinstance(result, Failed):
            slot.reason = _why_failed(slot, result)
        elif result is not None:
            slot.examine()
        is_root = self._root_of(slot) is slot and not slot.is_homepage
        if is_root and not self.includes(slot):  # called for each of them, in order
            if slot.reason is not None:
                journal.left_out(slot.node_url, str(slot.reason), quiet=slot.guess)
            return
        received = slot.received
        if received is not None and slot.order is not None:
            self._slots += slot.order.is_guess  # a known path counts once it is in the tree
            if received.probe.kind and not received.probe.kind.lists_pages:
                self._add_children(slot, received)

    def _root_of(self, slot: TreeSlot) -> TreeSlot:
        """Return the slot at the top of the tree above a slot, or the slot itself."""
        root = self.wanted[slot.position[0]]
        if root.is_homepage and len(slot.position) > 1:
            return root.children[slot.position[1]]
        return root

    def _add_children(self, slot: TreeSlot, received: Received) -> None:
        parents = slot.parents | {slot.final_url}
        ask = self.ending is None
        children, skipped = self._filter.select(received.probe, slot.level, parents, ask=ask)
        left_out = received.probe.left_out
        above = without_fragments(parents)
        below: list[TreeSlot] = []
        elsewhere = self.roots.site_of(slot).elsewhere if self.roots else ()
        for entry in children:
            if elsewhere and without_fragment(entry.loc) in elsewhere:
                continue
            limits = self.limits_of(entry.loc, above)
            if limits.sitemaps is not None and self._slots + len(below) >= limits.sitemaps:
                left_out = left_out or LeftOut(0, limits.reached("sitemaps"))
                left_out = replace(left_out, count=left_out.count + 1)
                continue
            child = child_slot(slot, len(below), entry, above, limits)
            linked_by = self.roots if slot.is_homepage else None
            if child.reason is None and not (linked_by and linked_by.is_declared(child)):
                child.order = self._request(child, slot.final_url)
            below.append(child)
        if left_out is not None:
            slot.leave_out(left_out, "sitemaps")
        slot.children, slot.skipped = tuple(below), tuple(skipped)
        self._slots += len(below)
        for one in skipped if self._collect_events else ():
            event = events.SitemapSkipped(one.url, slot.final_url, slot.level + 1, one.reason)
            self._events.append(event)


def _with_header_links(result: Received) -> Received:
    """Return a document that was received, with the sitemaps that ``Link`` headers name first."""
    probe, exchange = result.probe, result.exchange
    links = {child.loc: child for child in header_links(exchange.headers, exchange.final_url)}
    if not links or probe.kind is None:
        return result
    others = (child for child in probe.children if child.loc not in links)
    return replace(result, probe=replace(probe, children=(*links.values(), *others)))


def _without_page_links(result: Received) -> Received:
    """Return a homepage without the links that seem to lead to HTML sitemaps."""
    probe = result.probe
    kept = tuple(one for one in probe.children if not (one.is_guess and is_sitemap_page(one.loc)))
    return replace(result, probe=replace(probe, children=kept))


def _error_of(result: Received | Failed | None) -> WebClientErrorResponse | None:
    """Return the error of a document that failed, or that broke off and may be complete next time."""
    if isinstance(result, Failed):
        return result.error
    broken = result.probe.broken if result is not None else None
    if broken is None:
        return None
    return WebClientErrorResponse(broken.after("the transfer broke off"), retryable=True)


def _why_failed(slot: TreeSlot, result: Failed) -> Reason:
    """Return why a document is missing; raises an exception of a client that would be hidden."""
    if isinstance(result.error, NoNetwork):
        return UNFETCHED
    is_declared = slot.guess and slot.order is not None and not slot.order.is_guess
    if isinstance(result.error, ClientRaised) and len(slot.position) == 1 and not is_declared:
        raise result.error.exception  # the caller must not take it for an empty website
    return failure_reason(result.error).at(f"Unable to fetch sitemap from {slot.url}")
