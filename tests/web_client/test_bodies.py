"""Bodies are received while they are read, up to the limit; Brotli and Zstandard are decompressed."""

import asyncio
import gzip
import threading
import tracemalloc
import zlib
from functools import partial

import brotli
import pytest
import requests
import zstandard
from both import KINDS, OURS, fetch
from hypothesis import given
from hypothesis import strategies as st

from together import together
from usp._http import encodings
from usp._http.encodings import BodyDecoder
from usp.limits import Limits
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


# Brotli and Zstandard, which nobody asked for, by the real libraries ------------------------------


KNOWN = {encoding: dict(kinds) for encoding, kinds in encodings._LIBRARIES.items()}
COMPRESS = {"br": brotli.compress, "zstd": zstandard.compress}
LIBRARIES = [
    (encoding, name)
    for encoding, libraries in encodings._LIBRARIES.items()
    for name in libraries
    if encodings._library(name) is not None
]


def choose(monkeypatch, encoding, name):
    """Let one library be installed for an encoding, or none."""
    kinds = KNOWN[encoding]
    monkeypatch.setitem(encodings._LIBRARIES, encoding, {name: kinds[name]} if name else {})


@pytest.fixture
def only(monkeypatch):
    return partial(choose, monkeypatch)


def decoded(encoding: str, *pieces: bytes) -> bytes:
    decoder = BodyDecoder(encoding)
    out = [got for piece in pieces for got in decoder.feed(piece)]
    return b"".join([*out, *decoder.close()])


@pytest.mark.parametrize(("encoding", "library"), LIBRARIES)
@given(data=st.binary(max_size=3000), size=st.integers(1, 500))
def test_cut_anywhere_the_same_comes_out(encoding, library, data, size):
    packed = COMPRESS[encoding](data)
    pieces = [packed[at : at + size] for at in range(0, len(packed), size)]
    with pytest.MonkeyPatch.context() as patch:
        choose(patch, encoding, library)
        assert decoded(encoding, *pieces) == data


@together("library", [name for encoding, name in LIBRARIES if encoding == "zstd"])
def test_frames_are_one_body_and_one_that_wants_a_gigabyte_of_window_is_refused(library, only):
    only("zstd", library)
    frames = [zstandard.compress(data) for data in (b"a" * 5000, b"", b"b" * 70)]
    assert decoded("zstd", b"".join(frames)) == b"a" * 5000 + b"b" * 70
    assert decoded("zstd", *frames) == b"a" * 5000 + b"b" * 70
    frame = b"\x28\xb5\x2f\xfd\x00%c\xc9\x00\x00" + b"hello" * 5  # one block, as it is
    small, huge = ((10 << 3), (20 << 3))  # the logarithm of the window, from 1 KiB on
    assert decoded("zstd", frame % (small,)) == b"hello" * 5
    with pytest.raises(BrokenBody):
        decoded("zstd", frame % (huge,))


@together(("encoding", "library"), LIBRARIES)
def test_a_body_that_breaks_off_or_is_damaged_is_broken(encoding, library, only):
    only(encoding, library)
    packed = COMPRESS[encoding](bytes(range(256)) * 50)
    with pytest.raises(BrokenBody, match="breaks off"):
        decoded(encoding, packed[: len(packed) // 2])
    with pytest.raises(BrokenBody):
        decoded(encoding, packed[:60] + bytes(byte ^ 0x5A for byte in packed[60:]) + b"\xff" * 40)


@together("encoding", COMPRESS)
@together("body", [b"<urlset/>", b"", b"http://h/p\n" * 9, gzip.compress(b"x", mtime=0)])
def test_what_is_not_compressed_as_it_says_passes(encoding, body):
    assert decoded(encoding, body) == body


def test_without_a_library_a_body_passes_as_it_came_and_an_old_brotli_is_none(only, monkeypatch):
    assert {encoding for encoding, _ in LIBRARIES} == COMPRESS.keys()  # else nothing is tested here
    for encoding, compress in COMPRESS.items():
        only(encoding, None)
        packed = compress(b"x" * 1000)
        assert decoded(encoding, packed) == packed

    class Old:
        class Decompressor:
            pass

    monkeypatch.setattr(encodings.importlib, "import_module", lambda _: Old)
    assert encodings._library.__wrapped__("brotli") is None
    assert encodings._library.__wrapped__("zstandard") is Old


# On the wire ------------------------------------------------------------------------------------------


@together("encoding", [*COMPRESS, "gzip, br", "GZIP , Zstd"])
def test_every_client_reads_them_and_so_does_a_crawl(encoding, serve):
    site = serve({})
    body = site.fill(urlset("/p", "/q"))
    inner = gzip.compress(body) if "," in encoding else body
    packed = COMPRESS[encoding.rpartition(",")[2].strip().lower()](inner)
    site.answers["/a.xml"] = Answer(packed, headers={"Content-Encoding": encoding})
    for kind in KINDS:
        assert fetch(kind, site.url("/a.xml"), start=site.base) == [inner], kind
    node = sitemap_tree_for_sitemap(site.url("/a.xml"))
    assert isinstance(node, PagesXMLSitemap)
    assert paths(node, site.base) == ["/p", "/q"]
    assert RequestsWebClient().get(site.url("/a.xml")).raw_data() == inner
    assert {request.headers["Accept-Encoding"] for request in site.requests} == {"gzip, deflate"}


def bomb(encoding: str) -> bytes:
    zeros = bytes(1 << 20)
    if encoding == "br":
        packer = brotli.Compressor(quality=5)
        return b"".join([packer.process(zeros) for _ in range(512)]) + packer.finish()
    packer = zstandard.ZstdCompressor().compressobj()
    return b"".join([packer.compress(zeros) for _ in range(512)]) + packer.flush()


@pytest.mark.long
@together("kind", ["requests", "aiohttp"])
@together(("encoding", "library"), LIBRARIES)
def test_a_bomb_takes_little_memory(kind, encoding, library, serve, only):
    """Half a gigabyte of zeros; the client stops at a hundredth of it."""
    only(encoding, library)
    site = serve({"/": Answer(bomb(encoding), headers={"Content-Encoding": encoding})})
    decoder = BodyDecoder(encoding)
    tracemalloc.start()
    total = 0
    for piece in decoder.feed(bomb(encoding)):
        total += len(piece)
        assert len(piece) <= 4 << 20
        if total > 50_000_000:
            break
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 30_000_000
    tree = sitemap_tree_for_sitemap(site.url("/"), limits=Limits(document_bytes=1_000_000))
    assert not tree.is_complete
