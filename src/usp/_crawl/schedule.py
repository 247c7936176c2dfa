"""When documents are requested: in the order of the tree, with limits per host.

After a failure: whether and when the request is repeated, and when a host is given up.
"""

from __future__ import annotations

import heapq
import sys
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

from usp._base.reason import Reason
from usp._crawl.orders import Failed, Received
from usp._formats.document import Role
from usp.exceptions import LocalShortageError
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason, status_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp._crawl.places import Doc
    from usp.options import CrawlOptions

_BUSY = frozenset({429, 503})


class Kind(Enum):
    """Why a request failed; each kind has its own budget of retries."""

    CONNECTION = "connection"  # no response, or one that broke off
    BUSY = "busy"  # the server asks us to wait
    SERVER = "server"  # any other response that may be different next time


def kind_of(error: WebClientErrorResponse) -> Kind:
    """Return why a request failed."""
    status = status_of(error)
    if status is None:
        return Kind.CONNECTION
    return Kind.BUSY if status in _BUSY else Kind.SERVER


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often, and after which pauses, to repeat a request.

    ``connection``, ``busy`` and ``server`` are how many failures of a kind there may be, including
    the last one. The pause grows by ``growth`` with each attempt. A longer ``Retry-After`` is
    respected up to ``longest_delay``; beyond that, the request is not repeated.
    """

    connection: int = 3
    busy: int = 5
    server: int = 5
    first_delay: float = 0.5
    growth: float = 2.0
    longest_delay: float = 30.0

    def delay(
        self, failures: int, error: WebClientErrorResponse, chance: float = 0.5
    ) -> float | None:
        """Return the seconds to wait after this many failures of a kind, or None to give up.

        ``chance``, from 0 to 1, varies the pause by up to 50 %, so that requests that failed
        together are not repeated together.
        """
        budget = getattr(self, kind_of(error).value)
        if not error.retryable() or failures >= budget:
            return None
        pause = self.first_delay * self.growth ** (failures - 1) * (0.5 + chance)
        if error.retry_after is None:
            return pause
        return None if error.retry_after > self.longest_delay else max(pause, error.retry_after)


DECLARED = RetryPolicy()
"""For documents that are declared."""

PROBE = RetryPolicy(connection=2, busy=2, server=2)
"""For known paths, most of which do not exist."""


SHORTAGE_PAUSE = 0.2
SHORTAGE_SECONDS = 30.0
"""After how many seconds a crawl tries again if this machine lacks resources, and for how long."""


# Hosts ----------------------------------------------------------------------------------------------

MAX_SILENT = 2
"""A host that has never responded is given up after this many requests without a response in time."""

SLOW_AFTER = 3
"""A host gets one request at a time after this many failures in a row."""

MAX_FAILURES = 10
MAX_FAILING = 20.0
"""A host is given up after this many failures in a row, over at least this many seconds."""

_CLIENT_ERRORS = range(400, 500)
_TOO_MANY_REQUESTS = 429


@dataclass(slots=True)
class _Conduct:
    silent: int = 0
    answers: bool = False
    failures: int = 0
    failing_since: float = 0.0
    given_up: Reason | None = None


class Hosts:
    """Tracks failures per host; decides when to slow down or stop."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Conduct] = {}

    def given_up(self, host: str) -> Reason | None:
        """Return why a host is given up, if it is."""
        known = self._hosts.get(host)
        return known.given_up if known else None

    def is_slow(self, host: str) -> bool:
        """Return whether a host should get one request at a time."""
        known = self._hosts.get(host)
        return known is not None and known.failures >= SLOW_AFTER

    def answers(self, host: str) -> bool:
        """Return whether a host has responded before."""
        known = self._hosts.get(host)
        return known is not None and known.answers

    def judge(self, host: str, result: Received | Failed, now: float) -> None:
        """Record the result of a request."""
        known = self._hosts.setdefault(host, _Conduct())
        if not isinstance(result, Failed):
            known.answers = True
            known.failures = 0
            return
        error = result.error
        status = status_of(error)
        known.answers = known.answers or status is not None
        if error.unreachable and not known.answers:
            known.given_up = known.given_up or failure_reason(error)
        elif error.silent and not known.answers:
            known.silent += 1
            if known.silent >= MAX_SILENT:
                known.given_up = failure_reason(error)
        elif status in _CLIENT_ERRORS and status != _TOO_MANY_REQUESTS:
            known.failures = 0  # this concerns the document, not its host
        elif status is not None or error.retryable() or error.unreachable:
            self._count(known, error, now)

    @staticmethod
    def _count(known: _Conduct, error: WebClientErrorResponse, now: float) -> None:
        if not known.failures:
            known.failing_since = now
        known.failures += 1
        if known.failures >= MAX_FAILURES and now - known.failing_since >= MAX_FAILING:
            text = f"this host keeps failing (last error: {error.message()})"
            known.given_up = Reason(FailureCode.HOST_FAILING, text)


