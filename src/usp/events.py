"""The events of a crawl, passed to ``on_event`` one by one in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from usp.objects.child import SkipReason
    from usp.objects.sitemap import PageSource

__all__ = [
    "Event",
    "Listener",
    "PagesReady",
    "SitemapFailed",
    "SitemapFinished",
    "SitemapFound",
    "SitemapReceived",
    "SitemapRetrying",
    "SitemapSkipped",
    "SitemapStarted",
]


@dataclass(frozen=True, slots=True)
class SitemapFound:
    """A sitemap is declared by its parent, or (None) is one of those a crawl begins with."""

    url: str
    parent_url: str | None
    level: int


@dataclass(frozen=True, slots=True)
class SitemapSkipped:
    """A sitemap that its parent declares is not fetched: an option or a callback left it out."""

    url: str
    parent_url: str
    level: int
    reason: SkipReason


@dataclass(frozen=True, slots=True)
class SitemapStarted:
    """A request was sent."""

    url: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SitemapRetrying:
    """A request failed, and is repeated after a pause of so many seconds.

    ``attempt`` is the next one; if it fails for the same reason, there are ``attempts`` in all.
    ``retry_after`` is the pause that the server asked for, if it did.
    """

    url: str
    attempt: int
    attempts: int
    seconds: float
    retry_after: float | None


@dataclass(frozen=True, slots=True)
class SitemapReceived:
    """A document was received, completely or as far as it was sent."""

    url: str
    final_url: str
    received: int
    seconds: float


@dataclass(frozen=True, slots=True)
class SitemapFinished:
    """A document turned out to be a sitemap of some kind; ``kind`` is the class of its node."""

    url: str
    kind: str


@dataclass(frozen=True, slots=True)
class SitemapFailed:
    """A document could not be fetched, or is not a sitemap."""

    url: str
    reason: str
    attempts: int
    code: FailureCode = FailureCode.OTHER_FAILURE


@dataclass(frozen=True, slots=True)
class PagesReady:
    """The pages of a sitemap can be read."""

    url: str
    pages: PageSource


Event: TypeAlias = (
    SitemapFound
    | SitemapSkipped
    | SitemapStarted
    | SitemapRetrying
    | SitemapReceived
    | SitemapFinished
    | SitemapFailed
    | PagesReady
)
"""Any event of a crawl."""

Listener: TypeAlias = Callable[[Event], None]
"""A function for ``on_event``."""
