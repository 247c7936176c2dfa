"""Limits of time cover parsing: it ends in the middle of a document, and leaves an event loop free.

Nothing here is told by a clock on the wall: pieces of documents and turns of the loop are counted.
"""

import asyncio
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace

import pytest

from fronts import every_front, rest
from memory_web import AsyncClient, Client, Doc, H, Web
from usp import aio
from usp._base.reason import Reason
from usp._crawl import asyncio_driver as steps_module
from usp._crawl import fetch, receiver, thread_driver
from usp._crawl.asyncio_driver import Stepper
from usp._crawl.fetch import END, fetch_document
from usp._crawl.orders import FetchOrder, Received
from usp._crawl.receiver import FetchContext
from usp._formats.document import DocumentParser
from usp._store import Store
from usp.fleet.crawler import HostTurns, Job
from usp.fleet.options import FleetOptions, FleetRun
from usp.fleet.site import SiteCrawl
from usp.fleet.site_list import WaitingSite
from usp.limits import Limits
from usp.objects.problem import FailureCode
from usp.objects.sitemap import page_steps, problems_until
from usp.tree import sitemap_from_bytes
from website import index, robots, urlset

PIECES = 12
DAMAGE = "x" * (64 * 1024)  # as much as is read in one step


def damaged(document: str) -> str:
    """Give a document with its entries in front, and then nothing but damage."""
    closing = document.rindex("</")
    return document[:closing] + DAMAGE * PIECES + document[closing:]


INDEX = {"/robots.txt": robots("/i.xml"), "/i.xml": Doc(damaged(index("/a.xml"))), "/a.xml": "x"}
PAGES = {"/robots.txt": robots("/a.xml"), "/a.xml": Doc(damaged(urlset("/1", "/2")))}
CHILD = "<sitemap><loc>{base}/b.xml</loc></sitemap></urlset>"
MIXED = PAGES | {"/a.xml": Doc(PAGES["/a.xml"].body.replace("</urlset>", CHILD))}


