"""A dataset: its Delta tables, in a folder or an object store, and how they are committed and read.

Workers write files (:mod:`usp.fleet.tables`), in parts; the process that has started them commits
these, and only ever appends: the table ``visits`` last, so that a visit is in the dataset exactly if
it is there. Any number of runs may do that at the same time.
"""

from __future__ import annotations

import json
import random
import secrets
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.files import DatasetError, FileStore, NotADatasetError, StoredFile, deltalake
from usp.export.arrow import ParquetFileWriter
from usp.export.schema import pyarrow
from usp.fleet.options import Shard
from usp.fleet.tables import BUCKETS, TABLES, Part, Row, file_schema, rows_of, schema_of

if TYPE_CHECKING:
    import os


__all__ = ["Dataset"]

_RUNS, _SHARDS, _AGAIN, _VACUUM = "usp-run", "usp-shards", "usp-again", "usp-vacuum"
"""Application transactions of ``visits``: the number of the last run; of runs that visit sites again,
how many shards there are, and the last one of each; the run in which it was begun to crawl all sites of
a shard again, 0 once that is done; the day since 1970 on which files were last removed.
"""

_COMMITS = 1 << 20  # of a run, at most: the numbers of a later run are higher
_CONFIGURATION = {"delta.checkpointInterval": "20"}
"""A commit reads all others since the last checkpoint, one request for each in an object store."""

_SETTINGS = (
    "target_partitions = 1",
    "batch_size = 1024",
    "parquet.pushdown_filters = true",
    "parquet.max_predicate_cache_size = 0",
)
"""One file at a time, and few rows of it: otherwise a driver needs a hundred megabytes more."""

_DAY = 86_400  # seconds
_ATTEMPTS = 8
_PAUSE = 0.5  # seconds, at most, before the second attempt


_Plan: TypeAlias = tuple[list[Any], Mapping[str, int]]
"""What is committed: files that are added, and the versions of application transactions."""


