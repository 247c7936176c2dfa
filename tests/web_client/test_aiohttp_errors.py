"""Errors of the client on ``aiohttp``: sorted as those of the synchronous client are."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import ClassVar

import aiohttp
import pytest

import usp.aio
from usp.web_client.abstract_client import RETRYABLE_HTTP_STATUS_CODES, WebClientErrorResponse
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, paths, urlset


def ask(url: str, **options):
    async def fetch():
        client = AiohttpWebClient(**options)
        try:
            return await client.get(url)
        finally:
            await client.close()

    return asyncio.run(fetch())


def error(url: str, **options) -> WebClientErrorResponse:
    response = ask(url, **options)
    assert isinstance(response, WebClientErrorResponse)
    assert response.message()
    return response


def sorted_as(response: WebClientErrorResponse) -> tuple:
    return response.status, response.retryable(), response.unreachable, response.silent


@pytest.fixture
def same(serve):
    """Ask both clients, and see that they sort the error alike."""

    def compare(url: str, timeout: tuple[float, float] = (5, 5)) -> WebClientErrorResponse:
        mine = error(url, timeout=timeout)
        client = RequestsWebClient()
        client.set_timeout(timeout)
        theirs = client.get(url)
        client.close()
        assert sorted_as(mine) == sorted_as(theirs)
        assert mine.retry_after == theirs.retry_after
        return mine

    return compare


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


@pytest.mark.parametrize(
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
    serve, same, status, reason, message
):
    site = serve({"/x": Answer("", status, reason)})
    response = same(site.url("/x"))
    assert response.message().startswith(str(status))
    if reason is None or reason:
        assert response.message() == message
    assert response.status == status
    assert response.retryable() == (status in RETRYABLE_HTTP_STATUS_CODES)
    assert not response.unreachable


@pytest.mark.parametrize("status", [200, 201, 203, 206])
def test_every_2xx_is_a_success(serve, status):
    site = serve({"/x": Answer("body", status)})
    assert ask(site.url("/x")).status_code() == status


@pytest.mark.parametrize("header", ["7", "0", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_server_may_say_when_to_come_back(serve, same, header):
    site = serve({"/x": Answer("", 503, headers={"Retry-After": header})})
    assert same(site.url("/x")).retry_after == {"7": 7, "soon": None}.get(header, 0)


def test_a_port_where_nobody_listens_means_the_host_is_not_reachable(same, port):
    response = same(f"http://127.0.0.1:{port}/")
    assert response.unreachable
    assert not response.retryable()


@pytest.mark.skipif(not socket.has_ipv6, reason="no IPv6")
def test_the_same_holds_for_an_address_in_brackets(same, port):
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError:
        pytest.skip("no IPv6 on loopback")
    assert same(f"http://[::1]:{port}/").unreachable


def test_the_same_holds_for_an_address_with_a_password(same, port):
    assert same(f"http://me:secret@127.0.0.1:{port}/").unreachable


def test_a_name_that_does_not_exist_means_the_host_is_not_reachable(same, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    response = same("http://Nowhere.invalid/")
    assert response.unreachable
    assert not response.retryable()


def test_a_host_that_does_not_pick_up_is_not_reachable(same):
    with full_house() as port:
        response = same(f"http://127.0.0.1:{port}/", (0.3, 5))
    assert response.unreachable


def test_a_host_that_does_not_answer_is_silent(serve, same):
    gate = threading.Event()
    site = serve({"/x": Answer("late", gate=gate)})
    response = same(site.url("/x"), (5, 0.2))
    gate.set()
    assert response.silent
    assert response.retryable()
    assert not response.unreachable


def test_a_connection_that_is_reset_may_work_the_next_time(serve, same):
    site = serve({"/x": Answer(hang_up=True)})
    response = same(site.url("/x"))
    assert response.retryable()
    assert not response.unreachable


def test_a_host_that_speaks_no_tls_is_there_all_the_same(serve, same):
    site = serve({"/x": "plain"})
    assert not same(site.url("/x").replace("http:", "https:")).retryable()


def test_an_answer_that_is_not_http_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")

        thread = threading.Thread(target=serve_once)
        thread.start()
        assert not error(f"http://127.0.0.1:{port}/").unreachable
        thread.join(60)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:99999/x", "http://[broken/", "http://", "nonsense", "ftp://h/", "",
        "http://" + "a" * 70 + ".invalid/", "http://.invalid/", "http://\udcff/", "http://a b/",
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_asked_for_is_an_error_and_raises_nothing(monkeypatch, url):
    real = socket.getaddrinfo

    def local_only(host, *args, **options):
        if host != "127.0.0.1":
            raise socket.gaierror(-2, "Name or service not known")
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", local_only)
    assert not error(url).retryable()


@pytest.mark.parametrize("target", ["/loop", "http://[broken/", "ftp://h/x", "http://127.0.0.1:0/"])
def test_a_redirect_that_leads_nowhere_is_an_error(serve, target):
    site = serve({"/loop": Answer(redirect=target)})
    response = error(site.url("/loop"))
    assert not response.retryable()
    assert not response.unreachable
    if target == "/loop":
        assert site.hits["/loop"] <= 21


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_redirects_of_every_kind_are_followed(serve, status):
    site = serve({"/a": Answer(redirect="b?x=1#part", status=status), "/b?x=1": "there"})
    response = ask(site.url("/a"))
    assert response.url().partition("#")[0] == site.url("/b?x=1")
    assert response.redirects() == (site.url("/a"),)


@pytest.mark.parametrize("status", [300, 302, 304, 305])
def test_a_redirect_without_an_address_is_an_error(serve, same, status):
    site = serve({"/a": Answer("", status)})
    assert same(site.url("/a")).status == status


def test_twenty_redirects_are_followed_and_no_more(serve, same):
    chain = {f"/{n}": Answer(redirect=f"/{n + 1}") for n in range(21)}
    site = serve(chain | {"/21": "there"})
    assert len(ask(site.url("/1")).redirects()) == 20
    assert not same(site.url("/0")).retryable()


# A redirect to a host that is dead says nothing about the host that was asked --------------------------


def test_a_redirect_to_another_dead_host_does_not_make_the_first_host_dead(serve, same):
    site = serve({})
    site.answers["/x"] = Answer(redirect="http://127.0.0.3:9/")
    assert not same(site.url("/x")).unreachable


def test_a_redirect_to_a_dead_port_does_not_make_the_first_host_dead(serve, same):
    site = serve({})
    site.answers["/x"] = Answer(redirect="http://127.0.0.1:9/")
    assert not same(site.url("/x")).unreachable


def test_a_redirect_to_a_host_that_does_not_pick_up_does_not_make_the_first_host_dead(serve, same):
    with full_house() as port:
        site = serve({"/x": Answer(redirect=f"http://127.0.0.1:{port}/")})
        assert not same(site.url("/x"), (0.3, 5)).unreachable


def test_a_redirect_to_a_silent_host_does_not_make_the_first_host_silent(serve, same):
    gate = threading.Event()
    site = serve({"/x": Answer(redirect="{alt}/y"), "alt:/y": Answer("late", gate=gate)})
    response = same(site.url("/x"), (5, 0.2))
    gate.set()
    assert not response.silent


def test_a_redirect_to_a_dead_port_costs_only_the_document_that_redirects(serve):
    names = [f"/{n}.xml" for n in range(30)]
    site = serve({name: urlset(f"/of{name}") for name in names} | {"/i.xml": index("/x", *names)})
    site.answers["/x"] = Answer(redirect="http://127.0.0.1:9/")
    tree = asyncio.run(usp.aio.sitemap_tree_for_sitemap(site.url("/i.xml")))
    assert paths(tree, site.base) == [f"/of{name}" for name in names]


def test_a_dead_host_is_given_up_once(port):
    events = []
    tree = asyncio.run(
        usp.aio.sitemap_tree_for_homepage(f"http://127.0.0.1:{port}/", on_event=events.append)
    )
    assert not tree.sub_sitemaps
    assert sum(type(event).__name__ == "SitemapStarted" for event in events) <= 8


def test_a_proxy_that_is_dead_says_nothing_about_the_host(port):
    response = error("http://h.invalid/", proxy=f"http://127.0.0.1:{port}")
    assert not response.unreachable
    assert not response.retryable()


@pytest.mark.parametrize(
    ("raised", "facts"),
    [
        (aiohttp.ServerDisconnectedError(), (None, True, False, False)),
        (aiohttp.ClientOSError(104, "reset"), (None, True, False, False)),
        (aiohttp.SocketTimeoutError("slow"), (None, True, False, True)),
        (aiohttp.ConnectionTimeoutError("slow"), (None, False, True, False)),
        (TimeoutError(), (None, True, False, True)),
        (aiohttp.InvalidURL("what"), (None, False, False, False)),
        (OSError("what"), (None, False, False, False)),
        (UnicodeError("label too long"), (None, False, False, False)),
    ],
)
def test_what_aiohttp_raises_is_returned_and_sorted(raised, facts):
    class Session:
        headers: ClassVar = {}

        async def get(self, *_, **__):
            raise raised

    assert sorted_as(error("http://h/", session=Session())) == facts


def test_after_an_error_the_client_goes_on(serve):
    site = serve({"/x": Answer("no" * 10_000, 500), "/y": "yes"})

    async def fetch():
        client = AiohttpWebClient()
        await client.get(site.url("/x"))
        response = await client.get(site.url("/y"))
        data = b"".join([piece async for piece in response.body()])
        await client.close()
        return data

    assert asyncio.run(fetch()) == b"yes"
