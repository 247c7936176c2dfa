"""When documents are requested: in the order of the tree, with limits per host.

After a failure: whether and when the request is repeated, and when a host is given up.
"""

from __future__ import annotations

import heapq
import math
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._crawl.orders import Failed, FetchOrder, Received
from usp._formats.document import Role
from usp.exceptions import LocalShortageError
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import (
    WebClientErrorResponse,
    failure_reason,
    status_of,
    words_of,
)

if TYPE_CHECKING:
    from usp.options import CrawlOptions

_BUSY = frozenset({429, 503})


def failure_kind(error: WebClientErrorResponse) -> str:
    """Return why a request failed; each kind has its own number of retries in a policy."""
    status = status_of(error)
    if status is None:
        return "connection"  # no response, or one that broke off
    return "busy" if status in _BUSY else "server"


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
        budget = getattr(self, failure_kind(error))
        if not error.retryable() or failures >= budget:
            return None
        pause = self.first_delay * self.growth ** (failures - 1) * (0.5 + chance)
        if error.retry_after is None:
            return pause
        return None if error.retry_after > self.longest_delay else max(pause, error.retry_after)


DECLARED = RetryPolicy()
"""For documents that are declared."""

GUESSED = RetryPolicy(connection=2, busy=2, server=2)
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
class HostHealth:
    """The failures of an origin: decides when to slow down or stop."""

    silent: int = 0
    answers: bool = False  # has responded before
    failures: int = 0  # in a row
    failing_since: float = 0.0
    given_up: Reason | None = None

    @property
    def is_slow(self) -> bool:
        """Whether it should get one request at a time."""
        return self.failures >= SLOW_AFTER

    def record(self, result: Received | Failed, now: float) -> None:
        """Record the result of a request."""
        if not isinstance(result, Failed):
            self.answers = True
            self.failures = 0
            return
        error = result.error
        status = status_of(error)
        self.answers = self.answers or status is not None
        if error.unreachable and not self.answers:
            self.given_up = self.given_up or failure_reason(error)
        elif error.silent and not self.answers:
            self.silent += 1
            if self.silent >= MAX_SILENT:
                self.given_up = failure_reason(error)
        elif status in _CLIENT_ERRORS and status != _TOO_MANY_REQUESTS:
            self.failures = 0  # this concerns the document, not its host
        elif status is not None or error.retryable() or error.unreachable:
            if not self.failures:
                self.failing_since = now
            self.failures += 1
            if self.failures >= MAX_FAILURES and now - self.failing_since >= MAX_FAILING:
                text = f"this host keeps failing (last error: {words_of(error)})"
                self.given_up = Reason(FailureCode.HOST_FAILING, text)


@dataclass(slots=True)
class _HostQueue:
    most: int  # requests at a time
    gap: float = 0.0  # seconds between the beginnings of two requests
    active: int = 0
    started: float = 0.0  # the last request
    only: FetchOrder | None = None  # must be fetched before anything else is requested
    free_at: float = 0.0
    parked: list[tuple[tuple[int, ...], int, FetchOrder]] = field(default_factory=list)


