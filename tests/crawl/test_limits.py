"""Every limit from both sides: at it nothing happens; above it what is there is kept, and named."""

import dataclasses
import gzip
import itertools
from types import SimpleNamespace

import pytest

from cases import cases
from fronts import FRONTS, ONE_BY_ONE, THREADS, every_front
from memory_web import Client, Doc, H, Web
from usp._crawl import fetch, receiver
from usp.limits import DEFAULT, Limits
from website import Answer, index, indexed, pages_at, paths, robots, urlset

MIB = 1024 * 1024


def crawl(site, start: str, front=THREADS, **limits):
    return front.tree(site.url(start), single=True, limits=Limits(**limits))


def crawl_web(docs, front=ONE_BY_ONE, *, options=(), **limits):
    """Give the tree of a website in memory."""
    return front.tree(H + "/", front.client(Web(docs)), limits=Limits(**limits), **dict(options))


def names_the_limit(text: str, name: str) -> bool:
    """Tell whether a message says which limit it was, and how it is raised."""
    return f"the limit {name}=" in text and f"Limits({name}=" in text and f"--max {name}=" in text


def the_failure(tree, name: str, url: str):
    """Give the one failure of a tree, which is due to a limit."""
    assert not tree.is_complete
    (failure,) = tree.failures()
    assert failure.url == url
    assert names_the_limit(failure.reason, name), failure.reason
    return failure


# The values ---------------------------------------------------------------------------------------


def test_a_value_that_is_no_number_from_0_on_is_refused_by_name():
    names = [field.name for field in dataclasses.fields(Limits)]
    wrong = itertools.product([-1, -0.5, float("nan"), "10", True, [1], b"1"], names)
    counts = ["document_bytes", "unpacked_bytes", "pages"]  # people write a hundred as 1e2
    for value, name in cases([*wrong, *((1e2, name) for name in counts)]):
        with pytest.raises(ValueError, match=name) as refused:
            Limits(**{name: value})
        assert repr(value) in str(refused.value)
    with pytest.raises(TypeError):
        Limits(pagez=1)


def test_every_limit_can_be_lifted_set_and_told():
    for name in cases([field.name for field in dataclasses.fields(Limits)]):
        assert getattr(Limits(**{name: None}), name) is None
        for value in (0, 1, 12_345):
            limits = Limits(**{name: value})
            assert getattr(limits, name) == value
            assert f"{name}={value:,}" in limits.reached(name).text
            assert names_the_limit(str(limits.reached(name)), name)
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(DEFAULT, name, 1)


# Bytes --------------------------------------------------------------------------------------------

PAGES = [f"/{number:03}" for number in range(100)]


