"""Pages as a table for people: as wide as the terminal, or with tabs between the columns."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import rich_click as click
from rich.cells import cell_len, chop_cells, set_cell_size

from usp._base.display import printable
from usp.cli.output import has_colors, is_for_people
from usp.export.text_formats import rows_of_block, to_json

if TYPE_CHECKING:
    from usp.objects.page import PageBlock

_USUAL = ("url", "lastmod", "changefreq", "priority", "news.title", "image_count")
_WIDEST = 24  # of all columns but those with URLs
_LEAST = 20  # columns of the terminal for URLs, whatever else there is
_GAP = "  "


def table_lines(
    blocks: Iterable[tuple[str | None, PageBlock]], names: Sequence[str] | None, *, is_file: bool
) -> Iterator[str]:
    """Yield the lines of a table; without names, of the usual columns that have anything.

    Only a terminal has a width: it is shared by what the first pages have.
    """
    shown = names or _USUAL
    parts = (rows_of_block(shown, url, block) for url, block in blocks)
    if is_file or not is_for_people():
        yield "\t".join(shown)
        yield from ("\t".join(map(_text, row)) for rows in parts for row in rows)
        return
    first = [_cells(shown, row) for row in next(parts, ())]
    used = [at for at in range(len(shown)) if names or any(row[at] for row in first) or not at]
    titles = [shown[at] for at in used]
    widths = _widths(titles, [[row[at] for at in used] for row in first])
    head = _GAP.join(map(set_cell_size, titles, widths)).rstrip()
    yield click.style(head, bold=True) if has_colors() else head
    for row in chain(first, (_cells(shown, row) for rows in parts for row in rows)):
        cells = (_fitting(row[at], width) for at, width in zip(used, widths, strict=True))
        yield _GAP.join(cells).rstrip()


def _text(value: Any) -> str:
    if value is None:
        return ""
    return printable(" ".join((value if isinstance(value, str) else to_json(value)).split()))


def _cells(names: Sequence[str], row: Sequence[Any]) -> list[str]:
    """Return the texts of a row; a date at midnight is a day, and no images are nothing."""
    texts = ["" if value in (0, False) else _text(value) for value in row]
    return [
        text[:16].replace("T", " ").removesuffix(" 00:00")
        if name in ("lastmod", "news.date")
        else text
        for name, text in zip(names, texts, strict=True)
    ]


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of the columns: what the first pages need, and URLs what is left.

    Later URLs may be longer: they get half as much again, if there is room.
    """
    room = shutil.get_terminal_size().columns - len(_GAP) * (len(titles) - 1)
    needs = [max(map(cell_len, column)) for column in zip(titles, *rows, strict=True)]
    long = [at for at, name in enumerate(titles) if name in ("url", "sitemap", "path")]
    widths = [need if at in long else min(need, _WIDEST) for at, need in enumerate(needs)]
    left = room - sum(width for at, width in enumerate(widths) if at not in long)
    for number, at in enumerate(sorted(long, key=needs.__getitem__)):
        share = max(_LEAST, left // (len(long) - number))
        widths[at] = min(needs[at] * 3 // 2, share)
        left -= widths[at]
    return widths


def _fitting(text: str, width: int) -> str:
    """Return a text of this width: a URL loses its host, then its middle: its ends say most."""
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    scheme, _, path = text.partition("://")
    if path and scheme.isalpha():
        return _fitting(f"…/{path.partition('/')[2]}", width)
    keep = width - 1
    tail = keep // 2 if "/" in text and " " not in text else 0
    end = chop_cells(text[::-1], tail)[0][::-1] if tail else ""
    return set_cell_size(set_cell_size(text, keep - cell_len(end)) + "…" + end, width)
