"""The numbers of a report are those of the tree."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from report_trees import SITE, expected, hostile_website, sitemap, website, with_lists

import usp
from profiles import examples
from usp._content import Tally
from usp.objects.exchange import Exchange
from usp.objects.page import SitemapPage
from usp.objects.problem import Failure
from usp.objects.sitemap import (
    IndexWebsiteSitemap,
    IndexXMLSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)
from usp.report import FetchLog, summarise
from usp.report.charts import FetchedDocument


def numbers(summary) -> dict[str, Counter]:
    """Give a summary as plain counting gives it."""
    sections = Counter()
    for section in summary.sections:
        for name, count in section.below.items:
            sections[f"{section.name}{name}/" if name else section.name] += count
    names = ("pages", "news", "images", "videos", "alternates")
    return {
        "total": Counter({name: getattr(summary.totals, name) for name in names}),
        "month": Counter({**dict(summary.months), "": summary.undated}),
        "frequency": Counter(summary.frequencies),
        "priority": Counter(summary.priorities),
        "language": Counter(dict(summary.languages.items)),
        "section": sections,
        "host": Counter(dict(summary.hosts.items)),
    }


def assert_equal_numbers(summary, tree):
    counted, wanted = numbers(summary), expected(tree.all_pages())
    for name, counter in wanted.items():
        assert +counted[name] == +counter, name


def test_the_numbers_of_the_demo_are_those_of_its_tree(demo):
    summary, nodes = summarise(demo), list(demo.all_sitemaps())
    assert_equal_numbers(summary, demo)
    assert summary.totals.sitemaps == len(nodes)
    assert summary.totals.failures == len(demo.failures())
    assert summary.totals.findings == sum(one.times for one in usp.check(demo))
    lost = sum(row.lost for row in summary.checks.rules)
    assert lost == sum(p.lost for node in nodes for p in node.problems)
    rows = [(row.url, row.pages) for row in summary.sitemaps]
    assert rows == [(node.url, node.page_count()) for node in (demo, *nodes)]
    assert summary.totals.received > 0
    assert summary.totals.seconds > 0
    log = FetchLog()  # which may still be handed in
    log(None)
    assert summarise(demo, log).fetches == summary.fetches


LASTMODS = [
    "2024-05-01", "2024-02-30", "2024-12-31T23:59:59Z", "2023-01-01T00:00:00+14:00", "2022-07",
    "1999", "yesterday", "2024-05-01T10:00", "2024-05-01T24:00:00", "2024-05-01 10:00:00", "",
    "2024-05-01T10:00:00.123456+02:00", "0000-00-00", " 2024-06-01 ", "2024-05-01T10:00:00+99:99", "Mon, 01 Jan 2024 10:00:00 GMT",
]  # fmt: skip
PATHS = ["", "/", "/a", "/a/", "/a/b", "/a/b/", "/a/b/c", "/a/b/c/d?x=/y", "/?q=/a/b/", "/a?b/c/d", "/a#/b/c", "/A/b/c"]  # fmt: skip
entries = st.builds(
    lambda number, path, lastmod, frequency, priority: (
        f"<loc>{SITE}{path}{'/' if not path else ''}{number}</loc>"
        + (f"<lastmod>{lastmod}</lastmod>" if lastmod is not None else "")
        + (f"<changefreq>{frequency}</changefreq>" if frequency is not None else "")
        + (f"<priority>{priority}</priority>" if priority is not None else "")
    ),
    st.integers(0, 30),
    st.sampled_from(PATHS),
    st.sampled_from([*LASTMODS, None]),
    st.sampled_from(["daily", "Weekly", "often", "", None]),
    st.sampled_from(["0.8", "1", "0.09", "7", "high", "", None]),
)


@settings(deadline=None, max_examples=examples(60))
@given(st.lists(st.lists(entries, max_size=12), min_size=1, max_size=3))
def test_columns_and_pages_and_plain_counting_give_the_same_numbers(documents):
    tree = website(*(sitemap(f"{at}.xml", *found) for at, found in enumerate(documents)))
    summary = summarise(tree)
    assert_equal_numbers(summary, tree)
    by_pages = summarise(with_lists(tree))
    assert numbers(by_pages) == numbers(summary)
    days = [(row.first, row.last) for row in summary.sitemaps]
    assert days == [(row.first, row.last) for row in by_pages.sitemaps]


@pytest.mark.parametrize("more", ["", "<priority>0.3</priority>"])
@pytest.mark.parametrize("text", LASTMODS)
def test_a_regular_column_of_dates_is_read_as_its_pages_are(more, text):
    """Every entry has the same fields, so the block is given in columns."""
    fields = f"<lastmod>{text}</lastmod>{more}"
    tree = website(sitemap("a.xml", *(f"<loc>{SITE}/{at}</loc>{fields}" for at in range(5))))
    assert_equal_numbers(summarise(tree), tree)


def test_urls_without_a_path_and_with_slashes_in_the_query_have_their_section():
    urls = ("", "?x=/a/b", "/a?x=/b/c/", "/a/b/c#/d", "/a/b/")
    pages = [SitemapPage(f"http://{host}{rest}") for host in "hH" for rest in urls]
    tree = PagesXMLSitemap(f"{SITE}/s.xml", pages)
    assert_equal_numbers(summarise(tree), tree)
    tree = hostile_website()
    assert summarise(tree).totals.pages == tree.page_count()


def test_a_sitemap_may_be_the_root():
    tree = IndexXMLSitemap(f"{SITE}/i.xml", [InvalidSitemap(f"{SITE}/a.xml", "gone")])
    summary = summarise(tree)
    assert summary.totals.sitemaps == 2
    assert (summary.sitemaps[1].state, summary.sitemaps[1].reason) == ("failed", "gone")
    assert summary.to_dict()["sitemaps"][1]["parent"] == 0


AT = datetime(2025, 1, 31, tzinfo=UTC)


def exchange(url, begin=0.0, **facts):
    return Exchange(
        url, facts.pop("final_url", url), started=AT + timedelta(seconds=begin), **facts
    )


def test_exchanges_tell_sizes_times_and_attempts_and_a_document_that_stands_twice_counts_once():
    first = exchange("http://h/a", final_url="http://h/moved", seconds=0.9, received=500)
    other = exchange("http://h/b", 0.5, seconds=1.5, status=404, attempts=2)
    gone = InvalidSitemap("http://h/b", "gone", exchange=other)
    tree = IndexXMLSitemap("http://h/moved", [gone], size=500, exchange=first)
    summary = summarise(tree)
    assert summary.fetches == [
        FetchedDocument("http://h/a", 1, 0.0, 0.9, 500),
        FetchedDocument("http://h/b", 2, 0.5, 1.5, 0, failed=True),
    ]
    assert [row.received for row in summary.sitemaps] == [500, None]
    assert (summary.totals.seconds, summary.totals.received) == (2.0, 500)
    once = exchange("http://h/a", received=7)
    twice = [PagesXMLSitemap("http://h/a", [], exchange=once) for _ in range(2)]
    assert len(summarise(IndexXMLSitemap("http://h/i", twice)).fetches) == 1


def test_what_was_tried_in_vain_is_apart_unless_it_is_a_failure():
    robots, known = "http://h/robots.txt", "http://h/sitemap.xml"
    tried = [exchange(robots, status=500), exchange(known, 1.0, status=404)]
    missing = [Failure(robots, "500 Oh", 1, 500)]
    summary = summarise(IndexWebsiteSitemap("http://h/", [], not_found=missing, tried=tried))
    assert [fetch.url for fetch in summary.fetches] == [robots]
    assert [(fetch.url, fetch.begin) for fetch in summary.probes] == [(known, 1.0)]
    # However many failures there are:
    urls = [f"{SITE}/{at}.xml" for at in range(300)]
    nodes = [InvalidSitemap(url, "gone", exchange=Exchange(url, url, 404)) for url in urls]
    known = f"{SITE}/sitemap.xml"
    tree = IndexWebsiteSitemap(f"{SITE}/", nodes, tried=[Exchange(known, known, 404)])
    totals = summarise(tree).totals
    assert (totals.fetches, totals.probes) == (300, 1)


def test_an_index_that_holds_pages_has_its_own_state():
    """Two nodes may have one URL: what is wrong with one is not wrong with the other."""
    url = f"{SITE}/i.xml"
    pages = PagesXMLSitemap(url, [SitemapPage(f"{SITE}/x")])
    tree = IndexXMLSitemap(url, [pages], failure=Failure(url, "the document breaks off"))
    assert [row.state for row in summarise(tree).sitemaps] == ["incomplete", None]


def test_of_a_tree_that_nobody_fetched_no_times_are_known():
    at_hand = Exchange("file:///a.xml", "file:///a.xml", None, attempts=0, received=7)
    summary = summarise(PagesXMLSitemap("file:///a.xml", [], size=7, exchange=at_hand))
    assert (summary.fetches, summary.totals.seconds) == (None, None)
    assert summary.sitemaps[0].received == 7


keys = st.lists(st.lists(st.integers(0, 60).map(str)), max_size=8)


@given(keys, st.integers(2, 10) | st.just(1000))
def test_above_the_limit_the_sum_is_right_and_no_count_is_too_high(lists, most):
    tally = Tally(most=most)
    for some in lists:
        tally.add(some)
    real = Counter(key for some in lists for key in some)
    assert tally.total() == real.total()
    assert len(tally.items()) <= most
    if len(real) <= most:
        assert (dict(tally.items()), tally.exact) == (real, True)
    assert all(count <= real[key] for key, count in tally.items())
    top = tally.top(1)
    assert sum(count for _, count in top.items) + top.other == real.total()
