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


def text(document: str) -> str:
    return document.replace("{base}", H)


@pytest.fixture
def mock():
    with requests_mock.Mocker() as mocker:
        mocker.get(requests_mock.ANY, status_code=404, text="nothing here", reason="Not Found")
        yield mocker


def test_a_mocked_website_gives_its_tree(mock):
    mock.get(f"{H}/robots.txt", text=text(robots("/i.xml")))
    mock.get(f"{H}/i.xml", text=text(index("/a.xml", "/b.xml.gz", "/gone.xml")))
    mock.get(f"{H}/a.xml", text=text(urlset("/p")), headers={"Content-Type": "application/xml"})
    mock.get(f"{H}/b.xml.gz", content=gzip.compress(text(urlset("/q")).encode()))
    tree = sitemap_tree_for_homepage(H + "/")
    assert paths(tree, H) == ["/p", "/q"]
    reasons = [node.reason for node in tree.all_sitemaps() if isinstance(node, InvalidSitemap)]
    assert reasons == [f"Unable to fetch sitemap from {H}/gone.xml: 404 Not Found"]


def test_a_mocked_answer_may_be_packed_by_http(mock):
    packed = gzip.compress(text(urlset("/p")).encode())
    mock.get(f"{H}/a.xml", content=packed, headers={"Content-Encoding": "gzip"})
    assert paths(sitemap_tree_for_sitemap(f"{H}/a.xml"), H) == ["/p"]


def test_a_mocked_redirect_is_followed(mock):
    mock.get(f"{H}/a.xml", status_code=302, headers={"Location": f"{H}/b.xml"})
    mock.get(f"{H}/b.xml", text=text(urlset("/p")))
    assert sitemap_tree_for_sitemap(f"{H}/a.xml").url == f"{H}/b.xml"


def test_a_mocked_exception_is_an_error(mock):
    mock.get(f"{H}/a.xml", exc=requests.exceptions.ConnectTimeout("no answer"))
    assert "no answer" in sitemap_tree_for_sitemap(f"{H}/a.xml").reason


def test_what_is_asked_for_can_be_looked_at(mock):
    client = RequestsWebClient(user_agent="me")
    client.set_timeout(3)
    client.get(f"{H}/x")
    request = mock.last_request
    assert (request.method, request.url, request.timeout) == ("GET", f"{H}/x", 3)
    assert request.headers["User-Agent"] == "me"


def test_the_default_timeout_is_handed_on(mock):
    RequestsWebClient().get(f"{H}/x")
    assert mock.last_request.timeout == (9.05, 60)


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
        assert (
            RequestsWebClient(session=session).get("mock://h/a.txt").raw_data() == b"http://h/p\n"
        )
