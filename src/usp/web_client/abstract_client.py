"""The interface between the crawl and HTTP.

A client of your own subclasses :class:`AbstractWebClient`; its ``get`` returns a subclass of
:class:`AbstractWebClientSuccessResponse` or a :class:`WebClientErrorResponse`. It gets one request at
a time, in the thread that called the library, unless it sets a higher
:attr:`AbstractWebClient.max_concurrent_requests`.
"""

from __future__ import annotations

import abc
from http import HTTPStatus
from typing import TYPE_CHECKING

from usp._base.display import excerpt
from usp._base.names import lazy_getattr
from usp._base.reason import Reason, Topic, advised
from usp.objects.failure_codes import FailureCode

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from usp._http.identity import RequestWaiter as RequestWaiter  # noqa: PLC0414 - has a clock
    from usp.limits import Limits
    from usp.objects.exchange import Exchange, Hop
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "RETRYABLE_HTTP_STATUS_CODES",
    "AbstractAsyncWebClient",
    "AbstractAsyncWebClientSuccessResponse",
    "AbstractWebClient",
    "AbstractWebClientResponse",
    "AbstractWebClientSuccessResponse",
    "BrokenBody",
    "LocalWebClient",
    "LocalWebClientSuccessResponse",
    "NoWebClientException",
    "RequestWaiter",
    "ResponseFacts",
    "WebClientErrorResponse",
]

RETRYABLE_HTTP_STATUS_CODES = {
    400, 408, 429, 499, 500, 502, 503, 504, 509, *range(520, 528), 530, 598
}  # fmt: skip
"""Statuses that may be different when the request is repeated; programs may change the set."""


class AbstractWebClientResponse(abc.ABC):  # noqa: B024 - a common name for both kinds of responses
    """A response, or the lack of one."""


class ResponseFacts(AbstractWebClientResponse):
    """A 2xx response without its body."""

    @abc.abstractmethod
    def status_code(self) -> int:
        """Return the status, such as 200."""

    @abc.abstractmethod
    def header(self, case_insensitive_name: str) -> str | None:
        """Return the value of a header, or None."""

    @abc.abstractmethod
    def url(self) -> str:
        """Return the URL of the response, after redirects."""

    def redirects(self) -> tuple[str, ...]:
        """Return the URLs that redirected here, first to last."""
        return ()

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return all headers, if the client has them."""
        return ()

    def hops(self) -> tuple[Hop, ...]:
        """Return the requests that led here, the last one included, where the client knows them."""
        return ()


class AbstractWebClientSuccessResponse(ResponseFacts):
    """A 2xx response."""

    @abc.abstractmethod
    def status_message(self) -> str:
        """Return the reason phrase, such as ``OK``."""

    @abc.abstractmethod
    def raw_data(self) -> bytes:
        """Return the body, without the compression of HTTP."""

    def body(self) -> Iterator[bytes]:
        """Yield the body in chunks, as they arrive.

        A client that can stream overrides this; it may leave gzip and deflate compressed, and raises
        :class:`BrokenBody` if the body ends too early.
        """
        yield self.raw_data()

    def close(self) -> None:
        """Let go of the connection; the body will not be read any further."""


class AbstractAsyncWebClientSuccessResponse(ResponseFacts):
    """A 2xx response of an asynchronous client."""

    @abc.abstractmethod
    def body(self) -> AsyncIterator[bytes]:
        """Yield the body in chunks, as they arrive; raises :class:`BrokenBody` if it ends too early."""

    async def close(self) -> None:
        """Let go of the connection; the body will not be read any further."""


class BrokenBody(Exception):  # noqa: N818 - says what happened, as the other names here do
    """A body that ended before it was complete; the message says why."""

    def __init__(self, reason: Reason | str = "") -> None:
        super().__init__(str(reason))
        cut_off = FailureCode.BODY_CUT_OFF
        self.reason = (
            Reason(cut_off, reason or cut_off.message) if isinstance(reason, str) else reason
        )


class WebClientErrorResponse(AbstractWebClientResponse):
    """An error status, or no response at all."""

    status: int | None = None
    """The HTTP status, if there was a response."""

    retry_after: float | None = None
    """How many seconds the server asks to wait before trying again."""

    unreachable: bool = False
    """Whether the host cannot be connected to, so that other requests to it would fail, too."""

    silent: bool = False
    """Whether the host may exist, but did not respond in time."""

    blocked: bool = False
    """Whether the server seems to block robots."""

    shortage: int | None = None
    """The errno if this machine ran out of something, and the request was never sent."""

    exchange: Exchange | None = None
    """What is known about the request and its response, if there was one."""

    def __init__(
        self,
        message: str | Reason,
        retryable: bool,
        *,
        status: int | None = None,
        retry_after: float | None = None,
        unreachable: bool = False,
        silent: bool = False,
        blocked: bool = False,
        shortage: int | None = None,
        exchange: Exchange | None = None,
    ) -> None:
        super().__init__()
        self._message = excerpt(str(message))
        self._reason = message if isinstance(message, Reason) else None
        self._retryable = retryable
        self.status = status
        self.retry_after = retry_after
        self.unreachable = unreachable
        self.silent = silent
        self.blocked = blocked
        self.shortage = shortage
        self.exchange = exchange

    def message(self) -> str:
        """Return what went wrong."""
        return self._message

    def retryable(self) -> bool:
        """Return whether the same request may succeed later."""
        return self._retryable


def failure_reason(error: WebClientErrorResponse) -> Reason:
    """Return why a request failed; if the client gives no code, by the status."""
    known: Reason | None = getattr(error, "_reason", None)  # a subclass may not call __init__
    if known is not None:
        return known
    status = status_of(error)
    code = FailureCode.CLIENT_ERROR if status is None else FailureCode.of_status(status)
    if error.blocked:
        blocked = FailureCode.BLOCKED
        return advised(blocked, f"{error.message()}: {blocked.message}", Topic.BE_GENTLE)
    return Reason(code, error.message())


def words_of(error: WebClientErrorResponse) -> str:
    """Return what went wrong, for people: without what the libraries of a client say about it."""
    known: Reason | None = getattr(error, "_reason", None)
    return error.message() if known is None else excerpt(str(known))


def status_of(error: WebClientErrorResponse) -> int | None:
    """Return the HTTP status of an error; if the client does not set it, from the message."""
    if error.status is not None:
        return error.status
    code = error.message().partition(" ")[0]
    return int(code) if len(code) == _CODE and code.isascii() and code.isdigit() else None


_CODE = 3  # digits


class AbstractWebClient(abc.ABC):
    """Fetches documents for a crawl."""

    max_concurrent_requests: int = 1
    """How many requests to one host the client may have at a time.

    With 1, ``get`` is called in the caller's thread; a higher value allows ``get`` to be called from
    several threads at once.
    """

    @abc.abstractmethod
    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        """Limit how many bytes of a body are read; None lifts the limit."""

    @abc.abstractmethod
    def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL, following redirects; connection errors are returned, not raised."""

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractWebClient:  # noqa: ARG002
        """Return the client for one crawl, which begins at ``start_url``: this one, or a new one.

        A crawl calls it before its first request, and closes the client at the end if it is a new one.
        """
        return self

    def close(self) -> None:  # noqa: B027 - most clients hold nothing
        """Let go of what the client holds."""


