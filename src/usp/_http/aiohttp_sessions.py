"""The sessions of our client on ``aiohttp``, and what can be done about those of users.

Responses are read by our own reader: the same as with ``requests``.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import select
import urllib.request
from contextvars import ContextVar
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any

import aiohttp
import aiohttp.abc
import yarl
from aiohttp.client_proto import ResponseHandler
from aiohttp.http import HttpVersion, RawResponseMessage
from multidict import CIMultiDict, CIMultiDictProxy

from usp._base.shortage import scarce
from usp._base.urls import HttpUrl, read_url
from usp._http.http1 import BadResponse, ParsedHead, ResponseReader
from usp._http.identity import is_harmless, proxy_of, trusting
from usp._http.redirects import name_of, within_bounds
from usp.objects.failure_codes import FailureCode
from usp.web_client.zones import AddressGate, Refused, literal_of, look_up

if TYPE_CHECKING:
    import ssl


def new_session(gate: AddressGate, verify: bool | str | ssl.SSLContext) -> aiohttp.ClientSession:
    """Return a session that connects where the gate allows it; a proxy may be anywhere."""
    checked = trusting(verify) if isinstance(verify, str) else verify
    session = aiohttp.ClientSession(
        connector=_Connector(gate, checked),
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
    )
    session._retry_connection = False  # noqa: SLF001 - the crawl counts requests, and repeats them later
    return session


def set_cookies(response: Any) -> list[str]:
    """Return the ``Set-Cookie`` headers of a response."""
    getall = getattr(response.headers, "getall", None)
    return list(getall("Set-Cookie", ())) if getall is not None else []


# Connections ---------------------------------------------------------------------------------------


last_peer: ContextVar[str | None] = ContextVar("last_peer", default=None)
"""The address that the current task was connected to last: a short response has let go of it."""

_to_proxy: ContextVar[bool] = ContextVar("_to_proxy", default=False)


class _Resolver(aiohttp.DefaultResolver):  # type: ignore[misc, valid-type]
    gate: AddressGate

    async def resolve(self, host: str, *args: Any, **options: Any) -> list[Any]:
        found: list[Any] = await super().resolve(host, *args, **options)
        if _to_proxy.get():
            return found
        admitted = self.gate.admitted(host, [result["host"] for result in found])
        return [result for result in found if result["host"] in admitted]


class _Connector(aiohttp.TCPConnector):
    """Makes connections whose responses are read by our own reader.

    Every connection to a website is checked before anything is sent, once: what the gate allows stays
    allowed.
    """

    def __init__(self, gate: AddressGate, checked: bool | ssl.SSLContext) -> None:
        # Looking into the environment takes longer than a small response.
        self.proxy_of = functools.lru_cache(maxsize=1000)(_proxy_of)
        self._gate = gate
        self._gate_resolver = _Resolver()
        self._gate_resolver.gate = gate
        # What was looked up is not kept: the gate may have learned something since.
        super().__init__(limit=0, ssl=checked, resolver=self._gate_resolver, use_dns_cache=False)
        self._factory: Any = functools.partial(_Connection, loop=self._loop)

    async def connect(self, req: Any, *args: Any, **options: Any) -> Any:
        """Return a connection that is allowed, with nothing to be read but the response to come."""
        host, proxied = req.url.raw_host or "", req.proxy is not None
        _to_proxy.set(proxied)
        literal = None if proxied else literal_of(host)
        if literal is not None:  # which no resolver is asked about
            self._gate.admit(host, str(literal))
        connection = await super().connect(req, *args, **options)
        while isinstance(connection.protocol, _Connection) and connection.protocol.is_spoilt:
            connection.close()
            connection = await super().connect(req, *args, **options)
        protocol = connection.protocol
        if protocol is not None and scarce():
            protocol.force_close()  # after this answer: others wait for a descriptor
        if not proxied and isinstance(protocol, _Connection):
            if protocol.peer is None and (peer := _peer(connection.transport)) is not None:
                try:
                    self._gate.connected(host, peer)
                except Refused:
                    connection.close()
                    raise
                protocol.peer = peer
            last_peer.set(protocol.peer)
        return connection

    async def close(self, *args: Any, **options: Any) -> None:
        await super().close(*args, **options)
        await self._gate_resolver.close()


def _proxy_of(origin: str, proxies: tuple[tuple[str, str], ...]) -> str | None:
    return proxy_of(read_url(origin), dict(proxies))


class _Connection(ResponseHandler):
    """A connection; what aiohttp would parse is given to our reader."""

    peer: str | None = None  # once the gate has allowed it
    _parser: Any
    _tail: bytes

    @property
    def is_spoilt(self) -> bool:
        """Whether a connection was used before, and something has arrived since, if only its end."""
        if self._parser is None or self.transport is None:
            return False
        sock = self.transport.get_extra_info("socket")
        if sock is None:
            return False
        if not hasattr(
            select, "poll"
        ):  # pragma: no cover - Windows, where any socket can be selected
            return bool(select.select([sock], [], [], 0)[0])
        arrivals = select.poll()
        arrivals.register(sock, select.POLLIN)
        return bool(arrivals.poll(0))

    def set_response_params(self, *args: Any, **options: Any) -> None:
        """Prepare for the response to the request that is being sent."""
        early, self._tail = self._tail, b""  # or aiohttp's own parser would get it
        super().set_response_params(*args, **options)
        self._parser = _Parser(self, self._loop, **options)
        if early:
            self.data_received(early)

    def connection_lost(self, exc: BaseException | None) -> None:
        """Take note that the connection was closed, or broke (``exc``)."""
        transport = self.transport
        secure = transport is not None and transport.get_extra_info("ssl_object") is not None
        # With TLS, sockets cannot tell whether a connection broke or was closed without saying so.
        if exc is not None and not secure and isinstance(self._parser, _Parser):
            self._parser.break_off()
        super().connection_lost(exc)


class PartialBody(aiohttp.StreamReader):
    """A body; what was received before it broke off can still be read, and ends with ``error``."""

    error: BaseException | None = None

    def set_exception(self, exc: BaseException, *causes: BaseException) -> None:
        """Take note that the body has broken off."""
        self.error = exc
        if not self._buffer:
            super().set_exception(exc, *causes)


class _Parser:
    """Takes the place of aiohttp's parser for one response."""

    def __init__(
        self,
        connection: _Connection,
        loop: Any,
        *,
        timer: Any = None,
        skip_payload: bool = False,
        read_bufsize: int = 2**16,
        **_: object,
    ) -> None:
        self._connection = connection
        self._body_options = read_bufsize, timer, loop
        self._reader = ResponseReader(has_body=not skip_payload)
        self._body: PartialBody | None = None

    def feed_data(self, data: bytes) -> tuple[list[tuple[Any, Any]], bool, bytes]:
        """Read what arrives; returns the message once its head is complete."""
        reader, messages = self._reader, []
        was_over = reader.is_over or reader.error is not None
        piece = reader.feed(data)
        if self._body is None and reader.head is not None:
            limit, timer, loop = self._body_options
            self._body = PartialBody(self._connection, limit, timer=timer, loop=loop)
            messages = [(_message(reader.head), self._body)]
        if was_over:
            if data:  # it would be taken for the next response
                self._close()
        elif self._body is not None:
            if piece:
                self._body.feed_data(piece)
            if reader.error is not None:
                broken = aiohttp.ClientPayloadError()
                broken.__cause__ = reader.error
                self._body.set_exception(broken)
                self._close()
            elif reader.is_over:
                if reader.has_excess:
                    self._connection.force_close()
                self._body.feed_eof()
        return messages, False, b""

    def feed_eof(self) -> None:
        """Take note that the connection was closed."""
        reader = self._reader
        was_over = reader.is_over
        reader.end()
        if reader.error is not None:
            raise reader.error
        if self._body is not None and not was_over:
            self._body.feed_eof()

    def break_off(self) -> None:
        """Take note that the connection broke: a body without a length is not complete."""
        reader = self._reader
        if reader.head is not None and not reader.is_over and reader.error is None:
            reader.error = BadResponse(FailureCode.BODY_CUT_OFF)

    def pause_reading(self) -> None:
        """Do nothing: all that has arrived is read at once."""

    def _close(self) -> None:
        self._connection.force_close()
        if self._connection.transport is not None:
            self._connection.transport.close()


