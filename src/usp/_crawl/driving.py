"""What both drivers of a crawl do: everything but wait and fetch; and what they ask of a client.

A client needs ``get`` and ``set_max_response_data_length``, as in ultimate-sitemap-parser 1.8.1. What
has come later is asked of classes that really have it: a mock has every name, and means nothing by it.
"""

from __future__ import annotations

import inspect
import time
from contextlib import contextmanager
from dataclasses import replace
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
"""What came of an order, or has begun to come."""

_TOTAL_FACTOR = 2  # times the requests to one host that a crawl may have under way in all
_HEAD_START = 0.003  # seconds


def room_of(client: object) -> int:
    """Return how many requests a client may have under way in all."""
    most = concurrency_of(client)
    return most * _TOTAL_FACTOR if most > 1 else 1


class Driving:
    """Takes a crawl's orders and gives it the news, by the clock; whoever listens is told the events.

    The very first request has a head start: if nobody is there, the others need not find out.
    """

    def __init__(
        self, crawl: Crawl, on_event: Listener | None = None, recorder: Recorder | None = None
    ) -> None:
        self._crawl = crawl
        self._on_event = on_event
        self._recorder = recorder
        self._ends_at: float | None = None
        self._others_at: float | None = None
        self._alone = True  # whether the others still wait
        self._starved = False  # whether there were fewer descriptors than room
        self.is_stopped = False  # nobody is interested any more

    def orders(self, room: int) -> list[Fetch]:
        """Return what is to be fetched now, as far as there is room and a descriptor for it."""
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
        """Report to the crawl what came of an order; tell whoever listens what follows from it."""
        order, what = news
        if isinstance(what, Arrival):
            self._crawl.arriving(order, what)
        else:
            shortage.give_back(1)
            self._crawl.finished(order, what, time.monotonic())
        self.tell()

    def tell(self) -> None:
        """Tell whoever listens what has happened, and whoever records what has come."""
        documents = self._crawl.take_documents()
        if self._recorder is not None:
            self._recorder.take(documents)
        if self._on_event is not None:
            for event in self._crawl.take_events():
                self._on_event(event)

    def stop(self) -> None:
        """End what is being fetched: nobody is interested any more."""
        self.is_stopped = True

    def given_up(self) -> Reason | None:
        """Return why a fetch should end, if it should; may be asked from any thread."""
        return GIVEN_UP if self.is_stopped else self._crawl.overdue(time.monotonic())

    def pause(self, *, room: bool) -> float | None:
        """Return the seconds to wait for news at most, None for as long as it takes."""
        now, crawl = time.monotonic(), self._crawl
        if crawl.ending is not None:
            self._ends_at = self._ends_at or now + PATIENCE
            if now >= self._ends_at:
                crawl.abandon()
            return max(0.0, self._ends_at - now)
        # What is due can begin only when there is room for it, and room comes with news.
        wake_at = crawl.wake_at(room=room)
        if self._alone and self._others_at is not None:
            wake_at = self._others_at if wake_at is None else min(wake_at, self._others_at)
        if self._starved:  # whoever closes a descriptor may not tell us
            wake_at = min(now + shortage.PAUSE, wake_at or now + shortage.PAUSE)
        return None if wake_at is None else max(0.0, wake_at - now)


# A crawl from its beginning to its tree ------------------------------------------------------------


INTERRUPTED = Reason(FailureCode.INTERRUPTED, "the crawl was interrupted")
"""Why a crawl ends on Ctrl-C if what was found is to be kept."""


def begin(client: object, start_url: str, options: CrawlOptions) -> Crawl:
    """Return a new crawl with a client; a login in ``start_url`` is used for its host."""
    return Crawl(
        options,
        per_host=concurrency_of(client),
        start=read_url(start_url),
        tells=options.on_event is not None,
    )


def store_for(crawl: Crawl) -> Store:
    """Return a new store for what a crawl fetches."""
    return Store(spool=crawl.limits.spool_bytes)


def begin_recording(
    crawl: Crawl, top: Any, options: CrawlOptions, record: Recording | None = None
) -> Recorder | None:
    """Return what records a crawl, if ``record`` or the options ask for it; it is to be closed."""
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
    """Yield what records a crawl, if somebody asks for it; its file is in place at the end."""
    recorder, done = begin_recording(crawl, top, options, record), False
    try:
        yield recorder
        done = True
    finally:
        if recorder is not None:
            recorder.close(keep=done)


def tree_of(top: Top[N], options: CrawlOptions) -> N:
    """Return the tree of a complete crawl, after ``on_failure`` was told what is missing in it."""
    tree = top.tree()
    if options.on_failure is not None:
        for failure in tree.failures():
            options.on_failure(failure)
    return tree


# What a crawl asks of a web client, whatever that is -----------------------------------------------


T = TypeVar("T")
R = TypeVar("R")


def for_crawl(client: T, start_url: str, limits: Limits) -> T:
    """Return the client of one crawl: the same, or one that it makes for that."""
    method = getattr(type(client), "for_crawl", None)
    return method(client, start_url, limits) if inspect.isfunction(method) else client


def prepared(client: T, start_url: str, limits: Limits, *, awaits: bool) -> T:
    """Return the client of one crawl, told how much it may receive.

    Raises ``TypeError`` for what is not a web client, or is one that only a driver that ``awaits``
    can use.
    """
    _check(client, awaits=awaits)
    client = for_crawl(client, start_url, limits)
    most = limits.document_bytes
    # One byte more, and the limit is passed.
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
    """Return how many requests to one host a client takes at a time: one, unless it says more."""
    most = getattr(client, "max_concurrent_requests", 1)
    return most if issubclass(type(most), int) and most > 1 else 1


def is_async(client: object) -> bool:
    """Return whether ``get`` of a client must be awaited."""
    if isinstance(client, AbstractWebClient | AbstractAsyncWebClient):  # or a mock of one
        return isinstance(client, AbstractAsyncWebClient)
    return inspect.iscoroutinefunction(getattr(client, "get", None))


def checked_response(response: Any, kind: Any) -> Any:
    """Return a response as what it is: a success of this ``kind``, or an error.

    Raises ``TypeError`` for what is neither, and has not the methods of either.
    """
    if issubclass(type(response), WebClientErrorResponse) or isinstance(response, kind):
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
    """Call a method that responses have not always had, or else the default.

    A response class of a user's own may have something else under that name.
    """
    method = getattr(type(response), name, None)
    return (method if inspect.isfunction(method) else default)(response)


def mistake(error: BaseException, client: object = None, order: Fetch | None = None) -> Failed:
    """Return the failure of a ``client`` that raised what it should not; without one it is ours.

    The exception of a client that is not ours is kept: its author may have to see it. Neither the
    message nor the exception holds the login of the order.
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
    """Return whose mistake an exception is: a client's that is not ours, or ours."""
    foreign = client is not None and not getattr(client, "is_ours", False)
    return FailureCode.CLIENT_ERROR if foreign else FailureCode.INTERNAL_ERROR


def without_secrets(order: Fetch, error: WebClientErrorResponse) -> WebClientErrorResponse:
    """Return the error of a client, without the login that it was given."""
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
