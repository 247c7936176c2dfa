"""A failed request is explained in words for people, the same ones whichever client has asked."""

from __future__ import annotations

import contextlib
import errno
import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import aiohttp
import pytest
import requests
import urllib3.exceptions
from both import KINDS, fetch, reset, speaking

from together import together
from usp._http.failures import reason_of
from usp.web_client.abstract_client import BrokenBody, words_of

HEAD = b"HTTP/1.1 200 OK\r\n"
CUT_OFF = "the connection was closed before the end of the body"
PYTHONISMS = ("Errno", "object at", "ConnectionPool", "Error(", "', '", "retries", "<")


@contextlib.contextmanager
def sending(data: bytes, *, resets: bool = False, hold: bool = False, tls=None) -> Iterator[int]:
    """Send some bytes to whoever connects, and hang up: politely, by a reset, or late; gives the port."""
    over = threading.Event()

    def talk(connection: socket.socket) -> None:
        connection.sendall(data)
        if hold:
            over.wait(120)
        if resets:
            reset(connection)

    with speaking(talk, tls=tls) as url:
        yield urlsplit(url).port
        over.set()


@pytest.fixture
def raw():
    with contextlib.ExitStack() as stack:
        yield lambda data, **options: stack.enter_context(sending(data, **options))


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "*")


def words(kind: str, url: str, **options) -> str:
    """Fetch what must fail, and give why it did."""
    (result,) = fetch(kind, url, **options)
    said = str(result) if isinstance(result, BrokenBody) else words_of(result)
    assert not any(word in said for word in PYTHONISMS), said
    return said


@together("kind", KINDS)
def test_there_is_no_such_host(kind):
    assert words(kind, "http://tea.invalid/x").startswith("no such host: tea.invalid")
    assert words(kind, "https://tea.invalid:8443/x").startswith("no such host: tea.invalid")


@together("kind", KINDS)
def test_nobody_listens(kind):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        at = f"127.0.0.1:{free.getsockname()[1]}"
        assert words(kind, f"http://{at}/x") == f"connection refused by {at}"
        assert words(kind, f"https://{at}/x") == f"connection refused by {at} (try http://{at}/x)"
        assert words(kind, f"https://{at}/robots.txt").endswith(f"(try http://{at}/)")


@together("kind", KINDS)
def test_https_is_asked_for_where_there_is_http(kind, raw):
    at = f"127.0.0.1:{raw(b'HTTP/1.0 400 Bad Request' + b' ' * 50)}"
    assert words(kind, f"https://{at}/x") == f"{at} does not speak TLS (try http://{at}/x)"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs openssl to make a certificate")
