"""When a failed request is worth repeating, and after how long."""

from __future__ import annotations

import time
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from usp._base.advice import BLOCKED
from usp._base.urls import without_login
from usp._crawl import journal
from usp.web_client.abstract_client import WebClientErrorResponse, status_of

if TYPE_CHECKING:
    from usp.web_client.abstract_client import AbstractWebClient, AbstractWebClientResponse

_BUSY = frozenset({429, 503})


class Kind(Enum):
    """Why a request failed; each has a budget of its own."""

    CONNECTION = "connection"  # no answer, or one that broke off
    BUSY = "busy"  # the server asks for patience
    SERVER = "server"  # any other answer that may be another one next time


def kind_of(error: WebClientErrorResponse) -> Kind:
    """Tell why a request failed."""
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
        """Give the seconds to wait after so many failures of a kind, or None to give up.

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


def get_with_retries(
    url: str, web_client: AbstractWebClient, policy: RetryPolicy, *, quiet_404: bool = False
) -> AbstractWebClientResponse:
    """Fetch a URL in this thread, sleeping between the tries."""
    attempt = 1
    while True:
        response = web_client.get(url)
        if not isinstance(response, WebClientErrorResponse):
            return response
        pause = policy.delay(attempt, response)
        journal.request_failed(without_login(url), response, retry_in=pause, quiet_404=quiet_404)
        if pause is None:
            return response
        time.sleep(pause)
        attempt += 1


def explain(error: WebClientErrorResponse) -> str:
    """Say what went wrong, and what to try if the server turns robots away."""
    return f"{error.message()} ({BLOCKED})" if error.blocked else error.message()