@every_front
@pytest.mark.parametrize("limit", ["document_bytes", "unpacked_bytes"])
def test_bytes_of_a_document_from_both_sides(serve, front, limit):
    site = serve({})
    plain = site.fill(urlset(*PAGES))
    packed = gzip.compress(plain)
    answers = [Answer(plain), Answer(plain, chunked=True)]
    if limit == "unpacked_bytes":
        answers = [plain, packed, Answer(packed, headers={"Content-Encoding": "gzip"})]
    for answer in cases(answers):
        site.answers["/a.xml"] = answer
        for allowed in (len(plain), len(plain) + 1, None):
            tree = crawl(site, "/a.xml", front, **{limit: allowed})
            assert paths(tree, site.base) == PAGES
            assert tree.is_complete
            assert tree.failures() == tree.problems == []
        site.requests.clear()
        for allowed in (len(plain) - 1, len(plain) // 2):
            tree = crawl(site, "/a.xml", front, **{limit: allowed})
            kept = paths(tree, site.base)
            assert kept == PAGES[: len(kept)]
            assert len(kept) >= (allowed - 200) // (len(plain) / 100)
            assert tree.page_count() == len(kept)
            failure = the_failure(tree, limit, site.url("/a.xml"))
            assert (failure.attempts, failure.status) == (1, 200)
            assert any(names_the_limit(str(problem), limit) for problem in tree.problems)
        assert site.hits["/a.xml"] == 2  # what we cut off ourselves is not asked for again


def test_an_index_that_is_cut_off_at_its_limit_keeps_the_children_before(serve):
    names = [f"/{n}.xml" for n in range(50)]
    site = serve({"/i.xml": index(*names)} | {name: urlset(f"/of{name}") for name in names})
    tree = crawl(site, "/i.xml", document_bytes=1000)
    assert 0 < len(tree.sub_sitemaps) < 50
    assert tree.page_count() == len(tree.sub_sitemaps)
    the_failure(tree, "document_bytes", site.url("/i.xml"))


def test_ratio_from_both_sides(serve):
    site = serve({})
    head = site.fill("<urlset><url><loc>{base}/p</loc></url>")
    bomb = gzip.compress(head + b" " * (20 * MIB) + b"</urlset>", 9)
    site.answers["/a.xml"] = bomb
    tree = crawl(site, "/a.xml", ratio=100)
    assert paths(tree, site.base) == ["/p"]
    the_failure(tree, "ratio", site.url("/a.xml"))
    assert site.hits["/a.xml"] == 1
    for ratio in (2000, None):
        tree = crawl(site, "/a.xml", ratio=ratio)
        assert paths(tree, site.base) == ["/p"]
        assert tree.is_complete


def test_spool_bytes_from_both_sides(serve):
    """What is small stays in memory; of the rest so many bytes are kept."""
    large = [f"/{number:04}/" + "x" * 1000 for number in range(600)]
    site = serve({"/i.xml": index("/a.xml", "/b.xml", "/c.xml"), "/b.xml": urlset("/small")})
    site.answers |= {"/a.xml": urlset(*large), "/c.xml": urlset(*large)}
    size = len(site.fill(urlset(*large)))
    for allowed in (2 * size, None):
        tree = crawl(site, "/i.xml", ONE_BY_ONE, spool_bytes=allowed)
        assert tree.page_count() == 1201
        assert tree.is_complete
    tree = crawl(site, "/i.xml", ONE_BY_ONE, spool_bytes=2 * size - 1)
    assert 601 < tree.page_count() < 1201
    failure = the_failure(tree, "spool_bytes", site.url("/c.xml"))
    assert failure.attempts == 1
    kept = paths(tree, site.base)
    assert kept[:601] == [*large, "/small"]
    assert kept[601:] == large[: len(kept) - 601]
    little = paths(crawl(site, "/i.xml", spool_bytes=0), site.base)
    assert "/small" in little
    assert len(little) < 601


# The tree -----------------------------------------------------------------------------------------


def chain(length: int) -> dict:
    site = {f"/{n}.xml": index(f"/{n + 1}.xml") for n in range(length)}
    return site | {f"/{length}.xml": urlset("/p")}


FOLLOWED = [{}, {"recurse_callback": lambda *_: True}]


SIX = [f"/{n}.xml" for n in range(6)]
WIDE = indexed(*SIX) | {name: urlset(f"/of{name}") for name in SIX}


@every_front
@pytest.mark.parametrize("options", FOLLOWED, ids=["no callback", "callback"])
def test_depth_and_sitemaps_from_both_sides(front, options):
    deep = chain(4) | {"/robots.txt": robots("/0.xml")}
    for docs, limit, enough, found, left, named, not_asked, reason in cases(
        [
            (deep, "depth", 5, ["/p"], 0, "/4.xml", "/4.xml", ""),
            (WIDE, "sitemaps", 8, [f"/of{name}" for name in SIX], 5, "/i.xml", "/5.xml", "1 "),
        ]
    ):
        for allowed in (enough, enough + 1, None):
            tree = crawl_web(docs, front, options=options, **{limit: allowed})
            assert paths(tree, H) == found
            assert tree.is_complete
        web, limits = Web(docs), Limits(**{limit: enough - 1})
        tree = front.tree(H + "/", front.client(web), limits=limits, **options)
        assert paths(tree, H) == found[:left]
        failure = the_failure(tree, limit, H + named)
        assert failure.reason.startswith(reason)
        assert not_asked not in web.asked
        if limit == "depth":
            assert (failure.attempts, failure.status) == (0, None)
            assert tree.sitemap_count() == 6


# Pages --------------------------------------------------------------------------------------------

THREE = indexed("/a.xml", "/b.xml", "/c.xml") | {"/a.xml": urlset("/a1", "/a2", "/a1")}
THREE |= {"/b.xml": urlset("/b1", "/b2"), "/c.xml": urlset("/c1", "/c2")}
ALL = ["/a1", "/a2", "/b1", "/b2", "/c1", "/c2"]


@every_front
def test_exactly_so_many_pages_are_kept_and_the_rest_is_named(front):
    """In the tree and in the stream; as many as there are make a complete tree."""
    for allowed in cases([*range(8), None]):
        limits = Limits(pages=allowed)
        tree = front.tree(H + "/", front.client(Web(THREE)), limits=limits)
        assert paths(tree, H) == ALL[:allowed]
        assert tree.page_count() == len(ALL[:allowed])
        assert sum(1 for node in tree.all_sitemaps() for _ in node.pages) == len(ALL[:allowed])
        streamed = front.pages(H + "/", front.client(Web(THREE)), limits=limits)
        assert [page.url.removeprefix(H) for page in streamed] == ALL[:allowed]
        failures = tree.failures()
        assert all(names_the_limit(failure.reason, "pages") for failure in failures)
        touched = [] if allowed is None else ["/a.xml", "/b.xml", "/c.xml"][allowed // 2 :]
        assert [failure.url.removeprefix(H) for failure in failures] == touched
        problems = [problem for node in tree.all_sitemaps() for problem in node.problems]
        assert tree.is_complete == (not touched) == (not problems)


def test_nothing_is_asked_for_once_there_are_too_many_pages():
    for options in cases([*FOLLOWED, {"use_known_paths": True}]):
        web, again = Web(THREE), Web(THREE)
        tree = ONE_BY_ONE.tree(H + "/", Client(web, 1), limits=Limits(pages=3), **options)
        assert tree.page_count() == 3
        streamed = ONE_BY_ONE.pages(H + "/", Client(again, 1), limits=Limits(pages=3), **options)
        assert len(streamed) == 3
        assert web.asked == again.asked == ["/robots.txt", "/i.xml", "/a.xml", "/b.xml"]
        assert not again.open.total()


def test_a_known_path_that_is_in_the_tree_already_does_not_count_twice():
    """Two pages in robots.txt's subtree, one at another known path: three in all."""
    site = {"/robots.txt": robots("/sitemap.xml"), "/sitemap.xml": urlset("/1", "/2")}
    site |= {"/last.xml": urlset("/3")}
    options = {"use_known_paths": True, "extra_known_paths": ["last.xml"]}
    tree = crawl_web(site, options=options, pages=3)
    assert paths(tree, H) == ["/1", "/2", "/3"]
    assert tree.is_complete


def test_a_document_that_stands_twice_counts_twice_as_its_pages_do():
    site = {"/robots.txt": robots("/i.xml", "/j.xml"), "/i.xml": index("/a.xml")}
    site |= {"/j.xml": index("/a.xml"), "/a.xml": urlset("/1", "/2")}
    for allowed in range(5):
        tree = crawl_web(site, pages=allowed)
        assert paths(tree, H) == ["/1", "/2", "/1", "/2"][:allowed]
        assert tree.is_complete == (allowed == 4)


def test_stray_pages_in_an_index_count():
    stray = "<url><loc>{base}/stray1</loc></url><url><loc>{base}/stray2</loc></url>"
    site = indexed("/1.xml", stray, "/2.xml") | pages_at("1", "2")
    for allowed in (4, None):
        assert paths(crawl_web(site, pages=allowed), H) == ["/1", "/stray1", "/stray2", "/2"]
    for allowed in range(4):
        tree = crawl_web(site, pages=allowed)
        assert tree.page_count() == allowed
        assert not tree.is_complete


def test_counting_pages_does_not_hide_that_a_document_breaks_off(serve):
    for body in cases([urlset(*PAGES)[:-300], urlset(*PAGES)[:-1]]):
        site = serve({"/a.xml": body})
        for allowed in (1000, None):
            tree = crawl(site, "/a.xml", pages=allowed)
            assert not tree.is_complete
            assert "breaks off" in tree.failures()[0].reason


# Time ---------------------------------------------------------------------------------------------


def slow_tree(monkeypatch, pauses: list[float], **limits):
    """Receive a hundred pages in pieces, each after a pause; give the tree, website and time."""
    now = [1000.0]
    for module in (fetch, receiver):
        monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: now[0]))

    def before(_: str, number: int) -> None:
        now[0] += pauses[number]

    web, limits = Web({"/a.xml": Doc(urlset(*PAGES), pieces=len(pauses))}), Limits(**limits)
    tree = ONE_BY_ONE.tree(H + "/a.xml", Client(web, 1, before), single=True, limits=limits)
    return tree, web, now[0] - 1000


