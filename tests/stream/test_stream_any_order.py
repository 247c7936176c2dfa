"""In whatever order and in whatever pieces documents come in: the stream is that of the tree.

No threads and no clock here: the test itself decides which piece of which document comes next.
"""

from __future__ import annotations

import random
import time
import types
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st
from webs import webs

from memory_web import AsyncClient, Client, Doc, Web
from profiles import examples
from usp._crawl.crawl import Crawl
from usp._crawl.fetch import fetch
from usp._crawl.page_stream import PageStream, pages_of
from usp._crawl.stored_pages import result_of
from usp._store import Store
from usp.limits import Limits
from usp.options import CrawlOptions
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage, website_search
from website import index, robots, urlset


@types.coroutine
def a_turn(*_):
    """Wait until the test goes on."""
    yield


class Reading:
    """Reads all of a piece at once."""

    async def run(self, steps):
        return result_of(steps)


class Hand:
    """Drives a crawl by hand, piece by piece; ``choose(n)`` says which of n things happens next."""

    def __init__(self, web: Web, crawl: Crawl, choose) -> None:
        self.crawl, self.choose = crawl, choose
        self.client = AsyncClient(
            web, before=a_turn
        )  # waits for a turn before each piece of a body
        self.store = Store(memory=600, small=200)  # some in memory, some in the spool
        self.under_way: list = []  # orders, and their fetches
        self.now = 0.0

    def step(self) -> None:
        """Let one thing happen."""
        for order in self.crawl.next_fetches(5 - len(self.under_way), self.now):
            given = (self.client, self.store, lambda: None, self.crawl.arriving, self.crawl.limits)
            self.under_way.append((order, fetch(order, *given, Reading())))
            self.grow(self.under_way[-1])
        if self.crawl.complete:
            return
        if self.under_way:
            self.grow(self.under_way[self.choose(len(self.under_way))])
        else:
            self.now = max(self.now, self.crawl.wake_at())

    def grow(self, coming) -> None:
        """Let a piece of a document come in, and read it."""
        order, work = coming
        try:
            work.send(None)
        except StopIteration as end:
            self.under_way.remove(coming)
            self.crawl.finished(order, end.value, self.now)


def stream_by_hand(web: Web, options, choose, max_sitemaps: int = 1000):
    """Give the pages of the stream, and those of the tree of the same crawl."""
    how = CrawlOptions(limits=Limits(sitemaps=max_sitemaps), **options)
    crawl = Crawl(how, per_host=3)
    website = website_search(web.base + "/", how)(crawl)
    stream, hand = PageStream(crawl, time.monotonic), Hand(web, crawl, choose)
    given = []
    for _ in range(20_000):
        given += [(page.sitemap_url, page.url) for page in pages_of(filter(None, stream.steps()))]
        if stream.over:
            assert not hand.under_way or crawl.complete
            return given, website.tree()
        hand.step()
    raise AssertionError("the stream does not end")


def listed(tree) -> list:
    return [
        (node.url, page.url)
        for node in tree.all_sitemaps()
        if hasattr(node, "pages")
        for page in node.pages
    ]


@given(webs(), st.randoms(use_true_random=False))
@settings(max_examples=examples(150), deadline=None)
def test_the_order_of_arrival_does_not_matter(web, chance):
    docs, options = web
    streamed, tree = stream_by_hand(Web(docs), options, chance.randrange)
    assert streamed == listed(tree)


@given(webs(), st.randoms(use_true_random=False), st.integers(1, 12))
@settings(max_examples=examples(60), deadline=None)
def test_a_tree_that_is_cut_at_its_limit_is_cut_in_the_stream(web, chance, limit):
    docs, options = web
    streamed, tree = stream_by_hand(Web(docs), options, chance.randrange, limit)
    assert streamed == listed(tree)


@given(webs(with_stray=True), st.randoms(use_true_random=False))
@settings(max_examples=examples(100), deadline=None)
def test_pages_in_an_index_come_where_they_stand_in_the_tree(web, chance):
    docs, options = web
    streamed, tree = stream_by_hand(Web(docs), options, chance.randrange)
    assert streamed == listed(tree)


@given(webs(), st.randoms(use_true_random=False))
@settings(max_examples=examples(100), deadline=None)
def test_two_orders_of_arrival_give_the_same_stream(web, chance):
    docs, options = web
    docs = {path: replace(doc, stumbles=0) for path, doc in docs.items()}
    first, _ = stream_by_hand(Web(docs), options, lambda _: 0)
    second, _ = stream_by_hand(Web(docs), options, chance.randrange)
    assert first == second


@given(webs(), st.sampled_from([1, 2, 4]), st.integers(0, 2**16))
@settings(max_examples=examples(25), deadline=None)
def test_real_threads_at_random_speeds_give_the_pages_of_the_tree(web, at_once, seed):
    docs, options = web
    docs = {path: replace(doc, stumbles=0) for path, doc in docs.items()}
    chance = random.Random(seed)

    def before(url, piece):
        if chance.random() < 0.2:
            time.sleep(chance.random() / 500)

    tree = sitemap_tree_for_homepage("http://h/", Client(Web(docs), 1), **options)
    streamed = pages("http://h/", Client(Web(docs), at_once, before), **options)
    assert [(page.sitemap_url, page.url) for page in streamed] == listed(tree)


def test_a_document_of_a_hundred_pieces_is_given_as_it_grows():
    """After each piece the pages in it are there: nothing is held back for long."""
    web = Web({"/robots.txt": robots("/a.xml")})
    web.docs["/a.xml"] = Doc(urlset(*(f"/{n:04}" for n in range(2000))), pieces=100)
    crawl = Crawl()
    website_search("http://h/", CrawlOptions(use_known_paths=False))(crawl)
    stream, hand = PageStream(crawl, time.monotonic), Hand(web, crawl, lambda _: 0)
    counts = []
    while not stream.over:
        counts.append(sum(1 for _ in pages_of(filter(None, stream.steps()))))
        hand.step()
    assert sum(counts) == 2000
    assert sum(map(bool, counts)) > 90
    assert max(counts) < 60


def test_a_stream_that_is_asked_in_vain_gives_nothing_and_waits():
    web = Web({"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml"), "/a.xml": urlset("/p")})
    crawl = Crawl()
    website_search("http://h/", CrawlOptions(use_known_paths=False))(crawl)
    stream = PageStream(crawl, time.monotonic)
    for _ in range(3):
        assert list(pages_of(filter(None, stream.steps()))) == []
        assert not stream.over
        assert stream.must_wait(lambda: None)
    hand = Hand(web, crawl, lambda _: 0)
    while not (pages_there := list(pages_of(filter(None, stream.steps())))):
        hand.step()
    assert [page.url for page in pages_there] == ["http://h/p"]
