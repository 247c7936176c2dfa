"""Receives the body of one response: stores it, glances at it, and watches its limits."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._base.safe_text import excerpt
from usp._base.shortage import shortage_of
from usp._base.urls import without_login
from usp._crawl.driving import blamed, call_newer, mistake
from usp._crawl.look import FirstLook, read_whole
from usp._crawl.orders import Arrival, Failed, Received, not_wanted
from usp._formats.document import DocumentParser
from usp._http.redaction import safe_headers
from usp._store import SpoolFull
from usp.limits import DEFAULT
from usp.objects.exchange import Exchange
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import ResponseFacts, WebClientErrorResponse

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp._crawl.orders import Fetch
    from usp._store import Store
    from usp.limits import Limits

# Limits that a body may end at before we see it.
_SEEN_BY_CLIENTS = frozenset({FailureCode.LIMIT_DOCUMENT_SECONDS, FailureCode.LIMIT_SECONDS})
_WINDOW = 30.0  # seconds over which the rate of a transfer is measured


def _text(value: object) -> str | None:
    """Return a string of a client, or None: a mock may return anything."""
    return value if issubclass(type(value), str) else None  # type: ignore[return-value]


def _label(value: object) -> str | None:
    """Return a header in a readable length, or None if there is nothing in it."""
    text = _text(value)
    return (excerpt(text) or None) if text else None


def _status(response: ResponseFacts) -> int:
    status: object = response.status_code() if hasattr(response, "status_code") else None
    return status if isinstance(status, int) and type(status) is int else int(HTTPStatus.OK)


class Reception:
    """Receives the body of one response: stores it, glances at it, and returns the result."""

    def __init__(
        self,
        order: Fetch,
        response: ResponseFacts,
        store: Store,
        started: float,
        limits: Limits = DEFAULT,
        *,
        streams: bool = False,
    ) -> None:
        self._started = started
        self._streams = streams
        self._window = time.monotonic()
        self._window_size = 0
        self._order = order
        self._limits = limits
        self._ended: Reason | None = None
        content_type = _label(response.header("Content-Type"))
        content_encoding = _label(response.header("Content-Encoding"))
        final_url = _text(response.url()) or order.url
        if limits.too_long(final_url):
            final_url = order.url
            reached = limits.reached("url_length")
            self._ended = reached.after("it redirects to a URL that is too long")
        final_url = without_login(final_url)
        self._exchange = partial(  # as far as it is known before the body
            Exchange,
            url=order.url,
            final_url=final_url,
            status=_status(response),
            headers=safe_headers(call_newer(response, "headers", ResponseFacts.headers)),
            redirects=tuple(
                map(without_login, call_newer(response, "redirects", ResponseFacts.redirects))
            ),
            attempts=order.attempt,
            started=datetime.now(UTC) - timedelta(seconds=self._window - started),
            content_type=content_type,
            content_encoding=content_encoding,
            hops=call_newer(response, "hops", ResponseFacts.hops),
        )
        parser = DocumentParser(
            final_url,
            content_type=content_type,
            content_encoding=content_encoding,
            role=order.role,
            glance=limits.pages is None,
            fast=True,
            limits=limits,
        )
        self._look = FirstLook(parser, limits)
        self._writer = store.writer()
        self._arrival: Arrival | None = None

    @property
    def wants_more(self) -> bool:
        """Whether the rest needs to be received."""
        return self._ended is None and self._look.wants_more

    def take(self, chunk: bytes) -> Iterator[None]:
        """Store a chunk, then read it step by step; each step may run in another thread.

        After each step, :meth:`tell` passes on what is known by then.
        """
        if self._ended is not None:
            return
        most = self._limits.document_bytes
        if most is not None and self._writer.size + len(chunk) > most:
            chunk = chunk[: most - self._writer.size]
            self._reach("document_bytes")
        try:
            self._writer.write(chunk)
        except SpoolFull:
            self._reach("spool_bytes")
            return
        self._check_pace()
        for _ in self._look.steps(chunk):
            yield
            if self._is_late():
                return

    def tell(self) -> Arrival | None:
        """Notify readers that more has arrived; return a page sitemap that has just begun.

        Without readers, None is returned.
        """
        if self._arrival is not None:
            self._arrival.tell()
        elif self._streams and self._look.has_pages:
            self._arrival = Arrival(self._exchange(), self._writer, self._look.kind)
            return self._arrival
        return None

    def _is_late(self) -> bool:
        """Return whether the document, received and read, takes too long."""
        most = self._limits.document_seconds
        if most is None or time.monotonic() - self._started <= most:
            return False
        self._reach("document_seconds")
        return True

    def _check_pace(self) -> None:
        """End a transfer that takes too long."""
        if self._is_late():
            return
        now, limits = time.monotonic(), self._limits
        passed = now - self._window
        if limits.lowest_rate is not None and passed >= _WINDOW:
            if self._writer.size - self._window_size < limits.lowest_rate * passed:
                self._reach("lowest_rate")
            self._window, self._window_size = now, self._writer.size

    def _reach(self, limit: str) -> None:
        self._ended = self._ended or self._limits.reached(limit)

    def end(self, broken: Reason | None = None) -> Received | Failed:
        """Return what was received; ``broken`` is why the body ended too early, if it did."""
        if broken is not None and broken.code in _SEEN_BY_CLIENTS:
            self._ended = self._ended or broken
        look = self._look.close(broken, self._ended)
        if self._ended is not None and look.kind is None:
            self._writer.discard()
            self._end_arrival()
            return Failed(not_wanted(self._ended))
        if look.broken is not None and not self._writer.size:
            return Failed(
                WebClientErrorResponse(look.broken.after("no data was received"), retryable=True)
            )
        exchange = self._exchange(
            seconds=time.monotonic() - self._started,
            received=self._writer.size,
            charset=self._look.parser.encoding,
            broken=self._ended or broken,
        )
        document = self._writer.finish(exchange)
        if not self._look.is_enough:
            look = read_whole(document, exchange.final_url, self._limits, broken, self._ended)
        if self._arrival is not None:
            self._arrival.document = document
        self._end_arrival()
        return Received(document, look)

    def give_up(self, reason: Reason) -> Received | Failed:
        """Return what was received before the crawl ended."""
        self._ended = self._ended or reason
        return self.end()

    def fail(self, error: BaseException, client: object = None) -> Received | Failed:
        """Return what was received before an exception, of a ``client`` or of ours."""
        if self._writer.size and shortage_of(error) is None:
            text = self._order.without_secrets(f"{type(error).__name__}: {error}")
            return self.end(Reason(blamed(client), text))
        self._writer.discard()
        self._end_arrival()
        return mistake(error, client, self._order)

    def _end_arrival(self) -> None:
        if self._arrival is not None:
            self._arrival.over = True
            self._arrival.tell()
