"""The decisions of a crawl: work out, results in. No I/O, no clock, no threads.

A crawl knows *documents* and *places*. A document is what a URL answers: it is fetched once. A place
is where it stands in the tree: a document that two indexes declare has two places. Documents are
fetched in any order; places are settled in the order of the tree, depth first, so that callbacks run
and limits cut in an order that does not depend on the network.
"""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urldefrag

from usp._base.reason import Reason
from usp._base.urls import read_url
from usp._crawl import journal
from usp._crawl.choice import (
    followed,
    has_callbacks,
    host_of,
    listed,
    origin_of,
    recurs,
    refuse,
    refuse_address,
    without_fragments,
)
from usp._crawl.pages import StoredPages
from usp._crawl.places import Doc, Place
from usp._crawl.queue import Queue
from usp._crawl.retry import (
    DECLARED,
    PROBE,
    SHORTAGE_PAUSE,
    SHORTAGE_SECONDS,
    Hosts,
    kind_of,
)
from usp._crawl.values import (
    UNFETCHED,
    Arrival,
    ClientMistake,
    Failed,
    Fetch,
    HostGivenUp,
    LeftOut,
    NotFetched,
    Received,
    left_out_problem,
    not_wanted,
)
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
from usp.exceptions import LocalShortageError
from usp.objects.failure_codes import FailureCode
from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap
from usp.options import CrawlOptions
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason

if TYPE_CHECKING:
    from collections import deque
    from collections.abc import Callable, Iterator

    from usp._base.urls import HttpUrl, Login
    from usp._crawl.values import Look
    from usp._formats.abstract_parser import ChildEntry

_INDEXES = 2  # of which each declares as many URLs as one may


