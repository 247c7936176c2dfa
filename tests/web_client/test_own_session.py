"""A request to which nothing is added goes straight to urllib3; whatever somebody has set is still used."""

from __future__ import annotations

from functools import partial

import pytest
from both import fetch
from hypothesis import given
from hypothesis import strategies as st

from patience import calls
from together import together
from usp._base import urls
from usp._base.urls import BadUrl, read_url
from usp._http.requests_own import OwnSession
from usp.limits import Limits
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import AddressGate

CALLS = 300  # Python functions that are called for one small response, those of libraries included


@pytest.fixture
def site(serve):
    return serve(
        {"/a": "plain", "/a?b=c": "with a query"} | {f"/{n}": f"body {n}" for n in range(30)}
    )


@pytest.fixture
def direct(monkeypatch) -> list[str]:
    """What was asked for without requests."""
    asked, real = [], OwnSession.get

    def get(session, url, text, *args):
        asked.append(text)
        return real(session, url, text, *args)

    monkeypatch.setattr(OwnSession, "get", get)
    return asked


def bodies(count):
    return [f"body {number}".encode() for number in range(count)]


def test_what_nobody_has_touched_is_asked_for_directly(site, direct):
    paths = {"/a": b"plain", "/a?b=c": b"with a query", "/a#b": b"plain"}
    client = RequestsWebClient()
    assert [client.get(site.url(path)).raw_data() for path in paths] == list(paths.values())
    assert direct == [site.url(path) for path in paths]
    sent = {name.lower() for name in site.requests[0].headers}
    assert sent == {"host", "user-agent", "accept-encoding", "accept", "connection"}


CHANGES = {
    "auth": lambda session: setattr(session, "auth", ("user", "word")),
    "params": lambda session: setattr(session, "params", {"k": "v"}),
    "cookies": lambda session: session.cookies.set("k", "v"),
    "hooks": lambda session: session.hooks.update(response=[lambda response, **_: None]),
    "a secret": lambda session: session.headers.update({"X-Api-Key": "k"}),
    "a method": lambda session: setattr(session, "send", session.send),
}


@together("change", CHANGES)
def test_a_session_with_something_of_its_own_is_used(site, direct, change):
    site.answers["/a?k=v"] = "plain"
    client = RequestsWebClient()
    CHANGES[change](client._session)
    assert client.get(site.url("/a")).raw_data() == b"plain"
    assert direct == []


def test_the_logins_of_the_user_s_netrc_are_used(site, direct, monkeypatch, tmp_path):
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1\nlogin user\npassword word\n")
    monkeypatch.setenv("NETRC", str(file))
    RequestsWebClient().get(site.url("/a"))
    assert site.requests[0].headers["Authorization"].startswith("Basic ")
    assert direct == []


@given(rest=st.text("az/.:?&=%#@!~-+()[]|é 0", max_size=12))
def test_what_is_written_as_it_is_would_be_written_so_anyway(rest):
    url = f"http://h.example:81/{rest}"
    try:
        written = read_url(url).text()
    except BadUrl:
        return
    assert written == urls._escaped(urls._escaped(url.rstrip()))


# What is the same for many requests is done once, and what differs is still sent as it is ----------


@together("kind", ["requests", "aiohttp"])
def test_a_connection_is_checked_once(site, monkeypatch, kind):
    checked, real = [], AddressGate.connected

    def connected(self, host, address):
        checked.append((host, address))
        real(self, host, address)

    monkeypatch.setattr(AddressGate, "connected", connected)
    paths = [site.url(f"/{number}") for number in range(5)]
    assert fetch(kind, *paths, start=site.url("/"), limits=Limits()) == bodies(5)
    assert checked == [("127.0.0.1", "127.0.0.1")]


def test_a_header_that_differs_or_is_added_to_a_session_in_use_is_sent_as_it_is(site):
    client = RequestsWebClient()
    client.set_conditions(
        {(site.url(f"/{n}"),) * 2: {"If-None-Match": f'"{n}"'} for n in range(30)}
    )
    assert [client.get(site.url(f"/{n}")).raw_data() for n in range(30)] == bodies(30)
    sent = [request.headers["If-None-Match"] for request in site.requests]
    assert sent == [f'"{n}"' for n in range(30)]
    assert {request.headers["Accept"] for request in site.requests} == {"*/*"}
    client._session.headers["Accept-Language"] = "de"
    client.get(site.url("/1")).raw_data()
    client._session.headers = {"Accept-Language": "fr"}
    client.get(site.url("/2")).raw_data()
    languages = [request.headers.get("Accept-Language") for request in site.requests]
    assert languages[29:] == [None, "de", "fr"]


def test_one_more_request_costs_few_calls(site):
    client = RequestsWebClient()

    def read(requests):
        for number in range(requests):
            response = client.get(site.url(f"/{number}"))
            assert b"".join(response.body())
            response.close()

    read(2)  # what is found out once is found out now
    few, many = (calls(partial(read, requests)) for requests in (10, 30))
    assert (many - few) / 20 <= CALLS
