"""Documents, which are fetched once, with orders and results; and their slots, which become nodes.

No clock, no threads, no I/O.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from usp._base.reason import Reason
from usp._base.urls import Login, with_login
from usp._crawl.stored_pages import StoredPages
from usp._formats.document import Role
from usp._formats.values import date
from usp.limits import DEFAULT, Limits
from usp.objects.problem import Failure, FailureCode, Problem, ProblemCode
from usp.objects.sitemap import AbstractSitemap, InvalidSitemap, PagesXMLSitemap
from usp.web_client.abstract_client import WebClientErrorResponse, status_of

if TYPE_CHECKING:
    from datetime import datetime

    from usp._formats.abstract_parser import ChildEntry
    from usp._http.flow import Conditions
    from usp._store import Document, DocumentWriter
    from usp.objects.child import SkippedSitemap
    from usp.objects.exchange import Exchange
    from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap
    from usp.options import CrawlOptions

UNFETCHED = Reason(FailureCode.NOT_FETCHED, "Un-fetched child sitemap")
"""Why a sitemap that was not requested is missing, in the words of 1.8.1."""

GIVEN_UP = Reason(FailureCode.INTERRUPTED, "the crawl was stopped")
"""Why documents that were being received when the crawl was stopped are incomplete."""


PATIENCE = 1.0
"""Seconds to wait for what is still being received or read when a crawl has been ended."""


@dataclass(slots=True, eq=False)
class FetchOrder:
    """An order of the crawl: fetch this document.

    There is one for each document, however many slots it has in the tree. It is queued and given out,
    perhaps several times, until there is a ``result``.
    """

    url: str
    role: Role = Role.SITEMAP
    position: tuple[int, ...] = ()  # of its first slot in the tree: what is fetched first
    level: int = 0
    is_guess: bool = False  # a known path that nothing declares
    quiet: bool = False
    host: str = ""  # the unit of the concurrency limit
    origin: str = ""  # responds, or does not
    login: Login | None = field(default=None, repr=False)
    lastmod: str | None = None  # of the entry that declares it
    attempt: int = 0
    is_active: bool = False  # requested, and not finished
    arrival: Arrival | None = None  # what is being received, until there is a result
    partial: Received | None = None  # the longest part of a document that broke off
    earlier: tuple[tuple[datetime, float], ...] = ()  # attempts that failed: when, and how long
    last: Exchange | None = None  # the last request that failed
    result: Received | Failed | None = None
    failed_as_guess: bool = False

    @property
    def address(self) -> str:
        """The URL with its login, for the client that sends the request and for nothing else."""
        return self.url if self.login is None else with_login(self.url, self.login)

    def without_secrets(self, message: str) -> str:
        """Return a message of a client, without the login."""
        return message if self.login is None else self.login.hidden_in(message)

    def final_result(self, *, with_children: bool = True) -> FinalResult:
        """Return the result for a snapshot; the nodes of a tree have the children already."""
        result = self.result
        assert result is not None
        if not with_children and isinstance(result, Received) and result.probe.children:
            result = replace(result, probe=replace(result.probe, children=(), problems=()))
        known = (self.attempt, result, self.is_guess, self.failed_as_guess)
        return FinalResult(self.url, self.role, self.lastmod, *known)


@dataclass(slots=True)
class Received:
    """A document was received; with ``kept``, at an earlier time."""

    document: Document
    probe: Probe
    kept: Kept | None = None

    @property
    def exchange(self) -> Exchange:
        """How it was fetched."""
        return self.document.exchange


@dataclass(frozen=True, slots=True)
class Failed:
    """No document was received; ``exchange`` is what is known about the request, if one was sent."""

    error: WebClientErrorResponse
    exchange: Exchange | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """Why a document is its last good version: what came of the last request, and that in words."""

    instead: Received | Failed
    reason: Reason


@dataclass(frozen=True, slots=True)
class FinalResult:
    """A document and its final result: what a snapshot keeps.

    ``lastmod`` is that of the entry that declares it, ``attempts`` the number of requests.
    ``is_guess`` is whether it is a known path that nothing declares; ``failed_as_guess``, whether it
    was requested again after it had failed as one, as something declares it.
    """

    url: str
    role: Role
    lastmod: str | None
    attempts: int
    result: Received | Failed
    is_guess: bool = False
    failed_as_guess: bool = False


@dataclass(frozen=True, slots=True)
class Fetched:
    """What a tree was read from, for a snapshot: where the crawl began, and its documents.

    It is left out of pickles, whose nodes have the documents of their pages.
    """

    start: tuple[str, str]  # "website" or "sitemap", and its URL
    options: CrawlOptions
    documents: tuple[FinalResult, ...] = field(repr=False)

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()


class HasEarlierResults(abc.ABC):
    """A client or recorder that has an earlier crawl, and knows what of it is still current."""

    @abc.abstractmethod
    def conditions(self) -> Conditions:
        """Return the headers that ask for documents only if they have changed."""

    def recall(self, order: FetchOrder) -> Received | Failed | None:  # noqa: ARG002
        """Return the earlier result of an order if no request is needed; there is always need."""
        return None

    @abc.abstractmethod
    def unchanged(self, order: FetchOrder, exchange: Exchange) -> Received | None:
        """Return the earlier document if a response, given without secrets, says it is the same."""


class NoNetwork(WebClientErrorResponse):
    """Error of a client without network access."""


class NotRequested(WebClientErrorResponse):
    """Error of a document that was not requested, or not received to its end."""


class HostGivenUp(NotRequested):
    """Error of a document that was not requested because its host was given up."""


class ClientRaised(WebClientErrorResponse):
    """Error of a client that raised an exception, which it should not."""

    def __init__(self, exception: Exception, message: str, *, secret: bool = False) -> None:
        super().__init__(message, retryable=False)
        self.exception = exception
        self.shown = None if secret else exception  # in a log; it may hold a password


@dataclass(slots=True, eq=False)
class Arrival:
    """A page sitemap that is still being received, and can be read as far as it has arrived.

    A reader that waits for more sets ``wake``, which is called once there is more, or this is the end,
    in the thread that receives.
    """

    exchange: Exchange
    writer: DocumentWriter
    kind: type[AbstractSitemap]
    document: Document | None = None  # in the end, unless it failed
    wake: Callable[[], object] | None = None

    def notify_reader(self) -> None:
        """Wake the reader: more has arrived, or this is the end."""
        wake, self.wake = self.wake, None
        if wake:
            wake()


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Children or pages of a document that were not kept: how many, and why."""

    count: int
    reason: Reason


