"""Fetched documents, from the exchanges of the nodes of a tree: when, how long; and their card."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usp._base.display import counted, duration, grouped, size
from usp.objects.sitemap import IndexWebsiteSitemap, InvalidSitemap
from usp.report.markup import Addresses, Markup, card, figure, folded, table, url_cell

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from usp.objects.exchange import Exchange
    from usp.objects.sitemap import AbstractSitemap
    from usp.report.summary import Summary

NAME = "fetches"
_LABEL = "The slowest documents, in the order of their requests"


@dataclass(frozen=True, slots=True)
class FetchedDocument:
    """One document; ``begin`` is when its last request was sent, in seconds after the first of all."""

    url: str
    attempts: int
    begin: float | None
    seconds: float
    received: int
    failed: bool = False


class FetchLog:
    """Does nothing; kept for programs that pass it as ``on_event`` and to the report.

    The nodes of a tree know how they were fetched (``node.exchange``).
    """

    def __init__(self, clock: object = None) -> None:
        del clock

    def __call__(self, event: object) -> None:
        """Ignore an event."""


def fetches_of(
    tree: AbstractSitemap, nodes: Sequence[AbstractSitemap]
) -> tuple[list[FetchedDocument] | None, list[FetchedDocument]]:
    """Return the fetched documents, and the undeclared addresses that were tried without success.

    Both are in the order of their requests. The first is None if nothing was fetched, as from files.
    """
    declared: dict[str, Exchange] = {}
    failed: set[str] = set()
    for node in nodes:
        exchange = node.exchange
        if exchange is not None and exchange.attempts:  # requested, not given
            declared[exchange.url] = exchange
            if isinstance(node, InvalidSitemap):
                failed.add(exchange.url)
    of_nodes = frozenset(declared)
    missing = {failure.url for failure in tree.failures()}
    probes: dict[str, Exchange] = {}
    for exchange in tree.tried if isinstance(tree, IndexWebsiteSitemap) else ():
        url = exchange.url
        if url in of_nodes:
            continue
        is_probe = url not in missing and url != tree.url
        (probes if is_probe else declared)[url] = exchange
        failed |= missing & {url}
    if not declared and not probes:
        return None, []
    everything = (*declared.values(), *probes.values())
    first = min((exchange.started for exchange in everything if exchange.started), default=None)

    def fetch(exchange: Exchange, *, is_failed: bool) -> FetchedDocument:
        begin = None
        if first is not None and exchange.started is not None:
            begin = (exchange.started - first).total_seconds()
        return FetchedDocument(
            exchange.url,
            exchange.attempts,
            begin,
            exchange.seconds,
            exchange.received,
            failed=is_failed,
        )

    return (
        _in_order(fetch(one, is_failed=url in failed) for url, one in declared.items()),
        _in_order(fetch(one, is_failed=True) for one in probes.values()),
    )


def _in_order(fetches: Iterable[FetchedDocument]) -> list[FetchedDocument]:
    return sorted(fetches, key=lambda fetch: fetch.begin or 0.0)


def fetching_card(summary: Summary) -> tuple[Markup, dict[str, Any] | None]:
    """Return the card and the data of its chart; for a single document a table is enough."""
    addresses = Addresses(summary.origin)
    fetches = summary.fetches or []
    inside: list[str] = []
    chart = None
    if fetches:
        numbers = _table(summary, fetches, addresses)
        if len(fetches) > 1:
            chart = _chart(fetches, addresses)
            numbers = figure(NAME, _LABEL, numbers)
        inside.append(numbers)
    if summary.probes:
        inside.append(_probes(summary, addresses))
    note = f"{counted(summary.totals.fetches, 'document was', 'documents were')} fetched."
    if any(fetch.failed for fetch in fetches):
        note += " Documents in red were declared but could not be fetched."
    if fetches and all(fetch.begin is None for fetch in fetches):
        note += " Only durations are known, not start times."
    return card(NAME, "Fetching", *inside, wide=True, note=note), chart


def _table(summary: Summary, fetches: Sequence[FetchedDocument], addresses: Addresses) -> Markup:
    more = summary.totals.fetches - len(fetches)
    rows = [
        (
            url_cell(addresses.url(fetch.url)),
            duration(fetch.seconds),
            "failed" if fetch.failed else size(fetch.received),
            fetch.attempts,
        )
        for fetch in fetches
    ]
    foot = f"{counted(more, 'more was', 'more were')} faster." if more else ""
    return table(_LABEL, ("document", "time", "received", "attempts"), rows, foot)


def _chart(fetches: Sequence[FetchedDocument], addresses: Addresses) -> dict[str, Any]:
    return {
        "type": "waterfall",
        "labels": [addresses.url(fetch.url, 60) for fetch in fetches],
        "begin": [fetch.begin or 0 for fetch in fetches],
        "seconds": [fetch.seconds for fetch in fetches],
        "texts": [duration(fetch.seconds) for fetch in fetches],
        "color": ["bad" if fetch.failed else "bar" for fetch in fetches],
    }


def _probes(summary: Summary, addresses: Addresses) -> Markup:
    total = summary.totals.probes
    title = f"{counted(total, 'undeclared address was', 'undeclared addresses were')} tried"
    rows = [
        (url_cell(addresses.url(fetch.url)), duration(fetch.seconds), fetch.attempts)
        for fetch in summary.probes
    ]
    more = f"and {grouped(total - len(rows))} more" if total > len(rows) else ""
    return folded(
        f"{title}: robots.txt and known paths where no sitemap was found",
        table(title, ("address", "time", "attempts"), rows, more),
    )