# The order of requests -----------------------------------------------------------------------------


class Queueable(Protocol):
    """What a queue needs to know about a document."""

    position: tuple[int, ...]
    host: str


T = TypeVar("T", bound=Queueable)


@dataclass(slots=True)
class _Host(Generic[T]):
    most: int  # requests at a time
    gap: float = 0.0  # seconds between the beginnings of two requests
    active: int = 0
    started: float = 0.0  # the last request
    only: T | None = None  # must be fetched before anything else is requested
    free_at: float = 0.0
    parked: list[tuple[tuple[int, ...], int, T]] = field(default_factory=list)


class Queue(Generic[T]):
    """Returns documents by their position in the tree, those of a busy host later.

    There are at least ``gap`` seconds between the starts of two requests to a host.
    """

    def __init__(self, per_host: int, gap: float = 0.0) -> None:
        self._gap = gap
        self._ready: list[tuple[tuple[int, ...], int, T]] = []
        self._later: list[tuple[float, int, T | str]] = []  # documents, and hosts that rest
        self._hosts: defaultdict[str, _Host[T]] = defaultdict(lambda: _Host(per_host, gap))
        self._count = 0  # orders documents of the same position

    def put(self, item: T, not_before: float | None = None) -> None:
        """Add a document, for now or for later."""
        self._hosts[item.host]  # is known from now on
        self._count += 1
        if not_before is None:
            heapq.heappush(self._ready, (item.position, self._count, item))
        else:
            heapq.heappush(self._later, (not_before, self._count, item))

    def restrain(self, host: str, most: int, gap: float | None = None) -> None:
        """Limit the requests to a host at a time, with a ``gap`` between them if it is given."""
        known = self._hosts[host]
        known.only = None
        known.most = most
        if gap:
            known.gap = max(gap, self._gap)
            self._rest(host, known.started + known.gap)
        self._unpark(known)

    def release(self, host: str) -> None:
        """Make all documents of a host available at once: it gets no more requests."""
        known = self._hosts[host]
        known.only, known.gap, known.free_at, known.most = None, 0.0, 0.0, sys.maxsize
        self._unpark(known)

    def reserve(self, item: T) -> None:
        """Request nothing but this document from its host, until :meth:`restrain` is called."""
        self._hosts[item.host].only = item

    def _rest(self, host: str, until: float) -> None:
        self._hosts[host].free_at = until
        self._count += 1
        heapq.heappush(self._later, (until, self._count, host))

    def get(self, now: float) -> T | None:
        """Take the next document that may be fetched; its host is busy until :meth:`done`."""
        while self._later and self._later[0][0] <= now:
            due = heapq.heappop(self._later)[2]
            if isinstance(due, str):
                self._unpark(self._hosts[due])
            else:
                self.put(due)
        while self._ready:
            item = self._ready[0][2]
            host = self._hosts[item.host]
            allowed = host.only is None or host.only is item
            if allowed and host.active < host.most and host.free_at <= now:
                heapq.heappop(self._ready)
                host.active += 1
                host.started = now
                if host.gap:
                    self._rest(item.host, now + host.gap)
                return item
            if host.only is None and len(self._hosts) == 1:
                return None  # the rest is on the same host, and waits where it is
            heapq.heappush(host.parked, heapq.heappop(self._ready))
        return None

    def done(self, item: T) -> None:
        """Record that a document is no longer being fetched."""
        host = self._hosts[item.host]
        host.active -= 1
        self._unpark(host)

    def _unpark(self, host: _Host[T]) -> None:
        """Make as many documents of a host available again as it has room for."""
        for _ in range(min(host.most - host.active, len(host.parked))):
            heapq.heappush(self._ready, heapq.heappop(host.parked))

    def next_due(self) -> float | None:
        """Return the time for which the next document is put off, if one is."""
        return self._later[0][0] if self._later else None


