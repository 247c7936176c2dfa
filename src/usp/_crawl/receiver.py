"""Receives a document and reads it for the first time: what it is, and what it declares.

:class:`DocumentProbe` reads; :class:`BodyReceiver` stores what a client receives, within limits;
:func:`read_document` takes what a caller has, with children that nobody fetches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from http import HTTPStatus
from types import FunctionType
from typing import TYPE_CHECKING, Any, TypeVar

from usp._base.display import excerpt
from usp._base.reason import Reason
from usp._base.shortage import shortage_of
from usp._base.urls import without_login
from usp._crawl import journal
from usp._crawl.child_filter import child_slot, refuse, skipped_links
from usp._crawl.orders import (
    UNFETCHED,
    Arrival,
    ClientRaised,
    Failed,
    FetchOrder,
    HasEarlierResults,
    LeftOut,
    NotRequested,
    Probe,
    Received,
    TreeSlot,
    node_of,
)
from usp._crawl.stored_pages import UniquePages, note_length, result_of
from usp._formats.abstract_parser import MAX_PIECE, ChildEntry, Entry, RemovedEntry
from usp._formats.document import DocumentParser, Role
from usp._formats.values import date
from usp._http.identity import safe_headers
from usp._store import CHUNK, Document, DocumentWriter, SpoolFull, Store
from usp.limits import DEFAULT, LimitReached, Limits
from usp.objects.exchange import Exchange
from usp.objects.failure_codes import FailureCode
from usp.objects.problem import Problem
from usp.objects.sitemap import AbstractSitemap, PagesHTMLSitemap, unfetched
from usp.web_client.abstract_client import ResponseFacts, WebClientErrorResponse

if TYPE_CHECKING:
    from pathlib import Path

    from usp._crawl.hints import NamedHosts
    from usp._formats.abstract_parser import PageBatch, PageEntry
    from usp.objects.sitemap import AbstractPagesSitemap

T = TypeVar("T")
R = TypeVar("R")

_SLICE = 64 * 1024  # bytes
_FIRST_PIECE = 16 * 1024  # characters of the first slice; the time they take predicts the rest
_START = 2  # bytes that identify gzip
_MAX_LASTMOD = 100  # characters: no date has more


class DocumentProbe:
    """Reads a document for the first time, while it is received: ``steps`` of chunks, then ``close``.

    Relative URLs are resolved against ``base``; the ``options`` are those of the parser. Pages are
    parsed only if their number is limited, or it ``names_hosts``: those where they are.
    """

    def __init__(
        self,
        base: str | None,
        limits: Limits = DEFAULT,
        *,
        names_hosts: bool = False,
        **options: Any,
    ) -> None:
        options.setdefault("skip_pages", limits.pages is None and not names_hosts)
        self._hosts: NamedHosts | None = None
        if names_hosts:
            from usp._crawl.hints import NamedHosts  # noqa: PLC0415 - few ask for neighbours

            self._hosts = NamedHosts()
        self.parser = DocumentParser(base, fast=True, limits=limits, **options)
        self._base = base
        self._limits = limits
        self._children: dict[str, ChildEntry] = {}  # the first declaration of a URL counts
        self._room = limits.url_text  # characters
        self._left_out = 0
        self._left_out_by = "sitemaps"  # the limit that was reached
        self._pages_at: int | None = None
        self._pages: UniquePages | None = None  # once there are some: none if they are skipped
        self._count = 0
        self._start = b""
        self._read = 0  # bytes

    @property
    def page_kind(self) -> type[AbstractPagesSitemap] | None:
        """The class of the document's node, once it is certain that it is a page sitemap."""
        kind: Any = self.parser.parser.sitemap_class if self.parser.parser else None
        # Only a whole page shows whether it is one.
        return kind if kind and kind.lists_pages and kind is not PagesHTMLSitemap else None

    def steps(self, chunk: bytes) -> Iterator[None]:
        """Read on, step by step: a chunk may decompress to a lot of work."""
        if len(self._start) < _START:
            self._start = (self._start + chunk[:_START])[:_START]
        for at in range(0, len(chunk), _SLICE):
            piece = _FIRST_PIECE if self._read < _SLICE else MAX_PIECE
            data = chunk[at : at + _SLICE]
            self._read += len(data)
            for entries in self.parser.steps(data, piece):
                self._sort(entries)
                yield

    def _sort(self, entries: Iterable[Entry]) -> None:
        limits, children = self._limits, self._children
        longest = math.inf if limits.url_length is None else limits.url_length
        for entry in entries:
            if not isinstance(entry, ChildEntry):
                self._count_pages(entry)
            elif len(loc := entry.loc) > longest:
                note_length(self.parser.problems, limits, loc)
            elif loc not in children:
                self._room -= len(loc)
                if limits.sitemaps is not None and len(children) >= limits.sitemaps:
                    self._left_out += 1
                elif self._room < 0:
                    self._left_out += 1
                    self._left_out_by = "url_length"
                else:
                    if entry.lastmod and len(entry.lastmod) > _MAX_LASTMOD:
                        short = excerpt(entry.lastmod, _MAX_LASTMOD)
                        entry = replace(entry, lastmod=short)  # noqa: PLW2901
                    children[loc] = entry

    def _count_pages(self, entry: PageEntry | PageBatch | RemovedEntry) -> None:
        if isinstance(entry, RemovedEntry):
            return
        if self._pages is None:
            self._pages = UniquePages(self._limits.url_length)
            self._pages_at = len(self._children)
        self._count += sum(1 for _ in self._pages.of(entry))
        if self._hosts is not None:
            self._hosts.add(entry)

    def close(self, broken: Reason | None = None, ended: Reason | None = None) -> Probe:
        """Return what the document is; it may be incomplete: ``broken`` off, or ``ended`` by us."""
        if rest := self.parser.close(ended or broken):
            self._sort(rest)
        document, parser = self.parser, self.parser.parser
        problems = document.problems.listed()
        transfer = None
        if ended is not None:
            transfer = Problem(f"the transfer was ended: {ended}", code=ended.code)
        elif broken is not None:
            transfer = Problem("the transfer broke off", excerpt=broken.text, code=broken.code)
        if transfer is not None:
            problems.insert(0, transfer)
        left_out = None
        if self._left_out:
            left_out = LeftOut(self._left_out, self._limits.reached(self._left_out_by))
        kind: Any = parser.sitemap_class if parser and not document.refusal else None
        return Probe(
            kind=kind,
            refusal=document.refusal,
            children=tuple(self._children.values()),
            left_out=left_out,
            pages_at=None if kind is not None and kind.lists_pages else self._pages_at,
            problems=tuple(problems),
            transfer=transfer,
            broken=broken if ended is None else None,
            unfinished=ended or broken or document.problems.unfinished,
            crawl_delay=getattr(parser, "crawl_delay", None),
            pages=self._count,
            namespace=document.namespace,
            start=self._start,
            is_doubtful=document.is_doubtful,
            software=getattr(parser, "software", ""),
            hosts=tuple(self._hosts.of_pages) if self._hosts else (),
            language_hosts=tuple(self._hosts.of_languages) if self._hosts else (),
        )

    def again(
        self,
        document: Document,
        broken: Reason | None = None,
        ended: Reason | None = None,
        late: Callable[[], Reason | None] = lambda: None,
    ) -> Generator[None, None, Probe]:
        """Read the stored document once more, step by step: there may be sitemaps among its pages.

        ``late`` is called after each step: a reason ends the reading.
        """
        probe = DocumentProbe(
            self._base,
            self._limits,
            names_hosts=self._hosts is not None,
            exchange=document.exchange,
            skip_pages=False,
        )
        for chunk in document.chunks():
            for _ in probe.steps(chunk):
                yield
                if reason := late():
                    return probe.close(broken, ended or reason)
        return probe.close(broken, ended)


