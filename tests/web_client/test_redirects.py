"""Redirects: followed hop by hop, joined as ``requests`` joins them, up to the limit."""

from __future__ import annotations

import pytest
import requests
from both import KINDS, fetch, speaking

from together import together
from usp._base.urls import read_url
from usp._http.redirects import BadRedirect, follow
from usp.limits import Limits
from usp.web_client.abstract_client import WebClientErrorResponse
from website import Answer


def chain(length: int) -> dict:
    """Give answers of which ``/`` is that many redirects away from ``there``."""
    steps = {f"/{n}": Answer(redirect=f"/{n + 1}") for n in range(1, length)}
    return steps | {"/": Answer(redirect="/1"), f"/{length}": "there"}


@together("kind", KINDS)
@together("limit", [0, 1, 3, None])
def test_as_many_redirects_are_followed_as_the_limit_says(kind, limit, serve):
    limits = Limits(redirects=limit)
    if limit != 0:
        site = serve(chain(limit or 40))
        assert fetch(kind, site.url("/"), start=site.base, limits=limits) == [b"there"]
    if limit is None:
        return
    site = serve(chain(limit + 1))
    (result,) = fetch(kind, site.url("/"), start=site.base, limits=limits)
    assert isinstance(result, WebClientErrorResponse)
    assert result.message() == str(limits.reached("redirects"))
    assert "--max redirects=" in result.message()
    assert not result.retryable()
    assert not result.unreachable
    assert not site.hits[f"/{limit + 1}"]


@together("kind", KINDS)
def test_outside_a_crawl_twenty_are_followed_and_the_body_of_a_redirect_is_not_read(kind, serve):
    """It may have no end; every hop would wait for it."""
    site = serve(chain(20))
    site.answers |= {"/20": Answer("x", redirect="/21", endless=b"x" * 65536), "/21": "there"}
    assert fetch(kind, site.url("/1")) == [b"there"]
    (result,) = fetch(kind, site.url("/"))
    assert "redirects=20" in result.message()


# Joining, compared with requests -------------------------------------------------------------------------

LOCATIONS = [
    "/x", "x", "../x", "?q=1", "//other.example/x", "http://other.example/x", "HTTP://other.example/x",
    "/a b", "/%7Ex%zz", "/x#new", "http://other.example", "/ü", "http://h.example:8080/y?a=b c#d", ".", "",
    "/a|b", "x:y/z", "ftp://h/x", "file:///etc/passwd", "gopher://h/", "javascript:1",
]  # fmt: skip


@together("location", LOCATIONS)
@together("url", ["http://h.example/a/b?c=d", "http://h.example/a/b#old", "https://h.example"])
def test_a_location_is_joined_as_requests_joins_it(url, location):
    session = requests.Session()
    response = requests.Response()
    response.status_code, response._content, response._content_consumed = 302, b"", True
    request = requests.Request("GET", url).prepare()
    response.url, response.request = request.url, request
    response.raw = type("Raw", (), {"_original_response": None})()
    response.headers["Location"] = location.encode().decode("latin-1")
    response.close = lambda: None
    followed = session.resolve_redirects(response, request, yield_requests=True)
    try:
        expected = next(followed).url
    except StopIteration:
        expected = None
    if not location:
        assert expected is None  # and the clients take it for no redirect
    elif not expected.startswith("http"):
        with pytest.raises(BadRedirect, match="not an HTTP URL"):
            follow(read_url(request.url), location)
    else:
        written = requests.Request("GET", expected).prepare().url
        received = response.headers["Location"]
        assert follow(read_url(request.url), received).text() == written


@together(
    ("location", "target"),
    [
        ("\\x\\y?a\\b#c\\d", "http://h.example/x/y?a%5Cb#c%5Cd"),
        ("\\\\other.example\\x", "http://other.example/x"),
        ("http:\\\\other.example\\x", "http://other.example/x"),
        ("/\\other.example", "http://other.example/"),
        ("ht\ttp://other\t.example/\tx", "http://other.example/x"),
    ],
)
def test_backslashes_and_tabs_are_read_as_browsers_read_them(location, target):
    assert follow(read_url("http://h.example/a/b"), location).text() == target


@together("kind", KINDS)
@together("encoding", ["utf-8", "latin-1"])
def test_a_location_beyond_ascii_is_followed(kind, encoding, serve):
    if (kind, encoding) == ("requests, own session", "latin-1"):
        pytest.skip("requests reads every location as UTF-8, and fails")
    site = serve({"/%C3%A9": "there"})
    head = b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + site.url("/é").encode(
        encoding
    )
    with speaking(lambda connection: connection.sendall(head + b"\r\n\r\n")) as url:
        assert fetch(kind, url, start=url) == [b"there"]
