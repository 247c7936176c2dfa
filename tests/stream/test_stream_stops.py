"""When the consumer stops, so does everything else: requests, threads, files."""

from __future__ import annotations

import gc
import itertools
import signal
import threading
import time
from pathlib import Path

import pytest
from memory_web import Client, Doc, Response, Web

from cases import cases
from patience import soon, within
from usp._crawl.schedule import RetryPolicy
from usp.exceptions import SitemapException
from usp.options import CrawlOptions
from usp.stream import PageBlocks, pages
from usp.tree import sitemap_tree_for_homepage, website_search
from usp.web_client.abstract_client import (
    AbstractWebClient,
    LocalWebClient,
    LocalWebClientSuccessResponse,
    WebClientErrorResponse,
)
from website import Answer, index, robots, urlset

FD = Path("/proc/self/fd")
NAMES = [f"/{n}.xml" for n in range(40)]


@pytest.fixture
def gate(monkeypatch):
    """What the server holds back; nobody waits long for threads that wait for it."""
    monkeypatch.setattr("usp._crawl.thread_driver.PATIENCE", 0.1)
    gate = threading.Event()
    yield gate
    gate.set()


@pytest.fixture
def long_site(serve, gate):
    """Forty sitemaps: the first can be read, the others are held back."""
    first = {"/0.xml": urlset(*(f"/p{n}" for n in range(1000)))}
    held = {name: Answer(urlset(f"/of{name}"), gate=gate) for name in NAMES}
    return serve({"/robots.txt": robots("/i.xml"), "/i.xml": index(*NAMES)} | held | first)


def take(stream, count):
    return [next(stream) for _ in range(count)]


@pytest.mark.parametrize("how", ["close", "forget", "throw"])
def test_nothing_is_asked_for_after_the_consumer_has_stopped(
    long_site, gate, threads_end, how, times
):
    """Ten pages cost robots.txt, the index, the first sitemap, and what was under way beside it."""
    with within(60):
        stream = pages(long_site.base + "/", use_known_paths=False)
        assert [page.url for page in take(stream, 10)] == [
            long_site.url(f"/p{n}") for n in range(10)
        ]
        if how == "close":
            stream.close()
        elif how == "throw":
            with pytest.raises(LookupError):
                stream.throw(LookupError)
        else:
            del stream
        gc.collect()
        time.sleep(0.05 * times)  # what was sent before may still be on its way
        asked = long_site.hits.total()
        assert asked <= 2 + 1 + 8
        gate.set()
        assert threads_end()
        time.sleep(0.05 * times)
        assert long_site.hits.total() == asked
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


def test_a_stream_that_is_read_to_its_end_leaves_no_threads(serve, threads_end):
    site = serve({"/robots.txt": robots(*NAMES)} | {name: urlset("/p") for name in NAMES})
    assert sum(1 for _ in pages(site.base + "/")) == len(NAMES)
    assert threads_end(1.0)


def test_nothing_is_asked_for_before_the_first_page_is(serve, threads_end):
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/p")})
    stream = pages(site.base + "/")
    stream.close()
    assert list(stream) == []
    assert not site.requests
    assert threads_end(0.0)


@pytest.mark.skipif(not FD.exists(), reason="counts open files by /proc")
@pytest.mark.parametrize("to_the_end", [False, True])
def test_no_file_is_left(serve, threads_end, to_the_end):
    large = [f"/{n}/" + "x" * 700 for n in range(600)]
    body = urlset(*large)
    site = serve({"/robots.txt": robots("/a.xml", "/b.xml"), "/a.xml": body, "/b.xml": body})

    def spools() -> int:
        return sum("deleted" in str(_target(file)) for file in FD.iterdir())

    gc.collect()
    before = spools()
    stream = pages(site.base + "/", use_known_paths=False)
    kept = [next(stream)]
    assert soon(lambda: spools() == before + 1)
    kept += list(stream) if to_the_end else []
    stream.close()
    del stream
    assert threads_end()
    gc.collect()
    assert spools() == before
    assert kept[0].url == site.url(large[0])  # a page outlives its stream


def _target(file: Path) -> str:
    try:
        return str(file.readlink())
    except OSError:
        return ""


# Exceptions ---------------------------------------------------------------------------------------


def test_a_bad_url_is_said_at_once():
    """Not when the first page is asked for."""
    for url in cases(["ftp://h/", "h", "", "http://", "/sitemap.xml", "mailto:a@h"]):
        with pytest.raises(SitemapException, match="HTTP"):
            pages(url)


class BossError(Exception):
    pass


def boss(*_):
    raise BossError


@pytest.mark.parametrize(
    "callback",
    ["recurse_callback", "recurse_list_callback", "recurse_entry_callback", "on_event"],
)
@pytest.mark.parametrize("at_once", [1, 4])
def test_an_exception_in_a_callback_comes_out_and_ends_the_stream(callback, at_once, threads_end):
    web = Web({"/robots.txt": robots("/i.xml"), "/i.xml": index("/a.xml"), "/a.xml": urlset("/p")})
    stream = pages("http://h/", Client(web, at_once), **{callback: boss})
    with within(60):
        with pytest.raises(BossError):
            list(stream)
        assert list(stream) == []
    assert threads_end()
    assert not +web.open


