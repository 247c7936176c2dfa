"""When a failed request is worth repeating, and after how long."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp.web_client.abstract_client import WebClientErrorResponse

if TYPE_CHECKING:
    from usp.web_client.abstract_client import AbstractWebClient, AbstractWebClientResponse

log = logging.getLogger(__name__)

_NOT_FOUND = 404


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """How often and after how long to ask again.

    The pause grows by ``growth`` from try to try. A server that names a longer pause is obeyed up to
    ``longest_delay``; one that asks for more is not asked again.
    """

    attempts: int = 5
    first_delay: float = 0.5
    growth: float = 2.0
    longest_delay: float = 30.0

    def delay(self, attempt: int, error: WebClientErrorResponse) -> float | None:
        """Give the seconds to wait after ``attempt`` failed, or None to give up."""
        if not error.retryable() or attempt >= self.attempts:
            return None
        pause = self.first_delay * self.growth ** (attempt - 1)
        if error.retry_after is None:
            return pause
        return None if error.retry_after > self.longest_delay else max(pause, error.retry_after)


DECLARED = RetryPolicy()
"""For documents that somebody declared to exist."""

PROBE = RetryPolicy(attempts=2)
"""For known paths, which most often lead nowhere."""


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
        log_failure(url, response, retry=pause is not None, quiet_404=quiet_404)
        if pause is None:
            return response
        time.sleep(pause)
        attempt += 1


def log_failure(
    url: str,
    error: WebClientErrorResponse,
    *,
    retry: bool,
    quiet_404: bool,
    quiet: bool = False,
) -> None:
    """Log a failed request: loudly only if it was expected to succeed."""
    not_found = error.status == _NOT_FOUND or error.message().startswith("404")
    expected = quiet or (quiet_404 and not_found)
    level = logging.DEBUG if expected else logging.INFO if retry else logging.WARNING
    after = "; it will be tried again" if retry else ""
    log.log(level, "Request for URL %s failed: %s%s", url, error.message(), after)
