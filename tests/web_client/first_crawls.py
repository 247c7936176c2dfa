"""First crawls while ``requests`` is patched, a process for each patch: ``python first_crawls.py MOMENT``.

Nothing of ours may be imported before the patch, unless the moment says so: what matters is which
functions are there when our modules are loaded.
"""

import contextlib
import functools
import io
import multiprocessing
import socket
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import requests
import requests_cache
import requests_mock
import responses
import urllib3
import vcr
import yaml

H = "http://patched.invalid"  # of which no server knows anything
XMLNS = 'xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
DOCS = {
    f"{H}/robots.txt": f"User-agent: *\nSitemap: {H}/a.xml\n",
    f"{H}/a.xml": f"<urlset {XMLNS}><url><loc>{H}/p</loc></url></urlset>",
}
MOMENTS = ("before the import", "after a client was made")


ADAPTER = requests_mock.Adapter()
ADAPTER.register_uri("GET", requests_mock.ANY, status_code=404)
for _url, _text in DOCS.items():
    ADAPTER.register_uri("GET", _url, text=_text)


def response(url: str) -> requests.Response:
    """Return a response as requests gives it, for a URL or a path."""
    prepared = requests.Request("GET", url if "://" in url else H + url).prepare()
    return ADAPTER.send(prepared)


class Connection:
    """What is used of a socket, with the website at its other end."""

    def __init__(self, *_: object, **__: object) -> None:
        self._sent = b""

    def sendall(self, data: bytes) -> None:
        self._sent += data

    def makefile(self, *_: object, **__: object) -> io.BytesIO:
        answer = response(self._sent.split()[1].decode())
        size = len(answer.content)
        head = f"HTTP/1.1 {answer.status_code} OK\r\nContent-Length: {size}\r\nConnection: close"
        return io.BytesIO(head.encode() + b"\r\n\r\n" + answer.content)

    def getpeername(self) -> tuple[str, int]:
        return "93.184.215.14", 80

    def fileno(self) -> int:
        return -1

    def ignored(self, *_: object) -> None:
        """Do nothing."""

    connect = settimeout = gettimeout = setsockopt = shutdown = close = ignored


class Pool:
    """What is used of a pool of connections."""

    def urlopen(self, method: str, url: str, **_: object) -> urllib3.HTTPResponse:
        del method
        return response(url).raw


# The patches -----------------------------------------------------------------------------------------


def wrapped() -> Any:
    """Replace ``get`` by a function that looks like it."""

    @functools.wraps(requests.Session.get)
    def get(self: requests.Session, url: str, **_: object) -> requests.Response:
        del self
        return response(url)

    return mock.patch.object(requests.Session, "get", get)


def plain_get(
    url: str, timeout: Any, stream: bool, headers: Any, proxies: Any, verify: Any
) -> requests.Response:
    """Take what 1.8.1 passes, and nothing else."""
    assert stream
    del timeout, headers, proxies, verify
    return response(url)


def adapter_in_init() -> Any:
    real = requests.Session.__init__

    def init(self: requests.Session) -> None:
        real(self)
        self.mount("http://", ADAPTER)

    return mock.patch("requests.Session.__init__", init)


@contextlib.contextmanager
def sockets() -> Iterator[None]:
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("93.184.215.14", 80))]
    with (
        mock.patch("socket.getaddrinfo", return_value=found),
        mock.patch("socket.socket", Connection),
    ):
        yield


@contextlib.contextmanager
def mocked(library: Any, argument: str) -> Iterator[None]:
    """Let a library answer, which takes a body by the name of an argument."""
    with library as mocker:
        for url, text in DOCS.items():
            mocker.get(url, **{argument: text})
        yield


@contextlib.contextmanager
def cassette() -> Iterator[None]:
    recorded = [
        {
            "request": {"body": None, "headers": {}, "method": "GET", "uri": url},
            "response": {
                "body": {"string": text},
                "headers": {},
                "status": {"code": 200, "message": "OK"},
            },
        }
        for url, text in DOCS.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "cassette.yaml")
        file.write_text(yaml.safe_dump({"interactions": recorded, "version": 1}))
        with vcr.use_cassette(file, record_mode="none", allow_playback_repeats=True):
            yield


