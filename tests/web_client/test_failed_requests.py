"""Failed requests: in words for people, and whether to ask again; the same for every client."""

import asyncio
import contextlib
import errno
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from unittest import mock

import aiohttp
import pytest
import requests
import requests_mock
import responses
import urllib3.exceptions
from both import KINDS, OURS, fetch, reset, speaking

import usp
from together import together
from usp._http.failures import reason_of
from usp._http.flow import retry_after
from usp.web_client.abstract_client import (
    RETRYABLE_HTTP_STATUS_CODES,
    BrokenBody,
    WebClientErrorResponse,
    words_of,
)
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient, RequestsWebClientErrorResponse
from website import Answer, certified, nobody

HEAD = b"HTTP/1.1 200 OK\r\n"
SIZED = HEAD + b"Content-Length: 1000\r\n\r\n<urlset>"
CUT_OFF = "the connection was closed before the end of the body"
NO_ANSWER = "127.0.0.1 closed the connection without a response"
NO_RESPONSE = "no response from 127.0.0.1 within 0.2 seconds"
BY_PROXY = "the proxy cannot be used: "
PYTHONISMS = ("Errno", "object at", "ConnectionPool", "Error(", "', '", "retries", "<")


def sorted_as(error: WebClientErrorResponse) -> tuple:
    return error.status, error.retryable(), error.unreachable, error.silent, error.retry_after


UNREACHABLE = (None, False, True, False, None)
SILENT = (None, True, False, True, None)
ABORTED = (None, True, False, False, None)
OTHER = (None, False, False, False, None)


def error(url: str, **options) -> WebClientErrorResponse:
    """Ask both clients, and see that they sort the error alike."""
    first, second = (result for kind in OURS for result in fetch(kind, url, **options))
    assert isinstance(first, RequestsWebClientErrorResponse), first
    assert isinstance(second, WebClientErrorResponse), second
    assert all((first.message(), second.message()))
    assert sorted_as(first) == sorted_as(second)
    return second