def test_an_exception_of_a_late_event_comes_out_between_pages(threads_end):
    web = Web({"/robots.txt": robots("/a.xml", "/b.xml")})
    web.docs |= {"/a.xml": Doc(urlset("/1", "/2")), "/b.xml": Doc(urlset("/3"), stumbles=0)}

    def listen(event):
        if type(event).__name__ == "SitemapStarted" and event.url.endswith("/b.xml"):
            raise BossError

    stream = pages("http://h/", Client(web, 1), use_known_paths=False, on_event=listen)
    assert [page.url for page in take(stream, 2)] == ["http://h/1", "http://h/2"]
    with pytest.raises(BossError):
        next(stream)
    assert threads_end()


def test_an_interrupt_in_a_client_that_works_in_the_callers_thread_comes_out():
    def before(url, piece):
        raise KeyboardInterrupt

    web = Web({"/robots.txt": robots("/a.xml")})
    with pytest.raises(KeyboardInterrupt):
        list(pages("http://h/", Client(web, 1, before)))
    assert not +web.open


@pytest.mark.parametrize("wait_for", ["an answer", "the rest of a body", "a retry"])
def test_ctrl_c_ends_a_stream_that_waits(serve, gate, threads_end, wait_for):
    answer = {
        "an answer": Answer(urlset("/p"), gate=gate),
        "the rest of a body": Answer(urlset("/p"), stall=gate),
        "a retry": Answer("", 503, headers={"Retry-After": "9"}),
    }[wait_for]
    site = serve({"/robots.txt": robots("/a.xml"), "/a.xml": answer})
    main = threading.main_thread().ident

    def interrupt():
        assert soon(lambda: site.hits["/a.xml"])
        time.sleep(0.1)
        signal.pthread_kill(main, signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    stream = pages(site.base + "/", use_known_paths=False)
    with within(60):
        with pytest.raises(KeyboardInterrupt):
            next(stream)
        gate.set()
        assert threads_end()
    assert list(stream) == []


# Clients that are not as they should be -------------------------------------------------------------


class Odd(Client):
    """A client that does something wrong with one document."""

    def __init__(self, web, at_once, wrong, path="/bad.xml") -> None:
        super().__init__(web, at_once)
        self.wrong, self.path = wrong, path

    def get(self, url):
        response = super().get(url)
        return self.wrong(response) if url.endswith(self.path) else response


def raise_in(method, error=ValueError, pieces=0):
    """Give an answer whose class has a method that raises; ``body`` after some pieces."""

    def fail(*_):
        raise error("in the client")

    def body(self):
        yield from itertools.islice(Response.body(self), pieces)
        raise error("in the client")

    bad = type("Bad", (Response,), {method: body if method == "body" else fail})

    def wrong(response):
        response.__class__ = bad
        return response

    return wrong


def fail(_):
    raise ValueError("in the client")


WRONG = {
    "gives nothing": lambda response: None,
    "raises": fail,
    "gives text": lambda response: "<urlset/>",
    "header raises": raise_in("header"),
    "url raises": raise_in("url"),
    "status raises": raise_in("status_code"),
    "body raises at once": raise_in("body"),
    "body raises later": raise_in("body", pieces=2),
    "close raises": raise_in("close"),
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("at_once", [1, 4])
def test_a_client_that_goes_wrong_costs_no_other_document(name, at_once, threads_end):
    web = Web({"/robots.txt": robots("/a.xml", "/bad.xml", "/c.xml")})
    web.docs |= {"/a.xml": Doc(urlset("/a")), "/c.xml": Doc(urlset("/c"))}
    web.docs["/bad.xml"] = Doc(urlset(*(f"/bad/{n}" for n in range(100))), pieces=5)
    with within(60):
        stream = pages("http://h/", Odd(web, at_once, WRONG[name]), use_known_paths=False)
        urls = [page.url for page in stream]
    assert [url for url in urls if "bad" not in url] == ["http://h/a", "http://h/c"]
    assert threads_end()


@pytest.mark.parametrize("pieces", [0, 1, 2])
def test_a_thread_that_is_ended_from_inside_a_body_does_not_hold_up_the_stream(pieces, threads_end):
    web = Web({"/robots.txt": robots("/bad.xml", "/c.xml"), "/c.xml": urlset("/c")})
    web.docs["/bad.xml"] = Doc(urlset(*(f"/bad/{n}" for n in range(100))), pieces=5)
    client = Odd(web, 4, raise_in("body", SystemExit, pieces))
    with within(60):
        urls = [page.url for page in pages("http://h/", client, use_known_paths=False)]
    assert urls[-1] == "http://h/c"
    assert threads_end()


@pytest.mark.parametrize("at_once", [1, 4])
@pytest.mark.parametrize("pieces", [0, 2])
@pytest.mark.parametrize("declared", [True, False])
def test_what_came_before_a_clients_mistake_is_kept_in_tree_and_stream(at_once, pieces, declared):
    """A stream cannot take back what it gave: so a mistake is treated as a transfer that broke off.

    However many are fetched at a time. If nothing came, and it is no child of another sitemap that
    could name it, the caller gets to know the exception.
    """

    def client():
        web = Web({"/sitemap.xml": Doc(urlset(*(f"/{n}" for n in range(100))), pieces=5)})
        if declared:
            web.docs["/robots.txt"] = Doc(robots("/sitemap.xml"))
        return Odd(web, at_once, raise_in("body", pieces=pieces), "/sitemap.xml")

    if not pieces and not declared:
        with within(60), pytest.raises(ValueError, match="in the client"):
            sitemap_tree_for_homepage("http://h/", client())
        with within(60), pytest.raises(ValueError, match="in the client"):
            list(pages("http://h/", client()))
        return
    tree = sitemap_tree_for_homepage("http://h/", client())
    with within(60):
        assert list(pages("http://h/", client())) == list(tree.all_pages())
    assert bool(tree.page_count()) == bool(pieces)
    assert tree.sub_sitemaps


class Simplest(AbstractWebClient):
    """The least that a client can be: as long as there have been clients of users' own."""

    def __init__(self, web) -> None:
        self.web = web

    def set_max_response_data_length(self, max_response_data_length) -> None:
        pass

    def get(self, url):
        doc = self.web.docs.get(url.removeprefix("http://h"))
        if doc is None:
            return WebClientErrorResponse("404 Not Found", retryable=False)
        return LocalWebClientSuccessResponse(url, doc.body.replace("{base}", "http://h"))


def test_the_simplest_client_plugs_in():
    web = Web(
        {"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/a"), "/sitemap.xml": urlset("/s")}
    )
    assert [page.url for page in pages("http://h/", Simplest(web))] == ["http://h/a", "http://h/s"]


def test_a_client_without_a_network_gives_no_pages():
    assert list(pages("http://h/", LocalWebClient())) == []


@pytest.mark.usefixtures("real_pauses")
def test_stop_does_not_wait_for_the_pause_before_a_retry(monkeypatch):
    """The client allows one request at a time, so that the stream itself waits."""
    monkeypatch.setattr("usp._crawl.schedule.DECLARED", RetryPolicy(first_delay=60.0, growth=1.0))
    asked = threading.Event()

    class Busy(LocalWebClient):
        def get(self, url):
            asked.set()
            return WebClientErrorResponse("503 Service Unavailable", retryable=True)

    options = CrawlOptions(use_known_paths=False)
    blocks = PageBlocks(website_search("http://h/", options), "http://h/", Busy(), options)
    reader = threading.Thread(target=lambda: list(blocks), daemon=True)
    reader.start()
    assert asked.wait(20)
    blocks.stop()
    reader.join(20)
    assert not reader.is_alive()


@pytest.mark.parametrize("at_once", [1, 4])
def test_a_pause_before_a_retry_is_waited_for(monkeypatch, at_once):
    monkeypatch.setattr("usp._crawl.schedule.DECLARED", RetryPolicy(first_delay=0.1))
    web = Web({"/robots.txt": Doc(robots("/a.xml")), "/a.xml": Doc(urlset("/p"), stumbles=2)})
    started = time.monotonic()
    stream = pages("http://h/", Client(web, at_once), use_known_paths=False)
    assert [page.url for page in stream] == ["http://h/p"]
    assert time.monotonic() - started > 0.1
    assert web.asked.count("/a.xml") == 3


def test_a_host_that_is_silent_is_given_up():
    """Its pages are missed; those of other hosts are not."""
    for at_once in cases([1, 4]):

        class Deaf(Client):
            def get(self, url):
                if not url.startswith("http://deaf"):
                    return super().get(url)
                self.web.asked.append(url)
                failure = WebClientErrorResponse("no answer in time", retryable=False)
                failure.silent = True
                return failure

        deaf = [f"http://deaf/{n}.xml" for n in range(30)]
        web = Web({"/robots.txt": robots(*deaf, "/a.xml"), "/a.xml": urlset("/a")})
        urls = [page.url for page in pages("http://h/", Deaf(web, at_once), use_known_paths=False)]
        assert sum(url.startswith("http://deaf") for url in web.asked) <= 2 + 2 * at_once
        assert urls == ["http://h/a"]


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


def test_a_user_s_client_is_told_the_limit_and_not_closed():
    web = Web({"/robots.txt": robots("/a.xml"), "/a.xml": urlset("/1")})
    client = Client(web)
    assert len(list(pages("http://h/", client))) == 1
    assert web.limit == 100 * 1024 * 1024 + 1
    assert len(list(pages("http://h/", client))) == 1
