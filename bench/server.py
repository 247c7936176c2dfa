"""A small fast HTTP server for the benchmark's sites, run as a process of its own.

``python -m bench.server --root DIR`` serves files, ``--generated N`` serves a site of N URLs that is
made while it is sent. The port is printed on the first line. ``/-/stats`` tells what was asked so
far, ``/-/reset`` starts the count anew; neither is counted.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import socket
import sys
import threading
import time
import zlib
from dataclasses import dataclass
from pathlib import Path

BASE = b"http://@BASE@"
"""Stands in robots.txt and indexes for the address that the client used."""

PER_SITEMAP = 50_000
_DRIP = 16 * 1024
_TYPES = {".txt": "text/plain", ".xml": "application/xml", ".gz": "application/gzip"}
_MARK = b"@@@@@@"


@dataclass(frozen=True, slots=True)
class Answer:
    """What one path gives; a body is bytes, or a file that is sent without being read."""

    body: bytes | Path
    media_type: str = "text/html"
    status: str = "200 OK"
    pages: bool = False
    tagged: bytes | None = None

    @property
    def tag(self) -> bytes:
        """The ETag."""
        if self.tagged is not None:
            return self.tagged
        if isinstance(self.body, bytes):
            return b'"%x"' % zlib.crc32(self.body)
        facts = self.body.stat()
        return b'"%x-%x"' % (facts.st_mtime_ns, facts.st_size)


NOT_FOUND = Answer(b"<html>nothing here</html>", status="404 Not Found")
HOME = Answer(b"<html><title>bench</title></html>")


class FileSite:
    """A directory; robots.txt and index*.xml name the client's own address."""

    def __init__(self, root: Path) -> None:
        self._root = root
        # Only what is listed here is served: a request cannot name anything outside.
        self._files = {f"/{path.relative_to(root)}": path for path in root.rglob("*")}

    def answer(self, path: str, host: bytes) -> Answer:
        """Give what stands at ``path``."""
        if path == "/":
            return HOME
        file = self._files.get(path)
        if file is None or file.is_dir():
            return NOT_FOUND
        media_type = _TYPES.get(file.suffix, "text/html")
        if file.name.startswith(("index", "robots")):
            return Answer(file.read_bytes().replace(BASE, b"http://" + host), media_type)
        return Answer(file, media_type, pages=True)


