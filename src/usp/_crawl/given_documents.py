"""Documents that a caller has: read as if they were received, with children that nobody fetches."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from usp._crawl import journal
from usp._crawl.child_filter import skipped_links
from usp._crawl.orders import UNFETCHED, FetchOrder, LeftOut, Received, TreeSlot, node_of
from usp._crawl.receiver import DocumentProbe
from usp._crawl.stored_pages import result_of
from usp._formats.document import Role
from usp._formats.values import date
from usp._store import CHUNK, DocumentWriter, Store
from usp.limits import DEFAULT, LimitReached, Limits
from usp.objects.exchange import Exchange
from usp.objects.sitemap import AbstractSitemap, unfetched

if TYPE_CHECKING:
    from pathlib import Path

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
    received: Received, limits: Limits = DEFAULT, *, resolves: bool = True
) -> AbstractSitemap:
    """Return the node of a document whose children nobody fetches."""
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
    top.skipped = tuple(skipped_links(probe))
    children = () if top.skipped else probe.children
    return node_of(
        top, [unfetched(one.loc, UNFETCHED, date(one.lastmod)) for one in children], limits
    )
