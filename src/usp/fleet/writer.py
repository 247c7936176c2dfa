"""Writes groups of finished sites to a dataset, and commits them."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from usp.export.schema import COLUMNS, Kind, pyarrow
from usp.fleet.dataset import Commit, DatasetError, commit_name
from usp.fleet.tables import TABLES, page_columns, schema_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from usp.fleet.dataset import Dataset

GROUP_SITES = 2000
GROUP_ROWS = 2_000_000
GROUP_SECONDS = 30.0
"""A group is committed once it has so many sites or pages, or is so old."""

_ROW_GROUP = 1 << 17
_REPEATING = (Kind.WORD, Kind.NUMBER, Kind.TIME)


class TableFile:
    """A Parquet file of one table that is being written; row groups are made of many small batches."""

    def __init__(self, path: Any, schema: Any, repeating: list[str]) -> None:
        self._path = path
        self._schema = schema
        self._repeating = repeating
        self._writer: Any = None
        self._batches: list[Any] = []
        self._waiting = 0
        self.rows = 0

    def add(self, batch: Any) -> None:
        """Take a batch."""
        self._batches.append(batch)
        self._waiting += len(batch)
        self.rows += len(batch)
        if self._waiting >= _ROW_GROUP:
            self._flush()

    def _flush(self) -> None:
        pa = pyarrow()
        if self._writer is None:
            self._writer = pyarrow(".parquet").ParquetWriter(
                self._path, self._schema, compression="zstd", use_dictionary=self._repeating
            )
        table = pa.Table.from_batches(self._batches, self._schema).unify_dictionaries()
        self._writer.write_table(table, row_group_size=_ROW_GROUP)
        self._batches, self._waiting = [], 0

    def close(self) -> bool:
        """Have everything on the disk; False if there is nothing."""
        if not self.rows:
            return False
        if self._batches:
            self._flush()
        self._writer.close()
        descriptor = os.open(self._path, os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
        return True

    def discard(self) -> None:
        """Forget what was written."""
        if self._writer is not None:
            self._writer.close()
        with suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108


def files_of(dataset: Dataset, name: str, columns: Sequence[str] | None) -> dict[str, TableFile]:
    """Give the files of a new group, one for each table."""
    words = [n for n in page_columns(columns) if COLUMNS[n] in _REPEATING]
    repeating = {
        "pages": ["site", *words],
        "sitemaps": ["site", "type", "status", "depth", "failure"],
        "sites": ["outcome", "reason"],
    }
    return {
        table: TableFile(dataset.staged(table, name), schema_of(table, columns), repeating[table])
        for table in TABLES
    }


def commit_files(
    dataset: Dataset,
    name: str,
    files: dict[str, TableFile],
    sites: dict[str, str],
    supersedes: tuple[str, ...] = (),
) -> Commit:
    """Close the files of a group and commit it."""
    written = tuple(f"{table}/part-{name}.parquet" for table in TABLES if files[table].close())
    commit = Commit(name, written, sites, supersedes)
    dataset.commit(commit)
    return commit


class GroupWriter:
    """Takes the batches of sites one after another, and commits groups of them.

    ``add`` and ``tick`` give the rows of the sites that have been committed by that, most often none.
    """

    def __init__(
        self,
        dataset: Dataset,
        run: int,
        writer: str,
        columns: Sequence[str] | None = None,
        *,
        seconds: float = GROUP_SECONDS,
        sites: int = GROUP_SITES,
    ) -> None:
        self._dataset = dataset
        self._run = run
        self._writer = writer
        self._columns = columns
        self._seconds = seconds
        self._most = sites
        self._number = len(dataset.commits_of(run, writer))
        self._begin()

    def _begin(self) -> None:
        self._name = commit_name(self._run, self._writer, self._number)
        self._files = files_of(self._dataset, self._name, self._columns)
        self._rows: list[dict[str, Any]] = []
        self._since: float | None = None

    def add(self, table: str, batch: Any) -> list[dict[str, Any]]:
        """Take a batch of a table; those of one site come together, its row of ``sites`` last."""
        self._files[table].add(batch)
        if table != "sites":
            return []
        self._rows += batch.to_pylist()
        if self._since is None:
            self._since = time.monotonic()
        full = len(self._rows) >= self._most or self._files["pages"].rows >= GROUP_ROWS
        return self.commit() if full else self.tick()

    def tick(self) -> list[dict[str, Any]]:
        """Commit a group that is old enough; only between two sites."""
        if self._since is None or time.monotonic() - self._since < self._seconds:
            return []
        return self.commit()

    def commit(self) -> list[dict[str, Any]]:
        """Commit what is there."""
        rows = self._rows
        if not rows:
            return []
        try:
            self._dataset.check_run(self._run)
        except DatasetError:
            self.discard()
            raise
        sites = {row["site"]: row["outcome"] for row in rows}
        commit_files(self._dataset, self._name, self._files, sites)
        self._number += 1
        self._begin()
        return rows

    def discard(self) -> None:
        """Forget what is not committed."""
        for file in self._files.values():
            file.discard()
