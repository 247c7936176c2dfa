"""The asynchronous HTTP client, on ``aiohttp`` (``pip install 'usp[async]'``)."""

from __future__ import annotations

import asyncio
import copy
import time
from typing import TYPE_CHECKING, Any

import aiohttp
import yarl

from usp._base.shortage import shortage_of
from usp._base.urls import BadUrl, HttpUrl, Login, read_url, without_login
from usp._http import aiohttp_sessions
from usp._http.cookies import HopCookies
from usp._http.encodings import BodyDecoder
from usp._http.failures import reason_of, redacted, secrets_of_proxies, turns_robots_away
from usp._http.identity import (
    DEFAULT_CONCURRENCY,
    DEFAULT_TIMEOUT,
    Identity,
    deadline_of,
    retry_after,
)
from usp._http.redirects import REDIRECTS, BadRedirect, follow
from usp.limits import Limits
from usp.web_client.abstract_client import (
    RETRYABLE_HTTP_STATUS_CODES,
    AbstractAsyncWebClient,
    AbstractAsyncWebClientSuccessResponse,
    AbstractWebClientResponse,
    BrokenBody,
    WebClientErrorResponse,
)
from usp.web_client.zones import Gate, Refused, Zones

if TYPE_CHECKING:
    import ssl
    from collections.abc import AsyncIterator, Mapping

_LONGEST_REASON = 200
_OUTSIDE_A_CRAWL = Limits(document_seconds=None)
_ERRORS = (TimeoutError, aiohttp.ClientError, OSError, ValueError)


class AiohttpWebClientSuccessResponse(AbstractAsyncWebClientSuccessResponse):
    """A 2xx answer; its body is received while it is read, gzip and deflate left packed."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        limit: int | None,
        history: tuple[str, ...] = (),
        *,
        deadline: tuple[float, str] | None = None,
        patience: float | None = None,
        url: str | None = None,
    ) -> None:
        self._response = response
        self._url = without_login(str(response.url)) if url is None else url
        self._limit = limit
        self._history = history
        self._deadline = deadline
        self._patience = patience

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
        return self._url

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes; stops at the limit."""
        room = self._limit
        decoder = BodyDecoder(self.header("Content-Encoding"))
        data: bytes | None = b""
        try:
            while data is not None:
                data = await self._piece() or None
                for piece in decoder.close() if data is None else decoder.feed(data):
                    if room is not None and len(piece) > room:
                        yield piece[:room]
                        raise BrokenBody(
                            f"more than {self._limit} bytes; the rest was not received"
                        )
                    if room is not None:
                        room -= len(piece)
                    yield piece
                    self._check_time()
                self._check_time()
        except _ERRORS as error:
            self._check_time()
            reason = reason_of(error, self.url(), self._patience, in_body=True)
            raise BrokenBody(reason) from error

    async def _piece(self) -> bytes:
        """Wait for the next piece ourselves: after a chunk that is none, aiohttp may wait for ever."""
        async with asyncio.timeout(self._patience):
            return await self._response.content.readany()

    def _check_time(self) -> None:
        if self._deadline is not None and time.monotonic() >= self._deadline[0]:
            raise BrokenBody(self._deadline[1])

    async def close(self) -> None:
        """Let go of the connection."""
        self._response.close()


def _authorization(auth: aiohttp.BasicAuth | tuple[str, str]) -> str:
    if isinstance(auth, aiohttp.BasicAuth):
        return auth.encode()
    user, password = auth
    return Login(user.encode(), password.encode()).header()


