"""The flow of requests that both clients obey, driven by hand: nothing is sent here."""

from __future__ import annotations

import dataclasses
import pickle

import pytest

from together import together
from usp._http.flow import Arrived, ErrorKind, Flow, Head, Request, SessionFacts
from usp.limits import Limits
from usp.web_client.zones import Refused

A = "http://a.example/sitemap.xml"
FOUND = Head(200, "OK", {})


def other(_: Exception) -> ErrorKind:
    return ErrorKind.OTHER


def flow(kind=other, limits=None, **headers) -> Flow:
    return Flow(kind, user_agent="me", headers=headers).for_crawl(A, limits or Limits())


def to(location: str, *cookies: str) -> Head:
    return Head(302, "Found", {}, location.encode(), cookies)


def play(flow: Flow, *answers, url: str = A, session: SessionFacts | None = None) -> list:
    """Return the requests that are sent for a URL, and how that ends."""
    exchange = flow.exchange(url, session or SessionFacts())
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


@together("has_login", [False, True])
def test_a_session_that_logs_in_needs_no_login_of_the_address(has_login):
    url = "http://user:secret@a.example/sitemap.xml"
    request, _ = play(flow(), FOUND, url=url, session=SessionFacts(has_login=has_login))
    assert ("Authorization" in request.headers) is not has_login
    assert "secret" not in request.text


@together(
    ("kind", "expected"),
    [
        (ErrorKind.UNREACHABLE, (False, True, False)),
        (ErrorKind.SILENT, (True, False, True)),
        (ErrorKind.ABORTED, (True, False, False)),
        (ErrorKind.OTHER, (False, False, False)),
    ],
)
def test_what_an_exception_means_is_decided_by_its_kind(kind, expected):
    _, end = play(flow(lambda _: kind), OSError("it broke"))
    assert (end.retryable(), end.unreachable, end.silent) == expected
    assert end.message() == "it broke"


def test_addresses_are_judged_before_anything_is_sent():
    begun = flow()
    with pytest.raises(Refused):
        begun.admit("b.example", ["192.168.0.1"])
    with pytest.raises(Refused):
        begun.admit("router", None)
    begun.admit("b.example", None)


@together("again", [dataclasses.replace, lambda flow: pickle.loads(pickle.dumps(flow))])
def test_a_copy_has_not_learned_where_the_original_began(again):
    first = Flow(other)
    first.admit("127.0.0.1", [])
    first.gate.begin("127.0.0.1")
    first.admit("127.0.0.1", ["127.0.0.1"])
    with pytest.raises(Refused):
        again(first).admit("127.0.0.1", ["127.0.0.1"])
