"""Clients and responses that users wrote for ultimate-sitemap-parser keep working."""

from __future__ import annotations

import gzip

import pytest
import requests
from lookalikes import Response

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
from website import Answer, index, paths, robots, urlset


class MemoryClient(AbstractWebClient):
    """Serves a website from memory."""

    limit = None

    def __init__(self, answers, headers=None):
        self.answers, self.headers, self.asked = answers, headers, []

    def set_max_response_data_length(self, max_response_data_length):
        MemoryClient.limit = max_response_data_length

    def get(self, url):
        self.asked.append(url)
        answer = self.answers.get(url.removeprefix("http://h"))
        if answer is None:
            return WebClientErrorResponse("404 Not Found", retryable=False)
        data = (
            answer if isinstance(answer, bytes) else answer.replace("{base}", "http://h").encode()
        )
        return Response(url, data[: MemoryClient.limit], self.headers)


SITE = {
    "/robots.txt": robots("/i.xml"),
    "/i.xml": index("/a.xml", "/b.xml"),
    "/a.xml": urlset("/p"),
}


def test_a_client_that_serves_from_memory():
    client = MemoryClient(SITE)
    tree = sitemap_tree_for_homepage("http://h/", web_client=client)
    assert paths(tree, "http://h") == ["/p"]
    assert client.asked[0] == "http://h/robots.txt"
    assert MemoryClient.limit == 100 * 1024 * 1024 + 1  # one more, and the limit is passed
    assert len(client.asked) == len(set(client.asked))


def test_a_client_whose_data_is_unpacked_but_whose_header_still_says_gzip():
    """What every client that wraps ``response.content`` of an HTTP library does."""
    client = MemoryClient(SITE, {"content-encoding": "gzip", "content-type": "text/xml"})
    tree = sitemap_tree_for_homepage("http://h/", web_client=client)
    assert paths(tree, "http://h") == ["/p"]
    assert not [problem for node in tree.all_sitemaps() for problem in node.problems]


def test_a_client_whose_data_is_unpacked_but_whose_header_still_says_deflate():
    client = MemoryClient(SITE, {"content-encoding": "deflate"})
    tree = sitemap_tree_for_homepage("http://h/", web_client=client)
    assert paths(tree, "http://h") == ["/p"]
    assert not [problem for node in tree.all_sitemaps() for problem in node.problems]


def test_a_client_that_gives_packed_data():
    data = gzip.compress(urlset("http://h/p").encode())
    tree = sitemap_tree_for_sitemap("http://h/a.xml.gz", MemoryClient({"/a.xml.gz": data}))
    assert paths(tree, "http://h") == ["/p"]


def test_errors_of_an_own_client_are_named_in_the_tree():
    class Refusing(MemoryClient):
        def get(self, url):
            return WebClientErrorResponse("the dog ate it", retryable=False)

    node = sitemap_tree_for_sitemap("http://h/a.xml", Refusing({}))
    expected = "Unable to fetch sitemap from http://h/a.xml: the dog ate it"
    assert node == InvalidSitemap("http://h/a.xml", expected)


def test_an_error_response_of_the_users_own_that_knows_only_the_old_interface():
    class OwnError(WebClientErrorResponse):
        def __init__(self, text):
            super().__init__(message=text, retryable=False)

        def message(self):
            return "own: " + super().message()

    class Client(MemoryClient):
        def get(self, url):
            return OwnError("x")

    assert "own: x" in sitemap_tree_for_sitemap("http://h/a.xml", Client({})).reason


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


def test_a_subclass_that_never_calls_the_constructor_of_its_base(serve):
    class Lazy(RequestsWebClient):
        def __init__(self):
            pass

        def set_max_response_data_length(self, max_response_data_length):
            pass

        def get(self, url):
            return Response(url, b"http://h/p\n")

    node = sitemap_tree_for_sitemap("http://h/a.txt", Lazy())
    assert paths(node, "http://h") == ["/p"]


def test_a_response_of_the_users_own_that_overrides_raw_data(serve):
    site = serve({"/a.xml": urlset("/PAGE")})

    class Lower(RequestsWebClientSuccessResponse):
        def raw_data(self):
            return super().raw_data().replace(b"PAGE", b"page")

    class Client(RequestsWebClient):
        def get(self, url):
            response = requests.get(url, timeout=5)
            return Lower(requests_response=response, max_response_data_length=None)

    client = Client()
    node = sitemap_tree_for_sitemap(site.url("/a.xml"), client)
    client.close()
    assert paths(node, site.base) == ["/page"]
    assert [page.url for page in node.pages] == [site.url("/page")]


def test_a_response_that_was_read_with_requests_and_unpacked(serve):
    """``requests.get`` without streaming: the content is plain, the header says gzip."""
    site = serve({})
    packed = gzip.compress(site.fill(urlset("/p")))
    site.answers["/a.xml"] = Answer(packed, headers={"Content-Encoding": "gzip"})

    class Client(RequestsWebClient):
        def get(self, url):
            return RequestsWebClientSuccessResponse(requests.get(url, timeout=5))

    client = Client()
    node = sitemap_tree_for_sitemap(site.url("/a.xml"), client)
    client.close()
    assert isinstance(node, PagesXMLSitemap)
    assert paths(node, site.base) == ["/p"]
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


def test_an_interface_that_is_not_complete_cannot_be_made():
    class Half(AbstractWebClient):
        pass

    class HalfResponse(AbstractWebClientSuccessResponse):
        pass

    for kind in (Half, HalfResponse):
        with pytest.raises(TypeError):
            kind()
