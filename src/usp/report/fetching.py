"""The card about fetching: how long documents took, and what was tried in vain."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp._base.display import counted, duration, grouped, size
from usp.report.labels import Addresses
from usp.report.markup import Markup, card, figure, folded, table, url_cell

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.report.fetches import Fetch
    from usp.report.figures import Summary

NAME = "fetches"


def fetching_card(summary: Summary) -> tuple[Markup, dict[str, Any] | None]:
    """Return the card and the data of its chart; of one document a table says enough."""
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
        note += " Red are those that were declared and could not be fetched."
    if fetches and all(fetch.begin is None for fetch in fetches):
        note += " It is known how long each took, but not when."
    return card(NAME, "Fetching", *inside, wide=True, note=note), chart


_LABEL = "Fetching, the slowest documents in the order of asking"


def _table(summary: Summary, fetches: Sequence[Fetch], addresses: Addresses) -> Markup:
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


def _chart(fetches: Sequence[Fetch], addresses: Addresses) -> dict[str, Any]:
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
    title = f"{counted(total, 'address was', 'addresses were')} tried without being declared"
    rows = [
        (url_cell(addresses.url(fetch.url)), duration(fetch.seconds), fetch.attempts)
        for fetch in summary.probes
    ]
    more = f"and {grouped(total - len(rows))} more" if total > len(rows) else ""
    return folded(
        f"{title}: robots.txt and known paths, where no sitemap was found",
        table(title, ("address", "time", "attempts"), rows, more),
    )