@dataclass(slots=True)
class Probe:
    """What reading a document for the first time showed.

    ``kind`` is the class of its node, None if it is not a sitemap; ``refusal`` then says why.
    ``children`` are those that an index declares, each URL once; ``pages_at`` is the position of the
    first stray page among them. ``broken`` is why the transfer ended too early, if it did;
    ``transfer`` is the problem for that, which parsing the document again would not find; and
    ``unfinished`` is why the rest of the document was not read, for whatever reason. ``pages`` is the
    number of its pages, if they were counted. With ``is_doubtful`` it is a page of links, and not sure
    to be meant as a sitemap.
    """

    kind: type[AbstractIndexSitemap | AbstractPagesSitemap] | None
    refusal: Reason | None = None
    children: tuple[ChildEntry, ...] = ()
    left_out: LeftOut | None = None
    pages_at: int | None = None
    problems: tuple[Problem, ...] = ()
    transfer: Problem | None = None
    broken: Reason | None = None
    unfinished: Reason | None = None
    crawl_delay: float | None = None
    pages: int | None = None
    namespace: tuple[str, str] | None = None  # of the root, if it is not that of sitemaps
    start: bytes = b""  # the first bytes, as received
    is_doubtful: bool = False
    software: str = ""  # what a homepage says it was made with
    hosts: tuple[str, ...] = ()  # the origins of its pages, if they are asked for,
    language_hosts: tuple[str, ...] = ()  # and those of their alternates

    @property
    def has_pages(self) -> bool:
        """Whether it is a page sitemap, or an index with stray pages."""
        return (self.kind is not None and self.kind.lists_pages) or self.pages_at is not None


