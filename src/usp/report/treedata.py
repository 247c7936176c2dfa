"""The tree of sitemaps as the page carries it: in columns, compressed, and never above a size."""

from __future__ import annotations

import base64
import gzip
import json
from collections import Counter
from typing import TYPE_CHECKING, Any

from usp._base.display import counted, size
from usp.objects.sitemap import KINDS, InvalidSitemap
from usp.report.text import DASH, shown_url

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from usp.report.figures import SitemapRow
    from usp.report.text import Addresses

MAX_PACKED = 1_000_000
"""How many characters of the page the tree may take. Sitemaps above that are left out and counted,
those without damage first."""

_KINDS = {kind.__name__: name.label for kind, name in KINDS.items() if kind is not InvalidSitemap}


def packed_tree(rows: Sequence[SitemapRow], addresses: Addresses, most: int = MAX_PACKED) -> str:
    """Return the rows as JSON, gzipped, in base64: the most that fit into that many characters."""
    kept = list(range(len(rows)))
    while True:
        text = json.dumps(_columns(rows, kept, addresses), separators=(",", ":"))
        packed = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
        if len(packed) <= most or len(kept) == 1:
            return packed
        kept = _fewer(rows, int(len(kept) * most / len(packed) * 0.9))


def _fewer(rows: Sequence[SitemapRow], count: int) -> list[int]:
    """Choose about that many rows: damaged ones first, then indexes, each with all above it."""
    indexes = {row.parent for row in rows}
    ranked = sorted(
        range(len(rows)),
        key=lambda at: 0 if rows[at].state or rows[at].problems else 1 if at in indexes else 2,
    )
    kept = {0}
    for at in ranked[:count]:
        above = at
        while above not in kept and len(kept) < count:
            kept.add(above)
            above = rows[above].parent
    # Whose parent found no room has none either.
    complete: set[int] = set()
    for at in sorted(kept):
        if rows[at].parent < 0 or rows[at].parent in complete:
            complete.add(at)
    return sorted(complete)


def _columns(
    rows: Sequence[SitemapRow], kept: Sequence[int], addresses: Addresses
) -> dict[str, Any]:
    chosen = [rows[at] for at in kept]
    place = {at: new for new, at in enumerate(kept)}
    below = Counter(row.parent for row in rows)
    website = rows[0].kind == "IndexWebsiteSitemap"
    if website:
        below[0] = len(rows) - 1  # a website has all of them, not those that stand directly below
    left_out = _left_out(rows, place)
    reasons = {row.reason: 0 for row in chosen if row.reason}
    for number, reason in enumerate(reasons):
        reasons[reason] = number + 1
    states = ["", *dict.fromkeys(row.state for row in chosen if row.state)]
    return {
        "kinds": list(_KINDS.values()),
        "states": states,
        "reasons": [addresses.text(reason) for reason in reasons],
        "website": website,
        "origin": addresses.origin,
        "parent": [place.get(row.parent, -1) for row in chosen],
        "url": [shown_url(row.url) for row in chosen],
        "kind": [list(_KINDS).index(row.kind) if row.kind in _KINDS else -1 for row in chosen],
        "pages": [row.pages for row in chosen],
        "size": [DASH if row.received is None else size(row.received) for row in chosen],
        "first": [row.first or "" for row in chosen],
        "last": [row.last or "" for row in chosen],
        "problems": [counted(row.problems, "problem") if row.problems else "" for row in chosen],
        "state": [states.index(row.state or "") for row in chosen],
        "reason": [reasons[row.reason] if row.reason else 0 for row in chosen],
        "below": [counted(below[at], "sitemap") if below[at] else "" for at in kept],
        "leftOut": [left_out[at] for at in kept],
    }


def _left_out(rows: Sequence[SitemapRow], kept: Mapping[int, int]) -> list[int]:
    """Count for every row what is left out below it and below no other that is kept."""
    missing = [0] * len(rows)
    for at in range(len(rows) - 1, 0, -1):
        if at not in kept:
            missing[rows[at].parent] += missing[at] + 1
    return missing
