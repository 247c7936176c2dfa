"""The orders of a crawl and their results. No clock, no threads, no I/O."""

from __future__ import annotations

import abc
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._base.urls import Login, with_login
from usp._formats.document import Role
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import WebClientErrorResponse

if TYPE_CHECKING:
    from datetime import datetime

    from usp._formats.abstract_parser import ChildEntry
    from usp._http.flow import Conditions
    from usp._store import Document, DocumentWriter
    from usp.objects.exchange import Exchange
    from usp.objects.problem import Problem
    from usp.objects.sitemap import AbstractIndexSitemap, AbstractPagesSitemap, AbstractSitemap
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
