"""Fetching one document: stored as it came, looked at once, every failure returned."""

import gzip
from datetime import UTC, datetime

import pytest

from cases import cases
from memory_web import Client, Doc, H, Web
from usp._crawl.fetch import fetch_document
from usp._crawl.orders import GIVEN_UP, Failed, FetchOrder, Received
from usp._crawl.receiver import FetchContext
from usp._formats.document import Role
from usp._store import Store
from usp.objects.sitemap import IndexRobotsTxtSitemap, IndexXMLSitemap, PagesXMLSitemap
from usp.web_client.abstract_client import WebClientErrorResponse
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, urlset


@pytest.fixture
def client():
    client = RequestsWebClient()
    yield client
    client.close()


def fetch(client, url, **order):
    return fetch_document(FetchOrder(url, **order), FetchContext(client, Store()))


def test_the_document_is_kept_as_the_bytes_that_came_and_what_the_exchange_said(serve, client):
    """Also those that HTTP has packed."""
    site = serve({"/r.xml": Answer(redirect="/a.xml.gz")})
    packed = gzip.compress(site.fill(urlset("/p")))
    for name, value in cases([("Content-Type", "application/gzip"), ("Content-Encoding", "gzip")]):
        site.answers["/a.xml.gz"] = Answer(packed, headers={name: value})
        earlier = ((datetime.now(UTC), 0.5), (datetime.now(UTC), 1.5))
        result = fetch(client, site.url("/r.xml"), attempt=3, earlier=earlier)
        assert isinstance(result, Received)
        assert b"".join(result.document.chunks()) == packed
        exchange = result.document.exchange
        assert exchange.url == site.url("/r.xml")
        assert exchange.final_url == site.url("/a.xml.gz")
        assert exchange.redirects == (site.url("/r.xml"),)
        assert (exchange.status, exchange.attempts, exchange.earlier) == (200, 3, earlier)
        assert exchange.received == len(packed) == result.document.size
        labels = {
            "Content-Type": exchange.content_type,
            "Content-Encoding": exchange.content_encoding,
        }
        assert labels[name] == value
        assert dict(exchange.headers)[name] == exchange.header(name) == value
        assert exchange.charset
        assert exchange.seconds > 0
        assert exchange.broken is None
        assert result.probe.kind is PagesXMLSitemap


def test_a_body_that_breaks_off_is_kept_as_far_as_it_came_and_the_exchange_says_so(serve, client):
    site = serve({"/i.xml": Answer(index("/a.xml", "/b.xml"), cut=150)})
    result = fetch(client, site.url("/i.xml"))
    assert isinstance(result, Received)
    assert result.document.size == 150
    assert result.probe.kind is IndexXMLSitemap
    assert "broke off" in result.probe.problems[0].message
    assert result.document.exchange.broken


def test_a_look_at_an_index_gives_its_children_and_where_stray_pages_stand(serve, client):
    stray = "<url><loc>{base}/p</loc></url>"
    site = serve({"/i.xml": index("/a.xml", stray, "/b.xml", stray)})
    look = fetch(client, site.url("/i.xml")).probe
    assert [child.loc for child in look.children] == [site.url("/a.xml"), site.url("/b.xml")]
    assert look.pages_at == 1


def test_a_role_decides_how_a_document_is_read(serve, client):
    site = serve({"/x": "Sitemap: {base}/a.xml\n"})
    assert fetch(client, site.url("/x"), role=Role.ROBOTS).probe.kind is IndexRobotsTxtSitemap
    assert fetch(client, site.url("/x")).probe.kind is not IndexRobotsTxtSitemap


def fetched(doc: Doc, store: Store | None = None) -> tuple[Received | Failed, Web]:
    """Fetch a document of a website in memory."""
    web = Web({"/a": doc})
    return fetch_document(FetchOrder(H + "/a"), FetchContext(Client(web), store or Store())), web


def test_a_clients_mistake_is_a_failure_of_that_document_and_the_connection_is_let_go():
    gone = WebClientErrorResponse("404 Not Found", retryable=False)
    for doc, words in cases(
        [
            (Doc(raises="get"), "in the client"),
            (Doc(instead=(None,)), "returned NoneType"),
            (Doc(instead=("text",)), "returned str"),
            (Doc(raises="body"), "in the client"),
            (Doc(instead=(gone,)), "404 Not Found"),
        ]
    ):
        result, web = fetched(doc)
        assert isinstance(result, Failed)
        assert words in result.error.message()
        assert not result.error.retryable()
        assert not +web.open
    assert not +fetched(Doc("http://h/p"))[1].open


def test_a_document_of_which_nothing_came_leaves_its_memory_to_others():
    store = Store(memory=1000, small=1000)
    assert isinstance(fetched(Doc(raises="body"), store)[0], Failed)
    assert store.hold(1000, 1000)


def test_a_crawl_that_is_given_up_ends_the_transfer(serve, client):
    site = serve({"/a.xml": Answer("<urlset>", endless=b"<url><loc>http://h/p</loc></url>" * 100)})
    asked = iter([None, None, GIVEN_UP])
    result = fetch_document(
        FetchOrder(site.url("/a.xml")),
        FetchContext(client, Store(), stop_reason=lambda: next(asked)),
    )
    assert isinstance(result, Received)
    assert result.document.exchange.broken == GIVEN_UP
