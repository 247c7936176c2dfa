"""What people put in the place of ``requests.Session``, or below it, is used; else urllib3 directly."""

import gzip
import io
import logging
import re
import subprocess
import sys
from functools import partial
from pathlib import Path
from unittest import mock

import pytest
import requests
import requests_cache
import requests_mock
import vcr
from both import fetch
from first_crawls import MOMENTS, PATCHES
from hypothesis import given
from hypothesis import strategies as st
from lookalikes import PAGES, H, body_of

from patience import calls
from together import together
from usp import fetch_parse
from usp._base import urls
from usp._base.urls import BadUrl, read_url
from usp._http.direct_session import DirectSession
from usp.limits import Limits
from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import LocalWebClient
from usp.web_client.requests_client import RequestsWebClient
from usp.web_client.zones import AddressGate
from website import Answer, index, indexed, pages_at, paths, robots, urlset

SITE = indexed("/p.xml", "/b.xml") | {"/b.xml": Answer(redirect="/q.xml")} | pages_at("p", "q")
REQUESTS = 5


@pytest.fixture
def site(serve):
    return serve(SITE)


def read(site, client=None):
    tree = sitemap_tree_for_homepage(site.base + "/", client, use_known_paths=False)
    assert paths(tree, site.base) == ["/p", "/q"]
    assert tree.is_complete
    requested = len(site.requests)
    site.requests.clear()
    return requested


# A cache -----------------------------------------------------------------------------------------


def test_an_installed_cache_is_used_and_no_longer_when_it_is_not(site):
    client = RequestsWebClient()
    assert read(site, client) == REQUESTS
    requests_cache.install_cache("usp", backend="memory")
    try:
        assert read(site) == REQUESTS
        assert read(site) == 0
        assert read(site, client) == 0  # although it was made and used before
        client.close()
    finally:
        requests_cache.uninstall_cache()
    assert read(site, client) == REQUESTS
    client.close()
    with requests_cache.enabled("usp", backend="memory"):
        assert read(site) == REQUESTS
        assert read(site) == 0
    assert read(site) == REQUESTS


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # the cache leaves its database open
@together("options", [{"backend": "sqlite"}, {"expire_after": 3600}, {"expire_after": 0}])
def test_a_caching_session_keeps_redirects_as_long_as_anything_else(site, tmp_path, options):
    with requests_cache.CachedSession(tmp_path / "a", **{"backend": "memory"} | options) as session:
        assert read(site, RequestsWebClient(session=session)) == REQUESTS
        again = read(site, RequestsWebClient(session=session))
    assert again == (0 if options.get("expire_after", 1) else REQUESTS)


# Mocks -------------------------------------------------------------------------------------------


def tree_of(client=None):
    return sitemap_tree_for_homepage(f"{H}/", client)


@pytest.mark.filterwarnings("ignore::ResourceWarning")
@together("kind", ["default", "session"])
def test_a_cassette_is_recorded_and_played(site, tmp_path, kind):
    for requested in (REQUESTS, 0):
        with vcr.use_cassette(tmp_path / f"{kind}.yaml"), requests.Session() as session:
            client = RequestsWebClient(session=session) if kind == "session" else None
            assert read(site, client) == requested


def filled_in(url, raw=None):
    """Return a response as tests make one: never sent, its body written into it."""
    body = body_of(url)
    response = requests.Response()
    response.url, response.raw = url, raw
    response.status_code = 404 if body is None else 200
    response._content = body  # None, if there is none
    return response


@together("raw", [None, io.BytesIO()])
@together("level", [logging.WARNING, logging.DEBUG])
def test_a_response_whose_body_was_written_into_it(caplog, raw, level):
    caplog.set_level(level)
    get = mock.Mock(side_effect=lambda url, **_: filled_in(url, raw))
    with mock.patch("requests.Session.get", get):
        assert paths(tree_of(), H) == PAGES
        response = RequestsWebClient().get(f"{H}/a.xml")
        assert response.raw_data() == response.raw_data() == body_of(f"{H}/a.xml")
    session = mock.Mock(spec=["get"], get=get)
    assert paths(tree_of(RequestsWebClient(session=session)), H) == PAGES
    assert "closed" not in caplog.text
    response = requests.Response()  # left empty
    response.status_code = 200
    with mock.patch("requests.Session.get", return_value=response):
        assert RequestsWebClient().get(f"{H}/a.xml").raw_data() == b""


