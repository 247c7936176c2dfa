"""After a failed request: whether and when it is repeated, and what becomes of its host."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from usp._base.reason import Reason
from usp._crawl.values import Failed, Received
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import WebClientErrorResponse, failure_reason, status_of

_BUSY = frozenset({429, 503})


class Kind(Enum):
    """Why a request failed; each has a budget of its own."""

    CONNECTION = "connection"  # no answer, or one that broke off
    BUSY = "busy"  # the server asks for patience
    SERVER = "server"  # any other answer that may be another one next time


def kind_of(error: WebClientErrorResponse) -> Kind:
    """Return why a request failed."""
    status = status_of(error)
    if status is None:
        return Kind.CONNECTION
    return Kind.BUSY if status in _BUSY else Kind.SERVER


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after how long to ask again.

    ``connection``, ``busy`` and ``server`` are how many failures of a kind there may be, the last
    one included. The pause grows by ``growth`` from try to try. A server that names a longer pause is
    obeyed up to ``longest_delay``; one that asks for more is not asked again.
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
        """Return the seconds to wait after so many failures of a kind, or None to give up.

        ``chance`` from 0 to 1 varies the pause by a half either way, so that requests that failed
        together do not come back together.
        """
        budget = getattr(self, kind_of(error).value)
        if not error.retryable() or failures >= budget:
            return None
        pause = self.first_delay * self.growth ** (failures - 1) * (0.5 + chance)
        if error.retry_after is None:
            return pause
        return None if error.retry_after > self.longest_delay else max(pause, error.retry_after)


DECLARED = RetryPolicy()
"""For documents that somebody declared to exist."""

PROBE = RetryPolicy(connection=2, busy=2, server=2)
"""For known paths, which most often lead nowhere."""


SHORTAGE_PAUSE = 0.2
SHORTAGE_SECONDS = 30.0
"""How long a crawl waits for what this machine is short of, and after how long it tries again."""


# Hosts ----------------------------------------------------------------------------------------------

MAX_SILENT = 2
"""A host that has never answered is given up after so many requests without an answer in time."""

SLOW_AFTER = 3
"""A host is asked for one thing at a time after so many failures in a row."""

MAX_FAILURES = 10
MAX_FAILING = 20.0
"""A host is given up after so many failures in a row, over at least so many seconds."""

_CLIENT_ERRORS = range(400, 500)
_TOO_MANY_REQUESTS = 429


@dataclass(slots=True)
class _Host:
    silent: int = 0
    answers: bool = False
    failures: int = 0
    failing_since: float = 0.0
    given_up: Reason | None = None


class Hosts:
    """Tracks failures per host; decides when to slow down or stop."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def given_up(self, host: str) -> Reason | None:
        """Return why a host is given up, if it is."""
        known = self._hosts.get(host)
        return known.given_up if known else None

    def is_slow(self, host: str) -> bool:
        """Return whether a host should be asked for one thing at a time."""
        known = self._hosts.get(host)
        return known is not None and known.failures >= SLOW_AFTER

    def answers(self, host: str) -> bool:
        """Return whether a host has answered before."""
        known = self._hosts.get(host)
        return known is not None and known.answers

    def judge(self, host: str, result: Received | Failed, now: float) -> None:
        """Take note of what came of a request."""
        known = self._hosts.setdefault(host, _Host())
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
            known.failures = 0  # that was about a document, and nothing about its host
        elif status is not None or error.retryable() or error.unreachable:
            self._count(known, error, now)

    @staticmethod
    def _count(known: _Host, error: WebClientErrorResponse, now: float) -> None:
        if not known.failures:
            known.failing_since = now
        known.failures += 1
        if known.failures >= MAX_FAILURES and now - known.failing_since >= MAX_FAILING:
            text = f"this host keeps failing (the last time: {error.message()})"
            known.given_up = Reason(FailureCode.HOST_FAILING, text)
