"""The options of clients: both take the same and mean the same; each reaches the server, or keeps from it."""

import asyncio
import contextlib
import gc
import inspect
import math
import pickle
import socket
import ssl
import sys
from urllib.parse import urlsplit

import aiohttp
import pytest
import requests
from both import KINDS, OURS, fetch, respond

import usp
import usp.aio
from fronts import rest
from together import together
from usp._http.identity import DEFAULT_TIMEOUT
from usp.exceptions import SitemapException
from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import Zones
from website import Answer

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of aiohttp's BasicAuth
CLIENTS = [RequestsWebClient, AiohttpWebClient]
SELF = [kind for kind in KINDS if "own session" in kind]
PROXIED = "proxied:http://nowhere.invalid/x"
FAR = "http://nowhere.invalid/x"


@pytest.fixture
def site(serve):
    return serve(
        {
            "/": Answer("home", headers={"X-One": "1"}),
            "/r": Answer(redirect="/s"),
            "/s": Answer(redirect="/", status=308),
        }
    )


def sent(site, path="/"):
    """Give the headers of the only request for a path."""
    (request,) = [request for request in site.requests if request.path == path]
    return request.headers


# What is given --------------------------------------------------------------------------------------


def test_both_take_the_same_and_types_differ_for_what_belongs_to_the_library_only():
    threads, loop = (dict(inspect.signature(client).parameters) for client in CLIENTS)
    assert list(threads) == list(loop)
    assert [one.default for one in threads.values()] == [one.default for one in loop.values()]
    differ = {name for name in threads if threads[name].annotation != loop[name].annotation}
    assert differ == {"verify", "session", "auth"}


WRONG = [
    *({"timeout": one} for one in (0, -1, math.nan, math.inf, "5", True, (1, 2, 3), (1, 0))),
    {"timeout": ("1", None)},
    *({"wait": one} for one in ("x", -1, math.inf, True)),
    *({"max_concurrent_requests": one} for one in ("3", 0, 1.5)),
    *({"headers": one} for one in ({"a": 1}, {1: "a"})),
    {"zones": "10.0.0.0/8"},
]
RIGHT = [
    *({"timeout": one} for one in (None, 0.5, (3, None), [3, 4])),
    *({"wait": one} for one in (0, None)),
    *({"max_concurrent_requests": one} for one in (None, 1)),
    *({"headers": one} for one in ({}, {"a": "b"})),
    {"zones": Zones()},
]


@together("client", CLIENTS)
def test_what_cannot_be_meant_is_refused_and_what_can_be_is_the_same_if_it_is_set_later(client):
    for options in WRONG:
        (name,) = options
        with pytest.raises((TypeError, ValueError), match="must be") as refused:
            client(**options)
        assert name.removesuffix("s") in str(refused.value)
    for options in RIGHT:
        client(**options)
    with pytest.raises(ValueError, match="positive number of seconds"):
        client().set_timeout(-1)

    given = client(timeout=3, proxies={"https": "http://p:1"})
    later = client()
    later.set_timeout(3)
    later.set_proxies({"https": "http://p:1"})
    assert (given._timeout, given._proxies) == (later._timeout, later._proxies)
    assert client()._proxies == {}
    assert pickle.loads(pickle.dumps(given))._proxies == given._proxies
    assert client(wait=1).max_concurrent_requests == 1  # one that pauses
    assert client().max_concurrent_requests == 8
    assert client(wait=1, max_concurrent_requests=3).max_concurrent_requests == 3


def test_the_defaults_are_those_that_programs_know(site):
    assert DEFAULT_TIMEOUT == (9.05, 60)
    assert isinstance(RequestsWebClient(), AbstractWebClient)
    client = AiohttpWebClient()
    assert isinstance(client, AbstractAsyncWebClient)
    assert client._timeout_until(None) == aiohttp.ClientTimeout(None, connect=9.05, sock_read=60)
    for kind in OURS:
        site.requests.clear()
        fetch(kind, site.url("/"))
        assert sent(site)["User-Agent"] == f"ultimate_sitemap_parser/{usp.__version__}"
        assert sent(site)["Accept-Encoding"] == "gzip, deflate"


