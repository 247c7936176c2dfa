"""Bodies: received while they are read, up to the limit, packed as they came, whole or not."""

from __future__ import annotations

import asyncio
import gzip
import threading
import zlib

import pytest
import requests
from both import OURS, fetch

from together import together
from usp.objects.sitemap import PagesXMLSitemap
from usp.tree import sitemap_tree_for_sitemap
from usp.web_client.abstract_client import BrokenBody
from usp.web_client.aiohttp_client import AiohttpWebClient
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, paths, urlset

DATA = b"0123456789" * 5000


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


def test_a_body_that_was_read_already_is_given_again(serve):
    site = serve({"/x": "body"})
    with requests.Session() as session:
        response = RequestsWebClient(session=session).get(site.url("/x"))
        assert response._response.content == b"body"  # as a caching session does
        assert b"".join(response.body()) == b"body"
        assert response.raw_data() == b"body"


@together("name", PACKED)
@together("chunked", [False, True])
def test_packed_bodies_stay_packed_in_the_stream_and_are_read(serve, client, name, chunked):
    """By the crawl, and for whoever wants the data."""
    site = serve({})
    plain = site.fill(urlset("/p", "/q"))
    packed = PACKED[name](plain)
    headers = {"Content-Encoding": name.removesuffix(" raw")}
    site.answers["/a.xml"] = Answer(packed, headers=headers, chunked=chunked)
    assert [fetch(kind, site.url("/a.xml")) for kind in OURS] == [[packed]] * 2
    assert client.get(site.url("/a.xml")).raw_data() == plain
    node = sitemap_tree_for_sitemap(site.url("/a.xml"))
    assert paths(node, site.base) == ["/p", "/q"]
    assert node.problems == []


@together("lie", ["gzip", "deflate", "br", "zstd", "utf-8", "none"])
def test_a_content_encoding_that_lies_costs_nothing(serve, client, lie):
    answer = Answer(urlset("/p", "/q"), headers={"Content-Encoding": lie})
    site = serve({"/a.xml": answer})
    assert [fetch(kind, site.url("/a.xml")) for kind in OURS] == [[site.fill(answer.body)]] * 2
    assert isinstance(client.get(site.url("/a.xml")).raw_data(), bytes)
    node = sitemap_tree_for_sitemap(site.url("/a.xml"))
    assert isinstance(node, PagesXMLSitemap)
    assert paths(node, site.base) == ["/p", "/q"]


@together("kind", OURS)
@together("chunked", [False, True])
def test_a_body_that_breaks_off_is_told_in_the_stream_and_kept_in_the_data(serve, kind, chunked):
    site = serve({"/x": Answer(DATA, cut=700, chunked=chunked)})
    (broken,) = fetch(kind, site.url("/x"))
    assert isinstance(broken, BrokenBody)
    assert 700 <= len(broken.kept) < 710
    assert DATA.startswith(broken.kept)
    assert DATA.startswith(RequestsWebClient().get(site.url("/x")).raw_data())


ENDLESS = b"x" * 10_000


@together("kind", OURS)
@together(
    ("data", "most"),
    [
        *((DATA, most) for most in (0, 1, 999, len(DATA) - 1, len(DATA), len(DATA) + 1, None)),
        (ENDLESS, 300_000),
    ],
)
def test_the_limit_cuts_the_body(serve, client, kind, data, most):
    site = serve({"/x": Answer(endless=data) if data is ENDLESS else data})
    (result,) = fetch(kind, site.url("/x"), most=most)
    expected = ENDLESS * 30 if data is ENDLESS else data[:most]
    if data is ENDLESS or len(expected) < len(data):
        assert result.kept == expected
        assert f"more than {most} bytes" in str(result)
    else:
        assert result == data
    client.set_max_response_data_length(most)
    assert client.get(site.url("/x")).raw_data() == expected


def test_so_is_one_on_asyncio_and_one_that_is_closed_unread_leaves_nothing(serve):
    gate = threading.Event()
    site = serve({"/x": Answer(DATA, stall=gate), "/y": "yes"})

    async def read():
        client = AiohttpWebClient()
        await (await client.get(site.url("/x"))).close()
        other = await client.get(site.url("/y"))
        assert b"".join([piece async for piece in other.body()]) == b"yes"
        body = (await client.get(site.url("/x"))).body()
        size = len(await anext(body))
        assert not gate.is_set()
        gate.set()
        size += sum([len(piece) async for piece in body])
        await client.close()
        return size

    assert asyncio.run(read()) == len(DATA)


def test_a_slow_body_is_given_as_it_comes_and_broken_if_it_stalls_for_too_long(serve, client):
    """The first half is there although the second is not sent yet: no buffer has to fill."""
    gate = threading.Event()
    site = serve({"/x": Answer("first|second", stall=gate)})
    for kind in OURS:
        (broken,) = fetch(kind, site.url("/x"), timeout=(5, 0.2))
        assert broken.kept == b"first|"
    client.set_timeout((5, 0.2))
    assert client.get(site.url("/x")).raw_data() in (b"", b"first|")
    client.set_timeout(5)
    pieces = client.get(site.url("/x")).body()
    assert next(pieces) == b"first|"
    gate.set()
    assert b"".join(pieces) == b"second"
