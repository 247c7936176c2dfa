"""A real web server on loopback, and the documents it serves.

A :class:`Site` listens on two hosts. What it answers is a table by path; paths of the second host are
written ``alt:/path``. ``{base}`` (or ``{site}``) and ``{alt}`` in bodies, headers and redirects become
the addresses of the two hosts. With ``tls`` both speak HTTPS.
"""

import contextlib
import datetime as dt
import hashlib
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping, MutableSequence, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from typing import Any, Self

SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"
PATIENCE = 120  # seconds after which the server gives up on whatever it waits for


@dataclass(frozen=True)
class Endless:
    """A part of a raw answer that is sent again and again, with a pause between."""

    piece: bytes
    pause: float = 0.0
    seconds: float = 20.0


@dataclass(frozen=True)
class Answer:
    """What a path answers.

    ``cut`` sends so many bytes of the body and hangs up; ``hang_up`` resets the connection without an
    answer; ``endless`` is sent again and again; ``gate`` is waited for before answering, ``stall``
    in the middle of the body. ``raw`` is sent as it stands instead, head and all, numbers as so many
    seconds of silence; ``end`` is what becomes of the connection then: ``keep``, ``close`` or ``reset``.
    """

    body: str | bytes = b""
    status: int = 200
    reason: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    redirect: str | None = None
    delay: float = 0.0
    cut: int | None = None
    hang_up: bool = False
    chunked: bool = False
    endless: bytes | None = None
    gate: threading.Event | None = None
    stall: threading.Event | None = None
    raw: Sequence[bytes | float | Endless] | None = None
    end: str = "keep"


NOT_FOUND = Answer("<html><body>no such thing</body></html>", 404)


class Everywhere(dict):
    """Answers of a website that answers every path in the same way, that of ``*``."""

    def get(self, path: str, _default: Any = None) -> Any:
        return super().get(path, self["*"])


@dataclass(frozen=True)
class Request:
    """A request as it came in."""

    path: str
    headers: Mapping[str, str]
    method: str = "GET"
    body: bytes = b""


