"""The three tables of a dataset: their columns, their files, and the wide table of a cluster.

A worker writes finished sites as Parquet files, in parts, and reports each part. Nothing counts before
the driver has committed it (:mod:`usp.fleet.dataset`). The files of a part have the same name, in the
folders of their tables.

A wide row says whose it is (``site``), of which table it is (``table``: ``pages``, ``sitemaps`` or
``sites``), and has that table's columns in the struct of the same name; the other two structs are null.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeAlias

from usp._base.display import printable
from usp._base.files import FileStore, StoredFile
from usp.export.arrow import ParquetFileWriter
from usp.export.schema import ALL_COLUMNS, COLUMNS, REPEATING, arrow_type, chosen, pyarrow
from usp.export.sitemaps import SITEMAP_COLUMNS

__all__ = ["page_columns", "rows_of", "schema_of", "unwrap", "wide_schema", "wrap"]

TABLES = ("pages", "sitemaps", "sites")
"""The names of the tables, in the order in which they are committed."""

OUTCOMES = ("complete", "partial", "failed", "empty", "kept")

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

PART_SITES = 2000
PART_ROWS = 2_000_000
PART_SECONDS = 30.0
"""A part is finished once it has this many sites or pages, or is this old (in seconds)."""

_REPEATING = {
    "pages": ("site", *(name for name, spec in COLUMNS.items() if spec.kind in REPEATING)),
    "sitemaps": ("site", "type", "status", "depth", "failure"),
    "sites": ("outcome", "reason"),
}
"""The columns that get a dictionary."""


def page_columns(columns: Sequence[str] | None = None) -> tuple[str, ...]:
    """Return the columns of the pages, without the site, in the order of the table."""
    return chosen(columns) if columns is not None else chosen(("sitemap", "url", *COLUMNS))


def schema_of(table: str, columns: Sequence[str] | None = None) -> Any:
    """Return the ``pyarrow.Schema`` of a table; ``columns`` are the chosen ones of the pages."""
    pa = pyarrow()
    if table == "pages":
        kinds = [(name, arrow_type(ALL_COLUMNS[name])) for name in page_columns(columns)]
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
    """Return rows as a record batch, without control characters and halves of surrogate pairs."""
    schema = schema_of(table)
    listed = [{name: _clean(row.get(name)) for name in schema.names} for row in rows]
    return pyarrow().RecordBatch.from_pylist(listed, schema=schema)


def _clean(value: Any) -> Any:
    if isinstance(value, str) and not value.isprintable():
        return printable(value.encode("utf-8", "replace").decode("utf-8"))
    return value


def pages_of(site: str, batch: Any, columns: Sequence[str] | None) -> Any:
    """Return a batch of pages with the site as its first column."""
    pa = pyarrow()
    zeros = pa.repeat(pa.scalar(0, pa.int32()), len(batch))
    mark = pa.DictionaryArray.from_arrays(zeros, pa.array([_clean(site)], pa.string()))
    return pa.RecordBatch.from_arrays([mark, *batch.columns], schema=schema_of("pages", columns))


# Files --------------------------------------------------------------------------------------------


Row: TypeAlias = dict[str, Any]
"""A row of ``sites``."""


class PartFile(NamedTuple):
    """A file of a table: its name below the dataset, its size, and the number of its rows."""

    table: str
    name: str
    size: int
    rows: int


class Part(NamedTuple):
    """Finished sites: their rows of ``sites``, and the files with all of their rows."""

    sites: tuple[Row, ...]
    files: tuple[PartFile, ...]


@dataclass
class PartWriter:
    """Collects sites into files; ``add``, ``tick`` and ``finish`` return what is finished with it."""

    store: FileStore
    run: int
    columns: Sequence[str] | None = None
    seconds: float = PART_SECONDS

    def __post_init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._name = f"part-{self.run:05d}-{secrets.token_hex(8)}.parquet"
        self._files = {
            table: ParquetFileWriter(
                partial(StoredFile, self.store, f"{table}/{self._name}"),
                schema_of(table, self.columns),
                _REPEATING[table],
            )
            for table in TABLES
        }
        self._rows: list[Row] = []
        self._since = float("inf")

    def add(self, table: str, batch: Any) -> list[Part]:
        """Add a batch of a table; those of one site are consecutive, its row of ``sites`` last."""
        self.write(table, batch)
        if table != "sites":
            return []
        self._since = min(self._since, time.monotonic())
        full = len(self._rows) >= PART_SITES or self._files["pages"].rows >= PART_ROWS
        return self.finish() if full else self.tick()

    def write(self, table: str, batch: Any) -> None:
        """Add a batch, however many there are already."""
        self._files[table].add(batch)
        if table == "sites":
            self._rows += batch.to_pylist()

    def tick(self) -> list[Part]:
        """Finish a part that is old enough; call it only between two sites."""
        return self.finish() if time.monotonic() - self._since >= self.seconds else []

    def finish(self) -> list[Part]:
        """Finish the part of what was added."""
        if not any(file.rows for file in self._files.values()):
            return []
        files = []
        for table, file in self._files.items():
            if file.rows:
                file.close()
                name = f"{table}/{self._name}"
                files.append(PartFile(table, name, file.stream.close(), file.rows))
        part = Part(tuple(self._rows), tuple(files))
        self._begin()
        return [part]

    def discard(self) -> None:
        """Remove what is not in a finished part."""
        for file in self._files.values():
            file.abandon()
            if file.stream is not None:
                file.stream.discard()


def scan(store: FileStore, names: Sequence[str], columns: Sequence[str] | None = None) -> Any:
    """Return files of a table as a dataset; missing columns are null, and text is plain."""
    schema = plain_schema(names[0].partition("/")[0], columns)
    with store.words():
        return pyarrow(".dataset").dataset(
            list(names), schema, format="parquet", filesystem=store.files()
        )


def sites_in(store: FileStore, name: str) -> set[str]:
    """Return the sites that have rows in a file."""
    found: set[str] = set()
    with store.words():
        for batch in scan(store, [name]).to_batches(columns=["site"], batch_readahead=1):
            found.update(batch.column("site").unique().to_pylist())
    return found


def rewritten(
    store: FileStore, run: int, names: Iterable[str], gone: Collection[str], columns: Sequence[str]
) -> list[Part]:
    """Return a new part with what is in some files, without the rows of some sites."""
    pa, compute = pyarrow(), pyarrow(".compute")
    writer = PartWriter(store, run, columns)
    known = pa.array(sorted(gone), pa.string())
    try:
        for name in names:
            table = name.partition("/")[0]
            schema = schema_of(table, columns)
            with store.words():
                for batch in scan(store, [name], columns).to_batches(batch_readahead=1):
                    others = compute.invert(compute.is_in(batch.column("site"), known))
                    writer.write(table, batch.filter(others).cast(schema))
        return writer.finish()
    finally:
        writer.discard()


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
