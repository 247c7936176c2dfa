"""HTML by small functions; every text is escaped here and nowhere else."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from usp.display import grouped
from usp.report.text import DASH

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


class Markup(str):
    """HTML that is not escaped once more."""

    __slots__ = ()


Cell = str | int | None


def safe(value: Cell) -> str:
    """Give a value as HTML: numbers grouped, texts escaped, None as a dash."""
    if value is None:
        return DASH
    if isinstance(value, Markup):
        return value
    return grouped(value) if isinstance(value, int) else escape(value)


def url_cell(text: str) -> Markup:
    """Give a URL that is isolated from the direction of the text around it."""
    return Markup(f'<bdi class="url" dir="ltr">{escape(text)}</bdi>')


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[Cell]], more: str = ""
) -> Markup:
    """Give a table; columns of numbers are aligned as such. ``more`` is said below it."""
    body = [
        "<tr>"
        + "".join(
            f'<td class="number">{safe(cell)}</td>'
            if isinstance(cell, int)
            else f"<td>{safe(cell)}</td>"
            for cell in row
        )
        + "</tr>"
        for row in rows
    ]
    head = "".join(f'<th scope="col">{escape(name)}</th>' for name in heads)
    foot = f'<p class="more">{escape(more)}</p>' if more else ""
    return Markup(
        f'<div class="scroll" tabindex="0" role="region" aria-label="Table: {escape(caption)}"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead>"
        f"<tbody>{''.join(body)}</tbody></table></div>{foot}"
    )


def card(name: str, title: str, *inside: str, wide: bool = False, note: str = "") -> Markup:
    """Give a section of the page."""
    words = f'<p class="note">{escape(note)}</p>' if note else ""
    return Markup(
        f'<section class="card{" wide" if wide else ""}" id="{name}" '
        f'aria-labelledby="{name}-title"><h2 id="{name}-title">{escape(title)}</h2>{words}'
        f"{''.join(inside)}</section>"
    )


def figure(name: str, label: str, data: Markup) -> Markup:
    """Give the place of a chart, with its data as a table to unfold."""
    return Markup(
        f'<figure><div class="chart" id="chart-{name}" role="img" aria-label="{escape(label)}">'
        f"</div><details><summary>{escape(label)}: the numbers</summary>{data}</details></figure>"
    )


def chip(text: str, kind: str = "") -> Markup:
    """Return a short word in a box; ``kind`` is how serious it is: ``warn``, ``bad``."""
    return Markup(f'<span class="chip{f" {kind}" if kind else ""}">{escape(text)}</span>')


def folded(title: str, inside: str, *beside: str) -> Markup:
    """Return a title with something to unfold below it; ``beside`` stands next to the title."""
    return Markup(
        f'<details class="kind"><summary><span>{escape(title)}</span> {" ".join(beside)}</summary>'
        f"{inside}</details>"
    )