# A document that is received ------------------------------------------------------------------------

# Limits that a body may end at before we see it.
_SEEN_BY_CLIENTS = frozenset({FailureCode.LIMIT_DOCUMENT_SECONDS, FailureCode.LIMIT_SECONDS})
_WINDOW = 30.0  # seconds over which the rate of a transfer is measured


@dataclass(frozen=True, slots=True)
class FetchContext:
    """What all fetches of a crawl have in common.

    ``stop_reason`` is called while a body is received: a reason ends the transfer. ``announce`` is
    called for a page sitemap as soon as it is known to be one. ``earlier`` knows an earlier crawl.
    """

    client: Any
    store: Store
    limits: Limits = DEFAULT
    stop_reason: Callable[[], Reason | None] = lambda: None
    announce: Callable[[FetchOrder, Arrival], object] | None = None
    earlier: HasEarlierResults | None = None
    names_hosts: bool = False  # whether the hosts of pages are wanted


class BodyReceiver:
    """Receives the body of one response: stores it, reads it, watches its limits.

    Steps of reading may run in any thread, one after another.
    """

    def __init__(
        self, order: FetchOrder, response: ResponseFacts, context: FetchContext, started: float
    ) -> None:
        self._order = order
        self._context = context
        self._limits = limits = context.limits
        self._started = started
        self._window = time.monotonic()
        self._window_size = 0
        self._ended: Reason | None = None
        self._arrival: Arrival | None = None
        final_url = _text(response.url()) or order.url
        if limits.too_long(final_url):
            final_url = order.url
            reached = limits.reached("url_length")
            self._ended = reached.after("it redirects to a URL that is too long")
        final_url = without_login(final_url)
        status: object = response.status_code() if hasattr(response, "status_code") else None
        redirects = call_newer(response, "redirects", ResponseFacts.redirects)
        self._exchange = Exchange(  # as far as it is known before the body
            url=order.url,
            final_url=final_url,
            status=status if type(status) is int else int(HTTPStatus.OK),
            headers=safe_headers(call_newer(response, "headers", ResponseFacts.headers)),
            redirects=tuple(map(without_login, redirects)),
            attempts=order.attempt,
            earlier=order.earlier,
            started=datetime.now(UTC) - timedelta(seconds=self._window - started),
            content_type=excerpt(_text(response.header("Content-Type"))) or None,
            content_encoding=excerpt(_text(response.header("Content-Encoding"))) or None,
            hops=call_newer(response, "hops", ResponseFacts.hops),
        )
        names, how = context.names_hosts, {"exchange": self._exchange, "role": order.role}
        self._probe = DocumentProbe(final_url, limits, names_hosts=names, **how)
        self._writer = DocumentWriter(context.store)

    @property
    def wants_more(self) -> bool:
        """Whether the rest needs to be received."""
        return self._ended is None and self._probe.parser.refusal is None

    def take(self, chunk: bytes) -> Generator[None, None, None]:
        """Store a chunk, then read it step by step."""
        if self._late():
            return
        most = self._limits.document_bytes
        if most is not None and self._writer.size + len(chunk) > most:
            chunk = chunk[: most - self._writer.size]
            self._reach("document_bytes")
        try:
            self._writer.write(chunk)
        except SpoolFull:
            self._reach("spool_bytes")
            return
        now, lowest = time.monotonic(), self._limits.lowest_rate
        passed = now - self._window
        if lowest is not None and passed >= _WINDOW:
            if self._writer.size - self._window_size < lowest * passed:
                self._reach("lowest_rate")
            self._window, self._window_size = now, self._writer.size
        for _ in self._probe.steps(chunk):
            self._notify_readers()
            yield
            if self._late():
                return
        self._notify_readers()

    def _late(self) -> Reason | None:
        """Return why the transfer ends if the crawl has ended, or the document takes too long."""
        reason = self._context.stop_reason()
        most = self._limits.document_seconds
        if reason is None and most is not None and time.monotonic() - self._started > most:
            reason = self._limits.reached("document_seconds")
        self._ended = self._ended or reason
        return reason and self._ended

    def _reach(self, limit: str) -> None:
        self._ended = self._ended or self._limits.reached(limit)

    def _notify_readers(self, *, over: bool = False) -> None:
        """Announce a page sitemap that has just begun, or notify its reader that more has arrived."""
        announce = self._context.announce
        if self._arrival is not None:
            self._arrival.notify_reader()
        elif announce is not None and not over and (kind := self._probe.page_kind):
            self._arrival = Arrival(self._exchange, self._writer, kind)
            announce(self._order, self._arrival)

    def end(self, broken: Reason | None = None) -> Generator[None, None, Received | Failed]:
        """Return what was received; ``broken`` is why the body ended too early, if it did."""
        if broken is not None and broken.code in _SEEN_BY_CLIENTS:
            self._ended = self._ended or broken
        probe = self._probe.close(broken, self._ended)
        if self._ended is not None and probe.kind is None:
            self._writer.discard()
            self._notify_readers(over=True)
            return Failed(NotRequested(self._ended, retryable=False))
        if probe.broken is not None and not self._writer.size:
            reason = probe.broken.after("no data was received")
            return Failed(WebClientErrorResponse(reason, retryable=True))
        exchange = replace(
            self._exchange,
            seconds=time.monotonic() - self._started,
            received=self._writer.size,
            charset=self._probe.parser.decoder.encoding,
            broken=self._ended or broken,
        )
        document = self._writer.finish(exchange)
        if self._probe.parser.may_have_children:
            probe = yield from self._probe.again(document, broken, self._ended, self._late)
        if self._arrival is not None:
            self._arrival.document = document
        self._notify_readers(over=True)
        return Received(document, probe)

    def fail(self, error: BaseException, client: object = None) -> Received | Failed:
        """Return what was received before an exception, of a ``client`` or of ours."""
        if self._writer.size and shortage_of(error) is None:
            text = self._order.without_secrets(f"{type(error).__name__}: {error}")
            return result_of(self.end(Reason(_blamed(client), text)))
        self._writer.discard()
        self._notify_readers(over=True)
        return failure_from(error, client, self._order)


