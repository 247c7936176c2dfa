"""The crawl as a pure object: orders out, results in, no I/O."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from player import World, error, index, junk, outline, pages, play, played, robots, tell, url, want

from cases import cases
from usp._crawl.crawl import Crawl
from usp._crawl.orders import Arrival, Failed, node_for
from usp._formats.document import Role
from usp._store import DocumentWriter, Store
from usp.limits import DEFAULT, Limits
from usp.objects.exchange import Exchange
from usp.objects.sitemap import InvalidSitemap, PagesTextSitemap
from usp.options import CrawlOptions


def test_a_crawl_that_nothing_is_wanted_of_is_complete_at_once():
    crawl = Crawl()
    assert crawl.next_fetches(8, 0.0) == []
    assert crawl.complete
    assert crawl.wake_at() == DEFAULT.seconds


def test_orders_are_given_once_and_not_more_than_there_is_room_for():
    crawl = want(*"abc")
    assert [order.url for order in crawl.next_fetches(2, 0.0)] == [url("a"), url("b")]
    assert crawl.next_fetches(0, 0.0) == []
    assert [order.url for order in crawl.next_fetches(8, 0.0)] == [url("c")]
    assert crawl.next_fetches(8, 0.0) == []
    assert not crawl.complete


def test_a_host_is_not_asked_too_much_at_once_while_others_are_asked():
    names = "http://a/1", "http://a/2", "http://a/3", "http://A/4", "http://b/1"
    crawl = want(*names, per_host=2)
    orders = crawl.next_fetches(16, 0.0)
    assert [order.url for order in orders] == ["http://a/1", "http://a/2", "http://b/1"]
    tell(crawl, orders[1], pages())
    assert [order.url for order in crawl.next_fetches(16, 0.0)] == ["http://a/3"]
    tell(crawl, orders[2], pages())
    assert crawl.next_fetches(16, 0.0) == []
    tell(crawl, orders[0], pages())
    assert [order.url for order in crawl.next_fetches(16, 0.0)] == ["http://A/4"]


def test_a_port_of_its_own_is_a_host_of_its_own_but_http_and_https_are_one():
    names = "http://a/1", "http://a:81/1", "https://a/1", "https://A:443/2"
    crawl = want(*names, per_host=1)
    orders = crawl.next_fetches(16, 0.0)
    assert [order.url for order in orders] == ["http://a/1", "http://a:81/1"]


def test_children_are_fetched_before_what_stands_behind_their_parent():
    answers = {"i": index("a", "j"), "j": index("b"), "a": pages(), "b": pages()}
    world, _ = played(answers, "i", "z")
    assert world.asked == [url(name) for name in ("i", "a", "j", "b", "z")]


def test_without_callbacks_children_are_fetched_although_their_place_is_not_decided():
    """The first document hangs; what the second declares is fetched meanwhile."""
    crawl = want("slow", "i")
    slow, order = crawl.next_fetches(8, 0.0)
    tell(crawl, order, index("a", "b", "a"))
    ahead = crawl.next_fetches(8, 0.0)
    assert [order.url for order in ahead] == [url("a"), url("b")]
    for order in ahead:
        tell(crawl, order, pages())
    assert not crawl.complete
    tell(crawl, slow, pages())
    assert crawl.complete


def test_what_is_asked_for_in_another_role_is_another_document():
    crawl = Crawl(per_host=8)
    crawl.want(url("x"), role=Role.HOMEPAGE)
    crawl.want(url("x"))
    orders = crawl.next_fetches(8, 0.0)
    assert [order.role for order in orders] == [Role.HOMEPAGE, Role.SITEMAP]


def test_reasons_say_what_failed():
    answers = {"html": junk(), "i": index("i", "ftp://x/s.xml", "r"), "r": pages(final="i")}
    _, nodes = played(answers, "gone", "html", "i")
    reasons = [getattr(node, "reason", None) for node in (*nodes, *nodes[2].sub_sitemaps)]
    top = f"with parent URLs {{{url('i')!r}}}."
    assert reasons == [
        f"Unable to fetch sitemap from {url('gone')}: 404 Not Found",
        f"No parsers support sitemap from {url('html')}: it is an HTML page",
        None,
        f"Unable to add sub-sitemap from URL {url('i')}: Recursion detected in URL {url('i')} {top}",
        "Unable to add sub-sitemap from URL ftp://x/s.xml: URL ftp://x/s.xml is not a HTTP(s) URL.",
        f"Recursion detected when {url('r')} redirected to {url('i')} {top}",
    ]


def test_a_place_that_was_never_fetched_is_invalid():
    crawl = Crawl()
    node = node_for(crawl.want(url("a")))
    assert node == InvalidSitemap(url("a"), "it was not fetched")


def test_a_url_that_cannot_be_taken_apart_does_not_stop_the_crawl():
    for broken in cases(["http://[h/s.xml", "http://", "x"]):
        crawl, world = Crawl(), World({"a": pages()})
        for wanted in (broken, url("a")):
            crawl.want(wanted)
        play(crawl, world)
        assert world.asked == [broken, url("a")]


def test_a_known_path_may_be_wanted_twice():
    world, nodes = played({"a": pages()}, "a", "a", guess=True)
    assert list(map(outline, nodes)) == ["a", "a"]
    assert world.asked == [url("a")]


def test_what_arrives_is_known_until_there_is_a_result_and_changes_nothing_after_the_end():
    crawl = Crawl(chance=lambda: 0.5)
    slot = crawl.want(url("a"))
    (order,) = crawl.next_fetches(1, 0.0)
    coming = Arrival(Exchange(url("b"), url("b")), DocumentWriter(Store()), PagesTextSitemap)
    crawl.arriving(order, coming)
    assert (slot.arrival, slot.final_url) == (coming, url("b"))
    tell(crawl, order, error("broken", retryable=True))
    assert slot.arrival is coming  # it can be read until it comes again
    (order,) = crawl.next_fetches(1, 10.0)
    crawl.end(Limits().reached("seconds"))
    crawl.abandon()
    assert isinstance(slot.order.result, Failed)
    crawl.arriving(order, coming)
    tell(crawl, order, pages())
    assert isinstance(slot.order.result, Failed)
    assert slot.arrival is None
    assert slot.reason is not None


def test_every_slot_is_handed_on_once_in_the_order_of_its_pages():
    world = World({"r": robots("i", "a"), "i": index("b", "r"), "a": pages(), "b": pages()})
    crawl = Crawl()
    crawl.want(url("r"), role=Role.ROBOTS)
    play(crawl, world)
    decided = crawl.take_decided()
    assert [slot.url.rpartition("/")[2] for slot in decided] == ["r", "i", "b", "r", "a"]
    assert [slot.recurs for slot in decided] == [False, False, False, True, False]
    assert crawl.take_decided() == []


def test_a_slot_whose_callback_failed_is_tried_again_and_those_before_it_are_not():
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
    assert outline(node_for(top)) == {"r": [{"i": ["b"]}, "a"]}
    assert len(crawl.take_decided()) == 4


# Limits: nodes of a tree, and work that must not grow like a factorial --------------------------------

FOLLOWS = [None, lambda *_: True]


def test_eleven_indexes_that_list_each_other_make_no_more_nodes_than_allowed():
    names = [f"i{n}" for n in range(11)]
    for callback in cases(FOLLOWS):
        for limit in cases([1, 2, 50, 1000]):
            options = CrawlOptions(recurse_callback=callback, limits=Limits(sitemaps=limit))
            answers = {name: index(*names) for name in names}
            world, (top,) = played(answers, "i0", room=8, options=options)
            nodes = [top, *top.all_sitemaps()]
            assert len(nodes) <= limit
            assert len(world.asked) <= 11
            assert len(set(world.asked)) == len(world.asked)
            lost = [problem for node in nodes for problem in node.problems]
            assert lost
            assert all(problem.lost > 0 and f"{limit:,}" in str(problem) for problem in lost)


# Any order of arrival gives the same tree, the same decisions and the same losses ----------------------

NAMES = [f"n{n}" for n in range(8)]
BUSY = error("503 Service Unavailable", retryable=True)


@st.composite
def worlds(draw) -> dict:
    """Give a graph of indexes that may list each other, pages, junk, errors and redirects."""
    names = st.sampled_from(NAMES)
    answers: dict = {}
    for name in NAMES:
        kind = draw(st.sampled_from(["index", "index", "pages", "junk", "error", "busy"]))
        moved = draw(st.none() | names)
        if kind == "index":
            answers[name] = index(*draw(st.lists(names, max_size=4)), final=moved)
        elif kind == "pages":
            answers[name] = pages(f"http://h/{name}", final=moved)
        elif kind == "busy":
            answers[name] = [BUSY] * draw(st.integers(1, 6)) + [pages()]
        else:
            answers[name] = junk() if kind == "junk" else error()
    return answers


def crawled(answers, draw=None, *, room=1, limit=200, **callbacks):
    options = CrawlOptions(limits=Limits(sitemaps=limit), **callbacks)
    crawl = Crawl(options, per_host=room)
    places = [crawl.want(url(name)) for name in NAMES[:3]]
    choose = (lambda n: draw(st.integers(0, n - 1))) if draw else (lambda _: 0)
    events = play(crawl, World(answers), room=room, choose=choose)
    nodes = [node_for(place) for place in places]
    problems = [node.problems for top in nodes for node in (top, *top.all_sitemaps())]
    return list(map(outline, nodes)), nodes, problems, events


@given(worlds(), st.data(), st.integers(2, 9), st.sampled_from([5, 12, 200]))
def test_any_order_of_arrival_gives_the_same_tree(answers, data, room, limit):
    expected = crawled(answers, limit=limit)
    got = crawled(answers, data.draw, room=room, limit=limit)
    assert got[:3] == expected[:3]


@given(worlds(), st.data(), st.integers(2, 9))
def test_callbacks_are_asked_the_same_in_the_same_order_however_answers_arrive(answers, data, room):
    def with_diary(draw=None, room=1):
        diary: list = []
        trees, *_ = crawled(
            answers,
            draw,
            room=room,
            recurse_list_callback=lambda urls, *rest: diary.append((urls, *rest)) or urls[::-1],
            recurse_callback=lambda *call: diary.append(call) or not call[0].endswith("7"),
        )
        return trees, diary

    assert with_diary(data.draw, room) == with_diary()


@given(worlds(), st.data(), st.integers(2, 9))
def test_no_document_is_asked_for_again_once_it_came(answers, data, room):
    crawl = want(*NAMES[:3], options=CrawlOptions(limits=Limits(sitemaps=200)), per_host=room)
    world = World(answers)
    play(crawl, world, room=room, choose=lambda n: data.draw(st.integers(0, n - 1)))
    for name, reply in answers.items():
        most = min(len(reply), 5) if isinstance(reply, list) else 1
        assert world.asked.count(url(name)) <= most
