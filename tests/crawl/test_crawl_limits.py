"""Limits: nodes of a tree, depth, and work that must not grow like a factorial."""

from __future__ import annotations

from player import World, index, pages, play, tree, url

from cases import cases
from usp._crawl.crawl import Crawl
from usp._crawl.tree_slots import node_for
from usp.limits import DEFAULT, Limits
from usp.options import CrawlOptions


def nodes(place):
    top = node_for(place)
    return [top, *top.all_sitemaps()]


def test_eleven_indexes_that_list_each_other_make_no_more_nodes_than_allowed():
    for callbacks in cases([False, True]):
        for limit in cases([1, 2, 50, 1000]):
            names = [f"i{n}" for n in range(11)]
            callback = (lambda *_: True) if callbacks else None
            options = CrawlOptions(recurse_callback=callback, limits=Limits(sitemaps=limit))
            crawl = Crawl(options, per_host=8)
            place = crawl.want(url("i0"))
            world = World({name: index(*names) for name in names})
            play(crawl, world, room=8)
            tree_nodes = nodes(place)
            assert len(tree_nodes) <= limit
            assert len(world.asked) <= 11
            assert len(set(world.asked)) == len(world.asked)
            lost = [problem for node in tree_nodes for problem in node.problems]
            assert lost
            assert all(problem.lost > 0 and f"{limit:,}" in str(problem) for problem in lost)


def test_what_the_limit_cuts_off_is_counted():
    crawl = Crawl(CrawlOptions(limits=Limits(sitemaps=4)))
    place = crawl.want(url("i"))
    names = [f"a{n}" for n in range(10)]
    world = World({"i": index(*names)} | dict.fromkeys(names, pages()))
    play(crawl, world)
    assert tree(place) == {"i": ["a0", "a1", "a2"]}
    (problem,) = node_for(place).problems
    assert problem.lost == 7
    assert world.asked == [url(name) for name in ("i", "a0", "a1", "a2")]


def test_a_tree_as_large_as_the_limit_has_no_problem():
    crawl = Crawl(CrawlOptions(limits=Limits(sitemaps=4)))
    place = crawl.want(url("i"))
    play(crawl, World({"i": index("a", "b", "c")}))
    assert len(nodes(place)) == 4
    assert not node_for(place).problems


def test_there_is_a_limit_from_the_start():
    assert 10_000 <= DEFAULT.sitemaps <= 1_000_000


def test_nothing_deeper_than_level_eleven_is_asked_for():
    for callbacks in cases([False, True]):
        callback = (lambda *_: True) if callbacks else None
        crawl = Crawl(CrawlOptions(recurse_callback=callback), per_host=8)
        crawl.want(url("0"))
        world = World({str(n): index(str(n + 1)) for n in range(40)})
        play(crawl, world, room=8)
        assert world.asked == [url(str(n)) for n in range(DEFAULT.depth + 1)]


def test_a_wide_index_is_crawled_in_reasonable_work():
    names = [f"s{n}" for n in range(3000)]
    crawl = Crawl(per_host=8)
    place = crawl.want(url("i"))
    world = World({"i": index(*names)} | dict.fromkeys(names, pages()))
    play(crawl, world, room=16)
    assert len(node_for(place).sub_sitemaps) == 3000
