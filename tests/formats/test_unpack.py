"""Compression comes off by the bytes themselves, in bounded memory, and damage costs what it must.

What unpacks to far too much is told by its ratio, wherever it is cut.
"""

import gzip
import zlib
from functools import cache

from formats_support import chunks
from hypothesis import given
from hypothesis import strategies as st

from patience import memory_below
from together import together
from usp._formats.unpack import MAX_LAYERS, Unpacker
from usp.helpers import gunzip
from usp.limits import DEFAULT, Limits
from usp.objects.problem import Problems

TEXT = b"<urlset>" + bytes(range(32, 127)) * 5 + b"</urlset>"
MIB = 1024 * 1024


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


@given(st.binary(max_size=500), st.integers(0, 9), st.booleans(), st.integers(1, 50))
def test_announced_deflate_comes_off_with_and_without_its_header(data, level, raw, size):
    text = b"\xef\xbb\xbf" + data
    compress = zlib.compressobj(level, zlib.DEFLATED, -15 if raw else 15)
    deflated = compress.compress(text) + compress.flush()
    assert unpack(chunks(deflated, size), content_encoding="deflate") == (text, [])


@given(st.data())
def test_a_stream_that_breaks_off_gives_what_came_wherever_it_is_cut(data):
    stream = gzip.compress(TEXT, data.draw(st.sampled_from([0, 6])), mtime=0)
    cut = stream[: data.draw(st.integers(3, len(stream) - 1))]
    out, problems = unpack([cut])
    assert TEXT.startswith(out)
    assert problems == ["the compressed data breaks off"]
    assert unpack(chunks(cut, data.draw(st.integers(1, 9)))) == (out, problems)


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
    assert problems == ["data after the end of the compressed data"]


LIMITS = Limits(unpacked_bytes=100)


def test_the_limit_counts_what_comes_out():
    text = b"<urlset>" + b"x" * 5000
    assert unpack([text], limits=Limits(unpacked_bytes=len(text))) == (text, [])
    for data in (text, packed(text), packed(text, 2)):
        for size in (1, 10, 10_000):
            out, problems = unpack(chunks(data, size), limits=LIMITS)
            assert out == text[:100]
            assert problems == [str(LIMITS.reached("unpacked_bytes"))]


# Bombs --------------------------------------------------------------------------------------------


@cache
def bomb(mebibytes=24):
    return gzip.compress(bytes(mebibytes * MIB), 9)


def size_of(parts, content_encoding=None, **limits):
    """Return how many bytes came out, and why no more did."""
    problems = Problems()
    unpacker = Unpacker(problems, content_encoding=content_encoding, limits=Limits(**limits))
    size = sum(len(piece) for part in parts for piece in unpacker.feed(part))
    size += sum(len(piece) for piece in unpacker.close())
    assert unpacker.full == ("unpacked_bytes" in str(problems.unfinished))
    assert len(problems.listed()) <= 1
    return size, problems.unfinished and str(problems.unfinished)


@together(
    "times, size, limit",
    [(1, 64 * 1024, 50_000_000), (3, 64 * 1024, 50_000_000), (1, MIB, None)],
)
def test_a_bomb_is_unpacked_up_to_the_limit_and_in_bounded_memory(times, size, limit):
    data = packed(bomb(64), times - 1)
    with memory_below(40_000_000):
        length, reason = size_of(chunks(data, size), unpacked_bytes=limit, ratio=None)
    assert length == (limit or 64 * MIB)
    assert (reason is None) == (limit is None)


def test_a_bomb_is_stopped_early_and_says_so():
    assert 24 * MIB / len(bomb()) > 900
    size, reason = size_of([bomb()])
    assert 16 * MIB < size < 25 * MIB
    assert "the limit ratio=250 is reached" in reason
    assert "Limits(ratio=…)" in reason


ORDINARY = b"".join(  # packs as sitemaps do: to about a tenth
    b"<url><loc>https://www.example.org/%06x/%d</loc></url>\n" % (n * 7919 % 104729, n)
    for n in range(20_000)
)


def test_what_is_not_large_or_has_a_ratio_below_the_limit_passes():
    assert size_of([bomb(16)]) == size_of([bomb(16)], ratio=1) == (16 * MIB, None)
    assert size_of([bomb()], ratio=2000) == size_of([bomb()], ratio=None) == (24 * MIB, None)
    size, reason = size_of([bomb()], ratio=None, unpacked_bytes=MIB)
    assert size == MIB
    assert "unpacked_bytes" in reason
    assert len(ORDINARY) * 18 > 17 * MIB
    for ratio in (DEFAULT.ratio, 30):
        assert size_of([packed(ORDINARY) * 18], ratio=ratio) == (len(ORDINARY) * 18, None)
    assert size_of([bytes(17 * MIB)], ratio=0) == (17 * MIB, None), "nothing is packed"
    assert len(gunzip(bomb())) == 24 * MIB, "for programs there is no ratio"


@together("size", [1000, 8192, 8193, 100_000])
def test_where_the_bomb_is_cut_does_not_matter(size):
    assert size_of(chunks(bomb(), size), ratio=100) == size_of([bomb()], ratio=100)


@together(
    "made, encoding, most",
    [
        (lambda: bomb(1) * 24, None, 25 * MIB),  # members are judged together
        (lambda: packed(bomb(1) * 200), None, 40 * MIB),
        (lambda: zlib.compress(bytes(30 * MIB), 9), "deflate", 30 * MIB),
    ],
)
def test_a_bomb_in_members_in_a_bomb_or_in_deflate_is_stopped(made, encoding, most):
    size, reason = size_of([made()], encoding)
    assert 16 * MIB < size < most
    assert "the limit ratio" in reason


def test_what_follows_a_bomb_is_not_unpacked_and_not_a_second_problem():
    problems = Problems()
    unpacker = Unpacker(problems, limits=Limits(ratio=100))
    sizes = [sum(map(len, unpacker.feed(part))) for part in (bomb(), bomb(), b"rest")]
    assert sizes[1:] == [0, 0]
    assert sum(map(len, unpacker.close())) == 0
    assert [problem.code for problem in problems.listed()] == ["limit-ratio"]
