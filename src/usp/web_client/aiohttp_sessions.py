"""The sessions of our client on ``aiohttp``, and what can be done about those of users."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from typing import TYPE_CHECKING, Any

import aiohttp
import aiohttp.abc
import requests.utils

from usp.shortage import scarce
from usp.web_client.identity import SECRET_HEADERS
from usp.web_client.zones import Refused, host_in, literal_of

if TYPE_CHECKING:
    import ssl

    from usp.web_client.zones import Gate


def own_session(gate: Gate | None, verify: bool | ssl.SSLContext) -> aiohttp.ClientSession:
    """Give a session that connects where the gate lets it; without one it asks a proxy."""
    connector: aiohttp.TCPConnector
    if gate is None:
        connector = aiohttp.TCPConnector(limit=0, ssl=verify)
    else:
        # What was looked up is not kept: the gate may have learned something since.
        connector = _Connector(gate, limit=0, ssl=verify, use_dns_cache=False)
    return aiohttp.ClientSession(connector=connector, auto_decompress=False)


class _Resolver(aiohttp.abc.AbstractResolver):
    """Gives those addresses of a host to which the gate lets us."""

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
        """Let go of what the resolver holds."""
        await self._resolver.close()


class _Connector(aiohttp.TCPConnector):
    """Looks at every connection before anything is sent."""

    def __init__(self, gate: Gate, **options: Any) -> None:
        self._gate = gate
        self._gate_resolver = _Resolver(gate)
        super().__init__(resolver=self._gate_resolver, **options)

    async def connect(self, req: Any, *args: Any, **options: Any) -> Any:
        """Give a connection that leads where it may."""
        literal = literal_of(req.url.raw_host or "")
        if literal is not None:  # which no resolver is asked about
            self._gate.admit(req.url.raw_host, str(literal))
        connection = await super().connect(req, *args, **options)
        if connection.protocol is not None and scarce():
            connection.protocol.force_close()  # after this answer: others wait for a descriptor
        peer = _peer(connection.transport)
        if peer is not None:
            try:
                self._gate.connected(req.url.raw_host or "", peer)
            except Refused:
                connection.close()
                raise
        return connection

    async def close(self, *args: Any, **options: Any) -> None:
        """Close the connections and the resolver."""
        await super().close(*args, **options)
        await self._gate_resolver.close()


def _peer(transport: Any) -> str | None:
    """Give the address at the other end, if that can be told."""
    name = transport.get_extra_info("peername") if transport is not None else None
    return str(name[0]) if isinstance(name, tuple) and name else None


# Sessions of users ------------------------------------------------------------------------------------


def is_proxied(session: Any, url: str) -> bool:
    """Tell whether a session asks a proxy of its own for a URL."""
    if getattr(session, "_default_proxy", None):
        return True
    if getattr(session, "trust_env", False) is not True:
        return False
    proxies = requests.utils.get_environ_proxies(url)
    return bool(requests.utils.select_proxy(url, proxies))


async def look_up(session: Any, url: str, gate: Gate) -> list[str]:
    """Give where a session may connect to; nobody knows which of several addresses it takes."""
    host = host_in(url)
    literal = literal_of(host)
    addresses: list[str] = []
    if literal is not None:
        addresses = [str(literal)]
    elif host and isinstance(getattr(session, "connector", None), aiohttp.TCPConnector):
        loop = asyncio.get_running_loop()
        # If there is no such host, the session will say so, if it looks it up at all.
        with contextlib.suppress(OSError, UnicodeError):
            found = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            addresses = [str(info[4][0]) for info in found]
    for address in addresses:
        gate.admit(host, address)
    return addresses


def check_peer(response: Any, url: str, gate: Gate, addresses: list[str]) -> None:
    """See where an answer came from, before its body is read; if that cannot be told, it is assumed."""
    connection = getattr(response, "connection", None)
    peer = _peer(getattr(connection, "transport", None)) or next(iter(addresses), None)
    if peer is None:
        return
    try:
        gate.connected(host_in(url), peer)
    except Refused:
        response.close()
        raise


def guest_session(session: Any) -> aiohttp.ClientSession | None:
    """Give a session beside a user's that has its connections, but knows nothing secret.

    None if the user's knows nothing secret either, or is no session of ``aiohttp``.
    """
    if not isinstance(session, aiohttp.ClientSession):
        return None
    open_headers = {
        name: value for name, value in session.headers.items() if name.lower() not in SECRET_HEADERS
    }
    secret = (
        getattr(session, "auth", None) is not None
        or len(open_headers) < len(session.headers)
        or any(not morsel["domain"] for morsel in session.cookie_jar)
        or bool(getattr(session, "_middlewares", ()))
    )
    if not secret:
        return None
    return aiohttp.ClientSession(
        connector=session.connector,
        connector_owner=False,
        headers=open_headers,
        auto_decompress=session.auto_decompress,
        trust_env=session.trust_env,
        trace_configs=session.trace_configs,
    )
