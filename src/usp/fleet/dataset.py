"""A dataset: the Delta tables ``pages``, ``sitemaps`` and ``sites``, in a folder or an object store.

Workers write files (:mod:`usp.fleet.parts`); the driver of the run, and nobody else, commits them, in
groups: first to ``pages`` and ``sitemaps``, then to ``sites``. So a site is in the dataset exactly if
it is in ``sites``. Each commit has a number, the same in all three tables. If a run is cut short
between two of them, the next one takes back what is not in ``sites``, and removes files that no commit
names.
"""

from __future__ import annotations

import json
import secrets
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp.export.schema import pyarrow
from usp.fleet.store import DatasetError, NotADatasetError, Store, deltalake
from usp.fleet.tables import TABLES, delta_schema

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from usp.fleet.parts import Group, Part

__all__ = ["Dataset"]

_COMMITS, _RUNS, _AGAIN = "usp", "usp-run", "usp-again"
"""The application transactions of the tables: the number of the last commit, of the run, and of the run
in which it was begun to crawl all sites again, 0 once that is done.
"""

_CONFIGURATION = {"delta.checkpointInterval": "20"}
"""A commit reads all others since the last checkpoint, one request for each in an object store."""

_NAME = "usp-commit"
"""What tells a commit from all others, in its metadata."""

_ATTEMPTS = 3
_RECENT = 10  # commits among which one of ours is looked for


