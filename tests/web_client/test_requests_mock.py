"""Programs that mock ``requests`` in their tests can mock our client with it."""

from __future__ import annotations

import gzip

import pytest
import requests
import requests_mock

from usp.objects.sitemap import InvalidSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import BrokenBody
from usp.web_client.requests_client import RequestsWebClient
from website import index, paths, robots, urlset

H = "http://example.org"


@pytest.fixture
def mock():
    with requests_mock.Mocker() as mocker:
        mocker.get(requests_mock.ANY, status_code=404, text="nothing here", reason="Not Found")
        yield mocker


def test_a_mocked_website_gives_its_tree(mock):
    """Also what is packed, as a file or by HTTP, and what redirects."""
    children = "/a.xml", "/b.xml.gz", "/c.xml", "/moved.xml", "/gone.xml", "/slow.xml"
    packed = [gzip.compress(urlset(f"{H}/{page}").encode()) for page in "qr"]
    gzipped = {"Content-Encoding": "gzip"}
    for path, options in {
        "/robots.txt": {"text": robots(f"{H}/i.xml")},
        "/i.xml": {"text": index(*(H + path for path in children))},
        "/a.xml": {"text": urlset(f"{H}/p"), "headers": {"Content-Type": "application/xml"}},
        "/b.xml.gz": {"content": packed[0]},
        "/c.xml": {"content": packed[1], "headers": gzipped},
        "/moved.xml": {"status_code": 302, "headers": {"Location": f"{H}/there.xml"}},
        "/there.xml": {"text": urlset(f"{H}/s")},
        "/slow.xml": {"exc": requests.exceptions.ConnectTimeout("no answer")},
    }.items():
        mock.get(H + path, **options)
    tree = sitemap_tree_for_homepage(H + "/")
    assert paths(tree, H) == ["/p", "/q", "/r", "/s"]
    assert sitemap_tree_for_sitemap(f"{H}/moved.xml").url == f"{H}/there.xml"
    gone, slow = (node.reason for node in tree.all_sitemaps() if isinstance(node, InvalidSitemap))
    assert gone == f"Unable to fetch sitemap from {H}/gone.xml: 404 Not Found"
    assert "no answer" in slow


def test_what_is_asked_for_can_be_looked_at(mock):
    client = RequestsWebClient(user_agent="me")
    client.get(f"{H}/x")
    assert mock.last_request.timeout == (9.05, 60)
    client.set_timeout(3)
    client.get(f"{H}/x")
    request = mock.last_request
    assert (request.method, request.url, request.timeout) == ("GET", f"{H}/x", 3)
    assert request.headers["User-Agent"] == "me"


def test_a_mocked_body_has_a_limit_too(mock):
    mock.get(f"{H}/x", content=b"0123456789" * 10)
    client = RequestsWebClient()
    client.set_max_response_data_length(25)
    assert client.get(f"{H}/x").raw_data() == (b"0123456789" * 10)[:25]
    with pytest.raises(BrokenBody):
        list(client.get(f"{H}/x").body())


def test_a_mocked_adapter_can_be_mounted_on_a_session():
    adapter = requests_mock.Adapter()
    adapter.register_uri("GET", "mock://h/a.txt", text="http://h/p\n")
    with requests.Session() as session:
        session.mount("mock://", adapter)
        response = RequestsWebClient(session=session).get("mock://h/a.txt")
    assert response.raw_data() == b"http://h/p\n"
