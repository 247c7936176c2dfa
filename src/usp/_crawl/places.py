"""Documents, which are fetched once, and their places in the tree, which become nodes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from usp._base.reason import Reason
from usp._crawl.orders import RESULTS, Arrival, Failed, LeftOut, Received, left_out_problem
from usp._crawl.stored_pages import StoredPages
from usp._formats.document import Role
from usp._formats.values import date
from usp.limits import DEFAULT
from usp.objects.problem import Failure, FailureCode, Problem, ProblemCode
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)
from usp.web_client.abstract_client import status_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.limits import Limits
    from usp.objects.child import SkippedSitemap
    from usp.objects.exchange import Exchange

# The life of a document: it is queued and fetched, perhaps several times, until it is settled -------


@dataclass(frozen=True, slots=True)
class Queued:
    """It waits for its request; ``arrival`` is what was received last time, if that broke off."""

    arrival: Arrival | None = None


@dataclass(frozen=True, slots=True)
class Fetching:
    """It was requested; ``arrival`` is what is being received, if that can be read already."""

    arrival: Arrival | None = None


_QUEUED = Queued()


@dataclass(slots=True, eq=False)
class Doc:
    """A document: fetched once, however many places it has in the tree."""

    url: str
    role: Role
    position: tuple[int, ...]  # of its first place in the tree: what is fetched first
    level: int
    probe: bool
    quiet: bool
    host: str  # the unit of the concurrency limit
    origin: str  # responds, or does not
    lastmod: str | None = None  # of the entry that declares it
    attempt: int = 0
    partial: Received | None = None  # the longest part of a document that broke off
    last: Exchange | None = None  # the last request that failed
    state: Queued | Fetching | Received | Failed = _QUEUED

    @property
    def result(self) -> Received | Failed | None:
        """The result, once it is settled."""
        return self.state if isinstance(self.state, RESULTS) else None

    @property
    def arrival(self) -> Arrival | None:
        """What is being received, until the result is settled."""
        return None if isinstance(self.state, RESULTS) else self.state.arrival

    def begin(self) -> None:
        """Record that it is requested."""
        self.attempt += 1
        self.state = Fetching(self.arrival)

    def put_back(self) -> None:
        """Record that it will be requested again."""
        self.state = Queued(self.arrival)


# The life of a place: it is expected until its turn comes, and then it is settled -------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """Its document has not arrived, or it is not its turn."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing was requested: the sitemap is elsewhere in the tree."""


@dataclass(frozen=True, slots=True)
class Absent:
    """There is no sitemap."""

    reason: Reason
    problems: tuple[Problem, ...] = ()
    recurs: bool = False  # it leads to one of its own parents, which is in the tree
    astray: bool = False  # it does so by redirect


@dataclass(frozen=True, slots=True)
class Present:
    """There is a sitemap, with those that it declares below it."""

    received: Received
    children: tuple[Place, ...] = ()
    skipped: tuple[SkippedSitemap, ...] = ()


State: TypeAlias = Expected | Skipped | Absent | Present
_EXPECTED = Expected()


@dataclass(slots=True, eq=False)
class Place:
    """A place in the tree, and its document."""

    url: str
    level: int
    above: Place | None
    position: tuple[int, ...]
    lastmod: str | None = None
    declared_by: frozenset[str] = frozenset()  # the parents that the caller gave for the top
    doc: Doc | None = None
    probe: bool = False  # a known path
    state: State = _EXPECTED
    most: int | None = None  # how many pages of it are in the tree, None for all
    left_out: Reason | None = None  # why something below it is not in the tree
    losses: tuple[Problem, ...] = ()  # what is not, one by one

    @property
    def children(self) -> tuple[Place, ...]:
        """The places below."""
        return self.state.children if isinstance(self.state, Present) else ()

    @property
    def skipped(self) -> tuple[SkippedSitemap, ...]:
        """What is declared there but left out by an option or a callback."""
        return self.state.skipped if isinstance(self.state, Present) else ()

    @property
    def received(self) -> Received | None:
        """What was received, if it is a sitemap."""
        return self.state.received if isinstance(self.state, Present) else None

    @property
    def reason(self) -> Reason | None:
        """Why there is no sitemap, if there is none."""
        return self.state.reason if isinstance(self.state, Absent) else None

    @property
    def problems(self) -> list[Problem]:
        """The problems of this place, apart from those inside the document."""
        of_document = self.state.problems if isinstance(self.state, Absent) else ()
        return [*of_document, *self.losses]

    @property
    def recurs(self) -> bool:
        """Whether it leads to one of its own parents, which is in the tree."""
        return isinstance(self.state, Absent) and self.state.recurs

    def leave_out(self, left_out: LeftOut, what: str) -> None:
        """Record what is left out of the tree because of a limit."""
        self.left_out = left_out.reason.after(f"{left_out.count:,} of its {what} left out")
        self.losses = (*self.losses, left_out_problem(left_out, what))

    def miss(self, reason: Reason) -> None:
        """Record that not all of its pages were read, unless something is missing already."""
        self.left_out = self.left_out or reason.after("not all of its pages were read")

    @property
    def parents(self) -> frozenset[str]:
        """The URLs of the sitemaps above; collected on demand, as a tree may be deep."""
        urls, place = set(), self
        while place.above is not None:
            place = place.above
            urls.add(place.final_url)
        return place.declared_by.union(urls)

    @property
    def is_homepage(self) -> bool:
        """Whether it is only searched for links, and is not in the tree."""
        return self.doc is not None and self.doc.role is Role.HOMEPAGE

    @property
    def is_alone(self) -> bool:
        """Whether no other place would report a failure of the document: no sitemap declares it."""
        declared = self.probe and self.doc is not None and not self.doc.probe
        return len(self.position) == 1 and not declared

    @property
    def is_there(self) -> bool:
        """Whether the document has arrived, or never will."""
        return self.doc is None or self.doc.result is not None

    @property
    def arrival(self) -> Arrival | None:
        """The document while it is received, unless a redirect led to one of its own parents."""
        arrival = self.doc.arrival if self.doc else None
        if arrival is None:
            return None
        final_url = arrival.exchange.final_url
        return None if final_url != self.url and final_url in self.parents else arrival

    @property
    def node_url(self) -> str:
        """The URL of the node: after redirects, unless these led to one of its own parents."""
        astray = isinstance(self.state, Absent) and self.state.astray
        return self.url if astray else self.final_url

    @property
    def final_url(self) -> str:
        """The URL after redirects, as far as they are known."""
        if self.doc and isinstance(self.doc.state, Received):
            return self.doc.state.document.exchange.final_url
        if self.doc and self.doc.arrival:
            return self.doc.arrival.exchange.final_url
        return self.url


