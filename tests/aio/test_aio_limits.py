"""Limits, failures and broken transfers on asyncio: the same as on threads."""

from __future__ import annotations

import asyncio
import gc
import gzip
import threading
import time
from dataclasses import dataclass

import pytest
from memory_web import AsyncClient, AsyncResponse, Client, Doc, Web

import usp.aio
import usp.tree
from cases import cases
from patience import within
from usp.limits import Limits
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse
from website import Answer, index, paths, robots, urlset

MANY = [f"/{number:04}" for number in range(400)]
SITE = {
    "/robots.txt": robots("/i.xml"),
    "/i.xml": index("/a.xml", "/b.xml", "/c.xml"),
    "/a.xml": urlset("/a1", "/a2"),
    "/b.xml": urlset("/b1", "/b2"),
    "/c.xml": urlset("/c1", "/c2"),
}
ALL = ["/a1", "/a2", "/b1", "/b2", "/c1", "/c2"]


def run(coroutine, seconds: float = 60.0):
    """Run to the end, but not for ever; nothing may be left in the loop."""

    async def bounded():
        async with asyncio.timeout(seconds):
            result = await coroutine
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return result

    return asyncio.run(bounded())


@pytest.fixture(autouse=True)
def _nothing_is_left():
    """Whatever was not closed or awaited warns when it is collected; here, not in another test."""
    yield
    gc.collect()


def tree_of(base: str, client=None, **options):
    options.setdefault("use_known_paths", False)
    return run(usp.aio.sitemap_tree_for_homepage(base + "/", client, **options))


def stream_of(base: str, client=None, **options) -> list[str]:
    options.setdefault("use_known_paths", False)

    async def read() -> list[str]:
        coming = usp.aio.pages(base + "/", client, **options)
        return [page.url.removeprefix(base) async for page in coming]

    return run(read())


def names_the_limit(tree, name: str) -> bool:
    return not tree.is_complete and all(
        f"the limit {name}=" in failure.reason for failure in tree.failures()
    )


# Limits -------------------------------------------------------------------------------------------


def test_exactly_so_many_pages_are_in_the_tree_and_in_the_stream():
    for allowed in cases([0, 1, 3, 5, 6, 7, None]):
        limits = Limits(pages=allowed)
        tree = tree_of("http://h", AsyncClient(Web(SITE)), limits=limits)
        assert paths(tree, "http://h") == ALL[:allowed]
        assert stream_of("http://h", AsyncClient(Web(SITE)), limits=limits) == ALL[:allowed]
        assert tree.is_complete == (allowed in (6, 7, None))
        assert tree.is_complete or names_the_limit(tree, "pages")


def test_a_limit_from_both_sides(serve):
    for below, above in cases(
        [
            ({"sitemaps": 5}, {"sitemaps": 4}),
            ({"depth": 2}, {"depth": 1}),
            ({"document_bytes": 10_000}, {"document_bytes": 150}),
            ({"unpacked_bytes": 10_000}, {"unpacked_bytes": 150}),
        ]
    ):
        site = serve(SITE)
        (name,) = below
        assert tree_of(site.base, limits=Limits(**below)).is_complete
        assert tree_of(site.base, limits=Limits(**{name: None})).is_complete
        tree = tree_of(site.base, limits=Limits(**above))
        assert names_the_limit(tree, name)
        assert tree == usp.tree.sitemap_tree_for_homepage(
            site.base + "/", use_known_paths=False, limits=Limits(**above)
        )


def test_an_endless_document_ends_at_its_limit(serve):
    filler = b"<url><loc>http://h/p</loc></url>" * 100
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": Answer("<urlset>", endless=filler)})
    tree = tree_of(site.base, limits=Limits(document_bytes=100_000))
    assert names_the_limit(tree, "document_bytes")
    assert tree.page_count() == 1
    assert site.hits["/a.xml"] == 1


def test_redirects_from_both_sides(serve):
    site = serve({f"/{n}.xml": Answer(redirect=f"{{base}}/{n + 1}.xml") for n in range(3)})
    site.answers |= {"/robots.txt": robots("/0.xml"), "/3.xml": urlset("/p")}
    for allowed in (3, None):
        assert paths(tree_of(site.base, limits=Limits(redirects=allowed)), site.base) == ["/p"]
    site.requests.clear()
    tree = tree_of(site.base, limits=Limits(redirects=2))
    assert names_the_limit(tree, "redirects")
    assert not site.hits["/3.xml"]


def test_the_seconds_of_a_crawl_keep_what_came_and_name_the_rest(serve, times):
    gate = threading.Event()
    site = serve(SITE | {"/b.xml": Answer(urlset("/b"), gate=gate)})
    tree = tree_of(site.base, limits=Limits(seconds=0.3 * times))
    gate.set()
    assert paths(tree, site.base) == ["/a1", "/a2", "/c1", "/c2"]
    assert names_the_limit(tree, "seconds")
    assert [failure.url for failure in tree.failures()] == [site.url("/b.xml")]


