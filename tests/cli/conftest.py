"""A small website for the commands to read, and a way to run them."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cli_documents import index, urlset

from usp.cli import main


@dataclass(frozen=True)
class Ended:
    status: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


@pytest.fixture
def run(capsys, monkeypatch):
    """Run a command line in this process."""
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setenv("COLUMNS", "80")

    def _run(*argv: str) -> Ended:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(list(argv))
        captured = capsys.readouterr()
        return Ended(ended.value.code, captured.out, captured.err)

    return _run


_SEEN: list = []


@pytest.fixture
def seen_headers():
    """The headers of each request, as they come."""
    _SEEN.clear()
    return _SEEN


class _Agents:
    def __iter__(self):
        return iter([headers["User-Agent"] for headers in _SEEN])


@pytest.fixture
def seen_agents(seen_headers):
    """User-Agent header to send."""
    return _Agents()


class _Server(ThreadingHTTPServer):
    request_queue_size = 64  # what does not find room here comes again after a second


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        _SEEN.append(self.headers)
        content = self.server.files.get(self.path)
        if callable(content):
            content = content()
        if content is None:
            self.send_error(404)
            return
        self.send_response(200)
        self.end_headers()
        self.wfile.write(content if isinstance(content, bytes) else content.encode())

    def log_message(self, *args):
        pass


@pytest.fixture
def serve():
    """Serve files by their paths; ``{site}`` in them is the address, which is given back."""
    servers = []

    def _serve(files: dict[str, object]) -> str:
        server = _Server(("127.0.0.1", 0), _Handler)
        site = f"http://127.0.0.1:{server.server_port}"
        server.files = {
            path: content.replace("{site}", site) if isinstance(content, str) else content
            for path, content in files.items()
        }
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        servers.append((server, thread))
        return site

    yield _serve
    for server, thread in servers:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def site(serve):
    """A website with a robots.txt, an index with a missing child, and one at a known path."""
    return serve(
        {
            "/robots.txt": "User-agent: *\nSitemap: {site}/main.xml\n",
            "/main.xml": index("{site}/a.xml", "{site}/missing.xml"),
            "/a.xml": urlset("{site}/one", "http://other.example/two", "{site}/a b?x=1&amp;y=2"),
            "/sitemap.xml": urlset("{site}/known", "{site}", "{site}/"),
        }
    )