def test_a_client_in_place_of_the_one_that_1_8_1_names_is_used():
    session = mock.Mock(spec=["get"], get=mock.Mock(side_effect=lambda url, **_: filled_in(url)))
    for client in (RequestsWebClient(session=session), LocalWebClient()):
        with mock.patch("usp.fetch_parse.RequestsWebClient", return_value=client) as made:
            assert paths(tree_of(), H) == (PAGES if client.__class__ is RequestsWebClient else [])
        assert made.call_count == 1
    assert "RequestsWebClient" not in vars(fetch_parse)


@pytest.mark.long
@pytest.mark.parametrize("moment", MOMENTS)
def test_a_patch_around_the_first_crawl_of_a_process_is_seen(moment):
    """As it is in the second one, and no longer when it has ended."""
    script = Path(__file__).with_name("first_crawls.py")
    done = subprocess.run(
        [sys.executable, script, moment], check=False, capture_output=True, text=True
    )
    assert done.stdout.splitlines() == [f"{patch}: [1, 1, 0, 1]" for patch in PATCHES], done.stderr


# Requests that are mocked --------------------------------------------------------------------------

ORG = "http://example.org"


@pytest.fixture
def mocked():
    with requests_mock.Mocker() as mocker:
        mocker.get(requests_mock.ANY, status_code=404, text="nothing here", reason="Not Found")
        yield mocker


def test_a_mocked_website_gives_its_tree(mocked):
    """Also what is packed, as a file or by HTTP, and what redirects."""
    children = "/a.xml", "/b.xml.gz", "/c.xml", "/moved.xml", "/gone.xml", "/slow.xml"
    packed = [gzip.compress(urlset(f"{ORG}/{page}").encode()) for page in "qr"]
    gzipped = {"Content-Encoding": "gzip"}
    for path, options in {
        "/robots.txt": {"text": robots(f"{ORG}/i.xml")},
        "/i.xml": {"text": index(*(ORG + path for path in children))},
        "/a.xml": {"text": urlset(f"{ORG}/p"), "headers": {"Content-Type": "application/xml"}},
        "/b.xml.gz": {"content": packed[0]},
        "/c.xml": {"content": packed[1], "headers": gzipped},
        "/moved.xml": {"status_code": 302, "headers": {"Location": f"{ORG}/there.xml"}},
        "/there.xml": {"text": urlset(f"{ORG}/s")},
        "/slow.xml": {"exc": requests.exceptions.ConnectTimeout("no answer")},
    }.items():
        mocked.get(ORG + path, **options)
    tree = sitemap_tree_for_homepage(ORG + "/")
    assert paths(tree, ORG) == ["/p", "/q", "/r", "/s"]
    assert sitemap_tree_for_sitemap(f"{ORG}/moved.xml").url == f"{ORG}/there.xml"
    gone, slow = (node.reason for node in tree.all_sitemaps() if isinstance(node, InvalidSitemap))
    assert gone == f"Unable to fetch sitemap from {ORG}/gone.xml: 404 Not Found"
    assert "no answer" in slow


def test_a_mocked_adapter_can_be_mounted_on_a_session():
    adapter = requests_mock.Adapter()
    adapter.register_uri("GET", "mock://h/a.txt", text="http://h/p\n")
    with requests.Session() as session:
        session.mount("mock://", adapter)
        response = RequestsWebClient(session=session).get("mock://h/a.txt")
    assert response.raw_data() == b"http://h/p\n"


# A request to which nothing is added goes straight to urllib3 -------------------------------------


CALLS = 300  # Python functions that are called for one small response, those of libraries included


@pytest.fixture
def plain(serve):
    return serve(
        {"/a": "plain", "/a?b=c": "with a query"} | {f"/{n}": f"body {n}" for n in range(30)}
    )


@pytest.fixture
def direct(monkeypatch) -> list[str]:
    """What was asked for without requests."""
    asked, real = [], DirectSession.get

    def get(session, url, text, *args):
        asked.append(text)
        return real(session, url, text, *args)

    monkeypatch.setattr(DirectSession, "get", get)
    return asked


