"""Heads in which nothing is odd are read at once: the same as ``http.client`` reads them."""

from __future__ import annotations

import http.client
import random
import socket

import pytest

from usp._http.requests_raw_responses import Answer

STATUSES = [
    "HTTP/1.1 200 OK",
    "HTTP/1.1 200",
    "HTTP/1.0 200 OK",
    "HTTP/1.1 404 Not Found",
    "HTTP/1.1 204 No Content",
    "HTTP/1.1 304 Not Modified",
]
FIELDS = [
    "Content-Length: 10",
    "content-length:10",
    "Content-Length: 5",
    "Content-Length: -1",
    "Content-Length: 10, 10",
    "Transfer-Encoding: chunked",
    "Connection: close",
    "Connection: keep-alive",
    "Keep-Alive: timeout=5",
    "Set-Cookie: a=b",
    "Set-Cookie: c=d",
    "X: two words ",
    "Empty:",
    "Name : with a blank",
    " folded: into the line before",
    "no field at all",
    "N\xe9: 1",
    "V: \xe9\x85",
    "Control: \x01",
    "Separator: \x1c1",
]


def read(kind: type[http.client.HTTPResponse], head: bytes, method: str = "GET") -> object:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(head + b"0123456789")
        theirs.close()
        answer = kind(ours, method=method)
        try:
            answer.begin()
            facts = [answer.version, answer.status, answer.reason, answer.chunked, answer.length]
            return [*facts, answer.will_close, answer.headers.items(), answer.read()]
        except http.client.HTTPException as error:
            return type(error), str(error)
        finally:
            answer.close()


@pytest.mark.parametrize("seed", range(8))
def test_a_head_means_what_it_means_to_the_standard_library(seed):
    chance = random.Random(seed)
    for _ in range(100):
        lines = [chance.choice(STATUSES), *chance.choices(FIELDS, k=chance.randint(0, 5))]
        end = chance.choice(["\r\n", "\r\n", "\n"])
        head = end.join([*lines, "", ""]).encode("latin-1")
        assert read(Answer, head) == read(http.client.HTTPResponse, head), head


def test_a_plain_head_does_not_need_the_parser_for_mail(monkeypatch):
    monkeypatch.setattr(http.client, "parse_headers", None)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\nContent-Length: 10\r\n\r\n"
    assert read(Answer, head)[-1] == b"0123456789"


@pytest.mark.parametrize("method", ["HEAD", "POST"])
def test_other_methods_are_left_to_the_standard_library(method):
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n"
    assert read(Answer, head, method) == read(http.client.HTTPResponse, head, method)
