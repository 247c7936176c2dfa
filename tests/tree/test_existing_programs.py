"""Programs written for ultimate-sitemap-parser 1.8.1 run unchanged and give what they gave.

``programs.py`` holds them. ``programs_on_1_8_1.json`` holds what they give on the real thing, run as
``python programs.py`` with 1.8.1 installed.
"""

from __future__ import annotations

import gc
import json
from pathlib import Path

import programs
import pytest
from programs_site import SITE

from usp.fetch_parse import SitemapFetcher
from usp.objects.page import SitemapPage
from usp.objects.sitemap import InvalidSitemap, PagesXMLSitemap
from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import LocalWebClient
from usp.web_client.requests_client import RequestsWebClient
from website import Site, robots, urlset

RECORDED = json.loads(Path(__file__).with_name("programs_on_1_8_1.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def site():
    with Site(SITE) as site:
        yield site


@pytest.mark.filterwarnings("ignore::ResourceWarning")  # programs that close nothing
@pytest.mark.parametrize("program", programs.PROGRAMS, ids=lambda program: program.__name__)
def test_a_program_gives_what_it_gave(site, program):
    result = json.dumps(program(site.base + "/"), default=str).replace(site.base, "{base}")
    assert json.loads(result) == RECORDED[program.__name__]
    gc.collect()


def test_every_program_was_recorded():
    assert sorted(RECORDED) == sorted(program.__name__ for program in programs.PROGRAMS)


def test_a_fetcher_with_a_client_without_network_raises_nothing_else_than_it_says():
    """1.8.1 lets NoWebClientException out; a tree names it instead: nothing raises out of a crawl."""
    node = SitemapFetcher("http://h/s.xml", 0, web_client=LocalWebClient()).sitemap()
    assert isinstance(node, InvalidSitemap)


def test_trees_that_were_built_by_hand_and_fetched_ones_mix(serve):
    site = serve({"/a.xml": urlset("/p")})
    fetched = SitemapFetcher(site.url("/a.xml"), 0).sitemap()
    built = PagesXMLSitemap(site.url("/a.xml"), [SitemapPage(site.url("/p"))])
    other = PagesXMLSitemap(site.url("/a.xml"), [SitemapPage(site.url("/q"))])
    assert built == fetched
    assert fetched == built
    assert fetched != other
    assert len({fetched, built}) == 1


def test_a_limit_of_the_users_own_is_not_forgotten_between_crawls(serve):
    """A crawl sets the limit of the client it is given, as 1.8.1 does."""
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    limits = []

    class Client(RequestsWebClient):
        def set_max_response_data_length(self, max_response_data_length):
            limits.append(max_response_data_length)
            super().set_max_response_data_length(max_response_data_length)

    client = Client()
    sitemap_tree_for_homepage(site.base + "/", client, use_known_paths=False)
    client.close()
    assert set(limits) == {
        100 * 1024 * 1024 + 1
    }  # one more than is kept, to see that there is more
