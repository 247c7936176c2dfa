"""Any order of arrival gives the same tree, the same decisions and the same losses."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from player import World, error, index, junk, pages, play, tree, url

from usp._crawl.crawl import Crawl
from usp._crawl.tree_slots import node_for
from usp.limits import Limits
from usp.options import CrawlOptions

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
    return [tree(place) for place in places], nodes, problems, events


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
    crawl = Crawl(CrawlOptions(limits=Limits(sitemaps=200)), per_host=room)
    for name in NAMES[:3]:
        crawl.want(url(name))
    world = World(answers)
    play(crawl, world, room=room, choose=lambda n: data.draw(st.integers(0, n - 1)))
    for name, answer in answers.items():
        most = min(len(answer), 5) if isinstance(answer, list) else 1
        assert world.asked.count(url(name)) <= most
