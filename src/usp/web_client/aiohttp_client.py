"""The asynchronous HTTP client, on ``aiohttp`` (``pip install 'usp[async]'``)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import urljoin

import aiohttp
import yarl
from requests.utils import requote_uri
from urllib3.util import parse_url

from usp.helpers import is_http_url
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
_REDIRECTS = frozenset({301, 302, 303, 307, 308})


class AiohttpWebClientSuccessResponse(AbstractAsyncWebClientSuccessResponse):
    """A 2xx answer; its body is received while it is read, gzip and deflate left packed."""

    def __init__(
        self, response: aiohttp.ClientResponse, limit: int | None, history: tuple[str, ...] = ()
    ) -> None:
        self._response = response
        self._limit = limit
        self._history = history

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
        return self._history

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

    def _headers(self, url: str, session: aiohttp.ClientSession) -> dict[str, str]:
        named = not self._own_session and "User-Agent" in getattr(session, "headers", ())
        headers = self._identity.headers(url, names_itself=named)
        if self._auth is not None and self._identity.is_home(url):
            headers["Authorization"] = self._auth.encode()
        return headers

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL; the body is received when it is read."""
        if self._session is None:
            # Made here, because it belongs to the loop that is running now.
            connector = aiohttp.TCPConnector(limit=0, ssl=self._verify)
            self._session = aiohttp.ClientSession(connector=connector, auto_decompress=False)
        session = self._session
        history: list[str] = []
        address = url
        while True:
            # Redirects are followed here: each host is told only what it may know.
            try:
                response = await session.get(
                    _as_requests_writes_it(address),
                    headers=self._headers(address, session),
                    proxy=self._proxy,
                    timeout=self._timeout,
                    allow_redirects=False,
                )
            except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
                return _connection_error(error, asked=host_of(address) == host_of(url))
            target = _redirect(response)
            if target is None:
                break
            response.release()
            history.append(address)
            if len(history) > _MAX_REDIRECTS:
                return WebClientErrorResponse(
                    f"more than {_MAX_REDIRECTS} redirects", retryable=False
                )
            if not is_http_url(target):
                message = f"redirected to {target}, which is no HTTP URL"
                return WebClientErrorResponse(message, retryable=False)
            address = target
        if 200 <= response.status < 300:  # noqa: PLR2004
            return AiohttpWebClientSuccessResponse(response, self._limit, tuple(history))
        response.close()
        failure = WebClientErrorResponse(
            f"{response.status} {response.reason or ''}".strip(),
            retryable=response.status in RETRYABLE_HTTP_STATUS_CODES,
        )
        failure.status = response.status
        failure.retry_after = retry_after(response.headers.get("Retry-After"))
        return failure


def _as_requests_writes_it(url: str) -> yarl.URL:
    """Give a URL as the synchronous client asks for it: the same sitemap has the same address."""
    return yarl.URL(parse_url(requote_uri(url)).url, encoded=True)


def _redirect(response: aiohttp.ClientResponse) -> str | None:
    """Give the address that an answer redirects to, if it does."""
    location = response.headers.get("Location")
    if response.status not in _REDIRECTS or location is None:
        return None
    try:
        return urljoin(str(response.url), location)
    except ValueError:
        return location


def _connection_error(error: Exception, *, asked: bool) -> WebClientErrorResponse:
    """Sort out whether nobody is there, or somebody who may answer next time.

    ``asked`` is whether it is the host that was asked, and not one it redirected to.
    """
    connecting = isinstance(error, aiohttp.ClientConnectorError)
    aborted = not connecting and isinstance(
        error, aiohttp.ServerConnectionError | aiohttp.ClientOSError
    )
    nobody = isinstance(error, aiohttp.ConnectionTimeoutError) or (
        isinstance(error, aiohttp.ClientConnectorError)
        and not isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientProxyConnectionError)
    )
    silent = isinstance(error, asyncio.TimeoutError) and not nobody
    failure = WebClientErrorResponse(
        message_of(error), retryable=not nobody and (silent or aborted)
    )
    failure.unreachable = nobody and asked
    failure.silent = silent and asked
    return failure
