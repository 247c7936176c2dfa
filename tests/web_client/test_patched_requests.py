"""Whatever people put in the place of ``requests.Session``, or below it, is what we use."""

from __future__ import annotations

import gzip
import io
import logging
import subprocess
import sys
from pathlib import Path
from unittest import mock

import pytest
import requests
import requests_cache
import requests_mock
import vcr
from first_crawls import MOMENTS, PATCHES
from lookalikes import PAGES, H, body_of, respond

from together import together
from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.requests_client import RequestsWebClient
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


def test_a_patched_class_or_method_is_used_when_it_is_needed():
    before = RequestsWebClient()
    with mock.patch("requests.Session") as patched:
        patched.return_value.get.side_effect = lambda url, **_: respond(url)
        for client in (None, RequestsWebClient(), before):
            assert paths(tree_of(client), H) == PAGES
        assert RequestsWebClient().get(f"{H}/a.xml").raw_data()
    assert patched.called
    with mock.patch(
        "requests.adapters.HTTPAdapter.send", side_effect=requests.ConnectionError("patched")
    ):
        assert "patched" in tree_of().failures()[0].reason


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


# In fresh processes ------------------------------------------------------------------------------


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


def test_what_is_asked_for_can_be_looked_at(mocked):
    client = RequestsWebClient(user_agent="me")
    client.get(f"{ORG}/x")
    assert mocked.last_request.timeout == (9.05, 60)
    client.set_timeout(3)
    client.get(f"{ORG}/x")
    request = mocked.last_request
    assert (request.method, request.url, request.timeout) == ("GET", f"{ORG}/x", 3)
    assert request.headers["User-Agent"] == "me"


def test_a_mocked_adapter_can_be_mounted_on_a_session():
    adapter = requests_mock.Adapter()
    adapter.register_uri("GET", "mock://h/a.txt", text="http://h/p\n")
    with requests.Session() as session:
        session.mount("mock://", adapter)
        response = RequestsWebClient(session=session).get("mock://h/a.txt")
    assert response.raw_data() == b"http://h/p\n"
