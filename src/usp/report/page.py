"""The report as one HTML page that needs nothing else."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from usp._base.display import counted, duration, grouped, size
from usp.report.cards import Cards
from usp.report.damage import damage_cards
from usp.report.text import DASH, Addresses, shown_url
from usp.report.treedata import packed_tree

if TYPE_CHECKING:
    from usp.report.figures import Summary

_SCRIPTS = ("echarts.min.js", "charts.js", "tree.js")


def page(summary: Summary) -> str:
    """Return the page of a summary."""
    cards = Cards(summary)
    content = "".join(cards.all())
    addresses = Addresses(summary.origin)
    style = _asset("report.css")
    scripts = [_asset(name) for name in _SCRIPTS]
    site = shown_url(summary.site, 120)
    parts = {
        "policy": _policy(style, scripts),
        "site": escape(site),
        "when": f"{summary.made:%Y-%m-%d %H:%M} UTC",
        "style": style,
        "tiles": _tiles(summary, content),
        "damage": "".join(damage_cards(summary)),
        "sitemaps": counted(summary.totals.sitemaps, "sitemap"),
        "origin": escape(shown_url(summary.origin, 120)),
        "cards": content,
        "data": embedded_json(cards.charts),
        "tree": packed_tree(summary.sitemaps, addresses),
        "scripts": "".join(f"<script>{script}</script>" for script in scripts),
    }
    pieces = _asset("report.html").split("@@")
    # Every second piece is the name of a part: what a part says is not looked at again.
    pieces[1::2] = [parts[name] for name in pieces[1::2]]
    return "".join(pieces)


def embedded_json(value: Any) -> str:
    """Return JSON that ends no script element: ASCII, and without the characters of HTML."""
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


def _tiles(summary: Summary, content: str) -> str:
    """Return the totals; each leads to its section, where the page has one."""
    totals = summary.totals
    read, sitemaps = summary.problems.looked_at, summary.problems.sitemaps
    part = "" if read == sitemaps else f" in {grouped(read)} of {counted(sitemaps, 'sitemap')}"
    nouns = [
        ("tree", totals.sitemaps, "sitemap"),
        ("sections", totals.pages, "page"),
        ("failures", totals.failures, "failure"),
        ("problems", totals.problems, "problem"),
        ("news", totals.news, "news story"),
        ("images", totals.images, "image"),
        ("videos", totals.videos, "video"),
        ("languages", totals.alternates, "alternate"),
    ]
    tiles = [(name, *counted(number, noun).split(" ", 1)) for name, number, noun in nouns]
    tiles = [(name, n, f"{noun}{part}" if name == "problems" else noun) for name, n, noun in tiles]
    tiles += [
        ("fetches", DASH if totals.received is None else size(totals.received), "received"),
        ("fetches", DASH if totals.seconds is None else duration(totals.seconds), "time"),
    ]
    there = {"tree"} | {name for name, _, _ in tiles if f'id="{name}"' in content}
    bad = {"failures": totals.failures, "problems": totals.problems}
    there |= {name for name, count in bad.items() if count}
    return "".join(
        f'<div class="tile{" bad" if bad.get(name) else ""}{" zero" if value == "0" else ""}">'
        f"<dt>{label}</dt><dd>{_link(name, value) if name in there else value}</dd></div>"
        for name, value, label in tiles
    )


def _link(name: str, text: str) -> str:
    return f'<a href="#{name}">{text}</a>'
