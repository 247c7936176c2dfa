"""Both clients take the same options, and mean the same by them."""

from __future__ import annotations

import asyncio
import inspect
import pickle

import pytest
from both import KINDS, fetch

from usp._http.identity import DEFAULT_TIMEOUT
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from website import Answer

CLIENTS = [RequestsWebClient, AiohttpWebClient]
PROXIED = "proxied:http://nowhere.invalid/x"


def parameters(client) -> dict[str, inspect.Parameter]:
    return dict(inspect.signature(client).parameters)


def test_names_and_defaults_are_the_same():
    threads, loop = map(parameters, CLIENTS)
    assert list(threads) == list(loop)
    assert {name: one.default for name, one in threads.items()} == {
        name: one.default for name, one in loop.items()
    }


def test_types_are_the_same_but_for_what_belongs_to_the_library():
    threads, loop = map(parameters, CLIENTS)
    differ = {name for name in threads if threads[name].annotation != loop[name].annotation}
    assert differ == {"verify", "session", "auth"}


@pytest.mark.parametrize("client", CLIENTS)
def test_what_is_set_later_is_what_could_have_been_given(client):
    given = client(timeout=3, proxies={"https": "http://p:1"})
    later = client()
    later.set_timeout(3)
    later.set_proxies({"https": "http://p:1"})
    assert (given._timeout, given._proxies) == (later._timeout, later._proxies)
    assert client()._proxies == {}
    assert pickle.loads(pickle.dumps(given))._proxies == given._proxies


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("timeout", [30, (30, 30), None, DEFAULT_TIMEOUT])
def test_a_timeout_is_one_number_or_two_or_none(serve, kind, timeout):
    site = serve({"/": "home"})
    assert fetch(kind, site.url("/"), timeout=timeout) == [b"home"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("timeout", [0.2, (5, 0.2)])
def test_a_server_that_does_not_answer_in_time_is_silent(serve, kind, timeout):
    site = serve({"/": Answer("late", delay=2)})
    (error,) = fetch(kind, site.url("/"), timeout=timeout)
    assert error.silent
    assert "0.2" in error.message()


@pytest.mark.parametrize("kind", KINDS)
def test_one_proxy_for_all_and_others_by_scheme(serve, kind):
    """What goes through a proxy asks it for the whole address; the rest asks the website."""
    proxy, other = (
        serve({PROXIED: "by the proxy"}),
        serve({PROXIED: "by the other", "/y": "direct"}),
    )
    asked = "http://nowhere.invalid/x"
    assert fetch(kind, asked, proxy=proxy.base) == [b"by the proxy"]
    assert fetch(kind, asked, proxies={"http": other.base}) == [b"by the other"]
    assert fetch(kind, asked, proxy=proxy.base, proxies={"http": other.base}) == [b"by the other"]
    assert fetch(kind, other.url("/y"), proxies={"https": proxy.base}) == [b"direct"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_asks_some_hosts_by_a_proxy_and_others_itself(serve, kind):
    proxy, site = serve({PROXIED: "by the proxy"}), serve({"/y": "direct"})
    got = fetch(
        kind,
        "http://nowhere.invalid/x",
        site.url("/y"),
        "http://nowhere.invalid/x",
        proxies={"http://nowhere.invalid": proxy.base},
        start=site.url("/"),
    )
    assert got == [b"by the proxy", b"direct", b"by the proxy"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("random_wait", [False, True])
def test_a_pause_is_kept_before_every_request_but_the_first(serve, kind, monkeypatch, random_wait):
    pauses, sleep = [], asyncio.sleep

    async def paused(seconds, *result):
        pauses.append(seconds)
        return await sleep(0, *result)

    site = serve({"/": "home"})
    with monkeypatch.context() as patch:
        if kind.startswith("requests"):
            patch.setattr("usp.web_client.abstract_client.time.sleep", pauses.append)
        else:
            patch.setattr(asyncio, "sleep", paused)
        assert fetch(kind, *[site.url("/")] * 3, wait=40, random_wait=random_wait) == [b"home"] * 3
    long = [pause for pause in pauses if pause > 1]
    assert len(long) == 2
    assert all(20 <= pause <= 60 for pause in long) if random_wait else long == [40, 40]


@pytest.mark.parametrize("client", CLIENTS)
def test_a_client_that_pauses_takes_one_request_at_a_time(client):
    assert client(wait=1).max_concurrent_requests == 1
    assert client().max_concurrent_requests == 8
    assert client(wait=1, max_concurrent_requests=3).max_concurrent_requests == 3
