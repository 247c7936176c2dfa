"""Fetches documents by the clients of users and ours. All HTTP of a crawl goes through here.

:func:`fetch` is the same for every driver: a coroutine. With a synchronous client it never waits, so
that :func:`fetch_document` can run it without an event loop.

A client needs ``get`` and ``set_max_response_data_length``, as in ultimate-sitemap-parser 1.8.1. Newer
methods are called only if its class defines them: a mock has every name, but no meaning for it.
"""

from __future__ import annotations

import inspect
import sys
import time
from collections.abc import Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

from usp._base.reason import Reason
from usp._base.urls import without_login
from usp._crawl import journal
from usp._crawl.orders import Failed, FetchOrder, NoNetwork, Received
from usp._crawl.receiver import BodyReceiver, FetchContext, call_newer, failure_from
from usp._crawl.stored_pages import StoredPages, result_of
from usp._formats.document import Role
from usp._formats.html import MAX_HEAD
from usp._http.identity import safe_headers
from usp._store import Store
from usp.objects.exchange import Exchange
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import (
    AbstractAsyncWebClient,
    AbstractAsyncWebClientSuccessResponse,
    AbstractWebClient,
    BrokenBody,
    NoWebClientException,
    WebClientErrorResponse,
    failure_reason,
    status_of,
)
from usp.web_client.abstract_client import AbstractWebClientSuccessResponse as _Response

if TYPE_CHECKING:
    from usp._crawl.asyncio_driver import Stepper
    from usp.limits import Limits
    from usp.options import CrawlOptions

T = TypeVar("T")


END: Any = object()
"""Marks the end of a body, or of other work."""


async def fetch(
    order: FetchOrder, context: FetchContext, stepper: Stepper | None = None
) -> Received | Failed:
    """Fetch a document, store it and read it as far as a crawl needs; every failure is a result.

    A ``stepper`` reads what an asynchronous client receives; without one, the client is synchronous.
    """
    client, started, response = context.client, time.monotonic(), None
    earlier = context.earlier
    result: Received | Failed | None
    if earlier and (result := earlier.recall(order)):
        return result
    try:
        response = client.get(order.address)
        if stepper is not None:
            response = await response
        checked = checked_response(response, awaited=stepper is not None)
        if isinstance(checked, WebClientErrorResponse):
            if earlier and (result := earlier.unchanged(order, _exchange(order, checked, started))):
                return result
            result = Failed(_without_secrets(order, checked))
        else:
            receiver = BodyReceiver(order, checked, context, started)
            result = await _receive(receiver, checked, client, stepper)
    except NoWebClientException:
        reason = Reason(FailureCode.NOT_FETCHED, "the client has no network access")
        return Failed(NoNetwork(reason, retryable=False))
    except Exception as error:  # noqa: BLE001 - a client's mistake must not end the crawl
        result = failure_from(error, client, order)
    finally:
        if isinstance(response, AbstractAsyncWebClientSuccessResponse):
            await response.close()
        elif stepper is None and response is not None:
            _close(response, order.url)
    if isinstance(result, Failed):
        result = replace(result, exchange=_exchange(order, result.error, started))
    return result


async def _receive(
    receiver: BodyReceiver, response: Any, client: object, stepper: Stepper | None
) -> Received | Failed:
    body: Any = None
    chunk: Any = None
    broken = None
    try:
        while receiver.wants_more:
            try:
                if stepper is None:
                    body = (
                        iter(call_newer(response, "body", _Response.body)) if body is None else body
                    )
                    chunk = next(body, END)
                else:
                    body = aiter(response.body()) if body is None else body
                    chunk = await anext(body, END)
                if chunk is END:
                    break
                if not isinstance(chunk, bytes | bytearray | memoryview):
                    name = type(chunk).__name__
                    raise TypeError(f"the body of a response must be bytes, not {name}")  # noqa: TRY301
            except BrokenBody as error:
                broken = error.reason
                break
            except Exception as error:  # noqa: BLE001 - a client's mistake must not end the crawl
                return receiver.fail(error, client)
            await _run(receiver.take(bytes(chunk)), stepper)
        return await _run(receiver.end(broken), stepper)
    except Exception as error:  # noqa: BLE001 - a mistake of ours must not end the crawl
        return receiver.fail(error)
    except BaseException as error:
        receiver.fail(error)
        raise
    finally:
        if chunk is not END and hasattr(body, "aclose"):  # a user's may be any iterator
            await body.aclose()


async def _run(steps: Generator[None, None, T], stepper: Stepper | None) -> T:
    return result_of(steps) if stepper is None else await stepper.run(steps)


def _close(response: Any, url: str) -> None:
    try:
        call_newer(response, "close", _Response.close)
    except Exception as error:  # noqa: BLE001 - what came of it is there
        journal.not_closed(url, error)


def _exchange(order: FetchOrder, error: WebClientErrorResponse, started: float) -> Exchange:
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
        earlier=order.earlier,
        started=datetime.now(UTC) - timedelta(seconds=seconds),
        seconds=seconds,
    )


def _without_secrets(order: FetchOrder, error: WebClientErrorResponse) -> WebClientErrorResponse:
    """Return the error of a client, without the login that was passed to it."""
    message = error.message()
    if order.without_secrets(message) == message:
        return error
    reason = failure_reason(error)
    hidden = replace(reason, text=order.without_secrets(reason.text))
    copy = WebClientErrorResponse(hidden, error.retryable())
    vars(copy).update(
        {name: value for name, value in vars(error).items() if not name.startswith("_")}
    )
    return copy