class Schedule:
    """Decides which document is requested next, and whether a failed one is requested again.

    Documents are requested by their position in the tree, those of a busy host later. A host that
    keeps failing gets one request at a time, and is then given up (:attr:`health`, by origin). The
    Crawl-delay of robots.txt is respected if the options say so. ``chance`` returns random numbers
    from 0 to 1.
    """

    def __init__(
        self, options: CrawlOptions, per_host: int, chance: Callable[[], float] = random.random
    ) -> None:
        self._per_host = 1 if options.wait else per_host
        self._gap = options.wait
        self._keeps_delay = options.crawl_delay
        self._chance = chance
        self._ready: list[tuple[tuple[int, ...], int, FetchOrder]] = []
        self._later: list[tuple[float, int, FetchOrder | str]] = []  # or hosts that rest
        self._hosts: dict[str, _HostQueue] = {}
        self._count = 0  # orders documents of the same position
        self._short_since: float | None = None  # of something on this machine
        self._failures: Counter[tuple[FetchOrder, str]] = Counter()
        self.health: defaultdict[str, HostHealth] = defaultdict(HostHealth)

    def add(self, order: FetchOrder, not_before: float | None = None) -> None:
        """Add a document, for now or for later."""
        if order.host not in self._hosts:
            self._hosts[order.host] = _HostQueue(self._per_host, self._gap)
        if self._keeps_delay and order.role is Role.ROBOTS:
            # Nothing is requested before robots.txt has arrived.
            self._hosts[order.host].only = order
        self._count += 1
        if not_before is None:
            heapq.heappush(self._ready, (order.position, self._count, order))
        else:
            heapq.heappush(self._later, (not_before, self._count, order))

    def add_declared(self, order: FetchOrder, error: WebClientErrorResponse) -> bool:
        """Add a known path that failed again, if a declared document would be retried."""
        if DECLARED.delay(max(self._failures[order, failure_kind(error)], 1), error) is None:
            return False
        self.add(order)
        return True

    def next(self, now: float) -> FetchOrder | None:
        """Take the next document that may be requested; its host is busy until it is :meth:`done`."""
        while self._later and self._later[0][0] <= now:
            due = heapq.heappop(self._later)[2]
            if isinstance(due, str):
                self._unpark(self._hosts[due])
            else:
                self.add(due)
        while self._ready:
            order = self._ready[0][2]
            host = self._hosts[order.host]
            if self.health[order.origin].given_up is not None:  # it gets no more requests
                heapq.heappop(self._ready)
                host.active += 1
                return order
            allowed = host.only is None or host.only is order
            if allowed and host.active < host.most and host.free_at <= now:
                heapq.heappop(self._ready)
                host.active += 1
                host.started = now
                if host.gap:
                    self._rest(order.host, now + host.gap)
                return order
            if host.only is None and len(self._hosts) == len(self.health) == 1:
                return None  # the rest is on the same host, and waits where it is
            heapq.heappush(host.parked, heapq.heappop(self._ready))
        return None

    def done(self, order: FetchOrder) -> None:
        """Record that a document is no longer being fetched."""
        host = self._hosts[order.host]
        host.active -= 1
        if host.parked:
            self._unpark(host)

    def next_due(self) -> float:
        """Return the time for which the next document is put off, or infinity."""
        return self._later[0][0] if self._later else math.inf

    def finished(self, order: FetchOrder, result: Received | Failed, now: float) -> None:
        """Record the result of a request; slow down for a host that keeps failing."""
        self._short_since = None
        health = self.health[order.origin]
        was_slow = health.is_slow
        health.record(result, now)
        if health.given_up is None and was_slow != health.is_slow and not self._keeps_delay:
            self._restrain(order.host, self._per_host if was_slow else 1)
        self.done(order)

    def repeat(
        self, order: FetchOrder, error: WebClientErrorResponse, now: float, *, ending: bool
    ) -> float | None:
        """Add a failed document again and return the pause before it, or return None to give up."""
        kind = failure_kind(error)
        self._failures[order, kind] += 1
        health = self.health[order.origin]
        if ending or health.given_up is not None:
            return None
        if error.unreachable and health.answers:  # it responded a moment ago
            error = WebClientErrorResponse(error.message(), retryable=True)
        policy = GUESSED if order.is_guess else DECLARED
        pause = policy.delay(self._failures[order, kind], error, self._chance())
        if pause is not None:
            self.add(order, not_before=now + pause)
        return pause

    def attempts(self, order: FetchOrder, error: WebClientErrorResponse) -> int:
        """Return how often a document is requested in all if it goes on failing like this."""
        kind = failure_kind(error)
        policy = GUESSED if order.is_guess else DECLARED
        return order.attempt + int(getattr(policy, kind)) - self._failures[order, kind]

    def wait_out(self, order: FetchOrder, code: int, now: float) -> None:
        """Add a document again that could not be fetched because this machine lacks resources.

        Its host is not blamed. Raises :class:`LocalShortageError` if waiting does not help.
        """
        self.done(order)
        if self._short_since is None:
            self._short_since = now
        shortage = LocalShortageError(code)
        if not shortage.may_pass or now - self._short_since > SHORTAGE_SECONDS:
            raise shortage
        if order.result is None:
            order.attempt -= 1
            self.add(order, not_before=now + SHORTAGE_PAUSE)

    def keep_crawl_delay(self, host: str, delay: float | None) -> None:
        """Respect the Crawl-delay of a robots.txt from now on, if there is one."""
        if self._keeps_delay:
            self._restrain(host, 1 if delay else self._per_host, delay)

    def _restrain(self, host: str, most: int, gap: float | None = None) -> None:
        """Limit the requests to a host at a time, with a ``gap`` between them if it is given."""
        known = self._hosts[host]
        known.only = None
        known.most = most
        if gap:
            known.gap = max(gap, self._gap)
            self._rest(host, known.started + known.gap)
        self._unpark(known)

    def _rest(self, host: str, until: float) -> None:
        self._hosts[host].free_at = until
        self._count += 1
        heapq.heappush(self._later, (until, self._count, host))

    def _unpark(self, host: _HostQueue) -> None:
        for _ in range(min(host.most - host.active, len(host.parked))):
            heapq.heappush(self._ready, heapq.heappop(host.parked))
