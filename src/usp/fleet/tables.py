"""The three tables of a dataset: their columns, and the wide table of a cluster.

A wide row says whose it is (``site``), of which table it is (``table``: ``pages``, ``sitemaps`` or
``sites``), and has that table's columns in the struct of the same name; the other two structs are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp.export.schema import COLUMNS, arrow_type, chosen, pyarrow

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "page_columns",
    "rows_of",
    "schema_of",
    "unwrap",
    "wide_schema",
    "wrap",
]

TABLES = ("pages", "sitemaps", "sites")
"""The names of the tables, in the order in which they are committed."""

OUTCOMES = ("complete", "partial", "failed", "empty")

_SITEMAPS = {
    "url": "string",
    "parent": "string",
    "type": "string",
    "depth": "int32",
    "status": "int32",
    "bytes": "int64",
    "pages": "int64",
    "problems": "int64",
    "problem_codes": "string",
    "duration": "float64",
    "failure": "string",
    "code": "string",
    "etag": "string",
    "last_modified": "string",
}
_SITES = {
    "outcome": "string",
    "reason": "string",
    "code": "string",
    "sitemaps": "int64",
    "pages": "int64",
    "bytes": "int64",
    "requests": "int64",
    "duration": "float64",
    "started": "moment",
    "run": "int64",
    "options": "string",
}


def page_columns(columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns of the pages, without the site, in the order of the table."""
    names = chosen(columns)
    if columns is not None:
        return names
    first = ("sitemap", "url")
    return (*first, *(name for name in names if name not in first))


def schema_of(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the ``pyarrow.Schema`` of a table; ``columns`` are the chosen ones of the pages."""
    pa = pyarrow()
    if table == "pages":
        site = pa.field("site", pa.dictionary(pa.int32(), pa.string()))
        kinds = [pa.field(name, arrow_type(COLUMNS[name])) for name in page_columns(columns)]
        return pa.schema([site, *kinds])
    return pa.schema([("site", pa.string()), *_fields(table)])


def delta_schema(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the schema that a table has for its readers: without dictionaries."""
    fields = schema_of(table, columns)
    return pyarrow().schema([field.with_type(_plain(field.type)) for field in fields])


def _fields(table: str) -> list[tuple[str, Any]]:
    pa = pyarrow()
    names = _SITEMAPS if table == "sitemaps" else _SITES
    moment = pa.timestamp("us", "UTC")
    return [(n, moment if t == "moment" else pa.type_for_alias(t)) for n, t in names.items()]


def rows_of(table: str, rows: Iterable[Mapping[str, Any]]) -> Any:
    """Return rows as a record batch; half a surrogate pair in a text becomes ``?``."""
    schema = schema_of(table)
    listed = [{name: _clean(row.get(name)) for name in schema.names} for row in rows]
    return pyarrow().RecordBatch.from_pylist(listed, schema=schema)


def _clean(value: Any) -> Any:
    if isinstance(value, str) and not value.isascii():
        return value.encode("utf-8", "replace").decode("utf-8")
    return value


def pages_of(site: str, batch: Any, columns: Sequence[str] | None) -> Any:
    """Return a batch of pages with the site as its first column."""
    pa = pyarrow()
    zeros = pa.repeat(pa.scalar(0, pa.int32()), len(batch))
    mark = pa.DictionaryArray.from_arrays(zeros, pa.array([_clean(site)], pa.string()))
    arrays = [mark, *batch.columns]
    return pa.RecordBatch.from_arrays(arrays, schema=schema_of("pages", columns))


# The wide table -------------------------------------------------------------------------------------


def wide_schema(columns: Sequence[str] | None = None) -> Any:
    """Return the schema of the wide table: without dictionaries, which Spark does not read."""
    pa = pyarrow()
    structs = [(table, pa.struct(_plain_fields(table, columns))) for table in TABLES]
    return pa.schema([("site", pa.string()), ("table", pa.string()), *structs])


def _plain_fields(table: str, columns: Sequence[str] | None) -> list[Any]:
    return [
        field.with_type(_plain(field.type))
        for field in schema_of(table, columns)
        if field.name != "site"
    ]


def _plain(kind: Any) -> Any:
    return kind.value_type if pyarrow(".types").is_dictionary(kind) else kind


def wrap(table: str, batch: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a batch of one table as a batch of the wide one."""
    pa = pyarrow()
    schema = wide_schema(columns)
    size = len(batch)
    arrays = [_decoded(batch.column("site")), pa.repeat(pa.scalar(table), size)]
    for name in TABLES:
        kind = schema.field(name).type
        if name != table:
            arrays.append(pa.nulls(size, kind))
            continue
        inner = [_decoded(batch.column(field.name)) for field in kind]
        arrays.append(pa.StructArray.from_arrays(inner, fields=list(kind)))
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _decoded(array: Any) -> Any:
    pa = pyarrow()
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def unwrap(batches: Iterable[Any], table: str) -> Iterator[Any]:
    """Yield the rows of one table in wide batches, as batches of that table."""
    pa, compute = pyarrow(), pyarrow(".compute")
    for batch in batches:
        rows = batch.filter(compute.equal(batch.column("table"), table))
        if not len(rows):
            continue
        struct = rows.column(table)
        names = ["site", *(field.name for field in struct.type)]
        yield pa.RecordBatch.from_arrays([rows.column("site"), *struct.flatten()], names=names)
