"""Documents that unpack to far too much: told by their ratio, wherever they are cut."""

from __future__ import annotations

import gzip
import tracemalloc
import zlib

import pytest
from formats_support import chunks

from together import together
from usp._formats.unpack import Unpacker, gunzip_all
from usp.limits import DEFAULT, Limits
from usp.objects.problem import Problems

MIB = 1024 * 1024


def unpack(parts, **limits) -> tuple[int, str | None]:
    """Give how many bytes came out, and why no more did."""
    problems = Problems()
    unpacker = Unpacker(problems, limits=Limits(**limits))
    size = sum(len(piece) for part in parts for piece in unpacker.feed(part))
    size += sum(len(piece) for piece in unpacker.close())
    return size, problems.unfinished and str(problems.unfinished)


def ordinary(size: int) -> bytes:
    """Give text that packs as sitemaps do: to about a tenth."""
    lines = (
        f"<url><loc>https://www.example.org/{n * 7919 % 104729:06x}/{n}</loc></url>\n".encode()
        for n in range(size // 50)
    )
    return b"".join(lines)


@pytest.fixture(scope="module")
def bomb() -> bytes:
    return gzip.compress(bytes(24 * MIB), 9)


@pytest.fixture(scope="module")
def small_bomb() -> bytes:
    return gzip.compress(bytes(16 * MIB), 9)


def test_a_bomb_is_stopped_early_and_says_so(bomb):
    assert 24 * MIB / len(bomb) > 900
    size, reason = unpack([bomb])
    assert 16 * MIB < size < 25 * MIB
    assert "the limit ratio=250 is reached" in reason
    assert "Limits(ratio=…)" in reason


def test_the_same_ratio_is_fine_while_the_document_is_not_large(small_bomb):
    assert unpack([small_bomb]) == (16 * MIB, None)
    assert unpack([small_bomb], ratio=1) == (16 * MIB, None)


def test_a_ratio_above_that_of_the_document_lets_it_pass(bomb):
    assert unpack([bomb], ratio=2000) == (24 * MIB, None)


def test_no_ratio_lets_everything_pass_up_to_its_size(bomb):
    assert unpack([bomb], ratio=None) == (24 * MIB, None)
    size, reason = unpack([bomb], ratio=None, unpacked_bytes=MIB)
    assert size == MIB
    assert "unpacked_bytes" in reason


@together("ratio", [DEFAULT.ratio, 30])
def test_an_ordinary_large_sitemap_passes(ratio):
    data = ordinary(20 * MIB)
    assert len(data) > 17 * MIB
    assert unpack([gzip.compress(data, 6)], ratio=ratio) == (len(data), None)


def test_a_document_that_is_not_packed_has_no_ratio():
    assert unpack([bytes(17 * MIB)], ratio=0) == (17 * MIB, None)


@together("size", [1000, 8192, 8193, 100_000])
def test_where_the_bomb_is_cut_does_not_matter(bomb, size):
    assert unpack(chunks(bomb, size), ratio=100) == unpack([bomb], ratio=100)


def test_many_members_are_judged_together():
    member = gzip.compress(bytes(MIB), 9)
    size, reason = unpack([member * 24], ratio=100)
    assert 16 * MIB < size < 25 * MIB
    assert "ratio" in reason


def test_a_bomb_within_a_bomb_is_stopped():
    inner = gzip.compress(bytes(200 * MIB), 9)
    size, reason = unpack([gzip.compress(inner, 9)])
    assert size < 40 * MIB
    assert "ratio" in reason


def test_a_bomb_in_deflate_is_stopped():
    problems = Problems()
    unpacker = Unpacker(problems, content_encoding="deflate")
    data = zlib.compress(bytes(30 * MIB), 9)
    size = sum(len(piece) for piece in unpacker.feed(data))
    assert size < 30 * MIB
    assert problems.unfinished.code == "limit-ratio"


def test_what_follows_a_bomb_is_not_unpacked_and_not_a_second_problem(bomb):
    problems = Problems()
    unpacker = Unpacker(problems, limits=Limits(ratio=100))
    sizes = [sum(map(len, unpacker.feed(part))) for part in (bomb, bomb, b"rest")]
    assert sizes[1:] == [0, 0]
    assert sum(map(len, unpacker.close())) == 0
    assert len(problems.listed()) == 1


def test_a_bomb_is_held_in_bounded_memory():
    data = gzip.compress(bytes(64 * MIB), 9)
    tracemalloc.start()
    unpack([data], ratio=None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 40 * MIB


def test_unpacking_for_programs_knows_no_ratio(bomb):
    assert len(gunzip_all(bomb)) == 24 * MIB
