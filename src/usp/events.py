"""What happens during a crawl, told one by one to whoever listens, in the caller's thread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from usp.objects.sitemap import PageSource

__all__ = [
    "Event",
    "Listener",
    "PagesReady",
    "SitemapFailed",
    "SitemapFinished",
    "SitemapFound",
    "SitemapReceived",
    "SitemapStarted",
]


@dataclass(frozen=True, slots=True)
class SitemapFound:
    """A sitemap was declared: by its parent, or (None) as a place to look at."""

    url: str
    parent_url: str | None
    level: int


@dataclass(frozen=True, slots=True)
class SitemapStarted:
    """A request was sent."""

    url: str
    attempt: int


@dataclass(frozen=True, slots=True)
class SitemapReceived:
    """A document has arrived completely, or as far as it came."""

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
    SitemapFound | SitemapStarted | SitemapReceived | SitemapFinished | SitemapFailed | PagesReady
)
Listener: TypeAlias = Callable[[Event], None]
