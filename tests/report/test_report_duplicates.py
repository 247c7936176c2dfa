"""Duplicates are found exactly up to a size, and estimated above it."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usp.objects.page import SitemapPage
from usp.objects.sitemap import PagesXMLSitemap
from usp.report.duplicates import EXAMPLES, UrlHashes


def nodes_of(lists):
    return [
        PagesXMLSitemap(f"http://h/{at}.xml", [SitemapPage(url) for url in urls])
        for at, urls in enumerate(lists)
    ]


def found_in(lists, **options):
    hashes = UrlHashes(**options)
    for number, urls in enumerate(lists):
        hashes.add(number, urls[:3])
        hashes.add(number, urls[3:])
    return hashes.found(nodes_of(lists))


names = st.integers(0, 40).map(lambda number: f"http://h/{number}")


@given(st.lists(st.lists(names, unique=True), max_size=6))
def test_below_the_limit_every_duplicate_is_found(lists):
    times = Counter(url for urls in lists for url in urls)
    found = found_in(lists)
    assert found.one_in == 1
    assert found.urls == sum(1 for count in times.values() if count > 1)
    assert found.extra == sum(count - 1 for count in times.values())
    assert len(found.examples) <= EXAMPLES
    for url, places in found.examples:
        assert list(places) == [at for at, urls in enumerate(lists) if url in urls]
    for one, two, count in found.pairs:
        assert 0 < count <= len(set(lists[one]) & set(lists[two]))


def test_there_are_examples_of_different_pairs():
    lists = [[f"http://h/{at}" for at in range(100)] for _ in range(2)]
    lists += [["http://h/x"], ["http://h/x"]]
    found = found_in(lists)
    assert found.urls == 101
    assert ("http://h/x", (2, 3)) in found.examples
    assert found.pairs[0] == (0, 1, 100)


def test_above_the_limit_the_number_is_estimated_and_memory_does_not_grow():
    shared = [f"http://h/shared/{at}" for at in range(20_000)]
    lists = [[*shared, *(f"http://h/{number}/{at}" for at in range(20_000))] for number in range(2)]
    hashes = UrlHashes(most=10_000)
    for number, urls in enumerate(lists):
        hashes.add(number, urls)
        assert len(hashes._hashes) <= 10_000
    found = hashes.found(nodes_of(lists))
    assert found.one_in >= 8
    assert found.urls == pytest.approx(20_000, rel=0.15)
    assert found.pairs[0][:2] == (0, 1)
    assert all(url in shared for url, _ in found.examples)


def test_a_page_that_stands_twice_in_one_sitemap_is_counted_too():
    found = found_in([["http://h/a", "http://h/a"]])
    assert (found.urls, found.extra, found.pairs) == (1, 1, ())
    assert found.examples == (("http://h/a", (0,)),)
