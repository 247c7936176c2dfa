"""Redirects are followed hop by hop, up to the limit; cookies are kept on the way to one document."""

import asyncio

import aiohttp
import pytest
import requests
from both import KINDS, OURS, fetch, speaking

from together import together
from usp._base.urls import read_url
from usp._http.redirects import (
    MOST_BYTES,
    MOST_COOKIES,
    BadRedirect,
    HopCookies,
    follow,
    within_bounds,
)
from usp.limits import Limits
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
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


def taken(url: str, *answers: str, then: str | None = None) -> str | None:
    cookies = HopCookies()
    cookies.take(read_url(url), answers)
    return cookies.header(read_url(then or url))


# What goes back ---------------------------------------------------------------------------------------


H = "http://h.example"
LATER, LONG_AGO = "Fri, 01 Jan 2100 00:00:00 GMT", "Thu, 01 Jan 1970 00:00:00 GMT"
ANSWERS = {  # of /x/y, by what is asked for then: those that go back there, and those that do not
    f"{H}/x/y": (["a=b"], []),
    f"{H}/x/": (["a=b=c", 'a="b c"', "a=", "a=b; Path=/x/"], ["nonsense", "=b", "a=b\r\nX: y", "a=\u00fc"]),
    f"{H}/xyz": ([], ["a=b; Path=/x"]),
    f"{H}:8080/": ([], ["a=b; Path=/"]),
    "https://h.example/": (["a=b; Path=/"], []),
    "http://www.h.example/": ([], ["a=b; Path=/"]),
    "http://other.example/": ([], ["a=b; Path=/; Domain=.example"]),
    f"{H}/": (
        [
            "a=b; Path=/; HttpOnly; SameSite=Lax", "a=b; Path=/; Domain=h.example",
            "a=b; Path=/; Domain=.example", "a=b; Path=/; Max-Age=", "a=b; Path=/; Max-Age",
            "a=b; Path=/; Max-Age=60; Expires=Thu, 01-Jan-1970 00:00:00 GMT",
            f"a=b; Path=/; Expires={LATER}", "a=b; Path=/; Expires=whenever",
        ],
        [
            "a=b", "a=b; Path=/; Domain=evil.example", "a=b; Path=/; Secure", "a=b; Path=/; Max-Age=0",
            "a=b; Path=/; Max-Age=-1", f"a=b; Path=/; Expires={LONG_AGO}",
        ],
    ),
}  # fmt: skip


@together("then", ANSWERS)
def test_a_cookie_goes_back_to_its_host_and_path(then):
    back, lost = ANSWERS[then]
    given = {answer: taken(f"{H}/x/y", answer, then=then) for answer in (*back, *lost)}
    assert given == {**{one: one.partition(";")[0] for one in back}, **dict.fromkeys(lost)}


def test_a_cookie_is_replaced_and_taken_back_and_the_bounds_are_those_of_curl():
    url = "http://h.example/"
    assert taken(url, "a=1", "b=2", "a=3") == "b=2; a=3"
    assert taken(url, "a=1", "b=2", "a=; Max-Age=0") == "b=2"
    header = taken(url, *(f"c{at}=x" for at in range(MOST_COOKIES + 10)))
    assert header.count("=") == MOST_COOKIES
    assert len(taken(url, *(f"c{at}=" + "x" * 1000 for at in range(MOST_COOKIES)))) <= MOST_BYTES
    assert taken(url, "a=" + "x" * 5000) is None


@together("kind", KINDS[:3])  # the usual jar of aiohttp has no cookies of addresses
def test_a_site_that_redirects_until_its_cookie_comes_back_is_read(kind, serve):
    site = serve({})

    class Wall(dict):
        """Answers the path once the cookie has come back."""

        def get(self, path, default=None):
            cookie = site.requests[-1].headers.get("Cookie", "")
            if "pass=1" in cookie:
                return "inside"
            headers = {"Set-Cookie": "pass=1; Path=/; Domain=127.0.0.1"}
            return Answer(redirect=path, headers=headers)

    site.answers = Wall()
    assert fetch(kind, site.url("/"), start=site.base) == [b"inside"]


