"""Every limit from both sides: at it nothing happens; above it what is there is kept, and named."""

from __future__ import annotations

import dataclasses
import gzip
import threading
from types import SimpleNamespace

import pytest

from cases import cases
from usp._crawl import fetch, receiver
from usp.limits import DEFAULT, Limits
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from usp.web_client.abstract_client import (
    AbstractWebClient,
    LocalWebClientSuccessResponse,
    WebClientErrorResponse,
)
from usp.web_client.requests_client import RequestsWebClient
from website import Answer, index, paths, robots, urlset

MIB = 1024 * 1024


def crawl(site, start: str, **limits):
    return sitemap_tree_for_sitemap(site.url(start), limits=Limits(**limits))


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
    for value in cases([-1, -0.5, float("nan"), "10", True, [1], b"1"]):
        for name in cases([field.name for field in dataclasses.fields(Limits)]):
            with pytest.raises(ValueError, match=name) as refused:
                Limits(**{name: value})
            assert repr(value) in str(refused.value)


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


def test_a_limit_that_does_not_exist_is_a_mistake():
    with pytest.raises(TypeError):
        Limits(pagez=1)


def test_a_count_written_as_a_float_is_refused_by_name():
    """``1e2`` is how people write a hundred."""
    for name in cases(["document_bytes", "unpacked_bytes", "pages"]):
        with pytest.raises(ValueError, match=name):
            Limits(**{name: 1e2})


# Bytes --------------------------------------------------------------------------------------------

PAGES = [f"/{number:03}" for number in range(100)]


