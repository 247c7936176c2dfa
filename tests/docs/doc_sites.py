"""The websites of the documentation: the demo site, as https://example.org/, on this machine.

Examples run as they are written. Their connections are led to a server on loopback that has a
certificate for the name; programs that an example starts get the same by their environment.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import re
import ssl
import sys
import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import aiohttp.connector
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from usp._demo import demo_files

REDIRECTED = Path(__file__).parent / "redirected"
sys.path.insert(0, str(REDIRECTED))
from redirection import ADDRESSES, DEMO, Redirection  # noqa: E402 - needs the path

TYPES = {
    "gz": "application/gzip",
    "rss": "application/rss+xml",
    "txt": "text/plain",
    "xml": "application/xml",
}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self):
        path = self.path.partition("?")[0]
        body = self.server.files.get("/index.html" if path in self.server.pages else path)
        status = 404 if body is None else 200
        tag = f'"{zlib.crc32(body or b""):08x}"'
        if body is not None and self.headers["If-None-Match"] == tag:
            status, body = 304, None
        self.send_response(status)
        ending = path.rpartition(".")[2]
        self.send_header("Content-Type", TYPES.get(ending, "text/html; charset=utf-8"))
        if status != 404:
            self.send_header("ETag", tag)
        if status != 304:
            self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, *args):
        """Log nothing: the output is that of the example."""


class _Server(ThreadingHTTPServer):
    request_queue_size = 64
    daemon_threads = True

    def __init__(self, address: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.address = address
        self.fill()

    def fill(self, *, later: bool = False) -> None:
        self.files = demo_files(self.address, later=later)
        text = b"".join(self.files.values()).decode("utf-8", "ignore")
        self.pages = {"/", *re.findall(rf"{self.address}(/[\w/-]+)[\s<?\"#]", text)}

    def handle_error(self, *args):
        """Report nothing: clients hang up when they have what they want."""


@dataclass
class Sites:
    """The websites while they are served."""

    servers: list[_Server]
    environment: dict[str, str]
    """What other processes need to reach them."""

    def fill(self, *, later: bool) -> None:
        """Serve the websites as they are, or as they are a day later."""
        for server in self.servers:
            server.fill(later=later)


def _certificate(folder: Path) -> Path:
    """Write a certificate for the websites, and its key; return the file."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "examples")])
    names = [x509.DNSName(f"{begin}{host}") for host in ADDRESSES for begin in ("", "www.")]
    today = dt.datetime.now(dt.UTC)
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - dt.timedelta(days=2))
        .not_valid_after(today + dt.timedelta(days=2))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    file = folder / "certificate.pem"
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(private + made.public_bytes(pem))
    return file


@contextlib.contextmanager
def example_sites(folder: Path) -> Iterator[Sites]:
    """Serve the websites during the block, to this process and to others that have the environment."""
    certificate = _certificate(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    urls = {host: f"https://{host}" for host in ADDRESSES} | {
        DEMO[0]: f"http://{DEMO[0]}:{DEMO[1]}"
    }
    with contextlib.ExitStack() as stack:
        servers = {host: stack.enter_context(_Server(url)) for host, url in urls.items()}
        for host, server in servers.items():
            if host in ADDRESSES:
                server.socket = context.wrap_socket(
                    server.socket, server_side=True, do_handshake_on_connect=False
                )
            threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
            stack.callback(server.shutdown)
        ports = {host: server.server_port for host, server in servers.items()}
        redirection = Redirection(ports)
        redirection.begin()
        stack.callback(redirection.end)
        # aiohttp reads the certificates of the system when it is imported, which it may be already.
        aiohttp.connector._SSL_CONTEXT_VERIFIED.load_verify_locations(certificate)
        environment = {
            "EXAMPLE_SITES": json.dumps(ports),
            "PYTHONPATH": str(REDIRECTED),
            "REQUESTS_CA_BUNDLE": str(certificate),
            "SSL_CERT_FILE": str(certificate),
        }
        yield Sites(list(servers.values()), environment)