class Site:
    """Serves a table of answers: texts, bytes, :class:`Answer`, None for 404, functions that return one.

    A list answers successive requests, its last item for ever.
    """

    def __init__(
        self, answers: Mapping[str, Any] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        self.answers: dict[str, Any] = dict(answers or {})
        self.tls = tls
        self.requests: MutableSequence[Request] = []
        self.most_at_once: Counter[str] = Counter()
        self._active: Counter[str] = Counter()
        self._lock = threading.Lock()
        self._servers = [_Server(self, "127.0.0.1", ""), _Server(self, "127.0.0.2", "alt:")]
        self.base, self.alt = (server.url for server in self._servers)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop listening and drop every connection."""
        for server in self._servers:
            server.stop()

    @property
    def hits(self) -> Counter[str]:
        """How often each path was asked for."""
        return Counter(request.path for request in self.requests)

    def url(self, path: str) -> str:
        """Give the address of a path; ``alt:/path`` is on the other host."""
        return self.alt + path[4:] if path.startswith("alt:") else self.base + path

    def fill(self, text: Any) -> bytes:
        """Put the addresses of the hosts into a text."""
        data = text.encode() if isinstance(text, str) else bytes(text)
        for name, address in ((b"{base}", self.base), (b"{site}", self.base), (b"{alt}", self.alt)):
            data = data.replace(name, address.encode())
        return data

    def answer(self, request: Request) -> Answer:
        """Give what the path answers this time."""
        with self._lock:
            self.requests.append(request)
            answer = self.answers.get(request.path, NOT_FOUND)
            if isinstance(answer, Sequence) and not isinstance(answer, str | bytes):
                answer = answer[min(self.hits[request.path], len(answer)) - 1]
        if callable(answer):
            answer = answer()
        if answer is None:
            answer = NOT_FOUND
        return answer if isinstance(answer, Answer) else Answer(answer)

    @contextlib.contextmanager
    def counted(self, host: str) -> Any:
        """Count the requests to a host that are being answered at the same time."""
        with self._lock:
            self._active[host] += 1
            self.most_at_once[host] = max(self.most_at_once[host], self._active[host])
        try:
            yield
        finally:
            with self._lock:
                self._active[host] -= 1


class TaggedSite(Site):
    """A website whose answers have an ETag; ``bodies`` are the paths of those that were sent."""

    def __init__(
        self, answers: Mapping[str, Any] | None = None, tls: ssl.SSLContext | None = None
    ) -> None:
        super().__init__(answers, tls)
        self.bodies: list[str] = []
        self.tags = True

    def answer(self, request: Request) -> Answer:
        """Give what the path answers, or 304."""
        answer = super().answer(request)
        if answer.status != 200 or answer.redirect or not self.tags:
            return answer
        tag = f'"{hashlib.md5(self.fill(answer.body), usedforsecurity=False).hexdigest()}"'
        headers = {**answer.headers, "ETag": tag}
        if request.headers.get("If-None-Match") == tag:
            return Answer(b"", 304, headers=headers)
        self.bodies.append(request.path)
        return replace(answer, headers=headers)

    def forget(self) -> None:
        """Begin to count anew."""
        self.bodies.clear()
        self.requests.clear()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, site: Site, host: str, label: str) -> None:
        self.site, self.label = site, label
        self._open: set[socket.socket] = set()
        try:
            super().__init__((host, 0), _Handler)
        except OSError:  # systems that have only one loopback address
            super().__init__(("127.0.0.1", 0), _Handler)
        address, port = self.server_address[:2]
        self.url = f"{'https' if site.tls else 'http'}://{address}:{port}"
        if site.tls:
            self.socket = site.tls.wrap_socket(
                self.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def server_bind(self) -> None:
        """Bind without asking the name service for the host's name."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing: clients leave in the middle, on purpose."""

    def stop(self) -> None:
        self.shutdown()
        self.server_close()
        for connection in list(self._open):
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        self._thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    disable_nagle_algorithm = True
    wbufsize = -1  # one packet for the head and a small body
    server: _Server

    def log_message(self, *_: Any) -> None:
        """Say nothing."""

    def do_GET(self) -> None:
        path = self.path
        if path.startswith("http://"):  # as a proxy is asked
            path = "proxied:" + path
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        head = dict(self.headers.items())
        request = Request(self.server.label + path, head, self.command, body)
        with self.server.site.counted(self.server.label or "base"):
            self._send(self.server.site.answer(request))

    do_HEAD = do_POST = do_GET  # noqa: N815 - http.server's names

    def _send(self, answer: Answer) -> None:
        if answer.gate is not None:
            answer.gate.wait(PATIENCE)
        time.sleep(answer.delay)
        if answer.hang_up:
            self._reset()
            return
        if answer.raw is not None:
            self._send_raw(answer.raw, answer.end)
            return
        fill = self.server.site.fill
        body = fill(answer.body)
        status = 302 if answer.redirect and answer.status == 200 else answer.status
        self.send_response(status, answer.reason)
        for name, value in answer.headers.items():
            self.send_header(name, fill(value).decode("latin-1"))
        if answer.redirect:
            self.send_header("Location", fill(answer.redirect).decode("latin-1"))
        if answer.chunked:
            self.send_header("Transfer-Encoding", "chunked")
        elif answer.endless is None:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._send_body(answer, body)

    def _reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.close_connection = True

    def _send_raw(self, parts: Sequence[bytes | float | Endless], end: str) -> None:
        self.close_connection = end != "keep"
        for part in parts:
            if isinstance(part, bytes):
                self.connection.sendall(part)
            elif isinstance(part, Endless):
                until = time.monotonic() + part.seconds
                while time.monotonic() < until:
                    self.connection.sendall(part.piece)
                    time.sleep(part.pause)
            else:
                time.sleep(part)
        if end == "reset":
            self._reset()
            self.connection.close()  # before anything else is said

    def _send_body(self, answer: Answer, body: bytes) -> None:
        write = self.wfile.write
        if answer.stall is not None:
            half = len(body) // 2
            write(body[:half])
            self.wfile.flush()
            answer.stall.wait(PATIENCE)
            write(body[half:])
        elif answer.endless is not None:
            self.close_connection = True
            write(body)
            end = time.monotonic() + PATIENCE
            while time.monotonic() < end:
                write(answer.endless)
        elif answer.chunked:
            for at in range(0, len(body), 7):
                piece = body[at : at + 7]
                write(b"%x\r\n%s\r\n" % (len(piece), piece))
                if answer.cut is not None and at + 7 >= answer.cut:
                    self.close_connection = True
                    return
            write(b"0\r\n\r\n")
        else:
            write(body[: answer.cut])
            if answer.cut is not None:
                self.close_connection = True


@contextlib.contextmanager
def nobody(host: str = "127.0.0.1") -> Iterator[str]:
    """Give an address that refuses every connection: its port is taken, but nobody listens."""
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as taken:
        taken.bind((host.strip("[]"), 0))
        yield f"http://{host}:{taken.getsockname()[1]}"


def certified(file: Path, *names: str) -> ssl.SSLContext:
    """Write a certificate for hosts, and its key, to a file; give what a website speaks HTTPS with."""
    from cryptography import x509  # noqa: PLC0415 - takes long to load, and few need it
    from cryptography.hazmat.primitives import hashes, serialization  # noqa: PLC0415 - the same
    from cryptography.hazmat.primitives.asymmetric import ec  # noqa: PLC0415 - the same

    key, day = ec.generate_private_key(ec.SECP256R1()), dt.timedelta(days=1)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "tests")])
    hosts = [
        x509.IPAddress(ip_address(one)) if one[0].isdigit() else x509.DNSName(one) for one in names
    ]
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(dt.datetime.now(dt.UTC) - 2 * day)
        .not_valid_after(dt.datetime.now(dt.UTC) + 2 * day)
        .add_extension(x509.SubjectAlternativeName(hosts), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    pem, plain = serialization.Encoding.PEM, serialization.NoEncryption()
    private = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain)
    file.write_bytes(private + made.public_bytes(pem))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


