"""The columns of the table, in every format.

The table is described without Arrow, so that the text formats need none; :func:`arrow_schema` says the
same to Arrow.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from operator import attrgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from usp._base.dates import precision_of
from usp._base.names import COMPUTED_COLUMNS, PAGE_COLUMNS, MissingExtraError, load_extra
from usp._base.urls import path_of, section_of
from usp.objects.extension_values import FieldSpec, Kind, Table
from usp.objects.extensions import EXTENSIONS

if TYPE_CHECKING:
    from usp.objects.page import PageFields

__all__ = ["COLUMNS", "Kind", "MissingExtraError", "arrow_schema", "chosen", "pyarrow"]


TEXTS = frozenset({Kind.TEXT, Kind.VERBATIM, Kind.ADDRESS, Kind.ADDRESS_OR_NAME})
"""The kinds of values that are text."""

REPEATING = frozenset({Kind.WORD, Kind.NUMBER, Kind.TIME})
"""The kinds of columns whose values repeat, so that a dictionary pays."""


_SPECS: Mapping[str, FieldSpec] = {
    "url": FieldSpec("url"),
    "lastmod": FieldSpec("last_modified", Kind.TIME, "lastmod"),
    "lastmod_precision": FieldSpec("last_modified", Kind.WORD, "lastmod"),
    "changefreq": FieldSpec("change_frequency", Kind.WORD, "changefreq"),
    "priority": FieldSpec("priority", Kind.NUMBER, "priority"),
    "sitemap": FieldSpec("sitemap_url", Kind.WORD),
    **{one.column: one.spec for one in EXTENSIONS if one.column},
    "path": FieldSpec("url"),
    "section": FieldSpec("url", Kind.WORD),
    "news.title": FieldSpec("news_story"),
    "news.date": FieldSpec("news_story", Kind.TIME),
    "image_count": FieldSpec("images", Kind.WHOLE),
    "resource": next(one.spec for one in EXTENSIONS if one.field == "resource"),
}
COLUMNS: Mapping[str, FieldSpec] = {name: _SPECS[name] for name in PAGE_COLUMNS}
"""Every column, in order: the field of a page, the type of its values, the element with its text."""

ALL_COLUMNS: Mapping[str, FieldSpec] = {
    name: _SPECS[name] for name in (*PAGE_COLUMNS, *COMPUTED_COLUMNS)
}
"""The same, and those that are only there if somebody selects them."""

CSV_COLUMNS = (*PAGE_COLUMNS[:6], *COMPUTED_COLUMNS, *PAGE_COLUMNS[6:])
"""The columns of CSV: those that spreadsheets can show come before those that are JSON."""

NOTHING: Mapping[Any, Any] = {Kind.FLAG: False, Kind.WHOLE: 0}
"""What pages without any value have, by its kind; others have none."""

OF_URLS: Mapping[str, Callable[[str], str]] = {"path": path_of, "section": section_of}
"""The columns that are computed from URLs."""

OF_FIELDS: Mapping[str, FieldSpec] = {
    name: spec
    for name, spec in ALL_COLUMNS.items()
    if name not in ("url", "sitemap") and name not in OF_URLS
}
"""The columns that are read from the fields of a page."""


# Where the values come from -------------------------------------------------------------------------


def row_values(rows: Sequence[PageFields], name: str) -> list[Any]:
    """Return the values of a column of rows, those of enumerations as words."""
    attribute = "declared_priority" if name == "priority" else ALL_COLUMNS[name].name
    values = list(map(attrgetter(attribute), rows))
    compute = _COMPUTED.get(name)
    return values if compute is None else list(map(compute, values))


_COMPUTED: Mapping[str, Callable[[Any], Any]] = {
    "lastmod_precision": precision_of,
    "changefreq": lambda frequency: frequency and frequency.value,
    "news.title": lambda story: story and story.title,
    "news.date": lambda story: story and story.publish_date,
    "image_count": lambda images: len(images or ()),
}


# Selected columns, and their Arrow types ------------------------------------------------------------


def chosen(
    columns: Iterable[str] | None,
    known: Iterable[str] = ALL_COLUMNS,
    usual: Iterable[str] = PAGE_COLUMNS,
) -> tuple[str, ...]:
    """Return the names of the selected columns; the ``usual`` ones for None.

    Raises ``ValueError`` for an unknown name.
    """
    there = tuple(known)
    if columns is None:
        return tuple(usual)
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
    fields = [pa.field(name, arrow_type(ALL_COLUMNS[name])) for name in chosen(columns)]
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