def fetch_document(order: FetchOrder, context: FetchContext) -> Received | Failed:
    """Return the result of an order, by a synchronous client."""
    return result_of(fetch(order, context))


# Clients --------------------------------------------------------------------------------------------


def prepared(client: T, start_url: str, limits: Limits, *, awaits: bool) -> T:
    """Return the client for one crawl, with the limit for the size of a response.

    Raises ``TypeError`` for an object that is not a web client, or is an asynchronous one unless the
    driver ``awaits``.
    """
    name, kinds = type(client).__name__, AbstractWebClient | AbstractAsyncWebClient
    if isinstance(client, type) and issubclass(client, kinds):
        raise TypeError(f"web_client must be a client, not a class; pass {client.__name__}()")
    if not isinstance(client, kinds) and not _has(client, "get", "set_max_response_data_length"):
        raise TypeError(
            "web_client must have the methods get and set_max_response_data_length, which "
            f"{name} does not; pass a session as RequestsWebClient(session=...)"
        )
    if not awaits and is_async(client):
        raise TypeError(f"{name} is asynchronous; use the functions of usp.aio with it")
    same, given = AbstractWebClient.for_crawl, (without_login(start_url), limits)
    made: Any = call_newer(client, "for_crawl", same, *given)
    most = limits.document_bytes
    # One byte more shows that the limit is exceeded.
    made.set_max_response_data_length(None if most is None else most + 1)
    return made  # type: ignore[no-any-return]


@contextmanager
def client_for(
    web_client: AbstractWebClient | None, start_url: str, options: CrawlOptions
) -> Iterator[AbstractWebClient]:
    """Yield the client for one crawl: ours, or the caller's."""
    if web_client is None:
        from usp.web_client.requests_client import RequestsWebClient  # noqa: PLC0415 - many need none

        # Where 1.8.1 had it, and programs replace it.
        names = vars(sys.modules.get("usp.fetch_parse", sys))
        web_client = names.get("RequestsWebClient", RequestsWebClient)()
    client = prepared(web_client, start_url, options.effective_limits, awaits=False)
    try:
        yield client
    finally:
        if client is not web_client:
            client.close()


def concurrency_of(client: object) -> int:
    """Return how many requests to one host a client allows at a time: one, unless it sets more."""
    most = getattr(client, "max_concurrent_requests", 1)
    return most if issubclass(type(most), int) and most > 1 else 1


def is_async(client: object) -> bool:
    """Return whether the ``get`` of a client must be awaited."""
    if isinstance(client, AbstractWebClient | AbstractAsyncWebClient):  # or a mock of one
        return isinstance(client, AbstractAsyncWebClient)
    return inspect.iscoroutinefunction(getattr(client, "get", None))


def checked_response(response: Any, *, awaited: bool) -> Any:
    """Return a response: a success of a client that is ``awaited`` or not, or an error.

    Raises ``TypeError`` for an object that is neither, and does not have the methods of either.
    """
    kind = AbstractAsyncWebClientSuccessResponse if awaited else _Response
    if isinstance(response, kind) or issubclass(type(response), WebClientErrorResponse):
        return response
    if isinstance(response, WebClientErrorResponse) or _has(response, "message", "retryable"):
        return WebClientErrorResponse(str(response.message()), bool(response.retryable()))
    if not awaited and _has(response, "url", "header", "raw_data"):
        return response
    raise TypeError(
        f"get() of the web client returned {type(response).__name__}; it must return an "
        "AbstractWebClientSuccessResponse or a WebClientErrorResponse"
    )


def _has(response: object, *names: str) -> bool:
    return all(callable(getattr(response, name, None)) for name in names)


# Pages themselves, a few of them --------------------------------------------------------------------

MOST_AT_ONCE = 4
_MAX_SECONDS = 60.0  # for one page


def fetch_pages(
    urls: Sequence[str],
    start_url: str,
    web_client: AbstractWebClient | None,
    options: CrawlOptions,
    pause: float = 0.0,
) -> Iterator[tuple[str, Received | Failed]]:
    """Yield the result of each page, in their order; only the beginning of a page is received.

    ``start_url`` is that of the website, which decides about network zones: what it lists must not.
    With a ``pause``, in seconds, they are requested one after another.
    """
    if not urls:
        return
    limits = options.effective_limits
    seconds = limits.document_seconds
    limits = replace(
        limits,
        document_bytes=MAX_HEAD,
        document_seconds=_MAX_SECONDS if seconds is None else min(seconds, _MAX_SECONDS),
    )
    options = replace(options, limits=limits)
    with client_for(web_client, start_url, options) as client:
        context = FetchContext(client, Store(), limits)

        def fetch_one(url: str) -> Received | Failed:
            return fetch_document(FetchOrder(url, Role.HOMEPAGE, attempt=1), context)

        if pause or concurrency_of(client) == 1:
            for number, url in enumerate(urls):
                if number:
                    time.sleep(pause)
                yield url, fetch_one(url)
            return
        pool = ThreadPoolExecutor(min(MOST_AT_ONCE, concurrency_of(client)), "usp-page")
        try:
            yield from zip(urls, pool.map(fetch_one, urls), strict=True)
        finally:
            pool.shutdown(cancel_futures=True)


def text_of(received: Received) -> str:
    """Return the text of a page, as far as it was received."""
    return StoredPages(received.document, None).text(MAX_HEAD)
