"""A child that an index shows to be old or unwanted is not requested, on every front, and is named."""

import itertools
from datetime import UTC, date, datetime

import pytest

import usp
from cases import cases
from fronts import WAYS, pages_by
from memory_web import Client, Web
from usp._crawl.child_filter import latest
from usp.events import SitemapFailed, SitemapSkipped
from usp.objects.child import SkippedSitemap, SkipReason
from usp.options import CrawlOptions
from website import dated, index, pages_at, robots

BASE = "http://h"


SITE = {
    "/robots.txt": robots("/all.xml"),
    "/all.xml": index(
        dated("/old.xml", "2025-01-01", "sitemap"),
        dated("/new.xml", "2025-03-01", "sitemap"),
        "/undated.xml",
        dated("/odd.xml", "last week", "sitemap"),
        dated("/sitemap.xml", "2024", "sitemap"),
    ),
    **pages_at("old", "new", "undated", "odd", "sitemap"),
}
OLD = ["/old.xml", "/sitemap.xml"]


def test_an_old_child_is_not_requested_and_not_a_failure():
    """Not even at a known path, since the index declares it."""
    dates = ["2025-02-01", date(2025, 2, 1), datetime(2025, 2, 1, tzinfo=UTC)]
    callbacks = [{}, {"recurse_callback": lambda *_: True}]
    for since, callback, way in cases(itertools.product(dates, callbacks, WAYS)):
        web, events, failures = Web(SITE), [], []
        told = {"on_event": events.append, "on_failure": failures.append}
        pages = pages_by(way, web, use_known_paths=True, sitemaps_since=since, **callback, **told)
        kept = [f"{BASE}/{name}" for name in ("new", "undated", "odd")]
        assert [page.url for page in pages] == kept
        assert not set(OLD) & set(web.asked)
        skipped = [event for event in events if isinstance(event, SitemapSkipped)]
        assert skipped == [
            SitemapSkipped(f"{BASE}{path}", f"{BASE}/all.xml", 2, SkipReason.DATE) for path in OLD
        ]
        assert failures == []
        failed = {event.url for event in events if isinstance(event, SitemapFailed)}
        assert not failed & {f"{BASE}{path}" for path in OLD}


def test_the_index_names_what_was_skipped():
    tree = usp.sitemap_tree_for_homepage(
        f"{BASE}/", Client(Web(SITE)), sitemaps_since="2025-02-01", exclude_sitemaps=["*/odd*"]
    )
    (of_robots,) = tree.sub_sitemaps[0].sub_sitemaps
    assert of_robots.skipped == [
        SkippedSitemap(f"{BASE}/old.xml", datetime(2025, 1, 1), SkipReason.DATE),  # noqa: DTZ001
        SkippedSitemap(f"{BASE}/odd.xml", None, SkipReason.URL),
        SkippedSitemap(f"{BASE}/sitemap.xml", datetime(2024, 1, 1), SkipReason.DATE),  # noqa: DTZ001
    ]
    assert tree.is_complete


def test_what_a_callback_leaves_out_is_named_too():
    tree = usp.sitemap_tree_for_sitemap(
        f"{BASE}/all.xml", Client(Web(SITE)), recurse_list_callback=lambda urls, *_: urls[1:]
    )
    (skipped,) = tree.skipped
    assert (skipped.url, skipped.reason) == (f"{BASE}/old.xml", SkipReason.CALLBACK)


NESTED = {
    "/robots.txt": robots("/sitemap.xml", "/private.xml"),
    "/sitemap.xml": index("/news.xml", "/shop.xml", "/news-index.xml", "/shop_index.xml"),
    "/shop_index.xml": index("/shop-1.xml", "/shop-news.xml"),
    "/news-index.xml": index("/news-1.xml"),
    **pages_at("news", "shop", "shop-1", "shop-news", "news-1", "private"),
}


def test_patterns_leave_out_sitemaps_before_they_are_requested():
    """What may be an index of sitemaps that match is looked at: one of robots.txt, one so named."""
    for way in cases(WAYS):
        web = Web(NESTED)
        pages = pages_by(way, web, include_sitemaps=["*news*"], exclude_sitemaps=["*/private*"])
        assert [page.url for page in pages] == [
            f"{BASE}/{name}" for name in ("news", "news-1", "shop-news")
        ]
        asked = set(web.asked)
        assert {"/sitemap.xml", "/shop_index.xml"} < asked
        assert not asked & {"/shop.xml", "/shop-1.xml", "/private.xml"}


def test_a_selection_says_what_a_crawl_may_skip():
    selection = usp.Selection(
        since="2025-02", include=["sitemap:*news*", "/blog/*"], exclude=["sitemap:/x/*"], limit=3
    )
    given = CrawlOptions(wait=1.5)
    options = selection.crawl_options(given)
    assert options.wait == 1.5
    assert (options.sitemaps_since, options.include_sitemaps, options.exclude_sitemaps) == (
        "2025-02", ("*news*",), ("/x/*",),
    )  # fmt: skip
    until = usp.Selection(until="2025-02").crawl_options()
    assert until == CrawlOptions(), "what is older than the end is wanted"


def test_a_date_or_pattern_that_cannot_be_read_is_the_callers_mistake():
    for wrong in cases(
        [
            {"sitemaps_since": "yesterday"},
            {"sitemaps_since": 7},
            {"include_sitemaps": [""]},
            {"exclude_sitemaps": ["re:("]},
            {"include_sitemaps": [None]},
        ]
    ):
        with pytest.raises(ValueError, match=r"sitemaps_since|pattern|regular expression"):
            CrawlOptions(**wrong)


def test_a_date_is_over_when_it_is_over_everywhere_and_however_coarse():
    for written, over in cases(
        [
            ("2025-01-31T10:00:00Z", "2025-01-31T10:00:01Z"),
            ("2025-01-31T10:00Z", "2025-01-31T10:01:00Z"),
            ("2025-01-31T10:00:00.5+02:00", "2025-01-31T08:00:01.5Z"),
            ("2025-01-31T10:00:00", "2025-01-31T22:00:01Z"),  # somewhere west of us
            ("2025-01-31", "2025-02-01T12:00:00Z"),
            ("2025-01", "2025-02-01T12:00:00Z"),
            ("2024", "2025-01-01T12:00:00Z"),
        ]
    ):
        assert latest(written) == datetime.fromisoformat(over)


def test_what_may_mean_two_dates_or_none_is_never_over_and_the_last_year_does_not_overflow():
    for text in cases(
        [None, "", "last week", "03/04/2025", "2025-W05", "5 Jan 2025", "0000-00-00", "x" * 500]
    ):
        assert latest(text) is None
    end = latest("9999-12-31")
    assert end is not None
    assert end.year == 9999
