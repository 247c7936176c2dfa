"""Bodies: received while they are read, up to the limit, packed as they came, whole or not."""

from __future__ import annotations

import gzip
import threading
import zlib

import pytest

from usp.limits import Limits
from usp.objects.sitemap import PagesXMLSitemap
from usp.tree import sitemap_tree_for_sitemap
from usp.web_client.abstract_client import BrokenBody
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, paths, urlset


@pytest.fixture
def client():
    client = RequestsWebClient()
    yield client
    client.close()


def raw_deflate(data: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKED = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "GZip": gzip.compress,
    "deflate": zlib.compress,
    "deflate raw": raw_deflate,
    "gzip, gzip": lambda data: gzip.compress(gzip.compress(data)),
    "identity": bytes,
}


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_comes_in_pieces_and_whole(serve, client, chunked):
    site = serve({"/x": Answer("0123456789" * 50, chunked=chunked)})
    assert b"".join(client.get(site.url("/x")).body()) == b"0123456789" * 50
    assert client.get(site.url("/x")).raw_data() == b"0123456789" * 50


def test_a_body_that_was_read_already_is_given_again(serve, client):
    site = serve({"/x": "body"})
    response = client.get(site.url("/x"))
    assert response._response.content == b"body"  # as a caching session does
    assert b"".join(response.body()) == b"body"
    assert response.raw_data() == b"body"


@pytest.mark.parametrize("name", PACKED)
def test_packed_bodies_are_unpacked_for_whoever_wants_the_data(serve, client, name):
    headers = {"Content-Encoding": name.removesuffix(" raw")}
    site = serve({"/x": Answer(PACKED[name](b"content" * 100), headers=headers)})
    assert client.get(site.url("/x")).raw_data() == b"content" * 100


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.parametrize("chunked", [False, True])
def test_packed_bodies_are_kept_packed_in_the_stream_and_read_by_the_crawl(
    serve, client, name, chunked
):
    site = serve({})
    packed = PACKED[name](site.fill(urlset("/p", "/q")))
    headers = {"Content-Encoding": name.removesuffix(" raw")}
    site.answers["/a.xml"] = Answer(packed, headers=headers, chunked=chunked)
    assert b"".join(client.get(site.url("/a.xml")).body()) == packed
    node = sitemap_tree_for_sitemap(site.url("/a.xml"), client)
    assert paths(node, site.base) == ["/p", "/q"]
    assert node.problems == []


@pytest.mark.parametrize("lie", ["gzip", "deflate", "br", "zstd", "utf-8", "none"])
def test_a_content_encoding_that_lies_costs_nothing(serve, client, lie):
    site = serve({"/a.xml": Answer(urlset("/p", "/q"), headers={"Content-Encoding": lie})})
    node = sitemap_tree_for_sitemap(site.url("/a.xml"), client)
    assert isinstance(node, PagesXMLSitemap)
    assert paths(node, site.base) == ["/p", "/q"]


def test_raw_data_of_a_body_that_lies_about_its_encoding_raises_nothing(serve, client):
    site = serve({"/x": Answer("plain", headers={"Content-Encoding": "gzip"})})
    assert isinstance(client.get(site.url("/x")).raw_data(), bytes)


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_breaks_off_is_told_in_the_stream_and_kept_in_the_data(serve, client, chunked):
    site = serve({"/x": Answer("0123456789" * 50, cut=70, chunked=chunked)})
    got: list[bytes] = []
    with pytest.raises(BrokenBody):
        got.extend(client.get(site.url("/x")).body())
    assert b"".join(got) == ("0123456789" * 50)[:70].encode()
    data = client.get(site.url("/x")).raw_data()
    assert (b"0123456789" * 50).startswith(data)


@pytest.mark.parametrize("length", [0, 1, 10, 499, 500, 501, None])
def test_the_limit_cuts_the_body(serve, client, length):
    body = b"0123456789" * 50
    site = serve({"/x": body})
    client.set_max_response_data_length(length)
    expected = body if length is None else body[:length]
    assert client.get(site.url("/x")).raw_data() == expected
    got, broken = b"", False
    try:
        for piece in client.get(site.url("/x")).body():
            got += piece
    except BrokenBody:
        broken = True
    assert got == expected
    assert broken == (len(expected) < len(body))


@pytest.mark.parametrize("read", [lambda r: r.raw_data(), lambda r: b"".join(endure(r.body()))])
def test_an_endless_body_is_left_at_the_limit(serve, client, read):
    site = serve({"/x": Answer(endless=b"x" * 10_000)})
    client.set_max_response_data_length(300_000)
    response = client.get(site.url("/x"))
    assert len(read(response)) == 300_000
    response.close()


def endure(pieces):
    try:
        yield from pieces
    except BrokenBody:
        return


def test_an_endless_sitemap_is_left_at_the_limit_and_the_crawl_goes_on(serve):
    entry = b"<url><loc>http://h/%d</loc></url>"
    filler = b"".join(entry % n for n in range(100))
    site = serve(
        {
            "/i.xml": index("/endless.xml", "/b.xml"),
            "/endless.xml": Answer("<urlset>", endless=filler),
            "/b.xml": urlset("/b"),
        }
    )
    tree = sitemap_tree_for_sitemap(site.url("/i.xml"), limits=Limits(document_bytes=200_000))
    endless, b = tree.sub_sitemaps
    assert endless.page_count() == 100
    assert any("200,000" in str(problem) for problem in endless.problems)
    assert b.page_count() == 1


def test_a_slow_body_is_given_as_it_comes(serve, client):
    """The first half is there although the second is not sent yet: no buffer has to fill."""
    gate = threading.Event()
    site = serve({"/x": Answer("first|second", stall=gate)})
    client.set_timeout(5)
    pieces = client.get(site.url("/x")).body()
    assert next(pieces) == b"first|"
    gate.set()
    assert b"".join(pieces) == b"second"


def test_a_body_that_stalls_for_too_long_is_broken_and_kept_as_far_as_it_came(serve, client):
    gate = threading.Event()
    site = serve({"/x": Answer("first|second", stall=gate)})
    client.set_timeout((5, 0.2))
    pieces = client.get(site.url("/x")).body()
    assert next(pieces) == b"first|"
    with pytest.raises(BrokenBody):
        next(pieces)
    assert client.get(site.url("/x")).raw_data() in (b"", b"first|")
    gate.set()


def test_a_204_is_an_empty_body(serve, client):
    site = serve({"/x": Answer("", 204)})
    response = client.get(site.url("/x"))
    assert list(response.body()) == []
    assert response.raw_data() == b""
