"""Limits of time cover parsing: it ends in the middle of a document, and leaves an event loop free.

Nothing here is told by a clock on the wall: pieces of documents and turns of the loop are counted.
"""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from usp import aio, stream
from usp._base.reason import Reason
from usp._crawl import asyncio_driver as steps_module
from usp._crawl.asyncio_driver import Stepper
from usp._crawl.fetch import END, fetch_document
from usp._crawl.orders import FetchOrder, Received
from usp._formats.document import DocumentParser
from usp._store import Store
from usp.fleet.options import FleetOptions
from usp.fleet.site import SiteCrawl
from usp.limits import Limits
from usp.objects.problem import FailureCode
from usp.tree import sitemap_from_bytes, sitemap_tree_for_homepage
from website import index, robots, urlset

sys.path.insert(0, str(Path(__file__).parent.parent / "stream"))
from memory_web import AsyncClient, Client, Doc, H, Web

PIECES = 12
DAMAGE = "x" * (64 * 1024)  # as much as is read in one step


def damaged(document: str) -> str:
    """Give a document with its entries in front, and then nothing but damage."""
    closing = document.rindex("</")
    return document[:closing] + DAMAGE * PIECES + document[closing:]


INDEX = {"/robots.txt": robots("/i.xml"), "/i.xml": Doc(damaged(index("/a.xml"))), "/a.xml": "x"}
PAGES = {"/robots.txt": robots("/a.xml"), "/a.xml": Doc(damaged(urlset("/1", "/2")))}


