"""trafilatura: sitemap_search, without its pause between requests.

It refuses addresses that are an IP and a port, so the loopback server gets a name here, in this
process only; ``external`` lets it keep pages whose host is not that name. Its own setting lets it
connect to loopback.
"""

from __future__ import annotations

import copy
import logging
import socket
from typing import Any

from measure import measure
from trafilatura.settings import DEFAULT_CONFIG
from trafilatura.sitemaps import sitemap_search

_NAME = "www.example.com"
_resolve = socket.getaddrinfo


def _to_loopback(host: Any, *arguments: Any, **options: Any) -> Any:
    return _resolve("127.0.0.1" if host == _NAME else host, *arguments, **options)


def work(options: dict[str, Any]) -> dict[str, Any]:
    """Search the homepage's sitemaps."""
    logging.disable(logging.WARNING)
    socket.getaddrinfo = _to_loopback
    homepage = options["homepage"].replace("127.0.0.1", _NAME)
    config = copy.deepcopy(DEFAULT_CONFIG)
    config["DEFAULT"]["SSRF_PROTECTION"] = "off"
    found = sitemap_search(homepage, external=True, sleep_time=0, config=config)
    return {"found": len(found)}


measure(work)
