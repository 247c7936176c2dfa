"""The options of the client on ``aiohttp``: each reaches the server, or keeps something from it."""

from __future__ import annotations

import asyncio
import ssl
import sys
import threading
import warnings

import aiohttp
import pytest

import usp
import usp.aio
from usp._http.identity import DEFAULT_TIMEOUT
from usp.exceptions import SitemapException
from usp.web_client.abstract_client import (
    AbstractAsyncWebClient,
    AbstractAsyncWebClientSuccessResponse,
)
from usp.web_client.aiohttp_client import AiohttpWebClient
from website import Answer, robots, urlset

SECRETS = {"Authorization": "secret", "Cookie": "a=secret", "Accept-Language": "de"}


@pytest.fixture
def site(serve):
    return serve(
        {
            "/": Answer("home", headers={"X-One": "1"}),
            "/r": Answer(redirect="/s"),
            "/s": Answer(redirect="/", status=308),
            "/away": Answer(redirect="{alt}/there"),
            "alt:/there": "there",
        }
    )


def ask(*urls: str, **options) -> list:
    """Fetch some URLs, one after the other, with one client."""

    async def fetch():
        client = AiohttpWebClient(**options)
        try:
            responses = []
            for url in urls:
                response = await client.get(url)
                assert isinstance(response, AbstractAsyncWebClientSuccessResponse)
                data = b"".join([piece async for piece in response.body()])
                await response.close()
                responses.append((response, data))
            return responses
        finally:
            await client.close()

    return asyncio.run(fetch())


def test_the_proxies_of_the_environment_are_used_except_for_hosts_that_want_none(site, monkeypatch):
    site.answers["proxied:http://far.invalid/"] = "by proxy"
    monkeypatch.setenv("http_proxy", site.base)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    zones = usp.Zones(allow=("127.0.0.1",))  # it begins at a host that seems to be public
    urls = ["http://far.invalid/", site.url("/")]
    answers = ask(*urls, *urls, zones=zones)
    assert [data for _, data in answers] == [b"by proxy", b"home"] * 2


def test_proxies_that_are_given_come_before_those_of_the_environment(site, monkeypatch):
    site.answers["proxied:http://far.invalid/"] = "by proxy"
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.delenv("NO_PROXY", raising=False)
    ((_, data),) = ask("http://far.invalid/", proxy=site.base)
    assert data == b"by proxy"


def basic_auth() -> aiohttp.BasicAuth:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # aiohttp 4 will have none
        return aiohttp.BasicAuth("me", "secret")


def sent(site, path="/"):
    (request,) = [request for request in site.requests if request.path == path]
    return request.headers


def test_the_defaults_are_those_of_the_synchronous_client(site):
    client = AiohttpWebClient()
    assert isinstance(client, AbstractAsyncWebClient)
    assert client.max_concurrent_requests == 8
    assert (client._timeout.connect, client._timeout.sock_read) == DEFAULT_TIMEOUT
    assert client._timeout.total is None
    ask(site.url("/"))
    headers = sent(site)
    assert headers["User-Agent"] == f"ultimate_sitemap_parser/{usp.__version__}"
    assert headers["Accept-Encoding"] == "gzip, deflate"


def test_an_answer_says_what_it_is(site):
    ((response, data),) = ask(site.url("/r"))
    assert data == b"home"
    assert response.status_code() == 200
    assert response.url() == site.url("/")
    assert response.redirects() == (site.url("/r"), site.url("/s"))
    assert response.header("x-ONE") == "1"
    assert response.header("X-Two") is None
    assert ("X-One", "1") in response.headers()


def test_the_user_agent_can_be_chosen(site):
    ask(site.url("/"), user_agent="mine/1")
    assert sent(site)["User-Agent"] == "mine/1"


def test_headers_are_sent(site):
    ask(site.url("/"), headers={"X-Mine": "yes", "Accept-Language": "de"})
    headers = sent(site)
    assert (headers["X-Mine"], headers["Accept-Language"]) == ("yes", "de")


def test_secrets_go_to_the_first_host_only(site):
    ask(site.url("/"), site.url("alt:/there"), site.url("/s"), headers=SECRETS)
    first, other, *back = site.requests
    assert {name: first.headers.get(name) for name in SECRETS} == SECRETS
    assert {name for name in SECRETS if name in other.headers} == {"Accept-Language"}
    assert all(request.headers["Authorization"] == "secret" for request in back)


@pytest.mark.parametrize("name", ["Authorization", "Cookie"])
def test_a_redirect_to_another_host_does_not_carry_secrets_there(site, name):
    ask(site.url("/away"), headers=SECRETS)
    assert sent(site, "/away")[name] == SECRETS[name]
    assert name not in sent(site, "alt:/there")


