"""Documents, which are fetched once, and their slots in the tree, which become nodes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from usp._base.reason import Reason
from usp._crawl.orders import Arrival, Failed, FinalResult, LeftOut, Received, left_out_problem
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

    from usp._base.urls import Login
    from usp.limits import Limits
    from usp.objects.child import SkippedSitemap
    from usp.objects.exchange import Exchange


@dataclass(slots=True, eq=False)
class FetchTask:
    """A document: fetched once, however many slots it has in the tree.

    It is queued and fetched, perhaps several times, until there is a ``result``.
    """

    url: str
    role: Role
    position: tuple[int, ...]  # of its first slot in the tree: what is fetched first
    level: int
    guess: bool  # a known path that nothing declares
    quiet: bool
    host: str  # the unit of the concurrency limit
    origin: str  # responds, or does not
    login: Login | None = field(default=None, repr=False)
    lastmod: str | None = None  # of the entry that declares it
    attempt: int = 0
    is_active: bool = False  # requested, and not finished
    arrival: Arrival | None = None  # what is being received, until there is a result
    partial: Received | None = None  # the longest part of a document that broke off
    last: Exchange | None = None  # the last request that failed
    result: Received | Failed | None = None
    failed_as_guess: bool = False

    def final_result(self, *, with_children: bool = True) -> FinalResult:
        """Return the result for a snapshot; the nodes of a tree have the children already."""
        result = self.result
        assert result is not None
        if not with_children and isinstance(result, Received) and result.probe.children:
            result = replace(result, probe=replace(result.probe, children=(), problems=()))
        known = (self.attempt, result, self.guess, self.failed_as_guess)
        return FinalResult(self.url, self.role, self.lastmod, *known)


@dataclass(slots=True, eq=False)
class TreeSlot:
    """A position in the tree where a document is declared.

    When its turn comes it is settled: ``received`` is then the sitemap that is there, ``reason`` why
    there is none; if both are None, nothing was requested, as the sitemap is elsewhere in the tree.
    """

    url: str
    level: int
    above: TreeSlot | None
    position: tuple[int, ...]
    lastmod: str | None = None
    declared_by: frozenset[str] = frozenset()  # the parents that the caller gave for the top
    guess: bool = False  # a known path
    task: FetchTask | None = None
    received: Received | None = None
    children: tuple[TreeSlot, ...] = ()
    skipped: tuple[SkippedSitemap, ...] = ()  # declared here, left out by an option or a callback
    reason: Reason | None = None
    recurs: bool = False  # it leads to one of its own parents, which is in the tree
    problems: tuple[Problem, ...] = ()  # apart from those inside a sitemap
    most: int | None = None  # how many pages of it are in the tree, None for all
    left_out: Reason | None = None  # why something below it is not in the tree

    def leave_out(self, left_out: LeftOut, what: str) -> None:
        """Record what is left out of the tree because of a limit."""
        self.left_out = left_out.reason.after(f"{left_out.count:,} of its {what} left out")
        self.problems = (*self.problems, left_out_problem(left_out, what))

    def miss(self, reason: Reason) -> None:
        """Record that not all of its pages were read, unless something is missing already."""
        self.left_out = self.left_out or reason.after("not all of its pages were read")

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
        return self.task is not None and self.task.role is Role.HOMEPAGE

    @property
    def is_there(self) -> bool:
        """Whether the document has arrived, or never will."""
        return self.task is None or self.task.result is not None

    @property
    def arrival(self) -> Arrival | None:
        """The document while it is received, unless a redirect led to one of its own parents."""
        arrival = self.task.arrival if self.task else None
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
        task = self.task
        if task and isinstance(task.result, Received):
            return task.result.exchange.final_url
        return task.arrival.exchange.final_url if task and task.arrival else self.url


# From slots to nodes ------------------------------------------------------------------------------


_NOT_REQUESTED = Reason(FailureCode.NOT_FETCHED, "it was not fetched")


def node_for(top: TreeSlot, limits: Limits = DEFAULT) -> AbstractSitemap:
    """Return the node of a slot and all nodes below it, however deep the tree is."""
    order, waiting = [], [top]
    while waiting:
        slot = waiting.pop()
        children = slot.children
        order.append((slot, children))
        waiting.extend(children)
    built: dict[int, AbstractSitemap] = {}
    for slot, children in reversed(order):  # the children of a slot first, in their order
        nodes = [built.pop(id(child)) for child in children]
        built[id(slot)] = _node(slot, nodes, limits)
    return built[id(top)]


def _node(slot: TreeSlot, children: list[AbstractSitemap], limits: Limits) -> AbstractSitemap:
    received, failure = slot.received, failure_of(slot)
    if received is None:
        result = slot.task.result if slot.task else None
        return InvalidSitemap(
            slot.node_url,
            str(slot.reason or _NOT_REQUESTED),
            last_modified=date(slot.lastmod),
            problems=slot.problems,
            failure=failure,
            missing=not slot.recurs,
            exchange=result.exchange if result else None,
        )
    return document_node(
        received,
        children,
        base=received.exchange.final_url,
        slot=slot,
        failure=failure,
        limits=limits,
    )


def failure_of(slot: TreeSlot) -> Failure | None:
    """Return why a slot is missing or incomplete, if it is; for a loop, why it ends there."""
    task = slot.task
    result = task.result if task else None
    reason = slot.reason or slot.left_out
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
    return Failure.of(slot.node_url, reason, task.attempt if task else 0, status)


def document_node(
    received: Received,
    children: list[AbstractSitemap],
    *,
    base: str | None,
    slot: TreeSlot | None = None,
    problems: Sequence[Problem] = (),
    failure: Failure | None = None,
    limits: Limits = DEFAULT,
    most: int | None = None,
) -> AbstractSitemap:
    """Build the node of a document that is a sitemap; ``children`` are those of an index.

    Relative URLs are resolved against ``base``. Without a ``slot`` in a crawl, ``problems`` are those
    outside of the document, and ``most`` is how many of its pages are in the tree.
    """
    probe, exchange = received.probe, received.exchange
    skipped: Sequence[SkippedSitemap] = ()
    last_modified = None
    if slot is not None:
        problems, most, skipped = slot.problems, slot.most, slot.skipped
        last_modified = date(slot.lastmod)
    assert probe.kind is not None
    facts: dict[str, Any] = {
        "last_modified": last_modified,
        "failure": failure,
        "size": received.document.size,
        "status": exchange.status,
        "exchange": exchange,
    }
    url = exchange.final_url
    source = StoredPages(received.document, base, limits, most)
    if issubclass(probe.kind, AbstractPagesSitemap):
        # Parsing the pages finds all other problems, but not that of the transfer.
        known = () if probe.transfer is None else (probe.transfer,)
        return probe.kind(url, source, problems=(*known, *problems), **facts)
    listed = [*probe.problems, *problems]
    if probe.pages_at is not None:
        stray = PagesXMLSitemap(url, source, status=exchange.status, exchange=exchange)
        children.insert(min(probe.pages_at, len(children)), stray)
        code = ProblemCode.PAGES_IN_INDEX
        listed.append(Problem(code.message, code=code))
    node = probe.kind(url, children, problems=listed, skipped=skipped, **facts)
    node.read_from(StoredPages(received.document, base, limits))
    return node
