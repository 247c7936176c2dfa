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
import time
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.stores import DatasetError, NotADatasetError, Store, deltalake
from usp.export.schema import pyarrow
from usp.fleet.parts import rewritten
from usp.fleet.tables import TABLES, plain_schema

if TYPE_CHECKING:
    import os
    from collections.abc import Collection, Iterable, Mapping, Sequence

    from usp.fleet.messages import Group, Row

__all__ = ["Committer", "Dataset"]

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
        return all(map(self._is_table, TABLES))

    def _is_table(self, table: str) -> bool:
        # Not by is_deltatable, which holds up Ctrl-C while it waits for a store.
        with self.store.words(), suppress(deltalake(".exceptions").TableNotFoundError):
            return bool(self._opened(table, self.store.first_options))
        return False

    def make(self, columns: Sequence[str] | None = None) -> None:
        """Create the tables that do not exist; raises :class:`NotADatasetError` if something else does.

        ``columns`` are those of the pages; columns that an existing table lacks are added to it.
        """
        if not self.store.is_remote:
            _refuse_other_things(Path(self.store.root))
        delta = deltalake()
        for table in TABLES:
            schema = delta.Schema.from_arrow(plain_schema(table, columns))
            with self.store.words():
                if not self._is_table(table):
                    place, options = self.store.path(table), self.store.options
                    delta.DeltaTable.create(
                        place,
                        schema,
                        "ignore",
                        storage_options=options,
                        configuration=_CONFIGURATION,
                    )
                known = self.columns(table)
                new = [field for field in schema.fields if field.name not in known]
                if new:
                    self._tables[table].alter.add_columns(new)

    def table(self, name: str) -> Any:
        """Return a table as it is now."""
        with self.store.words():
            if name in self._tables:
                self._tables[name].update_incremental()
            else:
                self._tables[name] = self._opened(name)
        return self._tables[name]

    def _opened(self, name: str, options: dict[str, str] | None = None) -> Any:
        path, given = self.store.path(name), options or self.store.options
        return deltalake().DeltaTable(path, storage_options=given)

    def columns(self, table: str) -> list[str]:
        """Return the names of the columns that a table has."""
        return [field.name for field in self.table(table).schema().fields]

    def sites(self, column: str = "outcome") -> dict[str, Any]:
        """Return a value of every site that is in the dataset, which is its outcome."""
        with self.store.words():
            table = self.table("sites").to_pyarrow_table(columns=["site", column])
        names, values = (one.to_pylist() for one in table.columns)
        same = {value: value for value in values}  # one object for all that are equal
        return {name: same[value] for name, value in zip(names, values, strict=True)}

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

        Commits of a run that is still going on fail from now on. Files that no commit names are
        removed, unless older versions are kept.
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
        return {site for site, run in self.sites("run").items() if (run or 0) >= first}

    def end_again(self) -> None:
        """Take note that all sites were crawled again."""
        self._write("sites", [], again=0)

    def _last(self, table: str, application: str) -> int:
        with self.store.words():
            return int(self.table(table).transaction_version(application) or 0)

    def _take_back(self, table: str, done: int) -> None:
        """Restore a table to its last version without commits that are not in ``sites``."""
        once = deltalake().CommitProperties(max_commit_retries=0)
        current = self._ours(table)
        with self.store.words():
            older = self._opened(table)
            while (older.transaction_version(_COMMITS) or 0) > done:
                older.load_as_version(older.version() - 1)
            current.restore(older.version(), commit_properties=once)

    def _ours(self, table: str, newest: int | None = None) -> Any:
        """Return a table as it is now; raises :class:`DatasetError` if it has a newer run."""
        if self._last(table, _RUNS) > (self._run if newest is None else newest):
            raise DatasetError(f"a newer run has taken over {self.store}; this one ends")
        return self._tables[table]

    def commit(self, groups: Iterable[Group], gone: Collection[str] = ()) -> None:
        """Commit groups; ``gone`` are the names of files that they replace.

        Raises :class:`DatasetError` if another run has taken over the dataset.
        """
        action, now = deltalake(".transaction"), int(time.time() * 1000)
        actions: dict[str, list[Any]] = {table: [] for table in TABLES}
        for part in (part for group in groups for part in group.parts):
            name = part.name.partition("/")[2]
            # Only their number: sites come in any order, so that limits of values would leave out none.
            rows = json.dumps({"numRecords": part.rows})
            actions[part.table].append(action.AddAction(name, part.size, {}, now, True, rows))
        for table, _, name in (one.partition("/") for one in gone):
            actions[table].append(action.RemoveAction(name, True, now))
        self._number += 1
        for table in TABLES:
            if actions[table] or table == "sites":
                self._write(table, actions[table], self._number)

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
        numbers = ((_RUNS, self._run), (_COMMITS, number), (_AGAIN, again))
        marks = [delta.Transaction(*one) for one in numbers if one[1] is not None]
        name = secrets.token_hex(8)
        properties = delta.CommitProperties({_NAME: name}, 0, marks)
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
        for table in TABLES:
            current = self._ours(table)
            with self.store.words():
                current.vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)


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


