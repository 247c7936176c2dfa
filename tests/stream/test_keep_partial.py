"""With ``keep_partial`` an interrupt, or a cancelled task, ends a crawl with what was found so far."""

import asyncio
import threading
from collections.abc import Callable
from functools import partial

import pytest

import usp
import usp.aio
from cases import cases
from fronts import rest
from memory_web import AsyncClient, Client, H, Web
from usp._crawl.receiver import BodyReceiver
from usp._crawl.stored_pages import StoredPages
from usp._crawl.thread_driver import INTERRUPTED, ThreadDriver
from usp.events import SitemapFinished
from usp.stream import pages, pages_of_sitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap
from website import Answer, indexed, pages_at, urlset

SITE = indexed("/a.xml", "/b.xml", "/c.xml") | {"/a.xml": urlset("/a1", "/a2")} | pages_at("b", "c")
START = H + "/i.xml"


impatient = pytest.mark.usefixtures("_impatient")


@pytest.fixture
def _impatient(monkeypatch):
    """Wait for what is under way, but not for long."""
    monkeypatch.setattr("usp._crawl.thread_driver.PATIENCE", 0.1)


def interrupt_at(path: str):
    """Return a hook that presses Ctrl-C, as it were, once a sitemap begins to come in."""

    def before(url: str, _: int) -> None:
        if url.endswith(path):
            raise KeyboardInterrupt

    return before


def interrupt_after(path: str):
    """Return a listener that does so once a sitemap has come."""

    def listen(event) -> None:
        if isinstance(event, SitemapFinished) and event.url.endswith(path):
            raise KeyboardInterrupt

    return listen


def names(pages_or_failures, base: str = H) -> list[str]:
    return [one.url.removeprefix(base + "/") for one in pages_or_failures]


def kept(crawl, url, client=None, base: str = H, **options) -> tuple[list[str], list[str]]:
    """Give the pages that were kept, and what an interrupt has cost; nothing else may be missing."""
    failures = []
    found = crawl(url, client, keep_partial=True, on_failure=failures.append, **options)
    if hasattr(found, "all_pages"):
        assert found.failures() == failures
        assert found.is_complete == (not failures)
        found = found.all_pages()
    urls = names(found, base)
    assert {failure.code for failure in failures} == {usp.FailureCode.INTERRUPTED}
    assert all("the crawl was interrupted" in failure.reason for failure in failures)
    return urls, names(failures, base)


# On threads -----------------------------------------------------------------------------------------


@impatient
def test_a_crawl_ends_with_what_was_found_and_names_the_rest(threads_end):
    asked = list(SITE)
    whole, single = (sitemap_tree_for_homepage, pages), (sitemap_tree_for_sitemap, pages_of_sitemap)
    for crawls, start, at, found, missing in cases(
        [
            (whole, H + "/", ("/robots.txt", "/b.xml"), ["a1", "a2"], ["b.xml", "c.xml"]),
            (single, START, ("/i.xml", "/c.xml"), ["a1", "a2", "b"], ["c.xml"]),
            (whole[:1], H + "/", ("/robots.txt", "/robots.txt"), [], ["robots.txt"]),
            (whole[:1], H + "/", ("/robots.txt", "/i.xml"), [], ["i.xml"]),
        ]
    ):
        for crawl in crawls:
            client = Client(Web(SITE), 1, interrupt_at(at[1]))
            given, named = kept(crawl, start, client)
            assert given == found
            assert named == missing if crawls is single else set(missing) <= set(named)
            assert client.web.asked == asked[asked.index(at[0]) : asked.index(at[1]) + 1]
            assert threads_end()


@impatient
def test_an_interrupt_while_threads_fetch_keeps_what_was_found(serve, threads_end):
    gate = threading.Event()
    site = serve(SITE | {"/c.xml": Answer(urlset("/c"), gate=gate)})
    options = {"use_known_paths": False, "on_event": interrupt_after("/b.xml")}
    found, missing = kept(sitemap_tree_for_homepage, site.base + "/", base=site.base, **options)
    gate.set()
    assert "b" in found
    assert missing[-1] == "c.xml"
    assert threads_end()


def test_what_is_still_coming_is_kept_in_part(serve, threads_end, monkeypatch):
    coming = threading.Event()
    take, interrupt = BodyReceiver.take, interrupt_after("/b.xml")

    def taking(receiver, chunk):
        going_on = take(receiver, chunk)
        if receiver._order.url.endswith("/a.xml") and b"</url>" in chunk:
            coming.set()
        return going_on

    def listen(event):
        if isinstance(event, SitemapFinished) and event.url.endswith("/b.xml"):
            assert coming.wait(120)
        interrupt(event)

    monkeypatch.setattr(BodyReceiver, "take", taking)
    filler = b"<url><loc>http://h/p</loc></url>" * 10
    site = serve(SITE | {"/a.xml": Answer("<urlset>", endless=filler)})
    options = {"use_known_paths": False, "on_event": listen}
    found, missing = kept(sitemap_tree_for_homepage, site.base + "/", base=site.base, **options)
    assert "http://h/p" in found
    assert "a.xml" in missing
    assert threads_end()


