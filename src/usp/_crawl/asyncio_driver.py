"""Drives a crawl on asyncio: obeys its orders, several at a time, and reports back."""

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
    """Drives a crawl, step by step or to its end, in the loop that is running.

    An asynchronous context: leaving it cancels what is under way. A synchronous client is asked in
    threads, as many at a time as it allows. ``streams`` is whether somebody reads page sitemaps while
    they come in.
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

    async def __aenter__(self) -> AsyncioDriver:  # noqa: PYI034 - nobody subclasses it
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
        """Hand out orders, and take the news there is; ``wait`` for it unless there is some."""
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
        """End the wait of a step when more of a document has come."""
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
        """Return what came of an order: as ``fetch_document``, with a client that is awaited."""
        kind, given_up = AbstractAsyncWebClientSuccessResponse, self._driving.given_up
        limits, streams = self._crawl.limits, self._streams
        fetch = fetching(order, client, self._store, given_up, limits, kind, streams=streams)
        stepper = Stepper()
        response: Any = None
        body: Any = None
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
                    elif isinstance(step, Arrival):
                        self._put(order, step)
                except Exception as error:  # noqa: BLE001 - what it means is decided there
                    step = await stepper.call(fetch.throw, error)
                else:
                    step = await stepper.call(fetch.send, value)
            return step
        finally:
            fetch.close()
            if hasattr(body, "aclose"):  # a generator; a client of a user may have any iterator
                await body.aclose()
            if isinstance(response, AbstractAsyncWebClientSuccessResponse):
                await response.close()

    def _put(self, order: Fetch, what: Received | Failed | Arrival) -> None:
        """Leave news for the next step: callbacks and events run where the crawl is driven."""
        self._inbox.append((order, what))
        self._news.set()


class _Alarm:
    """Calls a function after a pause.

    Nearly all pauses end at the same time, that of the whole crawl: one timer serves them all. One
    that rings too early does no harm: whoever is called looks what there is to do.
    """

    def __init__(self, call: Callable[[], object]) -> None:
        self._call = call
        self._timer: asyncio.TimerHandle | None = None

    def set(self, pause: float | None) -> None:
        """Call after so many seconds at the latest, or never if they are None."""
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
        """Do not call any more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


# Work in steps: short ones in the loop, long ones in a thread, so that the loop is free ----------

_PUNCTUAL = 0.001  # seconds

LONG = 0.005
"""Seconds: after a step that took longer, those that follow are made in a thread."""

T = TypeVar("T")


class Stepper:
    """Makes the steps of one piece of work, one after another."""

    def __init__(self) -> None:
        self._long = False
        self._spent = 0.0  # seconds since the loop had its turn

    async def next(self, steps: Iterator[Any]) -> Any:
        """Make the next step and return what it gave, or ``END`` after the last one."""
        return await self.call(next, steps, END)

    async def call(self, function: Callable[..., T], *arguments: Any) -> T:
        """Return what a function returns, called here if that will not take long."""
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
        await asyncio.wait([work])  # nobody may go on with the same thing beside it
        if not work.cancelled():
            work.exception()  # has been seen
        raise
