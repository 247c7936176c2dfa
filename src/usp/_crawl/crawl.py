"""The decisions of a crawl: work out, results in. No I/O, no clock, no threads.

A crawl has *documents* and *places*. A document is what a URL returns: it is fetched once. A place is
its position in the tree: a document that two indexes declare has two places. Documents are fetched in
any order; places are settled in the order of the tree, depth first, so that the order in which
callbacks run and limits take effect does not depend on the network.
"""

from __future__ import annotations

import random
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from usp._base.urls import BadUrl, read_url, without_fragment
from usp._crawl import journal
from usp._crawl.orders import Failed, Fetch, Fetched, HostGivenUp, Received, Settled, not_wanted
from usp._crawl.places import Doc, Fetching, Queued
from usp._crawl.schedule import Schedule
from usp._crawl.skips import Skips
from usp._crawl.stored_pages import StoredPages
from usp._crawl.walk import (
    Everything,
    Walk,
    has_callbacks,
    recurs,
    refuse_address,
    without_fragments,
)
from usp._formats.document import Role
from usp.events import (
    PagesReady,
    SitemapFailed,
    SitemapFinished,
    SitemapFound,
    SitemapReceived,
    SitemapSkipped,
    SitemapStarted,
)
from usp.objects.sitemap import AbstractPagesSitemap
from usp.options import CrawlOptions
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp._base.reason import Reason
    from usp._base.urls import HttpUrl, Login
    from usp._crawl.orders import Arrival
    from usp._crawl.places import Place
    from usp._crawl.walk import Top
    from usp.events import Event

_INDEXES = 2  # of which each declares as many URLs as one may


