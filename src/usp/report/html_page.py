"""The page of a report: its sections, template, style and scripts, and the data that it carries."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from html import escape
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any, NamedTuple

from usp._base.display import counted, duration, grouped, size
from usp._base.files import replacing
from usp.objects.sitemap import KINDS, AbstractSitemap, InvalidSitemap
from usp.report.charts import Cards
from usp.report.markup import DASH, Addresses, Markup, card, shown_text, shown_url, tag
from usp.report.problems import (
    History,
    changes_card,
    findings_card,
    history_card,
    verdict_card,
)
from usp.report.summary import SitemapRow, Summary, summarise

if TYPE_CHECKING:
    from datetime import datetime
    from os import PathLike

    from usp.objects.page import PageBlock


def html(
    tree: AbstractSitemap,
    events: object = None,
    *,
    all_problems: bool = False,
    before: AbstractSitemap | None = None,
    history: History | None = None,
    on_read: Callable[[], object] = bool,
    on_pages: Callable[[int], object] = lambda _: None,
) -> str:
    """Return the report of a tree as an HTML page; see :func:`summarise` for the parameters."""
    rows = PageRows()
    given: dict[str, Any] = {"all_problems": all_problems, "before": before, "history": history}
    seen: dict[str, Any] = {"pages": rows, "on_read": on_read, "on_pages": on_pages}
    return page(summarise(tree, events, **given, **seen), rows)


def write_report(
    tree: AbstractSitemap,
    path: str | PathLike[str],
    events: object = None,
    *,
    all_problems: bool = False,
    before: AbstractSitemap | None = None,
    history: History | None = None,
) -> None:
    """Write the report of a tree to a file, atomically."""
    page = html(tree, events, all_problems=all_problems, before=before, history=history)
    with replacing(path) as file:
        file.write(page.encode())


# The page ----------------------------------------------------------------------------

_SCRIPTS = (
    *("echarts.min.js", "common.js", "charts.js", "tree.js"),
    *("pages.js", "tables.js", "findings.js"),
)


def page(summary: Summary, rows: PageRows) -> str:
    """Return the page for a summary, with a table of pages."""
    cards = Cards(summary)
    packed = packed_pages(rows, summary) if rows.rows else ""
    table = pages_card(rows, summary, packed)
    content = "".join(cards.all())
    history = history_card(summary.history, cards.charts)
    findings, changes = findings_card(summary), changes_card(summary)
    style = _asset("report.css")
    scripts = [_asset(name) for name in _SCRIPTS]
    site = shown_url(summary.site, 120)
    parts = {
        "policy": _policy(style, scripts),
        "site": escape(site),
        "when": f"{summary.made:%Y-%m-%d %H:%M} UTC",
        "style": style,
        "tiles": _tiles(summary, content + findings + table + changes),
        "verdict": verdict_card(summary),
        "findings": f"{findings}{changes}{history}",
        "sitemaps": counted(summary.totals.sitemaps, "sitemap"),
        "origin": escape(shown_url(summary.origin, 120)),
        "facts": cards.in_short(),
        "pages": table,
        "rows": packed,
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
    errors = summary.checks.severities["error"]
    counts = [
        ("tree", counted(totals.sitemaps, "sitemap")),
        ("pages", counted(totals.pages, "page")),
        ("findings", counted(errors, "error")),
        ("findings", counted(totals.findings, "finding")),
    ]
    kinds = [
        ("news", totals.news, "news story"),
        ("images", totals.images, "image"),
        ("videos", totals.videos, "video"),
        ("languages", totals.alternates, "alternate"),
    ]
    # What there is not is said in a sentence.
    counts += [(name, counted(number, noun)) for name, number, noun in kinds if number]
    if (changes := summary.changes) is not None:
        titles = [title for _, title, _ in changes.listed()] or [counted(0, "change")]
        counts += [("changes", title) for title in titles]
    tiles = [(name, *text.split(" ", 1)) for name, text in counts]
    tiles += [
        ("fetches", DASH if totals.received is None else size(totals.received), "received"),
        ("fetches", DASH if totals.seconds is None else duration(totals.seconds), "time"),
    ]
    found = ""
    for name, value, label in tiles:
        is_bad = errors > 0 and label.startswith("error")
        kind = (" bad" if is_bad else "") + (" zero" if value == "0" else "")
        is_there = name == "tree" or f'id="{name}"' in content
        shown = tag("a", value, href=f"#{name}") if is_there else value
        found += tag("div", tag("dt", label), tag("dd", shown), class_=f"tile{kind}")
    return found


# The sitemap tree and the table of pages, as the page carries them -----------------------------------


def _packed(columns: dict[str, Any]) -> str:
    """Return columns in JSON, gzipped, in base64."""
    text = json.dumps(columns, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(text.encode(), 6, mtime=0)).decode()


MAX_TREE = 1_000_000
"""Maximum length of the embedded tree, compressed. Beyond it sitemaps are left out and counted,
undamaged ones first."""

_KINDS = {kind.__name__: name.label for kind, name in KINDS.items() if kind is not InvalidSitemap}


def embedded_tree(rows: Sequence[SitemapRow], addresses: Addresses, most: int = MAX_TREE) -> str:
    """Return as many rows as fit into ``most`` characters."""
    count = len(rows)
    while True:
        encoded = _packed(_columns(rows, _kept(rows, count), addresses))
        if len(encoded) <= most or not count:
            return encoded
        count = int(count * most / len(encoded) * 0.9)


def _kept(rows: Sequence[SitemapRow], count: int) -> list[int]:
    """Return ``count`` rows and the ancestors of each: damaged ones first, then indexes."""
    indexes = {row.parent for row in rows}
    damaged = {at for at, row in enumerate(rows) if row.state or row.findings}
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
        "findings": [counted(row.findings, "finding") if row.findings else "" for row in chosen],
        "state": [states.index(row.state or "") for row in chosen],
        "reason": [number_of.get(row.reason or "", 0) for row in chosen],
        "below": [counted(below[at], "sitemap") if below[at] else "" for at in kept],
        "leftOut": [missing[at] for at in kept],
    }


MAX_PAGES = 500_000  # rows
MAX_PAGE_TEXT = 64_000_000  # characters of their URLs and titles, which browsers hold in memory
MAX_PACKED = 18_000_000  # characters of the embedded table, compressed
MAX_PAGE_URL = 2048


class PageRow(NamedTuple):
    """What the table has of a page; ``sitemap`` is the place of its sitemap in the summary's list."""

    url: str
    sitemap: int
    date: str
    title: str
    news_date: str
    images: int