@together("kind", KINDS)
def test_a_certificate_that_nobody_knows(kind, raw, tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "cert.pem"
    make = ["openssl", "req", "-x509", "-nodes", "-subj", "/CN=tea", "-newkey", "ec"]
    make += ["-pkeyopt", "ec_paramgen_curve:prime256v1"]
    subprocess.run(
        [*make, "-keyout", str(key), "-out", str(certificate)], check=True, capture_output=True
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    said = words(kind, f"https://127.0.0.1:{raw(HEAD, tls=context)}/x")
    assert said.startswith("the certificate of 127.0.0.1 is not trusted: self")
    assert "verify" in said


@together("kind", KINDS)
@together(
    ("answer", "resets", "said"),
    [
        (HEAD + b"Content-Length: 1000\r\n\r\n<urlset>", False, CUT_OFF),
        (HEAD + b"Content-Length: 1000\r\n\r\n<urlset>", True, CUT_OFF),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nff\r\n<urlset>", False, CUT_OFF),
        (b"", False, "127.0.0.1 closed the connection without a response"),
        (b"", True, "127.0.0.1 closed the connection without a response"),
        (b"220 ready for mail\r\n", False, "127.0.0.1:{port} does not speak HTTP"),
    ],
    ids=["short", "reset in the body", "short chunk", "closed", "reset", "not HTTP"],
)
def test_what_comes_is_no_use(kind, raw, answer, resets, said):
    port = raw(answer, resets=resets)
    assert words(kind, f"http://127.0.0.1:{port}/x") == said.format(port=port)


@together("kind", KINDS)
def test_nothing_comes_in_time(kind, raw):
    port = raw(b"", hold=True)
    said = words(kind, f"http://127.0.0.1:{port}/x", timeout=(5.0, 0.2))
    assert said == "no response from 127.0.0.1 within 0.2 seconds"
    port = raw(HEAD + b"Content-Length: 1000\r\n\r\n<urlset>", hold=True)
    said = words(kind, f"http://127.0.0.1:{port}/x", timeout=(5.0, 0.2))
    assert said == "no more data from 127.0.0.1 within 0.2 seconds"


@together("kind", ["requests", "requests, own session"])
def test_a_message_has_the_words_of_requests_after_ours(kind, raw):
    """Programs look for them; logs, trees and reports have ours alone."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        slow = f"http://127.0.0.1:{raw(b'', hold=True)}/x"
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/x"
        closed = f"http://127.0.0.1:{raw(b'')}/x"
        urls = [slow, "http://tea.invalid/x", nobody, closed]
        errors = fetch(kind, *urls, timeout=(5.0, 0.2))
    theirs = ["Read timed out", "Failed to resolve", "Failed to establish a new connection"]
    for error, words in zip(errors, [*theirs, "Connection aborted"], strict=True):
        ours, _, rest = error.message().partition(" (")
        assert words_of(error).startswith(ours)
        assert words in rest
        assert words not in words_of(error)


@together("kind", ["requests", "aiohttp"])
def test_a_proxy_that_wants_a_password_is_quoted(kind):
    said = b"HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
    with sending(said) as port:
        told = words(kind, "https://example.org/x", proxy=f"http://127.0.0.1:{port}")
    assert told == "the proxy cannot be used: it responded 407 Proxy Authentication Required"


@together("kind", KINDS)
def test_a_proxy_that_fails_is_named_and_not_the_website(kind):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        proxy = f"127.0.0.1:{free.getsockname()[1]}"
        said = words(kind, "https://example.org/x", proxy=f"http://{proxy}")
    assert said == f"the proxy cannot be used: connection refused by {proxy}"
    said = words(kind, "http://example.org/x", proxy="http://tea.invalid:3128")
    assert said.startswith("the proxy cannot be used: no such host: tea.invalid")


def test_the_innermost_cause_is_told_however_it_is_wrapped():
    unreachable = OSError(errno.ENETUNREACH, "Network is unreachable")
    inner = urllib3.exceptions.NewConnectionError(None, f"Failed to establish: {unreachable}")
    inner.__cause__ = unreachable
    pool = urllib3.exceptions.MaxRetryError(None, "/x", inner)
    for error in (unreachable, inner, pool, requests.ConnectionError(pool)):
        assert (
            str(reason_of(error, "http://h/x")) == "cannot connect to h:80: network is unreachable"
        )


@together(
    ("error", "said"),
    [
        (requests.ConnectTimeout(), "no connection to h:443 within 9.05 seconds"),
        (aiohttp.ConnectionTimeoutError(), "no connection to h:443 within 9.05 seconds"),
        (requests.ReadTimeout(), "no response from h within 60 seconds"),
        (requests.exceptions.InvalidURL("what?"), "it is not a valid URL"),
        (ValueError("some words", 1, object()), "some words"),
        (ValueError(("a", "tuple")), "ValueError"),
        (ValueError(), "ValueError"),
        (ValueError("two\nlines"), "two lines"),
    ],
)
def test_the_words_for_an_error(error, said):
    assert str(reason_of(error, "https://h/x", (9.05, 60.0))) == said


def test_an_error_that_wraps_itself_ends():
    one, other = ValueError(), KeyError()
    one.__context__, other.__cause__ = other, one
    assert str(reason_of(one, "http://h/")) == "ValueError"
