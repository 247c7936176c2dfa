"""Secrets go home only: not to other hosts, not where HTTPS was left, not into messages and trees."""

import logging
import pickle
import socket

import pytest
import requests
from both import KINDS, fake_zones, fetch

from together import together
from usp._base.urls import BadUrl, host_of, read_url
from usp._http.flow import Flow, Request, SessionFacts
from usp._http.identity import redacted, safe_headers, secrets_of_proxies
from usp._http.user_sessions import secrets_of_params, without_params
from usp.limits import Limits
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, robots, urlset

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")
SECRETS = {"Authorization": "secret", "Cookie": "a=secret", "Proxy-Authorization": "secret"}
SELF = ["requests, own session", "aiohttp, own session"]


@pytest.fixture
def site(serve):
    return serve(
        {
            "/": "home",
            "/away": Answer(redirect="{alt}/there"),
            "alt:/there": "there",
            "alt:/back": Answer(redirect="{base}/"),
            "/set": Answer("set", headers={"Set-Cookie": "own=base; Path=/"}),
            "alt:/set": Answer("set", headers={"Set-Cookie": "own=alt; Path=/"}),
        }
    )


def told(site, path) -> dict[str, str]:
    """Give the secret headers of the last request for a path."""
    request = [request for request in site.requests if request.path == path][-1]
    return {name: value for name, value in request.headers.items() if name in SECRETS}


BASIC = {"Authorization": "Basic bWU6c2VjcmV0"}
GIVEN = [  # what has the secrets, and what is sent of them
    (KINDS, {"headers": SECRETS}, SECRETS),
    (KINDS, {"auth": ("me", "secret")}, BASIC),
    (SELF, {"session": {"headers": SECRETS}}, SECRETS),
    (SELF, {"session": {"auth": ("me", "secret")}}, BASIC),
    (SELF, {"session": {"cookies": {"a": "secret"}}}, {"Cookie": "a=secret"}),
]


@together(
    ("kind", "options", "expected"),
    [(kind, options, expected) for kinds, options, expected in GIVEN for kind in kinds],
)
def test_secrets_go_home_only(kind, options, expected, site):
    """Home is the start, and not what is asked first."""
    urls = [site.url(path) for path in ("alt:/there", "/", "/away", "alt:/back", "/")]
    bodies = [b"there", b"home", b"there", b"home", b"home"]
    assert fetch(kind, *urls, start=site.base, **options) == bodies
    for path in ("/", "/away"):
        assert told(site, path) == expected
    for path in ("alt:/there", "alt:/back"):
        assert told(site, path) == {}


KEYS = {"X-Api-Key": "1", "X-Whatever": "2", "X-Amz-Security-Token": "3", "Referer": "4"}
HEADERS = {"headers": {"Accept-Language": "de", "User-Agent": "mine/1", **KEYS, **SECRETS}}


@together(
    ("kind", "options"),
    [*((kind, HEADERS) for kind in KINDS), *((kind, {"session": HEADERS}) for kind in SELF)],
)
def test_only_what_is_known_to_be_harmless_goes_to_everybody(kind, options, site):
    urls = [site.url(path) for path in ("/", "alt:/there", "/away", "alt:/back")]
    fetch(kind, *urls, start=site.base, **options)
    for request in site.requests:
        sent = request.headers
        assert (sent["Accept-Language"], sent["User-Agent"]) == ("de", "mine/1")
        home = not request.path.startswith("alt:")
        assert {name: sent.get(name) for name in KEYS} == (KEYS if home else dict.fromkeys(KEYS))


def test_cookies_in_the_session_of_a_user_stay_with_their_host(site):
    urls = [site.url(path) for path in ("/set", "alt:/set", "/", "alt:/there")]
    session = {"cookies": {"mine": "secret"}}
    fetch("requests, own session", *urls, start=site.base, session=session)
    assert sorted(told(site, "/")["Cookie"].split("; ")) == ["mine=secret", "own=base"]
    assert told(site, "alt:/there") == {"Cookie": "own=alt"}


def test_the_parameters_of_a_session_are_not_added_to_redirects_and_other_hosts(site):
    site.answers |= {"/r?key=secret": Answer(redirect="/b"), "/b": "b", "alt:/there": "there"}
    site.answers["/own?key=secret&key=secret"] = "own"
    seen = []
    with session_with({"key": "secret"}) as session:
        session.hooks["response"] = lambda response, **_: seen.append(response.status_code)
        client = RequestsWebClient(session=session)
        assert client.get(site.url("/r")).raw_data() == b"b"
        assert client.get(site.url("alt:/there")).raw_data() == b"there"
        # One that stands in the address already is no secret.
        assert "key=secret" in client.get(site.url("/own?key=secret")).url()
    assert set(site.hits) == {"/r?key=secret", "/b", "alt:/there", "/own?key=secret&key=secret"}
    assert seen == [302, 200, 200, 200]  # its hooks are called