class Crawl:
    """Decides what is fetched next, and where it belongs in the tree.

    A driver gets orders (:meth:`next_fetches`), executes them, and reports the results
    (:meth:`finished`) until the crawl is :attr:`complete`. ``awaited`` is the next place of the tree,
    whose document has not arrived yet; :meth:`take_settled` returns the places before it, in order.
    Once ``ending`` has a reason, nothing more is requested, and fetches in progress should end soon.

    ``options`` are the caller's, ``per_host`` is how many requests to one host the client allows at a
    time. ``chance`` returns random numbers from 0 to 1, for the pauses between attempts. A login in
    the URL of the ``start`` is used for its host. ``tells`` is whether events are collected.
    """

    def __init__(
        self,
        options: CrawlOptions | None = None,
        *,
        per_host: int = 1,
        chance: Callable[[], float] = random.random,
        start: HttpUrl | None = None,
        tells: bool = True,
    ) -> None:
        self._options = options = options or CrawlOptions()
        self.limits = options.effective_limits
        self._has_callbacks = has_callbacks(options)
        self._skips = Skips(options)
        self._start = start
        self._docs: dict[tuple[Role, str], Doc] = {}
        self._above_roots: frozenset[str] = frozenset()  # given by the caller
        self._declared = 0  # documents, without known paths
        self._tells = tells
        self._events: list[Event] = []
        self._settled: list[Doc] = []
        self._schedule = Schedule(options, per_host, chance)
        self._ends_at: float | None = None
        self._url_text = 0  # characters of the URLs that indexes declare
        self._walk = Walk(options, self._ask, Everything(), self._skipped)
        self._walking = False
        self.ending: Reason | None = None

    @property
    def complete(self) -> bool:
        """Whether the tree is complete: nothing more will change it."""
        return self._walk.complete

    @property
    def awaited(self) -> Place | None:
        """The next place of the tree, whose document has not arrived yet."""
        return self._walk.awaited

    def holds(self, place: Place) -> bool:
        """Return whether what is at or below a place is in the tree."""
        return self._walk.holds(place)

    def take_settled(self) -> list[Place]:
        """Return the places that were settled since the last call, in the order of their pages."""
        return self._walk.take_settled()

    # What is wanted -------------------------------------------------------------------------------

    def begin(self, top: Top) -> None:
        """Let ``top`` decide which of the wanted documents are in the tree."""
        self._walk.begin(top)

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
        """Add a document at the top of the tree, after those that were added before.

        A ``probe`` may well not exist: it is retried less often, and failures are logged quietly. If
        children may be left out, it is requested only when everything before it is settled: it may
        be one of them.
        """
        later = probe and (self._has_callbacks or bool(self._skips))
        place = self._walk.add(url, level, parents, probe=probe, later=later)
        self._above_roots |= without_fragments(parents)
        if not later:
            quiet = probe or quiet
            place.doc = self._document(url, role, place.position, level, probe=probe, quiet=quiet)
        return place

    def _ask(self, place: Place, parent_url: str | None) -> Doc:
        """Return the document of a place that was declared, or of a known path."""
        where, probe = place.position, place.probe
        return self._document(
            place.url,
            Role.SITEMAP,
            where,
            place.level,
            parent_url,
            lastmod=place.lastmod,
            probe=probe,
            quiet=probe,
        )

    def _document(
        self,
        url: str,
        role: Role,
        position: tuple[int, ...],
        level: int,
        parent_url: str | None = None,
        *,
        lastmod: str | None = None,
        probe: bool = False,
        quiet: bool = False,
    ) -> Doc:
        key = (role, without_fragment(url))
        doc = self._docs.get(key)
        if doc is None:
            doc = Doc(key[1], role, position, level, probe, quiet, *_host_and_origin(url), lastmod)
            self._docs[key] = doc
            self._declared += not probe
            if self._tells:
                self._events.append(SitemapFound(url, parent_url, level))
            if self.ending is not None:
                doc.state = Failed(not_wanted(self.ending))
                self._settled.append(doc)
            else:
                self._schedule.add(doc)
        elif doc.probe and not probe:
            doc.lastmod = lastmod
            self._promote(doc)
        return doc

    def _skipped(self, event: SitemapSkipped) -> None:
        self._events.append(event)

    def _promote(self, doc: Doc) -> None:
        """Request a document that failed as a probe again, now that it is declared."""
        doc.probe = doc.quiet = False
        error = _error_of(doc.result)
        if error is not None and self.ending is None:
            self._schedule.add_declared(doc, error)

    # Work out -------------------------------------------------------------------------------------

    def next_fetches(self, room: int, now: float) -> list[Fetch]:
        """Return what to fetch now: at most ``room`` orders, within the limits per host."""
        self._watch_the_time(now)
        self._settle_places()
        orders: list[Fetch] = []
        while len(orders) < room and not self.complete and self.ending is None:
            doc = self._schedule.next(now)
            if doc is None:
                break
            given_up = self._schedule.given_up(doc)
            if given_up is not None:
                self._schedule.leave(doc)
                error = HostGivenUp(given_up, retryable=False)
                self._settle(doc, doc.partial or Failed(error, doc.last))
                continue
            doc.begin()
            journal.fetching(doc.url, doc.level)
            if self._tells:
                self._events.append(SitemapStarted(doc.url, doc.attempt))
            login = self._login_for(doc.url)
            orders.append(Fetch(doc.url, doc.role, doc.attempt, login, doc.lastmod, doc.probe))
        return orders

    def _login_for(self, url: str) -> Login | None:
        """Return the login in the URL of the start, if this URL is on the same host and has none."""
        start = self._start
        if start is None or start.login is None:
            return None
        there = read_url(url)
        return start.login if there.login is None and start.may_share(there) else None

    def wake_at(self, *, room: bool = True) -> float | None:
        """Return the time at which there is something to do even if nothing arrives.

        A request that is due matters only if there is ``room`` for it.
        """
        due = self._schedule.next_due() if room else None
        times = [time for time in (due, self._ends_at) if time is not None]
        return min(times, default=None)

    def _watch_the_time(self, now: float) -> None:
        if self._ends_at is None and self.limits.seconds is not None:
            self._ends_at = now + self.limits.seconds
        if self._ends_at is not None and now >= self._ends_at:
            self.end(self.limits.reached("seconds"))

    def overdue(self, now: float) -> Reason | None:
        """Return why fetches in progress should end, if they should; does not change anything."""
        if self.ending is None and self.is_late(now):
            return self.limits.reached("seconds")
        return self.ending

    def is_late(self, now: float) -> bool:
        """Return whether the time limit of the crawl has been reached."""
        return self._ends_at is not None and now >= self._ends_at

    def end(self, reason: Reason) -> None:
        """Request nothing more; the results of fetches in progress are still accepted."""
        if self.ending is None:
            self.ending = reason
            self._walk.ask_no_more()
            self._give_up(active=False)

    def abandon(self) -> None:
        """Stop waiting for fetches in progress, after :meth:`end`."""
        self._give_up(active=True)

    def _give_up(self, *, active: bool) -> None:
        assert self.ending is not None
        for doc in list(self._docs.values()):
            if isinstance(doc.state, Queued) or (active and isinstance(doc.state, Fetching)):
                self._settle(doc, doc.partial or Failed(not_wanted(self.ending), doc.last))

    # Results in -----------------------------------------------------------------------------------

    def arriving(self, order: Fetch, arrival: Arrival) -> None:
        """Record a page sitemap whose first part has arrived."""
        doc = self._docs[order.role, order.url]
        if isinstance(doc.state, Fetching):  # else it is no longer awaited
            doc.state = Fetching(arrival)

    def finished(self, order: Fetch, result: Received | Failed, now: float) -> None:
        """Take the result of an order."""
        doc = self._docs[order.role, order.url]
        if isinstance(doc.state, Fetching):
            doc.put_back()  # unless it is settled below
        if isinstance(result, Failed) and result.error.shortage is not None:
            self._schedule.wait_out(doc, result.error.shortage, now)
            return
        given_up = self._schedule.given_up(doc) is not None
        self._schedule.finished(doc, result, now)
        if doc.result is not None:
            return  # it is no longer awaited
        error = _error_of(result)
        if error is not None:
            if isinstance(result, Received):
                doc.partial = _longer(doc.partial, result)
            else:
                doc.last = result.exchange
            pause = self._schedule.repeat(doc, error, now, ending=self.ending is not None)
            quiet = doc.quiet or doc.role is Role.HOMEPAGE
            journal.request_failed(doc.url, error, retry_in=pause, quiet_404=quiet, quiet=given_up)
            if pause is not None:
                return
            result = doc.partial or result
        self._settle(doc, result)

    def recall(self, order: Fetch, settled: Settled) -> None:
        """Take the result of an order in another crawl: it is not retried, and no host is judged."""
        doc = self._docs[order.role, order.url]
        self._schedule.leave(doc)
        doc.attempt = settled.attempts
        if doc.result is None:
            self._settle(doc, settled.result)

    def take_documents(self) -> list[Settled]:
        """Return the documents that were settled since the last call, each with its result."""
        docs, self._settled = self._settled, []
        return [_as_settled(doc) for doc in docs if doc.result is not None]

    def fetched(self, kind: str, url: str) -> Fetched:
        """Return what the tree was read from; ``kind`` and ``url`` are where the crawl began."""
        docs = (doc for doc in self._docs.values() if doc.result is not None)
        documents = tuple(_without_children(_as_settled(doc)) for doc in docs)
        return Fetched((kind, url), self._options, documents)

    def take_events(self) -> list[Event]:
        """Return what has happened since the last call."""
        events, self._events = self._events, []
        return events

    def _settle(self, doc: Doc, result: Received | Failed) -> None:
        result = self._bounded(result)
        doc.state = result
        self._settled.append(doc)
        self._schedule.settled(doc, result)
        if self._tells:
            self._tell(doc, result)
        if isinstance(result, Received):
            journal.received(result.document.exchange, result.look, quiet=doc.quiet)
            if not self._has_callbacks:
                self._fetch_ahead(doc, result)
        self._settle_places()

    def _bounded(self, result: Received | Failed) -> Received | Failed:
        """Return a result without its children if the URLs of the tree would take too much memory."""
        most = self.limits.url_text
        if isinstance(result, Failed) or most is None or not result.look.children:
            return result
        self._url_text += sum(len(child.loc) for child in result.look.children)
        if self._url_text <= _INDEXES * most:
            return result
        look = result.look.without_children(self.limits.reached("url_length"))
        return replace(result, look=look)

    def _tell(self, doc: Doc, result: Received | Failed) -> None:
        """Add the events for the result of a document."""
        if isinstance(result, Failed):
            why, message = failure_reason(result.error), result.error.message()
            self._events.append(SitemapFailed(doc.url, message, doc.attempt, why.code))
            return
        exchange, look = result.document.exchange, result.look
        self._events.append(
            SitemapReceived(doc.url, exchange.final_url, exchange.received, exchange.seconds)
        )
        if look.kind is None:
            assert look.refusal is not None
            code = look.refusal.code
            self._events.append(SitemapFailed(doc.url, str(look.refusal), doc.attempt, code))
            return
        self._events.append(SitemapFinished(doc.url, look.kind.__name__))
        if issubclass(look.kind, AbstractPagesSitemap) or look.pages_at is not None:
            pages = StoredPages(result.document, exchange.final_url, self.limits)
            self._events.append(PagesReady(exchange.final_url, pages))

    def _fetch_ahead(self, doc: Doc, result: Received) -> None:
        """Queue the children of a document before its place is settled: no callback will object."""
        if not _below(doc.level, self.limits.depth):
            return
        parent_url = result.document.exchange.final_url
        children, _ = self._skips.parted(result.look) if self._skips else (result.look.children, ())
        for at, child in enumerate(children):
            if not _below(self._declared, self.limits.sitemaps):
                return
            if refuse_address(child.loc) or recurs(child.loc, self._above_roots):
                continue
            where = (*doc.position, at)
            self._document(
                child.loc, Role.SITEMAP, where, doc.level + 1, parent_url, lastmod=child.lastmod
            )

    def _settle_places(self) -> None:
        """Settle the places of the tree whose documents have arrived."""
        if self._walking:  # settling a place has ended the crawl, and settled more
            return
        self._walking = True
        try:
            while (reason := self._walk.advance()) is not None:
                self.end(reason)
        finally:
            self._walking = False


