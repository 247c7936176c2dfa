"""The life of documents and places: one state at a time, and every place is handed on once."""

from __future__ import annotations

import pytest
from player import World, error, index, pages, play, received, robots, tree, url

from usp._crawl.crawl import Crawl
from usp._crawl.orders import Arrival, Failed, Look, Received
from usp._crawl.places import Absent, Expected, Fetching, Present, Queued, Skipped
from usp._formats.document import Role
from usp._store import Store
from usp.limits import Limits
from usp.objects.exchange import Exchange
from usp.objects.sitemap import PagesTextSitemap
from usp.options import CrawlOptions


def arrival(of: str) -> Arrival:
    return Arrival(Exchange(of, of), Store().writer(), PagesTextSitemap)


def test_a_document_is_queued_fetched_and_settled():
    crawl = Crawl(chance=lambda: 0.5)
    doc = crawl.want(url("a")).doc
    assert isinstance(doc.state, Queued)
    (order,) = crawl.next_fetches(1, 0.0)
    assert doc.state == Fetching()
    crawl.finished(order, error("500 Oh", retryable=True)(order), 0.0)
    assert isinstance(doc.state, Queued)
    (order,) = crawl.next_fetches(1, 10.0)
    crawl.finished(order, pages()(order), 10.0)
    assert isinstance(doc.state, Received)
    assert doc.attempt == 2


def test_what_arrived_is_known_until_the_document_is_settled():
    crawl = Crawl(chance=lambda: 0.5)
    place = crawl.want(url("a"))
    (order,) = crawl.next_fetches(1, 0.0)
    coming = arrival(url("b"))
    crawl.arriving(order, coming)
    assert place.arrival is coming
    assert place.final_url == url("b")
    crawl.finished(order, error("broken", retryable=True)(order), 0.0)
    assert place.arrival is coming  # it can be read until it comes again
    (order,) = crawl.next_fetches(1, 10.0)
    crawl.finished(order, pages()(order), 10.0)
    assert place.arrival is None
    assert place.final_url == url("a")


def test_what_arrives_too_late_changes_nothing():
    crawl = Crawl()
    place = crawl.want(url("a"))
    (order,) = crawl.next_fetches(1, 0.0)
    crawl.end(Limits().reached("seconds"))
    crawl.abandon()
    assert isinstance(place.doc.state, Failed)
    crawl.arriving(order, arrival(url("a")))
    crawl.finished(order, pages()(order), 0.0)
    assert isinstance(place.doc.state, Failed)
    assert isinstance(place.state, Absent)


def test_a_place_is_expected_until_its_turn_comes():
    crawl = Crawl(per_host=2)
    first, second = crawl.want(url("a")), crawl.want(url("b"))
    one, two = crawl.next_fetches(2, 0.0)
    crawl.finished(two, pages()(two), 0.0)
    assert isinstance(second.state, Expected)
    assert crawl.awaited is first
    crawl.finished(one, error()(one), 0.0)
    assert isinstance(first.state, Absent)
    assert isinstance(second.state, Present)
    assert crawl.complete


def test_every_place_is_handed_on_once_in_the_order_of_its_pages():
    world = World({"r": robots("i", "a"), "i": index("b", "r"), "a": pages(), "b": pages()})
    crawl = Crawl()
    crawl.want(url("r"), role=Role.ROBOTS)
    play(crawl, world)
    settled = crawl.take_settled()
    assert [place.url.rpartition("/")[2] for place in settled] == ["r", "i", "b", "r", "a"]
    assert [type(place.state) for place in settled] == [Present, Present, Present, Absent, Present]
    assert crawl.take_settled() == []


def test_a_place_whose_callback_failed_is_tried_again_and_those_before_it_are_not():
    asked = []

    def follow(urls, level, parents):
        asked.append(urls[0])
        if len(asked) == 2:
            raise LookupError
        return urls

    world = World({"r": index("i", "a"), "i": index("b"), "a": pages(), "b": pages()})
    crawl = Crawl(CrawlOptions(recurse_list_callback=follow))
    top = crawl.want(url("r"))
    with pytest.raises(LookupError):
        play(crawl, world)
    play(crawl, world)
    assert asked == [url("i"), url("b"), url("b")]
    assert tree(top) == {"r": [{"i": ["b"]}, "a"]}
    assert len(crawl.take_settled()) == 4


def test_a_known_path_that_is_declared_is_skipped():
    class Declares:
        def holds(self, top):
            return True

        def declares(self, of):
            return of == url("known")

    crawl = Crawl(CrawlOptions(recurse_callback=lambda *_: True))
    crawl.begin(Declares())
    crawl.want(url("a"))
    known = crawl.want(url("known"), probe=True)
    (order,) = crawl.next_fetches(2, 0.0)
    crawl.finished(order, received(order.url, Look(PagesTextSitemap)), 0.0)
    assert crawl.complete
    assert isinstance(known.state, Skipped)
    assert known.doc is None
