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
from usp.fleet.store import NewFile
from usp.fleet.tables import TABLES, schema_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from usp.fleet.store import Store

GROUP_SITES = 2000
GROUP_ROWS = 2_000_000
GROUP_SECONDS = 30.0
"""A group is finished once it has this many sites or pages, or is this old (in seconds)."""

_REPEATING = {
    "pages": ("site", *(name for name, kind in COLUMNS.items() if kind in REPEATING)),
    "sitemaps": ("site", "type", "status", "depth", "failure"),
    "sites": ("outcome", "reason"),
}
"""The columns that get a dictionary."""


@dataclass(frozen=True, slots=True)
class Part:
    """A file of a table: its name below the dataset, its size, and the number of its rows."""

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
        seconds: float = GROUP_SECONDS,
    ) -> None:
        self._store = store
        self._run = run
        self._columns = columns
        self._seconds = seconds
        self._begin()

    def _begin(self) -> None:
        name = f"part-{self._run:05d}-{secrets.token_hex(8)}.parquet"
        self._files = {
            table: _TableFile(self._store, table, name, schema_of(table, self._columns))
            for table in TABLES
        }
        self._rows: list[dict[str, Any]] = []
        self._since = float("inf")

    def add(self, table: str, batch: Any) -> Group | None:
        """Add a batch of a table; those of one site are consecutive, its row of ``sites`` last."""
        self.write(table, batch)
        if table != "sites":
            return None
        self._since = min(self._since, time.monotonic())
        full = len(self._rows) >= GROUP_SITES or self._files["pages"].rows >= GROUP_ROWS
        return self.finish() if full else self.tick()

    def write(self, table: str, batch: Any) -> None:
        """Add a batch, however many there are already."""
        self._files[table].add(batch)
        if table == "sites":
            self._rows += batch.to_pylist()

    def tick(self) -> Group | None:
        """Finish a group that is old enough; call it only between two sites."""
        return self.finish() if time.monotonic() - self._since >= self._seconds else None

    def finish(self) -> Group | None:
        """Finish the group of what was added."""
        if not self._rows:
            return None
        parts = [file.close() for file in self._files.values() if file.rows]
        group = Group(tuple(self._rows), tuple(parts))
        self._begin()
        return group

    def discard(self) -> None:
        """Remove what is not in a finished group."""
        for file in self._files.values():
            file.discard()


class _TableFile:
    """A Parquet file of many small batches; it is created with its first row group."""

    def __init__(self, store: Store, table: str, part: str, schema: Any) -> None:
        self._store = store
        self._table = table
        self._name = f"{table}/{part}"
        self._schema = schema
        self._groups = RowGroups()
        self._file: NewFile | None = None
        self.rows = 0

    def add(self, batch: Any) -> None:
        self.rows += len(batch)
        self._write(self._groups.add(batch))

    def _write(self, groups: Iterable[list[Any]]) -> None:
        for group in groups:
            if self._file is None:
                self._file = NewFile(self._store, self._name)
                repeating = tuple(n for n in _REPEATING[self._table] if n in self._schema.names)
                self._writer = RowGroupWriter(self._file, self._schema, repeating)
            self._writer.write(group)

    def close(self) -> Part:
        """Complete a file with rows."""
        self._write(self._groups.rest())
        self._writer.close()
        assert self._file is not None
        return Part(self._table, self._name, self._file.close(), self.rows)

    def discard(self) -> None:
        if self._file is not None:
            self._file.discard()


def scan(store: Store, name: str, columns: Sequence[str] | None = None) -> Any:
    """Return a file as a ``pyarrow.dataset.Dataset``; columns that it does not have are null.

    ``columns`` are those of the pages.
    """
    schema = schema_of(name.partition("/")[0], columns)
    with store.words():
        return pyarrow(".dataset").dataset(name, schema, format="parquet", filesystem=store.files())


def rewritten(
    store: Store, run: int, names: Iterable[str], gone: Collection[str], columns: Sequence[str]
) -> Group | None:
    """Return a new group with what is in some files, without the rows of some sites."""
    writer = GroupWriter(store, run, columns)
    others = ~pyarrow(".compute").field("site").isin(list(gone))
    for name in names:
        with store.words():
            for batch in scan(store, name, columns).to_batches(filter=others, batch_readahead=1):
                writer.write(name.partition("/")[0], batch)
    return writer.finish()
