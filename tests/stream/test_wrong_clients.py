"""Clients that are not as they should be cost the document they were asked for, and no other."""

import asyncio
import contextlib
import time

import pytest

import usp.aio
from cases import cases
from fronts import FRONTS, ONE_BY_ONE, THREADS, every_front
from memory_web import AsyncClient, Client, Doc, H, Web
from usp._crawl.schedule import RetryPolicy
from usp.web_client.abstract_client import (
    LocalWebClient,
    LocalWebClientSuccessResponse,
    WebClientErrorResponse,
)
from website import paths, robots, urlset

PAGES = urlset(*(f"/bad/{n}" for n in range(100)))
WRONG = {
    "gives nothing": {"instead": (None,)},
    "gives text": {"instead": ("<urlset/>",)},
    "gives what threads need": {"instead": (LocalWebClientSuccessResponse(H, ""),)},
    "get raises": {"raises": "get"},
    "header raises": {"raises": "header"},
    "url raises": {"raises": "url"},
    "status raises": {"raises": "status_code"},
    "body raises at once": {"raises": "body"},
    "body raises later": {"raises": "body", "after": 2},
    "close raises": {"raises": "close"},
}


def web_with(**wrong) -> Web:
    """Give a website of which one document makes the client do something wrong."""
    docs = {"/a.xml": urlset("/a"), "/c.xml": urlset("/c")}
    bad = Doc(PAGES, pieces=5, **wrong)
    return Web({"/robots.txt": robots("/a.xml", "/bad.xml", "/c.xml"), "/bad.xml": bad} | docs)


@every_front
@pytest.mark.parametrize("name", WRONG)
def test_a_client_that_goes_wrong_costs_no_other_document(front, name, threads_end):
    for crawl in (front.tree, front.pages):
        found = crawl(H + "/", front.client(web_with(**WRONG[name])))
        urls = [page.url for page in (found if crawl == front.pages else found.all_pages())]
        assert [url for url in urls if "bad" not in url] == [H + "/a", H + "/c"]
        if crawl == front.tree and name == "get raises":
            (invalid,) = [node for node in found.all_sitemaps() if hasattr(node, "reason")]
            assert invalid.url == H + "/bad.xml"
            assert "in the client" in invalid.reason
    assert threads_end()


def test_a_thread_that_is_ended_from_inside_does_not_hold_up_the_crawl(threads_end):
    for where, after in cases([("get", 0), ("body", 0), ("body", 1), ("body", 2)]):
        for crawl in (THREADS.tree, THREADS.pages):
            found = crawl(H + "/", Client(web_with(raises=where, error=SystemExit, after=after), 4))
            pages = found if crawl == THREADS.pages else list(found.all_pages())
            assert pages[-1].url == H + "/c"
    assert threads_end()


def test_a_client_that_cancels_itself_does_not_stop_the_crawl_for_ever():
    """It costs a document, or it comes out: but nobody waits for what will not come."""

    async def read(where):
        web = web_with(raises=where, error=asyncio.CancelledError, after=2)
        tree = usp.aio.sitemap_tree_for_homepage(H + "/", AsyncClient(web))
        task = asyncio.create_task(tree)
        done, _ = await asyncio.wait({task}, timeout=60)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        return done

    for where in cases(["get", "body"]):
        assert asyncio.run(read(where))


@every_front
@pytest.mark.parametrize("after", [0, 2])
@pytest.mark.parametrize("declared", [True, False])
def test_what_came_before_a_clients_mistake_is_kept_in_tree_and_stream(front, after, declared):
    """A stream cannot take back what it gave: so a mistake is treated as a transfer that broke off.

    However many are fetched at a time. If nothing came, and it is no child of another sitemap that
    could name it, the caller gets to know the exception.
    """

    def crawl(how):
        doc = Doc(PAGES, pieces=5, raises="body", after=after)
        site = {"/sitemap.xml": doc} | ({"/robots.txt": robots("/sitemap.xml")} if declared else {})
        return how(H + "/", front.client(Web(site)), use_known_paths=True)

    if not after and not declared:
        for how in (front.tree, front.pages):
            with pytest.raises(ValueError, match="in the client"):
                crawl(how)
        return
    tree = crawl(front.tree)
    assert crawl(front.pages) == list(tree.all_pages())
    assert bool(tree.page_count()) == bool(after)
    assert "ValueError: in the client" in tree.failures()[0].reason
    assert tree.sub_sitemaps


def test_a_client_without_a_network_gives_no_pages():
    assert ONE_BY_ONE.pages(H + "/", LocalWebClient(), use_known_paths=True) == []


@every_front
def test_a_pause_before_a_retry_is_waited_for(monkeypatch, front):
    monkeypatch.setattr("usp._crawl.schedule.DECLARED", RetryPolicy(first_delay=0.1))
    web = Web({"/robots.txt": Doc(robots("/a.xml")), "/a.xml": Doc(urlset("/p"), stumbles=2)})
    started = time.monotonic()
    assert [page.url for page in front.pages(H + "/", front.client(web))] == [H + "/p"]
    assert time.monotonic() - started > 0.1
    assert web.asked.count("/a.xml") == 3


@every_front
def test_a_host_that_is_silent_is_given_up(front):
    """Its pages are missed; those of other hosts are not."""
    failure = WebClientErrorResponse("no answer in time", retryable=False, silent=True)
    deaf = {f"http://deaf/{n}.xml": Doc(instead=(failure,)) for n in range(30)}
    web = Web({"/robots.txt": robots(*deaf, "/a.xml"), "/a.xml": urlset("/a")} | deaf)
    urls = [page.url for page in front.pages(H + "/", front.client(web))]
    assert sum(url.startswith("http://deaf") for url in web.asked) <= 2 + 2 * front.at_once
    assert urls == [H + "/a"]


def test_a_user_s_client_is_told_the_limit_and_not_closed():
    for front in cases(FRONTS):
        web = Web({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
        client, closed = front.client(web), []
        client.close = lambda closed=closed: closed.append(1)
        assert len(front.pages(H + "/", client)) == 1
        assert web.limit == 100 * 1024 * 1024 + 1
        assert paths(front.tree(H + "/", client), H) == ["/1"]
        assert not closed