def test_document_seconds_and_lowest_rate_from_both_sides(monkeypatch):
    """A rate is judged after half a minute: a document that is over before is whole."""
    rate = 2 * len(Doc(urlset(*PAGES), pieces=100).cut(H)[0])  # a piece in half a second
    for pieces, seconds, limit, enough, not_enough in cases(
        [
            (10, 2.0, "document_seconds", [20.0, 21.0, None], [19.0, 10.0]),
            (100, 0.5, "lowest_rate", [rate, rate - 1, 0, None], [rate + 1]),
            (20, 29.0 / 20, "lowest_rate", [10**9], []),
        ]
    ):
        for allowed in enough:
            tree, _, took = slow_tree(monkeypatch, [seconds] * pieces, **{limit: allowed})
            assert paths(tree, "http://h") == PAGES
            assert tree.is_complete
            assert took == pytest.approx(pieces * seconds)
        for allowed in not_enough:
            tree, web, _ = slow_tree(monkeypatch, [seconds] * pieces, **{limit: allowed})
            kept = paths(tree, "http://h")
            assert kept
            assert kept == PAGES[: len(kept)]
            failure = the_failure(tree, limit, "http://h/a.xml")
            assert failure.attempts == len(web.asked) == 1


def test_a_transfer_that_slows_down_is_judged_by_its_last_half_minute(monkeypatch):
    """The first half comes at once; then nearly nothing."""
    size = len(Doc(urlset(*PAGES)).cut(H)[0])
    half = size // 2
    tree, _, took = slow_tree(monkeypatch, [0.0] * half + [10.0] * (size - half), lowest_rate=50)
    assert 40 < tree.page_count() < 60
    the_failure(tree, "lowest_rate", "http://h/a.xml")
    assert took < 100