def test_a_session_of_requests_gets_one_request_at_a_time_unless_told_otherwise(site):
    """The first four parameters may be given by position."""
    with requests.Session() as session:
        assert RequestsWebClient(session=session).max_concurrent_requests == 1
        client = RequestsWebClient(session=session, max_concurrent_requests=4)
        assert client.max_concurrent_requests == 4
        client = RequestsWebClient(True, 0.0, True, session)
        assert client.get(site.url("/")).raw_data() == b"home"


# Headers and logins ---------------------------------------------------------------------------------


@together("kind", OURS)
def test_headers_are_sent_and_may_replace_ours_in_any_spelling(site, kind):
    fetch(kind, site.url("/"), user_agent="mine/1.0", headers={"X-Test": "1"})
    assert (sent(site)["User-Agent"], sent(site)["X-Test"]) == ("mine/1.0", "1")
    site.requests.clear()
    fetch(kind, site.url("/"), headers={"user-agent": "other", "accept-encoding": "identity"})
    names = {name.lower(): value for name, value in sent(site).items()}
    assert (names["user-agent"], names["accept-encoding"]) == ("other", "identity")
    if kind == "requests":
        assert len(names) == len(sent(site))


def test_auth_may_be_whatever_the_library_takes(site):
    def sign(request):
        request.headers["X-Signed"] = "yes"
        return request

    RequestsWebClient(auth=sign).get(site.url("/"))
    assert sent(site)["X-Signed"] == "yes"
    site.requests.clear()
    fetch("aiohttp", site.url("/"), auth=aiohttp.BasicAuth("me", "secret"))
    assert sent(site)["Authorization"] == "Basic bWU6c2VjcmV0"


@together("kind", KINDS)
@together("random_wait", [False, True])
def test_a_pause_is_kept_before_every_request_but_the_first(site, kind, monkeypatch, random_wait):
    pauses, sleep = [], asyncio.sleep

    async def paused(seconds, *result):
        pauses.append(seconds)
        return await sleep(0, *result)

    with monkeypatch.context() as patch:
        if kind.startswith("requests"):
            patch.setattr("usp.web_client.abstract_client.time.sleep", pauses.append)
        else:
            patch.setattr(asyncio, "sleep", paused)
        assert fetch(kind, *[site.url("/")] * 3, wait=40, random_wait=random_wait) == [b"home"] * 3
    long = [pause for pause in pauses if pause > 1]
    assert len(long) == 2
    assert all(20 <= pause <= 60 for pause in long) if random_wait else long == [40, 40]


# Proxies and certificates ---------------------------------------------------------------------------


@together("kind", KINDS)
def test_one_proxy_for_all_and_others_by_scheme_or_host(serve, kind):
    """What goes through a proxy asks it for the whole address; the rest asks the website."""
    proxy, other = serve({PROXIED: "proxy"}), serve({PROXIED: "other", "/y": "direct"})
    assert fetch(kind, FAR, proxy=proxy.base) == [b"proxy"]
    assert fetch(kind, FAR, proxies={"http": other.base}) == [b"other"]
    assert fetch(kind, FAR, proxy=proxy.base, proxies={"http": other.base}) == [b"other"]
    assert fetch(kind, other.url("/y"), proxies={"https": proxy.base}) == [b"direct"]
    urls, by_host = [FAR, other.url("/y"), FAR], {"http://nowhere.invalid": proxy.base}
    got = fetch(kind, *urls, proxies=by_host, start=other.url("/"))
    assert got == [b"proxy", b"direct", b"proxy"]


@together("kind", OURS)
def test_the_proxies_of_the_environment_come_last_and_not_for_hosts_that_want_none(
    site, kind, monkeypatch
):
    site.answers[PROXIED] = "by proxy"
    monkeypatch.setenv("http_proxy", site.base)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    zones = Zones(allow=("127.0.0.1",))  # it begins at a host that seems to be public
    assert fetch(kind, *[FAR, site.url("/")] * 2, zones=zones) == [b"by proxy", b"home"] * 2
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.delenv("no_proxy")
    monkeypatch.delenv("NO_PROXY", raising=False)
    assert fetch(kind, FAR, proxy=site.base) == [b"by proxy"]
    assert fetch(kind, site.url("/"), proxies={"no_proxy": "127.0.0.1"}) == [b"home"]


