"""In whatever order and in whatever pieces documents come in: the stream is that of the tree.

No threads and no clock here: the test itself decides which piece of which document comes next.
"""

import random
import time
import types
from dataclasses import replace

import page_sites
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from webs import webs

from memory_web import AsyncClient, Client, Doc, Web
from patience import within
from profiles import examples
from usp._crawl.crawl import Crawl
from usp._crawl.fetch import fetch
from usp._crawl.page_stream import PageStream, pages_of
from usp._crawl.receiver import FetchContext
from usp._crawl.stored_pages import result_of
from usp._store import Store
from usp.limits import DEFAULT, Limits
from usp.options import CrawlOptions
from usp.stream import pages
from usp.tree import sitemap_tree_for_homepage, website_search
from website import Answer, index, robots, urlset

MANY = [f"/{number:04}" for number in range(400)]


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
        client = AsyncClient(web, before=a_turn)  # waits for a turn before each piece of a body
        store = Store(memory=600, small=200)  # some in memory, some in the spool
        self.context = FetchContext(client, store, crawl.limits, announce=crawl.arriving)
        self.under_way: list = []  # orders, and their fetches
        self.now = 0.0

    def step(self) -> None:
        """Let one thing happen."""
        for order in self.crawl.next_fetches(5 - len(self.under_way), self.now):
            self.under_way.append((order, fetch(order, self.context, Reading())))
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


def streamed_by_hand(web: Web) -> tuple[PageStream, Hand]:
    """Begin a crawl; what comes first is what was asked for first."""
    crawl = Crawl()
    website_search("http://h/", CrawlOptions(use_known_paths=False)).begin(crawl)
    return PageStream(crawl, time.monotonic), Hand(web, crawl, lambda _: 0)


def pages_now(stream: PageStream) -> list:
    return list(pages_of(filter(None, stream.steps())))


def by_hand(web: Web, options, choose, limits: Limits = DEFAULT, *, unordered: bool = False):
    """Give the pages of the stream and those of the tree of the same crawl, each with its sitemap."""
    how = CrawlOptions(limits=limits, **options)
    crawl = Crawl(how, per_host=3, chance=lambda: 0.5)
    website = website_search(web.base + "/", how).begin(crawl)
    crawl.arrived = {} if unordered else None
    stream, hand = PageStream(crawl, time.monotonic), Hand(web, crawl, choose)
    given = []
    for _ in range(20_000):
        if not stream.over:
            given += [(page.sitemap_url, page.url) for page in pages_now(stream)]
        if stream.over and (crawl.complete or not hand.under_way):
            if limits.pages is not None and not crawl.complete:
                crawl.abandon()
            return given, listed(website.tree())
        assert not stream.over or limits.pages is not None
        hand.step()
    raise AssertionError("the stream or the crawl does not end")


def listed(tree) -> list:
    return [(url, page.url) for url, page in page_sites.pages_of(tree)]


LIMITS = {
    "nothing": st.just(DEFAULT),
    "sitemaps": st.builds(Limits, sitemaps=st.integers(1, 12)),
    "document_bytes": st.builds(Limits, document_bytes=st.integers(1, 400)),
    "pages": st.builds(Limits, pages=st.integers(0, 12)),
}


@pytest.mark.parametrize(
    ("name", "with_stray"),
    [*((name, False) for name in LIMITS), ("nothing", True), ("pages", True)],
)
@given(st.data(), st.randoms(use_true_random=False))
@settings(max_examples=examples(100), deadline=None)
def test_the_order_of_arrival_does_not_matter_whatever_limit_cuts(name, with_stray, data, chance):
    """Pages that stand in an index come where they stand in the tree."""
    docs, options = data.draw(webs(with_stray=with_stray))
    limits = data.draw(LIMITS[name])
    if name == "pages":
        docs = {path: replace(doc, broken=False) for path, doc in docs.items()}
        options["extra_known_paths"] = []
    streamed, tree = by_hand(Web(docs), options, chance.randrange, limits)
    assert limits.pages is None or len(streamed) <= limits.pages
    assert streamed == tree


@given(webs(), st.randoms(use_true_random=False))
@settings(max_examples=examples(100), deadline=None)
def test_a_stream_without_order_has_the_pages_of_the_tree(web, chance):
    docs, options = web
    streamed, tree = by_hand(Web(docs), options, chance.randrange, unordered=True)
    assert sorted(streamed) == sorted(tree)


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


def test_a_stream_that_is_asked_in_vain_gives_nothing_and_waits():
    web = Web({"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml"), "/a.xml": urlset("/p")})
    stream, hand = streamed_by_hand(web)
    for _ in range(3):
        assert pages_now(stream) == []
        assert not stream.over
        assert stream.must_wait(lambda: None)
    while not (pages_there := pages_now(stream)):
        hand.step()
    assert [page.url for page in pages_there] == ["http://h/p"]


# Limits and broken transfers -----------------------------------------------------------------------


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
    streamed, tree = by_hand(web, options, chance.randrange)
    assert streamed == tree


def test_a_try_that_breaks_off_at_once_does_not_cost_what_came_before_it():
    """The second try ends within the XML declaration."""
    doc = Doc(urlset(*MANY[:7]), pieces=30, breaks=(20, 1))
    web = Web({"/robots.txt": robots("/a.xml"), "/a.xml": doc})
    streamed, tree = by_hand(web, {"use_known_paths": False}, lambda _: 0)
    assert streamed
    assert streamed == tree


def test_a_stream_that_is_full_ends_within_the_document(serve, threads_end):
    """The rest of a document without end is not waited for."""
    filler = b"".join(b"<url><loc>http://h/%05d</loc></url>" % n for n in range(5000))
    site = serve({"/robots.txt": robots("/a.xml")})
    site.answers["/a.xml"] = Answer("<urlset>", endless=filler)
    with within(60):
        found = list(pages(site.base + "/", use_known_paths=False, limits=Limits(pages=50)))
    assert [page.url for page in found] == [f"http://h/{n:05}" for n in range(50)]
    assert threads_end()
