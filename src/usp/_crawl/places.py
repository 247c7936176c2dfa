"""Documents, which are fetched once, and the places in the tree where they stand."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp._crawl.values import Received
from usp._formats.document import Role

if TYPE_CHECKING:
    from usp._base.reason import Reason
    from usp._crawl.retry import Kind
    from usp._crawl.values import Arrival, Failed
    from usp.objects.problem import Problem


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
    active: bool = False  # being fetched
    failures: Counter[Kind] = field(default_factory=Counter)
    partial: Received | None = None  # the most that came of a document that broke off
    arrival: Arrival | None = None
    result: Received | Failed | None = None


@dataclass(slots=True, eq=False)
class Place:
    """A place in the tree and the document that stands there, or the reason why none does."""

    url: str
    level: int
    above: Place | None
    position: tuple[int, ...]
    lastmod: str | None = None
    declared_by: frozenset[str] = frozenset()  # what the caller says stands above the top
    doc: Doc | None = None
    probe: bool = False  # a known path
    reason: Reason | None = None
    recurs: bool = False  # leads to one of its own parents, which is in the tree
    astray: bool = False  # redirected to one of its own parents
    settled: bool = False
    counted: bool = False  # its own pages
    told: bool = False  # to the stream
    streamed: bool = False  # read while it came in
    most: int | None = None  # how many pages of it are in the tree, None for all
    left_out: Reason | None = None  # why something below it is not in the tree
    problems: list[Problem] = field(default_factory=list)
    children: list[Place] = field(default_factory=list)

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
        return self.url if self.astray else self.final_url

    @property
    def final_url(self) -> str:
        """The address after redirects, as far as they are known."""
        if self.doc and isinstance(self.doc.result, Received):
            return self.doc.result.document.exchange.final_url
        if self.doc and self.doc.arrival:
            return self.doc.arrival.exchange.final_url
        return self.url

    @property
    def received(self) -> Received | None:
        """What came, if it is a sitemap."""
        if self.reason is None and self.doc and isinstance(self.doc.result, Received):
            return self.doc.result
        return None