def bodies(count):
    return [f"body {number}".encode() for number in range(count)]


def test_what_nobody_has_touched_is_asked_for_directly(plain, direct):
    paths = {"/a": b"plain", "/a?b=c": b"with a query", "/a#b": b"plain"}
    client = RequestsWebClient()
    assert [client.get(plain.url(path)).raw_data() for path in paths] == list(paths.values())
    assert direct == [plain.url(path) for path in paths]
    sent = {name.lower() for name in plain.requests[0].headers}
    assert sent == {"host", "user-agent", "accept-encoding", "accept", "connection"}


CHANGES = {
    "auth": lambda session: setattr(session, "auth", ("user", "word")),
    "params": lambda session: setattr(session, "params", {"k": "v"}),
    "cookies": lambda session: session.cookies.set("k", "v"),
    "hooks": lambda session: session.hooks.update(response=[lambda response, **_: None]),
    "a secret": lambda session: session.headers.update({"X-Api-Key": "k"}),
    "a method": lambda session: setattr(session, "send", session.send),
}


@together("change", CHANGES)
def test_a_session_with_something_of_its_own_is_used(plain, direct, change):
    plain.answers["/a?k=v"] = "plain"
    client = RequestsWebClient()
    CHANGES[change](client._session)
    assert client.get(plain.url("/a")).raw_data() == b"plain"
    assert direct == []


def test_the_logins_of_the_user_s_netrc_are_used(plain, direct, monkeypatch, tmp_path):
    file = tmp_path / "netrc"
    file.write_text("machine 127.0.0.1\nlogin user\npassword word\n")
    monkeypatch.setenv("NETRC", str(file))
    RequestsWebClient().get(plain.url("/a"))
    assert plain.requests[0].headers["Authorization"].startswith("Basic ")
    assert direct == []


@given(rest=st.text("az/.:?&=%#@!~-+()[]|é 0", max_size=12))
def test_what_is_written_as_it_is_would_be_written_so_anyway(rest):
    url = f"http://h.example:81/{rest}"
    try:
        written = read_url(url).text()
    except BadUrl:
        return
    escaped = urls._escaped(urls._escaped(url.rstrip()))
    # A path of nothing but dots leaves none.
    assert written == re.sub(r"\A(http://h\.example:81)(?=[?#]|\Z)", r"\1/", escaped)


# What is the same for many requests is done once, and what differs is still sent as it is ----------


@together("kind", ["requests", "aiohttp"])
def test_a_connection_is_checked_once(plain, monkeypatch, kind):
    checked, real = [], AddressGate.connected

    def connected(self, host, address):
        checked.append((host, address))
        real(self, host, address)

    monkeypatch.setattr(AddressGate, "connected", connected)
    paths = [plain.url(f"/{number}") for number in range(5)]
    assert fetch(kind, *paths, start=plain.url("/"), limits=Limits()) == bodies(5)
    assert checked == [("127.0.0.1", "127.0.0.1")]


def test_a_header_that_differs_or_is_added_to_a_session_in_use_is_sent_as_it_is(plain):
    client = RequestsWebClient()
    client.set_conditions(
        {(plain.url(f"/{n}"),) * 2: {"If-None-Match": f'"{n}"'} for n in range(30)}
    )
    assert [client.get(plain.url(f"/{n}")).raw_data() for n in range(30)] == bodies(30)
    sent = [request.headers["If-None-Match"] for request in plain.requests]
    assert sent == [f'"{n}"' for n in range(30)]
    assert {request.headers["Accept"] for request in plain.requests} == {"*/*"}
    client._session.headers["Accept-Language"] = "de"
    client.get(plain.url("/1")).raw_data()
    client._session.headers = {"Accept-Language": "fr"}
    client.get(plain.url("/2")).raw_data()
    languages = [request.headers.get("Accept-Language") for request in plain.requests]
    assert languages[29:] == [None, "de", "fr"]


def test_one_more_request_costs_few_calls(plain):
    client = RequestsWebClient()

    def read(requests):
        for number in range(requests):
            response = client.get(plain.url(f"/{number}"))
            assert b"".join(response.body())
            response.close()

    read(2)  # what is found out once is found out now
    few, many = (calls(partial(read, requests)) for requests in (10, 30))
    assert (many - few) / 20 <= CALLS
