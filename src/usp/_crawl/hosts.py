"""What is known of the hosts of a crawl: who answers, who fails, who is given up."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp._crawl.fetch import Failed
from usp.web_client.abstract_client import status_of

if TYPE_CHECKING:
    from usp._crawl.fetch import Received
    from usp.web_client.abstract_client import WebClientErrorResponse

MAX_SILENT = 2
"""A host that has never answered is given up after so many requests without an answer in time."""

SLOW_AFTER = 3
"""A host is asked for one thing at a time after so many failures in a row."""

MAX_FAILURES = 10
MAX_FAILING = 20.0
"""A host is given up after so many failures in a row, over at least so many seconds."""

_CLIENT_ERRORS = range(400, 500)
_BUSY = 429


@dataclass(slots=True)
class _Host:
    silent: int = 0
    answers: bool = False
    failures: int = 0
    failing_since: float = 0.0
    given_up: str | None = None


class Hosts:
    """Judges hosts by what their answers were."""

    def __init__(self) -> None:
        self._hosts: dict[str, _Host] = {}

    def given_up(self, host: str) -> str | None:
        """Say why a host is given up, if it is."""
        known = self._hosts.get(host)
        return known.given_up if known else None

    def is_slow(self, host: str) -> bool:
        """Tell whether a host should be asked for one thing at a time."""
        known = self._hosts.get(host)
        return known is not None and known.failures >= SLOW_AFTER

    def answers(self, host: str) -> bool:
        """Tell whether a host has answered before, so that somebody is there."""
        known = self._hosts.get(host)
        return known is not None and known.answers

    def judge(self, host: str, result: Received | Failed, now: float) -> None:
        """Take what came of a request."""
        known = self._hosts.setdefault(host, _Host())
        if not isinstance(result, Failed):
            known.answers = True
            known.failures = 0
            return
        error = result.error
        status = status_of(error)
        known.answers = known.answers or status is not None
        if error.unreachable and not known.answers:
            known.given_up = known.given_up or error.message()
        elif error.silent and not known.answers:
            known.silent += 1
            if known.silent >= MAX_SILENT:
                known.given_up = error.message()
        elif status in _CLIENT_ERRORS and status != _BUSY:
            known.failures = 0  # that was about a document, and nothing about its host
        elif status is not None or error.retryable() or error.unreachable:
            self._count(known, error, now)

    @staticmethod
    def _count(known: _Host, error: WebClientErrorResponse, now: float) -> None:
        if not known.failures:
            known.failing_since = now
        known.failures += 1
        if known.failures >= MAX_FAILURES and now - known.failing_since >= MAX_FAILING:
            known.given_up = f"this host keeps failing (the last time: {error.message()})"