def test_a_stream_whose_time_is_over_gives_what_came_and_ends(serve, times):
    gate = threading.Event()
    site = serve(SITE | {"/b.xml": Answer(urlset(*MANY), stall=gate)})

    try:
        with within(60):  # a loop that turns in circles hears of no other timeout
            found = stream_of(site.base, limits=Limits(seconds=0.3 * times))
    finally:
        gate.set()
    assert found[:2] == ["/a1", "/a2"]
    assert found[2:] == [*MANY[: len(found) - 4], "/c1", "/c2"]
    assert len(found) > 102


def test_the_seconds_of_a_document_end_a_body_that_stalls(serve, times):
    gate = threading.Event()
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": Answer(urlset(*MANY), stall=gate)})
    tree = tree_of(site.base, limits=Limits(document_seconds=0.3 * times))
    gate.set()
    assert 100 < tree.page_count() < 400
    assert names_the_limit(tree, "document_seconds")
    assert site.hits["/a.xml"] == 1


# Failures -----------------------------------------------------------------------------------------


def test_failures_are_those_of_the_threads(serve):
    for status in cases([403, 404, 500, 503]):
        site = serve(SITE | {"/b.xml": Answer(status=status), "/sitemap.xml": Answer(status=500)})
        site.answers["/c.xml"] = gzip.compress(site.fill(urlset("/c")))[:-9]
        here = tree_of(site.base, use_known_paths=True)
        there = usp.tree.sitemap_tree_for_homepage(site.base + "/")
        assert here == there

        def listed(tree):
            return [(f.url, f.attempts, f.status) for f in tree.failures()]

        assert listed(here) == listed(there)
        assert len(listed(here)) == 3


def test_a_complete_site_says_so(serve):
    site = serve(SITE)
    tree = tree_of(site.base, use_known_paths=True)
    assert tree.is_complete
    assert tree.failures() == []


def test_a_dead_host_is_no_complete_site(serve):
    site = serve({})
    site.close()
    assert not tree_of(site.base).is_complete


# Broken transfers ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flaky(Doc):
    """Breaks off after so many pieces: one number for each try, the last one for ever."""

    breaks: tuple[int | None, ...] = (None,)


class FlakyResponse(AsyncResponse):
    def __init__(self, web, doc, url, before, turn: int) -> None:
        super().__init__(web, doc, url, before)
        places = getattr(doc, "breaks", (None,))
        self._break = places[min(turn, len(places) - 1)]

    async def body(self):
        number = 0
        async for piece in super().body():
            if number == self._break:
                raise BrokenBody("the line went dead")
            yield piece
            number += 1


class FlakyClient(AsyncClient):
    async def get(self, url: str):
        turn = self.web.asked.count(url.removeprefix(self.web.base))
        answer = self.web.answer(url)
        if isinstance(answer, WebClientErrorResponse):
            return answer
        return FlakyResponse(self.web, *answer, self.before, turn)


async def slowly(url: str, number: int) -> None:
    """Let the reader of the stream see what has come so far."""
    await asyncio.sleep(0)


def test_a_broken_transfer_is_asked_for_again_and_its_pages_come_once():
    for breaks, whole in cases(
        [((50, None), True), ((50, 20, None), True), ((50, 20, 70), False), ((70, 50, 20), False)]
    ):
        doc = Flaky(urlset(*MANY), pieces=100, breaks=breaks)
        site = {"/robots.txt": robots("/a.xml", "/b.xml"), "/a.xml": doc, "/b.xml": urlset("/last")}
        web = Web(site)
        found = stream_of("http://h", FlakyClient(web, slowly))
        assert web.asked.count("/a.xml") == len(breaks)
        assert found[-1] == "/last"
        assert found[:-1] == MANY[: len(found) - 1]
        assert (found[:-1] == MANY) == whole
        tree = tree_of("http://h", FlakyClient(Web(site), slowly))
        assert paths(tree, "http://h") == found
        assert tree.is_complete == whole


def test_the_own_client_asks_again_for_what_broke_off(serve):
    for cuts in cases([(0.5, 1.0), (0.7, 0.3, 0.5), (0.2, 0.4, 0.6)]):
        site = serve({"/robots.txt": robots("/a.xml", "/b.xml"), "/b.xml": urlset("/last")})
        body = site.fill(urlset(*MANY))
        site.answers["/a.xml"] = [
            body if part == 1.0 else Answer(body, cut=int(len(body) * part)) for part in cuts
        ]
        tree = tree_of(site.base)
        assert site.hits["/a.xml"] == len(cuts)
        assert tree.is_complete == (cuts[-1] == 1.0)
        assert tree.page_count() == pytest.approx(401 * max(cuts), abs=10)
        site.requests.clear()
        assert stream_of(site.base) == paths(tree, site.base)


def test_a_synchronous_client_is_bounded_too():
    web = Web(SITE)
    tree = tree_of("http://h", Client(web, 1), limits=Limits(pages=3))
    assert paths(tree, "http://h") == ALL[:3]
    assert names_the_limit(tree, "pages")


def test_a_pause_that_robots_txt_asks_for_is_kept(serve):
    site = serve(SITE | {"/robots.txt": robots("/i.xml") + "Crawl-delay: 0.02\n"})
    started = time.monotonic()
    tree = tree_of(site.base, crawl_delay=True)
    assert time.monotonic() - started > 3 * 0.02
    assert site.most_at_once["base"] == 1
    assert paths(tree, site.base) == ALL
