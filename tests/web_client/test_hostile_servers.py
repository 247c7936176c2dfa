"""Servers that never come to an end, or send what is no HTTP: an error, in time, and nothing worse."""

from __future__ import annotations

import importlib
import time
import tracemalloc

import pytest
from both import KINDS, fetch, speaking

from usp.limits import Limits
from usp.web_client import requests_client
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse
from usp.web_client.blocks import turns_robots_away
from usp.web_client.requests_client import RequestsWebClient
from website import Answer

OURS = ["requests", "aiohttp", "aiohttp, own session"]
SECOND = Limits(document_seconds=1)


def drip(connection, data: bytes, pause: float = 0.1) -> None:
    for at in range(len(data)):
        connection.sendall(data[at : at + 1])
        time.sleep(pause)


def asked(kind, url, limits=SECOND, **options):
    (result,) = fetch(kind, url, start=url, limits=limits, **options)
    return result


@pytest.mark.parametrize("kind", OURS)
def test_a_head_that_drips_is_given_up_in_time(kind):
    head = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200
    with speaking(lambda connection: drip(connection, head)) as url:
        result = asked(kind, url)
    assert isinstance(result, WebClientErrorResponse)
    assert result.message() == SECOND.reached("document_seconds")
    assert (result.retryable(), result.unreachable, result.silent) == (False, False, True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_drips_is_broken_in_time(kind):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"

    def talk(connection):
        connection.sendall(head)
        drip(connection, b"x" * 200)

    with speaking(talk) as url:
        result = asked(kind, url)
    assert isinstance(result, BrokenBody)
    assert str(result) == SECOND.reached("document_seconds")


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_stops_is_broken_in_time(kind):
    def talk(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin")
        time.sleep(4)

    with speaking(talk) as url:
        result = asked(kind, url)
    assert isinstance(result, BrokenBody)
    assert str(result) == SECOND.reached("document_seconds")


@pytest.mark.parametrize("kind", KINDS)
def test_slow_redirects_share_the_time_of_one_document(kind, serve):
    site = serve({"/": Answer(redirect="/", delay=0.3)})
    result = asked(kind, site.url("/"))
    assert result.message() == SECOND.reached("document_seconds")


@pytest.mark.parametrize("kind", OURS)
def test_the_time_between_two_pieces_is_still_limited(kind):
    def talk(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin")
        time.sleep(3)

    with speaking(talk) as url:
        result = asked(kind, url, limits=Limits(document_seconds=50), timeout=(5, 0.3))
    assert isinstance(result, BrokenBody)
    assert "document_seconds" not in str(result)


NONSENSE = {
    "headers without end": (b"HTTP/1.1 200 OK\r\n", b"X-%d: y\r\n"),
    "a line without end": (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000),
    "a status line without end": (b"HTTP/1.1 200 ", b"x" * 1000),
    "no status line": (b"", b"\x00\xff" * 500),
    "answers before the answer": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", NONSENSE)
def test_a_head_without_end_is_an_error(kind, name):
    first, more = NONSENSE[name]

    def talk(connection):
        connection.sendall(first)
        end = time.monotonic() + 8
        number = 0
        while time.monotonic() < end:
            connection.sendall(
                b"".join((more % n) if b"%d" in more else more for n in range(number, number + 50))
            )
            number += 50

    if kind == "requests, own session" and name.startswith("answers"):
        pytest.skip("a session of the user's reads answers as http.client does")
    with speaking(talk) as url:
        result = asked(kind, url, timeout=(3, 3))
    assert isinstance(result, WebClientErrorResponse)
    assert result.status is None
    assert not result.unreachable
    if kind == "requests":
        assert not result.retryable()


def test_a_few_answers_before_the_answer_are_no_harm():
    early = b"HTTP/1.1 100 Continue\r\n\r\n" * 5
    answer = early + b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    with speaking(lambda connection: connection.sendall(answer)) as url:
        for kind in KINDS:
            assert fetch(kind, url, start=url) == [b"ok"]


def test_a_large_body_is_not_taken_for_a_large_head(serve):
    site = serve({"/": b"x" * 3_000_000})
    for kind in KINDS:
        (body,) = fetch(kind, site.url("/"), start=site.base)
        assert len(body) == 3_000_000


def test_connections_are_kept_and_used_again(serve, monkeypatch):
    """Whatever stands between the answer and the socket, it lets go of it."""
    site = serve({"/": "home", "/c": Answer("chunked" * 50, chunked=True)})
    made = []
    real = requests_client.Gate.connected
    monkeypatch.setattr(
        requests_client.Gate, "connected", lambda *args: made.append(args) or real(*args)
    )
    urls = [site.url("/"), site.url("/c")] * 3
    assert fetch("requests", *urls, start=site.base) == [b"home", b"chunked" * 50] * 3
    assert len(made) == 1


# Bombs ----------------------------------------------------------------------------------------------


def bomb(encoding: str) -> bytes:
    zeros = bytes(1 << 20)
    if encoding == "br":
        packer = pytest.importorskip("brotli", reason="brotli is not installed").Compressor(
            quality=5
        )
        return b"".join([packer.process(zeros) for _ in range(512)]) + packer.finish()
    zstd = pytest.importorskip("backports.zstd", reason="backports.zstd is not installed")
    packer = zstd.ZstdCompressor()
    return b"".join([packer.compress(zeros) for _ in range(512)]) + packer.flush()


@pytest.mark.parametrize("encoding", ["br", "zstd"])
def test_a_bomb_that_was_not_asked_for_takes_little_memory(encoding, serve):
    site = serve({"/": Answer(bomb(encoding), headers={"Content-Encoding": encoding})})
    client = RequestsWebClient()
    client.set_max_response_data_length(10_000_000)
    tracemalloc.start()
    sizes = []
    body = map(sizes.append, map(len, client.get(site.url("/")).body()))
    with pytest.raises(BrokenBody, match="more than 10000000 bytes"):
        list(body)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    client.close()
    assert sum(sizes) == 10_000_000
    assert most < 50_000_000


def test_where_urllib3_unpacks_whole_pieces_they_are_small(serve, monkeypatch):
    monkeypatch.setattr(requests_client, "_unpacks_in_pieces", lambda: False)
    site = serve({"/": Answer(b"x" * 1000, headers={"Content-Encoding": "br"})})
    client = RequestsWebClient()
    pieces = list(client.get(site.url("/")).body()) if not _has("brotli") else [b"x" * 1000]
    client.close()
    assert b"".join(pieces) == b"x" * 1000
    if not _has("brotli"):
        assert max(map(len, pieces)) <= 64


def _has(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ImportError:
        return False
    return True


@pytest.mark.parametrize(
    ("versions", "bounded"),
    [
        ({"urllib3": "2.6.0"}, True),
        ({"urllib3": "2.8.0", "brotli": "1.2.0"}, True),
        ({"urllib3": "2.5.0"}, False),
        ({"urllib3": "1.26.20"}, False),
        ({"urllib3": "2.6.0", "brotli": "1.1.0"}, False),
    ],
)
def test_what_is_installed_tells_how_it_unpacks(versions, bounded, monkeypatch):
    def version(name):
        if name not in versions:
            raise requests_client.metadata.PackageNotFoundError(name)
        return versions[name]

    monkeypatch.setattr(requests_client.metadata, "version", version)
    assert requests_client._unpacks_in_pieces.__wrapped__() == bounded


# Robots are turned away ---------------------------------------------------------------------------------

BLOCKS = [
    (403, {}, True),
    (401, {}, False),
    (404, {}, False),
    (429, {}, False),
    (503, {}, False),
    (503, {"Server": "cloudflare"}, False),
    (503, {"CF-Mitigated": "challenge"}, True),
    (404, {"cf-mitigated": "challenge"}, True),
    (429, {"X-DataDome": "protected"}, True),
    (503, {"X-Iinfo": "1-2-3"}, True),
    (406, {"X-PX-Block": "1"}, True),
    (429, {"Server": "DataDome"}, True),
    (404, {"X-Iinfo": "1-2-3"}, False),
    (500, {"X-DataDome": "protected"}, False),
    (200, {"cf-mitigated": "challenge"}, False),
]


@pytest.mark.parametrize(("status", "headers", "blocked"), BLOCKS)
def test_guards_are_known_by_what_they_say(status, headers, blocked):
    assert turns_robots_away(status, headers) == blocked


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("status", "headers", "blocked"), BLOCKS[:9])
def test_an_error_says_whether_robots_are_turned_away(kind, status, headers, blocked, serve):
    given = {name: value for name, value in headers.items() if name != "Server"}
    site = serve({"/": Answer("", status, "Because", headers=given)})
    (result,) = fetch(kind, site.url("/"), start=site.base)
    assert result.blocked == blocked
    assert (result.status, result.message()) == (status, f"{status} Because")
