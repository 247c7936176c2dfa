"""The columns of the table, whatever it is written as.

The table is described without Arrow, so that the text formats need none; :func:`arrow_schema` says the
same to Arrow.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.extras import MissingExtraError, load_extra
from usp.objects.extensions import EXTENSIONS, Kind, Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from usp.objects.extensions import Extension, FieldSpec

__all__ = ["COLUMNS", "Kind", "MissingExtraError", "arrow_schema", "chosen", "pyarrow"]


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """Values under names; each with how it is got from the object."""

    fields: Mapping[str, tuple[Callable[[Any], Any], Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Many:
    """A list."""

    of: Any


AnyKind: TypeAlias = Kind | Record | Many

TEXTS = frozenset({Kind.TEXT, Kind.VERBATIM, Kind.ADDRESS, Kind.ADDRESS_OR_NAME})
"""The kinds of values that are texts."""


def record_of(table: Table) -> Record:
    """Return the structure of the values of an extension, in their own order."""
    return Record(
        {
            spec.column or spec.name: (table.getters[spec.name], _kind_of(spec))
            for spec in table.in_order
        }
    )


def _kind_of(spec: FieldSpec) -> AnyKind:
    kind = record_of(spec.kind) if isinstance(spec.kind, Table) else spec.kind
    return kind if spec.many is None else Many(kind)


def _column_of(extension: Extension) -> AnyKind:
    if not extension.table.specs:
        return Kind.FLAG
    record = record_of(extension.table)
    return Many(record) if extension.many else record


COLUMNS: Mapping[str, AnyKind] = {
    "url": Kind.TEXT,
    "lastmod": Kind.TIME,
    "lastmod_precision": Kind.WORD,
    "changefreq": Kind.WORD,
    "priority": Kind.NUMBER,
    "sitemap": Kind.WORD,
    **{one.column: _column_of(one) for one in EXTENSIONS if one.column},
}
"""Every column and what its values are, in order."""


def chosen(columns: Iterable[str] | None, known: Iterable[str] = COLUMNS) -> tuple[str, ...]:
    """Return the names of the wanted columns; all of them for None.

    Raises ``ValueError`` for an unknown name.
    """
    there = tuple(known)
    if columns is None:
        return there
    names = tuple(dict.fromkeys((columns,) if isinstance(columns, str) else columns))
    if unknown := [name for name in names if name not in there]:
        raise ValueError(f"there is no column {unknown[0]!r}; there are {', '.join(there)}")
    if not names:
        raise ValueError(f"no column is chosen; there are {', '.join(there)}")
    return names


def pyarrow(part: str = "") -> Any:
    """Return pyarrow, or a module of it; raises ``MissingExtraError`` without the extra ``arrow``."""
    return load_extra(f"pyarrow{part}", "Arrow tables and Parquet files need pyarrow", "arrow")


def arrow_schema(columns: Iterable[str] | None = None) -> Any:
    """Give the ``pyarrow.Schema`` of the table, or of some of its columns."""
    pa = pyarrow()
    fields = [pa.field(name, arrow_type(COLUMNS[name])) for name in chosen(columns)]
    return pa.schema(fields)


@cache
def arrow_type(kind: AnyKind) -> Any:
    """Give the type that a kind of value has in Arrow."""
    pa = pyarrow()
    if isinstance(kind, Many):
        return pa.list_(arrow_type(kind.of))
    if isinstance(kind, Record):
        return pa.struct([(name, arrow_type(inner)) for name, (_, inner) in kind.fields.items()])
    return {
        **dict.fromkeys(TEXTS, pa.string()),
        Kind.WORD: pa.dictionary(pa.int32(), pa.string()),
        Kind.TIME: pa.timestamp("us", "UTC"),
        Kind.NUMBER: pa.float64(),
        Kind.WHOLE: pa.int64(),
        Kind.FLAG: pa.bool_(),
    }[kind]
