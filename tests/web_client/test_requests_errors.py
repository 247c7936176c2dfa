"""Errors of the client on ``requests``: what they are called, and whether to ask again."""

from __future__ import annotations

import datetime as dt
import email.utils
import socket
import threading

import pytest
import requests
import urllib3.exceptions

from usp._http.flow import retry_after
from usp.web_client.abstract_client import RETRYABLE_HTTP_STATUS_CODES, WebClientErrorResponse
from usp.web_client.requests_client import (
    RequestsWebClient,
    RequestsWebClientErrorResponse,
    RequestsWebClientSuccessResponse,
)
from website import Answer


@pytest.fixture
def client():
    client = RequestsWebClient()
    yield client
    client.close()


def error(client, url) -> WebClientErrorResponse:
    response = client.get(url)
    assert isinstance(response, RequestsWebClientErrorResponse)
    assert isinstance(response, WebClientErrorResponse)
    assert response.message()
    return response


def test_the_statuses_that_may_pass_are_those_that_programs_know():
    assert set(RETRYABLE_HTTP_STATUS_CODES) == {
        400, 408, 429, 499, 500, 502, 503, 504, 509,
        520, 521, 522, 523, 524, 525, 526, 527, 530, 598,
    }  # fmt: skip


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
    serve, client, status, reason, message
):
    site = serve({"/x": Answer("", status, reason)})
    response = error(client, site.url("/x"))
    assert response.message().strip() == message
    assert response.status == status
    assert response.retryable() == (status in RETRYABLE_HTTP_STATUS_CODES)
    assert not response.unreachable


@pytest.mark.parametrize("status", [200, 201, 203, 206])
def test_every_2xx_is_a_success(serve, client, status):
    site = serve({"/x": Answer("body", status)})
    response = client.get(site.url("/x"))
    assert isinstance(response, RequestsWebClientSuccessResponse)
    assert response.status_code() == status
    assert response.raw_data() == b"body"


def test_after_an_error_the_client_goes_on(serve, client):
    site = serve({"/x": Answer("no" * 10_000, 500), "/y": "yes"})
    error(client, site.url("/x"))
    assert client.get(site.url("/y")).raw_data() == b"yes"


def test_a_server_may_say_when_to_come_back(serve, client):
    site = serve({"/x": Answer("", 429, headers={"Retry-After": "7"})})
    assert error(client, site.url("/x")).retry_after == 7


def test_retry_after_is_a_number_of_seconds_or_a_date():
    soon = dt.datetime.now(dt.UTC) + dt.timedelta(seconds=100)
    assert 90 < retry_after(email.utils.format_datetime(soon, usegmt=True)) <= 100
    assert retry_after(" 120 ") == 120
    assert retry_after("0") == 0
    assert retry_after("Wed, 21 Oct 2015 07:28:00 GMT") == 0


@pytest.mark.parametrize("text", ["", "soon", "-5", "1.5", "²", "Mon, 99 Foo 2020", "9" * 400])
def test_a_retry_after_that_makes_no_sense_raises_nothing(text):
    value = retry_after(text)
    assert value is None or value >= 0


def test_no_retry_after_is_none():
    assert retry_after(None) is None


def test_a_port_where_nobody_listens_means_the_host_is_not_reachable(client):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    response = error(client, f"http://127.0.0.1:{port}/")
    assert response.unreachable
    assert not response.retryable()


def test_a_name_that_does_not_exist_means_the_host_is_not_reachable(client, monkeypatch):
    def unknown(*_, **__):
        raise socket.gaierror(-2, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    response = error(client, "http://nowhere.invalid/")
    assert response.unreachable
    assert not response.retryable()


def test_a_connection_that_is_reset_may_work_the_next_time(serve, client):
    site = serve({"/x": [Answer(hang_up=True), "fine"]})
    response = error(client, site.url("/x"))
    assert response.retryable()
    assert not response.unreachable
    assert client.get(site.url("/x")).raw_data() == b"fine"


@pytest.mark.parametrize(
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
def test_what_requests_raises_is_returned_and_sorted(
    monkeypatch, client, raised, retryable, unreachable
):
    def get(*_, **__):
        raise raised

    monkeypatch.setattr(client._session, "get", get)
    response = error(client, "http://h/")
    assert (response.retryable(), response.unreachable) == (retryable, unreachable)
    invalid = isinstance(raised, ValueError)  # of a URL, as all of these are
    assert ("not a valid URL" if invalid else str(raised)) in response.message()


@pytest.mark.parametrize(
    "url",
    [
        "http://*.example.org/", "http://127.0.0.1:99999/x", "http://[broken/", "http://", "nonsense",
        "http://" + "a" * 70 + ".invalid/", "http://.invalid/", "http://\udcff/",
    ],
)  # fmt: skip
def test_a_url_that_cannot_be_asked_for_is_an_error_and_raises_nothing(client, monkeypatch, url):
    real = socket.getaddrinfo

    def local_only(host, *args, **options):
        if host != "127.0.0.1":
            raise socket.gaierror(-2, "Name or service not known")
        return real(host, *args, **options)

    monkeypatch.setattr(socket, "getaddrinfo", local_only)
    assert not error(client, url).retryable()


@pytest.mark.parametrize("target", ["/loop", "http://[broken/", "ftp://h/x", "http://127.0.0.1:0/"])
def test_a_redirect_that_leads_nowhere_is_an_error(serve, client, target):
    site = serve({"/loop": Answer(redirect=target)})
    assert not error(client, site.url("/loop")).retryable()


def test_a_redirect_to_a_dead_host_does_not_make_the_first_host_dead(serve, client):
    """``unreachable`` is about the host that was asked, and that one has answered."""
    site = serve({})
    site.answers["/x"] = Answer(redirect="http://127.0.0.1:9/")
    assert not error(client, site.url("/x")).unreachable


def test_an_answer_that_is_not_http_is_an_error(client):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

        def serve_once() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1000)
                connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n")

        thread = threading.Thread(target=serve_once)
        thread.start()
        error(client, f"http://127.0.0.1:{port}/")
        thread.join(60)


@pytest.mark.parametrize("url", [None, 5, b"http://h/", "", "h"])
def test_what_is_not_a_url_is_an_error_that_will_not_pass(client, url):
    assert not error(client, url).retryable()
