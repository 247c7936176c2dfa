"""The three tables of a dataset: their columns, and the wide table of a cluster.

A wide row says whose it is (``site``), of which table it is (``table``: ``pages``, ``sitemaps`` or
``sites``), and has that table's columns in the struct of the same name; the other two structs are null.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp.export.schema import COLUMNS, arrow_type, chosen, pyarrow
from usp.export.sitemaps import SITEMAP_COLUMNS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["page_columns", "rows_of", "schema_of", "unwrap", "wide_schema", "wrap"]

TABLES = ("pages", "sitemaps", "sites")
"""The names of the tables, in the order in which they are committed."""

OUTCOMES = ("complete", "partial", "failed", "empty")

_KINDS = {
    "sitemaps": {
        **SITEMAP_COLUMNS,
        "depth": "int32",
        "duration": "float64",
        "etag": "string",
        "last_modified": "string",
    },
    "sites": {
        **dict.fromkeys(("outcome", "reason", "code"), "string"),
        **dict.fromkeys(("sitemaps", "pages", "bytes", "requests"), "int64"),
        "duration": "float64",
        "started": "moment",
        "run": "int64",
        "options": "string",
    },
}


def page_columns(columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns of the pages, without the site, in the order of the table."""
    return chosen(columns) if columns is not None else chosen(("sitemap", "url", *COLUMNS))


def schema_of(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the ``pyarrow.Schema`` of a table; ``columns`` are the chosen ones of the pages."""
    pa = pyarrow()
    if table == "pages":
        kinds = [(name, arrow_type(COLUMNS[name])) for name in page_columns(columns)]
        return pa.schema([("site", pa.dictionary(pa.int32(), pa.string())), *kinds])
    moment = pa.timestamp("us", "UTC")
    named = _KINDS[table].items()
    kinds = [
        (name, moment if kind == "moment" else pa.type_for_alias(kind)) for name, kind in named
    ]
    return pa.schema([("site", pa.string()), *kinds])


def plain_schema(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the same without dictionaries, which Delta does not have and Spark does not read."""
    pa = pyarrow()
    fields = (
        field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type) else field
        for field in schema_of(table, columns)
    )
    return pa.schema(list(fields))


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
    return pa.RecordBatch.from_arrays([mark, *batch.columns], schema=schema_of("pages", columns))


# The wide table -------------------------------------------------------------------------------------


def wide_schema(columns: Sequence[str] | None = None) -> Any:
    """Return the schema of the wide table."""
    pa = pyarrow()
    structs = [(table, pa.struct(list(plain_schema(table, columns))[1:])) for table in TABLES]
    return pa.schema([("site", pa.string()), ("table", pa.string()), *structs])


def wrap(table: str, batch: Any, columns: Sequence[str] | None = None) -> Any:
    """Return a batch of one table as a batch of the wide one."""
    pa = pyarrow()
    schema = wide_schema(columns)
    site, *inner = (
        array.cast(field.type)
        for array, field in zip(batch.columns, plain_schema(table, columns), strict=True)
    )
    structs = {name: pa.nulls(len(batch), schema.field(name).type) for name in TABLES}
    fields = list(schema.field(table).type)
    structs[table] = pa.StructArray.from_arrays(inner, fields=fields)
    named = pa.repeat(pa.scalar(table), len(batch))
    return pa.RecordBatch.from_arrays([site, named, *structs.values()], schema=schema)


def unwrap(batches: Iterable[Any], table: str) -> Iterator[Any]:
    """Yield the rows of one table in wide batches, as batches of that table."""
    pa, compute = pyarrow(), pyarrow(".compute")
    for batch in batches:
        rows = batch.filter(compute.equal(batch.column("table"), table))
        if len(rows):
            struct = rows.column(table)
            names = ["site", *(field.name for field in struct.type)]
            yield pa.RecordBatch.from_arrays([rows.column("site"), *struct.flatten()], names=names)
