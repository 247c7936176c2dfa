"""A Model Context Protocol server: the library as tools for language models and agents.

``usp mcp`` runs it. :func:`create_server` returns it as a server of the official SDK, to be run, or
mounted into an application, in another way::

    server = usp.mcp.create_server(usp.mcp.ServerOptions(cache_seconds=3600))
    app = server.streamable_http_app(stateless_http=True, max_request_body_size=65_536)

Needs the extra ``mcp``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from usp._base.names import lazy_getattr
from usp.limits import Limits
from usp.options import CrawlOptions

if TYPE_CHECKING:
    from os import PathLike

    from usp.mcp.server import create_server
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = ["ServerOptions", "create_server"]

_MIB = 1024 * 1024

SERVER_LIMITS = Limits(
    document_bytes=64 * _MIB,
    sitemaps=5_000,
    pages=1_000_000,
    redirects=10,
    url_length=2_048,
    spool_bytes=512 * _MIB,
    document_seconds=30,
    seconds=30,
)
"""The limits of one call: somebody waits for it, and what it returns must fit into a context."""

CACHE_SECONDS = 900.0


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of a server.

    ``crawl`` are the options of every crawl, its limits those of one call. ``client`` are keywords of
    :class:`AiohttpWebClient`: unless it has ``zones``, public addresses only are connected to, and
    headers that may hold secrets are refused, because callers choose the website. Trees are kept for
    ``cache_seconds``. Snapshots are read from the folder ``snapshots``, and no other file is opened.
    """

    crawl: CrawlOptions = field(default_factory=lambda: CrawlOptions(limits=SERVER_LIMITS))
    client: Mapping[str, Any] = field(default_factory=dict, repr=False)
    snapshots: str | PathLike[str] | None = None
    cache_seconds: float = CACHE_SECONDS

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a header that may be a secret."""
        from usp._http.identity import is_harmless  # noqa: PLC0415 - the help needs none of it

        for name in self.client.get("headers") or ():
            if not is_harmless(name):
                raise ValueError(
                    f"the header {name!r} may hold a secret, and would be sent to every website "
                    "that a model names; leave it out"
                )
