"""Drives a crawl on asyncio: executes its orders, several at a time, and reports back."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any, TypeVar

from usp._crawl.driving import Driving, is_async, mistake, room_of
from usp._crawl.fetch import END, Need, fetch_document, fetching
from usp._crawl.orders import RESULTS, Arrival
from usp.web_client.abstract_client import AbstractAsyncWebClientSuccessResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp._crawl.crawl import Crawl
    from usp._crawl.driving import News, Recorder
    from usp._crawl.orders import Failed, Fetch, Received
    from usp._store import Store
    from usp.events import Listener
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
        store: Store,
        on_event: Listener | None = None,
        recorder: Recorder | None = None,
        *,
        streams: bool = False,
    ) -> None:
        self._streams = streams
        self._crawl = crawl
        self._client = client
        self._store = store
        self._driving = Driving(crawl, on_event, recorder)
        self._most = room_of(client)
        self._is_async = is_async(client)
        self._busy = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._inbox: deque[News] = deque()
        self._news = asyncio.Event()
        self._alarm = _Alarm(self._news.set)

    async def __aenter__(self) -> AsyncioDriver:  # noqa: PYI034 - there are no subclasses
        return self

    async def __aexit__(self, *_: object) -> None:
        self._driving.stop()
        self._alarm.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self) -> None:
        """Drive the crawl until it is complete."""
        while not self._crawl.complete:
            await self.step()

    async def step(self, *, wait: bool = True) -> None:
        """Start new orders and process the news; if there is none, ``wait`` for some."""
        driving = self._driving
        for order in driving.orders(self._most - self._busy):
            self._busy += 1
            task = asyncio.create_task(self._obey(order))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        driving.tell()
        if self._crawl.complete:
            return
        pause = driving.pause(room=self._busy < self._most)
        if wait:
            self._alarm.set(pause)
            await self._news.wait()
        else:
            await asyncio.sleep(0)
        self._news.clear()
        while self._inbox:
            news = self._inbox.popleft()
            self._busy -= not isinstance(news[1], Arrival)
            driving.take(news)

    def wake_by(self, arrival: Arrival) -> None:
        """End the wait of a step when more of a document has arrived."""
        loop = asyncio.get_running_loop()
        arrival.call_once(lambda: loop.call_soon_threadsafe(self._news.set))

    async def _obey(self, order: Fetch) -> None:
        result: Received | Failed
        try:
            if self._is_async:
                result = await self._fetch(order, self._client)
            else:
                result = await self._fetch_in_thread(order, self._client)
        except BaseException as error:
            if self._driving.is_stopped or not isinstance(
                error, Exception | asyncio.CancelledError
            ):
                raise
            result = mistake(error, self._client, order)
        self._put(order, result)

    async def _fetch_in_thread(self, order: Fetch, client: Any) -> Received | Failed:
        loop = asyncio.get_running_loop()

        def announce(arrival: Arrival) -> None:
            loop.call_soon_threadsafe(self._put, order, arrival)

        given_up, limits = self._driving.given_up, self._crawl.limits
        heard = announce if self._streams else None
        return await asyncio.to_thread(
            fetch_document, order, client, self._store, given_up, heard, limits
        )

    async def _fetch(self, order: Fetch, client: Any) -> Received | Failed:
        """Return the result of an order: ``fetch_document`` for an asynchronous client."""
        kind, given_up = AbstractAsyncWebClientSuccessResponse, self._driving.given_up
        limits, streams = self._crawl.limits, self._streams
        fetch = fetching(order, client, self._store, given_up, limits, kind, streams=streams)
        stepper = Stepper()
        response: Any = None
        body: Any = None
        is_read = False
        step = next(fetch)
        try:
            while not isinstance(step, RESULTS):
                value: Any = None
                try:
                    if step is Need.ANSWER:
                        value = response = await client.get(order.address)
                    elif step is Need.PIECE:
                        if body is None:
                            body = aiter(response.body())
                        value = await anext(body, END)
                        is_read = value is END
                    elif isinstance(step, Arrival):
                        self._put(order, step)
                except Exception as error:  # noqa: BLE001 - what it means is decided there
                    step = await stepper.call(fetch.throw, error)
                else:
                    step = await stepper.call(fetch.send, value)
            return step
        finally:
            fetch.close()
            if not is_read and hasattr(body, "aclose"):  # a user's client may have any iterator
                await body.aclose()
            if isinstance(response, AbstractAsyncWebClientSuccessResponse):
                await response.close()

    def _put(self, order: Fetch, what: Received | Failed | Arrival) -> None:
        """Queue news for the next step: callbacks and events run where the crawl is driven."""
        self._inbox.append((order, what))
        self._news.set()


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