class Reading:
    """Counts the steps in which documents are read; each takes a while, as damage does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
        self.steps = 0
        self.seconds = seconds
        self.on_step: Callable[[], object] = lambda: None
        plain = DocumentParser.steps

        def counted(parser, data, *piece):
            for entries in plain(parser, data, *piece):
                self.steps += 1
                self.on_step()
                time.sleep(self.seconds)
                yield entries

        monkeypatch.setattr(DocumentParser, "steps", counted)

    def restart(self, seconds: float) -> None:
        """Count from nothing, and take so many seconds for a step."""
        self.steps, self.seconds = 0, seconds


@pytest.fixture
def slow(monkeypatch) -> Reading:
    """Read so slowly that no limit of a second is kept by chance."""
    return Reading(monkeypatch, 0.1)


@pytest.fixture
def reading(monkeypatch) -> Reading:
    return Reading(monkeypatch, 0.0)


ENOUGH = Reason(FailureCode.INTERRUPTED, "enough")


def tells_the_time(failures) -> bool:
    return any("the limit seconds=" in failure.reason for failure in failures)


# On threads ---------------------------------------------------------------------------------------


def test_a_reason_to_give_up_ends_the_reading_in_the_middle_of_a_chunk(reading):
    body = INDEX["/i.xml"]
    web = Web({"/i.xml": Doc(body.body, pieces=1)})
    result = fetch_document(
        FetchOrder(f"{H}/i.xml"), Client(web), Store(),
        lambda: ENOUGH if reading.steps >= 5 else None,
    )  # fmt: skip
    assert isinstance(result, Received)
    assert [child.loc for child in result.probe.children] == [f"{H}/a.xml"]  # what came is kept
    assert result.probe.unfinished == ENOUGH
    assert reading.steps == 5


@pytest.mark.parametrize("at_once", [1, 4])
def test_an_index_is_read_no_longer_than_the_crawl_may_take(slow, at_once, times):
    slow.restart(0.1 * times)
    tree = sitemap_tree_for_homepage(
        H + "/",
        Client(Web(INDEX), at_once),
        use_known_paths=False,
        limits=Limits(seconds=0.3 * times),
    )
    assert tells_the_time(tree.failures())
    assert slow.steps < PIECES


def test_a_document_is_read_no_longer_than_one_may_take(slow, times):
    slow.restart(0.1 * times)
    limits = Limits(document_seconds=0.3 * times)
    tree = sitemap_tree_for_homepage(
        H + "/", Client(Web(INDEX)), use_known_paths=False, limits=limits
    )
    assert any("document_seconds" in failure.reason for failure in tree.failures())
    assert slow.steps < PIECES


def test_a_stream_ends_soon_after_its_time_and_says_what_was_not_read(slow, times):
    slow.restart(0.1 * times)
    failures = []
    found = stream.pages(
        H + "/", Client(Web(PAGES)), use_known_paths=False, limits=Limits(seconds=0.3 * times),
        on_failure=failures.append,
    )  # fmt: skip
    assert [page.url for page in found] == [H + "/1", H + "/2"]
    assert [failure.url for failure in failures] == [H + "/a.xml"]
    assert tells_the_time(failures)
    assert slow.steps < 2 * PIECES  # it is glanced at, and then read


def test_a_stream_in_time_names_nothing(reading):
    failures = []
    list(
        stream.pages(H + "/", Client(Web(PAGES)), use_known_paths=False, on_failure=failures.append)
    )
    assert not failures


# On asyncio ---------------------------------------------------------------------------------------


class Heart:
    """Beats at every turn of the loop."""

    def __init__(self) -> None:
        self.beats = 0

    async def beat(self) -> None:
        while True:
            self.beats += 1
            await asyncio.sleep(0)

    def watch(self, work):
        """Run a coroutine beside the heart."""

        async def both():
            beating = asyncio.create_task(self.beat())
            try:
                return await work
            finally:
                beating.cancel()

        return asyncio.run(both())


@pytest.fixture
def heart(reading, monkeypatch) -> Heart:
    """Note how often the loop had its turn at every step of the reading."""
    monkeypatch.setattr(steps_module, "LONG", 0.0)
    heart = Heart()
    heart.seen = []
    reading.on_step = lambda: heart.seen.append(heart.beats)
    return heart


def went_on(heart: Heart) -> bool:
    """Tell whether the loop had a turn between nearly all of the steps."""
    assert len(heart.seen) >= PIECES
    return len(set(heart.seen)) > len(heart.seen) // 2


def test_the_loop_goes_on_while_an_index_is_read(heart):
    heart.watch(
        aio.sitemap_tree_for_homepage(H + "/", AsyncClient(Web(INDEX)), use_known_paths=False)
    )
    assert went_on(heart)


def test_the_loop_goes_on_while_pages_are_read(heart):
    async def read():
        pages = aio.pages(H + "/", AsyncClient(Web(PAGES)), use_known_paths=False)
        return [page.url async for page in pages]

    assert heart.watch(read()) == [H + "/1", H + "/2"]
    assert went_on(heart)


async def all_rows(crawl: SiteCrawl) -> dict[str, list]:
    rows: dict[str, list] = {"pages": [], "sitemaps": [], "sites": []}
    async for table, batch in crawl.tables():
        rows[table] += batch.to_pylist()
    return rows


async def crawl_site(**options) -> dict[str, list]:
    crawl = SiteCrawl(H + "/", FleetOptions(**options), AsyncClient(Web(PAGES)), lambda _: None)
    await crawl.fetch()
    return await all_rows(crawl)


@pytest.mark.parametrize("options", [{}, {"pages": False}, {"problems": True}], ids=str)
def test_the_loop_goes_on_while_a_site_of_many_is_read(heart, options):
    rows = heart.watch(crawl_site(**options))
    assert rows["sites"][0]["pages"] == 2
    assert went_on(heart)


def test_an_index_on_asyncio_is_read_no_longer_than_the_crawl_may_take(slow, times):
    slow.restart(0.1 * times)
    tree = asyncio.run(
        aio.sitemap_tree_for_homepage(
            H + "/",
            AsyncClient(Web(INDEX)),
            use_known_paths=False,
            limits=Limits(seconds=0.3 * times),
        )
    )
    assert tells_the_time(tree.failures())
    assert slow.steps < PIECES


def test_a_stream_on_asyncio_ends_soon_after_its_time(slow, times):
    slow.restart(0.1 * times)
    failures = []

    async def read():
        limits = Limits(seconds=0.3 * times)
        pages = aio.pages(
            H + "/", AsyncClient(Web(PAGES)), use_known_paths=False, limits=limits,
            on_failure=failures.append,
        )  # fmt: skip
        return [page.url async for page in pages]

    assert asyncio.run(read()) == [H + "/1", H + "/2"]
    assert tells_the_time(failures)
    assert slow.steps < 2 * PIECES


@pytest.mark.parametrize("options", [{}, {"pages": False}, {"problems": True}], ids=str)
def test_a_site_of_many_is_read_no_longer_than_it_may_take(slow, options, times):
    """Its row says so, and what was read before is in the tables."""
    slow.restart(0.1 * times)
    rows = asyncio.run(crawl_site(limits=Limits(seconds=1.0 * times), **options))
    (site,) = rows["sites"]
    assert site["outcome"] == "partial"
    assert "the limit seconds=" in site["reason"]
    assert site["pages"] == 2
    assert slow.steps < 3 * PIECES


# The steps themselves -----------------------------------------------------------------------------


def test_short_steps_stay_in_the_loop_and_long_ones_do_not(monkeypatch):
    where = []

    def work():
        for _ in range(3):
            where.append(threading.current_thread())
            yield

    async def run():
        stepper, steps = Stepper(), work()
        while await stepper.next(steps) is not END:
            pass

    monkeypatch.setattr(steps_module, "LONG", 1000.0)
    asyncio.run(run())
    assert set(where) == {threading.main_thread()}
    where.clear()
    monkeypatch.setattr(steps_module, "LONG", 0.0)
    asyncio.run(run())
    assert where[0] is threading.main_thread()  # nobody knew yet
    assert threading.main_thread() not in where[1:]


def test_a_cancelled_step_is_over_before_anything_else_happens(monkeypatch):
    monkeypatch.setattr(steps_module, "LONG", 0.0)
    done = []
    begun = threading.Event()
    may_end = threading.Event()

    def work():
        yield
        begun.set()
        may_end.wait(120)
        done.append("step")
        yield

    async def both():
        stepper, steps = Stepper(), work()
        await stepper.next(steps)
        try:
            await stepper.next(steps)
        finally:
            done.append("end")

    async def run():
        task = asyncio.create_task(both())
        await asyncio.to_thread(begun.wait, 20)
        task.cancel()
        await asyncio.sleep(0)
        may_end.set()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(run())
    assert done == ["step", "end"]


def test_steps_give_what_feed_gives():
    data = damaged(urlset(*(f"/{n}" for n in range(5000)))).replace("{base}", H).encode()
    node = sitemap_from_bytes(data)
    assert [block for _, block in node.page_steps() if block is None]  # some steps give nothing
    urls = [url for _, block in node.page_steps() if block for url in block.urls]
    assert urls == [page.url for page in node.all_pages()]
    assert node.problems_until(lambda: None) == node.problems
    given_up = sitemap_from_bytes(data).problems_until(lambda: ENOUGH)
    assert given_up[-1].message == "the rest was not read: enough"