# Slots ----------------------------------------------------------------------------------------------


@dataclass(slots=True, eq=False)
class TreeSlot:
    """A position in the tree where a document is declared.

    When its turn comes it is decided: ``received`` is then the sitemap that is there, ``reason`` why
    there is none; if both are None, nothing was requested, as the sitemap is elsewhere in the tree.
    """

    url: str
    level: int = 0
    above: TreeSlot | None = None
    position: tuple[int, ...] = ()
    lastmod: str | None = None
    declared_by: frozenset[str] = frozenset()  # the parents that the caller gave for the top
    guess: bool = False  # a known path
    order: FetchOrder | None = None
    received: Received | None = None
    children: tuple[TreeSlot, ...] = ()
    skipped: tuple[SkippedSitemap, ...] = ()  # declared here, left out by an option or a callback
    reason: Reason | None = None
    recurs: bool = False  # it leads to one of its own parents, which is in the tree
    problems: tuple[Problem, ...] = ()  # apart from those inside a sitemap
    most: int | None = None  # how many pages of it are in the tree, None for all
    left_out: Reason | None = None  # why something below it is not in the tree
    resolves: bool = True  # relative URLs, unless the document has no URL of its own

    def examine(self) -> None:
        """Decide whether the document that has arrived is a sitemap that may be here."""
        result = self.result
        assert isinstance(result, Received)
        probe, final_url = result.probe, result.exchange.final_url
        if final_url != self.url and final_url in (parents := self.parents):
            code = FailureCode.REDIRECT_RECURSION
            full = (
                f"Recursion detected when {self.url} redirected to {final_url} "
                f"with parent URLs {listed(parents)}."
            )
            self.reason, self.recurs = Reason(code, code.message, full=full), True
        elif probe.kind is None:
            assert probe.refusal is not None
            self.reason = probe.refusal.at(f"No parsers support sitemap from {final_url}")
            self.problems = tuple(probe.problems)
        else:
            self.received = result

    def leave_out(self, left_out: LeftOut, what: str) -> None:
        """Record what is left out of the tree because of a limit."""
        count, reason = left_out.count, left_out.reason
        self.left_out = reason.after(f"{count:,} of its {what} left out")
        message = f"some of its {what} were left out: {reason}"
        self.problems = (*self.problems, Problem(message, lost=count, code=reason.code))

    def miss(self, reason: Reason) -> None:
        """Record that not all of its pages were read, unless something is missing already."""
        self.left_out = self.left_out or reason.after("not all of its pages were read")

    @property
    def result(self) -> Received | Failed | None:
        """What came of its document, if that was requested and is known."""
        return self.order.result if self.order else None

    @property
    def parents(self) -> frozenset[str]:
        """The URLs of the sitemaps above; collected on demand, as a tree may be deep."""
        urls, slot = set(), self
        while slot.above is not None:
            slot = slot.above
            urls.add(slot.final_url)
        return slot.declared_by.union(urls)

    @property
    def is_homepage(self) -> bool:
        """Whether it is only searched for links, and is not in the tree."""
        return self.order is not None and self.order.role is Role.HOMEPAGE

    @property
    def is_there(self) -> bool:
        """Whether the document has arrived, or never will."""
        return self.order is None or self.order.result is not None

    @property
    def arrival(self) -> Arrival | None:
        """The document while it is received, unless a redirect led to one of its own parents."""
        arrival = self.order.arrival if self.order else None
        if arrival is None:
            return None
        final_url = arrival.exchange.final_url
        return None if final_url != self.url and final_url in self.parents else arrival

    @property
    def node_url(self) -> str:
        """The URL of the node: after redirects, unless these led to one of its own parents."""
        return self.url if self.recurs else self.final_url

    @property
    def final_url(self) -> str:
        """The URL after redirects, as far as they are known."""
        known = (
            self.result if isinstance(self.result, Received) else self.order and self.order.arrival
        )
        return known.exchange.final_url if known else self.url


