"""What was said when a document was fetched is known to its node."""

from datetime import UTC, datetime, timedelta

import pytest

from fronts import ASYNCIO, THREADS
from memory_web import Client, Doc, Web
from usp.objects.exchange import Exchange
from usp.objects.problem import FailureCode
from usp.objects.sitemap import InvalidSitemap, PagesXMLSitemap
from usp.tree import sitemap_from_str, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import WebClientErrorResponse
from website import Answer, index, nobody, robots, urlset

GZIP = {"Content-Type": "application/xml; charset=iso-8859-1", "X-Cache": "HIT"}
SECRET = {"Set-Cookie": "id=tea", "Authorization": "Basic tea", "X-See": "http://me:tea@h/x"}


@pytest.fixture(params=[THREADS, ASYNCIO], ids=repr)
def crawl(request):
    """Crawl a website by each of the two drivers."""
    return request.param.tree


def nodes_of(tree):
    return {node.url.rpartition("/")[2]: node for node in (tree, *tree.all_sitemaps())}


def test_a_node_knows_its_exchange(serve, crawl):
    site = serve(
        {
            "/robots.txt": robots("/old.xml"),
            "/old.xml": Answer(status=302, redirect="/i.xml"),
            "/i.xml": index("/a.xml"),
            "/a.xml": [Answer(b"", 500), Answer(urlset("/p"), headers=GZIP | SECRET)],
        }
    )
    before = datetime.now(UTC)
    nodes = nodes_of(crawl(f"{site.base}/"))
    moved = nodes["i.xml"].exchange
    assert (moved.url, moved.final_url) == (f"{site.base}/old.xml", f"{site.base}/i.xml")
    assert (moved.attempts, moved.status, moved.redirects) == (1, 200, (f"{site.base}/old.xml",))
    read = nodes["a.xml"].exchange
    assert (read.header("x-cache"), read.header("X-None")) == ("HIT", None)
    assert read.content_type == GZIP["Content-Type"]
    assert (read.status, read.attempts, read.broken) == (200, 2, None)
    assert read.charset == "utf-8"  # whatever its label says
    assert read.received == nodes["a.xml"].size
    assert before - timedelta(seconds=1) <= read.started <= datetime.now(UTC)
    assert read.seconds >= 0


def test_an_exchange_holds_no_secrets(serve, crawl):
    answers = {"/robots.txt": robots("/a.xml", "/gone.xml")}
    answers["/a.xml"] = Answer(urlset("/p"), headers=SECRET)
    answers["/gone.xml"] = Answer(b"", 404, headers=SECRET)
    site = serve(answers)
    start = site.base.replace("://", "://me:tea@") + "/"
    nodes = nodes_of(crawl(start))
    for name in ("robots.txt", "a.xml", "gone.xml"):
        assert "tea" not in repr(nodes[name].exchange), name
    assert nodes["gone.xml"].exchange.header("X-See") == "http://h/x"


def test_a_failure_has_the_exchange_of_its_answer(serve, crawl):
    names = ["/gone.xml", "/page.xml", "/to.xml", "/cut.xml"]
    site = serve(
        {
            "/robots.txt": robots(*names),
            "/gone.xml": Answer(b"", 404, headers={"X-Why": "moved"}),
            "/page.xml": Answer("<html><body>no</body></html>"),
            "/to.xml": Answer(status=301, redirect="/nowhere.xml"),
            "/cut.xml": Answer(urlset(*(f"/{at}" for at in range(99))), cut=2000),
        }
    )
    nodes = nodes_of(crawl(f"{site.base}/"))
    gone, page, lost, cut = (nodes[name[1:]] for name in names)
    assert (gone.exchange.status, gone.exchange.header("X-Why")) == (404, "moved")
    assert (gone.exchange.attempts, gone.failure.attempts) == (1, 1)
    assert gone.failure.code is FailureCode.NOT_FOUND
    assert (page.exchange.status, page.failure.code) == (200, FailureCode.HTML_PAGE)
    assert page.exchange.received > 0
    assert (lost.exchange.status, lost.exchange.final_url) == (404, f"{site.base}/nowhere.xml")
    assert lost.exchange.redirects == (f"{site.base}/to.xml",)
    codes = cut.exchange.broken.code, cut.failure.code, cut.problems[0].code
    assert set(codes) == {FailureCode.BODY_CUT_OFF}


def test_what_was_tried_in_vain_is_known_to_the_website(serve, crawl):
    site = serve({"/robots.txt": robots("/sitemap.xml"), "/sitemap.xml": urlset("/p")})
    tree = crawl(f"{site.base}/", use_known_paths=True)
    tried = {exchange.url.rpartition("/")[2]: exchange.status for exchange in tree.tried}
    assert tried["sitemap_index.xml"] == 404
    assert not {"robots.txt", "sitemap.xml"} & set(tried)
    assert len(tree.tried) == len({exchange.url for exchange in tree.tried})


def test_the_exchange_of_a_host_where_nobody_is_has_no_status():
    with nobody() as base:
        node = sitemap_tree_for_sitemap(f"{base}/s.xml")
    assert isinstance(node, InvalidSitemap)
    assert (node.exchange.status, node.exchange.attempts) == (None, node.failure.attempts)
    assert node.failure.code is FailureCode.CONNECTION_REFUSED


def test_the_error_of_a_client_of_a_users_own_has_an_exchange_too():
    failed = WebClientErrorResponse("404 Not Found", retryable=False)
    client = Client(Web({"/s.xml": Doc(instead=(failed,))}))
    node = sitemap_tree_for_sitemap("http://h/s.xml", client)
    assert node.exchange.status == node.status == 404
    assert node.failure.code is FailureCode.NOT_FOUND


def test_a_node_made_by_hand_has_none_and_a_document_at_hand_was_not_asked_for():
    assert PagesXMLSitemap("http://h/", []).exchange is None
    assert InvalidSitemap("http://h/", "why").exchange is None
    one = PagesXMLSitemap("http://h/", [], exchange=Exchange("http://h/", "http://h/"))
    assert one == PagesXMLSitemap("http://h/", [])
    read = sitemap_from_str("<urlset><url><loc>http://h/p</loc></url></urlset>").exchange
    assert (read.status, read.attempts, read.started) == (None, 0, None)
    assert isinstance(read, Exchange)
