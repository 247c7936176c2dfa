"""Drives a crawl on asyncio: executes its orders, several at a time, and reports back."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from usp._crawl.fetch import END, checked_response, fetch, fetch_document, is_async
from usp._crawl.receiver import failure_from
from usp._crawl.thread_driver import DriverCore
from usp.web_client.abstract_client import AbstractAsyncWebClientSuccessResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator

    from usp._crawl.crawl import Crawl
    from usp._crawl.orders import Arrival, Failed, FetchOrder, Received
    from usp._crawl.thread_driver import FetchUpdate, ResultRecorder
    from usp.options import CrawlOptions
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient


class AsyncioDriver:
    """Drives a crawl, step by step or to its end, in the running event loop.

    An asynchronous context manager: leaving it cancels the requests. A synchronous client is called
    in threads, as many at a time as it allows. ``streams`` is whether page sitemaps are read while
    they are received.
    """

    def __init__(
        self,
        crawl: Crawl,
        client: AbstractAsyncWebClient | AbstractWebClient,
        options: CrawlOptions,
        *,
        streams: bool = False,
        recorder: ResultRecorder | None = None,
    ) -> None:
        self._streams = streams
        self._crawl = crawl
        self._client: Any = client
        self._core = DriverCore(crawl, client, options, recorder)
        self._is_async = is_async(client)
        self._tasks: set[asyncio.Task[None]] = set()
        self._updates: deque[FetchUpdate] = deque()
        self._awake = asyncio.Event()
        self._alarm = _Alarm(self._awake.set)
        self.wake = partial(asyncio.get_running_loop().call_soon_threadsafe, self._awake.set)
        """End the wait of a step; may be called from any thread."""

    async def __aenter__(self) -> AsyncioDriver:  # noqa: PYI034 - there are no subclasses
        return self

    async def __aexit__(self, *_: object) -> None:
        self._core.is_stopped = True
        self._alarm.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self) -> None:
        """Drive the crawl until it is complete."""
        while not self._crawl.complete:
            await self.step()

    async def step(self, *, wait: bool = True) -> None:
        """Start new orders and process the updates; if there are none, ``wait`` for some."""
        for order in self._core.orders():
            task = asyncio.create_task(self._execute(order))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        if self._crawl.complete:
            return
        pause = self._core.pause()
        if wait:
            self._alarm.set(pause)
            await self._awake.wait()
        else:
            await asyncio.sleep(0)
        self._awake.clear()
        while self._updates:
            self._core.take(self._updates.popleft())

    async def _execute(self, order: FetchOrder) -> None:
        client, core, limits = self._client, self._core, self._crawl.limits
        loop = asyncio.get_running_loop()
        announce: Callable[[Arrival], object] | None = None
        if self._streams:
            announce = partial(loop.call_soon_threadsafe, self._put, order)  # type: ignore[arg-type]
        given = (core.store, core.stop_reason, announce, limits)
        result: Received | Failed
        try:
            if self._is_async:
                result = await fetch(order, _AwaitedCalls(client), *given)
            else:
                result = await asyncio.to_thread(fetch_document, order, client, *given)
        except BaseException as error:
            if core.is_stopped or not isinstance(error, Exception | asyncio.CancelledError):
                raise
            result = failure_from(error, client, order)
        self._put(order, result)

    def _put(self, order: FetchOrder, what: Received | Failed | Arrival) -> None:
        """Queue an update for the next step: callbacks and events run where the crawl is driven."""
        self._updates.append((order, what))
        self._awake.set()


class _AwaitedCalls:
    """Calls an asynchronous client; the work in between is done in short steps."""

    def __init__(self, client: Any) -> None:
        self.client = client
        self._stepper = Stepper()
        self._response: Any = None
        self._body: Any = None
        self._is_read = False

    async def get(self, url: str) -> Any:
        self._response = await self.client.get(url)
        return checked_response(self._response, AbstractAsyncWebClientSuccessResponse)

    async def chunk(self) -> object:
        if self._body is None:
            self._body = aiter(self._response.body())
        chunk = await anext(self._body, END)
        self._is_read = chunk is END
        return chunk

    async def run(self, steps: Generator[None, None, T]) -> T:
        results: list[T] = []

        def work() -> Iterator[None]:
            results.append((yield from steps))

        left = work()
        while await self._stepper.next(left) is not END:
            pass
        return results[0]

    async def close(self) -> None:
        if not self._is_read and hasattr(self._body, "aclose"):  # a user's may be any iterator
            await self._body.aclose()
        if isinstance(self._response, AbstractAsyncWebClientSuccessResponse):
            await self._response.close()


class _Alarm:
    """Calls a function after a pause.

    Nearly all pauses end at the same time, the time limit of the crawl, so one timer serves them all.
    A call that comes too early does no harm.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._timer: asyncio.TimerHandle | None = None

    def set(self, pause: float | None) -> None:
        """Call after at most this many seconds, or never if it is None."""
        if pause is None:
            return
        loop = asyncio.get_running_loop()
        at = loop.time() + pause
        if self._timer is None or self._timer.when() > at + _PUNCTUAL:
            self.cancel()
            self._timer = loop.call_at(at, self._ring)

    def _ring(self) -> None:
        self._timer = None
        self._call()

    def cancel(self) -> None:
        """Cancel the call."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


# Work in steps: short ones in the loop, long ones in a thread, so that the loop is free ----------

_PUNCTUAL = 0.001  # seconds

LONG = 0.005
"""Seconds: after a step that took longer, the following ones run in a thread."""

T = TypeVar("T")


class Stepper:
    """Runs the steps of one piece of work, one after another."""

    def __init__(self) -> None:
        self._long = False
        self._spent = 0.0  # seconds since the loop could do other work

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