class GeneratedSite:
    """So many URLs in sitemaps of 50,000, made from one block while they are sent."""

    def __init__(self, urls: int) -> None:
        self._urls = urls
        self._template = b"".join(
            b"<url><loc>http://127.0.0.1/catalogue/%s/an-article-of-some-length-%07d</loc>"
            b"<lastmod>2024-%02d-%02d</lastmod></url>\n"
            % (_MARK, number, 1 + number % 12, 1 + number % 28)
            for number in range(min(urls, PER_SITEMAP))
        )

    def answer(self, path: str, host: bytes) -> Answer:
        """Give what stands at ``path``."""
        sitemaps = -(-self._urls // PER_SITEMAP)
        if path == "/":
            return HOME
        if path == "/robots.txt":
            return Answer(b"Sitemap: http://" + host + b"/index.xml\n", "text/plain")
        if path == "/index.xml":
            locs = (
                b"<sitemap><loc>http://%s/pages/%06d.xml</loc></sitemap>\n" % (host, number)
                for number in range(sitemaps)
            )
            return Answer(_document(b"sitemapindex", b"".join(locs)), "application/xml")
        number = path.removeprefix("/pages/").removesuffix(".xml")
        if not number.isdigit() or int(number) >= sitemaps:
            return NOT_FOUND
        # The same length on both sides keeps this one pass in C.
        body = self._template.replace(_MARK, number.encode())
        return Answer(_document(b"urlset", body), "application/xml", pages=True)


def _document(root: bytes, body: bytes) -> bytes:
    return (
        b'<?xml version="1.0" encoding="UTF-8"?>\n<%s '
        b'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n%s</%s>\n' % (root, body, root)
    )


class Stats:
    """What has been asked, under a lock."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._count = dict.fromkeys(("requests", "active", "max_active", "completed_sitemaps"), 0)

    def begin(self) -> None:
        """Count a request that has come."""
        with self._lock:
            self._count["requests"] += 1
            self._count["active"] += 1
            self._count["max_active"] = max(self._count["max_active"], self._count["active"])

    def end(self, *, completed_sitemap: bool) -> None:
        """Count an answer that has been sent, or given up."""
        with self._lock:
            self._count["active"] -= 1
            self._count["completed_sitemaps"] += completed_sitemap

    def reset(self) -> None:
        """Start anew; what is under way stays counted as active."""
        with self._lock:
            active = self._count["active"]
            self._count.update(requests=0, max_active=active, completed_sitemaps=0)

    def as_json(self) -> bytes:
        """Give the counts."""
        with self._lock:
            return json.dumps(self._count).encode()


class Server:
    """One thread a connection; each answer waits ``latency`` and flows at ``rate`` bytes/s."""

    def __init__(self, site: FileSite | GeneratedSite, latency: float, rate: float | None) -> None:
        self._site, self._latency, self._rate = site, latency, rate
        self._stats = Stats()

    def serve(self, listener: socket.socket) -> None:
        """Answer until killed."""
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=self._connection, args=(connection,), daemon=True).start()

    def _connection(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        with connection, contextlib.suppress(OSError), connection.makefile("rb") as lines:
            while (request := lines.readline()) and self._exchange(connection, request, lines):
                pass

    def _exchange(self, connection: socket.socket, request: bytes, lines: object) -> bool:
        method, target, version = request.decode("latin-1").split()
        headers = {}
        while line := lines.readline().strip():  # type: ignore[attr-defined]
            name, _, value = line.partition(b":")
            headers[name.lower()] = value.strip()
        path = target.partition("?")[0]
        keep = version != "HTTP/1.0" and headers.get(b"connection", b"").lower() != b"close"
        if path.startswith("/-/"):
            if path == "/-/reset":
                self._stats.reset()
            self._send(connection, Answer(self._stats.as_json()), keep=keep, head=False)
            return keep
        self._stats.begin()
        sent = False
        answer = NOT_FOUND
        try:
            time.sleep(self._latency)
            answer = self._site.answer(path, headers.get(b"host", b"127.0.0.1"))
            unchanged = headers.get(b"if-none-match") == answer.tag
            if unchanged and answer is not NOT_FOUND:
                answer = Answer(b"", answer.media_type, "304 Not Modified", tagged=answer.tag)
            self._send(connection, answer, keep=keep, head=method == "HEAD")
            sent = True
        finally:
            self._stats.end(completed_sitemap=sent and answer.pages)
        return keep

    def _send(self, connection: socket.socket, answer: Answer, *, keep: bool, head: bool) -> None:
        body = answer.body
        length = len(body) if isinstance(body, bytes) else body.stat().st_size
        connection.sendall(
            f"HTTP/1.1 {answer.status}\r\nContent-Type: {answer.media_type}\r\n"
            f"Content-Length: {length}\r\nETag: {answer.tag.decode()}\r\n"
            f"Connection: {'keep-alive' if keep else 'close'}\r\n\r\n".encode()
        )
        if head:
            return
        if answer.pages and self._rate:
            self._drip(connection, body if isinstance(body, bytes) else body.read_bytes())
        elif isinstance(body, bytes):
            connection.sendall(body)
        else:
            with body.open("rb") as file:
                connection.sendfile(file)

    def _drip(self, connection: socket.socket, body: bytes) -> None:
        assert self._rate
        for at in range(0, len(body), _DRIP):
            connection.sendall(body[at : at + _DRIP])
            time.sleep(_DRIP / self._rate)


def main() -> None:
    """Serve what the command line says."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=Path)
    parser.add_argument("--generated", type=int, default=0, help="URLs of a site made while sent")
    parser.add_argument("--latency", type=float, default=0.0, help="seconds before every answer")
    parser.add_argument("--rate", type=float, help="bytes a second of every page sitemap")
    options = parser.parse_args()
    site = FileSite(options.root) if options.root else GeneratedSite(options.generated)
    listener = socket.create_server(("127.0.0.1", 0), backlog=1024)
    sys.stdout.write(f"{listener.getsockname()[1]}\n")
    sys.stdout.flush()
    Server(site, options.latency, options.rate).serve(listener)


if __name__ == "__main__":
    main()
