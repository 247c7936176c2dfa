"""When the consumer stops, so does everything else: requests, threads, files."""

import asyncio
import gc
import itertools
import signal
import threading
import time

import pytest

from fronts import ASYNCIO, FD, THREADS, every_stream, happens, rest, run, spools
from memory_web import Client, Doc, Web
from patience import soon, within
from usp import aio
from usp._crawl.schedule import RetryPolicy
from usp.options import CrawlOptions
from usp.stream import PageBlocks, pages
from usp.tree import website_search
from usp.web_client.abstract_client import LocalWebClient, WebClientErrorResponse
from website import ONE_PAGE, Answer, indexed, robots, urlset

NAMES = [f"/{n}.xml" for n in range(40)]
LARGE = [f"/p{n}/" + "x" * 700 for n in range(1000)]  # goes to a temporary file


@pytest.fixture
def gate(gate, monkeypatch):
    """Nobody waits long for threads that wait for what the server holds back."""
    monkeypatch.setattr("usp._crawl.thread_driver.PATIENCE", 0.1)
    return gate


@pytest.fixture
def long_site(serve, gate):
    """Forty sitemaps: the first can be read, the others are held back."""
    held = {name: Answer(urlset(f"/of{name}"), gate=gate) for name in NAMES}
    return serve(indexed(*NAMES) | held | {"/0.xml": urlset(*LARGE)})


@pytest.mark.parametrize(
    ("front", "how"),
    [*itertools.product([THREADS, ASYNCIO], ["close", "throw", "forget"]), (ASYNCIO, "cancel")],
)
def test_nothing_is_asked_for_after_the_consumer_has_stopped(
    long_site, gate, threads_end, front, how, times
):
    """Ten pages cost robots.txt, the index, the first sitemap, and what was under way beside it."""
    before = spools()

    async def read():
        coming = front.coming(long_site.base + "/")
        got = [(await coming.one()).url for _ in range(10)]
        assert got == list(map(long_site.url, LARGE[:10]))
        await happens(lambda: not FD.exists() or len(spools()) == len(before) + 1)
        if how == "close":
            await coming.stop("close")
            assert await coming.rest() == []
        elif how == "throw":
            with pytest.raises(LookupError):
                await coming.stop("throw", LookupError)
        elif how == "cancel":
            task = asyncio.create_task(coming.rest())
            await asyncio.sleep(0.05 * times)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        del coming
        gc.collect()
        await asyncio.sleep(0.05 * times)  # what was sent before may still be on its way
        asked = long_site.hits.total()
        assert asked <= 2 + 1 + 8
        gate.set()
        assert threads_end()
        await asyncio.sleep(0.1 * times)
        assert long_site.hits.total() == asked

    run(read())
    assert spools() == before
    assert max(long_site.hits.values()) == 1


@pytest.mark.usefixtures("real_pauses")
def test_retries_that_are_due_are_not_made_any_more(serve, threads_end):
    site = serve({"/robots.txt": robots("/a.xml", "/b.xml"), "/b.xml": Answer("", 503)})
    site.answers["/a.xml"] = urlset(*(f"/{n}" for n in range(100)))
    stream = pages(site.base + "/", use_known_paths=False)
    next(stream)
    assert soon(lambda: site.hits["/b.xml"] == 1)
    stream.close()
    time.sleep(0.7)  # more than the first pause
    assert site.hits["/b.xml"] == 1
    assert threads_end()


def test_an_endless_sitemap_ends_with_the_stream(serve, threads_end):
    filler = b"<url><loc>http://h/p</loc></url>" * 1000
    head = "<urlset><url><loc>http://h/1</loc></url>"
    site = serve({"/robots.txt": robots("/x"), "/x": Answer(head, endless=filler)})
    with within(60):
        stream = pages(site.base + "/", use_known_paths=False)
        assert next(stream).url == "http://h/1"
        stream.close()
        assert threads_end()


@every_stream
def test_nothing_is_asked_for_before_the_first_page_is(serve, front, threads_end):
    site = serve(ONE_PAGE)

    async def close():
        coming = front.coming(site.base + "/", use_known_paths=True)
        await coming.stop("close")
        assert await coming.rest() == []

    run(close())
    assert not site.requests
    assert threads_end(0.0)


# Exceptions ---------------------------------------------------------------------------------------


