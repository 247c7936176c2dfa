"""Bodies in br and zstd, which nobody asked for: read with the real libraries, bombs within bounds."""

from __future__ import annotations

import gzip
import tracemalloc
from functools import partial

import brotli
import pytest
import zstandard
from both import KINDS, fetch
from hypothesis import given
from hypothesis import strategies as st

from together import together
from usp._http import encodings
from usp._http.encodings import BodyDecoder
from usp.limits import Limits
from usp.objects.sitemap import PagesXMLSitemap
from usp.tree import sitemap_tree_for_sitemap
from usp.web_client.abstract_client import BrokenBody
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, paths, urlset

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
@together(
    "body",
    [b"<urlset/>", b"", b"http://h/p\n" * 9, gzip.compress(b"x", mtime=0)],
    ids=["xml", "nothing", "text", "gzip"],
)
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
