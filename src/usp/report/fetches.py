"""What was fetched, when and how long it took: as the nodes of a tree tell it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp.objects.sitemap import IndexWebsiteSitemap, InvalidSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp.objects.exchange import Exchange
    from usp.objects.sitemap import AbstractSitemap


@dataclass(frozen=True, slots=True)
class Fetch:
    """One document: when its last request began, in seconds from the first one of all, if known."""

    url: str
    attempts: int
    begin: float | None
    seconds: float
    received: int
    failed: bool = False


class FetchLog:
    """Does nothing: the nodes of a tree know how they were fetched (``node.exchange``).

    It used to listen to a crawl (``on_event=log``) for the report; programs that hand it in still run.
    """

    def __init__(self, clock: object = None) -> None:
        del clock

    def __call__(self, event: object) -> None:
        """Take an event, and leave it."""


def fetches_of(
    tree: AbstractSitemap, nodes: Sequence[AbstractSitemap]
) -> tuple[list[Fetch] | None, list[Fetch]]:
    """Return what was fetched, and apart from it what was tried without being declared, in vain.

    Both are in the order of asking. The first is None if nothing was fetched, as from files.
    """
    declared = {exchange.url: exchange for exchange in _exchanges(nodes)}
    failed = {
        node.exchange.url for node in nodes if isinstance(node, InvalidSitemap) and node.exchange
    }
    probes: dict[str, Exchange] = {}
    for exchange in tree.tried if isinstance(tree, IndexWebsiteSitemap) else ():
        if exchange.url not in declared:
            probes[exchange.url] = exchange
    missing = {failure.url for failure in tree.failures()}
    found = [url for url in probes if url in missing or url == tree.url]
    failed |= missing.intersection(found)
    declared |= {url: probes.pop(url) for url in found}
    if not declared and not probes:
        return None, []
    everything = (*declared.values(), *probes.values())
    first = min((exchange.started for exchange in everything if exchange.started), default=None)

    def fetch(exchange: Exchange, *, is_failed: bool) -> Fetch:
        begin = None
        if first is not None and exchange.started is not None:
            begin = (exchange.started - first).total_seconds()
        return Fetch(
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


def _exchanges(nodes: Iterable[AbstractSitemap]) -> Iterator[Exchange]:
    """Yield the exchanges of what was asked for, and not of what was at hand."""
    return (node.exchange for node in nodes if node.exchange is not None and node.exchange.attempts)


def _in_order(fetches: Iterable[Fetch]) -> list[Fetch]:
    return sorted(fetches, key=lambda fetch: fetch.begin or 0.0)
