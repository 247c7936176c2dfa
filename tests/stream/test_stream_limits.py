"""Limits and broken transfers in the stream: it is that of the tree, whatever happens on the way."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from test_stream_any_order import Hand, listed
from webs import webs

from memory_web import Client, Doc, Web
from patience import soon, within
from profiles import examples
from usp._crawl.crawl import Crawl
from usp._crawl.page_stream import PageStream, pages_of
from usp.limits import Limits
from usp.options import CrawlOptions
from usp.stream import pages
from usp.tree import website_search
from website import Answer, robots, urlset

MANY = [f"/{number:04}" for number in range(400)]


def by_hand(web: Web, options, choose, limits: Limits):
    """Give the pages of the stream, and the tree of the same crawl."""
    how = CrawlOptions(limits=limits, **options)
    crawl = Crawl(how, per_host=3, chance=lambda: 0.5)
    website = website_search(web.base + "/", how)(crawl)
    stream, hand = PageStream(crawl, time.monotonic), Hand(web, crawl, choose)
    given = []
    for _ in range(20_000):
        given += [(page.sitemap_url, page.url) for page in pages_of(filter(None, stream.steps()))]
        if stream.over:
            break
        hand.step()
    else:
        raise AssertionError("the stream does not end")
    for _ in range(20_000):
        if crawl.complete:
            return given, website.tree(), hand
        if not hand.under_way:
            crawl.abandon()
            return given, website.tree(), hand
        hand.step()
    raise AssertionError("the crawl does not end")


# Pieces are so large that each of them, if it comes at all, shows what the document is.
flaky = st.builds(
    lambda size, pieces, breaks: Doc(
        urlset(*(f"/{n:03}" for n in range(size))), pieces=pieces, breaks=tuple(breaks)
    ),
    st.integers(40, 60),
    st.integers(1, 8),
    st.lists(st.none() | st.integers(0, 8), min_size=1, max_size=4),
)


@given(st.lists(flaky, min_size=1, max_size=4), st.randoms(use_true_random=False))
@settings(max_examples=examples(150), deadline=None)
def test_transfers_that_break_off_anywhere_give_the_stream_of_the_tree(docs, chance):
    names = [f"/{number}.xml" for number in range(len(docs))]
    web = Web({"/robots.txt": robots(*names)} | dict(zip(names, docs, strict=True)))
    options = {"use_known_paths": False}
    streamed, tree, _ = by_hand(web, options, chance.randrange, Limits())
    assert streamed == listed(tree)


def test_a_try_that_breaks_off_at_once_does_not_cost_what_came_before_it():
    """The second try ends within the XML declaration."""
    doc = Doc(urlset(*MANY[:7]), pieces=30, breaks=(20, 1))
    web = Web({"/robots.txt": robots("/a.xml"), "/a.xml": doc})
    streamed, tree, _ = by_hand(web, {"use_known_paths": False}, lambda _: 0, Limits())
    assert streamed
    assert streamed == listed(tree)


@given(webs(), st.randoms(use_true_random=False), st.integers(0, 12))
@settings(max_examples=examples(150), deadline=None)
def test_the_stream_and_the_tree_are_cut_at_the_same_page(web, chance, limit):
    docs, options = web
    docs = {path: replace(doc, broken=False) for path, doc in docs.items()}
    options["extra_known_paths"] = []
    streamed, tree, _ = by_hand(Web(docs), options, chance.randrange, Limits(pages=limit))
    assert len(streamed) <= limit
    assert streamed == listed(tree)


@given(webs(with_stray=True), st.randoms(use_true_random=False), st.integers(0, 12))
@settings(max_examples=examples(100), deadline=None)
def test_stray_pages_are_cut_at_the_same_page(web, chance, limit):
    docs, options = web
    docs = {path: replace(doc, broken=False) for path, doc in docs.items()}
    options["extra_known_paths"] = []
    streamed, tree, _ = by_hand(Web(docs), options, chance.randrange, Limits(pages=limit))
    assert streamed == listed(tree)


def test_known_paths_that_stand_in_the_tree_already_do_not_count():
    site = {"/robots.txt": robots("/0.xml"), "/0.xml": urlset("/1", "/2"), "/1.xml": urlset("/3")}
    options = {"use_known_paths": False, "extra_known_paths": ["0.xml", "1.xml"]}
    streamed, tree, _ = by_hand(Web(site), options, lambda _: 0, Limits(pages=3))
    assert [url for _, url in streamed] == ["http://h/1", "http://h/2", "http://h/3"]
    assert streamed == listed(tree)


@given(webs(), st.randoms(use_true_random=False), st.integers(1, 400))
@settings(max_examples=examples(60), deadline=None)
def test_documents_that_are_cut_at_their_size_are_cut_in_the_stream(web, chance, limit):
    docs, options = web
    limits = Limits(document_bytes=limit)
    streamed, tree, _ = by_hand(Web(docs), options, chance.randrange, limits)
    assert streamed == listed(tree)


def test_a_stream_that_is_full_ends_within_the_document(serve, threads_end):
    """The rest of a document without end is not waited for."""
    filler = b"".join(b"<url><loc>http://h/%05d</loc></url>" % n for n in range(5000))
    site = serve({"/robots.txt": robots("/a.xml")})
    site.answers["/a.xml"] = Answer("<urlset>", endless=filler)
    with within(60):
        found = list(pages(site.base + "/", use_known_paths=False, limits=Limits(pages=50)))
    assert [page.url for page in found] == [f"http://h/{n:05}" for n in range(50)]
    assert threads_end()


def test_pages_come_before_the_transfer_breaks_off_and_go_on_after_it():
    """The first pages are there while the first try is still under way."""
    gate = threading.Event()

    def before(url: str, number: int) -> None:
        if url.endswith("/a.xml") and number == 49:
            gate.wait(120)

    doc = Doc(urlset(*MANY), pieces=100, breaks=(50, None))
    web = Web({"/robots.txt": robots("/a.xml"), "/a.xml": doc})
    coming = pages("http://h/", Client(web, 4, before), use_known_paths=False)
    with within(60):
        first = [next(coming).url for _ in range(100)]
        assert web.asked.count("/a.xml") == 1
        gate.set()
        rest = [page.url for page in coming]
    assert first + rest == [f"http://h{path}" for path in MANY]
    assert web.asked.count("/a.xml") == 2


def test_a_stream_that_is_closed_after_a_broken_transfer_asks_no_more():
    gate = threading.Event()
    doc = Doc(urlset(*MANY), pieces=100, breaks=(50,))
    web = Web({"/robots.txt": robots("/a.xml"), "/a.xml": doc})
    coming = pages("http://h/", Client(web, 4), use_known_paths=False)
    with within(60):
        next(coming)
        coming.close()
    gate.set()
    assert soon(lambda: not web.open.total())
    assert web.asked.count("/a.xml") <= 2
