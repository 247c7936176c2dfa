"""Clients and responses that users wrote for ultimate-sitemap-parser keep working."""

from __future__ import annotations

import gzip

import pytest
import requests
from lookalikes import DOCS, PAGES, Client, H, Response, answer

from together import together
from usp.objects.sitemap import InvalidSitemap, PagesXMLSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
)
from usp.web_client.requests_client import (
    RequestsWebClient,
    RequestsWebClientErrorResponse,
    RequestsWebClientSuccessResponse,
)
from website import Answer, paths, robots, urlset


class Telling(Client, AbstractWebClient):
    """Gives one answer to everything, or those of the website with headers."""

    def __init__(self, told=None, headers=None):
        self.told, self.headers, self.asked = told, headers, []

    def get(self, url):
        self.asked.append(url)
        given = self.told or answer(url)
        if isinstance(given, Response):
            return Response(url, given.raw_data()[: self.most], self.headers)
        return given


@together("encoding", [None, "gzip", "deflate"])
def test_a_client_that_serves_from_memory_unpacked_whatever_its_header_says(encoding):
    """As every client does that wraps ``response.content`` of an HTTP library."""
    headers = {"content-encoding": encoding, "content-type": "text/xml"} if encoding else None
    client = Telling(headers=headers)
    tree = sitemap_tree_for_homepage(f"{H}/", web_client=client)
    assert paths(tree, H) == PAGES
    assert client.asked[0] == f"{H}/robots.txt"
    assert client.most == 100 * 1024 * 1024 + 1  # one more, and the limit is passed
    assert len(client.asked) == len(set(client.asked))
    assert not [problem for node in tree.all_sitemaps() for problem in node.problems]


def test_a_client_that_gives_packed_data():
    data = gzip.compress(DOCS[f"{H}/a.xml"].replace("{base}", H).encode())
    client = Telling(Response(f"{H}/a.xml.gz", data))
    assert paths(sitemap_tree_for_sitemap(f"{H}/a.xml.gz", client), H) == PAGES


class OwnError(WebClientErrorResponse):
    """Knows only the old interface."""

    def __init__(self, text):
        super().__init__(message=text, retryable=False)

    def message(self):
        return "own: " + super().message()


def test_errors_of_an_own_client_are_named_in_the_tree():
    ate = WebClientErrorResponse("the dog ate it", retryable=False)
    node = sitemap_tree_for_sitemap("http://h/a.xml", Telling(ate))
    expected = "Unable to fetch sitemap from http://h/a.xml: the dog ate it"
    assert node == InvalidSitemap("http://h/a.xml", expected)
    assert "own: x" in sitemap_tree_for_sitemap("http://h/a.xml", Telling(OwnError("x"))).reason


def test_a_subclass_of_the_requests_client_that_overrides_get(serve):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    asked = []

    class Logging(RequestsWebClient):
        def get(self, url):
            asked.append(url)
            return super().get(url)

    client = Logging()
    tree = sitemap_tree_for_homepage(site.base + "/", web_client=client, use_known_paths=False)
    client.close()
    assert paths(tree, site.base) == ["/p"]
    assert asked == [site.url("/robots.txt"), site.url("/a.xml")]
    assert client.max_concurrent_requests == 1


class Lower(RequestsWebClientSuccessResponse):
    """Overrides the data."""

    def raw_data(self):
        return super().raw_data().replace(b"PAGE", b"page")


@together("response", [RequestsWebClientSuccessResponse, Lower])
@together("encoding", [None, "gzip"])
def test_a_response_that_was_read_with_requests(serve, response, encoding):
    """``requests.get`` without streaming: the content is plain, the header may say gzip."""
    site = serve({})
    body = site.fill(urlset("/PAGE"))
    site.answers["/a.xml"] = (
        Answer(gzip.compress(body), headers={"Content-Encoding": encoding}) if encoding else body
    )

    class ByRequests(RequestsWebClient):
        def get(self, url):
            received = requests.get(url, timeout=5)
            return response(requests_response=received, max_response_data_length=None)

    client = ByRequests()
    node = sitemap_tree_for_sitemap(site.url("/a.xml"), client)
    client.close()
    assert isinstance(node, PagesXMLSitemap)
    expected = "/page" if response is Lower else "/PAGE"
    assert paths(node, site.base) == [expected]
    assert [page.url for page in node.pages] == [site.url(expected)]
    assert node.problems == []


def test_a_limit_holds_for_a_response_that_was_read_already(serve):
    site = serve({"/x": "0123456789"})
    response = RequestsWebClientSuccessResponse(requests.get(site.url("/x"), timeout=5), 4)
    assert response.raw_data() == b"0123"
    assert next(response.body()) == b"0123"


def test_an_error_response_can_be_made_with_the_old_arguments():
    response = RequestsWebClientErrorResponse("gone", False)
    assert (response.message(), response.retryable()) == ("gone", False)
    response = RequestsWebClientErrorResponse(message="busy", retryable=True)
    assert (response.status, response.retry_after, response.unreachable) == (None, None, False)


@together("base", [AbstractWebClient, AbstractWebClientSuccessResponse])
def test_an_interface_that_is_not_complete_cannot_be_made(base):
    with pytest.raises(TypeError):
        type("Half", (base,), {})()
