"""HTML by small functions, and names, URLs and texts of a website as they are shown.

No control characters, no direction marks, no endless lines.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from html import escape
from itertools import islice

from usp._base.display import counted, excerpt, grouped, printable, without_origin
from usp._base.urls import origin_of

FIRST_ROWS = 10  # how many rows of a long table are shown at first; the others can be expanded
_PAIR = 2  # columns: so narrow a table is not stacked on a phone


class Markup(str):
    """HTML that is not escaped again."""

    __slots__ = ()


Cell = str | int | None


def tag(name: str, *inside: Cell, **attributes: str) -> Markup:
    """Return an element: texts escaped, numbers grouped, None as a dash; ``class_`` is ``class``.

    Attributes that are empty are left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
        if value
    )
    return Markup(f"<{name}{given}>{''.join(map(_safe, inside))}</{name}>")


def _safe(value: Cell) -> str:
    if value is None:
        return DASH
    if isinstance(value, Markup):
        return value
    return grouped(value) if isinstance(value, int) else escape(value)


def url_cell(text: str, kind: str = "") -> Markup:
    """Return a URL, isolated from the direction of the surrounding text."""
    return tag("bdi", text, class_=f"url {kind}".strip(), dir="ltr")


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], more: str = ""
) -> Markup:
    """Return a table with columns of numbers right-aligned; ``more`` is a line below it.

    Each cell names its column: on a narrow screen the rows of a wide table are shown as blocks of
    labelled lines. Roles are explicit, since browsers drop those of a table that is laid out so.
    """
    listed = list(rows)
    body = [tag("tr", *map(_cell, heads, row), role="row") for row in listed]
    numbers = {at for row in listed for at, cell in enumerate(row) if isinstance(cell, int)}
    top = [
        tag("th", name, scope="col", role="columnheader", class_="number" if at in numbers else "")
        for at, name in enumerate(heads)
    ]
    inside = tag(
        "table",
        tag("caption", caption),
        tag("thead", tag("tr", *top, role="row"), role="rowgroup"),
        tag("tbody", *body, role="rowgroup"),
        role="table",
    )
    kind = "scroll wide-table" if len(heads) > _PAIR else "scroll"
    label = f"Table: {caption}"
    shown = tag("div", inside, class_=kind, tabindex="0", role="region", aria_label=label)
    return Markup(shown + tag("p", more, class_="more") if more else shown)


def _cell(head: str, cell: Cell) -> Markup:
    kind = "number" if isinstance(cell, int) else ""
    return tag("td", cell, role="cell", data_head=head, class_=kind)


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


def card(name: str, title: str, *inside: Cell, wide: bool = False, note: str = "") -> Markup:
    """Return a section of the page."""
    head, kind = tag("h2", title, id=f"{name}-title"), "card wide" if wide else "card"
    words = [tag("p", note, class_="note")] if note else []
    return tag(
        "section", head, *words, *inside, class_=kind, id=name, aria_labelledby=f"{name}-title"
    )


def figure(name: str, label: str, data: Markup) -> Markup:
    """Return the element for a chart, with its data as a table to expand."""
    chart = tag("div", class_="chart", id=f"chart-{name}", role="img", aria_label=label)
    return tag("figure", chart, tag("details", tag("summary", f"{label}: the numbers"), data))


def chip(text: str, kind: str = "") -> Markup:
    """Return a short text in a box; ``kind`` is its severity: ``warn`` or ``bad``."""
    return tag("span", text, class_=f"chip {kind}".strip())


def chips(*inside: Markup) -> Markup:
    """Return a line of chips."""
    return tag("p", Markup(" ".join(inside)), class_="chips") if inside else Markup("")


def folded(title: str, inside: Markup, *beside: Markup) -> Markup:
    """Return a title with content to expand below it; ``beside`` is shown next to the title."""
    summary = tag("summary", tag("span", title), " ", Markup(" ".join(beside)))
    return tag("details", summary, inside, class_="folded")


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


class Addresses:
    """Shortens URLs, and texts that contain them, by the scheme and host that most of them share."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._start = f"{origin}/" if origin else ""

    def url(self, url: str, most: int = MAX_URL) -> str:
        """Return the path of a URL, or all of it if it is on another host."""
        start = self._start
        return shown_url(url[len(start) - 1 :] if start and url.startswith(start) else url, most)

    def cell(self, url: str) -> Markup:
        """Return a URL, shortened; a script makes it a link if that is safe."""
        return url_cell(self.url(url), "address")

    def text(self, text: str, most: int = MAX_TEXT) -> str:
        """Return text with URLs shortened to their paths."""
        return shown_text(without_origin(text, self._start), most)
