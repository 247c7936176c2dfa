"""Limits: nodes of a tree, depth, and work that must not grow like a factorial."""

from __future__ import annotations

from player import index, outline, pages, played, url

from cases import cases
from usp.limits import DEFAULT, Limits
from usp.options import CrawlOptions

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


def test_what_the_limit_cuts_off_is_counted():
    options = CrawlOptions(limits=Limits(sitemaps=4))
    names = [f"a{n}" for n in range(10)]
    answers = {"i": index(*names), "j": index(*names[:3])} | dict.fromkeys(names, pages())
    world, (top,) = played(answers, "i", options=options)
    assert outline(top) == {"i": ["a0", "a1", "a2"]}
    (problem,) = top.problems
    assert problem.lost == 7
    assert world.asked == [url(name) for name in ("i", "a0", "a1", "a2")]
    _, (whole,) = played(answers, "j", options=options)  # as large as the limit
    assert len(whole.sub_sitemaps) == 3
    assert not whole.problems


def test_there_is_a_limit_from_the_start():
    assert 10_000 <= DEFAULT.sitemaps <= 1_000_000


def test_nothing_deeper_than_level_eleven_is_asked_for():
    for callback in cases(FOLLOWS):
        options = CrawlOptions(recurse_callback=callback)
        answers = {str(n): index(str(n + 1)) for n in range(40)}
        world, _ = played(answers, "0", room=8, options=options)
        assert world.asked == [url(str(n)) for n in range(DEFAULT.depth + 1)]


def test_a_wide_index_is_crawled_in_reasonable_work():
    names = [f"s{n}" for n in range(3000)]
    answers = {"i": index(*names)} | dict.fromkeys(names, pages())
    _, (top,) = played(answers, "i", room=16)
    assert len(top.sub_sitemaps) == 3000
