"""Drives a crawl on asyncio: executes its orders, several at a time, and reports back."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from usp._crawl.fetch import END, fetch, fetch_document, is_async
from usp._crawl.receiver import failure_from
from usp._crawl.thread_driver import DriverCore

if TYPE_CHECKING:
    from usp._crawl.crawl import Crawl
    from usp._crawl.orders import Arrival, Failed, FetchOrder, Received
    from usp._crawl.thread_driver import FetchUpdate, Recording
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

T = TypeVar("T")


class AsyncioDriver(DriverCore[T]):
    """Drives a crawl, step by step, in the running event loop.

    An asynchronous context manager: leaving it cancels the requests. A synchronous client is called
    in threads, as many at a time as it allows. ``streams`` is whether page sitemaps are read while
    they are received.
    """

    def __init__(
        self,
        search: Callable[[Crawl], T],
        start_url: str,
        client: AbstractAsyncWebClient | AbstractWebClient,
        options: CrawlOptions,
        record: Recording | None = None,
        *,
        streams: bool = False,
    ) -> None:
        self._client: Any = client
        self._tasks: set[asyncio.Task[None]] = set()
        self._updates: deque[FetchUpdate] = deque()
        self._awake = asyncio.Event()
        soon: Any = asyncio.get_running_loop().call_soon_threadsafe
        self._announce = partial(soon, self._put) if streams else None
        self.wake = partial(soon, self._awake.set)
        """End the wait of a step; may be called from any thread."""
        super().__init__(search, start_url, client, options, record)

    async def __aenter__(self) -> AsyncioDriver[T]:
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._is_stopped = True
        done = False
        try:
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)
            done = kind is None
        finally:
            if self._recorder is not None:
                await asyncio.to_thread(self._recorder.close, keep=done)

    async def step(self, *, wait: bool = True) -> None:
        """Start new orders and process the updates; if there are none, ``wait`` for some."""
        for order in self._orders():
            task = asyncio.create_task(self._execute(order))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self.crawl.complete:
            return
        pause = self._pause()
        if not wait:
            await asyncio.sleep(0)
        elif pause is None:
            await self._awake.wait()
        else:
            alarm = asyncio.get_running_loop().call_later(pause, self._awake.set)
            try:
                await self._awake.wait()
            finally:
                alarm.cancel()
        self._awake.clear()
        while self._updates:
            self._take(self._updates.popleft())

    async def _execute(self, order: FetchOrder) -> None:
        client = self._client
        crawl, earlier = self.crawl, self._earlier
        given = (client, self._store, self._stop_reason, self._announce, crawl.limits, earlier)
        result: Received | Failed
        try:
            if is_async(client):
                result = await fetch(order, *given, Stepper())
            else:
                result = await asyncio.to_thread(fetch_document, order, *given)
        except BaseException as error:
            if self._is_stopped or not isinstance(error, Exception | asyncio.CancelledError):
                raise
            result = failure_from(error, client, order)
        self._put(order, result)

    def _put(self, order: FetchOrder, what: Received | Failed | Arrival) -> None:
        """Queue an update for the next step: callbacks and events run where the crawl is driven."""
        self._updates.append((order, what))
        self._awake.set()


# Work in steps: short ones in the loop, long ones in a thread, so that the loop is free ----------

LONG = 0.005
"""Seconds: after a step that took longer, the following ones run in a thread."""


class Stepper:
    """Runs the steps of one piece of work, one after another."""

    def __init__(self) -> None:
        self._long = False
        self._spent = 0.0  # seconds since the loop could do other work

    async def run(self, steps: Generator[None, None, T]) -> T:
        """Take all steps of some work; return its result."""
        results: list[T] = []

        def work() -> Iterator[None]:
            results.append((yield from steps))

        left = work()
        while await self.next(left) is not END:
            pass
        return results[0]

    async def next(self, steps: Iterator[Any]) -> Any:
        """Run the next step and return its result, or ``END`` after the last one."""
        return await self.call(next, steps, END)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return the result of a function, called here unless it may take long."""
        if self._long:
            return await _in_thread(function, *arguments)
        began = time.perf_counter()
        result = function(*arguments)
        took = time.perf_counter() - began
        self._long = took > LONG
        self._spent += took
        if self._spent > LONG:  # many short steps are long, too
            self._spent = 0.0
            await asyncio.sleep(0)
        return result


async def _in_thread(function: Callable[..., T], *arguments: Any) -> T:
    work = asyncio.get_running_loop().run_in_executor(None, function, *arguments)
    try:
        return await asyncio.shield(work)
    except asyncio.CancelledError:
        await asyncio.wait([work])  # the same work must not continue elsewhere at the same time
        if not work.cancelled():
            work.exception()  # retrieved, so that asyncio does not log it
        raise
