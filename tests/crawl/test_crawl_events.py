"""Events: what happens is told, in the order in which it happens, in the caller's thread."""

import threading

from player import error, index, junk, pages, played, url

from usp.events import (
    PagesReady,
    SitemapFailed,
    SitemapFinished,
    SitemapFound,
    SitemapReceived,
    SitemapStarted,
)
from usp.objects.problem import FailureCode
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from website import Answer, robots, urlset
from website import index as xml_index


def told(events):
    return [(type(event).__name__.removeprefix("Sitemap"), event.url[-1]) for event in events]


def test_a_document_is_found_started_received_finished_and_its_pages_are_ready():
    events = played({"a": pages("http://h/1\nhttp://h/2", final="b")}, "a")[0].events
    ready = events.pop()
    assert events == [
        SitemapFound(url("a"), None, 0),
        SitemapStarted(url("a"), 1),
        SitemapReceived(url("a"), url("b"), 21, 0.0),
        SitemapFinished(url("a"), "PagesTextSitemap"),
    ]
    assert isinstance(ready, PagesReady)
    assert ready.url == url("b")
    assert [page.url for page in ready.pages] == ["http://h/1", "http://h/2"]


def test_children_are_found_below_their_parent():
    answers = {"i": index("a", "b", "a", final="j"), "a": pages(), "b": pages()}
    events = played(answers, "i")[0].events
    assert [event for event in events if isinstance(event, SitemapFound)] == [
        SitemapFound(url("i"), None, 0),
        SitemapFound(url("a"), url("j"), 1),
        SitemapFound(url("b"), url("j"), 1),
    ]


def test_what_fails_is_told_once_with_the_number_of_tries():
    busy = error("503 Busy", retryable=True)
    answers = {"x": busy, "y": junk("it is a cat"), "z": error("410 Gone")}
    events = played(answers, *"xyz")[0].events
    starts = [event for event in events if isinstance(event, SitemapStarted)]
    assert [event.attempt for event in starts if event.url == url("x")] == [1, 2, 3, 4, 5]
    assert {event for event in events if isinstance(event, SitemapFailed)} == {
        SitemapFailed(url("x"), "503 Busy", 5, FailureCode.SERVER_ERROR),
        SitemapFailed(url("y"), "it is a cat", 1, FailureCode.HTML_PAGE),
        SitemapFailed(url("z"), "410 Gone", 1, FailureCode.NOT_FOUND),
    }


def test_every_document_that_is_found_ends_in_exactly_one_way():
    answers = {"i": index("a", "b", "c"), "a": pages(), "b": junk(), "c": error()}
    events = played(answers, "i", room=4)[0].events
    ends = [e.url for e in events if isinstance(e, SitemapFinished | SitemapFailed)]
    assert sorted(ends) == sorted(e.url for e in events if isinstance(e, SitemapFound))


def test_a_document_at_a_dead_host_is_told_as_failed_without_a_start():
    events = played({"a": error("refused", unreachable=True)}, "a", "b")[0].events
    assert told(events) == [
        ("Found", "a"), ("Found", "b"), ("Started", "a"), ("Failed", "a"), ("Failed", "b"),
    ]  # fmt: skip
    assert events[-1].attempts == 0


def test_a_listener_hears_everything_in_the_callers_thread(serve):
    site = serve(
        {
            "/robots.txt": robots("/i.xml", "/x.xml"),
            "/i.xml": Answer(xml_index("/a.xml", "/b.xml"), delay=0.05),
            "/a.xml": urlset("/1", "/2"),
            "/b.xml": Answer(redirect="/c.xml"),
            "/c.xml": urlset("/3"),
        }
    )
    heard, threads = [], set()

    def listen(event):
        heard.append(event)
        threads.add(threading.get_ident())

    tree = sitemap_tree_for_homepage(site.base + "/", use_known_paths=False, on_event=listen)
    assert threads == {threading.get_ident()}
    assert {event.url.removeprefix(site.base) for event in heard if isinstance(event, SitemapFound)} == {
        "/robots.txt", "/i.xml", "/x.xml", "/a.xml", "/b.xml",
    }  # fmt: skip
    pages_heard = {e.url: list(e.pages) for e in heard if isinstance(e, PagesReady)}
    assert pages_heard == {n.url: n.pages for n in tree.all_sitemaps() if n.pages}
    for name in ("/a.xml", "/b.xml"):
        kinds = [type(event) for event in heard if event.url == site.url(name)]
        order = [SitemapFound, SitemapStarted, SitemapReceived, SitemapFinished]
        assert [kind for kind in kinds if kind is not PagesReady] == order


def test_stray_pages_of_an_index_are_told_too(serve):
    site = serve({"/i.xml": xml_index("<url><loc>{base}/stray</loc></url>")})
    heard = []
    sitemap_tree_for_sitemap(site.url("/i.xml"), on_event=heard.append)
    (ready,) = [event for event in heard if isinstance(event, PagesReady)]
    assert [page.url for page in ready.pages] == [site.url("/stray")]
