"""The sessions of our client on ``aiohttp``, and what can be done about those of users."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import urllib.request
from contextvars import ContextVar
from http.cookies import CookieError, SimpleCookie
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import aiohttp
import aiohttp.abc
import yarl

from usp._base.shortage import scarce
from usp._http.flow import HEAD_BYTES, Kind
from usp._http.identity import is_harmless, trusting
from usp._http.redirects import name_of, within_bounds
from usp.web_client.zones import Refused, literal_of

if TYPE_CHECKING:
    import ssl

    from usp._base.urls import HttpUrl
    from usp.web_client.zones import Gate


def own_session(gate: Gate | None, verify: bool | str | ssl.SSLContext) -> aiohttp.ClientSession:
    """Return a session that connects where the gate allows it; without a gate, it is for a proxy."""
    checked = trusting(verify) if isinstance(verify, str) else verify
    connector: aiohttp.TCPConnector
    if gate is None:
        connector = aiohttp.TCPConnector(limit=0, ssl=checked)
    else:
        # What was looked up is not kept: the gate may have learned something since.
        connector = _Connector(gate, limit=0, ssl=checked, use_dns_cache=False)
    return aiohttp.ClientSession(
        connector=connector,
        auto_decompress=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        # Some policies take more than the 8 KiB that one line may have otherwise.
        max_line_size=HEAD_BYTES,
        max_field_size=HEAD_BYTES,
    )


def set_cookies(response: Any) -> list[str]:
    """Return the ``Set-Cookie`` headers of a response."""
    getall = getattr(response.headers, "getall", None)
    return list(getall("Set-Cookie", ())) if getall is not None else []


class _Resolver(aiohttp.abc.AbstractResolver):
    """Resolves hosts to those addresses that the gate admits."""

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._resolver = aiohttp.DefaultResolver()

    async def resolve(self, host: str, *args: Any, **options: Any) -> list[Any]:
        """Look up a host."""
        found = await self._resolver.resolve(host, *args, **options)
        admitted = []
        refusal: Refused | None = None
        for result in found:
            try:
                self._gate.admit(host, result["host"])
            except Refused as error:
                refusal = refusal or error
            else:
                admitted.append(result)
        if refusal is not None and not admitted:
            raise refusal
        return admitted

    async def close(self) -> None:
        """Close the resolver."""
        await self._resolver.close()


class _Connector(aiohttp.TCPConnector):
    """Checks every connection before anything is sent, once: what the gate allows stays allowed."""

    def __init__(self, gate: Gate, **options: Any) -> None:
        self._gate = gate
        self._hosts: set[str] = set()  # that are addresses, and allowed
        self._peers: WeakKeyDictionary[Any, str] = WeakKeyDictionary()  # of checked connections
        self._gate_resolver = _Resolver(gate)
        super().__init__(resolver=self._gate_resolver, **options)

    async def connect(self, req: Any, *args: Any, **options: Any) -> Any:
        """Return a connection that the gate allows."""
        host = req.url.raw_host or ""
        if host not in self._hosts:
            literal = literal_of(host)
            if literal is not None:  # which no resolver is asked about
                self._gate.admit(host, str(literal))
                self._hosts.add(host)
        connection = await super().connect(req, *args, **options)
        protocol = connection.protocol
        if protocol is not None and scarce():
            protocol.force_close()  # after this answer: others wait for a descriptor
        peer = None if protocol is None else self._peers.get(protocol)
        if peer is None:
            peer = self._checked(host, connection)
        last_peer.set(peer)
        return connection

    def _checked(self, host: str, connection: Any) -> str | None:
        """Return the peer of a new connection; raises :class:`Refused`."""
        peer = _peer(connection.transport)
        if peer is not None:
            try:
                self._gate.connected(host, peer)
            except Refused:
                connection.close()
                raise
            self._peers[connection.protocol] = peer
        return peer

    async def close(self, *args: Any, **options: Any) -> None:
        """Close the connections and the resolver."""
        await super().close(*args, **options)
        await self._gate_resolver.close()


last_peer: ContextVar[str | None] = ContextVar("last_peer", default=None)
"""The address that the current task was connected to last: a short response has let go of it."""


def _peer(transport: Any) -> str | None:
    """Return the address of the peer, if it is known."""
    name = transport.get_extra_info("peername") if transport is not None else None
    return str(name[0]) if isinstance(name, tuple) and name else None


def kind_of(error: Exception) -> Kind:
    """Return what an exception of ``aiohttp`` says about the host."""
    connecting = isinstance(error, aiohttp.ClientConnectorError)
    by_another = isinstance(error, aiohttp.ClientSSLError | aiohttp.ClientProxyConnectionError)
    if isinstance(error, aiohttp.ConnectionTimeoutError) or (connecting and not by_another):
        return Kind.UNREACHABLE
    if isinstance(error, TimeoutError):
        return Kind.SILENT
    aborted = isinstance(error, aiohttp.ServerConnectionError | aiohttp.ClientOSError)
    return Kind.ABORTED if aborted and not connecting else Kind.OTHER


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
    """Return the addresses to which a session may connect; None if they cannot be known.

    It may use any of them.
    """
    if not isinstance(session, aiohttp.ClientSession):
        return None
    literal = literal_of(url.host)
    if literal is not None:
        return [str(literal)]
    if isinstance(getattr(session, "connector", None), aiohttp.TCPConnector):
        loop = asyncio.get_running_loop()
        # If there is no such host, the session will say so, if it looks it up at all.
        with contextlib.suppress(OSError, UnicodeError):
            found = await loop.getaddrinfo(url.host, None, type=socket.SOCK_STREAM)
            return [str(info[4][0]) for info in found]
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