class Schedule:
    """Decides which document is requested next, and whether a failed one is requested again.

    A host that keeps failing gets one request at a time, and is then given up. The Crawl-delay of
    robots.txt is respected if the options say so. ``chance`` returns random numbers from 0 to 1.
    """

    def __init__(self, options: CrawlOptions, per_host: int, chance: Callable[[], float]) -> None:
        self._per_host = 1 if options.wait else per_host
        self._keeps_delay = options.crawl_delay
        self._chance = chance
        self._queue = Queue["Doc"](self._per_host, options.wait)
        self._hosts = Hosts()
        self._short_since: float | None = None  # of something on this machine
        self._failures: Counter[tuple[Doc, Kind]] = Counter()

    def add(self, doc: Doc) -> None:
        """Add a document that has not been requested yet."""
        if self._keeps_delay and doc.role is Role.ROBOTS:
            self._queue.reserve(doc)  # nothing is requested before robots.txt has arrived
        self._queue.put(doc)

    def add_declared(self, doc: Doc, error: WebClientErrorResponse) -> None:
        """Add a known path that failed again, if a declared document would be retried."""
        if DECLARED.delay(max(self._failures[doc, kind_of(error)], 1), error) is not None:
            doc.put_back()
            self._queue.put(doc)

    def next(self, now: float) -> Doc | None:
        """Return the document to request now, if there is one; its host is busy until it is done."""
        return self._queue.get(now)

    def next_due(self) -> float | None:
        """Return the time for which the next document is put off, if one is."""
        return self._queue.next_due()

    def given_up(self, doc: Doc) -> Reason | None:
        """Return why a document need not be requested, if its host is given up."""
        return self._hosts.given_up(doc.origin)

    def leave(self, doc: Doc) -> None:
        """Record that a document is not requested after all."""
        self._queue.done(doc)

    def finished(self, doc: Doc, result: Received | Failed, now: float) -> None:
        """Record the result of a request; slow down for a host that keeps failing."""
        self._short_since = None
        was_slow = self._hosts.is_slow(doc.origin)
        self._hosts.judge(doc.origin, result, now)
        is_slow = self._hosts.is_slow(doc.origin)
        if self._hosts.given_up(doc.origin) is not None:
            self._queue.release(doc.host)
        elif was_slow != is_slow and not self._keeps_delay:
            self._queue.restrain(doc.host, 1 if is_slow else self._per_host)
        self._queue.done(doc)

    def repeat(
        self, doc: Doc, error: WebClientErrorResponse, now: float, *, ending: bool
    ) -> float | None:
        """Add a failed document again and return the pause before it, or return None to give up."""
        kind = kind_of(error)
        self._failures[doc, kind] += 1
        if ending or self._hosts.given_up(doc.origin) is not None:
            return None
        if error.unreachable and self._hosts.answers(doc.origin):  # it responded a moment ago
            error = WebClientErrorResponse(error.message(), retryable=True)
        policy = PROBE if doc.probe else DECLARED
        pause = policy.delay(self._failures[doc, kind], error, self._chance())
        if pause is not None:
            self._queue.put(doc, not_before=now + pause)
        return pause

    def wait_out(self, doc: Doc, code: int, now: float) -> None:
        """Add a document again that could not be fetched because this machine lacks resources.

        Its host is not blamed. Raises :class:`LocalShortageError` if waiting does not help.
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

    def settled(self, doc: Doc, result: Received | Failed) -> None:
        """Respect the Crawl-delay of a robots.txt from now on."""
        if self._keeps_delay and doc.role is Role.ROBOTS:
            delay = result.look.crawl_delay if isinstance(result, Received) else None
            self._queue.restrain(doc.host, 1 if delay else self._per_host, delay)
