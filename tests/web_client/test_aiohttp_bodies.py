"""Bodies that the client on ``aiohttp`` receives: as they come, packed, up to a limit, or broken."""

from __future__ import annotations

import asyncio
import gzip
import threading
import zlib

import pytest

from usp.web_client.abstract_client import BrokenBody
from usp.web_client.aiohttp_client import AiohttpWebClient
from website import Answer

DATA = b"some data " * 5000
PACKED = {"gzip": gzip.compress(DATA), "deflate": zlib.compress(DATA)}


def receive(url: str, limit: int | None = None, **options) -> tuple[bytes, str | None]:
    """Give what came of a body, and why it broke off, if it did."""

    async def fetch():
        client = AiohttpWebClient(**options)
        client.set_max_response_data_length(limit)
        response = await client.get(url)
        pieces, broken = [], None
        try:
            async for piece in response.body():
                pieces.append(piece)  # noqa: PERF401 - what came before an error counts
        except BrokenBody as error:
            broken = str(error)
        finally:
            await response.close()
            await client.close()
        return b"".join(pieces), broken

    return asyncio.run(fetch())


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_comes_whole(serve, chunked):
    site = serve({"/x": Answer(DATA[:5000], chunked=chunked)})
    assert receive(site.url("/x")) == (DATA[:5000], None)


def test_an_empty_body_is_empty(serve):
    assert receive(serve({"/x": Answer(b"")}).url("/x")) == (b"", None)
    assert receive(serve({"/x": Answer(b"", 204)}).url("/x")) == (b"", None)


@pytest.mark.parametrize("encoding", PACKED)
def test_what_is_packed_stays_packed(serve, encoding):
    site = serve({"/x": Answer(PACKED[encoding], headers={"Content-Encoding": encoding})})
    assert receive(site.url("/x")) == (PACKED[encoding], None)


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "nonsense"])
def test_a_wrong_encoding_in_the_header_does_no_harm(serve, encoding):
    site = serve({"/x": Answer(DATA, headers={"Content-Encoding": encoding})})
    assert receive(site.url("/x")) == (DATA, None)


@pytest.mark.parametrize("limit", [0, 1, 999, len(DATA) - 1])
def test_no_more_than_the_limit_is_received(serve, limit):
    site = serve({"/x": Answer(DATA)})
    data, broken = receive(site.url("/x"), limit)
    assert data == DATA[:limit]
    assert f"more than {limit} bytes" in broken


@pytest.mark.parametrize("limit", [len(DATA), len(DATA) + 1, None])
def test_a_body_within_the_limit_is_whole(serve, limit):
    assert receive(serve({"/x": Answer(DATA)}).url("/x"), limit) == (DATA, None)


def test_an_endless_body_ends_at_the_limit(serve):
    site = serve({"/x": Answer(b"", endless=DATA)})
    data, broken = receive(site.url("/x"), 1_000_000)
    assert len(data) == 1_000_000
    assert broken


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_cut_off_is_broken_and_what_came_is_given(serve, chunked):
    site = serve({"/x": Answer(DATA, cut=700, chunked=chunked)})
    data, broken = receive(site.url("/x"))
    assert 700 <= len(data) < 710
    assert DATA.startswith(data)
    assert broken


def test_a_body_that_stops_coming_is_broken(serve):
    gate = threading.Event()
    site = serve({"/x": Answer(DATA, stall=gate)})
    data, broken = receive(site.url("/x"), timeout=(5, 0.2))
    gate.set()
    assert data == DATA[: len(DATA) // 2]
    assert broken


def test_a_body_comes_in_pieces_before_it_is_whole(serve):
    gate = threading.Event()
    site = serve({"/x": Answer(DATA, stall=gate)})

    async def fetch():
        client = AiohttpWebClient()
        response = await client.get(site.url("/x"))
        body = response.body()
        size = len(await anext(body))
        assert not gate.is_set()
        gate.set()
        size += sum([len(piece) async for piece in body])
        await client.close()
        return size

    assert asyncio.run(fetch()) == len(DATA)


def test_a_response_that_is_closed_unread_leaves_nothing(serve):
    gate = threading.Event()
    site = serve({"/x": Answer(DATA, stall=gate), "/y": "yes"})

    async def fetch():
        client = AiohttpWebClient()
        response = await client.get(site.url("/x"))
        await response.close()
        other = await client.get(site.url("/y"))
        data = b"".join([piece async for piece in other.body()])
        await client.close()
        return data

    assert asyncio.run(fetch()) == b"yes"
    gate.set()
