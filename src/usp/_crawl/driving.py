"""What both drivers of a crawl share: everything except waiting and fetching; calls to a client.

A client needs ``get`` and ``set_max_response_data_length``, as in ultimate-sitemap-parser 1.8.1. Newer
methods are called only if its class defines them: a mock has every name, but no meaning for it.
"""

from __future__ import annotations

import inspect
import time
from contextlib import contextmanager
from dataclasses import replace
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from usp._base import shortage
from usp._base.reason import Reason
from usp._base.shortage import shortage_of
from usp._base.urls import read_url
from usp._crawl.crawl import Crawl
from usp._crawl.orders import GIVEN_UP, PATIENCE, Arrival, ClientMistake, Failed, Fetch, Received
from usp._store import Store
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import (
    AbstractAsyncWebClient,
    AbstractWebClient,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
    failure_reason,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Protocol

    from usp._crawl.orders import Settled
    from usp.events import Listener
    from usp.limits import Limits
    from usp.objects.sitemap import AbstractSitemap
    from usp.options import CrawlOptions

    N = TypeVar("N", bound=AbstractSitemap)
    N_co = TypeVar("N_co", bound=AbstractSitemap, covariant=True)

    class Top(Protocol[N_co]):
        """What a crawl began with: a website or a sitemap."""

        def tree(self) -> N_co: ...

    class Recorder(Protocol):
        """What takes the documents of a crawl as they are settled."""

        def take(self, documents: Iterable[Settled]) -> None: ...

        def close(self, *, keep: bool) -> None: ...

    Recording: TypeAlias = Callable[[Crawl, Any], Recorder]


News: TypeAlias = tuple[Fetch, Received | Failed | Arrival]
"""The result of an order, or a document that has begun to arrive."""

_TOTAL_FACTOR = 2  # total requests of a crawl at a time, as a multiple of those to one host
_HEAD_START = 0.003  # seconds


def room_of(client: object) -> int:
    """Return how many requests a client may have in progress in total."""
    most = concurrency_of(client)
    return most * _TOTAL_FACTOR if most > 1 else 1


class Driving:
    """Passes orders, results and events between a crawl and its driver, and keeps the time.

    The very first request has a head start: if the host cannot be reached, no others are sent.
    """

    def __init__(
        self, crawl: Crawl, on_event: Listener | None = None, recorder: Recorder | None = None
    ) -> None:
        self._crawl = crawl
        self._on_event = on_event
        self._recorder = recorder
        self._ends_at: float | None = None
        self._others_at: float | None = None
        self._alone = True  # whether the other requests still wait
        self._starved = False  # whether there were fewer descriptors than room
        self.is_stopped = False  # the results are no longer wanted

    def orders(self, room: int) -> list[Fetch]:
        """Return what to fetch now, as far as there is room and a descriptor for it."""
        wanted = self._room(room)
        granted = shortage.begin(wanted)
        orders = self._crawl.next_fetches(granted, time.monotonic())
        shortage.give_back(granted - len(orders))
        self._starved = granted < wanted
        return orders

    def _room(self, room: int) -> int:
        if self._others_at is None:
            self._others_at = time.monotonic() + _HEAD_START
            return min(room, 1)
        self._alone = False
        return room

    def take(self, news: News) -> None:
        """Pass the result of an order to the crawl, and emit the events that follow."""
        order, what = news
        if isinstance(what, Arrival):
            self._crawl.arriving(order, what)
        else:
            shortage.give_back(1)
            self._crawl.finished(order, what, time.monotonic())
        self.tell()

    def tell(self) -> None:
        """Emit the events, and record the documents, since the last call."""
        if self._recorder is not None:
            self._recorder.take(self._crawl.take_documents())
        if self._on_event is not None:
            for event in self._crawl.take_events():
                self._on_event(event)

    def stop(self) -> None:
        """End the fetches in progress: their results are no longer wanted."""
        self.is_stopped = True

    def given_up(self) -> Reason | None:
        """Return why a fetch should end, if it should; may be called from any thread."""
        return GIVEN_UP if self.is_stopped else self._crawl.overdue(time.monotonic())

    def pause(self, *, room: bool) -> float | None:
        """Return the maximum number of seconds to wait for news; None for no maximum."""
        now, crawl = time.monotonic(), self._crawl
        if crawl.ending is not None:
            self._ends_at = self._ends_at or now + PATIENCE
            if now >= self._ends_at:
                crawl.abandon()
            return max(0.0, self._ends_at - now)
        # A request that is due can begin only when there is room, and room comes with news.
        wake_at = crawl.wake_at(room=room)
        if self._alone and self._others_at is not None:
            wake_at = self._others_at if wake_at is None else min(wake_at, self._others_at)
        if self._starved:  # descriptors may be closed without notice
            wake_at = min(now + shortage.PAUSE, wake_at or now + shortage.PAUSE)
        return None if wake_at is None else max(0.0, wake_at - now)


# A crawl from its beginning to its tree ------------------------------------------------------------


INTERRUPTED = Reason(FailureCode.INTERRUPTED, "the crawl was interrupted")
"""Why a crawl ends on Ctrl-C if what was found is to be kept."""


def begin(client: object, start_url: str, options: CrawlOptions) -> Crawl:
    """Return a new crawl for a client; a login in ``start_url`` is used for its host."""
    return Crawl(
        options,
        per_host=concurrency_of(client),
        start=read_url(start_url),
        tells=options.on_event is not None,
    )


def store_for(crawl: Crawl) -> Store:
    """Return a new store for the documents of a crawl."""
    return Store(spool=crawl.limits.spool_bytes)


def begin_recording(
    crawl: Crawl, top: Any, options: CrawlOptions, record: Recording | None = None
) -> Recorder | None:
    """Return the recorder of a crawl, to be closed by the caller, if one is requested."""
    if record is not None:
        return record(crawl, top)
    if options.record is None:
        return None
    from usp._snapshot.recording import Recorder  # noqa: PLC0415 - warcio is an extra

    return Recorder(options.record, crawl, top, options)


@contextmanager
def recording(
    crawl: Crawl, top: Any, options: CrawlOptions, record: Recording | None = None
) -> Iterator[Recorder | None]:
    """Yield the recorder of a crawl, if one is requested; its file is in place at the end."""
    recorder, done = begin_recording(crawl, top, options, record), False
    try:
        yield recorder
        done = True
    finally:
        if recorder is not None:
            recorder.close(keep=done)


def tree_of(top: Top[N], options: CrawlOptions) -> N:
    """Return the tree of a complete crawl, after calling ``on_failure`` for what is missing."""
    tree = top.tree()
    if options.on_failure is not None:
        for failure in tree.failures():
            options.on_failure(failure)
    return tree


# Calls to a web client of any kind -----------------------------------------------------------------


T = TypeVar("T")
R = TypeVar("R")


def for_crawl(client: T, start_url: str, limits: Limits) -> T:
    """Return the client for one crawl: the same, or a new one that it creates."""
    method = getattr(type(client), "for_crawl", None)
    return method(client, start_url, limits) if inspect.isfunction(method) else client


def prepared(client: T, start_url: str, limits: Limits, *, awaits: bool) -> T:
    """Return the client for one crawl, with the limit for the size of a response.

    Raises ``TypeError`` for an object that is not a web client, or is an asynchronous one unless the
    driver ``awaits``.
    """
    _check(client, awaits=awaits)
    client = for_crawl(client, start_url, limits)
    most = limits.document_bytes
    # One byte more shows that the limit is exceeded.
    client.set_max_response_data_length(None if most is None else most + 1)  # type: ignore[attr-defined]
    return client


def _check(client: object, *, awaits: bool) -> None:
    if isinstance(client, type) and issubclass(client, AbstractWebClient | AbstractAsyncWebClient):
        raise TypeError(f"web_client must be a client, not a class; pass {client.__name__}()")
    name = type(client).__name__
    if not _has(client, "get", "set_max_response_data_length"):
        raise TypeError(
            "web_client must have the methods get and set_max_response_data_length, which "
            f"{name} does not; pass a session as RequestsWebClient(session=...)"
        )
    if not awaits and is_async(client):
        raise TypeError(f"{name} is asynchronous; use the functions of usp.aio with it")


def concurrency_of(client: object) -> int:
    """Return how many requests to one host a client allows at a time: one, unless it sets more."""
    most = getattr(client, "max_concurrent_requests", 1)
    return most if issubclass(type(most), int) and most > 1 else 1


def is_async(client: object) -> bool:
    """Return whether the ``get`` of a client must be awaited."""
    if isinstance(client, AbstractWebClient | AbstractAsyncWebClient):  # or a mock of one
        return isinstance(client, AbstractAsyncWebClient)
    return inspect.iscoroutinefunction(getattr(client, "get", None))


def checked_response(response: Any, kind: Any) -> Any:
    """Return a response: a success of this ``kind``, or an error.

    Raises ``TypeError`` for an object that is neither, and does not have the methods of either.
    """
    if isinstance(response, kind) or issubclass(type(response), WebClientErrorResponse):
        return response
    if isinstance(response, WebClientErrorResponse) or _has(response, "message", "retryable"):
        return WebClientErrorResponse(str(response.message()), bool(response.retryable()))
    if kind is AbstractWebClientSuccessResponse and _has(response, "url", "header", "raw_data"):
        return response
    raise TypeError(
        f"get() of the web client returned {type(response).__name__}; it must return an "
        "AbstractWebClientSuccessResponse or a WebClientErrorResponse"
    )


def _has(response: object, *names: str) -> bool:
    return all(callable(getattr(response, name, None)) for name in names)


def call_newer(response: T, name: str, default: Callable[[T], R]) -> R:
    """Call a method that older response classes lack, or else the default.

    A user's response class may have something else under that name.
    """
    method = getattr(type(response), name, None)
    return (method if isinstance(method, FunctionType) else default)(response)


def mistake(error: BaseException, client: object = None, order: Fetch | None = None) -> Failed:
    """Return the failure for an unexpected exception, of a ``client`` or, without one, of ours.

    The exception of a client that is not ours is kept: its author may need it. Neither the message
    nor the exception contains the login of the order.
    """
    if order is not None and order.login is not None:
        error.args = tuple(
            order.without_secrets(text) if isinstance(text, str) else text for text in error.args
        )
    shortage = shortage_of(error)
    message = f"{type(error).__name__}: {error}"
    if order is not None:
        message = order.without_secrets(message)
    code = blamed(client)
    if code is FailureCode.CLIENT_ERROR and shortage is None and isinstance(error, Exception):
        return Failed(ClientMistake(error, message, secret=order is not None and bool(order.login)))
    return Failed(WebClientErrorResponse(Reason(code, message), retryable=False, shortage=shortage))


def blamed(client: object) -> FailureCode:
    """Return who is to blame for an exception: a client that is not ours, or this library."""
    foreign = client is not None and not getattr(client, "is_ours", False)
    return FailureCode.CLIENT_ERROR if foreign else FailureCode.INTERNAL_ERROR


def without_secrets(order: Fetch, error: WebClientErrorResponse) -> WebClientErrorResponse:
    """Return the error of a client, without the login that was passed to it."""
    message = error.message()
    safe = order.without_secrets(message)
    if safe == message:
        return error
    reason = failure_reason(error)
    hidden = replace(reason, text=order.without_secrets(reason.text))
    copy = WebClientErrorResponse(hidden, error.retryable())
    vars(copy).update(
        {name: value for name, value in vars(error).items() if not name.startswith("_")}
    )
    return copy
