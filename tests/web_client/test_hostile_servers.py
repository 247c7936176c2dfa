"""Servers that never come to an end, or send what is no HTTP: an error, in time, and nothing worse."""

from __future__ import annotations

import time

import pytest
from both import KINDS, fetch, speaking

from together import together
from usp._http.failures import is_bot_wall
from usp.limits import Limits
from usp.web_client import zones
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse
from website import Answer

OURS = ["requests", "aiohttp", "aiohttp, own session"]


def drip(connection, data: bytes, pause: float) -> None:
    for at in range(len(data)):
        connection.sendall(data[at : at + 1])
        time.sleep(pause)


def asked(kind, url, limits, **options):
    (result,) = fetch(kind, url, start=url, limits=limits, **options)
    return result


@pytest.mark.parametrize("kind", OURS)
def test_a_head_that_drips_is_given_up_in_time(kind, times):
    limits = Limits(document_seconds=times)
    head = b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 200
    with speaking(lambda connection: drip(connection, head, 0.1 * times)) as url:
        result = asked(kind, url, limits)
    assert isinstance(result, WebClientErrorResponse)
    assert result.message() == str(limits.reached("document_seconds"))
    assert (result.retryable(), result.unreachable, result.silent) == (False, False, True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_drips_is_broken_in_time(kind, times):
    limits = Limits(document_seconds=times)
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"

    def talk(connection):
        connection.sendall(head)
        drip(connection, b"x" * 200, 0.1 * times)

    with speaking(talk) as url:
        result = asked(kind, url, limits)
    assert isinstance(result, BrokenBody)
    assert str(result) == str(limits.reached("document_seconds"))


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_stops_is_broken_in_time(kind, times):
    limits = Limits(document_seconds=times)

    def talk(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin")
        time.sleep(4 * times)

    with speaking(talk) as url:
        result = asked(kind, url, limits)
    assert isinstance(result, BrokenBody)
    assert str(result) == str(limits.reached("document_seconds"))


@pytest.mark.parametrize("kind", KINDS)
def test_slow_redirects_share_the_time_of_one_document(kind, serve, times):
    limits = Limits(document_seconds=times)
    site = serve({"/": Answer(redirect="/", delay=0.3 * times)})
    result = asked(kind, site.url("/"), limits)
    assert result.message() == str(limits.reached("document_seconds"))


@pytest.mark.parametrize("kind", OURS)
def test_the_time_between_two_pieces_is_still_limited(kind, times):
    def talk(connection):
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nbegin")
        time.sleep(3 * times)

    with speaking(talk) as url:
        result = asked(kind, url, limits=Limits(document_seconds=50), timeout=(60, 0.3 * times))
    assert isinstance(result, BrokenBody)
    assert "document_seconds" not in str(result)


NONSENSE = {
    "headers without end": (b"HTTP/1.1 200 OK\r\n", b"X-%d: y\r\n"),
    "a line without end": (b"HTTP/1.1 200 OK\r\nX: ", b"x" * 1000),
    "a status line without end": (b"HTTP/1.1 200 ", b"x" * 1000),
    "no status line": (b"", b"\x00\xff" * 500),
    "answers before the answer": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@together("kind", KINDS)
@together("name", NONSENSE)
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
        result = asked(kind, url, Limits(document_seconds=1), timeout=(20, 20))
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
    real = zones.AddressGate.connected
    monkeypatch.setattr(
        zones.AddressGate, "connected", lambda *args: made.append(args) or real(*args)
    )
    urls = [site.url("/"), site.url("/c")] * 3
    assert fetch("requests", *urls, start=site.base) == [b"home", b"chunked" * 50] * 3
    assert len(made) == 1


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


@together(("status", "headers", "blocked"), BLOCKS)
def test_guards_are_known_by_what_they_say(status, headers, blocked):
    assert is_bot_wall(status, headers) == blocked


@together("kind", KINDS)
@together(("status", "headers", "blocked"), BLOCKS[:9])
def test_an_error_says_whether_robots_are_turned_away(kind, status, headers, blocked, serve):
    given = {name: value for name, value in headers.items() if name != "Server"}
    site = serve({"/": Answer("", status, "Because", headers=given)})
    (result,) = fetch(kind, site.url("/"), start=site.base)
    assert result.blocked == blocked
    assert (result.status, result.message()) == (status, f"{status} Because")
