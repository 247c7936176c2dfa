"""HTML by small functions, and names, URLs and texts of a website as they are shown.

No control characters, no direction marks, no endless lines.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from usp._base.display import counted, excerpt, grouped, printable
from usp._base.urls import origin_of

FIRST_ROWS = 10
"""How many rows of a long table are shown at first; the others can be expanded."""

_NUMBER = ' class="number"'
_PAIR = 2  # columns: so narrow a table is not stacked on a phone


class Markup(str):
    """HTML that is not escaped again."""

    __slots__ = ()


Cell = str | int | None


def safe(value: Cell) -> str:
    """Return a value as HTML: numbers grouped, texts escaped, None as a dash."""
    if value is None:
        return DASH
    if isinstance(value, Markup):
        return value
    return grouped(value) if isinstance(value, int) else escape(value)


def url_cell(text: str) -> Markup:
    """Return a URL, isolated from the direction of the surrounding text."""
    return Markup(f'<bdi class="url" dir="ltr">{escape(text)}</bdi>')


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], more: str = ""
) -> Markup:
    """Return a table with columns of numbers right-aligned; ``more`` is a line below it.

    Each cell names its column: on a narrow screen the rows of a wide table are shown as blocks of
    labelled lines. Roles are explicit, since browsers drop those of a table that is laid out so.
    """
    listed = list(rows)
    body = "".join(f'<tr role="row">{_cells(heads, row)}</tr>' for row in listed)
    numbers = {at for row in listed for at, cell in enumerate(row) if isinstance(cell, int)}
    head = "".join(
        f'<th scope="col" role="columnheader"{_NUMBER if at in numbers else ""}>{escape(name)}</th>'
        for at, name in enumerate(heads)
    )
    foot = f'<p class="more">{escape(more)}</p>' if more else ""
    wide = " wide-table" if len(heads) > _PAIR else ""
    return Markup(
        f'<div class="scroll{wide}" tabindex="0" role="region" aria-label="Table: {escape(caption)}">'
        f'<table role="table"><caption>{escape(caption)}</caption>'
        f'<thead role="rowgroup"><tr role="row">{head}</tr></thead>'
        f'<tbody role="rowgroup">{body}</tbody></table></div>{foot}'
    )


def _cells(heads: Sequence[str], row: Sequence[Cell]) -> str:
    return "".join(
        f'<td role="cell" data-head="{escape(head)}"{_NUMBER if isinstance(cell, int) else ""}>'
        f"{safe(cell)}</td>"
        for head, cell in zip(heads, row, strict=True)
    )


def long_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], total: int
) -> Markup:
    """Return a table that shows its first rows; the others can be expanded.

    ``total`` is the number of rows, listed or not.
    """
    waiting = iter(rows)
    first, rest = list(islice(waiting, FIRST_ROWS)), list(waiting)
    left = total - len(first) - len(rest)
    more = f"and {grouped(left)} more" if left > 0 else ""
    if not rest:
        return table(caption, heads, first, more)
    shown = table(caption, heads, first)
    return Markup(shown + folded(counted(len(rest), "more row"), table(caption, heads, rest, more)))


def card(name: str, title: str, *inside: str, wide: bool = False, note: str = "") -> Markup:
    """Return a section of the page."""
    words = f'<p class="note">{escape(note)}</p>' if note else ""
    return Markup(
        f'<section class="card{" wide" if wide else ""}" id="{name}" '
        f'aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(title)}</h2>{words}'
        f"{''.join(inside)}</section>"
    )


def figure(name: str, label: str, data: Markup) -> Markup:
    """Return the element for a chart, with its data as a table to expand."""
    return Markup(
        f'<figure><div class="chart" id="chart-{name}" role="img" aria-label="{escape(label)}">'
        f"</div><details><summary>{escape(label)}: the numbers</summary>{data}</details></figure>"
    )


def chip(text: str, kind: str = "") -> Markup:
    """Return a short text in a box; ``kind`` is its severity: ``warn`` or ``bad``."""
    return Markup(f'<span class="chip{f" {kind}" if kind else ""}">{escape(text)}</span>')


def folded(title: str, inside: str, *beside: str) -> Markup:
    """Return a title with content to expand below it; ``beside`` is shown next to the title."""
    return Markup(
        f'<details class="folded"><summary><span>{escape(title)}</span> {" ".join(beside)}</summary>'
        f"{inside}</details>"
    )


def sentences(texts: Iterable[str]) -> Markup:
    """Return sentences as a list."""
    return Markup(f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in texts)}</ul>")


# What a website wrote, as the report, notebooks and the command line show it -----------------------


MAX_URL = 300
MAX_TEXT = 200
DASH = "\N{EN DASH}"


def shown_url(url: str, most: int = MAX_URL) -> str:
    """Return a URL with invisible characters percent-encoded, shortened in the middle if long."""
    if len(url) > 2 * most:
        url = url[:most] + url[-most:]
    url = printable(url)
    if len(url) <= most:
        return url
    tail = most // 3
    return f"{url[: most - tail - 1]}…{url[-tail:]}"


def shown_text(text: str, most: int = MAX_TEXT) -> str:
    """Return text on one line with invisible characters escaped, shortened if long."""
    text = " ".join(text[: 2 * most].split())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else f"\\u{{{ord(c):x}}}" for c in text)
    return excerpt(text, most)


def shared_origin(urls: Iterable[str]) -> str:
    """Return the most frequent scheme and host, the first one of a tie; empty if there is none."""
    origins = Counter(filter(None, map(origin_of, urls)))
    return max(origins, key=origins.__getitem__, default="")


def without_origin(text: str, start: str) -> str:
    """Return text with the URLs of a website shortened to their paths.

    ``start`` is the homepage. Its own URL is left as it is: a lone slash would say nothing.
    """
    if "://" not in start or not start.endswith("/"):
        return text
    return re.sub(rf"(?<![\w:/]){re.escape(start)}(?=[^\s'\"()<>,;:.]|\.\w)", "/", text)


class Addresses:
    """Shortens URLs, and texts that contain them, by the scheme and host that most of them share."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._start = f"{origin}/" if origin else ""

    def url(self, url: str, most: int = MAX_URL) -> str:
        """Return the path of a URL, or all of it if it is on another host."""
        start = self._start
        return shown_url(url[len(start) - 1 :] if start and url.startswith(start) else url, most)

    def text(self, text: str, most: int = MAX_TEXT) -> str:
        """Return text with URLs shortened to their paths."""
        return shown_text(without_origin(text, self._start), most)
