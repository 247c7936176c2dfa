"""A Model Context Protocol server: the library as tools for language models and agents.

``usp mcp`` runs it. :func:`create_server` returns it as a server of the official SDK, to be run, or
mounted into an application, in another way::

    server = usp.mcp.create_server(usp.mcp.ServerOptions(cache_seconds=3600))
    app = server.streamable_http_app(stateless_http=True, max_request_body_size=65_536)

Needs the extra ``mcp``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp._base.names import lazy_getattr
from usp.limits import Limits
from usp.options import DEFAULT_CONCURRENCY, CrawlOptions

if TYPE_CHECKING:
    from os import PathLike

    from usp.mcp.server import create_server
    from usp.web_client.zones import Zones
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
CACHE_TREES = 8
CACHE_BYTES = 1024 * _MIB


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerOptions:
    """The options of a server.

    ``crawl`` are the options of every crawl, its limits those of one call. ``zones`` are the networks
    that may be connected to; by default public addresses only, wherever a call begins. The next ones
    are those of the HTTP client; headers that may hold secrets are refused, because callers choose the
    website. Trees are kept for ``cache_seconds``, at most ``cache_trees`` of them,
    whose documents have no more than ``cache_bytes`` in total. Snapshots are read from the folder
    ``snapshots``, and no other file is ever opened.
    """

    crawl: CrawlOptions = field(default_factory=lambda: CrawlOptions(limits=SERVER_LIMITS))
    zones: Zones | None = None
    user_agent: str | None = None
    headers: tuple[tuple[str, str], ...] = field(default=(), repr=False)
    timeout: float | None = None
    proxy: str | None = field(default=None, repr=False)
    verify: bool | str = True
    concurrency: int = DEFAULT_CONCURRENCY
    snapshots: str | PathLike[str] | None = None
    cache_seconds: float = CACHE_SECONDS
    cache_trees: int = CACHE_TREES
    cache_bytes: int = CACHE_BYTES

    def __post_init__(self) -> None:
        """Raise ``ValueError`` for a number that makes no sense, or a header that may be a secret."""
        for name in ("cache_seconds", "cache_trees", "cache_bytes"):
            value = getattr(self, name)
            if isinstance(value, bool) or not 0 <= value < math.inf:
                raise ValueError(f"{name} must be a non-negative number, not {value!r}")

        if self.headers:
            from usp._http.identity import is_harmless  # noqa: PLC0415 - the help needs none of it

            for name, _ in self.headers:
                if not is_harmless(name):
                    raise ValueError(
                        f"the header {name!r} may hold a secret, and would be sent to every website "
                        "that a model names; leave it out"
                    )

    @property
    def limits(self) -> Limits:
        """The limits of one call."""
        return self.crawl.limits or SERVER_LIMITS