def _text(value: object) -> str:
    """Return a string of a client, empty if it is none: a mock may return anything."""
    return value if issubclass(type(value), str) else ""  # type: ignore[return-value]


def call_newer(owner: T, name: str, default: Callable[..., R], *arguments: object) -> R:
    """Call a method that older classes of clients and responses lack, or else the default.

    A user's class may have something else under that name.
    """
    method = getattr(type(owner), name, None)
    return (method if isinstance(method, FunctionType) else default)(owner, *arguments)


def failure_from(
    error: BaseException, client: object = None, order: FetchOrder | None = None
) -> Failed:
    """Return the failure for an unexpected exception, of a ``client`` or, without one, of ours.

    The exception of a client that is not ours is kept: its author may need it. Neither the message
    nor the exception contains the login of the order.
    """
    message = f"{type(error).__name__}: {error}"
    if order is not None and order.login is not None:
        hidden = order.without_secrets
        error.args = tuple(hidden(text) if isinstance(text, str) else text for text in error.args)
        message = hidden(f"{type(error).__name__}: {error}")
    shortage, code = shortage_of(error), _blamed(client)
    if code is FailureCode.CLIENT_ERROR and shortage is None and isinstance(error, Exception):
        return Failed(ClientRaised(error, message, secret=order is not None and bool(order.login)))
    return Failed(WebClientErrorResponse(Reason(code, message), retryable=False, shortage=shortage))


