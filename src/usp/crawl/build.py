"""From the places of a crawl to the nodes of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.crawl.pages import StoredPages
from usp.formats.values import date
from usp.objects.problem import Problem
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.crawl.fetch import Received
    from usp.crawl.places import Place


def node_for(place: Place) -> AbstractSitemap:
    """Build the node of a place and all nodes below it."""
    received = place.received
    if received is None:
        reason = place.reason or "it was not fetched"
        return InvalidSitemap(
            place.node_url, reason, last_modified=date(place.lastmod), problems=place.problems
        )
    return document_node(
        received,
        [node_for(child) for child in place.children],
        url=place.final_url,
        base=place.final_url,
        lastmod=place.lastmod,
        problems=place.problems,
    )


def document_node(
    received: Received,
    children: list[AbstractSitemap],
    *,
    url: str,
    base: str | None,
    lastmod: str | None = None,
    problems: Sequence[Problem] = (),
) -> AbstractSitemap:
    """Build the node of a document that is a sitemap; ``children`` are those of an index."""
    look = received.look
    last_modified = date(lastmod)
    assert look.kind is not None
    if issubclass(look.kind, AbstractPagesSitemap):
        # Reading the pages finds the rest; only the transfer is not seen then.
        known = [p for p in look.problems if p.message.startswith("the transfer")]
        pages = StoredPages(received.document, base)
        return look.kind(url, pages, last_modified=last_modified, problems=[*known, *problems])
    listed = [*look.problems, *problems]
    if look.pages_at is not None:
        stray = PagesXMLSitemap(url, StoredPages(received.document, base))
        children.insert(min(look.pages_at, len(children)), stray)
        listed.append(Problem("pages stand in an index of sitemaps"))
    return look.kind(url, children, last_modified=last_modified, problems=listed)
