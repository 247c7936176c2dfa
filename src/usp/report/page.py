"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from usp.display import duration, grouped, size
from usp.report.cards import Cards
from usp.report.damage import duplicates_card, failures_card, problems_card
from usp.report.text import DASH, shown_url
from usp.report.treedata import packed_tree

if TYPE_CHECKING:
    from usp.report.figures import Summary

_SCRIPTS = ("echarts.min.js", "charts.js", "tree.js")


def page(summary: Summary) -> str:
    """Give the page of a summary."""
    cards = Cards(summary)
    content = [
        *cards.all(),
        failures_card(summary),
        problems_card(summary),
        duplicates_card(summary),
        cards.fetches(),
    ]
    style = _asset("report.css")
    scripts = [_asset(name) for name in _SCRIPTS]
    site = shown_url(summary.site, 120)
    parts = {
        "policy": _policy(style, scripts),
        "site": escape(site),
        "when": f"{summary.made:%Y-%m-%d %H:%M} UTC",
        "style": style,
        "tiles": _tiles(summary),
        "sitemaps": grouped(summary.totals.sitemaps),
        "cards": "".join(content),
        "data": embedded_json(cards.charts),
        "tree": packed_tree(summary.sitemaps),
        "scripts": "".join(f"<script>{script}</script>" for script in scripts),
    }
    pieces = _asset("report.html").split("@@")
    # Every second piece is the name of a part: what a part says is not looked at again.
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def embedded_json(value: Any) -> str:
    """Give JSON that ends no script element: ASCII, and without the characters of HTML."""
    text = json.dumps(value, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _asset(name: str) -> str:
    return (files("usp.report") / "assets" / name).read_text(encoding="utf-8").strip()


def _policy(style: str, scripts: list[str]) -> str:
    """Allow this style and these scripts, and nothing from anywhere."""
    allowed = " ".join(map(_hash, scripts))
    return (
        f"default-src 'none'; script-src {allowed}; style-src {_hash(style)}; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _tiles(summary: Summary) -> str:
    totals = summary.totals
    read, sitemaps = summary.problems.looked_at, summary.problems.sitemaps
    part = "" if read == sitemaps else f" in {grouped(read)} of {grouped(sitemaps)} sitemaps"
    tiles = [
        ("sitemaps", grouped(totals.sitemaps)),
        ("pages", grouped(totals.pages)),
        ("news stories", grouped(totals.news)),
        ("images", grouped(totals.images)),
        ("videos", grouped(totals.videos)),
        ("alternates", grouped(totals.alternates)),
        ("failures", grouped(totals.failures)),
        (f"problems{part}", grouped(totals.problems)),
        ("received", DASH if totals.received is None else size(totals.received)),
        ("time", DASH if totals.seconds is None else duration(totals.seconds)),
    ]
    bad = {"failures": totals.failures, f"problems{part}": totals.problems}
    return "".join(
        f'<div class="tile{" bad" if bad.get(name) else ""}{" zero" if value == "0" else ""}">'
        f"<dt>{name}</dt><dd>{value}</dd></div>"
        for name, value in tiles
    )