@together("kind", OURS)
def test_cookies_are_kept_on_the_way_to_one_document_only(kind, serve):
    """For the host that set them, beside those of the user."""
    wide = {"Set-Cookie": "a=b; Path=/; Domain=0.0.1"}
    site = serve(
        {
            "/": Answer("x", headers={"Set-Cookie": "a=b; Path=/"}),
            "/next": "y",
            "/away": Answer(redirect="{alt}/x", headers=wide),
            "alt:/x": "x",
            "/way": Answer(redirect="/there", headers={"Set-Cookie": "a=b"}),
            "/there": "there",
        }
    )
    urls = [site.url(path) for path in ("/", "/next", "/away", "/way")]
    got = fetch(kind, *urls, start=site.base, headers={"Cookie": "mine=1"})
    assert got == [b"x", b"y", b"x", b"there"]
    sent = {request.path: request.headers.get("Cookie") for request in site.requests}
    assert (sent["/next"], sent["alt:/x"]) == ("mine=1", None)
    assert sent["/there"] == "mine=1; a=b"


# Floods -----------------------------------------------------------------------------------------------


def flood(number: int) -> Answer:
    """Give an answer with cookies of which no other has the names."""

    class Many(dict):
        def items(self):
            return [("Set-Cookie", f"n{number}c{at}=x; Path=/") for at in range(80)]

    return Answer("x", headers=Many())


FLOODED = [f"/{number}" for number in range(25)]


@pytest.fixture
def site(serve):
    return serve({path: flood(number) for number, path in enumerate(FLOODED)})


@together("kind", KINDS)
def test_a_flood_of_cookies_does_not_grow_the_requests(kind, site):
    assert fetch(kind, *map(site.url, FLOODED), start=site.base) == [b"x"] * len(FLOODED)
    assert max(len(request.headers.get("Cookie", "")) for request in site.requests) <= MOST_BYTES


def test_the_jar_of_a_users_session_does_not_grow_without_end(site):
    """And a cookie for a domain of many owners stays with its host."""
    wide = {"Set-Cookie": "wide=b; Path=/; Domain=127.0.0.1"}
    site.answers["/wide"] = Answer("x", headers=wide)
    with requests.Session() as session:
        session.cookies.set("mine", "1")
        client = RequestsWebClient(session=session)
        for path in ["/wide", *FLOODED]:
            client.get(site.url(path)).close()
        assert session.cookies["mine"] == "1"
        assert 50 <= len(session.cookies) <= MOST_BYTES / len("n1c1=x")
        assert len(session.cookies) < 1000
        (cookie,) = [cookie for cookie in session.cookies if cookie.name == "wide"]
        assert (cookie.domain, cookie.domain_specified) == ("127.0.0.1", False)


def test_the_jar_of_a_users_session_of_aiohttp_does_not_grow_either(site):
    site.answers["/wide"] = Answer("x", headers={"Set-Cookie": "wide=1; Domain=0.0.1; Path=/"})

    async def ask():
        jar = aiohttp.CookieJar(unsafe=True)
        jar.update_cookies({"mine": "1"})
        async with aiohttp.ClientSession(auto_decompress=False, cookie_jar=jar) as session:
            client = AiohttpWebClient(session=session)
            for path in ["/wide", *FLOODED]:
                response = await client.get(site.url(path))
                await response.close()
            await client.close()
            return {(morsel.key, morsel["domain"]) for morsel in jar}

    kept = asyncio.run(ask())
    assert ("mine", "") in kept
    assert 50 <= len(kept) < 1000
    assert {domain for _, domain in kept} == {"", "127.0.0.1"}
    assert len(site.requests[-1].headers["Cookie"]) <= MOST_BYTES


def test_what_a_jar_may_take_is_bounded():
    answers = [f"c{at}=x; Domain=example; Path=/" for at in range(70)]
    accepted = within_bounds([], "h.example", answers)
    assert accepted == [f"c{at}=x; Path=/" for at in range(50)]
    assert within_bounds([("big", "x" * 8200, "h.example")], "h.example", answers) == []
    assert within_bounds([("big", "x" * 8200, "other.example")], "h.example", answers) == accepted
    full = [(f"n{at}", "x", f"h{at}.example") for at in range(1000)]
    assert within_bounds(full, "h.example", answers) == []
