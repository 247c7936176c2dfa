"""From the places of a crawl to the nodes of the tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._base.reason import Reason
from usp._crawl.pages import StoredPages
from usp._crawl.values import Received
from usp._formats.values import date
from usp.limits import DEFAULT
from usp.objects.problem import Failure, FailureCode, Problem, ProblemCode
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    InvalidSitemap,
    PagesXMLSitemap,
)
from usp.web_client.abstract_client import status_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp._crawl.places import Place
    from usp.limits import Limits
    from usp.objects.exchange import Exchange


_NOT_ASKED = Reason(FailureCode.NOT_FETCHED, "it was not fetched")


def node_for(top: Place, limits: Limits = DEFAULT) -> AbstractSitemap:
    """Return the node of a place and all nodes below it, however deep the tree is."""
    order, waiting = [], [top]
    while waiting:
        place = waiting.pop()
        order.append(place)
        waiting.extend(place.children)
    built: dict[int, AbstractSitemap] = {}
    for place in reversed(order):  # the children of a place first, in their order
        children = [built.pop(id(child)) for child in place.children]
        built[id(place)] = _node(place, children, limits)
    return built[id(top)]


def _node(place: Place, children: list[AbstractSitemap], limits: Limits) -> AbstractSitemap:
    received = place.received
    if received is None:
        return InvalidSitemap(
            place.node_url,
            str(place.reason or _NOT_ASKED),
            last_modified=date(place.lastmod),
            problems=place.problems,
            failure=failure_of(place),
            missing=not place.recurs,
            exchange=exchange_of(place),
        )
    return document_node(
        received,
        children,
        url=place.final_url,
        base=place.final_url,
        lastmod=place.lastmod,
        problems=place.problems,
        failure=failure_of(place),
        limits=limits,
        most=place.most,
    )


def failure_of(place: Place) -> Failure | None:
    """Return what of a place is missing in the tree, if something is; of a loop, why it ends there."""
    doc = place.doc
    result = doc.result if doc else None
    reason = place.reason or place.left_out
    status = None
    if isinstance(result, Received):
        status = result.document.exchange.status
        reason = reason or result.look.unfinished
    elif result is not None:
        status = status_of(result.error)
    if reason is None:
        return None
    return Failure.of(place.node_url, reason, doc.attempt if doc else 0, status)


def exchange_of(place: Place) -> Exchange | None:
    """Return what was said when the document of a place was fetched, if it was asked for."""
    result = place.doc.result if place.doc else None
    if isinstance(result, Received):
        return result.document.exchange
    return None if result is None else result.exchange


def document_node(
    received: Received,
    children: list[AbstractSitemap],
    *,
    url: str,
    base: str | None,
    lastmod: str | None = None,
    problems: Sequence[Problem] = (),
    failure: Failure | None = None,
    limits: Limits = DEFAULT,
    most: int | None = None,
) -> AbstractSitemap:
    """Build the node of a document that is a sitemap; ``children`` are those of an index.

    ``most`` is how many pages of it are in the tree.
    """
    look = received.look
    last_modified = date(lastmod)
    exchange = received.document.exchange
    assert look.kind is not None
    if issubclass(look.kind, AbstractPagesSitemap):
        # Reading the pages finds the rest; only the transfer is not seen then.
        known = [] if look.transfer is None else [look.transfer]
        return look.kind(
            url,
            StoredPages(received.document, base, limits, most),
            last_modified=last_modified,
            problems=[*known, *problems],
            failure=failure,
            size=received.document.size,
            status=exchange.status,
            exchange=exchange,
        )
    listed = [*look.problems, *problems]
    if look.pages_at is not None:
        source = StoredPages(received.document, base, limits, most)
        stray = PagesXMLSitemap(url, source, status=exchange.status, exchange=exchange)
        children.insert(min(look.pages_at, len(children)), stray)
        code = ProblemCode.PAGES_IN_INDEX
        listed.append(Problem(code.message, code=code))
    return look.kind(
        url,
        children,
        last_modified=last_modified,
        problems=listed,
        failure=failure,
        size=received.document.size,
        status=exchange.status,
        exchange=exchange,
    )