@every_front
@pytest.mark.parametrize("held", ["gate", "stall"])
def test_an_answer_that_stalls_ends_with_the_seconds_of_its_document(
    serve, gate, threads_end, times, front, held
):
    """The own client does not wait for a beginning or a piece that comes too late, nor ask again."""
    site = serve({"/a.xml": Answer(urlset(*PAGES), **{held: gate})})
    tree = crawl(site, "/a.xml", front, document_seconds=0.3 * times)
    gate.set()
    assert 40 < tree.page_count() < 60 if held == "stall" else not tree.page_count()
    failure = the_failure(tree, "document_seconds", site.url("/a.xml"))
    assert failure.attempts == site.hits["/a.xml"] == 1
    assert threads_end()


@every_front
def test_seconds_keep_what_came_and_name_the_rest(serve, gate, threads_end, front, times):
    names = [f"/{n}.xml" for n in range(30)]
    site = serve({"/i.xml": index("/a.xml", "/slow.xml", *names), "/a.xml": urlset("/a")})
    site.answers["/slow.xml"] = Answer(urlset("/slow"), gate=gate)
    site.answers |= {name: Answer(urlset("/of" + name), gate=gate) for name in names}
    limits = Limits(seconds=0.3 * times)
    tree = front.tree(site.url("/i.xml"), single=True, limits=limits)
    gate.set()
    assert paths(tree, site.base) == ["/a"]
    assert not tree.is_complete
    failures = tree.failures()
    assert [failure.url for failure in failures] == [site.url(p) for p in ("/slow.xml", *names)]
    named = [failure for failure in failures if names_the_limit(failure.reason, "seconds")]
    assert len(named) >= len(failures) - 1
    assert threads_end()


@pytest.mark.parametrize("front", FRONTS[1:], ids=repr)
def test_a_stream_whose_time_is_over_gives_what_came_and_ends(
    serve, gate, threads_end, front, times
):
    site = serve(THREE | {"/b.xml": Answer(urlset(*PAGES), stall=gate)})
    pages = front.pages(site.base + "/", limits=Limits(seconds=0.4 * times))
    gate.set()
    found = [page.url.removeprefix(site.base) for page in pages]
    assert found[:2] == ["/a1", "/a2"]
    assert 30 < len(found) < 100
    assert found[2:] == [*PAGES[: len(found) - 4], "/c1", "/c2"]
    assert threads_end()


def test_seconds_from_both_sides(serve):
    site = serve(THREE)
    the_failure(crawl(site, "/i.xml", seconds=0), "seconds", site.url("/i.xml"))
    assert not site.requests
    for allowed in (60, 60.5, None):
        assert crawl(site, "/i.xml", seconds=allowed).is_complete


def test_a_crawl_whose_time_is_over_keeps_the_part_of_what_was_coming(serve, threads_end, times):
    filler = b"<url><loc>http://h/p</loc></url>" * 10
    site = serve({"/a.xml": Answer("<urlset>", endless=filler)})
    tree = crawl(site, "/a.xml", seconds=0.3 * times, document_bytes=None, unpacked_bytes=None)
    assert tree.page_count() == 1
    failure = the_failure(tree, "seconds", site.url("/a.xml"))
    assert failure.status == 200
    assert threads_end()


def test_a_repeat_that_would_come_too_late_is_not_waited_for(serve):
    busy = Answer(status=503, headers={"Retry-After": "20"})
    site = serve({"/a.xml": busy})
    tree = crawl(site, "/a.xml", seconds=0.2)
    the_failure(tree, "seconds", site.url("/a.xml"))
