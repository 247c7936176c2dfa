"""Documents, which are fetched once, and the places in the tree where they stand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from usp._crawl.values import Arrival, Failed, LeftOut, Received, left_out_problem
from usp._formats.document import Role

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._crawl.retry import Kind
    from usp.objects.exchange import Exchange
    from usp.objects.problem import Problem


# The life of a document: it is queued and fetched, perhaps several times, until it is settled -------


@dataclass(frozen=True, slots=True)
class Queued:
    """It waits to be asked for; ``arrival`` is what came of it the last time, if it broke off."""

    arrival: Arrival | None = None


@dataclass(frozen=True, slots=True)
class Fetching:
    """It was asked for; ``arrival`` is what comes of it, if that can be read already."""

    arrival: Arrival | None = None


@dataclass(slots=True, eq=False)
class Doc:
    """A document: fetched once, wherever it stands in the tree."""

    url: str
    role: Role
    position: tuple[int, ...]  # of its first place in the tree: what is fetched first
    level: int
    probe: bool
    quiet: bool
    host: str  # asked for so much at a time
    origin: str  # answers, or does not
    attempt: int = 0
    failures: Counter[Kind] = field(default_factory=Counter)
    partial: Received | None = None  # the most that came of a document that broke off
    last: Exchange | None = None  # the last request that failed
    state: Queued | Fetching | Received | Failed = field(default_factory=Queued)

    @property
    def result(self) -> Received | Failed | None:
        """What came of it, once that is settled."""
        return self.state if isinstance(self.state, Received | Failed) else None

    @property
    def arrival(self) -> Arrival | None:
        """What comes of it, until that is settled."""
        return self.state.arrival if isinstance(self.state, Queued | Fetching) else None

    def begin(self) -> None:
        """Take note that it is asked for."""
        self.attempt += 1
        self.state = Fetching(self.arrival)

    def put_back(self) -> None:
        """Take note that it will be asked for again."""
        self.state = Queued(self.arrival)


# The life of a place: it is expected until its turn comes, and then it is settled -------------------


@dataclass(frozen=True, slots=True)
class Expected:
    """Its document has not come yet, or not its turn."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """Nothing was asked for: the sitemap stands elsewhere in the tree."""


@dataclass(frozen=True, slots=True)
class Absent:
    """No sitemap stands there."""

    reason: Reason
    problems: tuple[Problem, ...] = ()
    recurs: bool = False  # it leads to one of its own parents, which is in the tree
    astray: bool = False  # it does so by redirect


@dataclass(frozen=True, slots=True)
class Present:
    """A sitemap stands there, with those that it declares below it."""

    received: Received
    children: tuple[Place, ...] = ()


State: TypeAlias = Expected | Skipped | Absent | Present
_EXPECTED = Expected()


@dataclass(slots=True, eq=False)
class Place:
    """A place in the tree, and the document that stands there or will."""

    url: str
    level: int
    above: Place | None
    position: tuple[int, ...]
    lastmod: str | None = None
    declared_by: frozenset[str] = frozenset()  # what the caller says stands above the top
    doc: Doc | None = None
    probe: bool = False  # a known path
    state: State = _EXPECTED
    most: int | None = None  # how many pages of it are in the tree, None for all
    left_out: Reason | None = None  # why something below it is not in the tree
    losses: list[Problem] = field(default_factory=list)  # what is not, one by one

    @property
    def children(self) -> tuple[Place, ...]:
        """The places below."""
        return self.state.children if isinstance(self.state, Present) else ()

    @property
    def received(self) -> Received | None:
        """What came, if it is a sitemap."""
        return self.state.received if isinstance(self.state, Present) else None

    @property
    def reason(self) -> Reason | None:
        """Why no sitemap stands there, if none does."""
        return self.state.reason if isinstance(self.state, Absent) else None

    @property
    def problems(self) -> list[Problem]:
        """What is known to be wrong here, beside what stands in the document."""
        of_document = self.state.problems if isinstance(self.state, Absent) else ()
        return [*of_document, *self.losses]

    @property
    def recurs(self) -> bool:
        """Whether it leads to one of its own parents, which is in the tree."""
        return isinstance(self.state, Absent) and self.state.recurs

    def leave_out(self, left_out: LeftOut, what: str) -> None:
        """Take note of what is not in the tree because of a limit."""
        self.left_out = left_out.reason.after(f"{left_out.count:,} of its {what} left out")
        self.losses.append(left_out_problem(left_out, what))

    def miss(self, reason: Reason) -> None:
        """Take note that not all of its pages were read, unless something is missing already."""
        self.left_out = self.left_out or reason.after("not all of its pages were read")

    @property
    def parents(self) -> frozenset[str]:
        """The URLs of the sitemaps above, put together when asked: a tree may be deep."""
        urls, place = set(), self
        while place.above is not None:
            place = place.above
            urls.add(place.final_url)
        return place.declared_by.union(urls)

    @property
    def is_homepage(self) -> bool:
        """Whether the place is only looked at for links, and stands nowhere in the tree."""
        return self.doc is not None and self.doc.role is Role.HOMEPAGE

    @property
    def is_alone(self) -> bool:
        """Whether no other place would tell that the document failed: no sitemap declares it."""
        declared = self.probe and self.doc is not None and not self.doc.probe
        return len(self.position) == 1 and not declared

    @property
    def is_there(self) -> bool:
        """Whether the document has come, or will not."""
        return self.doc is None or self.doc.result is not None

    @property
    def arrival(self) -> Arrival | None:
        """The document while it comes in, unless a redirect led to one of its own parents."""
        arrival = self.doc.arrival if self.doc else None
        if arrival is None:
            return None
        final_url = arrival.exchange.final_url
        return None if final_url != self.url and final_url in self.parents else arrival

    @property
    def node_url(self) -> str:
        """The address of the node: after redirects, unless these led astray."""
        astray = isinstance(self.state, Absent) and self.state.astray
        return self.url if astray else self.final_url

    @property
    def final_url(self) -> str:
        """The address after redirects, as far as they are known."""
        if self.doc and isinstance(self.doc.state, Received):
            return self.doc.state.document.exchange.final_url
        if self.doc and self.doc.arrival:
            return self.doc.arrival.exchange.final_url
        return self.url
