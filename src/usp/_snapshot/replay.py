"""Replays a crawl from a snapshot: the same decisions, answered from the records."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from usp._base.reason import Reason
from usp._crawl.crawl import Crawl
from usp._crawl.look import FirstLook, read_whole
from usp._crawl.orders import Failed, HostGivenUp, Received, Settled
from usp._formats.document import DocumentParser
from usp._http.flow import phrase
from usp._snapshot.bodies import damaged, recorded_body
from usp._snapshot.entries import failure_from, key_of, look_from
from usp._snapshot.warc import DamagedRecord
from usp._store import Document
from usp.objects.failure_codes import FailureCode
from usp.web_client.abstract_client import BrokenBody, WebClientErrorResponse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp._crawl.orders import Fetch
    from usp._snapshot.entries import Entry
    from usp._snapshot.foreign import Capture
    from usp._snapshot.snapshot import Snapshot
    from usp.limits import Limits
    from usp.objects.exchange import Exchange
    from usp.options import CrawlOptions

T = TypeVar("T")

_AT_ONCE = 64  # orders


def replay(
    snapshot: Snapshot,
    search: Callable[[Crawl], T],
    options: CrawlOptions,
    *,
    last_good: bool = False,
) -> T:
    """Crawl a snapshot; return what ``search`` made of it, the top of the tree."""
    crawl = Crawl(options, per_host=_AT_ONCE, tells=options.on_event is not None)
    top = search(crawl)
    answers = Answers(snapshot, options.effective_limits, last_good=last_good)
    while not crawl.complete:
        for order in crawl.next_fetches(_AT_ONCE, time.monotonic()):
            crawl.recall(order, answers.settled(order))
        for event in crawl.take_events():
            if options.on_event is not None:
                options.on_event(event)
        crawl.take_documents()
    return top


class Answers:
    """Answers the orders of a crawl from a snapshot.

    With ``last_good``, a document that failed is its last good response.
    """

    def __init__(self, snapshot: Snapshot, limits: Limits, *, last_good: bool = False) -> None:
        self._last_good = last_good
        self._snapshot = snapshot
        self._limits = limits

    def settled(self, order: Fetch) -> Settled:
        """Return what came of an order when it was recorded."""
        snapshot = self._snapshot
        entry = snapshot.entries.get(key_of(order.role, order.url))
        if entry is not None:
            return self.recalled(entry.asked_as(order.url))
        if snapshot.foreign is not None:
            found = snapshot.foreign.find(order.url, self._limits)
            if found is not None:
                result = self._captured(order, found)
                return Settled(order.url, order.role, order.lastmod, 1, result)
        return Settled(order.url, order.role, order.lastmod, 0, Failed(self._absent(order)))

    def recalled(self, entry: Entry) -> Settled:
        """Return a document as it was recorded."""
        if self._last_good and entry.before is not None:
            entry = entry.before
        return Settled(entry.url, entry.role, entry.lastmod, entry.attempts, self._result(entry))

    def _result(self, entry: Entry) -> Received | Failed:
        if entry.error is not None or entry.at is None or entry.exchange is None:
            return failure_from(entry.error or {}, entry.exchange)
        exchange, limits = entry.exchange, self._limits
        size = exchange.received
        most = limits.document_bytes
        if limits.pages is None and (most is None or size <= most):
            look = look_from(entry) if self._snapshot.is_sound(entry) else None
            if look is not None:
                document = Document(self._snapshot.store, exchange, size, None, ((entry.at, size),))
                return Received(document, look)
        broken, ended = exchange.broken, None
        if entry.ended:
            broken, ended = None, broken
        return self._read(entry, exchange, entry.at, broken, ended)

    def _captured(self, order: Fetch, found: Capture) -> Received | Failed:
        """Return what a record of another program is."""
        if not found.is_good:
            status = found.head.status
            said = f"{status} {phrase(status, found.head.reason)}".strip()
            error = WebClientErrorResponse(
                self._limits.reached("redirects") if found.is_redirect else said,
                retryable=False,
                status=status,
                exchange=found.exchange,
            )
            return Failed(error, found.exchange)
        return self._read(order, found.exchange, found.record.offset, found.broken)

    def _read(
        self,
        order: Fetch | Entry,
        exchange: Exchange,
        offset: int,
        broken: Reason | None = None,
        ended: Reason | None = None,
    ) -> Received | Failed:
        """Take the first look at a recorded document, within the limits of one that is received."""
        limits = self._limits
        parser = DocumentParser(
            exchange.final_url,
            content_type=exchange.content_type,
            content_encoding=exchange.content_encoding,
            role=order.role,
            glance=limits.pages is None,
            fast=True,
            limits=limits,
        )
        first, size = FirstLook(parser, limits), 0
        stopped: Reason | None = None
        deadline = _deadline(limits)
        try:
            for chunk in self._body(offset):
                most = limits.document_bytes
                if most is not None and size + len(chunk) > most:
                    chunk = chunk[: most - size]  # noqa: PLW2901
                    stopped = limits.reached("document_bytes")
                elif deadline is not None and time.monotonic() > deadline:
                    stopped = limits.reached("document_seconds")
                size += len(chunk)
                if not first.feed(chunk) or stopped is not None:
                    break
        except (DamagedRecord, BrokenBody) as error:
            broken = broken or damaged(error)
        ended = stopped or ended
        look = first.close(broken, ended)
        if not size and (broken or ended):
            why = broken or ended
            assert why is not None
            return Failed(
                WebClientErrorResponse(why.after("no data came"), retryable=False), exchange
            )
        if not self._snapshot.entries:
            exchange = replace(exchange, received=size, charset=parser.encoding)
        exchange = replace(exchange, broken=ended or broken)
        document = Document(self._snapshot.store, exchange, size, None, ((offset, size),))
        if not first.is_enough:
            look = read_whole(document, exchange.final_url, limits, broken, ended)
        return Received(document, look)

    def _body(self, offset: int) -> Iterator[bytes]:
        return recorded_body(self._snapshot.file.record(offset))

    def _absent(self, order: Fetch) -> WebClientErrorResponse:
        """Return the error of a document that is not in the snapshot."""
        code = FailureCode.NOT_IN_SNAPSHOT
        if order.is_probe:  # nobody says that there is one
            return HostGivenUp(Reason(code, code.message), retryable=False)
        incomplete = "" if self._snapshot.is_complete else ", which is incomplete"
        return WebClientErrorResponse(Reason(code, f"{code.message}{incomplete}"), retryable=False)


def _deadline(limits: Limits) -> float | None:
    most = limits.document_seconds
    return None if most is None else time.monotonic() + most
