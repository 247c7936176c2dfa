"""Documents, which are fetched once, and their slots in the tree, which become nodes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usp._base.reason import Reason
from usp._crawl.orders import Arrival, Failed, FetchOrder, LeftOut, Received
from usp._crawl.stored_pages import StoredPages
from usp._formats.document import Role
from usp._formats.values import date
from usp.limits import DEFAULT, Limits
from usp.objects.problem import Failure, FailureCode, Problem, ProblemCode
from usp.objects.sitemap import AbstractSitemap, InvalidSitemap, PagesXMLSitemap
from usp.web_client.abstract_client import status_of

if TYPE_CHECKING:
    from usp.objects.child import SkippedSitemap


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
