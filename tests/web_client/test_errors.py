"""Errors of clients: what they are called, and whether to ask again; the same for both."""

from __future__ import annotations

import asyncio
import contextlib
import datetime as dt
import email.utils
import socket
import threading
from collections.abc import Iterator
from typing import ClassVar

import aiohttp
import pytest
import requests
import urllib3.exceptions
from both import OURS, fetch, respond, speaking

import usp.aio
from together import together
from usp._http.flow import retry_after
from usp.web_client.abstract_client import RETRYABLE_HTTP_STATUS_CODES, WebClientErrorResponse
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient, RequestsWebClientErrorResponse
from website import Answer, index, paths, urlset


def sorted_as(error: WebClientErrorResponse) -> tuple:
    return error.status, error.retryable(), error.unreachable, error.silent, error.retry_after


def error(url: str, **options) -> WebClientErrorResponse:
    """Ask both clients, and see that they sort the error alike."""
    errors = [result for kind in OURS for result in fetch(kind, url, **options)]
    for one in errors:
        assert isinstance(one, WebClientErrorResponse), one
        assert one.message()
    first, second = errors
    assert isinstance(first, RequestsWebClientErrorResponse)
    assert sorted_as(first) == sorted_as(second)
    return second


@pytest.fixture
def port() -> int:
    """A port where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@contextlib.contextmanager
def full_house() -> Iterator[int]:
    """Give a port where nobody picks up: its queue is full, and packets are dropped."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(socket.socket())
        server.bind(("127.0.0.1", 0))
        server.listen(0)
        port = server.getsockname()[1]
        for _ in range(8):
            client = stack.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(("127.0.0.1", port))
        yield port


def unknown(*_, **__):
    raise socket.gaierror(-2, "Name or service not known")


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
        (304, None, "304 Not Modified"),
    ],
)
def test_an_answer_that_is_not_2xx_is_an_error_named_by_code_and_reason(
    serve, status, reason, message
):
    response = error(serve({"/x": Answer("", status, reason)}).url("/x"))
    assert response.message() == message
    retryable = status in RETRYABLE_HTTP_STATUS_CODES
    assert sorted_as(response) == (status, retryable, False, False, None)


@together("kind", OURS)
@together("status", [200, 201, 203, 206])
def test_every_2xx_is_a_success(serve, kind, status):
    assert respond(kind, serve({"/x": Answer("body", status)}).url("/x")).status_code() == status


@together("kind", OURS)
def test_after_an_error_the_client_goes_on(serve, kind):
    site = serve({"/x": Answer("no" * 10_000, 500), "/y": "yes"})
    assert fetch(kind, site.url("/x"), site.url("/y"))[1] == b"yes"