@together("kind", KINDS)
def test_a_password_in_an_address_stays_with_its_host(kind, site):
    site.answers |= {
        "/1": Answer(redirect="/2"),
        "/2": Answer(redirect="{base}/3"),
        "/3": Answer(redirect="{alt}/there"),
    }
    start = site.url("/1").replace("//", "//me:secret@")
    assert fetch(kind, start, start=start) == [b"there"]
    for path in ("/1", "/2", "/3"):
        assert told(site, path) == {"Authorization": "Basic bWU6c2VjcmV0"}, path
    assert told(site, "alt:/there") == {}


# By address, without a network ------------------------------------------------------------------------

HOME = "https://h.example/robots.txt"
URLS = {  # is it home?
    "https://h.example/x": True,
    "https://h.example:443/x": True,
    "https://H.example./": True,
    "https://me:word@h.example/": True,
    "http://h.example/x": False,
    "https://h.example:8443/": False,
    "https://www.h.example/": False,
    "https://h.example.evil.example/": False,
    "https://evil.example\\@h.example/": False,
    "https://h.example@evil.example/": False,
    "https://h.example:443@evil.example/": False,
    "http://[broken/": False,
    "nonsense://": False,
}


def first_request(start: str, url: str, **facts) -> Request | None:
    """Return the first request for a URL in a crawl, unless it is refused."""
    flow = Flow(headers=SECRETS).for_crawl(start, Limits())
    try:
        target = read_url(url)
    except BadUrl:
        return None
    return flow.request(target, [target.text()], SessionFacts(**facts), None, None)


@together(
    ("start", "url", "is_home"),
    [
        *((HOME, url, is_home) for url, is_home in URLS.items()),
        ("http://h.example/", "https://h.example/", True),  # it may become safer
        ("http://h.example/", "http://h.example:80/", True),
        ("http://h.example/", "http://h.example:8080/", False),
    ],
)
def test_home_is_a_host_a_port_and_https(start, url, is_home):
    request = first_request(start, url)
    assert (request is not None and request.is_home) == is_home
    assert (request is not None and "Cookie" in request.headers) == is_home


def test_a_session_that_logs_in_needs_no_login_of_the_address():
    start = "http://me:word@h.example/"
    requests = [first_request(start, start, has_login=has_login) for has_login in (False, True)]
    sent = [request.headers["Authorization"] for request in requests]
    assert sent == ["Basic bWU6d29yZA==", SECRETS["Authorization"]]
    assert "word" not in requests[0].text


def test_the_host_of_a_url_has_its_port_unless_it_is_the_usual_one():
    assert host_of("http://H:80/") == host_of("https://h:443/") == host_of("http://h/") == "h"
    assert host_of("http://h:443/") == "h:443"
    assert host_of("http://[broken/") is None


# What clients say and give back: without the secrets of proxies, or of a session's parameters ------

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
    known = "/robots.txt /index.xml /a.xml?page=1 /there.xml /dead.xml alt:/b.xml"
    assert {node.url for node in tree.all_sitemaps()} == {*map(site.url, known.split())}
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


def test_secrets_are_found_in_every_form_and_left_out_of_a_message():
    assert {"a b", "a%20b", "a+b"} <= secrets_of_params(session_with({"key": "a b"}))
    assert secrets_of_params(session_with({"key": None})) == set()
    assert {"me:w%40rd", "w%40rd", "w@rd"} <= secrets_of_proxies("http://me:w%40rd@proxy:1/")
    assert "me:w/rd" in secrets_of_proxies("me:w/rd@proxy:1")
    said = redacted("no http://me:word@h/x, no secret2 but a", {"secret2", "a"})
    assert said == "no http://h/x, no *** but a"


# Proxies --------------------------------------------------------------------------------------------

PROXIES = [
    "http://me:{0}@127.0.0.1:{1}", "http://me:{0}@127.0.0.1:x{1}", "http://me:{0}/y@127.0.0.1:{1}",
    "ftp://me:{0}@127.0.0.1:{1}", "http://me:{0}@[broken:{1}", "me:{0}@127.0.0.1:{1}", "http://me:{0}@/",
]  # fmt: skip


@together("kind", KINDS)
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


def test_another_host_is_asked_by_the_proxy_of_a_session_too(serve, monkeypatch):
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


def test_headers_that_are_sent_again_are_kept_once_unless_they_may_hold_secrets():
    link = "<http://user:secret@h/>"
    sent = [("Server", "x" * 20), ("Link", link), ("Set-Cookie", "a=b")]
    first, second = (safe_headers([*sent, ("Date", day)]) for day in ("Mon", "Tue"))
    assert first[0] is second[0]
    assert first[1:] == (("Link", "<http://h/>"), ("Date", "Mon"))
    assert first[1] is not second[1]
    assert first[2][0] is second[2][0]


def test_the_documents_of_a_website_share_what_was_sent_for_them(serve):
    names = [f"/{number}.xml" for number in range(3)]
    site = serve({"/robots.txt": robots(*names)} | {name: urlset(f"{name}/p") for name in names})
    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False)
    sitemaps = [node for node in tree.all_sitemaps() if node.url.endswith(tuple(names))]
    hops = [node.exchange.hops[0] for node in sitemaps]
    assert len(hops) == len(names)
    assert len({id(hop.sent) for hop in hops}) == 1
    assert all(node.exchange.url is node.exchange.final_url for node in sitemaps)
