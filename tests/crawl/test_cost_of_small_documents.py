"""What a small document costs beside its pages: counted in calls, which no busy machine changes."""

from __future__ import annotations

import sys
from collections.abc import Callable

from usp.tree import sitemap_tree_for_homepage
from usp.web_client.abstract_client import (
    AbstractWebClient,
    LocalWebClientSuccessResponse,
    WebClientErrorResponse,
)

XMLNS = "http://www.sitemaps.org/schemas/sitemap/0.9"
FEW, MANY = 20, 60
FETCHED = 300  # Python functions that are called for one sitemap in the tree
READ = 130  # and for its pages


class Site(AbstractWebClient):
    """A website of small sitemaps, at hand."""

    def __init__(self, sitemaps: int) -> None:
        names = [f"http://h/{number}.xml" for number in range(sitemaps)]
        locs = "".join(f"<sitemap><loc>{name}</loc></sitemap>" for name in names)
        self._documents = {
            "http://h/robots.txt": "Sitemap: http://h/index.xml",
            "http://h/index.xml": f'<sitemapindex xmlns="{XMLNS}">{locs}</sitemapindex>',
        }
        for name in names:
            urls = "".join(f"<url>\n<loc>{name}/{page}</loc>\n</url>\n" for page in range(3))
            self._documents[name] = (
                f'<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="{XMLNS}">\n{urls}</urlset>\n'
            )

    def set_max_response_data_length(self, max_response_data_length: int | None) -> None:
        pass

    def get(self, url: str):
        if url in self._documents:
            return LocalWebClientSuccessResponse(url, self._documents[url])
        return WebClientErrorResponse("404 Not Found", retryable=False, status=404)


def calls(function: Callable[[], object]) -> int:
    """Return how many Python functions are called, generators counted each time they go on."""
    count = 0

    def note(_frame: object, event: str, _argument: object) -> None:
        nonlocal count
        count += event == "call"

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        function()
    finally:
        sys.setprofile(before)
    return count


def cost(sitemaps: int) -> tuple[int, int]:
    """Return what a website costs: its tree, then its pages."""
    trees = []
    client = Site(sitemaps)
    fetched = calls(lambda: trees.append(sitemap_tree_for_homepage("http://h/", client)))
    read = calls(lambda: [page.url for page in trees[0].all_pages()])
    assert sum(1 for _ in trees[0].all_pages()) == 3 * sitemaps
    return fetched, read


def test_one_more_small_sitemap_costs_few_calls():
    cost(FEW)  # what is found out once is found out now
    (few_fetched, few_read), (fetched, read) = cost(FEW), cost(MANY)
    assert (fetched - few_fetched) / (MANY - FEW) <= FETCHED
    assert (read - few_read) / (MANY - FEW) <= READ