class AbstractAsyncWebClient(abc.ABC):
    """Fetches documents for a crawl on asyncio, any number at a time."""

    max_concurrent_requests: int = 8
    """How many requests to one host the client may have at a time."""

    @abc.abstractmethod
    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        """Limit how many bytes of a body are read; None lifts the limit."""

    @abc.abstractmethod
    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL, following redirects; connection errors are returned, not raised."""

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractAsyncWebClient:  # noqa: ARG002
        """Return the client for one crawl; see :meth:`AbstractWebClient.for_crawl`."""
        return self

    async def close(self) -> None:  # noqa: B027 - most clients hold nothing
        """Let go of what the client holds."""


class NoWebClientException(Exception):  # noqa: N818 - the name existing programs catch
    """A client without network access was asked to fetch something."""


class LocalWebClient(AbstractWebClient):
    """A client without network access: for documents that need not be fetched."""

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        """Do nothing: there are no responses."""

    def get(self, url: str) -> AbstractWebClientResponse:
        """Raise :class:`NoWebClientException`."""
        raise NoWebClientException(f"{url} was not fetched: this client has no network")


class LocalWebClientSuccessResponse(AbstractWebClientSuccessResponse):
    """A given document in the form of a response."""

    def __init__(self, url: str, data: str) -> None:
        self._url = url
        self._data = data

    def status_code(self) -> int:
        """Return 200."""
        return int(HTTPStatus.OK)

    def status_message(self) -> str:
        """Return ``OK``."""
        return HTTPStatus.OK.phrase

    def header(self, case_insensitive_name: str) -> str | None:  # noqa: ARG002 - no headers
        """Return None: there are no headers."""
        return None

    def raw_data(self) -> bytes:
        """Return the document in UTF-8."""
        return self._data.encode("utf-8", "surrogatepass")

    def url(self) -> str:
        """Return the URL that was given for the document."""
        return self._url