@together("header", ["7", "0", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_server_may_say_when_to_come_back(serve, header):
    site = serve({"/x": Answer("", 503, headers={"Retry-After": header})})
    assert error(site.url("/x")).retry_after == {"7": 7, "soon": None}.get(header, 0)


def test_retry_after_is_a_number_of_seconds_or_a_date_and_nonsense_raises_nothing():
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=100)
    assert 90 < retry_after(email.utils.format_datetime(soon, usegmt=True)) <= 100
    given = (" 120 ", "0", "Wed, 21 Oct 2015 07:28:00 GMT", None)
    assert [retry_after(text) for text in given] == [120, 0, 0, None]
    for text in ("", "soon", "-5", "1.5", "²", "Mon, 99 Foo 2020", "9" * 400):
        assert (retry_after(text) or 0) >= 0


# Hosts that cannot be reached, are silent, hang up, or speak something else --------------------------


@together("host", ["127.0.0.1", "[::1]", "me:secret@127.0.0.1"])
def test_a_port_where_nobody_listens_means_the_host_is_not_reachable(port, host):
    if host == "[::1]":
        try:
            with socket.socket(socket.AF_INET6) as probe:
                probe.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 on loopback")
    assert sorted_as(error(f"http://{host}:{port}/")) == (None, False, True, False, None)


def test_a_name_that_does_not_exist_means_the_host_is_not_reachable(monkeypatch):
    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert sorted_as(error("http://Nowhere.invalid/")) == (None, False, True, False, None)


def test_a_host_that_does_not_pick_up_is_not_reachable():
    with full_house() as port:
        assert error(f"http://127.0.0.1:{port}/", timeout=(0.3, 5)).unreachable


def test_a_host_that_does_not_answer_is_silent(serve):
    gate = threading.Event()
    site = serve({"/x": Answer("late", gate=gate)})
    assert sorted_as(error(site.url("/x"), timeout=(5, 0.2))) == (None, True, False, True, None)
    gate.set()


def test_a_connection_that_is_reset_may_work_the_next_time(serve):
    site = serve({"/x": Answer(hang_up=True), "/y": [Answer(hang_up=True), "fine"]})
    assert sorted_as(error(site.url("/x"))) == (None, True, False, False, None)
    assert fetch("requests", site.url("/y"), site.url("/y"))[1] == b"fine"


def test_a_host_that_speaks_no_tls_or_no_http_is_there_all_the_same(serve):
    site = serve({"/x": "plain"})
    assert not error(site.url("/x").replace("http:", "https:")).retryable()
    with speaking(lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")) as url:
        assert not error(url).unreachable


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


def test_a_dead_host_is_given_up_once(port):
    events = []
    tree = asyncio.run(
        usp.aio.sitemap_tree_for_homepage(f"http://127.0.0.1:{port}/", on_event=events.append)
    )
    assert not tree.sub_sitemaps
    assert sum(type(event).__name__ == "SitemapStarted" for event in events) <= 8


def test_a_proxy_that_is_dead_says_nothing_about_the_host(port):
    response = error("http://h.invalid/", proxy=f"http://127.0.0.1:{port}")
    assert sorted_as(response) == (None, False, False, False, None)


# Redirects ------------------------------------------------------------------------------------------


@together("target", ["/loop", "http://[broken/", "ftp://h/x", "http://127.0.0.1:0/"])
def test_a_redirect_that_leads_nowhere_is_an_error(serve, target):
    site = serve({"/loop": Answer(redirect=target)})
    assert sorted_as(error(site.url("/loop")))[1:3] == (False, False)
    if target == "/loop":
        assert site.hits["/loop"] <= 42


@together("kind", OURS)
@together("status", [301, 302, 303, 307, 308])
def test_redirects_of_every_kind_are_followed(serve, kind, status):
    site = serve({"/a": Answer(redirect="b?x=1#part", status=status), "/b?x=1": "there"})
    response = respond(kind, site.url("/a"))
    assert response.url().partition("#")[0] == site.url("/b?x=1")
    assert response.redirects() == (site.url("/a"),)


@together("status", [300, 302, 304, 305])
def test_a_redirect_without_an_address_is_an_error(serve, status):
    assert error(serve({"/a": Answer("", status)}).url("/a")).status == status


@together("target", ["http://127.0.0.3:9/", "http://127.0.0.1:9/", "full", "silent"])
def test_a_redirect_to_a_dead_host_says_nothing_about_the_host_that_was_asked(serve, target):
    gate = threading.Event()
    with full_house() as port:
        where = {"full": f"http://127.0.0.1:{port}/", "silent": "{alt}/y"}.get(target, target)
        site = serve({"/x": Answer(redirect=where), "alt:/y": Answer("late", gate=gate)})
        response = error(site.url("/x"), timeout=(0.3, 0.3))
        gate.set()
    assert (response.unreachable, response.silent) == (False, False)


def test_it_costs_only_the_document_that_redirects(serve):
    names = [f"/{n}.xml" for n in range(30)]
    site = serve({name: urlset(f"/of{name}") for name in names} | {"/i.xml": index("/x", *names)})
    site.answers["/x"] = Answer(redirect="http://127.0.0.1:9/")
    tree = asyncio.run(usp.aio.sitemap_tree_for_sitemap(site.url("/i.xml")))
    assert paths(tree, site.base) == [f"/of{name}" for name in names]


# What libraries raise -------------------------------------------------------------------------------


@together(
    ("raised", "retryable", "unreachable"),
    [
        (requests.ConnectTimeout("slow"), False, True),
        (requests.ReadTimeout("slow"), True, False),
        (requests.exceptions.SSLError("no certificate"), False, False),
        (requests.ConnectionError(), False, False),
        (requests.ConnectionError(urllib3.exceptions.ProtocolError("aborted")), True, False),
        (requests.TooManyRedirects("round and round"), False, False),
        (requests.exceptions.InvalidURL("what"), False, False),
        (urllib3.exceptions.LocationParseError("what"), False, False),
        (UnicodeError("label too long"), False, False),
        (OSError("could not find a suitable TLS CA certificate bundle"), False, False),
    ],
)
def test_what_requests_raises_is_returned_and_sorted(monkeypatch, raised, retryable, unreachable):
    def get(*_, **__):
        raise raised

    client = RequestsWebClient()
    monkeypatch.setattr(client._session, "get", get)
    response = client.get("http://h/")
    assert (response.retryable(), response.unreachable) == (retryable, unreachable)
    invalid = isinstance(raised, ValueError)  # of a URL, as all of these are
    assert ("not a valid URL" if invalid else str(raised)) in response.message()


@together(
    ("raised", "facts"),
    [
        (aiohttp.ServerDisconnectedError(), (None, True, False, False, None)),
        (aiohttp.ClientOSError(104, "reset"), (None, True, False, False, None)),
        (aiohttp.SocketTimeoutError("slow"), (None, True, False, True, None)),
        (aiohttp.ConnectionTimeoutError("slow"), (None, False, True, False, None)),
        (TimeoutError(), (None, True, False, True, None)),
        (aiohttp.InvalidURL("what"), (None, False, False, False, None)),
        (OSError("what"), (None, False, False, False, None)),
        (UnicodeError("label too long"), (None, False, False, False, None)),
    ],
)
def test_what_aiohttp_raises_is_returned_and_sorted(raised, facts):
    class Session:
        headers: ClassVar = {}

        async def get(self, *_, **__):
            raise raised

    assert sorted_as(asyncio.run(AiohttpWebClient(session=Session()).get("http://h/"))) == facts
