"""The head of an answer: bounded, whatever comes before it, and wherever it leads."""

from __future__ import annotations

from both import KINDS, fetch, speaking

from together import together
from usp.limits import Limits
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import WebClientErrorResponse
from website import Answer, paths

OURS = ["requests", "aiohttp", "aiohttp, own session"]


def says(*parts: bytes):
    return lambda connection: connection.sendall(b"".join(parts))


OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
INTERIM = {
    "early hints": b"HTTP/1.1 103 Early Hints\r\nLink: </style.css>; rel=preload\r\n\r\n",
    "processing": b"HTTP/1.1 102 Processing\r\n\r\n",
    "unknown": b"HTTP/1.1 199 Soon\r\nX: y\r\n\r\n",
    "several": b"HTTP/1.1 100 Continue\r\n\r\n"
    + b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" * 3,
}


def test_the_session_of_a_user_that_stops_there_is_not_asked_for_more_on_that_connection():
    """What comes next on it would be taken for the answer to the next request."""
    with speaking(says(INTERIM["early hints"], OK)) as url:
        first, second = fetch("requests, own session", url, url, start=url)
    assert (first.message(), second.message()) == ("103 Early Hints", "103 Early Hints")


@together("kind", KINDS)
@together("lines", [60, 4])
def test_a_head_has_32_kib_at_most(kind, lines):
    """In many lines or in a few, which all clients would read one by one."""

    def head(size: int) -> bytes:
        each = size // lines - 10
        headers = b"".join(b"X-%02d: %s\r\n" % (at, b"x" * each) for at in range(lines))
        return b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + headers + b"\r\nok"

    with speaking(says(head(30_000))) as url:
        assert fetch(kind, url, start=url) == [b"ok"]
    with speaking(says(head(34_000))) as url:
        (result,) = fetch(kind, url, start=url)
    assert isinstance(result, WebClientErrorResponse)
    assert not result.retryable()


@together("kind", KINDS)
@together(("lines", "size"), [(300, 20), (300, 200), (60, 600), (4, 10_000), (1, 60_000)])
def test_a_head_that_is_too_large_is_said_to_be_that(kind, lines, size):
    headers = b"".join(b"Set-Cookie: c%d=%s\r\n" % (at, b"x" * size) for at in range(lines))
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n" + headers + b"\r\nok"
    with speaking(says(head)) as url:
        (result,) = fetch(kind, url, start=url)
    if result == b"ok":  # how many lines there may be is the library's own choice
        assert (lines, size) == (300, 20)
        return
    assert isinstance(result, WebClientErrorResponse)
    assert "header" in result.message()
    assert "body" not in result.message()


@together("kind", KINDS)
@together("target", ["/{x}", "{base}/{x}", "//127.0.0.1/{x}", "?{x}", "#{x}"])
def test_a_redirect_to_an_address_that_is_too_long_is_not_followed(kind, target, serve):
    site = serve({"/": Answer(redirect=target.replace("{x}", "x" * 6000)), "/x": "there"})
    limits = Limits(url_length=5000)
    (result,) = fetch(kind, site.url("/"), start=site.base, limits=limits)
    assert isinstance(result, WebClientErrorResponse)
    assert "url_length=5,000" in result.message()
    assert len(result.message()) < 500
    assert set(site.hits) == {"/"}
    site.answers["/"] = Answer(redirect="/x?" + "x" * 4000)
    site.answers["/x?" + "x" * 4000] = "there"
    assert fetch(kind, site.url("/"), start=site.base, limits=limits) == [b"there"]


@together("kind", KINDS)
def test_a_chain_of_redirects_does_not_make_an_address_longer_and_longer(kind, serve):
    """Escapes make what is sent longer than what was written."""
    site = serve({"/": Answer(redirect="/" + "|" * 2000)})
    (result,) = fetch(kind, site.url("/"), start=site.base, limits=Limits(url_length=5000))
    assert "url_length" in result.message()


def test_a_location_that_leads_nowhere_is_shown_in_part(serve):
    site = serve({"/a.xml": Answer(redirect="ftp://h/" + "x" * 5000)})
    tree = sitemap_tree_for_homepage(site.base, extra_known_paths=["a.xml"], use_robots=False)
    assert paths(tree, site.base) == []
    assert all(len(failure.reason) < 600 for failure in tree.failures())