def _as_settled(doc: Doc) -> Settled:
    result = doc.result
    assert result is not None
    return Settled(doc.url, doc.role, doc.lastmod, doc.attempt, result, doc.probe)


def _without_children(settled: Settled) -> Settled:
    """Return a document without its children, which the nodes of the tree have."""
    result = settled.result
    if isinstance(result, Failed) or not result.look.children:
        return settled
    look = replace(result.look, children=(), problems=())
    return replace(settled, result=replace(result, look=look))


def _below(number: int, limit: int | None) -> bool:
    return limit is None or number < limit


def _host_and_origin(url: str) -> tuple[str, str]:
    """Return the unit of the concurrency limit, and that of availability; for a bad URL, itself."""
    try:
        read = read_url(url)
    except BadUrl:
        return url, url
    return sys.intern(read.site), sys.intern(read.origin)


def _error_of(result: Received | Failed | None) -> WebClientErrorResponse | None:
    """Return the error of a document that failed, or that broke off and may be complete next time."""
    if isinstance(result, Failed):
        return result.error
    broken = result.look.broken if result is not None else None
    if broken is None:
        return None
    return WebClientErrorResponse(broken.after("the transfer broke off"), retryable=True)


def _longer(one: Received | None, other: Received) -> Received:
    return one if one is not None and one.document.size > other.document.size else other
