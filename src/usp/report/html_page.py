"""The page of a report: its sections, its embedded data, its template, style and scripts."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from usp._base.display import counted, duration, grouped, size
from usp._base.files import replacing
from usp.objects.sitemap import KINDS, AbstractSitemap, InvalidSitemap
from usp.report.charts import Cards
from usp.report.markup import DASH, Addresses, shown_url, tag
from usp.report.problems import changes_card, damage_cards
from usp.report.summary import SitemapRow, Summary, summarise

if TYPE_CHECKING:
    from os import PathLike


def html(
    tree: AbstractSitemap,
    events: object = None,
    *,
    all_problems: bool = False,
    before: AbstractSitemap | None = None,
) -> str:
    """Return the report of a tree as an HTML page; see :func:`summarise` for the parameters."""
    return page(summarise(tree, events, all_problems=all_problems, before=before))


def write_report(
    tree: AbstractSitemap,
    path: str | PathLike[str],
    events: object = None,
    *,
    all_problems: bool = False,
    before: AbstractSitemap | None = None,
) -> None:
    """Write the report of a tree to a file, atomically."""
    page = html(tree, events, all_problems=all_problems, before=before)
    with replacing(path) as file:
        file.write(page.encode())


# The page, and the sitemap tree as the page carries it ---------------------------------------------


MAX_TREE = 1_000_000
"""Maximum length of the embedded tree, compressed. Beyond it sitemaps are left out and counted,
undamaged ones first."""

_KINDS = {kind.__name__: name.label for kind, name in KINDS.items() if kind is not InvalidSitemap}

_SCRIPTS = ("echarts.min.js", "charts.js", "tree.js")


def page(summary: Summary) -> str:
    """Return the page for a summary."""
    cards = Cards(summary)
    content = "".join(cards.all())
    style = _asset("report.css")
    scripts = [_asset(name) for name in _SCRIPTS]
    site = shown_url(summary.site, 120)
    parts = {
        "policy": _policy(style, scripts),
        "site": escape(site),
        "when": f"{summary.made:%Y-%m-%d %H:%M} UTC",
        "style": style,
        "tiles": _tiles(summary, content),
        "damage": "".join((*damage_cards(summary), changes_card(summary))),
        "sitemaps": counted(summary.totals.sitemaps, "sitemap"),
        "origin": escape(shown_url(summary.origin, 120)),
        "cards": content,
        "data": embedded_json(cards.charts),
        "tree": embedded_tree(summary.sitemaps, summary.addresses),
        "scripts": "".join(f"<script>{script}</script>" for script in scripts),
    }
    pieces = _asset("report.html").split("@@")
    # Every second piece is the name of a part. Parts are inserted as they are, never expanded again.
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def embedded_json(value: Any) -> str:
    """Return JSON that cannot close a script element: ASCII, HTML characters escaped."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _asset(name: str) -> str:
    return (files("usp.report") / "assets" / name).read_text(encoding="utf-8").strip()


def _policy(style: str, scripts: list[str]) -> str:
    """Return a content security policy that allows this style and these scripts only."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _tiles(summary: Summary, content: str) -> str:
    """Return the totals; each links to its section, if the page has one."""
    totals = summary.totals
    read, sitemaps = summary.problems.looked_at, summary.problems.sitemaps
    part = "" if read == sitemaps else f" in {grouped(read)} of {counted(sitemaps, 'sitemap')}"
    counts = [
        ("tree", counted(totals.sitemaps, "sitemap")),
        ("sections", counted(totals.pages, "page")),
        ("failures", counted(totals.failures, "failure")),
        ("problems", counted(totals.problems, f"problem{part}", f"problems{part}")),
        ("news", counted(totals.news, "news story")),
        ("images", counted(totals.images, "image")),
        ("videos", counted(totals.videos, "video")),
        ("languages", counted(totals.alternates, "alternate")),
    ]
    tiles = [(name, *text.split(" ", 1)) for name, text in counts]
    tiles += [
        ("fetches", DASH if totals.received is None else size(totals.received), "received"),
        ("fetches", DASH if totals.seconds is None else duration(totals.seconds), "time"),
    ]
    bad = {"failures": totals.failures, "problems": totals.problems}
    found = ""
    for name, value, label in tiles:
        kind = (" bad" if bad.get(name) else "") + (" zero" if value == "0" else "")
        is_there = name == "tree" or bad.get(name) or f'id="{name}"' in content
        shown = tag("a", value, href=f"#{name}") if is_there else value
        found += tag("div", tag("dt", label), tag("dd", shown), class_=f"tile{kind}")
    return found


def embedded_tree(rows: Sequence[SitemapRow], addresses: Addresses, most: int = MAX_TREE) -> str:
    """Return as many rows as fit into ``most`` characters: columns in JSON, gzipped, in base64."""
    count = len(rows)
    while True:
        text = json.dumps(_columns(rows, _kept(rows, count), addresses), separators=(",", ":"))
        encoded = base64.b64encode(gzip.compress(text.encode(), 9, mtime=0)).decode()
        if len(encoded) <= most or not count:
            return encoded
        count = int(count * most / len(encoded) * 0.9)


def _kept(rows: Sequence[SitemapRow], count: int) -> list[int]:
    """Return ``count`` rows and the ancestors of each: damaged ones first, then indexes."""
    indexes = {row.parent for row in rows}
    damaged = {at for at, row in enumerate(rows) if row.state or row.problems}
    ranked = sorted(range(len(rows)), key=lambda at: (at not in damaged, at not in indexes))
    kept = {0}
    for at in ranked[:count]:
        above = at
        while above not in kept:
            kept.add(above)
            above = rows[above].parent
    return sorted(kept)


def _columns(
    rows: Sequence[SitemapRow], kept: Sequence[int], addresses: Addresses
) -> dict[str, Any]:
    chosen = [rows[at] for at in kept]
    place = {at: new for new, at in enumerate(kept)}
    below = Counter(row.parent for row in rows)
    website = rows[0].kind == "IndexWebsiteSitemap"
    if website:
        below[0] = len(rows) - 1  # a website counts all of its sitemaps, not only its children
    missing = [0] * len(rows)  # how many are left out below a row, and below no other that is kept
    for at in range(len(rows) - 1, 0, -1):
        if at not in place:
            missing[rows[at].parent] += missing[at] + 1
    reasons = list(dict.fromkeys(row.reason for row in chosen if row.reason))
    number_of = {reason: number for number, reason in enumerate(reasons, 1)}
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
        "reason": [number_of.get(row.reason or "", 0) for row in chosen],
        "below": [counted(below[at], "sitemap") if below[at] else "" for at in kept],
        "leftOut": [missing[at] for at in kept],
    }
