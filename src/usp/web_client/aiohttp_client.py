"""The asynchronous HTTP client, on ``aiohttp`` (``pip install 'usp[async]'``)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import aiohttp

from usp.web_client.abstract_client import (
    RETRYABLE_HTTP_STATUS_CODES,
    AbstractAsyncWebClient,
    AbstractAsyncWebClientSuccessResponse,
    AbstractWebClientResponse,
    BrokenBody,
    WebClientErrorResponse,
)
from usp.web_client.identity import (
    DEFAULT_CONCURRENCY,
    DEFAULT_TIMEOUT,
    Identity,
    host_of,
    message_of,
    retry_after,
)

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping

_MAX_REDIRECTS = 30


class AiohttpWebClientSuccessResponse(AbstractAsyncWebClientSuccessResponse):
    """A 2xx answer; its body is received while it is read, gzip and deflate left packed."""

    def __init__(self, response: aiohttp.ClientResponse, limit: int | None) -> None:
        self._response = response
        self._limit = limit

    def status_code(self) -> int:
        """Give the status."""
        return self._response.status

    def header(self, case_insensitive_name: str) -> str | None:
        """Give a header, or None."""
        return self._response.headers.get(case_insensitive_name)

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Give all headers."""
        return tuple(self._response.headers.items())

    def redirects(self) -> tuple[str, ...]:
        """Give the addresses that led here."""
        return tuple(str(response.url) for response in self._response.history)

    def url(self) -> str:
        """Give the address after redirects."""
        return str(self._response.url)

    async def body(self) -> AsyncIterator[bytes]:
        """Give the body as it comes; stops at the limit."""
        room = self._limit
        try:
            async for data in self._response.content.iter_any():
                if room is not None and len(data) > room:
                    yield data[:room]
                    raise BrokenBody(f"more than {self._limit} bytes; the rest was not received")
                if room is not None:
                    room -= len(data)
                yield data
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            raise BrokenBody(message_of(error)) from error

    async def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


class AiohttpWebClient(AbstractAsyncWebClient):
    """Fetches with ``aiohttp``.

    A ``session`` of your own must not unpack bodies by itself (``auto_decompress=False``). ``auth``
    and secret ``headers`` are sent to the host that is asked first, and to no other.
    """

    def __init__(
        self,
        *,
        verify: bool | ssl.SSLContext = True,
        user_agent: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: aiohttp.BasicAuth | None = None,
        proxy: str | None = None,
        timeout: tuple[float, float] = DEFAULT_TIMEOUT,
        session: aiohttp.ClientSession | None = None,
        max_concurrent_requests: int = DEFAULT_CONCURRENCY,
    ) -> None:
        self._verify = verify
        self._identity = Identity(user_agent, headers)
        self._auth = auth
        self._proxy = proxy
        connect, read = timeout
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect, sock_read=read)
        self._session = session
        self._own_session = session is None
        self._limit: int | None = None
        self.max_concurrent_requests = max_concurrent_requests

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        """Limit how many bytes of a body are received."""
        self._limit = max_response_data_length

    async def close(self) -> None:
        """Close the connections, unless the session is the caller's."""
        if self._own_session and self._session is not None:
            await self._session.close()
            self._session = None

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL; the body is received when it is read."""
        if self._session is None:
            # Made here, because it belongs to the loop that is running now.
            connector = aiohttp.TCPConnector(limit=0, ssl=self._verify)
            self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        try:
            response = await self._session.get(
                url,
                headers=self._identity.headers(url),
                auth=self._auth if self._identity.is_home(url) else None,
                proxy=self._proxy,
                timeout=self._timeout,
                max_redirects=_MAX_REDIRECTS,
            )
        except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
            return _connection_error(error, url)
        if 200 <= response.status < 300:  # noqa: PLR2004
            return AiohttpWebClientSuccessResponse(response, self._limit)
        response.close()
        failure = WebClientErrorResponse(
            f"{response.status} {response.reason or ''}".strip(),
            retryable=response.status in RETRYABLE_HTTP_STATUS_CODES,
        )
        failure.status = response.status
        failure.retry_after = retry_after(response.headers.get("Retry-After"))
        return failure


def _connection_error(error: Exception, url: str) -> WebClientErrorResponse:
    """Sort out whether nobody is there, or somebody who may answer next time."""
    message = message_of(error)
    if isinstance(error, aiohttp.ConnectionTimeoutError):
        failure = WebClientErrorResponse(message, retryable=False)
        failure.unreachable = True
        return failure
    if isinstance(error, aiohttp.ClientConnectorError):
        failure = WebClientErrorResponse(message, retryable=False)
        asked = host_of(url) or ""
        # A redirect may have led to another host: then nothing is said about the one asked.
        failure.unreachable = asked.rpartition("@")[2].split(":")[0].strip("[]") == error.host
        return failure
    if isinstance(error, asyncio.TimeoutError):
        failure = WebClientErrorResponse(message, retryable=True)
        failure.silent = True
        return failure
    aborted = isinstance(error, aiohttp.ServerConnectionError | aiohttp.ClientOSError)
    return WebClientErrorResponse(message, retryable=aborted)
