"""Cookies: kept on the way to one document, for the host that set them, within curl's bounds."""

from __future__ import annotations

import asyncio

import aiohttp
import pytest
import requests
from both import KINDS, OURS, fetch

from together import together
from usp._base.urls import read_url
from usp._http.redirects import MOST_BYTES, MOST_COOKIES, HopCookies, within_bounds
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from website import Answer


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