class Dataset:
    """The tables, and their commits."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.store = FileStore(root)
        self._tables: dict[str, Any] = {}
        self._own: dict[str, int] = {}  # transactions that nobody else must have changed

    # The tables -----------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Return whether there is a dataset."""
        return all(map(self._is_table, TABLES))

    def require(self) -> None:
        """Raise :class:`NotADatasetError` if there is none."""
        if self.exists():
            return
        if all(map(self._is_table, ("pages", "sites"))):
            raise self._is_older()
        raise NotADatasetError(
            f"{self.store} is not a dataset; pass what 'usp crawl SITES -o DATASET' has written"
        )

    def _is_older(self) -> NotADatasetError:
        return NotADatasetError(
            f"{self.store} was made by an older version of usp crawl; 'usp convert {self.store} -o"
            " DATASET' takes it over"
        )

    def _is_table(self, table: str) -> bool:
        # Not by is_deltatable, which holds up Ctrl-C while it waits for a store.
        with self.store.words(), suppress(deltalake(".exceptions").TableNotFoundError):
            opened = self._opened(table, self.store.first_options)
            if not self.store.is_remote:  # else it would go on to give up soon
                self._tables[table] = opened
            return True
        return False

    def make(self, columns: Sequence[str] | None = None) -> None:
        """Create the tables that do not exist; raises :class:`NotADatasetError` if something else does.

        ``columns`` are those of the pages; columns that an existing table lacks are added to it.
        """
        if not self.store.is_remote:
            _refuse_other_things(Path(self.store.root))
        delta = deltalake()
        tables = (*TABLES, "runs")
        there = list(filter(self._is_table, tables))
        for table in there:  # before anything is changed
            self._refuse_features(table)
        for table in tables:
            schema = delta.Schema.from_arrow(schema_of(table, columns))
            with self.store.words():
                if table not in there:
                    delta.DeltaTable.create(
                        self.store.path(table),
                        schema,
                        "ignore",
                        partition_by=None if table == "runs" else ["bucket"],
                        storage_options=self.store.options,
                        configuration=_CONFIGURATION,
                        description=f"usp crawl, {BUCKETS} buckets",
                    )
                known = self.columns(table)
                new = [field for field in schema.fields if field.name not in known]
                if new:
                    self._tables[table].alter.add_columns(new)

    def _refuse_features(self, table: str) -> None:
        """Raise :class:`DatasetError` for a table of an older version, or with unknown features."""
        with self.store.words():
            protocol = self.table(table).protocol()
            partitioned = self.table(table).metadata().partition_columns
        if table != "runs" and partitioned != ["bucket"]:
            raise self._is_older()
        if protocol.min_reader_version > 1 and "deletionVectors" not in (
            protocol.reader_features or ()
        ):
            names = ", ".join(protocol.reader_features or ("column mapping",))
            raise DatasetError(
                f"{self.store.path(table)} uses features of Delta that usp crawl does not know"
                f" ({names}); drop them with the program that has added them, or crawl into another"
                " dataset"
            )

    def table(self, name: str, *, update: bool = True) -> Any:
        """Return a table as it is now, or as it was when it was last looked at."""
        with self.store.words():
            if name in self._tables:
                if update:
                    self.store.repeated(self._tables[name].update_incremental)
            else:
                self._tables[name] = self._opened(name)
        return self._tables[name]

    def _opened(self, name: str, options: dict[str, str] | None = None) -> Any:
        path, given = self.store.path(name), options or self.store.options
        return self.store.repeated(partial(deltalake().DeltaTable, path, storage_options=given))

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns that a table has."""
        return [field.name for field in self.table(table).schema().fields]

    def arrow_dataset(self, name: str) -> Any:
        """Return a table as PyArrow's dataset; the files of a folder are read without deltalake."""
        files = self.store.files(below=name) if not self.store.is_remote else None
        return self.table(name).to_pyarrow_dataset(filesystem=files)

    def rows(self, table: str, columns: Sequence[str] = (), where: str = "true") -> Any:
        """Return rows of a table, all columns or some, as a reader of record batches."""
        names = ", ".join(f'"{name}"' for name in columns) or "*"  # "interval" is a word of SQL
        return self.query(f"select {names} from {table} where {where}", table)  # noqa: S608

    def query(self, sql: str, *tables: str) -> Any:
        """Return the rows of a query of some tables, as a reader of record batches."""
        # Not by to_pyarrow_table: threads of PyArrow would go on to use deltalake's file system, which
        # is Python, and now and then abort the process when it ends.
        with self.store.words():
            builder = deltalake().QueryBuilder()
            for setting in _SETTINGS:
                builder.execute(f"set datafusion.execution.{setting}")
            for table in tables:
                builder.register(table, self.table(table))
            return pyarrow().RecordBatchReader.from_stream(builder.execute(sql))

    def outcomes(self) -> Counter[str]:
        """Return how many sites have which outcome."""
        found: Counter[str] = Counter()
        for bucket in range(BUCKETS):  # so that only some sites are in memory
            query = f"""select outcome, count(*) as sites from (select outcome, row_number() over (
                partition by site order by started desc, number desc, writer desc) as place
                from visits where bucket = {bucket}) where place = 1 group by outcome"""  # noqa: S608
            for row in self.query(query, "visits").read_all().to_pylist():
                found[row["outcome"]] += row["sites"]
        return found

    # Runs -----------------------------------------------------------------------------------------

    def begin_run(self, shard: str | None = None) -> int:
        """Return the number of a new run, which no other one has.

        With a ``shard``, sites are visited again. Others that do so for the same one, or with another
        number of shards, end when they commit: changes would be there twice.
        """
        number = self._mark(_RUNS, lambda last: last + 1)
        if shard is not None:
            self._own = {f"{_SHARDS} {shard}": number, _SHARDS: Shard.read(shard).of}

            def plan(_: int) -> _Plan:  # only what is new: many shards begin at the same time
                new = {n: at for n, at in self._own.items() if self._last("visits", n) != at}
                return [], new

            self._repeated("visits", plan, deltalake(".exceptions").CommitFailedError)
        return number

    def begin_again(self, run: int, shard: str) -> int:
        """Begin to crawl all sites of a shard again, or go on; return the run in which it was begun."""
        mark = f"{_AGAIN} {shard}"
        return self._last("visits", mark) or self._mark(mark, lambda _: run)

    def was_crawled(self) -> bool:
        """Return whether there was a run."""
        return bool(self._last("visits", _RUNS))

    def end_again(self, shard: str) -> None:
        """Take note that all sites of a shard were crawled again."""
        self._mark(f"{_AGAIN} {shard}", lambda _: 0)

    def _last(self, table: str, application: str) -> int:
        with self.store.words():
            return int(self.table(table).transaction_version(application) or 0)

    def _mark(self, application: str, next_of: Callable[[int], int]) -> int:
        """Set the version of an application transaction of ``visits``, from the last; return it."""
        number = 0

        def plan(_: int) -> _Plan:
            nonlocal number
            number = next_of(self._last("visits", application))
            return [], {application: number}

        self._repeated("visits", plan, deltalake(".exceptions").CommitFailedError)
        return number

    def _repeated(self, table: str, plan: Callable[[int], _Plan | None], *errors: Any) -> None:
        """Commit what is planned, at each attempt anew: somebody was faster, or the store goes away."""
        for attempt in range(_ATTEMPTS):
            planned = plan(attempt)
            if planned is None:
                return
            with self.store.words():
                try:
                    self._append(self._tables[table], *planned)
                except errors:
                    if attempt + 1 == _ATTEMPTS:
                        raise
                    time.sleep(random.random() * _PAUSE * 2**attempt)  # noqa: S311 - not a secret
                else:
                    return

    @staticmethod
    def _append(table: Any, actions: list[Any], marks: Mapping[str, int]) -> None:
        delta = deltalake()
        transactions = [delta.Transaction(name, number) for name, number in marks.items()]
        table.create_write_transaction(
            actions,
            "append",
            table.schema(),
            table.metadata().partition_columns,
            commit_properties=delta.CommitProperties(None, None, transactions),
        )

    def commit(self, parts: Sequence[Part]) -> None:
        """Commit parts: all tables, ``visits`` last; what a table has already is skipped."""
        for table in TABLES:
            self._commit(table, parts)

    def _commit(self, table: str, parts: Sequence[Part]) -> None:
        """Commit the files of a table, exactly once, also if the store goes away in the middle."""

        def plan(attempt: int) -> _Plan | None:
            new = [part for part in parts if self._is_new(table, part, first=not attempt)]
            if table == "visits":
                self._check_own()
            files = [file for part in new for file in part.files if file.table == table]
            actions = [_added(f.name, f.size, f.rows, bucket=str(f.bucket)) for f in files]
            last = {f"usp {part.writer}": part.number for part in new}
            return (actions, last) if actions else None

        self._repeated(table, plan, deltalake(".exceptions").DeltaError, OSError)

    def _is_new(self, table: str, part: Part, *, first: bool) -> bool:
        """Return whether a part is not in a table; raises an error if a newer run of its writer is."""
        last = self._last(table, f"usp {part.writer}")
        if last // _COMMITS > part.number // _COMMITS or (first and last >= part.number):
            raise self._is_other("as the same shard")
        return last < part.number

    def _check_own(self) -> None:
        """Raise an error if another run has begun to visit the same sites again."""
        now = {name: self._last("visits", name) for name in self._own}
        if now != self._own:
            count = now[_SHARDS]
            is_same = count == self._own[_SHARDS]
            raise self._is_other("as the same shard" if is_same else f"in {count} shards")

    def _is_other(self, how: str) -> DatasetError:
        return DatasetError(f"another run has begun to write to {self.store} {how}; this one ends")

    def add_run(self, row: Row) -> None:
        """Add a row to the table of runs."""
        name = f"run-{row['run']:07}-{secrets.token_hex(4)}.parquet"
        file = ParquetFileWriter(
            lambda: StoredFile(self.store, f"runs/{name}"), file_schema("runs"), ()
        )
        file.add(rows_of("runs", [row]))
        file.close()
        with self.store.words():
            table, size = self.table("runs"), file.stream.close()
            self._append(table, [_added(name, size, 1)], {})

    def vacuum(self, *, daily: bool = False) -> None:
        """Remove files that no version of the last week has, such as those of runs that were killed.

        With ``daily``, only if nobody has done that today.
        """
        today = int(time.time() / _DAY)
        if daily and self._last("visits", _VACUUM) >= today:
            return
        self._mark(_VACUUM, lambda _: today)
        for table in TABLES:
            current = self.table(table)
            with self.store.words():
                current.vacuum(dry_run=False, full=True)


def _added(name: str, size: int, rows: int, **partition: str) -> Any:
    """Return the action of Delta that adds a file to a table."""
    now, stats = int(time.time() * 1000), json.dumps({"numRecords": rows})
    return deltalake(".transaction").AddAction(name, size, partition, now, True, stats)


def first_number(run: int) -> int:
    """Return the number of the first commit of every writer in a run."""
    return run * _COMMITS + 1


def _refuse_other_things(root: Path) -> None:
    """Raise :class:`NotADatasetError` if there is something in a folder that is not a dataset."""
    if root.exists() and not root.is_dir():
        raise NotADatasetError(f"{root} is a file; choose a folder for the dataset")
    begun = (  # an empty one was perhaps about to become a table when a run was cut short
        (root / table / "_delta_log").is_dir() or not any((root / table).iterdir())
        for table in TABLES
        if (root / table).is_dir()
    )
    if root.is_dir() and any(root.iterdir()) and not any(begun):
        raise NotADatasetError(
            f"{root} is not empty and not a dataset of usp crawl; choose another folder"
        )