@pytest.mark.parametrize("auth", [basic_auth(), ("me", "secret")])
def test_auth_goes_to_the_first_host_only(site, auth):
    ask(site.url("/"), site.url("alt:/there"), auth=auth)
    assert sent(site)["Authorization"] == "Basic bWU6c2VjcmV0"
    assert "Authorization" not in sent(site, "alt:/there")


def test_auth_does_not_follow_a_redirect_to_another_host(site):
    ask(site.url("/away"), auth=basic_auth())
    assert "Authorization" in sent(site, "/away")
    assert "Authorization" not in sent(site, "alt:/there")


def test_a_proxy_is_asked(site):
    site.answers["proxied:http://nowhere.invalid/x"] = "through"
    ((response, data),) = ask("http://nowhere.invalid/x", proxy=site.base)
    assert data == b"through"
    assert response.url() == "http://nowhere.invalid/x"


def test_the_number_of_requests_at_a_time_can_be_chosen(serve):
    names = [f"/{n}.xml" for n in range(12)]
    site = serve({"/robots.txt": robots(*names)})
    site.answers |= {name: Answer(urlset("/p"), delay=0.02) for name in names}

    async def read():
        client = AiohttpWebClient(max_concurrent_requests=3)
        await usp.aio.sitemap_tree_for_homepage(site.base + "/", client, use_known_paths=False)
        await client.close()

    asyncio.run(read())
    assert site.most_at_once["base"] == 3


@pytest.mark.parametrize("verify", [True, False, ssl.create_default_context()])
def test_certificates_are_checked_as_told(site, verify):
    ask(site.url("/"), verify=verify)

    async def connector():
        client = AiohttpWebClient(verify=verify)
        await (await client.get(site.url("/"))).close()
        chosen = client._session.connector._ssl
        await client.close()
        return chosen

    assert asyncio.run(connector()) is verify


# A session of the user's own --------------------------------------------------------------------------


def with_session(site, *paths, session=None, **options) -> None:
    async def fetch():
        async with aiohttp.ClientSession(auto_decompress=False, **(session or {})) as mine:
            client = AiohttpWebClient(session=mine, **options)
            for path in paths:
                response = await client.get(site.url(path))
                async for _ in response.body():
                    pass
                await response.close()
            await client.close()
            assert not mine.closed

    asyncio.run(fetch())


def test_a_session_of_the_users_own_is_used_and_not_closed(site):
    with_session(site, "/", session={"headers": {"X-Session": "mine"}})
    assert sent(site)["X-Session"] == "mine"


def test_a_session_that_names_itself_keeps_its_name(site):
    """As one of ``requests`` does; a user agent that is chosen for the client comes first."""
    with_session(site, "/", session={"headers": {"User-Agent": "session/1"}})
    assert sent(site)["User-Agent"] == "session/1"
    site.requests.clear()
    with_session(site, "/", session={"headers": {"User-Agent": "session/1"}}, user_agent="mine/2")
    assert sent(site)["User-Agent"] == "mine/2"


def test_a_client_can_be_used_again_after_it_was_closed_in_another_loop(site):
    client = AiohttpWebClient()

    async def fetch():
        response = await client.get(site.url("/"))
        data = b"".join([piece async for piece in response.body()])
        await client.close()
        return data

    assert [asyncio.run(fetch()) for _ in range(2)] == [b"home", b"home"]


def test_a_timeout_is_kept(serve):
    gate = threading.Event()
    site = serve({"/x": Answer("late", gate=gate)})

    async def fetch():
        client = AiohttpWebClient(timeout=(5, 0.1))
        response = await client.get(site.url("/x"))
        await client.close()
        return response

    assert asyncio.run(fetch()).silent  # while the server still holds its answer back
    gate.set()


# Without aiohttp --------------------------------------------------------------------------------------


@pytest.fixture
def _no_aiohttp(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "usp.web_client.aiohttp_client", raising=False)


@pytest.mark.usefixtures("_no_aiohttp")
def test_without_aiohttp_the_error_says_what_to_install():
    async def stream():
        async for _ in usp.aio.pages("http://127.0.0.1:9/"):
            pass

    with pytest.raises(ImportError, match=r"pip install 'usp\[async\]'"):
        asyncio.run(usp.aio.sitemap_tree_for_homepage("http://127.0.0.1:9/"))
    with pytest.raises(ImportError, match=r"pip install 'usp\[async\]'"):
        asyncio.run(usp.aio.sitemap_tree_for_sitemap("http://127.0.0.1:9/"))
    with pytest.raises(ImportError, match=r"pip install 'usp\[async\]'"):
        asyncio.run(stream())


@pytest.mark.usefixtures("_no_aiohttp")
def test_without_aiohttp_a_bad_url_is_still_a_bad_url():
    with pytest.raises(SitemapException):
        usp.aio.pages("nonsense")
