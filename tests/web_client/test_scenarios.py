"""One table of what servers send: every client of ours has the same outcome, and goes on unharmed."""

import itertools
import pickle
import re
import socket
import threading
import time

import pytest
from both import KINDS, OURS, fetch, reset, respond, speaking
from hypothesis import given
from hypothesis import strategies as st
from scenarios import BODY, GROUPS, TABLE, Broken, Case, chunked, moved, ok, serving, sized

from together import together
from usp._http.http1 import BadResponse, ResponseReader
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse, failure_reason

PATIENCE = (60, 60)


def outcome(result: object) -> object:
    """Return what a client made of a response, as the table has it."""
    if isinstance(result, WebClientErrorResponse):
        return str(failure_reason(result).code)
    return (
        Broken(str(result.reason.code), result.kept) if isinstance(result, BrokenBody) else result
    )


@pytest.mark.parametrize("kind", OURS)
@pytest.mark.parametrize("group", GROUPS)
def test_a_response_has_one_outcome_and_the_next_one_is_not_harmed(kind, group):
    @together("name", GROUPS[group])
    def check(name):
        has_its_outcome(kind, GROUPS[group][name])

    check()


def has_its_outcome(kind, case):
    with serving(case) as (url, connections):
        first, second = fetch(kind, url, f"{url}next", start=url, timeout=PATIENCE)
    assert outcome(first) == case.outcome
    assert second == b"next"
    if case.connections is not None:
        assert connections[0] == case.connections


@together("kind", OURS)
@together("name", ["length: 0", "length: twice", "chunks: ordinary", "without body: 204 alone"])
def test_what_arrives_late_is_not_taken_for_the_next_response(kind, name):
    case, over = TABLE[name], threading.Event()

    def talk(connection: socket.socket) -> None:
        connection.sendall(case.sent)
        if not over.is_set():
            time.sleep(0.05)  # the client has read the response by then
            connection.sendall(sized(body=b"wrong"))
            over.set()
        connection.recv(65536)
        connection.sendall(sized(body=b"wrong, too"))

    with speaking(talk) as url:
        results = fetch(
            kind, url, url, start=url, timeout=PATIENCE, each=lambda _: over.wait(PATIENCE[0])
        )
    assert results == [case.outcome, case.outcome]


@together("kind", OURS)
def test_headers_are_the_same_whoever_receives_them(kind):
    sent = sized("X-Many: a", "x-many: b", "Folded: a", "  b", "Empty:", b"UTF-8: \xc3\xbc")
    told = {
        "X-Many": "a, b", "Folded": "a b", "Empty": "", "UTF-8": "\xc3\xbc", "Content-Length": "10"
    }  # fmt: skip

    with serving(Case(sent, BODY)) as (url, _):
        response = respond(kind, url)
    assert dict(response.headers()) == told
    assert response.header("x-MANY") == "a, b"


# A connection that is cut ----------------------------------------------------------------------------

HEADS = {
    "a document": ok("Content-Type: text/xml", body=b""),
    "a document of a length": ok("Content-Type: text/xml", "Content-Length: 10", body=b""),
    "nothing": ok("Content-Length: 0", body=b""),
    "chunks": chunked(),
    "HTTP/1.0": ok("Content-Type: text/xml", body=b"", status="HTTP/1.0 200 OK"),
    "line ends of LF": ok("Content-Type: text/xml", body=b"", end="\n"),
    "a redirect": moved("/there"),
    "a redirect to a place that is there when cut": moved("/there/is/more"),
    "an error": ok("Content-Length: 0", body=b"", status="HTTP/1.1 404 Not Found"),
    "an interim response": b"HTTP/1.1 103 Early Hints\r\nX: y\r\n\r\nHTTP/1.1 200 OK\r\n\r\n",
}


@pytest.mark.long
@pytest.mark.parametrize("kind", OURS)
@together("name", HEADS)
def test_a_head_that_is_cut_anywhere_is_a_closed_connection_and_worth_another_try(kind, name):
    for at in range(len(HEADS[name])):
        sent = HEADS[name][:at]
        with serving(Case(sent, "connection-closed")) as (url, _):
            (result,) = fetch(kind, url, start=url, timeout=PATIENCE)
        assert outcome(result) == "connection-closed", sent
        assert result.retryable(), sent
        assert not result.unreachable