# From places to nodes ------------------------------------------------------------------------------


_NOT_ASKED = Reason(FailureCode.NOT_FETCHED, "it was not fetched")


def node_for(top: Place, limits: Limits = DEFAULT) -> AbstractSitemap:
    """Return the node of a place and all nodes below it, however deep the tree is."""
    order, waiting = [], [top]
    while waiting:
        place = waiting.pop()
        children = place.children
        order.append((place, children))
        waiting.extend(children)
    built: dict[int, AbstractSitemap] = {}
    for place, children in reversed(order):  # the children of a place first, in their order
        nodes = [built.pop(id(child)) for child in children]
        built[id(place)] = _node(place, nodes, limits)
    return built[id(top)]


def _node(place: Place, children: list[AbstractSitemap], limits: Limits) -> AbstractSitemap:
    received = place.received
    if received is None:
        return InvalidSitemap(
            place.node_url,
            str(place.reason or _NOT_ASKED),
            last_modified=date(place.lastmod),
            problems=place.problems,
            failure=failure_of(place),
            missing=not place.recurs,
            exchange=exchange_of(place),
        )
    url = received.document.exchange.final_url
    return document_node(
        received,
        children,
        url=url,
        base=url,
        lastmod=place.lastmod,
        problems=place.problems,
        failure=failure_of(place),
        limits=limits,
        most=place.most,
        skipped=place.skipped,
    )


def failure_of(place: Place) -> Failure | None:
    """Return why a place is missing or incomplete, if it is; for a loop, why it ends there."""
    doc = place.doc
    result = doc.result if doc else None
    reason = place.reason or place.left_out
    status = None
    if isinstance(result, Received):
        status = result.document.exchange.status
        reason = reason or result.look.unfinished
    elif result is not None:
        status = status_of(result.error)
    if reason is None:
        return None
    return Failure.of(place.node_url, reason, doc.attempt if doc else 0, status)


def exchange_of(place: Place) -> Exchange | None:
    """Return how the document of a place was fetched, if it was requested."""
    result = place.doc.result if place.doc else None
    if isinstance(result, Received):
        return result.document.exchange
    return None if result is None else result.exchange


def document_node(
    received: Received,
    children: list[AbstractSitemap],
    *,
    url: str,
    base: str | None,
    lastmod: str | None = None,
    problems: Sequence[Problem] = (),
    failure: Failure | None = None,
    limits: Limits = DEFAULT,
    most: int | None = None,
    skipped: Sequence[SkippedSitemap] = (),
) -> AbstractSitemap:
    """Build the node of a document that is a sitemap; ``children`` are those of an index.

    ``skipped`` are those of its children that are not in the tree, ``most`` is how many of its pages
    are.
    """
    look = received.look
    last_modified = date(lastmod)
    exchange = received.document.exchange
    assert look.kind is not None
    if issubclass(look.kind, AbstractPagesSitemap):
        # Parsing the pages finds all other problems, but not that of the transfer.
        known = [] if look.transfer is None else [look.transfer]
        return look.kind(
            url,
            StoredPages(received.document, base, limits, most),
            last_modified=last_modified,
            problems=[*known, *problems],
            failure=failure,
            size=received.document.size,
            status=exchange.status,
            exchange=exchange,
        )
    listed = [*look.problems, *problems]
    if look.pages_at is not None:
        source = StoredPages(received.document, base, limits, most)
        stray = PagesXMLSitemap(url, source, status=exchange.status, exchange=exchange)
        children.insert(min(look.pages_at, len(children)), stray)
        code = ProblemCode.PAGES_IN_INDEX
        listed.append(Problem(code.message, code=code))
    node = look.kind(
        url,
        children,
        last_modified=last_modified,
        problems=listed,
        failure=failure,
        size=received.document.size,
        status=exchange.status,
        exchange=exchange,
        skipped=skipped,
    )
    node.read_from(StoredPages(received.document, base, limits))
    return node