@contextlib.contextmanager
def full_house() -> Iterator[str]:
    """Give an address where nobody picks up: its queue is full, and packets are dropped."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        for _ in range(8):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        yield f"http://127.0.0.1:{port}"


@contextlib.contextmanager
def sending(data: bytes, *, resets: bool = False, hold: bool = False, tls=None) -> Iterator[str]:
    """Send some bytes to whoever connects, and hang up: politely, by a reset, or late."""
    over = threading.Event()

    def talk(connection: socket.socket) -> None:
        connection.sendall(data)
        if hold:
            over.wait(120)
        if resets:
            reset(connection)

    with speaking(talk, tls=tls) as url:
        yield url
        over.set()


def unknown(*_, **__):
    raise socket.gaierror(-2, "Name or service not known")


# One table for all of them --------------------------------------------------------------------------


@dataclass
class Trouble:
    """Who is asked for what, and what the client says then: ``{at}`` is the host and port.

    ``facts`` are None if the body breaks off. ``theirs`` are words of ``requests``.
    """

    server: Any
    words: str
    facts: tuple | None
    url: str = "http://{at}/x"
    options: dict[str, str] = field(default_factory=dict)
    theirs: str = ""


NO_HOST, REFUSED = "no such host: tea.invalid", "connection refused by {at}"
LATE, PROXY = {"timeout": (5.0, 0.2)}, {"proxy": "http://{at}"}
silent, half = partial(sending, b"", hold=True), partial(sending, SIZED, hold=True)
chunk = HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n<urlset>"
TRY, FAR = "(try http://{at}/x)", "https://example.org/x"
TROUBLES = {
    "no such host": Trouble(nobody, NO_HOST, UNREACHABLE, "http://tea.invalid/x", theirs="Failed to resolve"),
    "no such host by HTTPS": Trouble(nobody, NO_HOST, UNREACHABLE, "https://tea.invalid:8443/x"),
    "nobody": Trouble(nobody, REFUSED, UNREACHABLE, theirs="Failed to establish a new connection"),
    "nobody by IPv6": Trouble(partial(nobody, "[::1]"), REFUSED, UNREACHABLE),
    "nobody, with a login": Trouble(nobody, REFUSED, UNREACHABLE, "http://me:secret@{at}/"),
    "nobody by HTTPS": Trouble(nobody, f"{REFUSED} {TRY}", UNREACHABLE, "https://{at}/x"),
    "nobody for robots.txt": Trouble(
        nobody, REFUSED + " (try http://{at}/)", UNREACHABLE, "https://{at}/robots.txt"
    ),
    "nobody picks up": Trouble(
        full_house, "no connection to {at} within 0.3 seconds", UNREACHABLE, options={"timeout": (0.3, 5)}
    ),
    "no response": Trouble(silent, NO_RESPONSE, SILENT, options=LATE, theirs="Read timed out"),
    "no response, with one time for all": Trouble(silent, NO_RESPONSE, SILENT, options={"timeout": 0.2}),
    "half a body": Trouble(half, "no more data from 127.0.0.1 within 0.2 seconds", None, options=LATE),
    "closed": Trouble(partial(sending, b""), NO_ANSWER, ABORTED, theirs="Connection aborted"),
    "reset": Trouble(partial(sending, b"", resets=True), NO_ANSWER, ABORTED),
    "closed in the body": Trouble(partial(sending, SIZED), CUT_OFF, None),
    "reset in the body": Trouble(partial(sending, SIZED, resets=True), CUT_OFF, None),
    "closed in a chunk": Trouble(partial(sending, chunk), CUT_OFF, None),
    "not HTTP": Trouble(partial(sending, b"220 ready for mail\r\n"), "{at} does not speak HTTP", OTHER),
    "not TLS": Trouble(
        partial(sending, b"HTTP/1.0 400 Bad Request" + b" " * 50), "{at} does not speak TLS " + TRY, OTHER,
        "https://{at}/x",
    ),
    "a dead proxy": Trouble(nobody, BY_PROXY + REFUSED, OTHER, FAR, PROXY),
    "a dead proxy for HTTP": Trouble(nobody, BY_PROXY + REFUSED, OTHER, "http://h.invalid/", PROXY),
    "no such proxy": Trouble(
        nobody, BY_PROXY + NO_HOST, OTHER, "http://example.org/x", {"proxy": "http://tea.invalid:3128"}
    ),
    "a proxy that wants a password": Trouble(
        partial(sending, b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n"),
        BY_PROXY + "it responded 407 Who are you", None, FAR, PROXY,
    ),
}  # fmt: skip


@together("kind", KINDS)
@together("name", TROUBLES)
def test_a_failure_has_the_same_words_and_meaning_for_every_client(kind, name):
    """Logs, trees and reports have our words alone; programs look for those of requests."""
    trouble = TROUBLES[name]
    if "own session" in kind and "password" in name:
        pytest.skip("what a proxy says is known to our own sessions")
    if "IPv6" in name and not urllib3.util.connection.HAS_IPV6:
        pytest.skip("no IPv6 on loopback")
    with trouble.server() as url:
        at = url.removeprefix("http://").rstrip("/")
        options = {
            name: value.format(at=at) if isinstance(value, str) else value
            for name, value in trouble.options.items()
        }
        (result,) = fetch(kind, trouble.url.format(at=at), **options)
    said = str(result) if isinstance(result, BrokenBody) else words_of(result)
    words = trouble.words.format(at=at)
    assert said.startswith(words) if "no such host" in words else said == words
    assert not any(word in said for word in PYTHONISMS), said
    if trouble.facts is not None:
        assert sorted_as(result) == trouble.facts
    if trouble.theirs and kind.startswith("requests"):
        ours, _, rest = result.message().partition(" (")
        assert said.startswith(ours)
        assert trouble.theirs in rest
        assert trouble.theirs not in said


@pytest.mark.parametrize("kind", OURS)
def test_a_request_is_sent_once_and_repeated_by_the_crawl_alone(kind):
    connections = []
    with speaking(connections.append) as url:
        fetch(kind, url)
    assert len(connections) == 1


@together("kind", KINDS)
def test_a_certificate_that_nobody_knows(kind, tmp_path):
    with sending(HEAD, tls=certified(tmp_path / "cert.pem", "127.0.0.1")) as url:
        (result,) = fetch(kind, url.replace("http:", "https:"))
    said = words_of(result)
    assert said.startswith("the certificate of 127.0.0.1 is not trusted: self")
    assert "verify" in said


# Statuses -------------------------------------------------------------------------------------------


def test_the_statuses_that_may_pass_are_those_that_programs_know():
    assert set(RETRYABLE_HTTP_STATUS_CODES) == {
        400, 408, 429, 499, 500, 502, 503, 504, 509,
        520, 521, 522, 523, 524, 525, 526, 527, 530, 598,
    }  # fmt: skip


@together(
    ("status", "reason", "message"),
    [
        (404, None, "404 Not Found"),
        (403, "Go Away", "403 Go Away"),
        (503, None, "503 Service Unavailable"),
        (400, "", "400 Bad Request"),
        (599, "", "599"),
        (300, None, "300 Multiple Choices"),
        (302, None, "302 Found"),  # without an address
        (304, None, "304 Not Modified"),
        (305, None, "305 Use Proxy"),
    ],
)
def test_an_answer_that_is_not_2xx_is_an_error_named_by_code_and_reason(
    serve, status, reason, message
):
    response = error(serve({"/x": Answer("", status, reason)}).url("/x"))
    assert response.message() == message
    retryable = status in RETRYABLE_HTTP_STATUS_CODES
    assert sorted_as(response) == (status, retryable, False, False, None)


@together("header", ["7", "0", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_server_may_say_when_to_come_back(serve, header):
    site = serve({"/x": Answer("", 503, headers={"Retry-After": header})})
    assert error(site.url("/x")).retry_after == {"7": 7, "soon": None}.get(header, 0)
    assert retry_after("\xb2") is None  # a digit, but no number


# URLs, hosts and redirects ----------------------------------------------------------------------------


@together(
    "url",
    [
        "http://*.example.org/", "http://127.0.0.1:99999/x", "http://[broken/", "http://", "nonsense",
        "http://" + "a" * 70 + ".invalid/", "http://.invalid/", "http://\udcff/", "http://a b/", "ftp://h/",
        "", "h", None, 5, b"http://h/",
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_asked_for_is_an_error_and_raises_nothing(monkeypatch, url):
    real = socket.getaddrinfo

    def local_only(host, *args, **options):
        return (real if host == "127.0.0.1" else unknown)(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", local_only)
    assert not error(url).retryable()


@together("target", ["http://127.0.0.3:9/", "http://127.0.0.1:9/", "full", "silent"])
def test_a_redirect_to_a_dead_host_says_nothing_about_the_host_that_was_asked(serve, target):
    gate = threading.Event()
    with full_house() as url:
        where = {"full": url, "silent": "{alt}/y"}.get(target, target)
        site = serve({"/x": Answer(redirect=where), "alt:/y": Answer("late", gate=gate)})
        response = error(site.url("/x"), timeout=(0.3, 0.3))
        gate.set()
    assert (response.unreachable, response.silent) == (False, False)


# What libraries raise -------------------------------------------------------------------------------


RAISED = [
    ("requests", requests.ConnectTimeout("slow"), UNREACHABLE),
    ("requests", requests.ReadTimeout("slow"), SILENT),
    ("requests", requests.exceptions.SSLError("no certificate"), OTHER),
    ("requests", requests.ConnectionError(), OTHER),
    ("requests", requests.ConnectionError(urllib3.exceptions.ProtocolError("aborted")), ABORTED),
    ("requests", requests.TooManyRedirects("round and round"), OTHER),
    ("requests", requests.exceptions.InvalidURL("what"), OTHER),
    ("requests", urllib3.exceptions.LocationParseError("what"), OTHER),
    ("requests", OSError("could not find a suitable TLS CA certificate bundle"), OTHER),
    ("aiohttp", aiohttp.ServerDisconnectedError(), ABORTED),
    ("aiohttp", aiohttp.ClientOSError(104, "reset"), ABORTED),
    ("aiohttp", aiohttp.SocketTimeoutError("slow"), SILENT),
    ("aiohttp", aiohttp.ConnectionTimeoutError("slow"), UNREACHABLE),
    ("aiohttp", TimeoutError(), SILENT),
    ("aiohttp", aiohttp.InvalidURL("what"), OTHER),
    ("aiohttp", OSError("what"), OTHER),
    *((kind, UnicodeError("label too long"), OTHER) for kind in OURS),
]


@together(("kind", "raised", "facts"), RAISED)
def test_what_a_library_raises_is_returned_and_sorted(monkeypatch, kind, raised, facts):
    if kind == "aiohttp":
        session = mock.Mock(headers={}, auth=None, get=mock.AsyncMock(side_effect=raised))
        response = asyncio.run(AiohttpWebClient(session=session).get("http://h/"))
    else:
        client = RequestsWebClient()
        monkeypatch.setattr(client._session, "get", mock.Mock(side_effect=raised))
        response = client.get("http://h/")
        invalid = isinstance(raised, ValueError)  # of a URL, as all of these are
        assert ("not a valid URL" if invalid else str(raised)) in response.message()
    assert sorted_as(response) == facts


NO_NETWORK = OSError(errno.ENETUNREACH, "Network is unreachable")
NO_CONNECTION = urllib3.exceptions.NewConnectionError(None, f"Failed to establish: {NO_NETWORK}")
NO_CONNECTION.__cause__ = NO_NETWORK
NO_MORE = urllib3.exceptions.MaxRetryError(None, "/x", NO_CONNECTION)


def wrapping_itself() -> ValueError:
    one, other = ValueError(), KeyError()
    one.__context__, other.__cause__ = other, one
    return one


@together(
    ("error", "said"),
    [
        (requests.ConnectTimeout(), "no connection to h:443 within 9.05 seconds"),
        (aiohttp.ConnectionTimeoutError(), "no connection to h:443 within 9.05 seconds"),
        (requests.ReadTimeout(), "no response from h within 60 seconds"),
        (requests.exceptions.InvalidURL("what?"), "it is not a valid URL"),
        (ValueError("some words", 1, object()), "some words"),
        (ValueError(("a", "tuple")), "ValueError"),
        (ValueError(), "ValueError"),
        (ValueError("two\nlines"), "two lines"),
        (wrapping_itself(), "ValueError"),
        *(
            (error, "cannot connect to h:443: network is unreachable")
            for error in (NO_NETWORK, NO_CONNECTION, NO_MORE, requests.ConnectionError(NO_MORE))
        ),
    ],
)
def test_the_words_for_an_error(error, said):
    """The innermost cause counts, however it is wrapped."""
    assert str(reason_of(error, "https://h/x", (9.05, 60.0))) == said


RAISED = {
    "ConnectTimeout": "connect-timeout",
    "ReadTimeout": "read-timeout",
    "Timeout": "read-timeout",
    "SSLError": "tls-error",
    "ProxyError": "proxy-error",
    "InvalidProxyURL": "proxy-error",
    "ConnectionError": "unreachable",
    "TooManyRedirects": "limit-redirects",
    "ChunkedEncodingError": "body-cut-off",
    "ContentDecodingError": "bad-content-encoding",
    "InvalidURL": "bad-url",
    "MissingSchema": "bad-url",
    "RequestException": "client-error",
}


@together("name", RAISED)
def test_an_exception_that_a_mock_raises_by_itself_has_the_code_of_a_real_one(name):
    kind, url = getattr(requests.exceptions, name), "http://h.example/sitemap.xml"
    for error in (kind, kind("in words of its own")):
        with requests_mock.Mocker() as mocked:
            mocked.get(url, exc=error)
            found = [usp.sitemap_tree_for_sitemap(url).failures()]
        with responses.RequestsMock(assert_all_requests_are_fired=False) as mocked:
            mocked.add(responses.GET, url, body=error if error is not kind else kind())
            found.append(usp.sitemap_tree_for_sitemap(url).failures())
        for method in ("get", "send"):
            with mock.patch(f"requests.Session.{method}", side_effect=error):
                found.append(usp.sitemap_tree_for_sitemap(url).failures())
        assert [one.code for (one,) in found] == 4 * [RAISED[name]]
        has_words = error is not kind and not issubclass(kind, ValueError)
        assert all(("in words of its own" in one.reason) == has_words for (one,) in found)
