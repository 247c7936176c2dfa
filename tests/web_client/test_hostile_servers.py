"""Servers that never come to an end, or send heads that are none: an error, in time, and nothing worse."""

import time

import pytest
from both import KINDS, fetch, speaking

from together import together
from usp._http.failures import is_bot_wall
from usp.limits import Limits
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse
from website import Answer, paths

OURS = ["requests", "aiohttp", "aiohttp, own session"]
HEAD = b"HTTP/1.1 200 OK\r\n"
OK = HEAD + b"Content-Length: 2\r\n\r\nok"
LONG = HEAD + b"Content-Length: 1000\r\n\r\n"
SECONDS = 0.4  # for a document


def says(data: bytes, then: float = 0.0, drip: bytes = b"", pause: float = 0.0):
    """Return what sends data, then single bytes with a pause before each, and is silent for a while."""

    def talk(connection):
        connection.sendall(data)
        for byte in drip:
            time.sleep(pause)
            connection.sendall(bytes([byte]))
        time.sleep(then)

    return talk


def asked(kind, url, limits, **options):
    (result,) = fetch(kind, url, start=url, limits=limits, **options)
    return result


# In time ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", OURS)
def test_a_head_that_drips_is_given_up_in_time(kind, times):
    limits = Limits(document_seconds=SECONDS * times)
    with speaking(says(HEAD + b"X-Long: ", drip=b"x" * 200, pause=0.1 * SECONDS * times)) as url:
        result = asked(kind, url, limits)
    assert isinstance(result, WebClientErrorResponse)
    assert result.message() == str(limits.reached("document_seconds"))
    assert (result.retryable(), result.unreachable, result.silent) == (False, False, True)


@pytest.mark.parametrize("kind", KINDS)
def test_a_body_that_drips_or_stops_is_broken_in_time(kind, times):
    limits = Limits(document_seconds=SECONDS * times)
    drips = says(LONG, drip=b"x" * 200, pause=0.1 * SECONDS * times)
    for talk in (drips, says(LONG + b"begin", then=4 * SECONDS * times)):
        with speaking(talk) as url:
            result = asked(kind, url, limits)
        assert isinstance(result, BrokenBody)
        assert str(result) == str(limits.reached("document_seconds"))


@pytest.mark.parametrize("kind", KINDS)
def test_slow_redirects_share_the_time_of_one_document(kind, serve, times):
    limits = Limits(document_seconds=SECONDS * times)
    site = serve({"/": Answer(redirect="/", delay=0.3 * SECONDS * times)})
    result = asked(kind, site.url("/"), limits)
    assert result.message() == str(limits.reached("document_seconds"))


@pytest.mark.parametrize("kind", OURS)
def test_the_time_between_two_pieces_is_still_limited(kind, times):
    with speaking(says(LONG + b"begin", then=times)) as url:
        result = asked(kind, url, limits=Limits(document_seconds=50), timeout=(60, 0.3 * times))
    assert isinstance(result, BrokenBody)
    assert "document_seconds" not in str(result)


# Heads -----------------------------------------------------------------------------------------------


def test_the_session_of_a_user_that_stops_there_is_not_asked_for_more_on_that_connection():
    """What comes next on it would be taken for the answer to the next request."""
    with speaking(says(b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + OK)) as url:
        first, second = fetch("requests, own session", url, url, start=url)
    assert (first.message(), second.message()) == ("103 Early Hints", "103 Early Hints")


HEADS = [  # lines and the size of each, and whether 32 KiB are enough: many or few, all have a bound
    *((60, 490, True), (4, 7490, True), (60, 556, False), (4, 8490, False)),
    *((300, 200, False), (60, 600, False), (4, 10_000, False), (1, 60_000, False)),
    (300, 20, None),  # how many lines there may be is the library's own choice
]


@together("kind", KINDS)
@together(("lines", "size", "enough"), HEADS)
def test_a_head_has_32_kib_at_most_and_one_that_is_too_large_is_said_to_be_that(
    kind, lines, size, enough
):
    headers = b"".join(b"Set-Cookie: c%d=%s\r\n" % (at, b"x" * size) for at in range(lines))
    with speaking(says(OK.replace(HEAD, HEAD + headers))) as url:
        (result,) = fetch(kind, url, start=url)
    if enough or (enough is None and result == b"ok"):
        assert result == b"ok"
        return
    assert isinstance(result, WebClientErrorResponse)
    assert not result.retryable()
    assert "header" in result.message()
    assert "body" not in result.message()


LONG_URL = Limits(url_length=5000)


@together("kind", KINDS)
@together(
    "target",  # escapes make what is sent longer than what was written
    ["/" + "|" * 2000]
    + [place + "x" * 6000 for place in ("/", "{base}/", "//127.0.0.1/", "?", "#")],
)
def test_a_redirect_to_an_address_that_is_too_long_is_not_followed(kind, target, serve):
    site = serve({"/": Answer(redirect=target), "/x": "there"})
    (result,) = fetch(kind, site.url("/"), start=site.base, limits=LONG_URL)
    assert isinstance(result, WebClientErrorResponse)
    assert "url_length=5,000" in result.message()
    assert len(result.message()) < 500
    assert set(site.hits) == {"/"}
    there = "/x?" + "x" * 4000  # which is not too long
    site.answers = {"/": Answer(redirect=there), there: "there"}
    assert fetch(kind, site.url("/"), start=site.base, limits=LONG_URL) == [b"there"]


def test_a_location_that_leads_nowhere_is_shown_in_part(serve):
    site = serve({"/a.xml": Answer(redirect="ftp://h/" + "x" * 5000)})
    tree = sitemap_tree_for_homepage(site.base, extra_known_paths=["a.xml"], use_robots=False)
    assert paths(tree, site.base) == []
    assert all(len(failure.reason) < 600 for failure in tree.failures())


BLOCKS = [
    (403, {}, True), (401, {}, False), (404, {}, False), (429, {}, False), (503, {}, False),
    (503, {"Server": "cloudflare"}, False), (503, {"CF-Mitigated": "challenge"}, True),
    (404, {"cf-mitigated": "challenge"}, True), (429, {"X-DataDome": "protected"}, True),
    (503, {"X-Iinfo": "1-2-3"}, True), (406, {"X-PX-Block": "1"}, True),
    (429, {"Server": "DataDome"}, True), (404, {"X-Iinfo": "1-2-3"}, False),
    (500, {"X-DataDome": "protected"}, False), (200, {"cf-mitigated": "challenge"}, False),
]  # fmt: skip


@together("kind", KINDS)
@together(("status", "headers", "blocked"), BLOCKS)
def test_an_error_says_whether_robots_are_turned_away(kind, status, headers, blocked, serve):
    assert is_bot_wall(status, headers) == blocked
    if (status, headers, blocked) not in BLOCKS[:9]:
        return
    given = {name: value for name, value in headers.items() if name != "Server"}
    site = serve({"/": Answer("", status, "Because", headers=given)})
    (result,) = fetch(kind, site.url("/"), start=site.base)
    assert result.blocked == blocked
    assert (result.status, result.message()) == (status, f"{status} Because")
