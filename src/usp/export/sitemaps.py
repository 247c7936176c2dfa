"""The sitemaps of a tree as a table: a row for each, and for each address that failed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Any

from usp._base import names
from usp._base.names import SITEMAP_FORMATS
from usp.export.arrow import texts_array
from usp.export.schema import Kind, pyarrow
from usp.export.text_formats import opened, write_rows
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    AbstractSitemap,
    IndexWebsiteSitemap,
    InvalidSitemap,
    kind_of,
    not_found_in,
)

if TYPE_CHECKING:
    import os

    from usp.objects.problem import Failure, Problem

__all__ = ["SITEMAP_COLUMNS", "SITEMAP_FORMATS", "sitemap_rows", "write_sitemaps"]

_TYPES = {"status": "int32", "bytes": "int64", "pages": "int64", "problems": "int64"}
SITEMAP_COLUMNS: Mapping[str, str] = {
    name: _TYPES.get(name, "string") for name in names.SITEMAP_COLUMNS
}
"""Every column with its Arrow type."""


def sitemap_rows(
    tree: AbstractSitemap,
    reason_of: Callable[[Failure], str] = attrgetter("brief"),
    *,
    problems: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each sitemap, in the order of the tree; what was not found comes first.

    ``parent`` is the sitemap that declares it, None at the top; ``pages`` counts its own pages, which
    reads them, and is None for what lists none. ``reason_of`` words a failure, by default briefly.
    Without ``problems`` these columns are None: finding them reads every field of every page.
    """
    for failure in not_found_in(tree):
        yield failure_row(failure, reason_of)
    for node, parent, _ in places_in(tree):
        # First: finding the problems of a sitemap counts its pages as well.
        found = problem_columns(node.problems) if problems else _NO_PROBLEMS
        yield sitemap_row(node, reason_of) | {"parent": parent, **found}


def places_in(tree: AbstractSitemap) -> Iterator[tuple[AbstractSitemap, str | None, int]]:
    """Yield every sitemap, depth first, with the URL of the one that declares it and its depth.

    A website is not a sitemap itself: those directly below it are at the top.
    """
    waiting: list[tuple[AbstractSitemap, str | None, int]] = [(tree, None, 0)]
    while waiting:
        node, parent, depth = waiting.pop()
        above: tuple[str | None, int] = (None, 0)
        if not isinstance(node, IndexWebsiteSitemap):
            yield node, parent, depth
            above = node.url, depth + 1
        waiting += [(below, *above) for below in reversed(node.sub_sitemaps)]


def sitemap_row(
    node: AbstractSitemap, reason_of: Callable[[Failure], str], *, count: bool = True
) -> dict[str, Any]:
    """Return the row of one sitemap, without its parent; pages are read if they are to be counted."""
    has_pages = count and isinstance(node, AbstractPagesSitemap)
    # Also of one that leads back to its ancestors: why it is not followed.
    why = node.why if isinstance(node, InvalidSitemap) else node.failure
    received = node.size
    if received is None and node.exchange is not None:  # also of one that could not be read
        received = node.exchange.received or None
    return {
        "url": node.url,
        "parent": None,
        "type": kind_of(node).name,
        "status": node.status,
        "bytes": received,
        "pages": node.page_count() if has_pages else None,
        "failure": None if why is None else reason_of(why),
        "code": None if why is None else why.code.value,
    }


_NO_PROBLEMS: Mapping[str, Any] = {"problems": None, "problem_codes": None}


def problem_columns(problems: Iterable[Problem]) -> dict[str, Any]:
    """Return the columns of problems: how many, and how many of each code, as ``code:number code:…``.

    The most frequent come first.
    """
    times: Counter[str] = Counter()
    for problem in problems:
        times[problem.code.value] += problem.times
    codes = " ".join(f"{code}:{count}" for code, count in times.most_common())
    return {"problems": times.total(), "problem_codes": codes or None}


def failure_row(failure: Failure, reason_of: Callable[[Failure], str]) -> dict[str, Any]:
    """Return the row of an address that failed without being declared."""
    known = {"url": failure.url, "type": "invalid", "status": failure.status}
    reason = {"failure": reason_of(failure), "code": failure.code.value}
    return dict.fromkeys(SITEMAP_COLUMNS) | known | reason


def write_sitemaps(
    rows: Iterable[Mapping[str, Any]],
    target: str | os.PathLike[str] | IO[Any],
    form: str,
    columns: Sequence[str] | None = None,
) -> None:
    """Write rows of :func:`sitemap_rows` to a file or a stream, in one of :data:`SITEMAP_FORMATS`."""
    kinds = {name: SITEMAP_COLUMNS[name] for name in columns or SITEMAP_COLUMNS}
    chosen = (tuple(row[name] for name in kinds) for row in rows)
    with opened(target, form) as stream:
        if form == "text":
            _write_text(chosen, stream, tuple(kinds))
        elif form == "parquet":
            _write_parquet(chosen, stream, tuple(kinds))
        else:
            words = {name: Kind.WHOLE if name in _TYPES else Kind.TEXT for name in kinds}
            write_rows(chosen, stream, form, words)


def _write_text(rows: Iterable[Sequence[Any]], out: IO[bytes], names: Sequence[str]) -> None:
    out.write(("\t".join(names) + "\n").encode())
    for row in rows:
        cells = ("" if value is None else " ".join(str(value).split()) for value in row)
        out.write(("\t".join(cells) + "\n").encode("utf-8", "replace"))


def _write_parquet(rows: Iterable[Sequence[Any]], out: IO[bytes], names: Sequence[str]) -> None:
    pa = pyarrow()
    columns = dict(zip(names, zip(*rows, strict=True), strict=False)) or dict.fromkeys(names, ())
    arrays = {
        name: pa.array(column, _TYPES[name]) if name in _TYPES else texts_array(column)
        for name, column in columns.items()
    }
    pyarrow(".parquet").write_table(pa.table(arrays), out, compression="zstd", use_dictionary=False)
