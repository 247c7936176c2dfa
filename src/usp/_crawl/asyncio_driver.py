"""Drives a crawl on asyncio: obeys its orders, several at a time, and reports back."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, TypeVar

from usp._base import shortage
from usp._crawl.clients import concurrency_of, is_async, sorted_out
from usp._crawl.fetch import BadBody, Reception, checked, fetch_document, mistake, told
from usp._crawl.thread_driver import TOTAL_FACTOR, Patience
from usp._crawl.values import Arrival, Failed, not_fetched
from usp.web_client.abstract_client import (
    AbstractAsyncWebClientSuccessResponse,
    BrokenBody,
    NoWebClientException,
    WebClientErrorResponse,
)

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Iterator

    from usp._crawl.crawl import Crawl
    from usp._crawl.values import Fetch, Received
    from usp._store import Store
    from usp.events import Listener
    from usp.web_client.abstract_client import AbstractAsyncWebClient, AbstractWebClient


class LoopDriver:
    """Drives a crawl, step by step or to its end, in the loop that is running.

    An asynchronous context: leaving it cancels what is under way. A synchronous client is asked in
    threads, as many at a time as it allows.
    """

    def __init__(
        self,
        crawl: Crawl,
        client: AbstractAsyncWebClient | AbstractWebClient,
        store: Store,
        on_event: Listener | None = None,
    ) -> None:
        self._crawl = crawl
        self._client = client
        self._store = store
        self._on_event = on_event
        self._patience = Patience(crawl)
        self._most = concurrency_of(client)
        self._is_async = is_async(client)
        self._busy = 0
        if self._most > 1:
            self._most *= TOTAL_FACTOR
        self._tasks: set[asyncio.Task[None]] = set()
        self._inbox: deque[tuple[Fetch, Received | Failed | Arrival]] = deque()
        self._news = asyncio.Event()
        self._stopped = False

    async def __aenter__(self) -> LoopDriver:  # noqa: PYI034 - nobody subclasses it
        return self

    async def __aexit__(self, *_: object) -> None:
        self._stopped = True
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def run(self) -> None:
        """Drive the crawl until it is complete."""
        while not self._crawl.complete:
            await self.step()

    async def step(self, *, wait: bool = True) -> None:
        """Give out orders, and take the news there is; ``wait`` for it unless there is some."""
        crawl = self._crawl
        for order in self._patience.orders(self._most - self._busy):
            self._busy += 1
            task = asyncio.create_task(self._obey(order))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        self._tell()
        if crawl.complete:
            return
        pause = self._patience.pause(room=self._busy < self._most)
        if wait:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._news.wait(), pause)
        else:
            await asyncio.sleep(0)
        self._news.clear()
        while self._inbox:
            order, what = self._inbox.popleft()
            if isinstance(what, Arrival):
                crawl.arriving(order, what)
            else:
                self._busy -= 1
                shortage.give_back(1)
                crawl.finished(order, what, time.monotonic())
        self._tell()

    def call_me(self, arrival: Arrival) -> None:
        """End the wait of a step when more of a document has come."""
        loop = asyncio.get_running_loop()
        arrival.on_growth = lambda: loop.call_soon_threadsafe(self._news.set)

    def _tell(self) -> None:
        for event in self._crawl.take_events():
            if self._on_event:
                self._on_event(event)

    async def _obey(self, order: Fetch) -> None:
        result: Received | Failed
        try:
            if self._is_async:
                result = await self._fetch(order, self._client)
            else:
                result = await self._fetch_in_thread(order, self._client)
        except BaseException as error:
            if self._stopped or not isinstance(error, Exception | asyncio.CancelledError):
                raise
            result = mistake(error, self._client, order)
        self._put(order, result)

    async def _fetch_in_thread(self, order: Fetch, client: Any) -> Received | Failed:
        loop = asyncio.get_running_loop()

        def announce(arrival: Arrival) -> None:
            loop.call_soon_threadsafe(self._put, order, arrival)

        return await asyncio.to_thread(
            fetch_document, order, client, self._store, self._given_up, announce, self._crawl.limits
        )

    async def _fetch(self, order: Fetch, client: Any) -> Received | Failed:
        """Fetch a document, store it and look at it; every failure is returned."""
        started = time.monotonic()
        try:
            kind = AbstractAsyncWebClientSuccessResponse
            response: Any = sorted_out(await client.get(order.address), kind)
        except NoWebClientException:
            return not_fetched()
        if isinstance(response, WebClientErrorResponse):
            return Failed(told(order, response))

        def announce(arrival: Arrival) -> None:
            self._put(order, arrival)

        try:
            limits = self._crawl.limits
            reception = Reception(order, response, self._store, started, announce, limits)
            return await _receive(reception, response, self._given_up, client)
        finally:
            await response.close()

    def _given_up(self) -> str | None:
        return "the crawl was given up" if self._stopped else self._crawl.overdue(time.monotonic())

    def _put(self, order: Fetch, what: Received | Failed | Arrival) -> None:
        """Leave news for the next step: callbacks and events run where the crawl is driven."""
        self._inbox.append((order, what))
        self._news.set()


async def _pieces(
    response: AbstractAsyncWebClientSuccessResponse,
) -> AsyncGenerator[bytes, None]:
    """Yield the pieces of a body; raises ``BadBody`` for a mistake of whoever gives them."""
    body = response.body()
    try:
        async for piece in body:
            yield checked(piece)
    except (BrokenBody, GeneratorExit):
        raise
    except Exception as error:
        raise BadBody(error) from error
    finally:
        if hasattr(body, "aclose"):  # a generator; a client of a user may have any iterator
            await body.aclose()


async def _receive(
    reception: Reception,
    response: AbstractAsyncWebClientSuccessResponse,
    given_up: Callable[[], str | None],
    client: object,
) -> Received | Failed:
    stepper = Stepper()
    try:
        async with aclosing(_pieces(response)) as body:
            async for chunk in body:
                if reason := given_up():
                    return await stepper.call(reception.give_up, reason)
                steps = reception.take(chunk)
                while await stepper.next(steps) is not END:
                    reception.tell()
                    if reason := given_up():
                        return await stepper.call(reception.give_up, reason)
                reception.tell()
                if not reception.wants_more:
                    break
        return await stepper.call(reception.end)
    except BrokenBody as error:
        return await stepper.call(reception.end, str(error))
    except BadBody as error:
        return reception.fail(error.exception, client)
    except Exception as error:  # noqa: BLE001 - a mistake of ours must not end the crawl
        return reception.fail(error)
    except BaseException as error:
        reception.fail(error)
        raise


# Work in steps: short ones in the loop, long ones in a thread, so that the loop is free ----------

LONG = 0.005
"""Seconds: after a step that took longer, those that follow are made in a thread."""

END = object()
"""What :meth:`Stepper.next` returns after the last step."""

T = TypeVar("T")


class Stepper:
    """Makes the steps of one piece of work, one after another."""

    def __init__(self) -> None:
        self._long = False
        self._spent = 0.0  # seconds since the loop had its turn

    async def next(self, steps: Iterator[Any]) -> Any:
        """Make the next step and return what it gave, or :data:`END`."""
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