@contextlib.contextmanager
def cache() -> Iterator[None]:
    with requests_cache.enabled("usp", backend="memory"):
        with mock.patch("requests.adapters.HTTPAdapter.send", ADAPTER.send):
            for url in DOCS:
                requests.get(url, timeout=1)
        yield


def by_url(name: str, **options: Any) -> Callable[[], Any]:
    """Return a patch of a function whose first argument is a URL."""
    return lambda: mock.patch(name, side_effect=lambda *args, **_: response(args[-1]), **options)


def by_request(name: str) -> Callable[[], Any]:
    """Return a patch of a function that is passed a prepared request."""
    return lambda: mock.patch(name, side_effect=lambda request, **_: response(request.url))


def giving(name: str, value: Any) -> Callable[[], Any]:
    """Return a patch of a function that gives one value."""
    return lambda: mock.patch(name, return_value=value)


PATCHES: dict[str, Callable[[], Any]] = {
    "Session.get": by_url("requests.Session.get"),
    "Session.get, with its signature": by_url("requests.sessions.Session.get", autospec=True),
    "Session.get, of few options": lambda: mock.patch(
        "requests.Session.get", side_effect=plain_get
    ),
    "Session.get, wrapped": wrapped,
    "Session.request": by_url("requests.Session.request"),
    "Session.send": by_request("requests.Session.send"),
    "Session.get_adapter": giving("requests.Session.get_adapter", ADAPTER),
    "Session.__init__": adapter_in_init,
    "Session": giving("requests.Session", mock.Mock(get=lambda url, **_: response(url))),
    "HTTPAdapter": giving("requests.sessions.HTTPAdapter", ADAPTER),
    "HTTPAdapter.send": by_request("requests.adapters.HTTPAdapter.send"),
    "HTTPAdapter.get_connection_with_tls_context": giving(
        "requests.adapters.HTTPAdapter.get_connection_with_tls_context", Pool()
    ),
    "PoolManager": giving("urllib3.PoolManager.connection_from_host", Pool()),
    "HTTPConnectionPool.urlopen": lambda: mock.patch(
        "urllib3.connectionpool.HTTPConnectionPool.urlopen", Pool().urlopen
    ),
    "HTTPConnection._new_conn": lambda: mock.patch(
        "urllib3.connection.HTTPConnection._new_conn", side_effect=Connection
    ),
    "create_connection": lambda: mock.patch(
        "urllib3.util.connection.create_connection", side_effect=Connection
    ),
    "socket": sockets,
    "requests_mock": lambda: mocked(requests_mock.Mocker(), "text"),
    "responses": lambda: mocked(
        responses.RequestsMock(assert_all_requests_are_fired=False), "body"
    ),
    "vcr": cassette,
    "requests_cache": cache,
}


def pages(client: Any = None) -> list[str]:
    """Crawl the website; the modules are imported now."""
    from usp.tree import sitemap_tree_for_homepage  # noqa: PLC0415

    tree = sitemap_tree_for_homepage(f"{H}/", client, use_known_paths=False)
    return [page.url for page in tree.all_pages()]


def crawl(patch: str, moment: str) -> None:
    """Crawl twice under a patch, once without it, and again under it; print how many pages there were."""
    client = None
    if moment != MOMENTS[0]:
        from usp.web_client.requests_client import RequestsWebClient  # noqa: PLC0415

        client = RequestsWebClient()
    with PATCHES[patch]():
        counts = [len(pages(client)), len(pages(client))]
    counts.append(len(pages(client)))
    with PATCHES[patch]():
        counts.append(len(pages(client)))
    sys.stdout.write(f"{patch}: {counts}\n")


if __name__ == "__main__":
    # A copy of this process is as fresh as a new one, and need not import the libraries again.
    can_copy = "fork" in multiprocessing.get_all_start_methods()
    context = multiprocessing.get_context("fork" if can_copy else "spawn")
    for name in PATCHES:
        process = context.Process(target=crawl, args=(name, sys.argv[1]))
        process.start()
        process.join()