@together("verify", [True, False, "/path/to/bundle.pem", ssl.create_default_context()])
def test_verify_is_handed_on_to_the_library(verify, site, monkeypatch):
    for name in ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"):
        monkeypatch.delenv(name, raising=False)
    seen = []

    class Session(requests.Session):
        def send(self, request, **options):
            seen.append(options["verify"])
            return super().send(request, **options)

    async def connector():
        client = AiohttpWebClient(verify=verify)
        await (await client.get(site.url("/"))).close()
        chosen = client._own.connector._ssl
        await client.close()
        return chosen

    if isinstance(verify, bool | str):
        with Session() as session:
            RequestsWebClient(verify=verify, session=session).get(site.url("/")).close()
        assert seen == [verify]
    if not isinstance(verify, str):
        assert asyncio.run(connector()) is verify


# Sessions of users ----------------------------------------------------------------------------------


@together("kind", SELF)
def test_a_session_that_names_itself_keeps_its_name_unless_one_is_chosen(site, kind):
    for names, options, expected in (
        ({"User-Agent": "session/1", "X-Mine": "yes"}, {}, "session/1"),
        ({"User-Agent": "session/1"}, {"user_agent": "mine/2"}, "mine/2"),
        ({}, {}, f"ultimate_sitemap_parser/{usp.__version__}"),
    ):
        site.requests.clear()
        assert fetch(kind, site.url("/"), session={"headers": names}, **options) == [b"home"]
        assert sent(site)["User-Agent"] == expected
        assert sent(site).get("X-Mine") == names.get("X-Mine")


def test_a_session_of_the_users_is_not_closed(site):
    closed = []

    class Session(requests.Session):
        def close(self):
            closed.append(self)

    client = RequestsWebClient(session=Session())
    assert client.get(site.url("/")).raw_data() == b"home"
    client.close()
    assert not closed

    async def read():
        async with aiohttp.ClientSession(auto_decompress=False) as session:
            client = AiohttpWebClient(session=session)
            await (await client.get(site.url("/"))).close()
            await client.close()
            return session.closed

    assert not asyncio.run(read())


# Connections and responses --------------------------------------------------------------------------


def open_connections(site):
    """Return the number of sockets of this process that are connected to the site."""
    port, count = urlsplit(site.url("/")).port, 0
    for one in gc.get_objects():
        if issubclass(type(one), socket.socket) and one.fileno() != -1:
            with contextlib.suppress(OSError):
                count += one.getpeername()[1] == port
    return count


def test_connections_are_kept_for_ten_hosts_and_until_the_client_is_closed(serve):
    sites = [serve({"/": "home"}) for _ in range(14)]
    client = RequestsWebClient()
    for site in sites * 2:  # those that were closed to make room are opened again
        assert client.get(site.url("/")).raw_data() == b"home"
    kept = [open_connections(site) for site in sites]
    assert kept == [0] * 4 + [1] * 10  # as many hosts as urllib3 remembers
    client.close()
    assert not any(map(open_connections, sites))


def test_a_client_can_be_used_again_after_it_was_closed_in_another_loop(site):
    client = AiohttpWebClient()

    async def read():
        response = await client.get(site.url("/"))
        data = b"".join([piece async for piece in response.body()])
        await client.close()
        return data

    assert [asyncio.run(read()) for _ in range(2)] == [b"home", b"home"]


@together("kind", OURS)
def test_a_response_says_what_it_is_and_which_redirects_led_there(site, kind):
    response = respond(kind, site.url("/r"))
    assert (response.status_code(), response.url()) == (200, site.url("/"))
    assert response.redirects() == (site.url("/r"), site.url("/s"))
    found = [response.header(name) for name in ("x-ONE", "content-LENGTH", "x-none")]
    assert found == ["1", "4", None]
    assert {("X-One", "1"), ("Content-Length", "4")} <= set(response.headers())
    if kind == "requests":
        assert response.status_message() == "OK"


def test_without_aiohttp_the_error_says_what_to_install_and_a_bad_url_is_still_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "aiohttp", None)
    monkeypatch.delitem(sys.modules, "usp.web_client.aiohttp_client", raising=False)
    url, aio = "http://127.0.0.1:9/", usp.aio
    fronts = (aio.sitemap_tree_for_homepage, aio.sitemap_tree_for_sitemap)
    for call in (*fronts, lambda url: rest(aio.pages(url))):
        with pytest.raises(ImportError, match=r"pip install 'usp\[async\]'"):
            asyncio.run(call(url))
    with pytest.raises(SitemapException):
        usp.aio.pages("nonsense")
