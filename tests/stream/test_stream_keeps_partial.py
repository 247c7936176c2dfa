"""With ``keep_partial`` an interrupt ends a stream, or a crawl on asyncio, with what was found so far."""

from __future__ import annotations

import asyncio
import threading

import pytest
from memory_web import AsyncClient, Client, Web

import usp
import usp.aio
from usp._crawl.stored_pages import StoredPages
from usp._crawl.thread_driver import INTERRUPTED, ThreadDriver
from usp.stream import pages, pages_of_sitemap
from website import index, robots, urlset

SITE = {
    "/robots.txt": robots("/i.xml"),
    "/i.xml": index("/a.xml", "/b.xml", "/c.xml"),
    "/a.xml": urlset("/a1", "/a2"),
    "/b.xml": urlset("/b"),
    "/c.xml": urlset("/c"),
}
START = "http://h/i.xml"


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    """Wait for what is under way, but not for long."""
    monkeypatch.setattr("usp._crawl.thread_driver.PATIENCE", 0.1)


def interrupt_at(path: str):
    """Return a hook that presses Ctrl-C, as it were, once a sitemap begins to come in."""

    def before(url: str, _: int) -> None:
        if url.endswith(path):
            raise KeyboardInterrupt

    return before


def names(pages_or_failures) -> list[str]:
    return [one.url.removeprefix("http://h/") for one in pages_or_failures]


# Threads --------------------------------------------------------------------------------------------


def test_a_stream_ends_with_what_was_found_and_names_the_rest():
    client, failures = Client(Web(SITE), 1, interrupt_at("/b.xml")), []
    given = pages("http://h/", client, keep_partial=True, on_failure=failures.append)
    assert names(given) == ["a1", "a2"]
    assert {"b.xml", "c.xml"} <= set(names(failures))
    assert {failure.code for failure in failures} == {usp.FailureCode.INTERRUPTED}
    assert "/c.xml" not in client.web.asked


def test_the_stream_of_one_sitemap_does_so_too():
    client, failures = Client(Web(SITE), 1, interrupt_at("/c.xml")), []
    given = pages_of_sitemap(START, client, keep_partial=True, on_failure=failures.append)
    assert names(given) == ["a1", "a2", "b"]
    assert names(failures) == ["c.xml"]


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


def test_a_second_interrupt_is_an_interrupt(monkeypatch):
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
        list(pages_of_sitemap(START, client, keep_partial=True))
    gate.set()
    assert len(presses) == 2


def test_an_interrupt_without_the_option_comes_out():
    with pytest.raises(KeyboardInterrupt):
        list(pages_of_sitemap(START, Client(Web(SITE), 1, interrupt_at("/b.xml"))))


# asyncio --------------------------------------------------------------------------------------------


class Cancelling(AsyncClient):
    """Cancels the task of the crawl while it waits for a sitemap."""

    def __init__(self, *paths: str) -> None:
        async def before(url: str) -> None:
            if url.removeprefix("http://h") in paths:
                self.task.cancel()
                await asyncio.sleep(0.02)

        super().__init__(Web(SITE), before_answer=before)
        self.max_concurrent_requests = 1
        self.task = asyncio.current_task()


def test_a_cancelled_task_ends_with_the_tree_of_what_was_found():
    async def crawl():
        failures = []
        client = Cancelling("/b.xml")
        tree = await usp.aio.sitemap_tree_for_sitemap(
            START, client, keep_partial=True, on_failure=failures.append
        )
        assert names(failures) == names(tree.failures()) == ["b.xml", "c.xml"]
        assert asyncio.current_task().cancelling() == 0
        return names(tree.all_pages())

    assert asyncio.run(crawl()) == ["a1", "a2"]


def test_time_that_is_over_ends_with_the_tree_of_what_was_found():
    async def crawl():
        client = Cancelling()
        async with asyncio.timeout(None) as timeout:

            async def before(url: str) -> None:
                if url.endswith("/b.xml"):
                    timeout.reschedule(0)
                    await asyncio.sleep(0.02)

            client.before_answer = before
            tree = await usp.aio.sitemap_tree_for_homepage(
                "http://h/", client, keep_partial=True, use_known_paths=False
            )
        return names(tree.all_pages()), names(tree.failures())

    assert asyncio.run(crawl()) == (["a1", "a2"], ["b.xml", "c.xml"])


def test_a_cancelled_stream_ends_with_what_was_found():
    async def stream():
        failures = []
        given = usp.aio.pages_of_sitemap(
            START, Cancelling("/b.xml"), keep_partial=True, on_failure=failures.append
        )
        return names([page async for page in given]), names(failures)

    assert asyncio.run(stream()) == (["a1", "a2"], ["b.xml", "c.xml"])


@pytest.mark.parametrize(
    ("paths", "keep_partial"), [(["/b.xml"], False), (["/a.xml", "/b.xml"], True)]
)
def test_a_task_is_cancelled_without_the_option_or_if_it_is_cancelled_again(paths, keep_partial):
    async def crawl():
        client = Cancelling(*paths)
        before = client.before_answer

        async def twice(url: str) -> None:
            await before(url)
            if keep_partial and url.endswith("/a.xml"):
                client.task.cancel()
                await asyncio.sleep(1)

        client.before_answer = twice
        await usp.aio.sitemap_tree_for_sitemap(START, client, keep_partial=keep_partial)

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(crawl())