class AiohttpWebClient(AbstractAsyncWebClient):
    """Fetches with ``aiohttp``.

    ``verify`` is False for certificates that are not to be checked, or the file or folder of the
    authorities to trust. A ``session`` of your own must not unpack bodies by itself
    (``auto_decompress=False``). ``auth`` and secret ``headers`` are sent to the host that is asked
    first, and to no other; so are the secrets of a session. ``zones`` say where the client may
    connect to, beside public addresses and the network in which it begins.
    """

    def __init__(
        self,
        *,
        verify: bool | str | ssl.SSLContext = True,
        user_agent: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: aiohttp.BasicAuth | tuple[str, str] | None = None,
        proxy: str | None = None,
        timeout: tuple[float, float] = DEFAULT_TIMEOUT,
        session: aiohttp.ClientSession | None = None,
        max_concurrent_requests: int = DEFAULT_CONCURRENCY,
        zones: Zones | None = None,
    ) -> None:
        self._verify = verify
        self._identity = Identity(user_agent, headers)
        self._auth = auth
        self._proxy = proxy
        connect, read = timeout
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect, sock_read=read)
        self._session = session
        self._own_session = session is None
        self._guest: aiohttp.ClientSession | None = None
        self._limit: int | None = None
        self._limits = _OUTSIDE_A_CRAWL
        self._began: float | None = None  # the crawl
        self._zones = zones
        self._gate = Gate(zones)
        self.max_concurrent_requests = max_concurrent_requests

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractAsyncWebClient:
        """Give a client for one crawl: with connections of its own, unless the session is yours."""
        if "_session" not in vars(self):
            return self  # a subclass that has nothing of ours
        client = copy.copy(self)
        vars(client).update(
            _identity=self._identity.at(start_url),
            _gate=Gate(self._zones, start_url),
            _limits=limits,
            _began=time.monotonic(),
            _session=None if self._own_session else self._session,
            _guest=None,
        )
        return client

    @property
    def is_ours(self) -> bool:
        """Whether nothing of the caller's is asked: then an exception is a mistake of ours."""
        return type(self) is AiohttpWebClient and self._own_session

    def __getstate__(self) -> dict[str, Any]:
        """Return everything but connections of ours, which a copy makes for itself."""
        state = dict(vars(self))
        state.pop("_gate", None)
        if state.get("_own_session"):
            state |= {"_session": None, "_guest": None}
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        if "_zones" in state:
            self._gate = Gate(self._zones)

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        """Limit how many bytes of a body are received."""
        self._limit = max_response_data_length

    async def close(self) -> None:
        """Close the connections, unless the session is the caller's."""
        if self._guest is not None:
            await self._guest.close()
            self._guest = None
        if self._own_session and self._session is not None:
            await self._session.close()
            self._session = None

    def _headers(
        self, target: HttpUrl, session: aiohttp.ClientSession, cookies: HopCookies
    ) -> dict[str, str]:
        """Return the headers of one request."""
        named = not self._own_session and "User-Agent" in getattr(session, "headers", ())
        headers = self._identity.headers(target, names_itself=named)
        if self._auth is not None and self._identity.is_home(target):
            headers["Authorization"] = _authorization(self._auth)
        elif target.login is not None and getattr(session, "auth", None) is None:
            headers["Authorization"] = target.login.header()
        cookie = cookies.header(target)
        if cookie is not None:
            own = headers.get("Cookie")
            headers["Cookie"] = f"{own}; {cookie}" if own else cookie
        return headers

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL; the body is received when it is read."""
        try:
            start = read_url(url)
            self._gate.begin(url)
            return await self._follow(start)
        except BadUrl as error:
            return WebClientErrorResponse(str(error), retryable=False)

    async def _follow(self, start: HttpUrl) -> AbstractWebClientResponse:
        """Fetch a URL, and what it redirects to: each host is told only what it may know."""
        deadline = deadline_of(self._limits, self._began)
        history: list[str] = []
        target = start
        cookies = HopCookies()
        while True:
            try:
                response = await self._ask(target, cookies, deadline)
            except Refused as error:
                return WebClientErrorResponse(str(error), retryable=False)
            except _ERRORS as error:
                asked = target.site == start.site
                patience = (self._timeout.connect, self._timeout.sock_read)
                proxy = self._proxy or getattr(self._session, "_default_proxy", None)
                reason = redacted(
                    reason_of(error, target.text(), patience), secrets_of_proxies(proxy)
                )
                return _connection_error(error, reason, asked=asked, deadline=deadline)
            location = _location(response)
            if location is None:
                break
            response.release()
            history.append(target.text())
            if self._limits.redirects is not None and len(history) > self._limits.redirects:
                return WebClientErrorResponse(self._limits.reached("redirects"), retryable=False)
            try:
                target = follow(target, location, self._limits)
            except BadRedirect as error:
                return WebClientErrorResponse(str(error), retryable=False)
        if 200 <= response.status < 300:  # noqa: PLR2004
            return AiohttpWebClientSuccessResponse(
                response,
                self._limit,
                tuple(history),
                deadline=deadline,
                patience=self._timeout.sock_read,
                url=target.text(),
            )
        response.close()
        failure = WebClientErrorResponse(
            f"{response.status} {(response.reason or '')[:_LONGEST_REASON]}".strip(),
            retryable=response.status in RETRYABLE_HTTP_STATUS_CODES,
        )
        failure.status = response.status
        failure.retry_after = retry_after(response.headers.get("Retry-After"))
        failure.blocked = turns_robots_away(response.status, response.headers)
        return failure

    async def _ask(
        self, target: HttpUrl, cookies: HopCookies, deadline: tuple[float, str] | None
    ) -> aiohttp.ClientResponse:
        """Ask for one URL, without following where it leads."""
        session, url = self._session_for(target), target.text()
        proxied = self._proxy is not None or (
            not self._own_session and aiohttp_sessions.is_proxied(self._session, url)
        )
        addresses: list[str] = []
        if proxied:
            self._gate.admit_name(target.host)
        elif not self._own_session:
            addresses = await aiohttp_sessions.look_up(session, target, self._gate)
        timeout = self._timeout
        if deadline is not None:
            left = max(deadline[0] - time.monotonic(), 0.001)
            timeout = aiohttp.ClientTimeout(
                total=left, connect=timeout.connect, sock_read=timeout.sock_read
            )
        response: aiohttp.ClientResponse = await session.get(
            yarl.URL(url, encoded=True),
            headers=self._headers(target, session, cookies),
            proxy=self._proxy,
            timeout=timeout,
            allow_redirects=False,
        )
        aiohttp_sessions.check_head(response)
        if not proxied and not self._own_session:
            aiohttp_sessions.check_peer(response, target.host, self._gate, addresses)
        answers = aiohttp_sessions.set_cookies(response)
        if session is self._session and not self._own_session:
            aiohttp_sessions.bound_cookies(session, target, answers)
        else:
            cookies.take(target, answers)
        return response

    def _session_for(self, target: HttpUrl) -> Any:
        """Return the session that asks for a URL: a stranger is asked by one without secrets."""
        if self._session is None:
            # Made here, because it belongs to the loop that is running now.
            gate = self._gate if self._proxy is None else None
            self._session = aiohttp_sessions.own_session(gate, self._verify)
        if self._own_session or self._identity.is_home(target):
            return self._session
        if self._guest is None:
            self._guest = aiohttp_sessions.guest_session(self._session)
        return self._guest or self._session


def _location(response: aiohttp.ClientResponse) -> bytes | None:
    """Give where an answer leads, if it does."""
    location = response.headers.get("Location")
    if response.status not in REDIRECTS or not location:
        return None
    return location.encode("utf-8", "surrogateescape")  # as it came


def _connection_error(
    error: Exception, message: str, *, asked: bool, deadline: tuple[float, str] | None
) -> WebClientErrorResponse:
    """Sort out whether nobody is there, or somebody who may answer next time.

    ``asked`` is whether it is the host that was asked, and not one it redirected to.
    """
    if deadline is not None and time.monotonic() >= deadline[0]:
        failure = WebClientErrorResponse(deadline[1], retryable=False)
        failure.silent = asked
        return failure
    shortage = shortage_of(error)
    if shortage is not None:
        failure = WebClientErrorResponse(message, retryable=True)
        failure.shortage = shortage
        return failure
    connecting = isinstance(error, aiohttp.ClientConnectorError)
    aborted = not connecting and isinstance(
        error, aiohttp.ServerConnectionError | aiohttp.ClientOSError
    )
    nobody = isinstance(error, aiohttp.ConnectionTimeoutError) or (
        isinstance(error, aiohttp.ClientConnectorError)
        and not isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientProxyConnectionError)
    )
    silent = isinstance(error, asyncio.TimeoutError) and not nobody
    failure = WebClientErrorResponse(message, retryable=not nobody and (silent or aborted))
    failure.unreachable = nobody and asked
    failure.silent = silent and asked
    return failure
