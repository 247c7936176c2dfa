"""Finished sites as Parquet files: a worker writes them in groups, and reports each group.

Nothing counts before the driver has committed it (:mod:`usp.fleet.dataset`). The files of a group have
the same name, in the folders of their tables.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from usp.export.row_groups import RowGroups, RowGroupWriter
from usp.export.schema import COLUMNS, REPEATING, pyarrow
from usp.fleet.tables import TABLES, page_columns, rows_of, schema_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence

    from usp.fleet.store import NewFile, Store

GROUP_SITES = 2000
GROUP_ROWS = 2_000_000
GROUP_SECONDS = 30.0
"""A group is finished once it has this many sites or pages, or is this old (in seconds)."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a table: its name below the dataset, its size, and what is in it."""

    table: str
    name: str
    size: int
    rows: int


@dataclass(frozen=True, slots=True)
class Group:
    """Finished sites: their rows of ``sites``, and the files with all of their rows."""

    sites: tuple[dict[str, Any], ...]
    parts: tuple[Part, ...]


class GroupWriter:
    """Collects the batches of sites, one after another, into files.

    ``add``, ``tick`` and ``finish`` return a group that is finished, usually none.
    """

    def __init__(
        self,
        store: Store,
        run: int,
        columns: Sequence[str] | None = None,
        *,
        seconds: float = GROUP_SECONDS,
    ) -> None:
        self._store = store
        self._run = run
        self._columns = columns
        self._seconds = seconds
        self._begin()

    def _begin(self) -> None:
        self._files = _new_files(self._store, self._run, self._columns)
        self._rows: list[dict[str, Any]] = []
        self._since: float | None = None

    def add(self, table: str, batch: Any) -> Group | None:
        """Add a batch of a table; those of one site are consecutive, its row of ``sites`` last."""
        if table != "sites":
            self._files[table].add(batch)
            return None
        rows = [row | {"run": self._run} for row in batch.to_pylist()]
        self._files[table].add(rows_of(table, rows))
        self._rows += rows
        if self._since is None:
            self._since = time.monotonic()
        full = len(self._rows) >= GROUP_SITES or self._files["pages"].rows >= GROUP_ROWS
        return self.finish() if full else self.tick()

    def tick(self) -> Group | None:
        """Finish a group that is old enough; call it only between two sites."""
        if self._since is None or time.monotonic() - self._since < self._seconds:
            return None
        return self.finish()

    def finish(self) -> Group | None:
        """Finish the group of what was added."""
        if not self._rows:
            return None
        group = Group(tuple(self._rows), _finished(self._files))
        self._begin()
        return group

    def discard(self) -> None:
        """Remove what is not in a finished group."""
        for file in self._files.values():
            file.discard()


def _new_files(store: Store, run: int, columns: Sequence[str] | None) -> dict[str, _TableFile]:
    """Return the files of a new group, one for each table."""
    words = [name for name in page_columns(columns) if COLUMNS[name] in REPEATING]
    repeating = {
        "pages": ("site", *words),
        "sitemaps": ("site", "type", "status", "depth", "failure"),
        "sites": ("outcome", "reason"),
    }
    part = f"part-{run:05d}-{secrets.token_hex(8)}.parquet"
    return {
        table: _TableFile(store, table, part, schema_of(table, columns), repeating[table])
        for table in TABLES
    }


def _finished(files: dict[str, _TableFile]) -> tuple[Part, ...]:
    found = [files[table].close() for table in TABLES]
    return tuple(part for part in found if part is not None)


class _TableFile:
    """A Parquet file that is being written; its row groups are made of many small batches."""

    def __init__(
        self, store: Store, table: str, part: str, schema: Any, repeating: tuple[str, ...]
    ) -> None:
        self._store = store
        self._table = table
        self._name = f"{table}/{part}"
        self.schema = schema
        self._repeating = repeating
        self._file: NewFile | None = None
        self._groups = RowGroups()
        self.rows = 0

    def add(self, batch: Any) -> None:
        self.rows += len(batch)
        for group in self._groups.add(batch):
            self._begun().write(group)

    def _begun(self) -> RowGroupWriter:
        if self._file is None:
            self._file = self._store.create(self._name)
            self._writer = RowGroupWriter(self._file, self.schema, self._repeating)
        return self._writer

    def close(self) -> Part | None:
        """Complete the file; return None if there is nothing in it."""
        if not self.rows:
            return None
        writer = self._begun()
        for group in self._groups.rest():
            writer.write(group)
        writer.close()
        assert self._file is not None
        return Part(self._table, self._name, self._file.close(), self.rows)

    def discard(self) -> None:
        if self._file is not None:
            self._file.discard()


# Groups without some of their sites ----------------------------------------------------------------


def rewritten(store: Store, run: int, names: Iterable[str], gone: Collection[str]) -> Group | None:
    """Return a new group with what is in some files, without the rows of some sites."""
    pa, compute = pyarrow(), pyarrow(".compute")
    names = list(names)
    unwanted = pa.array(list(gone), pa.string())
    files = _new_files(store, run, _columns_in(store, names))
    rows: list[dict[str, Any]] = []
    for name in names:
        table = name.partition("/")[0]
        for batch in _batches(store, name):
            sites = batch.column("site").cast(pa.string())
            kept = batch.filter(compute.invert(compute.is_in(sites, value_set=unwanted)))
            if len(kept):
                files[table].add(with_all_columns(kept, files[table].schema))
                rows += kept.to_pylist() if table == "sites" else []
    return Group(tuple(rows), _finished(files)) if rows else None


def _batches(store: Store, name: str) -> Iterator[Any]:
    with store.reading(name) as source:
        yield from pyarrow(".parquet").ParquetFile(source).iter_batches()


def with_all_columns(batch: Any, schema: Any) -> Any:
    """Return a batch with columns of nulls for those that an older version did not write."""
    pa = pyarrow()
    arrays = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names
        else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns_in(store: Store, names: list[str]) -> Sequence[str] | None:
    """Return the columns that the pages of some files have; None for all."""
    for name in names:
        if name.startswith("pages/"):
            with store.reading(name) as source:
                schema = pyarrow(".parquet").read_schema(source)
            found = tuple(column for column in schema.names if column != "site")
            return None if found == page_columns() else found
    return None
