"""The asynchronous HTTP client, on ``aiohttp`` (extra ``async``)."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING, Any

import aiohttp
import yarl

from usp._base.urls import Login, without_login
from usp._http import aiohttp_sessions, flow, identity
from usp._http.flow import Arrived, BodyReader, Deadline, Flow, FlowClient, ReceivedFacts
from usp._http.identity import DEFAULT_TIMEOUT, OUR_NAME, RequestWaiter, Timeout
from usp.options import DEFAULT_CONCURRENCY
from usp.web_client.abstract_client import (
    AbstractAsyncWebClient,
    AbstractAsyncWebClientSuccessResponse,
    AbstractWebClientResponse,
)

if TYPE_CHECKING:
    import ssl

    from usp.limits import Limits
    from usp.web_client.zones import Zones

__all__ = ["AiohttpWebClient", "AiohttpWebClientSuccessResponse"]

_ERRORS = (TimeoutError, aiohttp.ClientError, OSError, ValueError)


class AiohttpWebClientSuccessResponse(ReceivedFacts, AbstractAsyncWebClientSuccessResponse):
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
        self._way = way or Arrived((without_login(str(response.url)),))
        self._patience = patience

    def status_code(self) -> int:
        """Return the status."""
        return int(self._response.status)

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
        content: aiohttp.StreamReader = self._response.content
        data = content.read_nowait()  # for a small document, usually all of it
        if data or content.at_eof():
            return data
        if (error := getattr(content, "error", None)) is not None:
            raise error
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


class AiohttpWebClient(FlowClient, AbstractAsyncWebClient):
    """Fetches with ``aiohttp``.

    The options are those of :class:`usp.RequestsWebClient`, which describes them. A ``session`` of
    your own must not decompress bodies by itself (``auto_decompress=False``).
    """

    _errors = _ERRORS

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
        identity.check_options(wait, headers, max_concurrent_requests, zones)
        self._verify = verify
        self._flow = Flow(zones=zones, user_agent=user_agent, headers=headers)
        self._auth = auth
        self._waiter = RequestWaiter(wait, random_wait)
        self._proxies = identity.proxies_of(proxy, proxies)
        self.set_timeout(timeout)
        self._given = session
        # Our own session, or what takes the place of a given one at other hosts.
        self._own: aiohttp.ClientSession | None = None
        default = 1 if wait else DEFAULT_CONCURRENCY
        self.max_concurrent_requests = max_concurrent_requests or default

    def for_crawl(self, start_url: str, limits: Limits) -> AbstractAsyncWebClient:
        """Return a client for one crawl, with its own connections unless you passed a session."""
        if "_flow" not in vars(self):
            return self  # a subclass that does not call our __init__
        client = copy.copy(self)
        vars(client)["_flow"] = self._flow.for_crawl(start_url, limits)
        return client

    @property
    def is_ours(self) -> bool:
        """Whether no code of the caller is involved: then an exception is a bug of ours."""
        return type(self) is AiohttpWebClient and self._given is None

    async def close(self) -> None:
        """Close the connections, unless the session is the caller's."""
        if self._own is not None:
            await self._own.close()
            self._own = None

    async def get(self, url: str) -> AbstractWebClientResponse:
        """Fetch a URL; the body is received when it is read."""
        if pause := self._waiter.pause():
            await asyncio.sleep(pause)
        response, outcome = await self._fetch(url)
        if isinstance(outcome, Arrived):
            timeout = self._timeout
            patience = timeout[1] if isinstance(timeout, tuple) else timeout
            return AiohttpWebClientSuccessResponse(response, self._limit, outcome, patience)
        if response is not None:
            response.close()
        return outcome

    def _leave(self, response: Any) -> None:
        response.release()

    async def _ask(self, request: flow.Request) -> tuple[aiohttp.ClientResponse, flow.Head]:
        url, is_own = request.url, self._given is None
        session = self._session_for(request)
        if is_own:  # also one of the environment
            proxy = session.connector.proxy_of(url.origin, tuple(self._proxies.items()))
        else:
            proxy = identity.proxy_of(url, self._proxies, environment=False)
        proxied = proxy is not None or aiohttp_sessions.is_proxied(self._given, url)
        addresses: list[str] | None = None
        if not proxied:
            addresses = [] if is_own else await aiohttp_sessions.addresses_of(session, url)
        looked_up = self._flow.admit(url.host, addresses)
        headers = request.headers
        if self._auth is not None and request.is_home:
            headers = {**headers, "Authorization": _authorization(self._auth)}
        aiohttp_sessions.last_peer.set(None)
        response: aiohttp.ClientResponse = await session.get(
            yarl.URL(request.text, encoded=True),
            headers=headers,
            proxy=proxy,
            timeout=self._timeout_until(request.deadline),
            allow_redirects=False,
        )
        address = None
        if not proxied:
            address = aiohttp_sessions.last_peer.get() or aiohttp_sessions.peer_of(response)
        peer = None if is_own else address or looked_up
        cookies = aiohttp_sessions.set_cookies(response)
        if session is self._given:
            aiohttp_sessions.bound_cookies(session, url, cookies)
            cookies = []
        reason = response.reason or ""
        return response, flow.Head(
            response.status, reason, response.headers, cookies, peer, address=address
        )

    def _timeout_until(self, deadline: Deadline | None) -> aiohttp.ClientTimeout:
        timeout, total = self._timeout, None if deadline is None else deadline.left
        connect, read = timeout if isinstance(timeout, tuple) else (timeout, timeout)
        return aiohttp.ClientTimeout(total, connect=connect, sock_read=read)

    def _facts(self) -> flow.SessionFacts:
        given = self._given
        proxies = *self._proxies.values(), getattr(given, "_default_proxy", None)
        return flow.SessionFacts(
            user_agent=None if "User-Agent" in getattr(given, "headers", ()) else OUR_NAME,
            has_login=self._auth is not None or getattr(given, "auth", None) is not None,
            timeout=self._timeout,
            secrets=lambda: identity.secrets_of_proxies(*proxies),
        )

    def _session_for(self, request: flow.Request) -> Any:
        """Return the session for a request; one without secrets for hosts other than the first.

        Our own session is created here because it belongs to the event loop that is running now.
        """
        if self._given is not None and request.is_home:
            return self._given
        if self._own is None and self._given is not None:
            self._own = aiohttp_sessions.guest_session(self._given)
        elif self._own is None:
            self._own = aiohttp_sessions.new_session(self._flow.gate, self._verify)
        return self._own or self._given