def _message(head: ParsedHead) -> RawResponseMessage:
    return RawResponseMessage(
        HttpVersion(*head.version),
        head.status,
        head.reason,
        CIMultiDictProxy(CIMultiDict(head.fields)),
        (),
        not head.is_persistent,
        None,
        False,
        head.chunked,
    )


def _peer(transport: Any) -> str | None:
    name = transport.get_extra_info("peername") if transport is not None else None
    return str(name[0]) if isinstance(name, tuple) and name else None


# Sessions of users ------------------------------------------------------------------------------------


def is_proxied(session: Any, url: HttpUrl) -> bool:
    """Return whether a session uses its own proxy for a URL."""
    if getattr(session, "_default_proxy", None):
        return True
    if getattr(session, "trust_env", False) is not True:
        return False
    proxy = urllib.request.getproxies().get(url.scheme, "").lower()
    # aiohttp ignores proxies that are themselves reached by HTTPS.
    ignored = not proxy or proxy.startswith(("https:", "wss:"))
    return not ignored and not urllib.request.proxy_bypass(url.host)


async def addresses_of(session: Any, url: HttpUrl) -> list[str] | None:
    """Return the addresses to which a session may connect; None if they cannot be known."""
    if not isinstance(session, aiohttp.ClientSession):
        return None
    if isinstance(session.connector, aiohttp.TCPConnector) or literal_of(url.host):
        return await asyncio.to_thread(look_up, url.host)
    return []


