"""Scrapy itself starts with the pages of sitemaps: the same ones, when it has room, and until it ends."""

import json
import pickle
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from usp import CrawlOptions, Selection, tree
from website import Answer, Site, dated, robots, story, urlset

CRAWLS = Path(__file__).with_name("scrapy_crawls.py")
IMAGE = 'xmlns="http://www.google.com/schemas/sitemap-image/1.1"'
PAGES = urlset(
    dated("/old", "2020-01-01"),
    "<url><loc>{base}/new?a=1&b=2</loc><lastmod>2025-03-04</lastmod>"
    f"<image {IMAGE}><loc>{{base}}/a.png</loc></image></url>",
    dated("/private", "2025-03-04"),
    dated("/left-out", "2025-03-04"),
    "/undated",
)
STORY = urlset(story("/story", "2025-05-06", "A story"))
PAGE = Answer("<html></html>", headers={"Content-Type": "text/html"})
LISTED = ["/old", "/new?a=1&b=2", "/private", "/left-out", "/undated", "/story"]
MANY = "".join(f"{{base}}/many/{at}\n" for at in range(5_000))


@pytest.fixture(scope="module")
def scraped() -> Iterator[tuple[dict[str, Any], Site]]:
    """Run all spiders once, in a process of their own."""
    released = threading.Event()
    answers: dict[str, Any] = {
        "/robots.txt": robots("/sitemap.xml", "/news.xml", "/missing.xml"),
        "/sitemap.xml": PAGES,
        "/news.xml": STORY,
        "/many.txt": MANY,
        "/stalled.txt": Answer(MANY, stall=released),
        **dict.fromkeys((f"/many/{at}" for at in range(500)), PAGE),
        **dict.fromkeys(LISTED, PAGE),
    }
    with Site(answers) as site:
        argv = [sys.executable, CRAWLS, site.base]
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=120, check=False)
        released.set()
        assert ran.returncode == 0, ran.stderr
        yield json.loads(ran.stdout), site


def test_callbacks_get_the_pages_of_a_website_with_what_the_sitemap_says_about_them(scraped):
    whole = scraped[0]["whole"]
    assert sorted(whole["pages"]) == sorted(LISTED)
    assert whole["stats"]["reason"] == "finished"
    facts = whole["facts"]
    assert facts["/new?a=1&b=2"] == ["2025-03-04T00:00:00", ["/a.png"], None]
    assert facts["/story"] == [None, [], "A story"]


def test_pages_are_selected_before_they_are_requested(scraped):
    found, site = scraped
    assert found["chosen"]["pages"] == ["/new?a=1&b=2"]
    assert found["chosen"]["facts"]["/story"] == "news"
    asked = [one.path for one in site.requests if one.headers["User-Agent"] == "chooser/1.0"]
    assert {"/old", "/private", "/left-out", "/undated"}.isdisjoint(asked)
    assert "/sitemap.xml" in asked  # sitemaps are requested with the spider's own user agent


def test_no_more_pages_wait_than_scrapy_has_room_for(scraped):
    lazy = scraped[0]["lazy"]
    assert len(lazy["pages"]) == lazy["stats"]["sitemaps/pages"] == 60
    assert lazy["facts"]["most"] <= 4  # CONCURRENT_REQUESTS


def test_pages_are_requested_while_their_sitemap_is_still_being_sent(scraped):
    """And closing the spider ends the reading: otherwise the crawls would never have ended."""
    closed = scraped[0]["closed"]
    assert len(closed["pages"]) >= 3
    assert closed["stats"]["reason"] == "closespider_itemcount"
    assert all(spider["facts"]["is over"] for spider in scraped[0].values())


def test_what_failed_is_logged_and_counted(scraped):
    found, site = scraped
    missing = f"missing or incomplete: {site.base}/missing.xml (404 Not Found)"
    assert found["whole"]["log"] == [f"Sitemaps of {site.base}: 6 pages read; {missing}"]
    assert found["whole"]["stats"]["sitemaps/failures/not-found"] == 1
    assert found["whole"]["stats"]["sitemaps/read"] == 3
    following = found["following"]
    assert following["pages"] == ["/story"]  # one that fails does not end the others
    assert following["stats"]["sitemaps/failures"] == 2
    assert f"Sitemaps of {site.base}/missing.xml: 0 pages read; {missing}" in following["log"]


def test_a_page_survives_the_queue_of_an_interrupted_job():
    """With JOBDIR Scrapy pickles requests, and what they carry."""
    page = next(tree.sitemap_from_str(STORY).all_pages())
    assert pickle.loads(pickle.dumps(page)) == page


def test_filters_of_sitemaps_that_a_selection_does_not_have_are_kept():
    given = CrawlOptions(sitemaps_since="2024", exclude_sitemaps=["*/old/*"], use_robots=False)
    assert Selection().crawl_options(given) == given
    both = Selection(since="2025", exclude=["sitemap:*/b/*"]).crawl_options(given)
    assert (both.exclude_sitemaps, both.sitemaps_since) == (("*/old/*", "*/b/*"), "2025")
