"""A small website to try the library with, served on this machine: ``usp demo``.

Its files are in ``site``, and those that are different a day later in ``later``. ``{site}`` in them
is replaced by the URL of the site, ``{today}`` and ``{yesterday}`` by dates: news are never older. Some
are served compressed, with ``.gz`` appended to their name.
"""

from __future__ import annotations

import gzip
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

__all__ = ["demo_files", "demo_site"]

_PACKED = frozenset({"/sitemaps/archive.xml"})
_TYPES = {
    "gz": "application/gzip",
    "html": "text/html; charset=utf-8",
    "rss": "application/rss+xml",
    "txt": "text/plain",
    "xml": "application/xml",
}


@contextmanager
def demo_site(port: int = 0, *, later: bool = False) -> Iterator[str]:
    """Serve the website during the block; yield the URL of its homepage.

    With ``later``, some stories and pages are new, others changed or gone.
    """
    server = _DemoServer(("127.0.0.1", port), _DemoHandler)
    address = f"http://127.0.0.1:{server.server_port}"
    server.files = demo_files(address, later=later)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield f"{address}/"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _DemoServer(ThreadingHTTPServer):
    request_queue_size = 64  # connections that come at once wait here, or for a second elsewhere

    files: dict[str, bytes]


def demo_files(address: str, *, later: bool = False) -> dict[str, bytes]:
    """Return what the website serves at an address such as ``https://example.org``, by path."""
    today = datetime.now(UTC).date()
    yesterday = today - timedelta(days=1)
    served: dict[str, bytes] = {}
    for folder in ("site", "later") if later else ("site",):
        for path, text in _walk(files(__name__) / folder):
            filled = text.replace("{site}", address).replace("{today}", today.isoformat())
            content = filled.replace("{yesterday}", yesterday.isoformat()).encode()
            if path in _PACKED:
                served[f"{path}.gz"] = gzip.compress(content, mtime=0)
            else:
                served[path] = content
    return served


def _walk(folder: Traversable, path: str = "") -> Iterator[tuple[str, str]]:
    for entry in folder.iterdir():
        if entry.is_dir():
            yield from _walk(entry, f"{path}/{entry.name}")
        else:
            yield f"{path}/{entry.name}", entry.read_text(encoding="utf-8")


class _DemoHandler(BaseHTTPRequestHandler):
    server: _DemoServer

    def do_GET(self) -> None:
        path = "/index.html" if self.path == "/" else self.path
        body = self.server.files.get(path)
        if body is None:
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        if self.headers["If-None-Match"] == tag:
            self.send_response(HTTPStatus.NOT_MODIFIED)
            self.send_header("ETag", tag)
            self.end_headers()
            return
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", _TYPES[path.rpartition(".")[2]])
        self.send_header("ETag", tag)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - as http.server has it
        """Log nothing: the output belongs to the command."""