def peer_of(response: Any) -> str | None:
    """Return the address that a response came from, if it is known."""
    return _peer(getattr(getattr(response, "connection", None), "transport", None))


def bound_cookies(session: Any, url: HttpUrl, answers: list[str]) -> None:
    """Remove from a session's jar the cookies of a response that it may not keep."""
    jar = getattr(session, "cookie_jar", None)
    if not answers or not isinstance(jar, aiohttp.abc.AbstractCookieJar):
        return
    new = {name_of(text) for text in answers}
    kept = [(m.key, m.value, m["domain"]) for m in jar if m.key not in new]
    taken = within_bounds(kept, url.host, answers)
    if taken == answers:
        return
    hosts = url.host.split(".")
    domains = {".".join(hosts[at:]) for at in range(len(hosts))}  # that it may have named
    jar.clear(lambda morsel: morsel.key in new and morsel["domain"] in domains)
    for text in taken:
        with contextlib.suppress(CookieError):
            jar.update_cookies(SimpleCookie(text), yarl.URL(url.text(), encoded=True))


def guest_session(session: Any) -> aiohttp.ClientSession | None:
    """Return a session that shares the connections of a user's session, but not its secrets.

    None if the user's session has no secrets either, or is not a session of ``aiohttp``.
    """
    if not isinstance(session, aiohttp.ClientSession):
        return None
    harmless = {name: value for name, value in session.headers.items() if is_harmless(name)}
    secret = (
        getattr(session, "auth", None) is not None
        or len(harmless) < len(session.headers)
        or any(not morsel["domain"] for morsel in session.cookie_jar)
        or bool(getattr(session, "_middlewares", ()))
    )
    if not secret:
        return None
    options = {name: getattr(session, f"_default_{name}", None) for name in ("proxy", "proxy_auth")}
    return aiohttp.ClientSession(
        connector=session.connector,
        connector_owner=False,
        headers=harmless,
        cookie_jar=aiohttp.DummyCookieJar(),
        auto_decompress=session.auto_decompress,
        trust_env=session.trust_env,
        trace_configs=session.trace_configs,
        **{name: value for name, value in options.items() if value is not None},
    )
