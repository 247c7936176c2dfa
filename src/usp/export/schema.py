"""The columns of the table, in every format.

The table is described without Arrow, so that the text formats need none; :func:`arrow_schema` says the
same to Arrow.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from usp._base.dates import precision_of
from usp._base.names import MissingExtraError, load_extra
from usp._formats.batches import read_own
from usp.objects.extensions import EACH, EXTENSIONS, Extension, FieldSpec, Kind, Table

if TYPE_CHECKING:
    from usp.objects.page import PageFields

__all__ = ["COLUMNS", "Kind", "MissingExtraError", "arrow_schema", "chosen", "pyarrow"]


TEXTS = frozenset({Kind.TEXT, Kind.VERBATIM, Kind.ADDRESS, Kind.ADDRESS_OR_NAME})
"""The kinds of values that are text."""

REPEATING = frozenset({Kind.WORD, Kind.NUMBER, Kind.TIME})
"""The kinds of columns whose values repeat, so that a dictionary pays."""


def _column_of(extension: Extension) -> FieldSpec:
    kind = extension.table if extension.table.specs else Kind.FLAG
    return FieldSpec(extension.field, kind, many=EACH if extension.many else None)


COLUMNS: Mapping[str, FieldSpec] = {
    "url": FieldSpec("url"),
    "lastmod": FieldSpec("last_modified", Kind.TIME, "lastmod"),
    "lastmod_precision": FieldSpec("last_modified", Kind.WORD, "lastmod"),
    "changefreq": FieldSpec("change_frequency", Kind.WORD, "changefreq"),
    "priority": FieldSpec("priority", Kind.NUMBER, "priority"),
    "sitemap": FieldSpec("sitemap_url", Kind.WORD),
    **{one.column: _column_of(one) for one in EXTENSIONS if one.column},
}
"""Every column, in order: the field of a page, the type of its values, the element with its text."""

OF_FIELDS: Mapping[str, FieldSpec] = {
    name: spec for name, spec in COLUMNS.items() if name not in ("url", "sitemap")
}
"""The columns that are read from the fields of a page."""


# Where the values come from -------------------------------------------------------------------------


@lru_cache(maxsize=64)
def read_frequency(text: str) -> str | None:
    """Return a change frequency as the parsers read it; None for an empty text."""
    read = read_own({"changefreq": text} if text else {})[2]
    return None if read is None else read.value


@lru_cache(maxsize=1024)
def read_priority(text: str) -> float:
    """Return a priority as the parsers read it."""
    return float(read_own({"priority": text} if text else {})[0])


def row_values(rows: Sequence[PageFields], name: str) -> list[Any]:
    """Return the values of a column of rows, those of enumerations as words."""
    values = list(map(attrgetter(COLUMNS[name].name), rows))
    if name == "lastmod_precision":
        return list(map(precision_of, values))
    if name == "changefreq":
        return [frequency and frequency.value for frequency in values]
    return values


# Selected columns, and their Arrow types ------------------------------------------------------------


def chosen(columns: Iterable[str] | None, known: Iterable[str] = COLUMNS) -> tuple[str, ...]:
    """Return the names of the selected columns; all of them for None.

    Raises ``ValueError`` for an unknown name.
    """
    there = tuple(known)
    if columns is None:
        return there
    names = tuple(dict.fromkeys((columns,) if isinstance(columns, str) else columns))
    if unknown := [name for name in names if name not in there]:
        raise ValueError(f"unknown column {unknown[0]!r}; choose from {', '.join(there)}")
    if not names:
        raise ValueError(f"no columns given; choose from {', '.join(there)}")
    return names


def pyarrow(part: str = "") -> Any:
    """Return pyarrow, or a module of it; raises ``MissingExtraError`` without the extra ``arrow``."""
    return load_extra(f"pyarrow{part}", "Arrow tables and Parquet files need pyarrow", "arrow")


def skip_pandas_import() -> None:
    """Let pyarrow do without pandas, in a process of our own.

    With the first list that becomes an array, pyarrow loads pandas if it is installed, to see whether
    the list is one of its columns. That takes longer than everything else that a worker loads.
    """

    def find_spec(name: str, *_: object) -> None:
        if name == "pandas":
            raise ModuleNotFoundError(name)

    finder: Any = SimpleNamespace(find_spec=find_spec)
    sys.meta_path.insert(0, finder)
    try:
        pyarrow().array([0])  # looks for pandas, and never again unless it is asked for
    finally:
        sys.meta_path.remove(finder)


def arrow_schema(columns: Iterable[str] | None = None) -> Any:
    """Return the ``pyarrow.Schema`` of the table, or of some of its columns."""
    pa = pyarrow()
    fields = [pa.field(name, arrow_type(COLUMNS[name])) for name in chosen(columns)]
    return pa.schema(fields)


@cache
def arrow_type(spec: FieldSpec) -> Any:
    """Return the Arrow type for the values of a field."""
    pa = pyarrow()
    if spec.many is not None:
        return pa.list_(arrow_type(spec.item))
    if isinstance(spec.kind, Table):
        return pa.struct([(one.column or one.name, arrow_type(one)) for one in spec.kind.in_order])
    return {
        **dict.fromkeys(TEXTS, pa.string()),
        Kind.WORD: pa.dictionary(pa.int32(), pa.string()),
        Kind.TIME: pa.timestamp("us", "UTC"),
        Kind.NUMBER: pa.float64(),
        Kind.WHOLE: pa.int64(),
        Kind.FLAG: pa.bool_(),
    }[spec.kind]
