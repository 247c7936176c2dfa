"""Crawls many sites at a time in one process; yields their rows site by site, or writes a dataset."""

from __future__ import annotations

import asyncio
import gc
import logging
import queue
import secrets
import threading
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, TypeAlias
from weakref import WeakValueDictionary

from usp._base.files import FileStore, deltalake
from usp._base.names import load_extra
from usp._base.shortage import descriptor_limit, more_descriptors
from usp.export.schema import pyarrow
from usp.fleet.dataset import Dataset, first_number
from usp.fleet.joins import PageComparison
from usp.fleet.leave_alone import LeaveAlone
from usp.fleet.options import FleetOptions, FleetRun
from usp.fleet.site_list import Batch, WaitingSite, homepage, host_key
from usp.fleet.tables import Part, PartWriter, Row, rows_of, wrap

Item: TypeAlias = tuple[str, Any]

__all__ = ["crawl_sites"]

_RESOLVERS = 64  # threads that look up names: that may take long, and blocks a thread
_DESCRIPTORS = 4
"""Descriptors that a site needs at least: connections, and a file for large documents."""

_DESCRIPTORS_TO_A_NAME = 32  # there is a resolver for so many

_UNREAD = 64 << 20  # bytes of unread documents beyond which no other site is started
_WAITING = 16  # batches between the loop and the reader
_TICK = 1.0  # seconds after which a reader learns that nothing came


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker needs to know: its run, with the number ``run``, and the name of its ``writer``.

    Without a ``root``, there is no dataset, and rows are only yielded.
    """

    how: FleetRun
    root: str | None = None
    run: int | None = None
    writer: str = "0/1"

    def part_writer(self) -> PartWriter:
        """Return a writer of parts."""
        assert self.root is not None
        assert self.run is not None
        dataset, columns = Dataset(self.root), self.how.options.columns
        return PartWriter(
            dataset.store,
            self.writer,
            first_number(self.run),
            columns,
            self.how.commit_seconds,
            partial(PageComparison, dataset, columns),
        )


def crawl_sites(batches: Iterable[Any], options: FleetOptions | None = None) -> Iterator[Any]:
    """Crawl the sites in the column ``site`` of record batches or tables; yield record batches.

    Each site is the URL of a homepage or the name of a host; other columns are ignored. The batches
    are those of the wide table (:func:`usp.fleet.wide_schema`). The rows of one site are consecutive,
    in one batch or several, and its row of the table ``visits`` comes last: a site without that row is
    not complete. A site that fails has a row with the reason. Sites on the same host are crawled one
    after another. Needs the extras ``async`` and ``arrow``.
    """
    given = options or FleetOptions()
    for item in crawl_tables(_sites_in(batches), Job(FleetRun(options=given))):
        if item is not None:
            table, rows = item
            batch = rows if table == "pages" else rows_of(table, rows)
            yield wrap(table, batch, given.columns)


def _sites_in(batches: Iterable[Any]) -> Iterator[Batch]:
    for batch in batches:
        names = batch.schema.names
        if "site" not in names:
            there = ", ".join(names) or "none"
            raise ValueError(
                f"the sites must be in a column named 'site'; the columns are: {there}"
            )
        found = (homepage(str(text)) for text in batch.column("site").to_pylist() if text)
        yield [WaitingSite(site, host_key(site), login) for site, login in found if site]


def crawl_tables(batches: Iterator[Batch], job: Job) -> Generator[Item | None]:
    """Crawl sites; yield their rows, each time with the table; None after a second without any.

    The rows of a site are consecutive, that of ``visits`` last. Sites of one key take turns.
    """
    crawler = _Crawler(batches, job)
    thread = threading.Thread(target=crawler.run, name="usp-fleet", daemon=True)
    thread.start()
    try:
        while not crawler.ended.is_set() or not crawler.out.empty():
            try:
                yield crawler.out.get(timeout=_TICK)
            except queue.Empty:
                yield None
        if crawler.failure is not None:
            raise crawler.failure
    finally:
        crawler.stopped.set()
        thread.join()


def site_module(module: str = "usp.fleet.site") -> Any:
    """Return the module that crawls one site; raises ``MissingExtraError`` without aiohttp."""
    return load_extra(module, "Crawling many sites needs aiohttp", "fleet")


_MOST_TIMES = 10_000  # hosts whose last request is remembered before the past is forgotten


class HostTurns:
    """Limits the concurrent requests to one host, for all clients together.

    With ``wait`` seconds between them, requests are sent one at a time.
    """

    def __init__(self, most: int, wait: float = 0.0) -> None:
        self._most = 1 if wait else most
        self._wait = wait
        self._free_at: dict[str, float] = {}
        self._rooms: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def enter(self, host: str) -> asyncio.Semaphore:
        """Wait for a turn, and for the pause to be over; return what is released after the request."""
        room = self._rooms.get(host)
        if room is None:  # as long as somebody holds it, all others get the same
            room = self._rooms[host] = asyncio.Semaphore(self._most)
        await room.acquire()
        if self._wait:
            now = asyncio.get_running_loop().time()
            if len(self._free_at) > _MOST_TIMES:
                self._free_at = {name: at for name, at in self._free_at.items() if at > now}
            begin = max(now, self._free_at.get(host, now))
            self._free_at[host] = begin + self._wait
            try:
                await asyncio.sleep(begin - now)
            except BaseException:
                room.release()
                raise
        return room


class _Crawler:
    """The event loop: starts sites while there is room; ``failure`` is what ended everything."""

    def __init__(self, batches: Iterator[Batch], job: Job) -> None:
        self.out: queue.Queue[Item | None] = queue.Queue(_WAITING)
        self.stopped, self.ended = threading.Event(), threading.Event()
        self.failure: BaseException | None = None
        self._batches = batches
        self._options = options = job.how.options
        self._job = job
        self._visits = count(1)
        self._prefix = f"{job.run}.{job.writer}" if job.root else secrets.token_hex(6)
        self._site = site_module()
        self._turns = HostTurns(options.per_host, options.wait)
        self._waiting: dict[str, deque[WaitingSite]] = defaultdict(deque)
        self._busy: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()  # of sites, and the one that starts them
        self._crawls: set[Any] = set()  # whose documents are received, or not read yet
        self._fetching: dict[Any, asyncio.Task[None]] = {}
        self._alone = LeaveAlone(FileStore(job.root)) if job.root else None

    def run(self) -> None:
        """Crawl all sites; runs in a thread."""
        try:
            asyncio.run(self._crawl())
        except BaseException as error:  # noqa: BLE001 - raised where the results are read
            self.failure = error
        self.ended.set()
        with suppress(queue.Full):
            self.out.put_nowait(None)  # the reader need not wait any longer

    async def _crawl(self) -> None:
        limit = descriptor_limit() or 1 << 20
        self._most = max(1, min(self._options.sites_per_worker, limit // _DESCRIPTORS))
        resolvers = max(1, min(_RESOLVERS, limit // _DESCRIPTORS_TO_A_NAME))
        # One more thread than that: for the list of sites, which may let others wait.
        executor = ThreadPoolExecutor(resolvers + 1, "usp-fleet-names")
        asyncio.get_running_loop().set_default_executor(executor)
        self._reading, self._change, self._idle = asyncio.Lock(), asyncio.Event(), asyncio.Event()
        self._start(self._start_sites())
        while self._tasks and not self.stopped.is_set() and self.failure is None:
            with suppress(
                TimeoutError
            ):  # not asyncio.wait, which would look at all tasks each time
                await asyncio.wait_for(self._idle.wait(), _TICK)
            if self._alone is not None and self._alone.is_stale:
                await asyncio.to_thread(self._alone.refresh)
                for crawl, work in self._fetching.items():
                    if self._alone.covers(crawl.site):
                        work.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        # Not about a site: that would be a row. asyncio prints those that are not asked for.
        error = None if task.cancelled() else task.exception()
        self.failure = self.failure or error
        self._change.set()
        if self.failure is not None or not self._tasks:
            self._idle.set()

    async def _start_sites(self) -> None:
        """Start every site once there is room for it; those whose key is busy wait for that."""
        while (batch := await asyncio.to_thread(next, self._batches, None)) is not None:
            for site in batch:
                if self._busy[site.key] >= self._options.sites_per_host:
                    self._waiting[site.key].append(site)
                else:
                    self._busy[site.key] += 1
                    self._start(self._crawl_key(site))
                await self._room()

    async def _room(self) -> None:
        """Wait until another site can be started."""
        while len(self._tasks) > self._most or (
            self._crawls and sum(crawl.received for crawl in self._crawls) >= _UNREAD
        ):
            self._change.clear()
            await self._change.wait()

    async def _crawl_key(self, site: WaitingSite) -> None:
        """Crawl a site, then those that wait for the same key, one after another."""
        await self._crawl_site(site)
        while waiting := self._waiting.pop(site.key, None):
            one = waiting.popleft()
            self._waiting[site.key] = waiting
            await self._crawl_site(one)
        self._busy -= Counter([site.key])  # and forget a key that is free

    async def _crawl_site(self, site: WaitingSite) -> None:
        visit = f"{self._prefix}.{next(self._visits)}"
        crawl = self._site.SiteCrawl(self._job, site, visit, self._turns)
        self._crawls.add(crawl)
        try:
            if not site.kills:
                self._fetching[crawl] = work = asyncio.create_task(crawl.fetch())
                await work
            async with self._reading:  # one at a time: the rows of a site are consecutive
                async for item in crawl.tables():
                    await self._put(item)
        except asyncio.CancelledError:
            if self._alone is None or not self._alone.covers(site.url):
                raise
        finally:
            self._fetching.pop(crawl, None)
            self._crawls.discard(crawl)
            self._change.set()
            await crawl.client.close()

    async def _put(self, item: Item) -> None:
        while not self.stopped.is_set():
            try:
                self.out.put_nowait(item)
            except queue.Full:
                await asyncio.sleep(0.002)
            else:
                return
        raise asyncio.CancelledError


# What a worker does: crawl sites, write their rows, report parts ------------------------------------


def crawl_parts(
    job: Job,
    batches: Iterator[Batch],
    *,
    on_site: Callable[[Row], None] = lambda _: None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Part]:
    """Crawl sites and write their rows; yield each part when it is finished."""
    with _as_a_worker():
        writer = job.part_writer()
        table = "visits"  # of the last rows: there it is between two sites
        try:
            with closing(crawl_tables(batches, job)) as items:
                for item in items:
                    if item is not None:
                        table, rows = item
                        if table == "visits":
                            on_site(rows[0])
                        yield from writer.add(table, rows)
                    elif table == "visits":
                        yield from writer.tick()
                    if table == "visits" and stopped():
                        break
            yield from writer.finish()
        finally:
            writer.discard()


def load_for_threads(*parts: str) -> None:
    """Load modules that several threads use: two that load one at a time may see half of it."""
    for part in parts or (".compute", ".parquet", ".fs"):
        pyarrow(part)
    for part in ("", ".exceptions", ".transaction", ".fs"):
        deltalake(part)


@contextmanager
def _as_a_worker() -> Iterator[None]:
    """Set up the process for this work, and restore it afterwards: it may be the caller's."""
    logger, arrow = logging.getLogger("usp"), pyarrow()
    load_for_threads()
    with more_descriptors(), ExitStack() as before:
        before.callback(logger.setLevel, logger.level)
        logger.setLevel(logging.CRITICAL)  # what fails is a row with a reason
        before.callback(gc.set_threshold, *gc.get_threshold())
        gc.set_threshold(100_000, 50, 100)  # blocks of entries are many objects, and no garbage
        before.callback(arrow.set_memory_pool, arrow.default_memory_pool())
        # Batches are freed by another thread than made them: other pools then keep their memory.
        arrow.set_memory_pool(arrow.system_memory_pool())
        yield