def slots_from(top: TreeSlot) -> Iterator[TreeSlot]:
    """Yield a slot and all below it."""
    slots = [top]
    while slots:
        slot = slots.pop()
        yield slot
        slots.extend(slot.children)


def listed(urls: Iterable[str]) -> str:
    """Return URLs in one line, in order."""
    return "{" + ", ".join(repr(url) for url in sorted(urls)) + "}"


# From slots to nodes ------------------------------------------------------------------------------


_NOT_REQUESTED = Reason(FailureCode.NOT_FETCHED, "it was not fetched")


def node_for(top: TreeSlot, limits: Limits = DEFAULT) -> AbstractSitemap:
    """Return the node of a slot and all nodes below it, however deep the tree is."""
    built: dict[int, AbstractSitemap] = {}
    for slot in reversed(list(slots_from(top))):  # the children of a slot first, in their order
        nodes = [built.pop(id(child)) for child in slot.children]
        built[id(slot)] = node_of(slot, nodes, limits)
    return built[id(top)]


def node_of(slot: TreeSlot, children: list[AbstractSitemap], limits: Limits) -> AbstractSitemap:
    """Return the node of a slot; ``children`` are those of an index."""
    received, result = slot.received, slot.result
    facts: dict[str, Any] = {
        "last_modified": slot.lastmod and date(slot.lastmod),
        "failure": failure_of(slot),
        "exchange": result.exchange if result else None,
    }
    if received is None:
        reason = str(slot.reason or _NOT_REQUESTED)
        missing = not slot.recurs
        return InvalidSitemap(
            slot.node_url, reason, problems=slot.problems, missing=missing, **facts
        )
    probe, document = received.probe, received.document
    kind: Any = probe.kind
    url, facts["size"] = document.exchange.final_url, document.size
    base = url if slot.resolves else None
    if kind.lists_pages:
        # Parsing the pages finds all other problems, but not that of the transfer.
        known = () if probe.transfer is None else (probe.transfer,)
        source = StoredPages(document, base, limits, slot.most)
        return kind(url, source, problems=(*known, *slot.problems), **facts)  # type: ignore[no-any-return]
    problems = [*probe.problems, *slot.problems]
    own = kind._pages_kind or PagesXMLSitemap  # noqa: SLF001 - of the package itself
    if probe.pages_at is not None:
        source = StoredPages(document, base, limits, slot.most)
        stray = own(url, source, exchange=document.exchange)
        children.insert(min(probe.pages_at, len(children)), stray)
        if own is PagesXMLSitemap:
            code = ProblemCode.PAGES_IN_INDEX
            problems.append(Problem(code.message, code=code))
        else:  # which has its problems, too
            problems = [*filter(None, [probe.transfer]), *slot.problems]
    node = kind(url, children, problems=problems, skipped=slot.skipped, **facts)
    node._stored = StoredPages(document, base, limits)  # noqa: SLF001 - for stored_of
    return node  # type: ignore[no-any-return]


def failure_of(slot: TreeSlot) -> Failure | None:
    """Return why a slot is missing or incomplete, if it is; for a loop, why it ends there."""
    result, reason = slot.result, slot.reason or slot.left_out
    status = None
    if isinstance(result, Received) and result.kept is not None:
        reason = reason or result.kept.reason
        result = result.kept.instead
    if isinstance(result, Received):
        status = result.exchange.status
        reason = reason or result.probe.unfinished
    elif result is not None:
        status = status_of(result.error)
    if reason is None:
        return None
    return Failure.of(slot.node_url, reason, slot.order.attempt if slot.order else 0, status)
