"""An option does the same wherever it is given: tree, stream, asyncio, ``SitemapFetcher``."""

from functools import partial

import pytest

import usp
from cases import cases
from fronts import WAYS, pages_by
from memory_web import Client, Web
from usp._crawl.crawl import Crawl
from usp.fetch_parse import SitemapFetcher
from usp.stream import pages
from website import indexed, pages_at, urlset

SITE = indexed("/a.xml", "/b.xml", "/gone.xml") | pages_at("b", "extra")
SITE |= {"/a.xml": urlset("/a1", "/a2"), "/sitemap.xml": urlset("/known")}
WEBSITE, SITEMAP = "http://h/", "http://h/i.xml"


OF_A_WEBSITE = {way: partial(pages_by, way, url=WEBSITE) for way in WAYS}
OF_A_SITEMAP = {way: partial(pages_by, way, url=SITEMAP, single=True) for way in WAYS} | {
    "fetcher": lambda web, **how: (
        SitemapFetcher(SITEMAP, 0, Client(web), **how).sitemap().all_pages()
    )
}


def names(pages) -> list[str]:
    return [page.url.removeprefix(WEBSITE) for page in pages]


def test_a_stream_tells_in_the_end_what_is_missing():
    heard = []
    stream = pages(WEBSITE, Client(Web(SITE)), on_failure=heard.append)
    assert next(stream).url == f"{WEBSITE}a1"
    assert heard == []
    assert names(stream) == ["a2", "b", "known"]
    assert names(heard) == ["gone.xml"]


def test_what_is_missing_and_what_happens_is_told_on_every_front():
    for fronts in cases([OF_A_WEBSITE, OF_A_SITEMAP]):
        told = {}
        for front, call in fronts.items():
            failures, events = [], []
            list(call(Web(SITE), on_failure=failures.append, on_event=events.append))
            told[front] = [failure.url for failure in failures], {type(event) for event in events}
        missing, kinds = told.pop("tree, threads")
        assert missing == ["http://h/gone.xml"]
        assert len(kinds) == 6
        assert all(other == (missing, kinds) for other in told.values())


@pytest.mark.parametrize("fronts", [OF_A_WEBSITE, OF_A_SITEMAP])
def test_the_crawl_is_given_every_option_as_it_is(fronts, monkeypatch):
    seen = []

    def crawl(options, **others):
        seen.append(options)
        return Crawl(options, **others)

    monkeypatch.setattr("usp._crawl.thread_driver.Crawl", crawl)
    how = {
        "recurse_callback": lambda *_: True,
        "recurse_list_callback": lambda urls, *_: urls,
        "recurse_entry_callback": lambda _: True,
        "limits": usp.Limits(pages=9),
        "crawl_delay": True,
        "wait": 0.001,
        "keep_partial": True,
        "on_event": lambda _: None,
        "on_failure": lambda _: None,
    }
    if fronts is OF_A_WEBSITE:
        how |= {"use_robots": False, "use_known_paths": False, "extra_known_paths": ("x",)}
        how |= {"normalize_homepage_url": False, "use_html_links": True}
    options = usp.CrawlOptions(**how)
    for call in fronts.values():
        list(call(Web(SITE), **how))
        list(call(Web(SITE), options=options))
    assert seen == [options] * 2 * len(fronts)