# When groups are committed, and what they replace -----------------------------------------------------


_SHARE = 5
"""A commit waits until the last one is this many times as long ago as it took: others join it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """Groups that must be committed together, and the files that they replace."""

    groups: list[Group]
    files: set[str]


class Committer:
    """Takes groups, each site once, and commits them; ``close`` commits the rest.

    ``older`` are the files that have the sites now that are crawled again. A group with such sites
    replaces their files: it waits until all that are wanted of these are there, so that files need not
    be rewritten several times.
    """

    def __init__(self, dataset: Dataset, run: int, older: Mapping[str, str] | None = None) -> None:
        self._dataset = dataset
        self._run = run
        self._older = dict(older or {})
        self._missing: dict[str, set[str]] = defaultdict(set)  # sites that a file waits for
        for site, file in self._older.items():
            self._missing[file].add(site)
        self._waiting: list[_Waiting] = []
        self._next = float("-inf")

    def take(self, group: Group) -> list[Row]:
        """Take a group; return the rows of the sites that are committed now."""
        new = _Waiting([group], set())
        for site in (row["site"] for row in group.sites if row["site"] in self._older):
            self._missing[self._older[site]].discard(site)
            new.files.add(self._older[site])
        others = []
        for one in self._waiting:  # what replaces the same file is committed together
            if one.files.isdisjoint(new.files):
                others.append(one)
            else:
                new = _Waiting(one.groups + new.groups, one.files | new.files)
        self._waiting = [*others, new]
        if time.monotonic() < self._next:
            return []
        missing = {file for file, sites in self._missing.items() if sites}
        return self._commit([one for one in self._waiting if one.files.isdisjoint(missing)])

    def close(self) -> list[Row]:
        """Commit everything that was taken."""
        return self._commit(self._waiting)

    def _commit(self, ready: list[_Waiting]) -> list[Row]:
        if not ready:
            return []
        began = time.monotonic()
        groups = [group for one in ready for group in one.groups]
        rows = [row for group in groups for row in group.sites]
        replaced: dict[str, list[str]] = defaultdict(list)
        for site in (row["site"] for row in rows if row["site"] in self._older):
            replaced[self._older.pop(site)].append(site)
        there = set().union(*map(self._dataset.files, TABLES)) if replaced else set()
        gone = []
        for file, sites in replaced.items():
            names = [name for table in TABLES if (name := f"{table}/{file}") in there]
            groups += self._rest_of(names, sites)
            gone += names
        self._dataset.commit(groups, gone)
        self._waiting = [one for one in self._waiting if one not in ready]
        now = time.monotonic()
        self._next = now + _SHARE * (now - began)
        return rows

    def _rest_of(self, names: list[str], gone: list[str]) -> list[Group]:
        """Return what is left of a group of files without some of its sites."""
        _, *columns = self._dataset.columns("pages")
        groups = rewritten(self._dataset.store, self._run, names, gone, columns)
        for group in groups:
            name = group.parts[0].name.rpartition("/")[2]
            for site in (row["site"] for row in group.sites if row["site"] in self._older):
                self._older[site] = name  # not crawled again yet: it moves along
                self._missing[name].add(site)
        return groups