def test_an_exception_of_a_late_event_comes_out_between_pages(threads_end):
    web = Web({"/robots.txt": robots("/a.xml", "/b.xml")})
    web.docs |= {"/a.xml": Doc(urlset("/1", "/2")), "/b.xml": Doc(urlset("/3"), stumbles=0)}

    def listen(event):
        if type(event).__name__ == "SitemapStarted" and event.url.endswith("/b.xml"):
            raise LookupError

    stream = pages("http://h/", Client(web, 1), use_known_paths=False, on_event=listen)
    assert [next(stream).url for _ in range(2)] == ["http://h/1", "http://h/2"]
    with pytest.raises(LookupError):
        next(stream)
    assert list(stream) == []
    assert threads_end()


@pytest.fixture(params=["an answer", "the rest of a body", "a retry"])
def waiting(request, serve, gate):
    """A site whose only sitemap makes a crawl wait."""
    answer = {
        "an answer": Answer(urlset("/p"), gate=gate),
        "the rest of a body": Answer(urlset("/p"), stall=gate),
        "a retry": Answer("", 503, headers={"Retry-After": "9"}),
    }[request.param]
    return serve({"/robots.txt": robots("/a.xml"), "/a.xml": answer})


def test_ctrl_c_ends_a_stream_that_waits(waiting, gate, threads_end):
    main = threading.main_thread().ident

    def interrupt():
        assert soon(lambda: waiting.hits["/a.xml"])
        time.sleep(0.1)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    stream = pages(waiting.base + "/", use_known_paths=False)
    with within(60):
        with pytest.raises(KeyboardInterrupt):
            next(stream)
        gate.set()
        assert threads_end()
    assert list(stream) == []


@pytest.mark.parametrize("call", ["tree", "pages", "sitemap"])
def test_cancelling_the_task_cancels_what_is_under_way(waiting, call):
    async def cancel():
        work = {
            "tree": lambda: aio.sitemap_tree_for_homepage(waiting.base + "/"),
            "pages": lambda: rest(aio.pages(waiting.base + "/")),
            "sitemap": lambda: aio.sitemap_tree_for_sitemap(waiting.url("/robots.txt")),
        }[call]
        task = asyncio.create_task(work())
        await happens(lambda: waiting.hits["/a.xml"])
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    run(cancel())
    assert waiting.hits["/a.xml"] == 1


@pytest.mark.usefixtures("real_pauses")
def test_closing_does_not_wait_for_responses_that_do_not_come(long_site, monkeypatch):
    monkeypatch.setattr("usp._crawl.thread_driver.PATIENCE", 20)
    coming = pages(long_site.base + "/")
    assert sum(1 for _ in zip(range(10), coming, strict=False)) == 10
    coming.close()
    assert not [one for one in threading.enumerate() if one.name == "usp-fetch"]


def test_stop_does_not_wait_for_the_pause_before_a_retry(monkeypatch):
    """The client allows one request at a time, so that the stream itself waits."""
    monkeypatch.setattr("usp._crawl.schedule.DECLARED", RetryPolicy(first_delay=60.0, growth=1.0))
    asked = threading.Event()

    class Busy(LocalWebClient):
        def get(self, url):
            asked.set()
            return WebClientErrorResponse("503 Service Unavailable", retryable=True)

    options = CrawlOptions(use_known_paths=False)
    blocks = PageBlocks(website_search("http://h/", options), Busy())
    reader = threading.Thread(target=lambda: list(blocks), daemon=True)
    reader.start()
    assert asked.wait(20)
    blocks.stop()
    reader.join(20)
    assert not reader.is_alive()


# Several streams ------------------------------------------------------------------------------------


def test_two_streams_of_one_client_do_not_disturb_each_other(threads_end):
    web = Web({"/robots.txt": robots(*NAMES)} | {name: urlset(f"/of{name}") for name in NAMES})
    client = Client(web)
    expected = [f"http://h/of{name}" for name in NAMES]
    one, two = (pages("http://h/", client, use_known_paths=False) for _ in range(2))
    pairs = [(a.url, b.url) for a, b in zip(one, two, strict=True)]
    assert pairs == [(url, url) for url in expected]
    assert threads_end()


def test_a_stream_may_be_read_in_any_thread(serve, threads_end):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1", "/2")})
    stream = pages(site.base + "/", use_known_paths=False)
    urls = [next(stream).url]
    thread = threading.Thread(target=lambda: urls.extend(page.url for page in stream))
    thread.start()
    thread.join(60)
    assert urls == [site.url("/1"), site.url("/2")]
    assert threads_end()