class Reading:
    """Counts the steps in which each document is read; each takes a while, as damage does."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps_of: Counter[DocumentParser] = Counter()  # in the order in which they begin
        self.seconds = 0.0
        self.on_step: Callable[[], object] = lambda: None
        plain = DocumentParser.steps

        def counted(parser, data, *piece):
            for entries in plain(parser, data, *piece):
                self.steps_of[parser] += 1
                self.on_step()
                time.sleep(self.seconds)
                yield entries

        monkeypatch.setattr(DocumentParser, "steps", counted)

    @property
    def steps(self) -> int:
        return self.steps_of.total()


@pytest.fixture
def reading(monkeypatch) -> Reading:
    return Reading(monkeypatch)


@pytest.fixture
def slow(reading, times) -> Reading:
    """Read so slowly that no limit of a second is kept by chance."""
    reading.seconds = 0.1 * times
    return reading


ENOUGH = Reason(FailureCode.INTERRUPTED, "enough")


# Limits -------------------------------------------------------------------------------------------


def test_a_reason_to_give_up_ends_the_reading_in_the_middle_of_a_chunk(reading):
    stop = lambda: ENOUGH if reading.steps >= 5 else None  # noqa: E731
    context = FetchContext(Client(Web(INDEX)), Store(), stop_reason=stop)
    result = fetch_document(FetchOrder(f"{H}/i.xml"), context)
    assert isinstance(result, Received)
    assert [child.loc for child in result.probe.children] == [f"{H}/a.xml"]  # what came is kept
    assert result.probe.unfinished == ENOUGH
    assert reading.steps == 5


@every_front
@pytest.mark.parametrize("limit", ["seconds", "document_seconds"])
def test_an_index_is_read_no_longer_than_it_and_the_crawl_may_take(slow, front, limit, times):
    limits = Limits(**{limit: 0.3 * times})
    tree = front.tree(H + "/", front.client(Web(INDEX)), limits=limits)
    assert any(f"the limit {limit}=" in failure.reason for failure in tree.failures())
    assert slow.steps < PIECES


@every_front
@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (Limits(seconds=300, document_seconds=300), FailureCode.LIMIT_SECONDS),
        (Limits(document_seconds=300), FailureCode.LIMIT_DOCUMENT_SECONDS),
    ],
    ids=["seconds", "document_seconds"],
)
def test_the_second_reading_of_a_document_ends_with_its_time(
    reading, front, limits, code, monkeypatch
):
    """Pages with sitemaps among them are read twice: the time is over in the middle of the second."""
    late = []

    def ring() -> None:
        if len(reading.steps_of) == 2 and not late:
            late.append(1000.0)

    reading.on_step = ring
    clock = SimpleNamespace(monotonic=lambda: time.monotonic() + sum(late))
    for module in (fetch, receiver, thread_driver):
        monkeypatch.setattr(module, "time", clock)
    tree = front.tree(H + "/a.xml", front.client(Web(MIXED)), single=True, limits=limits)
    first, second = reading.steps_of.values()
    assert first > PIECES
    assert second == 1
    assert [page.url for page in tree.all_pages()] == [H + "/1", H + "/2"]
    assert code in {failure.code for failure in tree.failures() if failure.url == H + "/a.xml"}


@every_front
def test_a_stream_ends_soon_after_its_time_and_says_what_was_not_read(reading, front, times):
    """Read so slowly that the limit is not kept by chance; in time, nothing is named."""
    failures = []
    options = {"limits": Limits(seconds=0.3 * times), "on_failure": failures.append}
    front.pages(H + "/", front.client(Web(PAGES)), on_failure=failures.append)
    assert not failures
    reading.steps_of.clear()
    reading.seconds = 0.1 * times
    found = front.pages(H + "/", front.client(Web(PAGES)), **options)
    assert [page.url for page in found] == [H + "/1", H + "/2"]
    (failure,) = failures
    assert failure.url == H + "/a.xml"
    assert "the limit seconds=" in failure.reason
    assert reading.steps < 2 * PIECES  # it is looked at, and then read


# Turns of the loop --------------------------------------------------------------------------------


async def tree_of(site) -> None:
    await aio.sitemap_tree_for_homepage(H + "/", AsyncClient(Web(site)), use_known_paths=False)


async def stream_of(site) -> None:
    pages = await rest(aio.pages(H + "/", AsyncClient(Web(site)), use_known_paths=False))
    assert [page.url for page in pages] == [H + "/1", H + "/2"]


async def site_of_many(**options) -> dict:
    """Crawl a site of a fleet, read its tables, and give its row."""
    client = AsyncClient(Web(PAGES))
    client.sent, client.statuses = Counter(), Counter()
    job = Job(FleetRun(options=FleetOptions(**options)))
    crawl = SiteCrawl(job, WaitingSite(H + "/", H), "1", HostTurns(1))
    crawl.client = client
    await crawl.fetch()
    rows = [row async for table, part in crawl.tables() if table == "visits" for row in part]
    assert [row["pages"] for row in rows] == [2]
    return rows[0]


OF_MANY = [{}, {"pages": False}, {"problems": True}]


@pytest.mark.parametrize(
    ("work", "readings"),
    [
        *[(partial(tree_of, INDEX), 1), (partial(tree_of, PAGES), 1), (partial(tree_of, MIXED), 2)],
        *[(partial(stream_of, PAGES), 1), *((partial(site_of_many, **one), 1) for one in OF_MANY)],
    ],
)
def test_the_loop_goes_on_while_a_document_is_read(reading, monkeypatch, work, readings):
    """It has a turn between nearly all of the steps."""
    monkeypatch.setattr(steps_module, "LONG", 0.0)
    beats, seen = [0], []
    reading.on_step = lambda: seen.append(beats[0])

    async def beat():
        while True:
            beats[0] += 1
            await asyncio.sleep(0)

    async def both():
        beating = asyncio.create_task(beat())
        await work()
        beating.cancel()

    asyncio.run(both())
    assert len(seen) >= PIECES * readings
    if work.func is tree_of:
        del seen[:-PIECES]  # the last time that it is read
    assert len(set(seen)) > len(seen) // 2


@pytest.mark.parametrize("options", OF_MANY, ids=str)
def test_a_site_of_many_is_read_no_longer_than_it_may_take(slow, options, times):
    """Its row says so, and what was read before is in the tables."""
    row = asyncio.run(site_of_many(limits=Limits(seconds=1.0 * times), **options))
    assert row["outcome"] == "partial"
    assert "the limit seconds=" in row["reason"]
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
    assert [block for _, block in page_steps(node) if block is None]  # some steps give nothing
    urls = [url for _, block in page_steps(node) if block for url in block.urls]
    assert urls == [page.url for page in node.all_pages()]
    assert problems_until(node, lambda: None) == node.problems
    given_up = problems_until(sitemap_from_bytes(data), lambda: ENOUGH)
    assert given_up[-1].message == "the rest was not read: enough"