@impatient
def test_an_interrupt_in_a_callback_does_not_make_the_tree_look_complete():
    def ask(url, level, parents):
        if url.endswith("/b.xml"):
            raise KeyboardInterrupt
        return True

    client = Client(Web(SITE), 1)
    assert kept(sitemap_tree_for_homepage, H + "/", client, recurse_callback=ask)[1]


@impatient
def test_a_sitemap_that_was_being_read_is_missed(monkeypatch):
    """Its pages that were not given are not read again: they do not vanish in silence."""
    steps = StoredPages.steps

    def interrupted(self, *given):
        yield from steps(self, *given)
        monkeypatch.setattr(StoredPages, "steps", steps)
        raise KeyboardInterrupt

    monkeypatch.setattr(StoredPages, "steps", interrupted)
    failures = []
    given = pages_of_sitemap(
        START, Client(Web(SITE), 1), keep_partial=True, on_failure=failures.append
    )
    assert names(given) == ["a1", "a2"]
    assert names(failures) == ["a.xml", "b.xml", "c.xml"]
    assert failures[0].reason == f"not all of its pages were read: {INTERRUPTED}"


@impatient
@pytest.mark.parametrize("crawl", [sitemap_tree_for_sitemap, pages_of_sitemap])
def test_a_second_interrupt_is_an_interrupt(monkeypatch, crawl, threads_end):
    """The first one ends the crawl; whoever cannot wait for what is under way presses again."""
    gate, presses = threading.Event(), []
    client = Client(Web(SITE), 2, lambda url, _: url.endswith("/b.xml") and gate.wait(120))
    make_step = ThreadDriver.step

    def step(self, **options) -> None:
        make_step(self, **options)
        if "/b.xml" in client.web.asked:
            presses.append(1)
            raise KeyboardInterrupt

    monkeypatch.setattr(ThreadDriver, "step", step)
    with pytest.raises(KeyboardInterrupt):
        list(crawl(START, client, keep_partial=True))
    gate.set()
    assert len(presses) == 2
    assert threads_end()


def test_an_interrupt_without_the_option_comes_out_and_leaves_no_thread(threads_end):
    for crawl in cases([sitemap_tree_for_homepage, pages]):
        for at_once in cases([1, 3]):
            client = Client(Web(SITE), at_once)
            with pytest.raises(KeyboardInterrupt):
                list(crawl(H + "/", client, on_event=interrupt_after("/b.xml")))
            assert threads_end()
            assert not +client.web.open
        client = Client(Web(SITE), 1, interrupt_at("/b.xml"))
        with pytest.raises(KeyboardInterrupt):
            list(crawl(H + "/", client))
        assert not +client.web.open


def test_only_an_interrupt_is_kept_from_the_caller():
    def listen(event) -> None:
        raise SystemExit(3)

    with pytest.raises(SystemExit):
        sitemap_tree_for_homepage(H + "/", Client(Web(SITE), 1), keep_partial=True, on_event=listen)


def test_without_an_interrupt_the_option_changes_nothing(serve):
    site = serve(SITE)
    tree = sitemap_tree_for_homepage(site.base + "/", keep_partial=True)
    assert tree.is_complete
    assert tree == sitemap_tree_for_homepage(site.base + "/")


# On asyncio --------------------------------------------------------------------------------------------


def client_ending(path: str, *ends: Callable[[], object]) -> AsyncClient:
    """Give a client that ends its crawl, once or more, while that waits for a sitemap."""

    async def before(url: str) -> None:
        for end in ends if url.endswith(path) else ():
            end()
            await asyncio.sleep(0.02)

    client = AsyncClient(Web(SITE), before_answer=before)
    client.max_concurrent_requests = 1
    return client


@impatient
@pytest.mark.parametrize("ended_by", ["cancel", "timeout"])
@pytest.mark.parametrize("is_stream", [False, True])
def test_a_task_that_is_cancelled_or_late_ends_with_what_was_found(ended_by, is_stream):
    async def crawl():
        failures, task = [], asyncio.current_task()
        async with asyncio.timeout(None) as timeout:
            end = task.cancel if ended_by == "cancel" else partial(timeout.reschedule, 0)
            given = START, client_ending("/b.xml", end)
            options = {"keep_partial": True, "on_failure": failures.append}
            if is_stream:
                pages = await rest(usp.aio.pages_of_sitemap(*given, **options))
            else:
                tree = await usp.aio.sitemap_tree_for_sitemap(*given, **options)
                assert tree.failures() == failures
                pages = tree.all_pages()
        assert task.cancelling() == 0
        return names(pages), names(failures)

    assert asyncio.run(crawl()) == (["a1", "a2"], ["b.xml", "c.xml"])


@pytest.mark.parametrize("keep_partial", [False, True])
def test_a_task_is_cancelled_without_the_option_or_if_it_is_cancelled_again(keep_partial):
    async def crawl():
        cancel = asyncio.current_task().cancel
        client = client_ending("/a.xml", *[cancel] * (2 if keep_partial else 1))
        await usp.aio.sitemap_tree_for_sitemap(START, client, keep_partial=keep_partial)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(crawl())
