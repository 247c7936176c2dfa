"""Lines of text for the rows of a table, made a block at a time."""

from __future__ import annotations

from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, Protocol

from usp.export.rows import Same, plain_columns
from usp.export.schema import COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp.export.schema import AnyKind
    from usp.objects.page import PageBlock


class Style(Protocol):
    """How a row is written: what stands around its cells, and what they look like."""

    begin: str
    end: str

    def label(self, name: str) -> str:
        """Give what stands before the cell of a column."""
        ...

    def cells(self, values: Sequence[Any], kind: AnyKind) -> Iterable[str]:
        """Give the cells of a column of plain values."""
        ...


def rows(
    names: Sequence[str], sitemap_url: str | None, block: PageBlock, style: Style
) -> Iterator[str]:
    """Fill the columns that differ from row to row into a form that holds all others."""
    members, columns = [], []
    for name, column in zip(names, plain_columns(names, sitemap_url, block), strict=True):
        kind = COLUMNS[name]
        if isinstance(column, Same):
            (cell,) = style.cells([column.value], kind)
            cell = cell.replace("%", "%%")
        else:
            columns.append(style.cells(column, kind))
            cell = "%s"
        members.append(style.label(name) + cell)
    form = style.begin + ",".join(members) + style.end
    if not columns:
        return repeat(form % (), len(block.urls))
    return map(form.__mod__, zip(*columns, strict=True))


@lru_cache(maxsize=1024)
def number_text(value: float) -> str:
    """Write a number; priorities repeat."""
    return repr(value)
