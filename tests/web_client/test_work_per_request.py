"""What is the same for many requests is done once, and what differs is still sent as it is."""

from __future__ import annotations

import sys

import pytest
import requests
from both import fetch

from usp.limits import Limits
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import Gate
from website import Answer

CALLS = 340  # Python functions that are called for one small response, those of libraries included


@pytest.fixture
def site(serve):
    return serve({f"/{number}": f"body {number}" for number in range(30)})


def bodies(count):
    return [f"body {number}".encode() for number in range(count)]


@pytest.mark.parametrize("kind", ["requests", "aiohttp"])
def test_a_connection_is_checked_once(site, monkeypatch, kind):
    checked = []
    real = Gate.connected

    def connected(self, host, address):
        checked.append((host, address))
        real(self, host, address)

    monkeypatch.setattr(Gate, "connected", connected)
    urls = [site.url(f"/{number}") for number in range(5)]
    assert fetch(kind, *urls, start=site.url("/"), limits=Limits()) == bodies(5)
    assert checked == [("127.0.0.1", "127.0.0.1")]


def test_a_header_that_differs_is_sent_as_it_is(site):
    """Also when more of them were sent on one connection than it remembers."""
    client = RequestsWebClient()
    client.set_conditions(
        {(site.url(f"/{n}"),) * 2: {"If-None-Match": f'"{n}"'} for n in range(30)}
    )
    assert [client.get(site.url(f"/{n}")).raw_data() for n in range(30)] == bodies(30)
    sent = [request.headers["If-None-Match"] for request in site.requests]
    assert sent == [f'"{n}"' for n in range(30)]
    assert {request.headers["Accept"] for request in site.requests} == {"*/*"}


def test_a_header_that_is_added_to_a_session_in_use_is_sent(site):
    client = RequestsWebClient()
    client.get(site.url("/0")).raw_data()
    client._session.headers["Accept-Language"] = "de"
    client.get(site.url("/1")).raw_data()
    client._session.headers = {"Accept-Language": "fr"}
    client.get(site.url("/2")).raw_data()
    languages = [request.headers.get("Accept-Language") for request in site.requests]
    assert languages == [None, "de", "fr"]


def test_headers_of_one_name_are_joined(serve):
    site = serve({"/a": Answer("text", headers={"X-Many": "a\r\nx-many: b"})})
    response = RequestsWebClient().get(site.url("/a"))
    assert response.header("X-MANY") == "a, b"
    assert response.header("X-None") is None
    assert dict(response.headers())["X-Many"] == "a, b"
    assert response.raw_data() == b"text"


def test_responses_share_nothing_and_lack_nothing(site):
    client = RequestsWebClient()
    one, other = (client.get(site.url(path))._response for path in ("/1", "/2"))
    assert type(one) is requests.Response
    assert vars(one).keys() >= vars(requests.Response()).keys()
    assert one.history == other.history == []
    assert one.history is not other.history
    assert (one.content, other.content) == (b"body 1", b"body 2")


def test_one_more_request_costs_few_calls(site):
    client = RequestsWebClient()

    def calls(requests):
        count = 0

        def note(_frame, event, _argument):
            nonlocal count
            count += event == "call"

        before = sys.getprofile()
        sys.setprofile(note)
        try:
            for number in range(requests):
                response = client.get(site.url(f"/{number}"))
                assert b"".join(response.body())
                response.close()
        finally:
            sys.setprofile(before)
        return count

    calls(2)  # what is found out once is found out now
    few, many = calls(10), calls(30)
    assert (many - few) / 20 <= CALLS
