"""A Model Context Protocol server: the library as tools for language models and agents.

``usp mcp`` runs it. :func:`create_server` returns it as a server of the official SDK, to be run, or
mounted into an application, in another way::

    server = usp.mcp.create_server(usp.mcp.ServerOptions(cache_seconds=3600))
    app = server.streamable_http_app()

Needs the extra ``mcp``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.names import elsewhere
from usp.mcp.options import ServerOptions

if TYPE_CHECKING:
    from usp.mcp.server import create_server
else:
    __getattr__ = elsewhere(__name__)

__all__ = ["ServerOptions", "create_server"]
