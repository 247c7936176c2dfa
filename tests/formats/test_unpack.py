"""Compression comes off by the bytes themselves, in bounded memory, and damage costs what it must."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

from formats_support import chunks
from hypothesis import given, settings
from hypothesis import strategies as st

from together import together
from usp._formats.unpack import MAX_LAYERS, Unpacker
from usp.limits import Limits
from usp.objects.problem import Problems

LAW = settings(deadline=None)
TEXT = b"<urlset>" + bytes(range(32, 127)) * 5 + b"</urlset>"


def unpack(parts, **options):
    problems = Problems()
    unpacker = Unpacker(problems, **options)
    out = b"".join(piece for part in parts for piece in unpacker.feed(part))
    out += b"".join(unpacker.close())
    return out, [problem.message for problem in problems.listed()]


def packed(data, times=1):
    for _ in range(times):
        data = gzip.compress(data, mtime=0)
    return data


@together("data", [b"", b"\x1f", b"<a/>", TEXT])
@together("encoding", [None, "gzip", "deflate", "br"])
def test_what_is_not_compressed_stays_as_it_is(data, encoding):
    assert unpack(chunks(data, 1), content_encoding=encoding) == (data, [])


@together("times", range(MAX_LAYERS + 1))
@together("size", [1, 5, 10_000])
def test_every_layer_of_gzip_comes_off(times, size):
    assert unpack(chunks(packed(TEXT, times), size)) == (TEXT, [])


def test_more_layers_than_any_website_means_stay_on():
    data, problems = unpack([packed(TEXT, MAX_LAYERS + 2)])
    assert data == packed(TEXT, 2)
    assert problems == []


@LAW
@given(st.binary(max_size=500), st.integers(0, 9), st.booleans(), st.integers(1, 50))
def test_announced_deflate_comes_off_with_and_without_its_header(data, level, raw, size):
    text = b"\xef\xbb\xbf" + data
    compress = zlib.compressobj(level, zlib.DEFLATED, -15 if raw else 15)
    deflated = compress.compress(text) + compress.flush()
    assert unpack(chunks(deflated, size), content_encoding="deflate") == (text, [])


@LAW
@given(st.data())
def test_a_stream_that_breaks_off_gives_what_came_wherever_it_is_cut(data):
    stream = gzip.compress(TEXT, data.draw(st.sampled_from([0, 6])), mtime=0)
    cut = stream[: data.draw(st.integers(3, len(stream) - 1))]
    out, problems = unpack([cut])
    assert TEXT.startswith(out)
    assert problems == ["the compressed data breaks off"]
    assert unpack(chunks(cut, data.draw(st.integers(1, 9)))) == (out, problems)


@LAW
@given(st.data())
def test_a_broken_stream_gives_the_same_wherever_it_is_cut(data):
    stream = bytearray(gzip.compress(TEXT, mtime=0))
    stream[data.draw(st.integers(10, len(stream) - 1))] ^= data.draw(st.integers(1, 255))
    whole = unpack([bytes(stream)])
    assert whole[1] or whole[0] == TEXT, "damage is named, unless it hit the padding"
    assert unpack(chunks(bytes(stream), data.draw(st.integers(1, 40)))) == whole


@together("size", [1, 3, 10_000])
@together("junk", [b"j", b"junk", b"\0\0junk", b"\x1f\x8b\x07 no member", b"\x1f"])
def test_junk_behind_the_data_is_named_once(junk, size):
    out, problems = unpack(chunks(packed(TEXT) + junk, size))
    assert out == TEXT
    assert problems == ["data after the end of the compressed data was ignored"]


LIMITS = Limits(unpacked_bytes=100)


def test_the_limit_counts_what_comes_out():
    text = b"<urlset>" + b"x" * 5000
    assert unpack([text], limits=Limits(unpacked_bytes=len(text))) == (text, [])
    for data in (text, packed(text), packed(text, 2)):
        for size in (1, 10, 10_000):
            out, problems = unpack(chunks(data, size), limits=LIMITS)
            assert out == text[:100]
            assert problems == [str(LIMITS.reached("unpacked_bytes"))]


@together("times", [1, 2, 3])
def test_a_bomb_is_unpacked_up_to_the_limit_and_in_bounded_memory(times):
    bomb = packed(bytes(200_000_000), times)
    problems = Problems()
    unpacker = Unpacker(problems, limits=Limits(unpacked_bytes=50_000_000, ratio=None))
    tracemalloc.start()
    try:
        length = sum(len(piece) for part in chunks(bomb, 65536) for piece in unpacker.feed(part))
        length += sum(len(piece) for piece in unpacker.close())
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert length == 50_000_000
    assert unpacker.full
    assert peak < 40_000_000
    assert [problem.message[:9] for problem in problems.listed()] == ["the limit"]
