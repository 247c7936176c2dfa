"""Runs a server: on the standard streams, or over HTTP."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import uvicorn
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings

if TYPE_CHECKING:
    import socket
    from collections.abc import Callable, Sequence

    from mcp.server import Server

PATH = "/mcp"
_PATIENCE = 2  # seconds that open connections are given at the end


def serve_stdio(server: Server[Any]) -> None:
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


async def _stdio(server: Server[Any]) -> None:
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def serve_http(
    server: Server[Any],
    listening: socket.socket,
    hosts: Sequence[str],
    on_ready: Callable[[], object] | None = None,
) -> None:
    """Serve over streamable HTTP on a socket that is bound, until the process is told to end.

    Only requests for one of these ``hosts``, as in the header ``Host``, and from pages of the same are
    answered: a page in a browser cannot reach the server by a name that it makes resolve to it.
    """
    names = [f"{host}:*" for host in hosts]
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=[*hosts, *names],
        allowed_origins=[
            f"{scheme}://{name}" for scheme in ("http", "https") for name in (*hosts, *names)
        ],
    )
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    config = uvicorn.Config(
        app,
        log_config=None,  # the command has set up the log; uvicorn's own would write to stdout
        access_log=False,
        lifespan="on",
        timeout_graceful_shutdown=_PATIENCE,
    )
    running = _Running(config, on_ready)
    running.run(sockets=[listening])


class _Running(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, on_ready: Callable[[], object] | None) -> None:
        super().__init__(config)
        self._on_ready = on_ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started and self._on_ready is not None:
            self._on_ready()