def _blamed(client: object) -> FailureCode:
    foreign = client is not None and not getattr(client, "is_ours", False)
    return FailureCode.CLIENT_ERROR if foreign else FailureCode.INTERNAL_ERROR


# A document that a caller has ----------------------------------------------------------------------

LOCAL_URL = "http://usp-local-dummy.local/"
"""The URL of a document that has none."""


def parse_document(
    chunks: Iterable[bytes],
    url: str | None,
    *,
    name: str = LOCAL_URL,
    limits: Limits = DEFAULT,
    **given: Any,
) -> AbstractSitemap:
    """Parse a document that is given; ``url`` is where it came from, if that is known.

    Otherwise ``name`` is the URL of its node. If ``chunks`` raises ``LimitReached``, what was read
    until then is the document. The rest is ``given`` as to :func:`read_document`.
    """
    received = read_document(chunks, url, url or name, limits=limits, **given)
    return unfetched_tree(received, limits, resolves=url is not None)


def text_bytes(content: str) -> bytes:
    """Return the bytes of a sitemap that is given as text; raises ``TypeError`` if it is not."""
    given: object = content
    if not isinstance(given, str):
        kind = type(given).__name__
        raise TypeError(
            f"a sitemap as text must be a str, not {kind}; sitemap_from_bytes takes bytes"
        )
    return content.encode("utf-8", "surrogatepass")


