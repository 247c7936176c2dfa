"""The sitemaps of a tree as a table: a row for each, and for each address that failed."""

from __future__ import annotations

import os
from collections import Counter
from typing import IO, TYPE_CHECKING, Any

from usp._base.files import replacing
from usp.export.schema import pyarrow
from usp.export.targets import bytes_of, compressing
from usp.export.text_formats import guarded, quoted, to_json
from usp.objects.sitemap import AbstractPagesSitemap, IndexWebsiteSitemap, InvalidSitemap, kind_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from usp.objects.problem import Failure, Problem
    from usp.objects.sitemap import AbstractSitemap

__all__ = ["SITEMAP_COLUMNS", "SITEMAP_FORMATS", "sitemap_rows", "write_sitemaps"]

SITEMAP_COLUMNS: Mapping[str, str] = {
    "url": "string",
    "parent": "string",
    "type": "string",
    "status": "int32",
    "bytes": "int64",
    "pages": "int64",
    "problems": "int64",
    "problem_codes": "string",
    "failure": "string",
    "code": "string",
}
"""Every column with its Arrow type."""


def sitemap_rows(
    tree: AbstractSitemap,
    reason_of: Callable[[Failure], str] | None = None,
    *,
    problems: bool = True,
) -> Iterator[dict[str, Any]]:
    """Yield a row for each sitemap, in the order of the tree; what was not found comes first.

    ``parent`` is the sitemap that declares it, None at the top; ``pages`` counts its own pages, which
    reads them, and is None for what lists none. ``reason_of`` words a failure: briefly, unless told.
    Without ``problems`` these columns are None: finding them reads every field of every page.
    """
    told = reason_of or _brief
    if isinstance(tree, IndexWebsiteSitemap):
        for failure in tree.not_found:
            yield _failed(failure, told)
    for node, parent, _ in places_in(tree):
        # First: finding the problems of a sitemap counts its pages as well.
        found = problem_columns(node.problems) if problems else dict(_NO_PROBLEMS)
        yield sitemap_row(node, told) | {"parent": parent} | found


def places_in(tree: AbstractSitemap) -> Iterator[tuple[AbstractSitemap, str | None, int]]:
    """Yield every sitemap, depth first, with the URL of the one that declares it and its depth."""
    top = tree.sub_sitemaps if isinstance(tree, IndexWebsiteSitemap) else [tree]
    waiting: list[tuple[AbstractSitemap, str | None, int]] = [(n, None, 0) for n in reversed(top)]
    while waiting:
        node, parent, depth = waiting.pop()
        yield node, parent, depth
        waiting += [(below, node.url, depth + 1) for below in reversed(node.sub_sitemaps)]


def sitemap_row(
    node: AbstractSitemap, reason_of: Callable[[Failure], str], *, count: bool = True
) -> dict[str, Any]:
    """Return the row of one sitemap, without its parent; pages are read if they are to be counted."""
    has_pages = count and isinstance(node, AbstractPagesSitemap)
    why = why_missing(node)
    return {
        "url": node.url,
        "parent": None,
        "type": kind_of(node).name,
        "status": node.status,
        "bytes": bytes_received(node),
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


def bytes_received(node: AbstractSitemap) -> int | None:
    """Return the number of bytes of a sitemap as received; also of one that could not be read."""
    if node.size is not None or node.exchange is None:
        return node.size
    return node.exchange.received or None


def _failed(failure: Failure, reason_of: Callable[[Failure], str]) -> dict[str, Any]:
    known = {"url": failure.url, "type": "invalid", "status": failure.status}
    told = {"failure": reason_of(failure), "code": failure.code.value}
    return dict.fromkeys(SITEMAP_COLUMNS) | known | told


def why_missing(node: AbstractSitemap) -> Failure | None:
    """Return why a sitemap is missing or incomplete; also why one that leads back is not followed."""
    return node.why if isinstance(node, InvalidSitemap) else node.failure


def _brief(failure: Failure) -> str:
    return failure.brief


def write_sitemaps(
    rows: Iterable[Mapping[str, Any]],
    target: str | os.PathLike[str] | IO[Any],
    form: str,
    columns: Sequence[str] | None = None,
) -> None:
    """Write rows of :func:`sitemap_rows` to a file or a stream, in one of :data:`SITEMAP_FORMATS`."""
    names = tuple(columns or SITEMAP_COLUMNS)
    chosen = ({name: _clean(row[name]) for name in names} for row in rows)
    write = SITEMAP_FORMATS[form]
    if not isinstance(target, str | os.PathLike):
        write(chosen, bytes_of(target, form), names)
        return
    with replacing(target) as file, compressing(target, file) as stream:
        write(chosen, stream, names)


def _clean(value: Any) -> Any:
    """Return a value that can be encoded as UTF-8: a lone surrogate becomes ``?``."""
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else value


def _write_text(rows: Iterable[Mapping[str, Any]], out: IO[bytes], names: Sequence[str]) -> None:
    out.write(("\t".join(names) + "\n").encode())
    for row in rows:
        cells = ("" if value is None else " ".join(str(value).split()) for value in row.values())
        out.write(("\t".join(cells) + "\n").encode())


def _write_csv(rows: Iterable[Mapping[str, Any]], out: IO[bytes], names: Sequence[str]) -> None:
    out.write((",".join(names) + "\r\n").encode())
    for row in rows:
        cells = ("" if value is None else quoted(guarded(str(value))) for value in row.values())
        out.write((",".join(cells) + "\r\n").encode())


def _write_lines(rows: Iterable[Mapping[str, Any]], out: IO[bytes], _: Sequence[str]) -> None:
    for row in rows:
        out.write(to_json(row).encode() + b"\n")


def _write_array(rows: Iterable[Mapping[str, Any]], out: IO[bytes], _: Sequence[str]) -> None:
    begin = b"[\n"
    for row in rows:
        out.write(begin + to_json(row).encode())
        begin = b",\n"
    out.write(b"[]\n" if begin == b"[\n" else b"\n]\n")


def _write_parquet(rows: Iterable[Mapping[str, Any]], out: IO[bytes], names: Sequence[str]) -> None:
    pa, parquet = pyarrow(), pyarrow(".parquet")
    kinds = [(name, pa.type_for_alias(SITEMAP_COLUMNS[name])) for name in names]
    table = pa.Table.from_pylist(list(rows), schema=pa.schema(kinds))
    sink = pa.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd")
    out.write(sink.getvalue().to_pybytes())


SITEMAP_FORMATS: Mapping[
    str, Callable[[Iterable[Mapping[str, Any]], IO[bytes], Sequence[str]], None]
] = {
    "text": _write_text,
    "csv": _write_csv,
    "json": _write_array,
    "jsonl": _write_lines,
    "parquet": _write_parquet,
}
"""The formats of the table with their writers; ``text`` has tabs between the columns."""