def test_document_bytes_from_both_sides(serve):
    for chunked in cases([False, True]):
        site = serve({"/a.xml": Answer(urlset(*PAGES), chunked=chunked)})
        size = len(site.fill(urlset(*PAGES)))
        for allowed in (size, size + 1, None):
            tree = crawl(site, "/a.xml", document_bytes=allowed)
            assert paths(tree, site.base) == PAGES
            assert tree.is_complete
            assert tree.failures() == tree.problems == []
        before = site.hits["/a.xml"]
        for allowed in (size - 1, size // 2):
            tree = crawl(site, "/a.xml", document_bytes=allowed)
            kept = paths(tree, site.base)
            assert kept == PAGES[: len(kept)]
            assert len(kept) >= (allowed - 200) // (size / 100)
            failure = the_failure(tree, "document_bytes", site.url("/a.xml"))
            assert (failure.attempts, failure.status) == (1, 200)
            assert any(names_the_limit(str(problem), "document_bytes") for problem in tree.problems)
        assert site.hits["/a.xml"] == before + 2  # what we cut off ourselves is not asked for again


def test_a_document_that_is_cut_off_at_its_limit_costs_its_siblings_nothing(serve):
    site = serve(
        {"/i.xml": index("/a.xml", "/b.xml"), "/a.xml": urlset(*PAGES), "/b.xml": urlset("/b")}
    )
    tree = crawl(site, "/i.xml", document_bytes=1000)
    assert paths(tree, site.base)[-1] == "/b"
    assert 1 < tree.page_count() < 100
    the_failure(tree, "document_bytes", site.url("/a.xml"))


def test_an_endless_document_ends_at_its_limit(serve):
    filler = b"<url><loc>http://h/p</loc></url>" * 100
    site = serve({"/a.xml": Answer("<urlset>", endless=filler)})
    tree = crawl(site, "/a.xml", document_bytes=100_000)
    assert tree.page_count() == 1
    the_failure(tree, "document_bytes", site.url("/a.xml"))
    assert site.hits["/a.xml"] == 1


def test_an_index_that_is_cut_off_at_its_limit_keeps_the_children_before(serve):
    names = [f"/{n}.xml" for n in range(50)]
    site = serve({"/i.xml": index(*names)} | {name: urlset(f"/of{name}") for name in names})
    tree = crawl(site, "/i.xml", document_bytes=1000)
    assert 0 < len(tree.sub_sitemaps) < 50
    assert tree.page_count() == len(tree.sub_sitemaps)
    the_failure(tree, "document_bytes", site.url("/i.xml"))


def test_unpacked_bytes_from_both_sides(serve):
    for packed in cases([False, True]):
        site = serve({})
        plain = site.fill(urlset(*PAGES))
        site.answers["/a.xml"] = gzip.compress(plain) if packed else plain
        for allowed in (len(plain), len(plain) + 1, None):
            tree = crawl(site, "/a.xml", unpacked_bytes=allowed)
            assert paths(tree, site.base) == PAGES
            assert tree.is_complete
        site.requests.clear()
        for allowed in (len(plain) - 1, len(plain) // 2):
            tree = crawl(site, "/a.xml", unpacked_bytes=allowed)
            kept = paths(tree, site.base)
            assert kept == PAGES[: len(kept)]
            assert kept
            assert tree.page_count() == len(kept)
            the_failure(tree, "unpacked_bytes", site.url("/a.xml"))
        assert site.hits["/a.xml"] == 2


def test_what_is_compressed_by_http_is_limited_too(serve):
    site = serve({})
    plain = site.fill(urlset(*PAGES))
    site.answers["/a.xml"] = Answer(gzip.compress(plain), headers={"Content-Encoding": "gzip"})
    assert crawl(site, "/a.xml", unpacked_bytes=len(plain)).is_complete
    tree = crawl(site, "/a.xml", unpacked_bytes=len(plain) - 1)
    the_failure(tree, "unpacked_bytes", site.url("/a.xml"))


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
    client = RequestsWebClient(max_concurrent_requests=1)
    for allowed in (2 * size, None):
        tree = sitemap_tree_for_sitemap(
            site.url("/i.xml"), client, limits=Limits(spool_bytes=allowed)
        )
        assert tree.page_count() == 1201
        assert tree.is_complete
    tree = sitemap_tree_for_sitemap(
        site.url("/i.xml"), client, limits=Limits(spool_bytes=2 * size - 1)
    )
    assert 601 < tree.page_count() < 1201
    failure = the_failure(tree, "spool_bytes", site.url("/c.xml"))
    assert failure.attempts == 1
    kept = paths(tree, site.base)
    assert kept[:601] == [*large, "/small"]
    assert kept[601:] == large[: len(kept) - 601]


def test_without_any_spool_small_documents_are_still_there(serve):
    site = serve({"/i.xml": index("/a.xml", "/b.xml"), "/a.xml": urlset("/1")})
    site.answers["/b.xml"] = urlset(*(f"/{number:04}/" + "x" * 1000 for number in range(600)))
    tree = crawl(site, "/i.xml", spool_bytes=0)
    assert paths(tree, site.base)[0] == "/1"
    the_failure(tree, "spool_bytes", site.url("/b.xml"))


# The tree -----------------------------------------------------------------------------------------


def chain(length: int) -> dict:
    site = {f"/{n}.xml": index(f"/{n + 1}.xml") for n in range(length)}
    return site | {f"/{length}.xml": urlset("/p")}


def test_depth_from_both_sides(serve):
    for callbacks in cases([False, True]):
        site = serve(chain(4))
        options = {"recurse_callback": lambda *_: True} if callbacks else {}
        for depth in (4, 5, None):
            tree = sitemap_tree_for_sitemap(
                site.url("/0.xml"), limits=Limits(depth=depth), **options
            )
            assert paths(tree, site.base) == ["/p"]
            assert tree.is_complete
        site.requests.clear()
        tree = sitemap_tree_for_sitemap(site.url("/0.xml"), limits=Limits(depth=3), **options)
        assert tree.page_count() == 0
        failure = the_failure(tree, "depth", site.url("/4.xml"))
        assert (failure.attempts, failure.status) == (0, None)
        assert site.hits["/4.xml"] == 0
        assert len(list(tree.all_sitemaps())) == 4


def test_without_a_limit_the_depth_is_that_of_the_site(serve):
    site = serve(chain(15))
    assert not crawl(site, "/0.xml").is_complete
    assert paths(crawl(site, "/0.xml", depth=None), site.base) == ["/p"]


def test_sitemaps_from_both_sides(serve):
    for callbacks in cases([False, True]):
        names = [f"/{n}.xml" for n in range(6)]
        site = serve({"/i.xml": index(*names)} | {name: urlset(f"/of{name}") for name in names})
        options = {"recurse_callback": lambda *_: True} if callbacks else {}
        for allowed in (7, 8, None):
            tree = sitemap_tree_for_sitemap(
                site.url("/i.xml"), limits=Limits(sitemaps=allowed), **options
            )
            assert tree.page_count() == 6
            assert tree.is_complete
        site.requests.clear()
        tree = sitemap_tree_for_sitemap(site.url("/i.xml"), limits=Limits(sitemaps=6), **options)
        assert paths(tree, site.base) == [f"/of{name}" for name in names[:5]]
        failure = the_failure(tree, "sitemaps", site.url("/i.xml"))
        assert failure.reason.startswith("1 ")
        assert site.hits["/5.xml"] == 0


# Pages --------------------------------------------------------------------------------------------

THREE = {
    "/robots.txt": robots("/i.xml"),
    "/i.xml": index("/a.xml", "/b.xml", "/c.xml"),
    "/a.xml": urlset("/a1", "/a2", "/a1"),
    "/b.xml": urlset("/b1", "/b2"),
    "/c.xml": urlset("/c1", "/c2"),
}
ALL = ["/a1", "/a2", "/b1", "/b2", "/c1", "/c2"]


class OneByOne(AbstractWebClient):
    """A user's own client, which is asked for one thing at a time."""

    def __init__(self, answers) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def set_max_response_data_length(self, max_response_data_length) -> None:
        pass

    def get(self, url):
        path = url.removeprefix("http://h")
        self.asked.append(path)
        answer = self.answers.get(path)
        if answer is None:
            return WebClientErrorResponse("404 Not Found", retryable=False)
        return LocalWebClientSuccessResponse(url, answer.replace("{base}", "http://h"))


def test_as_many_pages_as_are_allowed_are_a_complete_tree(serve):
    for allowed in cases([6, 7, None]):
        site = serve(THREE)
        tree = sitemap_tree_for_homepage(
            site.base + "/", use_known_paths=False, limits=Limits(pages=allowed)
        )
        assert paths(tree, site.base) == ALL
        assert tree.is_complete
        assert [problem for node in tree.all_sitemaps() for problem in node.problems] == []


def test_exactly_so_many_pages_are_kept_and_the_rest_is_named(serve):
    for allowed in cases(range(6)):
        site = serve(THREE)
        tree = sitemap_tree_for_homepage(
            site.base + "/", use_known_paths=False, limits=Limits(pages=allowed)
        )
        assert paths(tree, site.base) == ALL[:allowed]
        assert tree.page_count() == allowed
        assert not tree.is_complete
        failures = tree.failures()
        assert all(names_the_limit(failure.reason, "pages") for failure in failures)
        touched = ["/a.xml", "/b.xml", "/c.xml"][allowed // 2 :]
        assert [failure.url.removeprefix(site.base) for failure in failures] == touched
        assert sum(1 for node in tree.all_sitemaps() for _ in node.pages) == allowed


def test_nothing_is_asked_for_once_there_are_too_many_pages():
    for callbacks in cases([False, True]):
        options = {"recurse_callback": lambda *_: True} if callbacks else {}
        client = OneByOne(THREE)
        tree = sitemap_tree_for_homepage("http://h/", client, limits=Limits(pages=3), **options)
        assert client.asked == ["/robots.txt", "/i.xml", "/a.xml", "/b.xml"]
        assert tree.page_count() == 3


def test_a_known_path_that_is_in_the_tree_already_does_not_count_twice():
    """Two pages in robots.txt's subtree, one at another known path: three in all."""
    site = {"/robots.txt": robots("/sitemap.xml"), "/sitemap.xml": urlset("/1", "/2")}
    site |= {"/last.xml": urlset("/3")}
    tree = sitemap_tree_for_homepage(
        "http://h/", OneByOne(site), extra_known_paths=["last.xml"], limits=Limits(pages=3)
    )
    assert paths(tree, "http://h") == ["/1", "/2", "/3"]
    assert tree.is_complete


def test_a_document_that_stands_twice_counts_twice_as_its_pages_do():
    site = {"/robots.txt": robots("/i.xml", "/j.xml"), "/i.xml": index("/a.xml")}
    site |= {"/j.xml": index("/a.xml"), "/a.xml": urlset("/1", "/2")}
    for allowed in range(5):
        tree = sitemap_tree_for_homepage(
            "http://h/", OneByOne(site), use_known_paths=False, limits=Limits(pages=allowed)
        )
        assert paths(tree, "http://h") == ["/1", "/2", "/1", "/2"][:allowed]
        assert tree.is_complete == (allowed == 4)


def test_stray_pages_in_an_index_count():
    stray = "<url><loc>{base}/stray1</loc></url><url><loc>{base}/stray2</loc></url>"
    site = {"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml", stray, "/b.xml")}
    site |= {"/a.xml": urlset("/1"), "/b.xml": urlset("/2")}
    whole = ["/1", "/stray1", "/stray2", "/2"]
    for allowed in (4, None):
        tree = sitemap_tree_for_homepage(
            "http://h/", OneByOne(site), use_known_paths=False, limits=Limits(pages=allowed)
        )
        assert paths(tree, "http://h") == whole
    for allowed in range(4):
        tree = sitemap_tree_for_homepage(
            "http://h/", OneByOne(site), use_known_paths=False, limits=Limits(pages=allowed)
        )
        assert tree.page_count() == allowed
        assert not tree.is_complete


def test_counting_pages_does_not_hide_that_a_document_breaks_off(serve):
    for body in cases([urlset(*PAGES)[:-300], urlset(*PAGES)[:-1]]):
        site = serve({"/a.xml": body})
        for allowed in (1000, None):
            tree = crawl(site, "/a.xml", pages=allowed)
            assert not tree.is_complete
            assert "breaks off" in tree.failures()[0].reason


# Redirects ----------------------------------------------------------------------------------------


def test_redirects_from_both_sides(serve):
    site = serve({f"/{n}": Answer(redirect=f"{{base}}/{n + 1}") for n in range(5)})
    site.answers["/5"] = urlset("/p")
    for allowed in (5, 6, None):
        tree = crawl(site, "/0", redirects=allowed)
        assert paths(tree, site.base) == ["/p"], allowed
        assert tree.is_complete
    site.requests.clear()
    tree = crawl(site, "/0", redirects=4)
    assert tree.page_count() == 0
    failure = the_failure(tree, "redirects", site.url("/0"))
    assert failure.attempts == 1
    assert site.hits["/5"] == 0


def test_no_redirect_at_all_can_be_allowed(serve):
    site = serve({"/0": Answer(redirect="{base}/1"), "/1": urlset("/p")})
    assert crawl(site, "/1", redirects=0).is_complete
    the_failure(crawl(site, "/0", redirects=0), "redirects", site.url("/0"))
    assert site.hits["/1"] == 1


# Time ---------------------------------------------------------------------------------------------


class Clock:
    """A clock that moves when a piece of a body comes."""

    def __init__(self, monkeypatch) -> None:
        self.now = 1000.0
        for module in (fetch, receiver):
            monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: self.now))