class Crawl:
    """Decides what is fetched next and where it stands in the tree.

    A driver asks for orders (:meth:`next_fetches`), obeys them, and reports (:meth:`finished`) until
    the crawl is :attr:`complete`. ``awaited`` is the next place of the tree, whose document is not
    there yet; a stream that sets ``settled`` to a queue finds there the places before it, in order.
    Once ``ending`` says why, nothing more is asked for, and what is being fetched should end soon.
    ``holds`` tells whether a place at the top is in the tree, ``declared`` whether a URL stands in what
    comes before the known paths; both are asked in the order of the tree.

    ``options`` are the caller's, ``per_host`` is how many requests to one host the client takes at a
    time. ``chance`` gives random numbers from 0 to 1, for the pauses between tries. A login in the
    address of the ``start`` is used for its host.
    """

    def __init__(
        self,
        options: CrawlOptions | None = None,
        *,
        per_host: int = 1,
        chance: Callable[[], float] = random.random,
        start: HttpUrl | None = None,
    ) -> None:
        self._options = options = options or CrawlOptions()
        self.limits = options.effective_limits
        self._has_callbacks = has_callbacks(options)
        self._per_host = 1 if options.wait else per_host
        self._chance = chance
        self._start = start
        self._docs: dict[tuple[Role, str], Doc] = {}
        self._roots: list[Place] = []
        self._above_roots: frozenset[str] = frozenset()  # what the caller says stands there
        self._waiting: list[Place] = []  # known paths that may turn out to be excluded
        self._places = 0  # in the tree
        self._declared = 0  # documents but for known paths
        self._events: list[Event] = []
        self._queue = Queue[Doc](self._per_host, options.wait)
        self._hosts = Hosts()
        self._ends_at: float | None = None
        self._short_since: float | None = None  # of something on this machine
        self._pages = 0
        self._url_text = 0  # characters of the URLs that indexes declare
        self._walk: Iterator[Place] | None = None
        self._pumping = False
        self.awaited: Place | None = None
        self.settled: deque[Place] | None = None
        self.holds: Callable[[Place], bool] = lambda _: True
        self.declared: Callable[[str], bool] = lambda _: False
        self.ending: Reason | None = None
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
        """Put a document at the top of the tree, after those that are wanted already.

        A ``probe`` may well not be there: it is retried less often and failures are logged quietly.
        With callbacks it is requested only when everything before it is settled: until then nobody
        knows whether they exclude it.
        """
        place = Place(url, level, None, (len(self._roots),), declared_by=parents, probe=probe)
        self._roots.append(place)
        self._above_roots |= without_fragments(parents)
        if probe and self._has_callbacks:
            self._waiting.append(place)
            return place
        self._places += not probe
        place.doc = self._document(
            url, role, place.position, level, parent_url=None, probe=probe, quiet=probe or quiet
        )
        return place

    def _ask_for_probes(self) -> None:
        """Queue the known paths that nothing before them declares: what is declared was decided."""
        waiting, self._waiting = self._waiting, []
        for place in waiting:
            if not self.declared(place.url):
                place.doc = self._document(
                    place.url, Role.SITEMAP, place.position, place.level,
                    parent_url=None, probe=True, quiet=True,
                )  # fmt: skip

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
            doc = Doc(key[1], role, position, level, probe, quiet, host_of(url), origin_of(url))
            self._docs[key] = doc
            self._declared += not probe
            self._events.append(SitemapFound(url, parent_url, level))
            if self.ending is not None:
                doc.result = Failed(not_wanted(self.ending))
            else:
                self._put(doc)
        elif doc.probe and not probe:
            self._take_seriously(doc)
        return doc

    def _put(self, doc: Doc) -> None:
        if self._options.crawl_delay and doc.role is Role.ROBOTS:
            self._queue.reserve(doc)  # nothing is asked before robots.txt has come
        self._queue.put(doc)

    def _take_seriously(self, doc: Doc) -> None:
        """Ask again for what was given up as a probe, now that somebody has declared it."""
        doc.probe = doc.quiet = False
        result = doc.result
        if result is None or self.ending is not None:
            return
        error = result.error if isinstance(result, Failed) else _broken_off(result)
        if error is not None:
            pause = DECLARED.delay(max(doc.failures[kind_of(error)], 1), error)
            if pause is not None:
                doc.result = None
                self._queue.put(doc)

    # Work out -------------------------------------------------------------------------------------

    def next_fetches(self, room: int, now: float) -> list[Fetch]:
        """Give what is to be fetched now: ``room`` orders at most, no host asked too much at once."""
        self._watch_the_time(now)
        self._pump()
        orders: list[Fetch] = []
        while len(orders) < room and not self.complete and self.ending is None:
            doc = self._queue.get(now)
            if doc is None:
                break
            given_up = self._hosts.given_up(doc.origin)
            if given_up is not None:
                self._queue.done(doc)
                error = HostGivenUp(given_up, retryable=False)
                self._settle(doc, doc.partial or Failed(error))
                continue
            doc.attempt += 1
            doc.active = True
            journal.fetching(doc.url, doc.level)
            self._events.append(SitemapStarted(doc.url, doc.attempt))
            orders.append(Fetch(doc.url, doc.role, doc.attempt, self._login_for(doc.url)))
        return orders

    def _login_for(self, url: str) -> Login | None:
        """Return the login of the start's address, if the URL is one of its host."""
        start = self._start
        if start is None or start.login is None or not start.may_share(read_url(url)):
            return None
        return start.login

    def wake_at(self, *, room: bool = True) -> float | None:
        """Give the time at which there is something to do even if nothing comes.

        That a request is due is of interest only if there is ``room`` for it.
        """
        due = self._queue.next_due() if room else None
        times = [time for time in (due, self._ends_at) if time is not None]
        return min(times, default=None)

    def _watch_the_time(self, now: float) -> None:
        if self._ends_at is None and self.limits.seconds is not None:
            self._ends_at = now + self.limits.seconds
        if self._ends_at is not None and now >= self._ends_at:
            self.end(self.limits.reached("seconds"))

    def overdue(self, now: float) -> Reason | None:
        """Return why what is being fetched should end, if it should; does not change anything."""
        if self.ending is None and self.is_late(now):
            return self.limits.reached("seconds")
        return self.ending

    def is_late(self, now: float) -> bool:
        """Return whether the time that the crawl may take is over."""
        return self._ends_at is not None and now >= self._ends_at

    def end(self, reason: Reason) -> None:
        """Ask for nothing more; what is being fetched is still taken."""
        if self.ending is None:
            self.ending = reason
            self._give_up(active=False)

    def abandon(self) -> None:
        """Wait no longer for what is being fetched, after an :meth:`end`."""
        self._give_up(active=True)

    def _give_up(self, *, active: bool) -> None:
        assert self.ending is not None
        for doc in list(self._docs.values()):
            if doc.result is None and (active or not doc.active):
                self._settle(doc, doc.partial or Failed(not_wanted(self.ending)))

    # Results in -----------------------------------------------------------------------------------

    def arriving(self, order: Fetch, arrival: Arrival) -> None:
        """Take note of a page sitemap that has begun to come in."""
        self._docs[order.role, order.url].arrival = arrival

    def finished(self, order: Fetch, result: Received | Failed, now: float) -> None:
        """Take what an order has led to."""
        doc = self._docs[order.role, order.url]
        doc.active = False
        if isinstance(result, Failed) and result.error.shortage is not None:
            self._wait_out(doc, result.error.shortage, now)
            return
        self._short_since = None
        given_up = self._hosts.given_up(doc.origin) is not None
        self._judge_host(doc, result, now)
        self._queue.done(doc)
        if doc.result is not None:
            return  # it was waited for no longer
        error = result.error if isinstance(result, Failed) else _broken_off(result)
        if error is not None:
            if isinstance(result, Received):
                doc.partial = _longer(doc.partial, result)
            pause = self._pause(doc, error)
            quiet = doc.quiet or doc.role is Role.HOMEPAGE
            journal.request_failed(doc.url, error, retry_in=pause, quiet_404=quiet, quiet=given_up)
            if pause is not None:
                self._queue.put(doc, not_before=now + pause)
                return
            result = doc.partial or result
        self._settle(doc, result)

    def _wait_out(self, doc: Doc, code: int, now: float) -> None:
        """Ask again for what could not be fetched for want of something here; nobody is blamed.

        Raises :class:`LocalShortageError` if waiting does not help.
        """
        self._queue.done(doc)
        if self._short_since is None:
            self._short_since = now
        shortage = LocalShortageError(code)
        if not shortage.may_pass or now - self._short_since > SHORTAGE_SECONDS:
            raise shortage
        if doc.result is None:
            doc.attempt -= 1
            self._queue.put(doc, not_before=now + SHORTAGE_PAUSE)

    def _pause(self, doc: Doc, error: WebClientErrorResponse) -> float | None:
        """Give the seconds until a document is asked for again, or None if it is not."""
        kind = kind_of(error)
        doc.failures[kind] += 1
        if self.ending is not None or self._hosts.given_up(doc.origin) is not None:
            return None
        if error.unreachable and self._hosts.answers(doc.origin):  # somebody was there just now
            error = WebClientErrorResponse(error.message(), retryable=True)
        policy = PROBE if doc.probe else DECLARED
        return policy.delay(doc.failures[kind], error, self._chance())

    def _judge_host(self, doc: Doc, result: Received | Failed, now: float) -> None:
        """Ask a host that fails for less at a time."""
        was_slow = self._hosts.is_slow(doc.origin)
        self._hosts.judge(doc.origin, result, now)
        is_slow = self._hosts.is_slow(doc.origin)
        if self._hosts.given_up(doc.origin) is not None:
            self._queue.release(doc.host)
        elif was_slow != is_slow and not self._options.crawl_delay:
            self._queue.restrain(doc.host, 1 if is_slow else self._per_host)

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
        result = self._bounded(result)
        doc.result = result
        doc.arrival = None
        if self._options.crawl_delay and doc.role is Role.ROBOTS:
            delay = result.look.crawl_delay if isinstance(result, Received) else None
            self._queue.restrain(doc.host, 1 if delay else self._per_host, delay)
        if isinstance(result, Failed):
            why = failure_reason(result.error)
            self._events.append(
                SitemapFailed(doc.url, result.error.message(), doc.attempt, why.code)
            )
        else:
            self._tell(doc, result)
            if not self._has_callbacks:
                self._fetch_ahead(doc, result)
        self._pump()

    def _bounded(self, result: Received | Failed) -> Received | Failed:
        """Return a result without its children if the URLs of the tree would become too many."""
        most = self.limits.url_text
        if isinstance(result, Failed) or most is None:
            return result
        self._url_text += sum(len(child.loc) for child in result.look.children)
        if self._url_text <= _INDEXES * most:
            return result
        look = result.look.without_children(self.limits.reached("url_length"))
        return replace(result, look=look)

    def _tell(self, doc: Doc, result: Received) -> None:
        exchange, look = result.document.exchange, result.look
        self._events.append(
            SitemapReceived(doc.url, exchange.final_url, exchange.received, exchange.seconds)
        )
        journal.received(exchange, look, quiet=doc.quiet)
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
        """Queue the children of a document whose place is not settled yet: nobody will object."""
        if not _below(doc.level, self.limits.depth):
            return
        parent_url = result.document.exchange.final_url
        for at, child in enumerate(result.look.children):
            if not _below(self._declared, self.limits.sitemaps):
                return
            if refuse_address(child.loc) or recurs(child.loc, self._above_roots):
                continue
            position = (*doc.position, at)
            self._document(child.loc, Role.SITEMAP, position, doc.level + 1, parent_url=parent_url)

    # The tree, place by place ---------------------------------------------------------------------

    def _pump(self) -> None:
        """Settle places as far as their documents have come."""
        if self._pumping:  # settling a place has ended the crawl, and settled more
            return
        self._pumping = True
        if self._walk is None:
            self._walk = self._walk_places()
        try:
            while not self.complete and (self.awaited is None or self.awaited.is_there):
                self.awaited = next(self._walk, None)
                self.complete = self.awaited is None
        except BaseException:
            self._walk = self.awaited = None  # a callback has failed: the walk begins anew
            raise
        finally:
            self._pumping = False

    def _walk_places(self) -> Iterator[Place]:
        """Settle places in the order of the tree; yield each whose document must come first.

        A stack rather than recursion: how deep a tree is, its website decides.
        """
        ahead = [(place, False) for place in reversed(self._roots)]
        while ahead:
            place, children_walked = ahead.pop()
            if children_walked:
                self._finish_place(place)
                continue
            if self._waiting and place is self._waiting[0]:
                self._ask_for_probes()
            while not place.is_there:
                yield place
            if not place.settled:
                self._settle_place(place)
                place.settled = True
            # Pages of an index stand among its children; those of all others come first.
            pages_at = (place.received.look.pages_at if place.received else None) or 0
            ahead.extend((child, False) for child in reversed(place.children[pages_at:]))
            ahead.append((place, True))
            ahead.extend((child, False) for child in reversed(place.children[:pages_at]))

    def _finish_place(self, place: Place) -> None:
        """Count the pages of a place and hand it to the stream, each once."""
        if place.received is not None and not place.counted:
            place.counted = True
            self._count_pages(place, place.received.look)
        if self.settled is not None and not place.told:
            place.told = True
            self.settled.append(place)

    def _settle_place(self, place: Place) -> None:
        place.reason = place.reason or self._reason(place)
        is_top = self.top_of(place) is place and not place.is_homepage
        if is_top and not self.holds(place):  # asked about every one of them, in order
            if place.reason is not None:
                journal.left_out(place.node_url, str(place.reason), quiet=place.probe)
            return
        received = place.received
        if received is not None and place.doc is not None:
            self._places += place.doc.probe  # a known path counts once it is in the tree
            if received.look.kind and issubclass(received.look.kind, AbstractIndexSitemap):
                self._add_children(place, received)

    @staticmethod
    def _reason(place: Place) -> Reason | None:
        """Return why a place has no sitemap, if it has none."""
        result, final_url = place.doc.result if place.doc else None, place.final_url
        if result is None:
            return None
        if isinstance(result, Failed):
            if isinstance(result.error, NotFetched):
                return UNFETCHED
            if isinstance(result.error, ClientMistake) and place.is_alone:
                raise result.error.exception  # the caller must not take it for an empty website
            return failure_reason(result.error).at(f"Unable to fetch sitemap from {place.url}")
        look = result.look
        if final_url != place.url and final_url in place.parents:
            place.astray = place.recurs = True
            code = FailureCode.REDIRECT_RECURSION
            full = (
                f"Recursion detected when {place.url} redirected to {final_url} "
                f"with parent URLs {listed(place.parents)}."
            )
            return Reason(code, code.message, full=full)
        if look.kind is None:
            place.problems.extend(look.problems)
            assert look.refusal is not None
            return look.refusal.at(f"No parsers support sitemap from {final_url}")
        return None

    def _count_pages(self, place: Place, look: Look) -> None:
        """Leave out the pages that are too many, and ask for no more."""
        most = self.limits.pages
        if most is None or not look.pages or not self.holds(self.top_of(place)):
            return
        room = most - self._pages
        self._pages += min(look.pages, room)
        if look.pages <= room:
            return
        place.most = room
        reason = self.limits.reached("pages")
        self._leave_out(place, look.pages - room, "pages", reason)
        self.end(reason)

    @staticmethod
    def _leave_out(place: Place, count: int, what: str, reason: Reason) -> None:
        place.left_out = reason.after(f"{count:,} of its {what} left out")
        place.problems.append(left_out_problem(LeftOut(count, reason), what))

    def _add_children(self, place: Place, result: Received) -> None:
        parents = place.parents | {place.final_url}
        children = list(result.look.children)
        if self._has_callbacks and not place.is_homepage and self.ending is None:
            children = followed(children, place.level, parents, self._options)
        most = self.limits.sitemaps
        room = len(children) if most is None else max(0, most - self._places)
        left_out = result.look.left_out or LeftOut(0, self.limits.reached("sitemaps"))
        missing = left_out.count + max(0, len(children) - room)
        if missing:
            self._leave_out(place, missing, "sitemaps", left_out.reason)
        above = without_fragments(parents)
        # All at once: an interrupt must not leave a half of them.
        place.children = [
            self._child(place, child, above, (*place.position, at))
            for at, child in enumerate(children[:room])
        ]
        self._places += len(place.children)

    def _child(
        self, parent: Place, entry: ChildEntry, above: frozenset[str], position: tuple[int, ...]
    ) -> Place:
        url, level = entry.loc, parent.level + 1
        place = Place(url, level, parent, position, entry.lastmod)
        refusal = refuse(url, level, above, self.limits)
        if refusal:
            place.recurs = recurs(url, above)
            place.reason = refusal.at(f"Unable to add sub-sitemap from URL {url}")
        elif not parent.is_homepage or not self.declared(url):
            place.doc = self._document(
                url, Role.SITEMAP, position, level, parent_url=parent.final_url
            )
        return place


def _below(number: int, limit: int | None) -> bool:
    return limit is None or number < limit


def _broken_off(result: Received) -> WebClientErrorResponse | None:
    """Give the error of a document that came only in part, and may come as a whole next time."""
    broken = result.look.broken
    if broken is None:
        return None
    return WebClientErrorResponse(broken.after("the transfer broke off"), retryable=True)


def _longer(one: Received | None, other: Received) -> Received:
    return one if one is not None and one.document.size > other.document.size else other
