"""The flow of requests that both clients obey, driven by hand: nothing is sent here."""

from __future__ import annotations

import copy
import pickle

import pytest

from usp._http.flow import Arrived, Flow, Head, Kind, Request, Session
from usp._http.identity import Identity
from usp.limits import Limits
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.zones import Refused

A = "http://a.example/sitemap.xml"
FOUND = Head(200, "OK", {})


def other(_: Exception) -> Kind:
    return Kind.OTHER


def flow(kind=other, limits=None, **headers) -> Flow:
    return Flow(Identity("me", headers), None, kind).for_crawl(A, limits or Limits())


def to(location: str, *cookies: str) -> Head:
    return Head(302, "Found", {}, location.encode(), cookies)


def play(flow: Flow, *answers, url: str = A, session: Session | None = None) -> list:
    """Return the requests that are sent for a URL, and how that ends."""
    exchange = flow.exchange(url, session or Session())
    steps = [next(exchange)]
    for answer in answers:
        assert isinstance(steps[-1], Request)
        failed = isinstance(answer, Exception)
        steps.append(exchange.throw(answer) if failed else exchange.send(answer))
    return steps


def test_an_answer_ends_the_exchange():
    request, end = play(flow(), FOUND)
    assert (request.text, request.is_home, request.is_first) == (A, True, True)
    assert isinstance(end, Arrived)
    assert (end.asked, end.url) == (A, A)
    assert [(hop.url, hop.status) for hop in end.hops] == [(A, 200)]


def test_redirects_are_followed_and_remembered():
    *_, last, end = play(flow(), to("/b"), to("http://b.example/c"), FOUND)
    assert (last.text, last.is_home, last.is_first) == ("http://b.example/c", False, False)
    assert [hop.url for hop in end.hops] == [A, "http://a.example/b", end.url]
    assert end.url == "http://b.example/c"


def test_secrets_stay_with_the_host_of_the_start():
    here, there, back, _ = play(
        flow(**{"X-Key": "1"}), to("http://b.example/"), to("http://a.example/"), FOUND
    )
    assert [request.headers.get("X-Key") for request in (here, there, back)] == ["1", None, "1"]


@pytest.mark.parametrize("has_login", [False, True])
def test_a_session_that_logs_in_needs_no_login_of_the_address(has_login):
    url = "http://user:secret@a.example/sitemap.xml"
    request, _ = play(flow(), FOUND, url=url, session=Session(has_login=has_login))
    assert ("Authorization" in request.headers) is not has_login
    assert "secret" not in request.text


def test_cookies_go_back_to_the_host_that_set_them():
    _, same, elsewhere, _ = play(flow(), to("/b", "k=v"), to("http://b.example/"), FOUND)
    assert same.headers["Cookie"] == "k=v"
    assert "Cookie" not in elsewhere.headers


def test_what_is_not_an_answer_is_a_failure_with_its_status():
    _, end = play(flow(), Head(503, "", {"Retry-After": "7"}))
    assert isinstance(end, WebClientErrorResponse)
    assert (end.message(), end.status, end.retry_after) == ("503 Service Unavailable", 503, 7)
    assert end.retryable()


def test_a_redirect_without_a_location_leads_nowhere():
    _, end = play(flow(), Head(302, "Found", {}))
    assert end.message() == "302 Found"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Kind.UNREACHABLE, (False, True, False)),
        (Kind.SILENT, (True, False, True)),
        (Kind.ABORTED, (True, False, False)),
        (Kind.OTHER, (False, False, False)),
    ],
)
def test_what_an_exception_means_is_decided_by_its_kind(kind, expected):
    _, end = play(flow(lambda _: kind), OSError("it broke"))
    assert (end.retryable(), end.unreachable, end.silent) == expected
    assert end.message() == "it broke"


def test_what_happens_at_another_host_says_nothing_about_the_one_asked():
    *_, end = play(flow(lambda _: Kind.UNREACHABLE), to("http://b.example/"), OSError("it broke"))
    assert not end.unreachable


def test_after_the_deadline_every_exception_means_that():
    *_, end = play(flow(lambda _: Kind.ABORTED, Limits(document_seconds=0)), OSError("it broke"))
    assert "document_seconds" in end.message()
    assert not end.retryable()


def test_an_answer_from_a_forbidden_address_is_refused():
    public = Head(302, "Found", {}, b"http://b.example/", peer="93.184.216.34")
    *_, end = play(flow(), public, Head(200, "OK", {}, peer="127.0.0.1"))
    assert "refused to connect to b.example at 127.0.0.1" in end.message()


def test_addresses_are_judged_before_anything_is_sent():
    begun = flow()
    with pytest.raises(Refused):
        begun.admit("b.example", ["192.168.0.1"])
    with pytest.raises(Refused):
        begun.admit("router", None)
    begun.admit("b.example", None)


def test_a_head_that_is_too_long_is_a_failure():
    _, end = play(flow(), Head(200, "OK", {"X-Long": "x" * 40_000}))
    assert end.message() == "the headers of the response are too many or too large"


@pytest.mark.parametrize("again", [copy.copy, lambda flow: pickle.loads(pickle.dumps(flow))])
def test_a_copy_has_not_learned_where_the_original_began(again):
    first = Flow(Identity(None, None), None, other)
    first.admit("127.0.0.1", [])
    first.gate.begin("http://127.0.0.1/")
    first.admit("127.0.0.1", ["127.0.0.1"])
    with pytest.raises(Refused):
        again(first).admit("127.0.0.1", ["127.0.0.1"])
