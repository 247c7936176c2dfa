"""Duplicates in one document are known, however many URLs it has, in little memory for each."""

import gzip
import sys
import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usp._base import seen_urls as seen_module
from usp._base.seen_urls import SeenUrls
from usp._crawl.stored_pages import UniquePages
from usp.tree import sitemap_from_bytes
from website import urlset

urls = st.integers(0, 60).map(lambda n: f"http://h/{n}") | st.sampled_from(
    ["http://h/\udc80", "http://h/é", "http://h/\udc80\udc80", ""]
)
steps = st.lists(st.lists(urls, max_size=12), max_size=12)


@pytest.fixture(params=[0, 5, 20, 10**9], ids=lambda most: f"plain up to {most}")
def most_plain(request, monkeypatch):
    monkeypatch.setattr(seen_module, "MOST_PLAIN", request.param)


@pytest.mark.usefixtures("most_plain")
@given(steps)
def test_a_url_is_new_the_first_time_and_never_again(steps):
    """As a plain set has it, block by block or one by one, before and after it becomes compact."""
    known: set[str] = set()
    seen, single = SeenUrls(), SeenUrls()
    for block in steps:
        expected = [url not in known and not known.add(url) for url in block]
        assert (seen.add_all(block) or [True] * len(block)) == expected
        assert [single.add(url) for url in block] == expected


@pytest.mark.usefixtures("most_plain")
def test_none_says_that_all_are_new():
    seen = SeenUrls()
    assert seen.add_all(["a", "b"]) is None
    assert seen.add_all(["c", "c"]) == [True, False]
    assert seen.add_all([]) is None
    assert seen.add_all(["a", "d"]) == [False, True]


def test_the_filter_grows_and_forgets_nothing(monkeypatch):
    monkeypatch.setattr(seen_module, "MOST_PLAIN", 0)
    monkeypatch.setattr(seen_module, "_FIRST_FILTER", 8)
    seen = SeenUrls()
    many = [f"http://h/{n}" for n in range(5000)]
    for at in range(0, 5000, 100):
        assert seen.add_all(many[at : at + 100]) is None
    assert seen.add_all(many) == [False] * 5000


class Same(str):
    """A URL whose hash is that of all others."""

    __slots__ = ()

    def __hash__(self) -> int:
        return -5


def test_urls_with_the_same_hash_are_told_apart(monkeypatch):
    monkeypatch.setattr(seen_module, "MOST_PLAIN", 0)
    seen = SeenUrls()
    many = [Same(f"http://h/{n}") for n in range(300)]
    assert seen.add_all(many) is None
    assert seen.add_all(many) == [False] * 300


def test_a_document_with_more_urls_than_are_kept_gives_each_once(monkeypatch):
    monkeypatch.setattr(seen_module, "MOST_PLAIN", 5000)
    count = 2 * seen_module.MOST_PLAIN
    paths = [f"http://h/{n}" for n in range(count)]
    document = gzip.compress(urlset(*paths, *paths[::7], "http://h/last").encode())
    node = sitemap_from_bytes(document)
    assert [page.url for page in node.all_pages()] == [*paths, "http://h/last"]
    assert node.page_count() == count + 1


def test_a_url_takes_few_bytes_once_there_are_many(monkeypatch):
    """What is remembered grows by less than 24 bytes a URL; a set takes over 100."""

    def grown(first: int, last: int) -> int:
        before = tracemalloc.get_traced_memory()[0]
        for at in range(first, last, 1000):
            seen.add_all([f"http://www.example.org/a/path/{n}" for n in range(at, at + 1000)])
        return tracemalloc.get_traced_memory()[0] - before

    monkeypatch.setattr(seen_module, "MOST_PLAIN", 5000)
    seen = SeenUrls()
    tracemalloc.start()
    try:
        grown(0, 10_000)
        assert grown(10_000, 40_000) < 30_000 * 24
    finally:
        tracemalloc.stop()
    assert sys.getsizeof(seen) < 1000


def test_pages_that_are_too_long_are_not_remembered():
    pages = UniquePages(longest=10)
    assert pages._new(["http://h/1", "http://h/12", "http://h/1"]) == [True, False, False]


def test_long_urls_are_fingerprints_sooner():
    """The largest ones that are allowed, as many as the protocol allows, would take 400 MB."""
    seen = SeenUrls()
    tracemalloc.start()
    try:
        for number in range(8000):
            assert seen.add(f"http://h/{number}/" + "x" * 8000)
        assert tracemalloc.get_traced_memory()[0] < 40_000_000
    finally:
        tracemalloc.stop()
    assert not seen.add("http://h/7/" + "x" * 8000)
    assert seen.add("http://h/7/" + "y" * 8000)
