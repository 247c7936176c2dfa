"""The three tables of a dataset: their columns, the wide table of a cluster, their files.

A wide row says whose it is (``site``), of which table it is (``table``: ``pages``, ``sitemaps`` or
``sites``), and has that table's columns in the struct of the same name; the other two structs are null.

If several commits name a site, the latest counts. That is how the rows of sites that are crawled again
are replaced: their former groups are rewritten without them, by a commit that replaces the old one.
"""

from __future__ import annotations

import os
import secrets
import time
from typing import IO, TYPE_CHECKING, Any

from usp.export.row_groups import RowGroups, RowGroupWriter
from usp.export.schema import COLUMNS, REPEATING, arrow_type, chosen, pyarrow
from usp.fleet.dataset import TABLES, Commit, DatasetError, commit_name

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from usp.fleet.dataset import Dataset

__all__ = [
    "page_columns",
    "rows_of",
    "schema_of",
    "unwrap",
    "wide_schema",
    "wrap",
]

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


# Finished sites as Parquet files: each site in one group -------------------------------------------


GROUP_SITES = 2000
GROUP_ROWS = 2_000_000
GROUP_SECONDS = 30.0
"""A group is committed once it has this many sites or pages, or is this old (in seconds)."""


class GroupWriter:
    """Collects the batches of sites, one after another, and commits groups of them.

    ``add`` and ``tick`` return the rows of the sites that were committed, usually none.
    """

    def __init__(
        self,
        dataset: Dataset,
        run: int,
        name: str,
        columns: Sequence[str] | None = None,
        *,
        seconds: float = GROUP_SECONDS,
    ) -> None:
        self._dataset = dataset
        self._run = run
        self._name = name
        self._columns = columns
        self._seconds = seconds
        self._number = len(dataset.commits_of(run, name))
        self._begin()

    def _begin(self) -> None:
        self._commit_name = commit_name(self._run, self._name, self._number)
        self._files = _new_files(self._dataset, self._commit_name, self._columns)
        self._rows: list[dict[str, Any]] = []
        self._since: float | None = None

    def add(self, table: str, batch: Any) -> list[dict[str, Any]]:
        """Add a batch of a table; those of one site are consecutive, its row of ``sites`` last."""
        self._files[table].add(batch)
        if table != "sites":
            return []
        self._rows += batch.to_pylist()
        if self._since is None:
            self._since = time.monotonic()
        full = len(self._rows) >= GROUP_SITES or self._files["pages"].rows >= GROUP_ROWS
        return self.commit() if full else self.tick()

    def tick(self) -> list[dict[str, Any]]:
        """Commit a group that is old enough; call it only between two sites."""
        if self._since is None or time.monotonic() - self._since < self._seconds:
            return []
        return self.commit()

    def commit(self) -> list[dict[str, Any]]:
        """Commit what was added; raises ``DatasetError`` if a newer run has begun."""
        rows = self._rows
        if not rows:
            return []
        try:
            self._dataset.check_run(self._run)
        except DatasetError:
            self.discard()
            raise
        sites = {row["site"]: row["outcome"] for row in rows}
        _commit(self._dataset, self._commit_name, self._files, sites)
        self._number += 1
        self._begin()
        return rows

    def discard(self) -> None:
        """Remove what is not committed."""
        for file in self._files.values():
            file.discard()


def _new_files(dataset: Dataset, name: str, columns: Sequence[str] | None) -> dict[str, _TableFile]:
    """Return the files of a new group, one for each table."""
    words = [n for n in page_columns(columns) if COLUMNS[n] in REPEATING]
    repeating = {
        "pages": ("site", *words),
        "sitemaps": ("site", "type", "status", "depth", "failure"),
        "sites": ("outcome", "reason"),
    }
    return {
        table: _TableFile(dataset.staged(table, name), schema_of(table, columns), repeating[table])
        for table in TABLES
    }


def _commit(
    dataset: Dataset,
    name: str,
    files: dict[str, _TableFile],
    sites: dict[str, str],
    supersedes: tuple[str, ...] = (),
) -> None:
    """Commit a group: the files of the tables that have rows."""
    written = tuple(f"{table}/part-{name}.parquet" for table in TABLES if files[table].close())
    dataset.commit(Commit(name, written, sites, supersedes))


