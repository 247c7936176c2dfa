"""Fetches one document and takes the first look at it. All HTTP of a crawl goes through here.

:func:`fetching` is the same for every driver: a generator that yields what it needs, the response or a
piece of the body, and is sent that by the driver. :func:`fetch_document` is the driver for synchronous
clients.
"""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import TYPE_CHECKING, Any

from usp._base.urls import without_login
from usp._crawl import journal
from usp._crawl.driving import call_newer, checked_response, mistake, without_secrets
from usp._crawl.orders import (
    RESULTS,
    Arrival,
    Failed,
    NotFetched,
    Recalls,
    Received,
    not_fetched,
)
from usp._crawl.reception import Reception
from usp._http.redaction import safe_headers
from usp.limits import DEFAULT
from usp.objects.exchange import Exchange
from usp.web_client.abstract_client import (
    AbstractWebClientSuccessResponse,
    BrokenBody,
    NoWebClientException,
    WebClientErrorResponse,
    status_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from usp._base.reason import Reason
    from usp._crawl.orders import Fetch
    from usp._store import Store
    from usp.limits import Limits
    from usp.web_client.abstract_client import AbstractWebClient


class Need(Enum):
    """What a fetch needs to go on."""

    ANSWER = "answer"  # the response of the client; an exception is thrown
    PIECE = "piece"  # of the body, or :data:`END`; an exception is thrown
    TURN = "turn"  # nothing: a step of reading is done, others may go on


END = object()
"""Marks the end of a body."""


def fetching(
    order: Fetch,
    client: object,
    store: Store,
    given_up: Callable[[], Reason | None],
    limits: Limits = DEFAULT,
    kind: type = AbstractWebClientSuccessResponse,
    *,
    streams: bool = False,
) -> Generator[Need | Arrival | Received | Failed, Any, None]:
    """Fetch a document, store it and glance at it: yield what that needs, and finally the result.

    With ``streams``, a page sitemap is yielded as soon as it is known to be one. ``given_up`` is
    called while the body is received: a reason ends the transfer. Every failure is a result.
    """
    started = time.monotonic()
    result: Received | Failed
    recalls = client if isinstance(client, Recalls) else None
    recalled = recalls.recall(order) if recalls else None
    if recalled is not None:
        yield recalled
        return
    try:
        response = checked_response((yield Need.ANSWER), kind)
        if isinstance(response, WebClientErrorResponse):
            if recalls is not None:
                unchanged = recalls.unchanged(order, _exchange(order, response, started))
                if unchanged is not None:
                    yield unchanged
                    return
            result = Failed(without_secrets(order, response))
        else:
            reception = Reception(order, response, store, started, limits, streams=streams)
            result = yield from _receive(reception, given_up, client)
    except NoWebClientException:
        result = not_fetched()
    except Exception as error:  # noqa: BLE001 - a client's mistake must not end the crawl
        result = mistake(error, client, order)
    if isinstance(result, Failed) and not isinstance(result.error, NotFetched):
        result = replace(result, exchange=_exchange(order, result.error, started))
    yield result


def _exchange(order: Fetch, error: WebClientErrorResponse, started: float) -> Exchange:
    """Return what is known about a request that failed."""
    known = error.exchange
    if not isinstance(known, Exchange):
        known = Exchange(order.url, order.url, status_of(error))
    seconds = time.monotonic() - started
    return replace(
        known,
        url=order.url,
        final_url=without_login(known.final_url),
        redirects=tuple(map(without_login, known.redirects)),
        headers=safe_headers(known.headers),
        content_type=known.header("Content-Type"),
        content_encoding=known.header("Content-Encoding"),
        attempts=order.attempt,
        started=datetime.now(UTC) - timedelta(seconds=seconds),
        seconds=seconds,
    )


def _receive(
    reception: Reception, given_up: Callable[[], Reason | None], client: object
) -> Generator[Need | Arrival, Any, Received | Failed]:
    try:
        while reception.wants_more:
            try:
                piece = yield Need.PIECE
                if piece is END:
                    break
                chunk = _checked(piece)
            except BrokenBody as error:
                return reception.end(error.reason)
            except Exception as error:  # noqa: BLE001 - a client's mistake must not end the crawl
                return reception.fail(error, client)
            if reason := (yield from _read(reception, chunk, given_up)):
                return reception.give_up(reason)
        return reception.end()
    except Exception as error:  # noqa: BLE001 - a mistake of ours must not end the crawl
        return reception.fail(error)
    except BaseException as error:
        reception.fail(error)
        raise


def _read(
    reception: Reception, chunk: bytes, given_up: Callable[[], Reason | None]
) -> Generator[Need | Arrival, Any, Reason | None]:
    """Read a chunk, step by step; return why the fetch should end, if it should."""
    if reason := given_up():
        return reason
    for _ in reception.take(chunk):
        if arrival := reception.tell():
            yield arrival
        if reason := given_up():
            return reason
        yield Need.TURN
    if arrival := reception.tell():
        yield arrival
    return None


def _checked(piece: object) -> bytes:
    """Return a piece of a body, which must be bytes."""
    if isinstance(piece, bytes | bytearray | memoryview):
        return bytes(piece)
    raise TypeError(f"the body of a response must be bytes, not {type(piece).__name__}")


def fetch_document(
    order: Fetch,
    client: AbstractWebClient,
    store: Store,
    given_up: Callable[[], Reason | None] = lambda: None,
    announce: Callable[[Arrival], object] | None = None,
    limits: Limits = DEFAULT,
) -> Received | Failed:
    """Return the result of an order; ``announce`` is called for a page sitemap as it begins."""
    fetch = fetching(order, client, store, given_up, limits, streams=announce is not None)
    response: Any = None
    body: Iterator[bytes] | None = None
    step = next(fetch)
    try:
        while not isinstance(step, RESULTS):
            value: Any = None
            try:
                if step is Need.ANSWER:
                    value = response = client.get(order.address)
                elif step is Need.PIECE:
                    if body is None:
                        body = iter(
                            call_newer(response, "body", AbstractWebClientSuccessResponse.body)
                        )
                    value = next(body, END)
                elif isinstance(step, Arrival) and announce is not None:
                    announce(step)
            except Exception as error:  # noqa: BLE001 - what it means is decided there
                step = fetch.throw(error)
            else:
                step = fetch.send(value)
        return step
    finally:
        fetch.close()
        if response is not None:
            _release(response, order.url)


def _release(response: AbstractWebClientSuccessResponse, url: str) -> None:
    try:
        call_newer(response, "close", AbstractWebClientSuccessResponse.close)
    except Exception as error:  # noqa: BLE001 - what came of it is there
        journal.not_closed(url, error)
