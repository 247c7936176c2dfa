"""The first look at a document, while it is received or given: what it is, and what it declares."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from usp._base.safe_text import excerpt
from usp._crawl import journal
from usp._crawl.examination import note_length
from usp._crawl.orders import UNFETCHED, LeftOut, Look, Received, left_out_problem
from usp._crawl.places import document_node
from usp._crawl.stored_pages import UniquePages
from usp._formats.abstract_parser import MAX_PIECE, ChildEntry
from usp._formats.document import DocumentParser, Role
from usp._formats.values import date
from usp._store import Store
from usp.limits import DEFAULT, LimitReached
from usp.objects.exchange import Exchange
from usp.objects.problem import Failure, Problem
from usp.objects.sitemap import AbstractPagesSitemap, AbstractSitemap, InvalidSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp._base.reason import Reason
    from usp._formats.abstract_parser import Entry
    from usp._store import Document
    from usp.limits import Limits

_SLICE = 64 * 1024  # bytes
_FIRST_PIECE = 16 * 1024  # characters of the first slice; the time they take predicts the rest
_START = 2  # bytes that identify gzip
_MAX_LASTMOD = 100  # characters: no date has more


class FirstLook:
    """Reads a document for the first time, while it is received: ``feed`` chunks, then ``close``.

    Pages are counted if the parser does more than glance at them.
    """

    def __init__(self, parser: DocumentParser, limits: Limits) -> None:
        self.parser = parser
        self._limits = limits
        self._children: dict[str, ChildEntry] = {}  # the first declaration of a URL counts
        self._room = limits.url_text
        self._left_out = 0
        self._left_out_by = "sitemaps"  # the limit that was reached
        self._pages_at: int | None = None
        self._pages: UniquePages | None = None  # once there are some: a glance finds none
        self._count = 0
        self._start = b""
        self._read = 0  # bytes

    @property
    def kind(self) -> type[AbstractSitemap] | None:
        """The class of the document's node, once it is known."""
        parser = self.parser.parser
        return parser.sitemap_class if parser else None

    @property
    def has_pages(self) -> bool:
        """Whether the document is known to be a page sitemap."""
        return self.kind is not None and issubclass(self.kind, AbstractPagesSitemap)

    @property
    def wants_more(self) -> bool:
        """Whether the rest of the document is needed."""
        return self.parser.refusal is None

    def feed(self, chunk: bytes) -> bool:
        """Read on; return False if the rest is not needed."""
        for _ in self.steps(chunk):
            pass
        return self.wants_more

    def steps(self, chunk: bytes) -> Iterator[None]:
        """Read on, step by step: a chunk may decompress to a lot of work."""
        if len(self._start) < _START:
            self._start += chunk[: _START - len(self._start)]
        for at in range(0, len(chunk), _SLICE):
            piece = _FIRST_PIECE if self._read < _SLICE else MAX_PIECE
            data = chunk[at : at + _SLICE]
            self._read += len(data)
            for entries in self.parser.steps(data, piece):
                self._sort(entries)
                yield

    def _sort(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if isinstance(entry, ChildEntry):
                self._add_child(entry)
                continue
            if self._pages is None:
                self._pages = UniquePages(self._limits.url_length)
                self._pages_at = len(self._children)
            self._count += sum(1 for _ in self._pages.of(entry))

    def _add_child(self, child: ChildEntry) -> None:
        if self._limits.too_long(child.loc):
            note_length(self.parser.problems, self._limits, child.loc)
            return
        if child.loc in self._children:
            return
        if self._room is not None:
            self._room -= len(child.loc)
        most = self._limits.sitemaps
        if most is not None and len(self._children) >= most:
            self._left_out += 1
        elif self._room is not None and self._room < 0:
            self._left_out += 1
            self._left_out_by = "url_length"
        else:
            if child.lastmod and len(child.lastmod) > _MAX_LASTMOD:
                child = replace(child, lastmod=excerpt(child.lastmod, _MAX_LASTMOD))
            self._children[child.loc] = child

    @property
    def is_enough(self) -> bool:
        """Whether the document contains only pages, as far as a glance can tell."""
        return not self.parser.may_have_children

    def close(self, broken: Reason | None = None, ended: Reason | None = None) -> Look:
        """Return what the document is; it may be incomplete: ``broken`` off, or ``ended`` by us."""
        self._sort(self.parser.close(ended or broken))
        parser = self.parser.parser
        problems = self.parser.problems.listed()
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
        return Look(
            kind=parser.sitemap_class if parser and not self.parser.refusal else None,
            refusal=self.parser.refusal,
            children=tuple(self._children.values()),
            left_out=left_out,
            pages_at=None if self.has_pages else self._pages_at,
            problems=tuple(problems),
            transfer=transfer,
            broken=broken if ended is None else None,
            unfinished=ended or broken or self.parser.problems.unfinished,
            crawl_delay=getattr(parser, "crawl_delay", None),
            pages=self._count,
            namespace=self.parser.namespace,
            start=self._start,
        )


def read_whole(
    document: Document,
    base: str | None,
    limits: Limits,
    broken: Reason | None = None,
    ended: Reason | None = None,
) -> Look:
    """Read a stored document again, completely: there may be sitemaps among its pages."""
    exchange = document.exchange
    parser = DocumentParser(
        base,
        content_type=exchange.content_type,
        content_encoding=exchange.content_encoding,
        fast=True,
        limits=limits,
    )
    first = FirstLook(parser, limits)
    for chunk in document.chunks():
        first.feed(chunk)
    return first.close(broken, ended)


# A document that is given --------------------------------------------------------------------------

LOCAL_URL = "http://usp-local-dummy.local/"
"""The URL of a document that has none."""


def parse_document(
    chunks: Iterable[bytes],
    url: str | None,
    *,
    content_type: str | None = None,
    role: Role = Role.SITEMAP,
    name: str = LOCAL_URL,
    limits: Limits = DEFAULT,
    store: Store | None = None,
) -> AbstractSitemap:
    """Parse a document that is given; ``url`` is where it came from, if that is known.

    Otherwise ``name`` is the URL of its node. If ``chunks`` raises ``LimitReached``, what was read
    until then is the document.
    """
    writer = (store or Store()).writer()
    first = FirstLook(
        DocumentParser(
            url,
            role=role,
            content_type=content_type,
            glance=limits.pages is None,
            fast=True,
            limits=limits,
        ),
        limits,
    )
    ended = None
    try:
        for chunk in chunks:
            writer.write(chunk)
            if not first.feed(chunk):
                break
    except LimitReached as limit:
        ended = limits.reached(limit.name)
    look = first.close(ended=ended)
    node_url = url or name
    exchange = Exchange(
        node_url,
        node_url,
        status=None,
        attempts=0,
        received=writer.size,
        content_type=content_type,
        charset=first.parser.encoding,
    )
    document = writer.finish(exchange)
    if not first.is_enough:
        look = read_whole(document, url, limits)
    journal.received(exchange, look)
    if look.kind is None:
        why = ended or look.refusal
        assert why is not None
        failure = Failure.of(node_url, why.at(f"No parsers support sitemap from {node_url}"))
        return InvalidSitemap(
            node_url, failure.reason, problems=look.problems, failure=failure, exchange=exchange
        )
    children: list[AbstractSitemap] = [
        InvalidSitemap(
            child.loc,
            str(UNFETCHED),
            last_modified=date(child.lastmod),
            failure=Failure.of(child.loc, UNFETCHED),
        )
        for child in look.children
    ]
    missing = look.unfinished
    most = limits.pages if limits.pages is not None and (look.pages or 0) > limits.pages else None
    if most is not None:
        missing = missing or limits.reached("pages")
    problems = []
    if look.left_out is not None:
        problems.append(left_out_problem(look.left_out, "sitemaps"))
        missing = missing or look.left_out.reason.after("some of its sitemaps were left out")
    return document_node(
        Received(document, look),
        children,
        url=node_url,
        base=url,
        problems=problems,
        failure=Failure.of(node_url, missing) if missing else None,
        limits=limits,
        most=most,
    )