class _TableFile:
    """A Parquet file that is being written; its row groups are made of many small batches."""

    def __init__(self, path: Path, schema: Any, repeating: tuple[str, ...]) -> None:
        self._path = path
        self.schema = schema
        self._repeating = repeating
        self._file: IO[bytes] | None = None
        self._groups = RowGroups()
        self.rows = 0

    def add(self, batch: Any) -> None:
        self.rows += len(batch)
        for group in self._groups.add(batch):
            self._begun().write(group)

    def _begun(self) -> RowGroupWriter:
        if self._file is None:
            self._file = self._path.open("wb")
            self._writer = RowGroupWriter(self._file, self.schema, self._repeating)
        return self._writer

    def close(self) -> bool:
        """Sync everything to the disk; return False if there is nothing."""
        if not self.rows:
            return False
        writer = self._begun()
        for group in self._groups.rest():
            writer.write(group)
        writer.close()
        assert self._file is not None
        with self._file as file:
            file.flush()
            os.fsync(file.fileno())
        return True

    def discard(self) -> None:
        if self._file is not None:
            self._file.close()
        self._path.unlink(missing_ok=True)


def committed_rows(dataset: Dataset, commit: Commit) -> list[dict[str, Any]]:
    """Return the rows of ``sites`` in a commit; just the outcomes if its files have not moved yet."""
    paths = [dataset.root / name for name in commit.files if name.startswith("sites/")]
    if all(path.exists() for path in paths):
        return [row for path in paths for row in pyarrow(".parquet").read_table(path).to_pylist()]
    return [{"site": site, "outcome": outcome} for site, outcome in commit.sites.items()]


# Each site once -------------------------------------------------------------------------------------


def remove_older_rows(dataset: Dataset) -> int:
    """Remove the rows of sites that are in a later commit, too; return the number of such sites."""
    commits = dataset.commits()
    latest: dict[str, str] = {}
    for name in sorted(commits):
        latest.update(dict.fromkeys(commits[name].sites, name))
    removed = 0
    for commit in commits.values():
        kept = {site: out for site, out in commit.sites.items() if latest[site] == commit.name}
        if len(kept) == len(commit.sites):
            continue
        removed += len(commit.sites) - len(kept)
        if kept:
            _rewrite(dataset, commit, kept)
        dataset.remove(commit)
    return removed


def _rewrite(dataset: Dataset, commit: Commit, kept: dict[str, str]) -> None:
    """Replace a commit by one that has some of its sites only."""
    pa, parquet, compute = pyarrow(), pyarrow(".parquet"), pyarrow(".compute")
    # Its run's number stays in front: a later commit of these sites would still be later.
    name = commit_name(int(commit.name.partition("-")[0]), f"tidy{secrets.token_hex(4)}", 0)
    wanted = pa.array(list(kept), pa.string())
    files = _new_files(dataset, name, _columns_of(dataset, commit))
    for path in commit.files:
        table = path.partition("/")[0]
        for batch in parquet.ParquetFile(dataset.root / path).iter_batches():
            sites = batch.column("site").cast(pa.string())
            rows = batch.filter(compute.is_in(sites, value_set=wanted))
            if len(rows):
                files[table].add(_with_all_columns(rows, files[table].schema))
    _commit(dataset, name, files, kept, (commit.name,))


def _with_all_columns(batch: Any, schema: Any) -> Any:
    """Return a batch with columns of nulls for those that an older version did not write."""
    pa = pyarrow()
    arrays = [
        batch.column(field.name)
        if field.name in batch.schema.names
        else pa.nulls(len(batch), field.type)
        for field in schema
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns_of(dataset: Dataset, commit: Commit) -> Sequence[str] | None:
    """Return the columns that the pages of a commit have; None for all."""
    for path in commit.files:
        if path.startswith("pages/"):
            schema = pyarrow(".parquet").read_schema(dataset.root / path)
            names = tuple(name for name in schema.names if name != "site")
            return None if names == page_columns() else names
    return None