class Slow(OneByOne):
    """Gives a body in pieces, each after so many seconds: ``timing`` says how."""

    def __init__(self, answers, clock: Clock, timing) -> None:
        super().__init__(answers)
        self._clock, self._timing = clock, timing

    def get(self, url):
        response = super().get(url)
        return _SlowResponse(url, response.raw_data().decode(), self._clock, self._timing)


class _SlowResponse(LocalWebClientSuccessResponse):
    def __init__(self, url: str, data: str, clock: Clock, timing) -> None:
        super().__init__(url, data)
        self._clock, self._timing = clock, timing

    def body(self):
        for seconds, piece in self._timing(self.raw_data()):
            self._clock.now += seconds
            yield piece


def evenly(size: int, seconds: float):
    """Give so many bytes, and so many again, with the same pause between."""
    return lambda data: ((seconds, data[at : at + size]) for at in range(0, len(data), size))


def slow_tree(monkeypatch, size: int, seconds: float, **limits):
    """Receive a document of a hundred pages, slowly; give its tree and client."""
    client = Slow({"/a.xml": urlset(*PAGES)}, Clock(monkeypatch), evenly(size, seconds))
    return sitemap_tree_for_sitemap("http://h/a.xml", client, limits=Limits(**limits)), client


def pieces(size: int) -> int:
    return -(-len(urlset(*PAGES).replace("{base}", "http://h")) // size)


def test_document_seconds_from_both_sides(monkeypatch):
    takes = pieces(500) * 2.0
    for allowed in (takes, takes + 1, None):
        tree, _ = slow_tree(monkeypatch, 500, 2.0, document_seconds=allowed)
        assert paths(tree, "http://h") == PAGES
        assert tree.is_complete
    for allowed in (takes - 1, takes / 2):
        tree, client = slow_tree(monkeypatch, 500, 2.0, document_seconds=allowed)
        kept = paths(tree, "http://h")
        assert kept
        assert kept == PAGES[: len(kept)]
        failure = the_failure(tree, "document_seconds", "http://h/a.xml")
        assert failure.attempts == len(client.asked) == 1


def test_lowest_rate_from_both_sides(monkeypatch):
    """A hundred bytes in a second, as a document of 35 seconds gives them."""
    assert pieces(50) * 0.5 > 30
    for allowed in (100, 99, 0, None):
        tree, _ = slow_tree(monkeypatch, 50, 0.5, lowest_rate=allowed)
        assert paths(tree, "http://h") == PAGES
        assert tree.is_complete
    tree, client = slow_tree(monkeypatch, 50, 0.5, lowest_rate=101)
    kept = paths(tree, "http://h")
    assert kept
    assert kept == PAGES[: len(kept)]
    failure = the_failure(tree, "lowest_rate", "http://h/a.xml")
    assert failure.attempts == len(client.asked) == 1


def test_a_slow_document_that_is_over_within_half_a_minute_is_whole(monkeypatch):
    tree, _ = slow_tree(monkeypatch, 200, 29.0 / pieces(200), lowest_rate=10**9)
    assert paths(tree, "http://h") == PAGES
    assert tree.is_complete


def test_a_transfer_that_slows_down_is_judged_by_its_last_half_minute(monkeypatch):
    """The first half comes at once; then nearly nothing."""

    def tired(data: bytes):
        half = len(data) // 2
        yield 0.0, data[:half]
        for at in range(half, len(data)):
            yield 10.0, data[at : at + 1]

    clock = Clock(monkeypatch)
    client = Slow({"/a.xml": urlset(*PAGES)}, clock, tired)
    tree = sitemap_tree_for_sitemap("http://h/a.xml", client, limits=Limits(lowest_rate=50))
    assert 40 < tree.page_count() < 60
    the_failure(tree, "lowest_rate", "http://h/a.xml")
    assert clock.now < 1000 + 100


def test_a_body_that_stalls_ends_with_the_seconds_of_its_document(serve, threads_end, times):
    """The own client does not wait for a piece that comes too late, nor ask again."""
    gate = threading.Event()
    site = serve({"/a.xml": Answer(urlset(*PAGES), stall=gate)})
    tree = crawl(site, "/a.xml", document_seconds=0.3 * times)
    gate.set()
    assert 40 < tree.page_count() < 60
    failure = the_failure(tree, "document_seconds", site.url("/a.xml"))
    assert failure.attempts == site.hits["/a.xml"] == 1
    assert threads_end()


def test_an_answer_that_does_not_begin_ends_with_the_seconds_of_its_document(
    serve, threads_end, times
):
    gate = threading.Event()
    site = serve({"/a.xml": Answer(urlset(*PAGES), gate=gate)})
    tree = crawl(site, "/a.xml", document_seconds=0.3 * times)
    gate.set()
    the_failure(tree, "document_seconds", site.url("/a.xml"))
    assert site.hits["/a.xml"] == 1
    assert threads_end()


@pytest.mark.parametrize("at_once", [1, 8])
def test_seconds_keep_what_came_and_name_the_rest(serve, threads_end, at_once, times):
    gate = threading.Event()
    names = [f"/{n}.xml" for n in range(30)]
    site = serve({"/i.xml": index("/a.xml", "/slow.xml", *names), "/a.xml": urlset("/a")})
    site.answers["/slow.xml"] = Answer(urlset("/slow"), gate=gate)
    site.answers |= {name: Answer(urlset("/of" + name), gate=gate) for name in names}
    client = RequestsWebClient(max_concurrent_requests=at_once)
    client.set_timeout(2.0 * times)  # for the one that is asked in this thread
    tree = sitemap_tree_for_sitemap(site.url("/i.xml"), client, limits=Limits(seconds=0.3 * times))
    gate.set()
    client.close()
    assert paths(tree, site.base) == ["/a"]
    assert not tree.is_complete
    failures = tree.failures()
    assert [failure.url for failure in failures] == [site.url(p) for p in ("/slow.xml", *names)]
    named = [failure for failure in failures if names_the_limit(failure.reason, "seconds")]
    assert len(named) >= len(failures) - 1
    assert threads_end()


def test_seconds_do_not_matter_to_a_crawl_that_is_quick_enough(serve):
    site = serve(THREE)
    for allowed in (60, 60.5, None):
        assert crawl(site, "/i.xml", seconds=allowed).is_complete


def test_no_seconds_at_all_fetch_nothing(serve):
    site = serve(THREE)
    tree = crawl(site, "/i.xml", seconds=0)
    the_failure(tree, "seconds", site.url("/i.xml"))
    assert not site.requests


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
