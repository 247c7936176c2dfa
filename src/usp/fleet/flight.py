"""Many sites under way at a time in one process; what they give comes out site by site."""

from __future__ import annotations

import asyncio
import queue
import threading
from collections import Counter, deque
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

from usp._base.shortage import descriptor_limit
from usp.fleet.extras import need
from usp.fleet.site import SiteCrawl

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    from usp.fleet.options import FleetOptions

    Item = tuple[str, Any]

_RESOLVERS = 64
"""Threads that look up names: names take long, and each waits for its own."""

_DESCRIPTORS = 4
"""What a site needs at least: connections, and a file for what is too large for memory."""

_DESCRIPTORS_TO_A_NAME = 32  # there is a resolver for so many

_UNREAD = 64 << 20
"""Bytes of documents that wait to be read before another site is begun."""

_WAITING = 64  # batches between the loop and whoever reads
_TICK = 1.0  # seconds after which a reader is told that nothing came


class Flight:
    """Crawls sites that come as batches of ``(site, key)``; sites of one key follow each other.

    ``results`` gives batches of the three tables: those of one site stand together, its row in
    ``sites`` comes last. None comes every second in which nothing else does.
    """

    def __init__(self, batches: Iterator[list[tuple[str, str]]], options: FleetOptions) -> None:
        self._batches = batches
        self._options = options
        self._client = need("usp.fleet.client")
        self._gate = self._client.HostGate(options.per_host, options.wait)
        self._out: queue.Queue[Item | BaseException | None] = queue.Queue(_WAITING)
        self._ready: deque[tuple[str, str]] = deque()
        self._waiting: dict[str, deque[str]] = {}
        self._busy: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._unread = 0
        self._failure: BaseException | None = None
        self._stopped = threading.Event()

    def results(self) -> Generator[Item | None]:
        """Crawl, and give what comes."""
        thread = threading.Thread(target=self._run, name="usp-fleet", daemon=True)
        thread.start()
        try:
            while True:
                try:
                    item = self._out.get(timeout=_TICK)
                except queue.Empty:
                    yield None
                    continue
                if item is None:
                    return
                if isinstance(item, BaseException):
                    raise item
                yield item
        finally:
            self._stopped.set()
            while thread.is_alive():
                self._drain()
                thread.join(0.05)

    def _drain(self) -> None:
        try:
            while True:
                self._out.get_nowait()
        except queue.Empty:
            pass

    # In the thread of the loop --------------------------------------------------------------------

    def _run(self) -> None:
        last: BaseException | None = None
        try:
            asyncio.run(self._crawl())
        except BaseException as error:  # noqa: BLE001 - raised where the results are read
            last = error
        while not self._stopped.is_set():
            try:
                self._out.put(last, timeout=0.1)
            except queue.Full:
                continue
            return

    async def _crawl(self) -> None:
        loop = asyncio.get_running_loop()
        limit = descriptor_limit()
        self._most = self._options.in_flight
        resolvers = _RESOLVERS
        if limit is not None:
            self._most = max(1, min(self._most, limit // _DESCRIPTORS))
            resolvers = max(1, min(resolvers, limit // _DESCRIPTORS_TO_A_NAME))
        loop.set_default_executor(ThreadPoolExecutor(resolvers, "usp-fleet-names"))
        self._reading = asyncio.Lock()
        self._change = asyncio.Event()
        more = True
        with ThreadPoolExecutor(1, "usp-fleet-sites") as feeder:
            pull: asyncio.Future[Any] | None = None
            while not self._stopped.is_set() and self._failure is None:
                self._begin()
                if more and pull is None and self._has_room():
                    pull = loop.run_in_executor(feeder, next, self._batches, None)
                if not more and not self._tasks:
                    break
                change = asyncio.ensure_future(self._change.wait())
                waits: set[asyncio.Future[Any]] = {change} if pull is None else {change, pull}
                await asyncio.wait(waits, timeout=_TICK, return_when=asyncio.FIRST_COMPLETED)
                change.cancel()
                self._change.clear()
                if pull is not None and pull.done():
                    batch = pull.result()
                    pull, more = None, batch is not None
                    self._ready.extend(batch or ())
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._failure is not None:
            raise self._failure

    def _has_room(self) -> bool:
        room = len(self._tasks) < self._most and not self._ready
        return room and (self._unread < _UNREAD or not self._tasks)

    def _begin(self) -> None:
        """Begin as many sites as there is room for; those whose key is busy wait for it."""
        while self._ready and len(self._tasks) < self._most:
            if self._unread >= _UNREAD and self._tasks:
                return
            site, key = self._ready.popleft()
            if self._busy[key] >= self._options.together:
                self._waiting.setdefault(key, deque()).append(site)
                continue
            self._busy[key] += 1
            task = asyncio.create_task(self._sites(site, key))
            self._tasks.add(task)
            task.add_done_callback(self._ended)

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and self._failure is None:
            self._failure = task.exception()  # not about a site: that would be a row
        self._change.set()

    async def _sites(self, site: str, key: str) -> None:
        """Crawl a site, then those that wait for the same key, one after another."""
        while True:
            await self._site(site)
            waiting = self._waiting.get(key)
            if not waiting:
                self._waiting.pop(key, None)
                self._busy[key] -= 1
                if not self._busy[key]:
                    del self._busy[key]
                return
            site = waiting.popleft()

    async def _site(self, site: str) -> None:
        held = 0

        def hold(received: int) -> None:
            nonlocal held
            held += received
            self._unread += received

        client = self._client.FleetClient(self._options, self._gate)
        crawl = SiteCrawl(site, self._options, client, hold)
        try:
            await crawl.fetch()
            async with self._reading:  # one at a time: a site's rows stand together
                async for item in crawl.tables():
                    await self._put(item)
        finally:
            self._unread -= held
            self._change.set()
            await client.close()

    async def _put(self, item: Item) -> None:
        while not self._stopped.is_set():
            try:
                self._out.put_nowait(item)
            except queue.Full:
                await asyncio.sleep(0.002)
            else:
                return
        raise asyncio.CancelledError
