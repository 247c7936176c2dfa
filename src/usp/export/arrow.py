"""The pages of a tree as an Arrow table, built from the parser's own columns.

Where the parser gives fields as columns of texts, no page object is made: a batch collects texts, and
each distinct text is read once. Other pages are asked one by one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp.export.arrow_columns import PageColumns, TextColumns
from usp.export.schema import arrow_schema, chosen, pyarrow
from usp.export.source import blocks_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.export.source import Pages
    from usp.objects.page import PageBlock
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Selection

__all__ = ["BATCH_ROWS", "batches_of", "c_stream", "reader", "record_batches", "to_arrow"]

BATCH_ROWS = 1 << 16
_PAGES = 1 << 11  # page objects at a time: with all they hold, they take the most room


def record_batches(
    pages: Pages,
    columns: Iterable[str] | None = None,
    selection: Selection | None = None,
    batch_rows: int = BATCH_ROWS,
    *,
    site: str | None = None,
) -> Iterator[Any]:
    """Give the pages of a tree, or any pages, as ``pyarrow.RecordBatch`` of so many rows or fewer.

    ``columns`` are the wanted ones, in this order; ``site`` is the address of the website where
    there is no tree that knows it.
    """
    if batch_rows < 1:
        raise ValueError(f"batch_rows is a number from 1 on: {batch_rows!r}")
    names = chosen(columns)
    pyarrow()
    return batches_of(blocks_of(pages, selection, site), names, batch_rows)


def reader(
    pages: Pages,
    columns: Iterable[str] | None = None,
    selection: Selection | None = None,
    batch_rows: int = BATCH_ROWS,
) -> Any:
    """Give a ``pyarrow.RecordBatchReader`` that reads the pages while it is read."""
    batches = record_batches(pages, columns, selection, batch_rows)
    return pyarrow().RecordBatchReader.from_batches(arrow_schema(columns), batches)


def to_arrow(
    pages: Pages, columns: Iterable[str] | None = None, selection: Selection | None = None
) -> Any:
    """Give all pages as a ``pyarrow.Table``."""
    names = chosen(columns)
    batches = list(record_batches(pages, names, selection))
    return pyarrow().Table.from_batches(batches, arrow_schema(names)).unify_dictionaries()


def c_stream(sitemap: AbstractSitemap, requested_schema: object | None = None) -> object:
    """Give the pages by Arrow's C stream interface, for ``__arrow_c_stream__``."""
    return reader(sitemap).__arrow_c_stream__(requested_schema)


def batches_of(
    blocks: Iterable[tuple[str | None, PageBlock]], names: tuple[str, ...], rows: int = BATCH_ROWS
) -> Iterator[Any]:
    """Give blocks, each with the address of its sitemap, as record batches of these columns."""
    parts: list[Any] = []  # of a batch, each collected in one of the two ways
    collected: TextColumns | PageColumns = TextColumns(names)
    size = 0
    for sitemap_url, block in blocks:
        count = len(block.urls)
        if size and size + count > rows:
            yield from _together([*parts, *collected.batches()], rows)
            parts, collected, size = [], type(collected)(names), 0
        texts = block.texts()
        kind = PageColumns if texts is None else TextColumns
        if not isinstance(collected, kind):
            parts += collected.batches()
            collected = kind(names)
        if texts is None and collected.count >= _PAGES:
            parts += collected.batches()
            collected = kind(names)
        collected.add(sitemap_url, block, texts)
        del texts  # thousands of texts, whose room the next ones can have
        size += count
    yield from _together([*parts, *collected.batches()], rows)


def _together(parts: list[Any], rows: int) -> Iterator[Any]:
    """Make one batch of several; a block that is larger than a batch is cut."""
    if not parts:
        return
    whole = parts[0]
    if len(parts) > 1:
        table = pyarrow().Table.from_batches(parts).unify_dictionaries().combine_chunks()
        (whole,) = table.to_batches()
    for at in range(0, len(whole), rows):
        yield whole.slice(at, rows)
