"""The asynchronous HTTP client, on ``aiohttp`` (extra ``async``)."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import aiohttp
import yarl

from usp._base.urls import HttpUrl, Login, without_login
from usp._http import aiohttp_sessions
from usp._http.flow import (
    Arrived,
    BodyReader,
    Conditions,
    Deadline,
    Flow,
    Head,
    Request,
    SessionFacts,
)
from usp._http.identity import (
    DEFAULT_TIMEOUT,
    OUR_NAME,
    RequestWaiter,
    Timeout,
    check_options,
    checked_timeout,
    proxies_of,
    proxy_of,
    secrets_of_proxies,
)
from usp.options import DEFAULT_CONCURRENCY
from usp.web_client.abstract_client import (
    AbstractAsyncWebClient,
    AbstractAsyncWebClientSuccessResponse,
    AbstractWebClientResponse,
    WebClientErrorResponse,
)
from usp.web_client.zones import Refused, Zones

if TYPE_CHECKING:
    import ssl

    from usp.limits import Limits
    from usp.objects.exchange import Hop

__all__ = ["AiohttpWebClient", "AiohttpWebClientSuccessResponse"]

_MAX_HOSTS = 1000  # whose proxies are remembered
_ERRORS = (TimeoutError, aiohttp.ClientError, OSError, ValueError)


class AiohttpWebClientSuccessResponse(AbstractAsyncWebClientSuccessResponse):
    """A 2xx response; its body is received on iteration, gzip and deflate stay compressed."""

    def __init__(
        self,
        response: aiohttp.ClientResponse,
        limit: int | None,
        way: Arrived | None = None,
        patience: float | None = None,
    ) -> None:
        self._response = response
        self._limit = limit
        if way is None:
            url = without_login(str(response.url))
            way = Arrived(url, url, (), None)
        self._way = way
        self._patience = patience

    def status_code(self) -> int:
        """Return the status."""
        return self._response.status

    def header(self, case_insensitive_name: str) -> str | None:
        """Return a header, or None."""
        return self._response.headers.get(case_insensitive_name)

    def headers(self) -> tuple[tuple[str, str], ...]:
        """Return all headers."""
        return tuple(self._response.headers.items())

    def redirects(self) -> tuple[str, ...]:
        """Return the URLs that redirected here."""
        return tuple(hop.url for hop in self._way.hops[:-1])

    def hops(self) -> tuple[Hop, ...]:
        """Return the requests that led here, including the last one."""
        return self._way.hops

    def url(self) -> str:
        """Return the URL after redirects."""
        return self._way.url

    async def body(self) -> AsyncIterator[bytes]:
        """Yield the body as it arrives; stops at the limit."""
        body = BodyReader(self.header("Content-Encoding"), self._limit, self._way.deadline)
        try:
            while data := await self._piece():
                for piece in body.feed(data):
                    yield piece
            for piece in body.close():
                yield piece
        except _ERRORS as error:
            raise body.failure(error, self.url(), self._patience) from error

    async def _piece(self) -> bytes:
        """Return the next piece in time; aiohttp may wait forever after a malformed chunk."""
        content = self._response.content
        data = content.read_nowait()  # for a small document, usually all of it
        if data or content.at_eof():
            return data
        async with asyncio.timeout(self._patience):
            return await content.readany()

    async def close(self) -> None:
        """Release the connection."""
        self._response.close()


def _authorization(auth: aiohttp.BasicAuth | tuple[str, str]) -> str:
    if isinstance(auth, aiohttp.BasicAuth):
        return auth.encode()
    user, password = auth
    return Login(user.encode(), password.encode()).header()


class AiohttpWebClient(AbstractAsyncWebClient):
    """Fetches with ``aiohttp``.

    The options are those of :class:`usp.RequestsWebClient`, which describes them. A ``session`` of
    your own must not decompress bodies by itself (``auto_decompress=False``).
    """

    def __init__(
        self,
        *,
        verify: bool | str | ssl.SSLContext = True,
        wait: float | None = None,
        random_wait: bool = False,
        session: aiohttp.ClientSession | None = None,
        user_agent: str | None = None,
        headers: Mapping[str, str] | None = None,
        auth: aiohttp.BasicAuth | tuple[str, str] | None = None,
        timeout: Timeout = DEFAULT_TIMEOUT,
        proxy: str | None = None,
        proxies: Mapping[str, str] | None = None,
        max_concurrent_requests: int | None = None,
        zones: Zones | None = None,
    ) -> None:
        check_options(wait, headers, max_concurrent_requests, zones)
        self._verify = verify
        self._flow = Flow(zones=zones, user_agent=user_agent, headers=headers)
        self._auth = auth
        self._waiter = RequestWaiter(wait, random_wait)
        self._proxies = proxies_of(proxy, proxies)
        self._proxies_of_hosts: dict[str, str | None] = {}
        self.set_timeout(timeout)
        self._session = session
        self._own_session = session is None
        self._guest: aiohttp.ClientSession | None = None  # for other hosts, if the session is yours
        self._limit: int | None = None
        default = 1 if wait else DEFAULT_CONCURRENCY
        self.max_concurrent_requests = max_concurrent_requests or default

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractAsyncWebClient:
        """Return a client for one crawl, with its own connections unless you passed a session."""
        if "_session" not in vars(self):
            return self  # a subclass that does not call our __init__
        client = copy.copy(self)
        vars(client).update(
            _flow=self._flow.for_crawl(start_url, limits),
            _session=None if self._own_session else self._session,
            _guest=None,
            _proxies_of_hosts={},
        )
        return client

    @property
    def is_ours(self) -> bool:
        """Whether no code of the caller is involved: then an exception is a bug of ours."""
        return type(self) is AiohttpWebClient and self._own_session

    def __getstate__(self) -> dict[str, Any]:
        """Return everything except our connections; a copy opens its own."""
        state = dict(vars(self))
        if "_flow" in state:  # else it is a subclass that does not call our __init__
            state["_flow"] = replace(self._flow)
        if state.get("_own_session"):
            state |= {"_session": None, "_guest": None}
        return state

    def set_timeout(self, timeout: Timeout) -> None:
        """Set the timeout in seconds: one number, or a pair for connecting and for reading, or None."""
        timeout = checked_timeout(timeout)
        connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
        self._timeout = aiohttp.ClientTimeout(total=None, connect=connect, sock_read=read)

    def set_proxies(self, proxies: Mapping[str, str]) -> None:
        """Set the proxies by scheme, as in ``requests``."""
        self._proxies = dict(proxies)
        self._proxies_of_hosts = {}

    def set_conditions(self, conditions: Conditions) -> None:
        """Set the headers that ask for a document only if it has changed."""
        self._flow.conditions = conditions

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

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL; the body is received when it is read."""
        if pause := self._waiter.pause():
            await asyncio.sleep(pause)
        exchange = self._flow.exchange(url, self._facts())
        response: aiohttp.ClientResponse | None = None
        step = next(exchange)
        while isinstance(step, Request):
            if response is not None:
                response.release()
            try:
                response, head = await self._ask(step)
            except (*_ERRORS, Refused) as error:
                response, step = None, exchange.throw(error)
            else:
                step = exchange.send(head)
        if isinstance(step, Arrived) and response is not None:
            return AiohttpWebClientSuccessResponse(
                response, self._limit, step, self._timeout.sock_read
            )
        assert isinstance(step, WebClientErrorResponse)
        if response is not None:
            response.close()
        return step

    async def _ask(self, request: Request) -> tuple[aiohttp.ClientResponse, Head]:
        """Send one request, without following redirects."""
        url, text = request.url, request.text
        proxy = self._proxy_for(url)
        session = self._session_for(request)
        proxied = proxy is not None or (
            not self._own_session and aiohttp_sessions.is_proxied(self._session, url)
        )
        addresses: list[str] | None = None
        if not proxied:
            own = self._own_session
            addresses = [] if own else await aiohttp_sessions.addresses_of(session, url)
        looked_up = self._flow.admit(url.host, addresses)
        headers = request.headers
        if self._auth is not None and request.is_home:
            headers = {**headers, "Authorization": _authorization(self._auth)}
        aiohttp_sessions.last_peer.set(None)
        response: aiohttp.ClientResponse = await session.get(
            yarl.URL(text, encoded=True),
            headers=headers,
            proxy=proxy,
            timeout=self._timeout_until(request.deadline),
            allow_redirects=False,
        )
        address = None
        if not proxied:
            address = aiohttp_sessions.last_peer.get() or aiohttp_sessions.peer_of(response)
        peer = None if self._own_session else address or looked_up
        cookies = aiohttp_sessions.set_cookies(response)
        if session is self._session and not self._own_session:
            aiohttp_sessions.bound_cookies(session, url, cookies)
            cookies = []
        location = response.headers.get("Location")
        # Our own connections decode headers as Latin-1, those of aiohttp as UTF-8.
        how = ("latin-1", "strict") if self._own_session else ("utf-8", "surrogateescape")
        as_it_came = location.encode(*how) if location else None
        reason = response.reason or ""
        return response, Head(
            response.status, reason, response.headers, as_it_came, cookies, peer, address=address
        )

    def _proxy_for(self, url: HttpUrl) -> str | None:
        """Return the proxy for a URL; with a session of our own, also one of the environment.

        It is cached: looking into the environment takes longer than a small response.
        """
        if not self._own_session:
            return proxy_of(url, self._proxies, environment=False)
        if url.origin not in self._proxies_of_hosts:
            if len(self._proxies_of_hosts) >= _MAX_HOSTS:
                self._proxies_of_hosts.clear()
            self._proxies_of_hosts[url.origin] = proxy_of(url, self._proxies)
        return self._proxies_of_hosts[url.origin]

    def _timeout_until(self, deadline: Deadline | None) -> aiohttp.ClientTimeout:
        """Return the timeout of a request."""
        if deadline is None:
            return self._timeout
        connect, read = self._timeout.connect, self._timeout.sock_read
        return aiohttp.ClientTimeout(deadline.left, connect=connect, sock_read=read)

    def _facts(self) -> SessionFacts:
        """Return what the flow needs to know about the session."""
        session, timeout = self._session, self._timeout
        names_itself = not self._own_session and "User-Agent" in getattr(session, "headers", ())
        return SessionFacts(
            user_agent=None if names_itself else OUR_NAME,
            has_login=self._auth is not None or getattr(session, "auth", None) is not None,
            timeout=(timeout.connect, timeout.sock_read),
            secrets=self._secrets,
        )

    def _secrets(self) -> set[str]:
        """Return what must not appear in a message."""
        own = getattr(self._session, "_default_proxy", None)
        return secrets_of_proxies(*self._proxies.values(), own)

    def _session_for(self, request: Request) -> Any:
        """Return the session for a request; one without secrets for hosts other than the first.

        Our own session is created here because it belongs to the event loop that is running now.
        """
        if self._session is None:
            self._session = aiohttp_sessions.own_session(self._flow.gate, self._verify)
        if self._own_session or request.is_home:
            return self._session
        if self._guest is None:
            self._guest = aiohttp_sessions.guest_session(self._session)
        return self._guest or self._session
