"""What clients say and give back has no secrets in it: of proxies, or of a session's parameters."""

from __future__ import annotations

import logging
import pickle
import socket

import pytest
import requests
from both import fake_zones, fetch

from together import together
from usp._http.identity import (
    redacted,
    safe_headers,
    secrets_of_params,
    secrets_of_proxies,
    without_params,
)
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, robots, urlset

SECRET = "Zq8Geheim"
KEY = {"key": f"{SECRET} &x", "lang": "de"}


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return server.getsockname()[1]


def session_with(params) -> requests.Session:
    session = requests.Session()
    session.params = params
    return session


# Parameters -----------------------------------------------------------------------------------------


@together("params", [KEY, {b"key": KEY["key"].encode(), "lang": ["de"]}])
def test_the_parameters_of_a_session_do_not_stand_in_the_tree(params, serve, caplog):
    caplog.set_level(logging.DEBUG, "usp")
    query = f"?key={SECRET}+%26x&lang=de"
    site = serve(
        {
            f"/robots.txt{query}": robots("/index.xml"),
            f"/index.xml{query}": index("/a.xml?page=1", "/moved.xml", "/dead.xml", "{alt}/b.xml"),
            f"/a.xml?page=1&{query[1:]}": urlset("/p"),
            f"/moved.xml{query}": Answer(redirect=f"/there.xml{query}"),
            f"/there.xml{query}": urlset("/r"),
            f"/dead.xml{query}": Answer(hang_up=True),
            "alt:/b.xml": urlset("{alt}/s"),
        }
    )
    with session_with(params) as session:
        events: list[object] = []
        client = RequestsWebClient(session=session)
        tree = sitemap_tree_for_homepage(
            site.base, client, use_known_paths=False, on_event=events.append
        )
    nodes = list(tree.all_sitemaps())
    assert {node.url for node in nodes} == {
        site.url(path)
        for path in (
            *("/robots.txt", "/index.xml", "/a.xml?page=1", "/there.xml"),
            *("/dead.xml", "alt:/b.xml"),
        )
    }
    assert len(list(tree.all_pages())) == 3
    for text in (repr(tree.to_dict()), caplog.text, repr(events), repr(tree.failures())):
        assert SECRET not in text
    assert SECRET.encode() not in pickle.dumps(tree)


@together(
    ("params", "url", "asked", "expected"),
    [
        ({"key": "abc"}, "?a=1&key=abc&b=", "?a=1", "?a=1&b="),
        ({"key": "abc"}, "?a=1&key=abc&b=", "?a=1&key=abc", "?a=1&key=abc&b="),
        ({"key": "abc"}, "?key=other", "", "?key=other"),
        ("key=abc", "?key=abc", "", ""),
        (b"key=abc", "?key=abc", "", ""),
        (None, "?key=abc", "", "?key=abc"),
    ],
)
def test_what_the_website_itself_has_written_stays(params, url, asked, expected):
    session = object() if params is None else session_with(params)
    shown = without_params(f"http://h/x{url}", f"http://h/x{asked}", session)
    assert shown == f"http://h/x{expected}"


def test_secrets_are_found_in_every_form():
    assert {"a b", "a%20b", "a+b"} <= secrets_of_params(session_with({"key": "a b"}))
    assert secrets_of_params(session_with({"key": None})) == set()
    assert {"me:w%40rd", "w%40rd", "w@rd"} <= secrets_of_proxies("http://me:w%40rd@proxy:1/")
    assert "me:w/rd" in secrets_of_proxies("me:w/rd@proxy:1")


def test_a_message_has_no_logins():
    said = redacted("no http://me:word@h/x, no secret2 but a", {"secret2", "a"})
    assert said == "no http://h/x, no *** but a"


# Proxies --------------------------------------------------------------------------------------------

PROXIES = [
    "http://me:{0}@127.0.0.1:{1}", "http://me:{0}@127.0.0.1:x{1}", "http://me:{0}/y@127.0.0.1:{1}",
    "ftp://me:{0}@127.0.0.1:{1}", "http://me:{0}@[broken:{1}", "me:{0}@127.0.0.1:{1}", "http://me:{0}@/",
]  # fmt: skip


@together("kind", ["requests", "requests, own session", "aiohttp", "aiohttp, own session"])
@together("proxy", PROXIES)
def test_the_password_of_a_proxy_is_not_told(kind, proxy, closed_port, monkeypatch, caplog):
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("no_proxy", "")
    fake_zones(monkeypatch, public="127.0.0.1")
    address = proxy.format(SECRET, closed_port)
    (result,) = fetch(kind, "http://127.0.0.1/x", start="http://127.0.0.1/", proxy=address)
    assert isinstance(result, WebClientErrorResponse)
    assert SECRET not in result.message()
    assert SECRET not in caplog.text


def test_nor_is_that_of_one_in_the_environment(closed_port, monkeypatch, caplog):
    monkeypatch.setenv("no_proxy", "")
    for port in (closed_port, "x"):
        monkeypatch.setenv("http_proxy", f"http://me:{SECRET}@127.0.0.1:{port}")
        tree = sitemap_tree_for_homepage("http://home.example/", use_known_paths=False)
        assert tree.failures()
        assert SECRET not in repr(tree.failures()) + caplog.text


def test_a_stranger_is_asked_by_the_proxy_of_a_session_too(serve, monkeypatch):
    """A session beside the user's must not connect where the user's would ask its proxy."""
    fake_zones(monkeypatch, public="127.0.0.1")
    proxy = serve(
        {"proxied:http://home.example/": "home", "proxied:http://other.example/": "other"}
    )

    urls = "http://home.example/", "http://other.example/"
    session = {"proxy": proxy.base, "headers": {"Authorization": SECRET}}
    assert fetch("aiohttp, own session", *urls, session=session) == [b"home", b"other"]
    home, other = proxy.requests
    assert home.headers["Authorization"] == SECRET
    assert "Authorization" not in other.headers


# What is kept takes little memory: servers send most of it each time ------------------------------


def test_headers_that_are_sent_again_are_kept_once():
    first, second = (safe_headers([("Server", "x" * 20), ("Date", day)]) for day in ("Mon", "Tue"))
    assert first[0] is second[0]
    assert first[1:] == (("Date", "Mon"),)
    assert first[1][0] is second[1][0]


def test_headers_that_may_hold_secrets_are_not_kept_for_others():
    link = "<http://user:secret@h/>"
    first, second = (safe_headers([("Link", link), ("Set-Cookie", "a=b")]) for _ in range(2))
    assert first == second == (("Link", "<http://h/>"),)
    assert first[0] is not second[0]


def test_the_documents_of_a_website_share_what_was_sent_for_them(serve):
    names = [f"/{number}.xml" for number in range(3)]
    site = serve(
        {
            "/robots.txt": robots("/i.xml"),
            "/i.xml": index(*names),
            **{name: urlset(f"{name}/p") for name in names},
        }
    )
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    sitemaps = [node for node in tree.all_sitemaps() if node.url.endswith(tuple(names))]
    hops = [node.exchange.hops[0] for node in sitemaps]
    assert len(hops) == len(names)
    assert len({id(hop.sent) for hop in hops}) == 1
    assert all(node.exchange.url is node.exchange.final_url for node in sitemaps)
