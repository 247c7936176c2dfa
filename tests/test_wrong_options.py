"""What cannot be meant is refused where it is passed, by a message that says what is expected."""

from __future__ import annotations

import asyncio

import pytest
import requests

import usp
from cases import cases
from together import together
from usp import aio
from usp.fetch_parse import SitemapFetcher
from usp.fleet import FleetOptions

HOME, SITEMAP = "http://127.0.0.1:9/", "http://127.0.0.1:9/sitemap.xml"


def awaited(function):
    return lambda *given, **options: asyncio.run(function(*given, **options))


def exhausted(function):
    async def read(*given, **options):
        return [page async for page in function(*given, **options)]

    return awaited(read)


OF_A_WEBSITE = [
    usp.sitemap_tree_for_homepage,
    awaited(aio.sitemap_tree_for_homepage),
    lambda *given, **options: list(usp.pages(*given, **options)),
    exhausted(aio.pages),
]
OF_A_SITEMAP = [
    usp.sitemap_tree_for_sitemap,
    awaited(aio.sitemap_tree_for_sitemap),
    lambda *given, **options: list(usp.pages_of_sitemap(*given, **options)),
    exhausted(aio.pages_of_sitemap),
    lambda url, client=None, **options: SitemapFetcher(url, 0, client, **options).sitemap(),
]
ENTRY_POINTS = [*((entry, HOME) for entry in OF_A_WEBSITE), *((e, SITEMAP) for e in OF_A_SITEMAP)]


WRONG = {
    "use_robots must be True or False, not 'no'": {"use_robots": "no"},
    "crawl_delay must be True or False, not '0'": {"crawl_delay": "0"},
    "on_event must be a function or None, not 'print'": {"on_event": "print"},
    r"on_failure must be a function or None, not \[\]": {"on_failure": []},
    "recurse_list_callback must be a function or None, not 3": {"recurse_list_callback": 3},
    "must be a collection of strings, not 'a.xml'": {"extra_known_paths": "a.xml"},
    "extra_known_paths must be a collection of strings": {"extra_known_paths": [b"a.xml"]},
}


@together("options", [usp.CrawlOptions, FleetOptions])
@together("message, wrong", WRONG.items())
def test_an_option_of_the_wrong_type(options, message, wrong):
    with pytest.raises(TypeError, match=message):
        options(**wrong)


def test_flags_are_true_or_false_as_anything_is():
    assert not usp.CrawlOptions(use_robots=None, crawl_delay=0).use_robots  # type: ignore[arg-type]


def test_options_that_are_not_options():
    for entry, url in cases(ENTRY_POINTS):
        with pytest.raises(TypeError, match=r"options must be usp.CrawlOptions or None, not 5"):
            entry(url, options=5)


def test_a_client_that_is_not_one():
    for entry, url in cases(ENTRY_POINTS):
        with pytest.raises(TypeError, match="pass a session as RequestsWebClient"):
            entry(url, requests.Session())
        with pytest.raises(TypeError, match=r"not a class; pass RequestsWebClient\(\)"):
            entry(url, usp.RequestsWebClient)


def test_an_asynchronous_client_without_asyncio_is_not_an_empty_website():
    for entry, url in cases([ENTRY_POINTS[0], ENTRY_POINTS[2], ENTRY_POINTS[4], ENTRY_POINTS[6]]):
        with pytest.raises(TypeError, match=r"AiohttpWebClient is asynchronous; use .* usp.aio"):
            entry(url, usp.AiohttpWebClient())


def test_text_and_bytes_are_told_apart():
    with pytest.raises(TypeError, match="sitemap_from_bytes takes bytes"):
        usp.sitemap_from_str(b"<urlset/>")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="sitemap_from_str takes text"):
        usp.sitemap_from_bytes("<urlset/>")  # type: ignore[arg-type]


def test_columns_of_a_fleet():
    with pytest.raises(ValueError, match="unknown column 'title'; choose from url, lastmod"):
        FleetOptions(columns=("title",))
    assert FleetOptions(columns=["url", "lastmod"]).columns == ("url", "lastmod")  # type: ignore[arg-type]


def test_the_limit_of_a_selection():
    for limit in cases(["3", 2.5, True, -1]):
        with pytest.raises(ValueError, match="limit must be a non-negative integer or None"):
            usp.Selection(limit=limit)
