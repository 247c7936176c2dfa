"""Drives a crawl on asyncio: executes its orders, several at a time, and reports back."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Self, TypeVar

from usp._crawl.fetch import END, fetch, fetch_document, is_async
from usp._crawl.receiver import failure_from
from usp._crawl.thread_driver import DriverCore

if TYPE_CHECKING:
    from usp._crawl.orders import Arrival, Failed, FetchOrder, Received
    from usp._crawl.page_stream import PageStream
    from usp._crawl.thread_driver import FetchUpdate
    from usp._crawl.website import Search
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient

T = TypeVar("T")


class AsyncioDriver(DriverCore):
    """Drives a crawl, step by step, in the running event loop.

    An asynchronous context manager: leaving it cancels the requests. A synchronous client is called
    in threads, as many at a time as it allows.
    """

    def __init__(
        self,
        search: Search,
        client: AbstractAsyncWebClient | AbstractWebClient,
        *,
        stream: type[PageStream] | None = None,
    ) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._updates: deque[FetchUpdate] = deque()
        self._awake = asyncio.Event()
        soon: Any = asyncio.get_running_loop().call_soon_threadsafe
        self._announce = partial(soon, self._put)
        self.wake = partial(soon, self._awake.set)
        super().__init__(search, client, stream)

    async def __aenter__(self) -> Self:
        self._shown.__enter__()
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
            self._shown.__exit__(None, None, None)
            if self._recorder is not None:
                await asyncio.to_thread(self._recorder.close, keep=done)

    def interrupted(self) -> bool:
        """End the crawl as every driver does; the task continues, until it is cancelled again."""
        is_kept = super().interrupted()
        task = asyncio.current_task()
        if is_kept and task is not None:
            task.uncancel()
        return is_kept

    async def step(self) -> None:
        """Start new orders and process updates; wait for them if the stream has nothing to read."""
        for order in self._orders():
            task = asyncio.create_task(self._execute(order))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self.crawl.complete:
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(self._pause()):
                await self._awake.wait()
        self._awake.clear()
        while self._updates:
            self._take(self._updates.popleft())

    async def _execute(self, order: FetchOrder) -> None:
        client = self._context.client
        result: Received | Failed
        try:
            if is_async(client):
                result = await fetch(order, self._context, Stepper())
            else:
                result = await asyncio.to_thread(fetch_document, order, self._context)
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
