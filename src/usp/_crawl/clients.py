"""What a crawl asks of a web client, whatever that is: a subclass of ours, or anything with ``get``.

A client needs ``get`` and ``set_max_response_data_length``, as in ultimate-sitemap-parser 1.8.1. What
has come later is asked of classes that really have it: a mock has every name, and means nothing by it.
"""

from __future__ import annotations

import inspect
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from usp._base.reason import Reason
from usp._base.shortage import shortage_of
from usp._crawl.values import ClientMistake, Failed
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import (
    AbstractAsyncWebClient,
    AbstractWebClient,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
    failure_reason,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from usp._crawl.values import Fetch
    from usp.limits import Limits

T = TypeVar("T")
R = TypeVar("R")


def for_crawl(client: T, start_url: str, limits: Limits) -> T:
    """Return the client of one crawl: the same, or one that it makes for that."""
    method = getattr(type(client), "for_crawl", None)
    return method(client, start_url, limits) if inspect.isfunction(method) else client


def prepared(client: T, start_url: str, limits: Limits) -> T:
    """Return the client of one crawl, told how much it may receive."""
    client = for_crawl(client, start_url, limits)
    most = limits.document_bytes
    # One byte more, and the limit is passed.
    client.set_max_response_data_length(None if most is None else most + 1)  # type: ignore[attr-defined]
    return client


def concurrency_of(client: object) -> int:
    """Return how many requests to one host a client takes at a time: one, unless it says more."""
    most = getattr(client, "max_concurrent_requests", 1)
    return most if issubclass(type(most), int) and most > 1 else 1


def is_async(client: object) -> bool:
    """Return whether ``get`` of a client must be awaited."""
    if isinstance(client, AbstractWebClient | AbstractAsyncWebClient):  # or a mock of one
        return isinstance(client, AbstractAsyncWebClient)
    return inspect.iscoroutinefunction(getattr(client, "get", None))


def checked_response(response: Any, kind: Any) -> Any:
    """Return a response as what it is: a success of this ``kind``, or an error.

    Raises ``TypeError`` for what is neither, and has not the methods of either.
    """
    if issubclass(type(response), WebClientErrorResponse) or isinstance(response, kind):
        return response
    if isinstance(response, WebClientErrorResponse) or _has(response, "message", "retryable"):
        return WebClientErrorResponse(str(response.message()), bool(response.retryable()))
    if kind is AbstractWebClientSuccessResponse and _has(response, "url", "header", "raw_data"):
        return response
    raise TypeError(
        f"get() of the web client returned {type(response).__name__}; it must return an "
        "AbstractWebClientSuccessResponse or a WebClientErrorResponse"
    )


def _has(response: object, *names: str) -> bool:
    return all(callable(getattr(response, name, None)) for name in names)


def call_newer(response: T, name: str, default: Callable[[T], R]) -> R:
    """Call a method that responses have not always had, or else the default.

    A response class of a user's own may have something else under that name.
    """
    method = getattr(type(response), name, None)
    return (method if inspect.isfunction(method) else default)(response)


def mistake(error: BaseException, client: object = None, order: Fetch | None = None) -> Failed:
    """Return the failure of a ``client`` that raised what it should not; without one it is ours.

    The exception of a client that is not ours is kept: its author may have to see it. Neither the
    message nor the exception holds the login of the order.
    """
    if order is not None and order.login is not None:
        error.args = tuple(
            order.without_secrets(text) if isinstance(text, str) else text for text in error.args
        )
    shortage = shortage_of(error)
    message = f"{type(error).__name__}: {error}"
    if order is not None:
        message = order.without_secrets(message)
    code = blamed(client)
    if code is FailureCode.CLIENT_ERROR and shortage is None and isinstance(error, Exception):
        return Failed(ClientMistake(error, message, secret=order is not None and bool(order.login)))
    return Failed(WebClientErrorResponse(Reason(code, message), retryable=False, shortage=shortage))


def blamed(client: object) -> FailureCode:
    """Return whose mistake an exception is: a client's that is not ours, or ours."""
    foreign = client is not None and not getattr(client, "is_ours", False)
    return FailureCode.CLIENT_ERROR if foreign else FailureCode.INTERNAL_ERROR


def without_secrets(order: Fetch, error: WebClientErrorResponse) -> WebClientErrorResponse:
    """Return the error of a client, without the login that it was given."""
    message = error.message()
    safe = order.without_secrets(message)
    if safe == message:
        return error
    reason = failure_reason(error)
    hidden = replace(reason, text=order.without_secrets(reason.text))
    copy = WebClientErrorResponse(hidden, error.retryable())
    vars(copy).update(
        {name: value for name, value in vars(error).items() if not name.startswith("_")}
    )
    return copy
