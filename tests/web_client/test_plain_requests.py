"""A plain request goes straight to the adapter; whatever somebody has set or replaced is still used."""

from __future__ import annotations

import pytest
import requests
from hypothesis import given
from hypothesis import strategies as st

from usp._base import urls
from usp._base.urls import BadUrl, read_url
from usp._http.requests_sessions import Session
from usp.web_client.requests_client import RequestsWebClient


@pytest.fixture
def site(serve):
    return serve({"/a": "plain", "/a?b=c": "with a query"})


@pytest.fixture
def plain(monkeypatch) -> list[str]:
    """What was asked for plainly."""
    asked = []
    real = Session.get_plainly

    def get_plainly(session, url, *args):
        asked.append(url)
        return real(session, url, *args)

    monkeypatch.setattr(Session, "get_plainly", get_plainly)
    return asked


def test_what_nobody_has_touched_is_plain(site, plain):
    client = RequestsWebClient()
    assert client.get(site.url("/a")).raw_data() == b"plain"
    assert client.get(site.url("/a?b=c")).raw_data() == b"with a query"
    assert plain == [site.url("/a"), site.url("/a?b=c")]
    sent = {name.lower() for name in site.requests[0].headers}
    assert sent == {"host", "user-agent", "accept-encoding", "accept", "connection"}


def test_a_fragment_is_not_asked_for(site, plain):
    assert RequestsWebClient().get(site.url("/a#b")).raw_data() == b"plain"
    assert plain


def change_auth(session: requests.Session) -> None:
    session.auth = ("user", "word")


def change_params(session: requests.Session) -> None:
    session.params = {"k": "v"}


def change_cookies(session: requests.Session) -> None:
    session.cookies.set("k", "v")


def change_hooks(session: requests.Session) -> None:
    session.hooks["response"] = [lambda response, **_: None]


def add_a_secret(session: requests.Session) -> None:
    session.headers["X-Api-Key"] = "k"


def replace_a_method(session: requests.Session) -> None:
    session.send = session.send  # type: ignore[method-assign]


@pytest.mark.parametrize(
    "change",
    [change_auth, change_params, change_cookies, change_hooks, add_a_secret, replace_a_method],
)
def test_a_session_with_something_of_its_own_is_not(site, plain, change):
    site.answers["/a?k=v"] = "plain"
    client = RequestsWebClient()
    change(client._session)
    assert client.get(site.url("/a")).raw_data() == b"plain"
    assert plain == []


@pytest.mark.parametrize("method", ["get", "request", "send"])
def test_a_method_that_somebody_has_replaced_is_called(site, plain, monkeypatch, method):
    called = []
    real = getattr(requests.Session, method)

    def instead(self, *args, **options):
        called.append(method)
        return real(self, *args, **options)

    monkeypatch.setattr(requests.Session, method, instead)
    assert RequestsWebClient().get(site.url("/a")).raw_data() == b"plain"
    assert called == [method]
    assert plain == []


def test_an_adapter_that_somebody_has_replaced_is_used(site, monkeypatch):
    """As the libraries do that answer in the place of the network."""
    answered = []

    def send(self, request, **options):
        answered.append((request.method, request.url, sorted(options)))
        response = requests.Response()
        response.status_code = 404
        return response

    monkeypatch.setattr(requests.adapters.HTTPAdapter, "send", send)
    assert RequestsWebClient().get("http://elsewhere.example/x").status == 404
    ((method, url, options),) = answered
    assert (method, url) == ("GET", "http://elsewhere.example/x")
    assert {"stream", "timeout", "verify", "cert", "proxies"} == set(options)


def test_the_logins_of_the_user_s_netrc_are_used(site, plain, monkeypatch, tmp_path):
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1\nlogin user\npassword word\n")
    monkeypatch.setenv("NETRC", str(file))
    RequestsWebClient().get(site.url("/a"))
    assert site.requests[0].headers["Authorization"].startswith("Basic ")
    assert plain == []


def test_a_pool_that_was_closed_to_make_room_is_opened_again(serve):
    sites = [serve({"/a": str(number)}) for number in range(12)]
    client = RequestsWebClient()
    for _ in range(2):
        found = [client.get(site.url("/a")).raw_data() for site in sites]
        assert found == [str(number).encode() for number in range(12)]


URLS = st.text("az/.:?&=%#@!~-+()[]|é 0", max_size=12)


@given(rest=URLS)
def test_what_is_written_as_it_is_would_be_written_so_anyway(rest):
    url = f"http://h.example:81/{rest}"
    try:
        written = read_url(url).text()
    except BadUrl:
        return
    assert written == urls._escaped(urls._escaped(url.rstrip()))