class PageRows:
    """The pages of a website; of too many every ``step``-th."""

    def __init__(self, most: int = MAX_PAGES, text: int = MAX_PAGE_TEXT) -> None:
        self.total = 0
        self.step = 1
        self.rows: list[PageRow] = []
        self._most = most
        self._text = text
        self._length = 0

    def add(self, block: PageBlock, sitemap: int) -> None:
        """Add the pages of a block of a sitemap, which is given by its place."""
        chosen = slice(-self.total % self.step, None, self.step)
        self.total += len(block.urls)
        for url, row in zip(block.urls[chosen], block.rows()[chosen], strict=True):
            title, news_date = "", ""
            if story := row.news_story:
                title, news_date = shown_text(story.title or ""), _shown(story.publish_date)
            date, images = _shown(row.last_modified), len(row.images or ())
            self.rows.append(PageRow(url, sitemap, date, title, news_date, images))
            self._length += len(url) + len(title)
        while len(self.rows) > self._most or self._length > self._text:
            self.halve()

    def halve(self) -> None:
        """Leave out every second page."""
        self.step *= 2
        del self.rows[1::2]
        self._length = sum(len(row.url) + len(row.title) for row in self.rows)


def _shown(date: datetime | None) -> str:
    """Return a date as it was declared, with its time if there is one."""
    if date is None:
        return ""
    text = date.replace(tzinfo=None).isoformat(" ", "minutes")
    return text.removesuffix(" 00:00")


def pages_card(rows: PageRows, summary: Summary, packed: str) -> Markup:
    """Return the card of the table of pages, which a script fills; ``packed`` is the embedded table."""
    if not rows.rows:
        return Markup("")
    which = counted(len(rows.rows), "page")
    if rows.step > 1:
        which += f", every {rows.step}th of {grouped(rows.total)},".replace("2th", "2nd")
    be = "is" if len(rows.rows) == 1 else "are"
    note = f"{which} {be} in this table, which takes {size(len(packed))} of this file."
    if not summary.checks.complete:
        note += f" Findings are those in the first {counted(summary.checks.pages, 'page')}."
    place = tag("div", id="pages-place")
    needs = "<noscript><p>The table of pages needs JavaScript.</p></noscript>"
    return card("pages", "Pages", place, Markup(needs), wide=True, note=note)


def packed_pages(rows: PageRows, summary: Summary, most: int = MAX_PACKED) -> str:
    """Return the table for the page; pages are left out until it fits."""
    while True:
        packed = _packed(_embedded(rows, summary))
        if len(packed) <= most or len(rows.rows) <= 1:
            return packed
        rows.halve()


def _embedded(rows: PageRows, summary: Summary) -> dict[str, Any]:
    """Return the columns, each as lines of one text: a browser needs few of them at a time."""
    urls, sitemaps, dates, titles, news_dates, images = zip(*rows.rows, strict=True)
    start = f"{summary.origin}/" if summary.origin else "\n"
    shown = (shown_url(url, MAX_PAGE_URL) for url in urls)
    codes = [summary.places.at(url) for url in urls]
    number_of = {found: at for at, found in enumerate(dict.fromkeys([frozenset(), *codes]))}
    return {
        "origin": summary.origin,
        "urls": _lines([url[len(start) - 1 :] if url.startswith(start) else url for url in shown]),
        "sitemaps": [
            [summary.addresses.url(summary.sitemaps[at].url), sum(1 for _ in group)]
            for at, group in groupby(sitemaps)
        ],
        "dates": _lines(dates),
        "titles": _lines(titles),
        "newsDates": _lines(news_dates),
        "images": _lines(images),
        "codeSets": [sorted(found) for found in number_of],
        "codes": _lines([number_of[found] for found in codes]),
        "sections": [
            shown_url(f"{section.name}{below}/" if below else section.name, MAX_PAGE_URL)
            for section in summary.sections
            for below in ("", *filter(None, dict(section.below.items)))
        ],
    }


def _lines(column: Sequence[str | int]) -> str:
    """Return the values of a column, a line each; nothing if all are empty."""
    return "\n".join(str(value or "") for value in column) if any(column) else ""