@pytest.mark.long
@together("name", HEADS)
def test_a_session_of_the_user_takes_no_cut_head_for_a_document(name):
    """As far as its library shows it: not in HTTP/1.0, and not after the length of the body."""
    if name in ("HTTP/1.0", "an interim response"):
        pytest.skip("http.client takes such a head for a complete one")
    head = HEADS[name]
    for at in range(len(head)):
        with serving(Case(head[:at], "connection-closed")) as (url, _):
            (result,) = fetch("requests, own session", url, start=url, timeout=PATIENCE)
        if b"chunked" in head[:at]:
            assert isinstance(result, BrokenBody)
        elif not re.search(rb"Content-Length: [0-9]", head[:at]):
            assert outcome(result) == "connection-closed", head[:at]
            assert result.retryable(), head[:at]


HANDSHAKES = {
    "closed": (lambda _: None, "connection-closed"),
    "reset": (reset, "connection-closed"),
    "cut": (lambda one: one.sendall(b"\x16\x03\x03\x00\x7a\x02"), "connection-closed"),
    "closed in words": (lambda one: one.sendall(b"\x15\x03\x03\0\2\1\0"), "connection-closed"),
    "refused in words": (lambda one: one.sendall(b"\x15\x03\x03\0\2\2\x28"), "tls-error"),
    "HTTP": (lambda one: one.sendall(sized()), "tls-error"),
    "junk": (lambda one: one.sendall(b"junk" * 10), "tls-error"),
}


@together("kind", KINDS)
@together("name", HANDSHAKES)
def test_a_handshake_that_fails_is_worth_another_try_if_the_connection_was_closed(kind, name):
    talk, code = HANDSHAKES[name]
    with speaking(talk) as url:
        there = url.replace("http:", "https:")
        (result,) = fetch(kind, there, start=there, timeout=PATIENCE)
    assert outcome(result) == code
    assert result.retryable() == (code == "connection-closed")
    assert not result.unreachable


# The reader alone -----------------------------------------------------------------------------------


def read(pieces: list[bytes]) -> tuple[object, ...]:
    """Return what the reader makes of a response that arrives in pieces, and is closed then."""
    reader, body = ResponseReader(), b""
    try:
        for piece in pieces:
            body += reader.feed(piece)
    except BadResponse as error:
        return error.code, error.text
    reader.end()
    error = reader.error
    return reader.head, body, error and error.code, reader.is_over, reader.has_excess


@together("name", TABLE)
def test_it_does_not_matter_in_which_pieces_a_response_arrives(name):
    sent = TABLE[name].sent
    for size in (1, 7) if len(sent) < 2000 else (7,):
        assert read([sent[at : at + size] for at in range(0, len(sent), size)]) == read([sent])


_SPLICED = st.lists(
    st.sampled_from([case.sent for case in TABLE.values() if len(case.sent) < 300])
    | st.binary(max_size=8)
    | st.sampled_from([b"\r\n", b"\n", b"\r", b" ", b":", b"\0", b"HTTP/1.1 ", b"0", b"a", b";"]),
    min_size=1,
    max_size=4,
)


@given(_SPLICED, st.lists(st.integers(0, 600), max_size=6), st.randoms())
def test_nor_does_it_for_a_damaged_one(parts, cuts, chance):
    sent = bytearray(b"".join(parts))
    for _ in range(chance.randint(0, 3)):
        if sent:
            sent[chance.randrange(len(sent))] = chance.choice(b"\r\n\0 :,;0aHT1")
    data = bytes(sent)
    places = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    assert read([data[a:b] for a, b in itertools.pairwise(places)]) == read([data])


@together("name", ["length: 0", "chunks: ordinary", "chunks: very long"])
def test_what_comes_after_the_end_is_not_kept(name):
    reader = ResponseReader()
    reader.feed(TABLE[name].sent)
    assert [reader.feed(b"x" * 1000) for _ in range(10)] == [b""] * 10
    assert reader.has_excess
    assert b"xxx" not in pickle.dumps(vars(reader) | {"_steps": None})