def parse_text(data: bytes) -> AbstractSitemap:
    """Parse what :func:`text_bytes` returned."""
    return parse_document([data], None, content_type="text/plain; charset=utf-8")


def parse_file(
    path: Path, limits: Limits | None = None, store: Store | None = None
) -> AbstractSitemap:
    """Parse a file, whose address is the URL of the node; several files may share a store."""
    role = Role.ROBOTS if path.name == "robots.txt" else Role.SITEMAP
    with path.open("rb") as file:
        chunks = iter(partial(file.read, CHUNK), b"")
        name = path.resolve().as_uri()
        return parse_document(
            chunks, None, role=role, name=name, limits=limits or DEFAULT, store=store
        )


def read_document(
    chunks: Iterable[bytes],
    base: str | None,
    url: str,
    *,
    content_type: str | None = None,
    role: Role = Role.SITEMAP,
    limits: Limits = DEFAULT,
    store: Store | None = None,
) -> Received:
    """Return a document that is given as if it were received; relative URLs belong to ``base``."""
    writer, ended = DocumentWriter(store or Store()), None
    first = DocumentProbe(base, limits, role=role, content_type=content_type)
    try:
        for chunk in chunks:
            writer.write(chunk)
            for _ in first.steps(chunk):
                pass
            if first.parser.refusal is not None:
                break
    except LimitReached as limit:
        ended = limits.reached(limit.name)
    probe = first.close(ended=ended)
    document = writer.finish(
        Exchange(
            url,
            url,
            status=None,
            attempts=0,
            received=writer.size,
            content_type=content_type,
            charset=first.parser.decoder.encoding,
        )
    )
    if first.parser.may_have_children:
        probe = result_of(first.again(document))
    elif ended is not None and probe.kind is None:
        probe = replace(probe, refusal=ended)
    return Received(document, probe)


def unfetched_tree(
    received: Received,
    limits: Limits = DEFAULT,
    *,
    resolves: bool = True,
    above: frozenset[str] | None = None,
) -> AbstractSitemap:
    """Return the node of a document whose children nobody fetches.

    With the URLs ``above`` them, those that a crawl would refuse have its reasons.
    """
    probe, url = received.probe, received.exchange.url
    journal.received(received.document, probe)
    top = TreeSlot(url, order=FetchOrder(url, result=received), resolves=resolves)
    top.examine()
    pages, most = probe.pages or 0, limits.pages
    if most is not None and pages > most:
        top.most = most
        top.leave_out(LeftOut(pages - most, limits.reached("pages")), "pages")
    if probe.left_out is not None:
        top.leave_out(probe.left_out, "sitemaps")
    nodes: list[AbstractSitemap] = []
    top.skipped = tuple(skipped_links(probe))
    for at, entry in enumerate(() if top.skipped else probe.children):
        if above is not None and refuse(entry.loc, 1, above, limits):
            nodes.append(node_of(child_slot(top, at, entry, above, limits), [], limits))
        else:
            nodes.append(unfetched(entry.loc, UNFETCHED, date(entry.lastmod)))
    return node_of(top, nodes, limits)
