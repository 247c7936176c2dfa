"""Runs a server: on the standard streams, or over HTTP."""

from __future__ import annotations

import asyncio
import hmac
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import PlainTextResponse

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from mcp.server.mcpserver import MCPServer
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

PATH = "/mcp"
MOST_REQUESTS = 256
"""Requests that are served at the same time."""

MOST_BODY = 64 * 1024
"""Bytes of a request: the arguments of a call are short, and so is what a client says of itself."""

BODY_SECONDS = 10.0
"""Time in which the body of a request must have arrived."""

_LOOKUPS = 64  # threads for DNS: a slow name server of some crawls is not waited for by others
_PATIENCE = 2  # seconds that open connections are given at the end


def serve_stdio(server: MCPServer[Any]) -> None:
    """Serve on the standard input and output until one of them is closed.

    Raises ``KeyboardInterrupt`` at Ctrl-C, with a thread that still waits for the standard input:
    the process has to end without waiting for it.
    """
    loop = asyncio.new_event_loop()
    try:
        loop.run_until_complete(_stdio(server))
    except* BrokenPipeError:
        pass  # the client is gone
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.run_until_complete(loop.shutdown_default_executor())
    loop.close()


def _allow_lookups() -> None:
    executor = ThreadPoolExecutor(_LOOKUPS, thread_name_prefix="usp-mcp-loop")
    asyncio.get_running_loop().set_default_executor(executor)


async def _stdio(server: MCPServer[Any]) -> None:
    _allow_lookups()
    await server.run_stdio_async()


def serve_http(
    server: MCPServer[Any],
    listening: socket.socket,
    hosts: Sequence[str],
    token: str | None = None,
    on_ready: Callable[[], object] | None = None,
) -> None:
    """Serve over streamable HTTP on a socket that is bound, until the process is told to end.

    Only requests for one of these ``hosts``, as in the header ``Host``, and from pages of the same are
    answered: a page in a browser cannot reach the server by a name that it makes resolve to it. With a
    ``token``, only those that have it in the header ``Authorization``.
    """
    config = uvicorn.Config(
        http_app(server, hosts, token),
        log_config=None,  # the command has set up the log; uvicorn's own would write to stdout
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_PATIENCE,
    )
    running = _HttpServer(config, on_ready)
    running.run(sockets=[listening])


def http_app(server: MCPServer[Any], hosts: Sequence[str], token: str | None = None) -> ASGIApp:
    """Return the application that is served.

    It has no sessions: each request says all that is needed, and nothing that a client says of itself
    is kept. A client ends a call by closing its connection.
    """
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        stateless_http=True,
        max_request_body_size=MOST_BODY,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    return _HttpGuard(app, hosts, token)


class _HttpGuard:
    """Refuses requests that are not for this server, too many at once, or too slow.

    The SDK compares ports by prefix, and the case of host names.
    """

    def __init__(self, app: ASGIApp, hosts: Sequence[str], token: str | None) -> None:
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)
        self._origins = {
            f"{scheme}://{host}" for scheme in ("http", "https") for host in self._hosts
        }
        self._token = None if token is None else token.encode()
        self._requests = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refusal = self._refusal(scope)
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        self._requests += 1
        try:
            await self._app(scope, _receiving_in_time(receive), send)
        except TimeoutError:
            await PlainTextResponse("The request did not arrive in time.", 408)(
                scope, receive, send
            )
        finally:
            self._requests -= 1

    def _refusal(self, scope: Scope) -> PlainTextResponse | None:
        headers: dict[bytes, list[bytes]] = {}
        for name, value in scope["headers"]:
            headers.setdefault(name.lower(), []).append(value)
        host = _only(headers.get(b"host", []))
        if host not in self._hosts:
            return PlainTextResponse("Unknown Host; usp mcp --allow-host NAME adds one.", 421)
        if b"origin" in headers and _only(headers[b"origin"]) not in self._origins:
            return PlainTextResponse("Requests of other websites are refused.", 403)
        if self._token is not None and not self._is_authorized(headers.get(b"authorization", [])):
            challenge = {"WWW-Authenticate": "Bearer"}
            return PlainTextResponse(
                "Send the header 'Authorization: Bearer TOKEN'.", 401, challenge
            )
        if scope["method"] != "POST":  # without sessions, there is nothing to listen to or to end
            return PlainTextResponse("Use POST.", 405, {"Allow": "POST"})
        if self._requests >= MOST_REQUESTS:
            return PlainTextResponse("Too many requests at once.", 503, {"Retry-After": "5"})
        return None

    def _is_authorized(self, values: list[bytes]) -> bool:
        scheme, _, given = (values[0] if len(values) == 1 else b"").partition(b" ")
        return scheme.lower() == b"bearer" and hmac.compare_digest(
            given.strip(), self._token or b""
        )


def _only(values: list[bytes]) -> str:
    """Return the value of a header that must be there once, in lower case; else an empty text."""
    return values[0].decode("latin-1").lower() if len(values) == 1 else ""


def _receiving_in_time(receive: Receive) -> Receive:
    """Return a function that raises ``TimeoutError`` if the body of a request does not arrive."""
    deadline: float | None = asyncio.get_running_loop().time() + BODY_SECONDS

    async def received() -> Message:
        nonlocal deadline
        async with asyncio.timeout_at(deadline):
            message = await receive()
        if not message.get("more_body"):
            deadline = None
        return message

    return received


class _HttpServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], object] | None) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        _allow_lookups()
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            self._on_ready()