# Documents ---------------------------------------------------------------------------------------


def full(url: str) -> str:
    """Give the address of a path, to be filled in by the server."""
    return "{base}" + url if url.startswith("/") else url


def urlset(*urls: str) -> str:
    """Give a page sitemap."""
    entries = "".join(
        url if url.startswith("<") else f"<url><loc>{full(url)}</loc></url>" for url in urls
    )
    return f'<?xml version="1.0"?><urlset xmlns="{SITEMAP_NS}">{entries}</urlset>'


def index(*urls: str) -> str:
    """Give an index of sitemaps."""
    entries = "".join(
        url if url.startswith("<") else f"<sitemap><loc>{full(url)}</loc></sitemap>" for url in urls
    )
    return f'<?xml version="1.0"?><sitemapindex xmlns="{SITEMAP_NS}">{entries}</sitemapindex>'


def robots(*urls: str) -> str:
    """Give a robots.txt that declares sitemaps."""
    return "User-agent: *\nDisallow: /private\n" + "".join(f"Sitemap: {full(u)}\n" for u in urls)


def with_index(documents: Mapping[str, Any]) -> dict[str, Any]:
    """Give the answers of a website whose robots.txt declares an index of these sitemaps."""
    return {"/robots.txt": robots("/index.xml"), "/index.xml": index(*documents), **documents}


def dated(url: str, date: str, tag: str = "url") -> str:
    """Give an entry of a sitemap (or of an index: ``sitemap``) with its date of change."""
    return f"<{tag}><loc>{full(url)}</loc><lastmod>{date}</lastmod></{tag}>"


def story(url: str, date: str, title: str = "t") -> str:
    """Give an entry of a news sitemap."""
    return (
        f'<url xmlns:n="http://www.google.com/schemas/sitemap-news/0.9"><loc>{full(url)}</loc><n:news>'
        "<n:publication><n:name>The Tea Post</n:name><n:language>en</n:language></n:publication>"
        f"<n:publication_date>{date}</n:publication_date><n:title>{title}</n:title></n:news></url>"
    )


def rss(*urls: str, title: str = "t") -> str:
    """Give an RSS feed."""
    items = "".join(f"<item><title>{title}</title><link>{full(u)}</link></item>" for u in urls)
    return f'<rss version="2.0"><channel><title>c</title>{items}</channel></rss>'


def atom(*urls: str, title: str = "t") -> str:
    """Give an Atom feed."""
    entries = "".join(
        f'<entry><title>{title}</title><link href="{full(u)}"/></entry>' for u in urls
    )
    return f'<feed xmlns="http://www.w3.org/2005/Atom"><title>c</title>{entries}</feed>'


def indexed(*urls: str) -> dict[str, str]:
    """Give the answers of a website whose robots.txt declares one index, /i.xml."""
    return {"/robots.txt": robots("/i.xml"), "/i.xml": index(*urls)}


def pages_at(*names: str) -> dict[str, str]:
    """Give page sitemaps by name, each with a page of its name."""
    return {f"/{name}.xml": urlset(f"/{name}") for name in names}


ONE_PAGE = {"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/tea")}
"""The answers of a website of one page."""


def outline(node: Any, base: str = "") -> Any:
    """Give a tree as ``(class, path, [children])``: what a test compares at a glance."""
    name, url = type(node).__name__, node.url.removeprefix(base)
    below = [outline(child, base) for child in node.sub_sitemaps]
    return (name, url, below) if below else (name, url)


def paths(node: Any, base: str) -> list[str]:
    """Give the pages below a node as paths."""
    return [page.url.removeprefix(base) for page in node.all_pages()]
