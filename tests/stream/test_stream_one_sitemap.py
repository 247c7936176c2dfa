"""One sitemap, page by page: what its tree has, on threads and on asyncio."""

import threading
from contextlib import closing

import pytest

from fronts import rest, run
from usp import aio
from usp.limits import Limits
from usp.options import CrawlOptions
from usp.stream import PageBlocks, pages_of_sitemap
from usp.tree import sitemap_search, sitemap_tree_for_sitemap
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, robots, urlset


@pytest.fixture
def site(serve):
    return serve(
        {
            "/i.xml": index("/a.xml", "/gone.xml", "/in.xml", "/moved.xml"),
            "/a.xml": urlset("/1", "/2", "/1"),
            "/in.xml": index("/b.xml"),
            "/b.xml": urlset("/3"),
            "/moved.xml": Answer(redirect="/c.xml", status=302),
            "/c.xml": urlset("/4"),
            "/robots.txt": robots("/b.xml"),
        }
    )


@pytest.mark.parametrize("path", ["/i.xml", "/a.xml", "/moved.xml", "/gone.xml", "/robots.txt"])
@pytest.mark.parametrize("limits", [Limits(), Limits(pages=2), Limits(sitemaps=2)])
def test_pages_and_failures_are_those_of_the_tree(site, path, limits):
    url = site.url(path)
    tree = sitemap_tree_for_sitemap(url, limits=limits)
    failures, others = [], []
    client = RequestsWebClient(max_concurrent_requests=4)
    pages = list(pages_of_sitemap(url, client, limits=limits, on_failure=failures.append))
    assert pages == list(tree.all_pages())
    again = aio.pages_of_sitemap(url, client, limits=limits, on_failure=others.append)
    assert run(rest(again)) == pages
    sitemaps = {page.url: node.url for node in (tree, *tree.all_sitemaps()) for page in node.pages}
    assert {page.url: page.sitemap_url for page in pages} == sitemaps
    if limits.pages is None:  # what came after the last page, and was cut off, is up to the network
        missing = {failure.url for failure in tree.failures()}
        assert {failure.url for failure in failures} == missing
        assert others == failures
    client.close()


def test_blocks_are_pages_and_end_with_their_tree(site):
    blocks = PageBlocks(sitemap_search(site.url("/i.xml"), CrawlOptions()), None)
    given = [(sitemap_url, list(block.urls)) for sitemap_url, block in blocks]
    assert given == [
        (site.url("/a.xml"), [site.url("/1"), site.url("/2")]),
        (site.url("/b.xml"), [site.url("/3")]),
        (site.url("/c.xml"), [site.url("/4")]),
    ]
    assert blocks.tree is not None
    assert [failure.url for failure in blocks.tree.failures()] == [site.url("/gone.xml")]


def test_a_stream_that_is_stopped_ends_although_nothing_comes(serve):
    gate = threading.Event()
    site = serve(
        {
            "/i.xml": index("/a.xml", "/slow.xml", *(f"/{n}" for n in range(9))),
            "/a.xml": urlset("/1"),
            "/slow.xml": Answer(urlset("/2"), gate=gate),
        }
    )
    client = RequestsWebClient(max_concurrent_requests=1)
    start = site.url("/i.xml")
    blocks = PageBlocks(sitemap_search(start, CrawlOptions()), client, any_thread=True)
    with closing(iter(blocks)) as coming:
        assert list(next(coming)[1].urls) == [site.url("/1")]
        threading.Timer(0.2, blocks.stop).start()
        assert next(coming, None) is None
    assert blocks.tree is None
    assert site.hits["/0"] == 0
    gate.set()
    client.close()
