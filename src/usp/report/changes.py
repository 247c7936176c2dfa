"""What changed since another tree: counted by kind, some of each listed, and the card."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from usp._base.display import counted
from usp.changes import ChangeKind, PageChange, diff
from usp.changes.change_values import details_of
from usp.report.markup import (
    Addresses,
    Markup,
    card,
    chip,
    folded,
    long_table,
    shown_text,
    url_cell,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from usp.changes import Change
    from usp.objects.sitemap import AbstractSitemap
    from usp.report.summary import Summary

MAX_CHANGES = 100
"""How many changes of one kind are listed."""

_BAD = frozenset({ChangeKind.FAILED, ChangeKind.UNKNOWN})


@dataclass(slots=True)
class KindOfChange:
    """The changes of one kind: how many, and the first of them with their details."""

    count: int = 0
    first: list[tuple[str, str]] = field(default_factory=list)

    def add(self, change: Change) -> None:
        """Count a change."""
        self.count += 1
        if len(self.first) < MAX_CHANGES:
            self.first.append((change.url, details_of(change)))


@dataclass(frozen=True, slots=True)
class ChangeList:
    """What changed ``since`` another tree, which is named by its URL."""

    since: str
    pages: Mapping[str, KindOfChange]
    sitemaps: Mapping[str, KindOfChange]


def changes_of(before: AbstractSitemap, after: AbstractSitemap) -> ChangeList:
    """Return what changed between two trees."""
    pages: dict[str, KindOfChange] = {}
    sitemaps: dict[str, KindOfChange] = {}
    for change in diff(before, after):
        found = pages if isinstance(change, PageChange) else sitemaps
        found.setdefault(change.kind.value, KindOfChange()).add(change)
    return ChangeList(before.url, pages, sitemaps)


def changes_card(summary: Summary) -> Markup:
    """Return the card for what changed; nothing if the tree was not compared."""
    found = summary.changes
    if found is None:
        return Markup("")
    addresses = Addresses(summary.origin)
    tables = [
        *_tables("page", found.pages, addresses),
        *_tables("sitemap", found.sitemaps, addresses),
    ]
    note = f"Compared with {shown_text(found.since)}."
    if not tables:
        note += " Nothing changed."
    return card("changes", "Changes", *tables, wide=True, note=note)


def _tables(noun: str, kinds: Mapping[str, KindOfChange], addresses: Addresses) -> Iterator[Markup]:
    for kind in ChangeKind:
        if found := kinds.get(kind.value):
            title = f"{counted(found.count, noun)} {kind.value}"
            rows = [
                (url_cell(addresses.url(url)), shown_text(details) if details else "")
                for url, details in found.first
            ]
            listed = long_table(title, (noun, "details"), rows, found.count)
            yield folded(title, listed, chip(kind.value, "warn" if kind in _BAD else ""))
