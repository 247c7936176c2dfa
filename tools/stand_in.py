"""The demo website as ``https://example.org/``, for pictures that look the same each time.

A stand-in is a proxy on this machine that answers for every host, with a certificate of its own.
"""

# ruff: noqa: INP001 - part of a script
from __future__ import annotations

import ssl
import subprocess
import threading
from contextlib import contextmanager
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

HOST = "example.org"
SITE = f"https://{HOST}"


@contextmanager
def stand_in(files: dict[str, bytes]) -> Iterator[dict[str, str]]:
    """Serve files by their paths during the block; yield the environment in which usp asks it."""
    with TemporaryDirectory() as folder:
        pem = _certificate(Path(folder))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)

        class Handler(_Handler):
            served = files
            tls = context

        with _Server(("127.0.0.1", 0), Handler) as server:
            thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
            thread.start()
            try:
                proxy = f"http://127.0.0.1:{server.server_port}"
                yield {"USP_PROXY": proxy, "USP_CA_BUNDLE": str(pem)}
            finally:
                server.shutdown()
                thread.join()


class _Server(ThreadingHTTPServer):
    request_queue_size = 64  # connections that come at once wait here, or for a second elsewhere


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    served: dict[str, bytes]
    tls: ssl.SSLContext

    def do_CONNECT(self) -> None:
        self.close_connection = False  # the client may say HTTP/1.0, and goes on over TLS
        self.send_response(HTTPStatus.OK)
        self.end_headers()
        self.connection = self.tls.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)

    def do_GET(self) -> None:
        body = self.served.get("/index.html" if self.path == "/" else self.path)
        self.send_response(HTTPStatus.NOT_FOUND if body is None else HTTPStatus.OK)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def finish(self) -> None:
        super().finish()
        self.connection.close()  # the encrypted one, which nobody else knows

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


def _certificate(folder: Path) -> Path:
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    make = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
    make += f" -subj /CN={HOST} -addext subjectAltName=DNS:{HOST} -keyout {key} -out {certificate}"
    subprocess.run(make.split(), check=True, capture_output=True)  # noqa: S603 - nothing of others
    both = folder / "both.pem"
    both.write_text(key.read_text() + certificate.read_text())
    return both