class Dataset:
    """The three tables, and their commits."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.store = Store(root)
        self._tables: dict[str, Any] = {}
        self._run = 0
        self._number = 0

    # The tables -----------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Return whether there is a dataset."""
        with self.store.words():
            return all(self._is_table(table) for table in TABLES)

    def _is_table(self, table: str) -> bool:
        kind = deltalake().DeltaTable
        return bool(kind.is_deltatable(self.store.path(table), self.store.first_options))

    def check(self) -> None:
        """Raise :class:`NotADatasetError` unless there is a dataset."""
        if not self.exists():
            raise NotADatasetError(
                f"{self.store} is not a dataset; pass what 'usp crawl SITES -o DATASET' has written"
            )

    def make(self, columns: Sequence[str] | None = None) -> None:
        """Create the tables that do not exist; raises :class:`NotADatasetError` if something else does.

        ``columns`` are those of the pages; columns that an existing table lacks are added to it.
        """
        self._refuse_other_things()
        delta = deltalake()
        with self.store.words():
            for table in TABLES:
                if not self._is_table(table):
                    delta.DeltaTable.create(
                        self.store.path(table),
                        delta_schema(table, columns),
                        mode="ignore",
                        storage_options=self.store.options,
                        configuration=_CONFIGURATION,
                    )
                known = set(pyarrow().schema(self.table(table).schema().to_arrow()).names)
                new = [field for field in delta_schema(table, columns) if field.name not in known]
                if new:
                    fields = delta.Schema.from_arrow(pyarrow().schema(new)).fields
                    self.table(table).alter.add_columns(fields)

    def _refuse_other_things(self) -> None:
        if self.store.is_remote:
            return
        root = Path(self.store.root)
        if root.exists() and not root.is_dir():
            raise NotADatasetError(f"{root} is a file; choose a folder for the dataset")
        if (
            root.is_dir()
            and any(root.iterdir())
            and not any(map(_is_begun, map(root.joinpath, TABLES)))
        ):
            raise NotADatasetError(
                f"{root} is not empty and not a dataset of usp crawl; choose another folder"
            )

    def table(self, name: str) -> Any:
        """Return a table as it is now."""
        with self.store.words():
            if name not in self._tables:
                kind = deltalake().DeltaTable
                self._tables[name] = kind(self.store.path(name), storage_options=self.store.options)
            else:
                self._tables[name].update_incremental()
        return self._tables[name]

    def sites(self) -> dict[str, str]:
        """Return the outcome of every site that is in the dataset."""
        return {site: sys.intern(outcome) for site, outcome in self._each_site("outcome")}

    def _each_site(self, column: str) -> Iterator[tuple[str, Any]]:
        with self.store.words():
            table = self.table("sites").to_pyarrow_table(columns=["site", column])
        return zip(*(values.to_pylist() for values in table.columns), strict=True)

    def groups(self, wanted: Collection[str]) -> dict[str, str]:
        """Return the name of the files in which each of some sites is, if it is in the dataset."""
        found: dict[str, str] = {}
        with self.store.words():
            for file in self.table("sites").to_pyarrow_dataset().get_fragments():
                name = file.path.rpartition("/")[2]
                there = file.to_table(columns=["site"]).column("site").to_pylist()
                found.update({site: name for site in there if site in wanted})
        return found

    def files(self, table: str) -> set[str]:
        """Return the names of the files of a table that count, below the dataset."""
        with self.store.words():
            paths = pyarrow().table(self.table(table).get_add_actions(flatten=True))
        return {f"{table}/{path}" for path in paths.column("path").to_pylist()}

    # Runs -----------------------------------------------------------------------------------------

    def begin_run(self, *, keep_versions: bool = False) -> int:
        """Take over the dataset, recover it, and return the number of the new run.

        Commits of a run that is still going on fail from now on: the tables name a newer one. Files
        that no commit names are removed, unless older versions are kept.
        """
        before = max(self._last(table, _RUNS) for table in TABLES)
        self._run = before + 1
        for table in TABLES:
            self._write(table, [], newest=before)
        done = self._last("sites", _COMMITS)
        for table in TABLES[:-1]:
            if self._last(table, _COMMITS) > done:
                self._take_back(table, done)
        self._number = max(self._last(table, _COMMITS) for table in TABLES)
        if self._number > done:
            self._write("sites", [], self._number)
        if not keep_versions:
            self.vacuum()
        return self._run

    def begin_again(self) -> set[str]:
        """Begin to crawl all sites again, or go on with it; return those that are done."""
        first = self._last("sites", _AGAIN)
        if not first:
            self._write("sites", [], again=self._run)
            return set()
        return {site for site, run in self._each_site("run") if (run or 0) >= first}

    def end_again(self) -> None:
        """Take note that all sites were crawled again."""
        self._write("sites", [], again=0)

    def _last(self, table: str, application: str) -> int:
        with self.store.words():
            return int(self.table(table).transaction_version(application) or 0)

    def _take_back(self, table: str, done: int) -> None:
        """Restore a table to its last version without commits that are not in ``sites``."""
        delta = deltalake()
        with self.store.words():
            current = self._ours(table)
            version = current.version()
            while version > 0:
                version -= 1
                older = delta.DeltaTable(
                    self.store.path(table), version=version, storage_options=self.store.options
                )
                if int(older.transaction_version(_COMMITS) or 0) <= done:
                    break
            properties = delta.CommitProperties(max_commit_retries=0)
            current.restore(version, commit_properties=properties)

    def _ours(self, table: str, newest: int | None = None) -> Any:
        """Return a table as it is now; raises :class:`DatasetError` if it has a newer run."""
        if self._last(table, _RUNS) > (self._run if newest is None else newest):
            raise DatasetError(f"a newer run has taken over {self.store}; this one ends")
        return self._tables[table]

    def commit(self, groups: Iterable[Group], instead_of: Collection[str] = ()) -> None:
        """Commit groups; ``instead_of`` are names of files that they replace.

        Raises :class:`DatasetError` if another run has taken over the dataset.
        """
        parts = [part for group in groups for part in group.parts]
        self._number += 1
        for table in TABLES:
            actions = [_added(part) for part in parts if part.table == table]
            if instead_of:
                there = self.files(table)
                gone = [f"{table}/{name}" for name in instead_of if f"{table}/{name}" in there]
                actions += map(_removed, gone)
            if actions or table == "sites":
                self._write(table, actions, self._number)

    def _write(
        self,
        table: str,
        actions: list[Any],
        number: int | None = None,
        newest: int | None = None,
        again: int | None = None,
    ) -> None:
        """Commit actions to a table, exactly once, also if the store goes away in the middle.

        ``newest`` is the number of the newest run that may have taken over the table before; ``number``
        and ``again`` are those of :data:`_COMMITS` and :data:`_AGAIN`, if they change.
        """
        delta = deltalake()
        changed = {_RUNS: self._run, _COMMITS: number, _AGAIN: again}
        numbers = {name: value for name, value in changed.items() if value is not None}
        name = secrets.token_hex(8)
        properties = delta.CommitProperties(
            custom_metadata={_NAME: name},
            max_commit_retries=0,
            app_transactions=[delta.Transaction(*one) for one in numbers.items()],
        )
        for attempt in range(1, _ATTEMPTS + 1):
            current = self._ours(table, newest)
            with self.store.words():
                try:
                    current.create_write_transaction(
                        actions, "append", current.schema(), commit_properties=properties
                    )
                except (delta.exceptions.DeltaError, OSError):
                    current.update_incremental()
                    if any(commit.get(_NAME) == name for commit in current.history(_RECENT)):
                        return  # the request was successful, and its response was lost
                    if attempt == _ATTEMPTS:
                        raise
                else:
                    return

    def vacuum(self) -> None:
        """Remove all files that are not in the tables as they are now."""
        with self.store.words():
            for table in TABLES:
                self._ours(table).vacuum(
                    0, dry_run=False, enforce_retention_duration=False, full=True
                )

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write ``_summary.json``."""
        self.store.replace("_summary.json", (json.dumps(summary, indent=1) + "\n").encode())


def _is_begun(folder: Path) -> bool:
    """Return whether a folder is a table, or one that a run was cut short to create."""
    return (folder / "_delta_log").is_dir() or (folder.is_dir() and not any(folder.iterdir()))


def _added(part: Part) -> Any:
    # Only their number: sites come in any order, so that limits of values would leave out no file.
    statistics = json.dumps({"numRecords": part.rows})
    action = deltalake(".transaction").AddAction
    return action(part.name.partition("/")[2], part.size, {}, _now(), True, statistics)


def _removed(name: str) -> Any:
    action = deltalake(".transaction").RemoveAction
    return action(name.partition("/")[2], True, _now())


def _now() -> int:
    return int(time.time() * 1000)
