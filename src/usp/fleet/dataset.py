"""A dataset: the Delta tables ``pages``, ``sitemaps`` and ``sites``, in a folder or an object store.

Workers write files (:mod:`usp.fleet.tables`); the driver of the run, and nobody else, commits them, in
parts: first to ``pages`` and ``sitemaps``, then to ``sites``. So a site is in the dataset exactly if
it is in ``sites``. Each commit has a number, the same in all three tables. If a run is cut short
between two of them, the next one takes back what is not in ``sites``, and removes files that no commit
names.
"""

from __future__ import annotations

import json
import secrets
import time
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.files import DatasetError, FileStore, NotADatasetError, deltalake
from usp.export.schema import pyarrow
from usp.fleet.tables import TABLES, Part, Row, plain_schema, rewritten, schema_of, sites_in

if TYPE_CHECKING:
    import os


__all__ = ["Committer", "Dataset"]

_COMMITS, _RUNS, _AGAIN = "usp", "usp-run", "usp-again"
"""The application transactions of the tables: the number of the last commit, of the run, and of the run
in which it was begun to crawl all sites again, 0 once that is done.
"""

_CONFIGURATION = {"delta.checkpointInterval": "20"}
"""A commit reads all others since the last checkpoint, one request for each in an object store."""

_NAME = "usp-commit"  # what tells a commit from all others, in its metadata
_ATTEMPTS = 3
_RECENT = 10  # commits among which one of ours is looked for


class Dataset:
    """The three tables, and their commits."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.store = FileStore(root)
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
                    delta.DeltaTable.create(
                        self.store.path(table),
                        schema,
                        "ignore",
                        storage_options=self.store.options,
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

    def arrow_dataset(self, name: str) -> Any:
        """Return a table as PyArrow's dataset; the files of a folder are read without deltalake."""
        files = self.store.files(below=name) if not self.store.is_remote else None
        return self.table(name).to_pyarrow_dataset(filesystem=files)

    def sites(self, column: str = "outcome") -> dict[str, Any]:
        """Return a value of every site that is in the dataset, which is its outcome."""
        # Not by to_pyarrow_table: threads of PyArrow would go on to use deltalake's file system, which
        # is Python, and now and then abort the process when it ends.
        with self.store.words():
            query = deltalake().QueryBuilder().register("sites", self.table("sites"))
            table = pyarrow().table(query.execute(f"select site, {column} from sites"))  # noqa: S608
        names, values = (one.to_pylist() for one in table.columns)
        same = {value: value for value in values}  # one object for all that are equal
        return {name: same[value] for name, value in zip(names, values, strict=True)}

    def files_with(
        self, wanted: AbstractSet[str], known: Collection[str]
    ) -> dict[str, tuple[str, ...]]:
        """Return the files that have rows of wanted sites; ``known`` are those in the dataset.

        The files of a part have the same name, and no other sites than the one in ``sites`` has.
        Other programs write files of their own (``compact``, ``DELETE``): these are read themselves.
        """
        there = {table: self.files(table) for table in TABLES}
        found: dict[str, tuple[str, ...]] = {}
        same: dict[tuple[str, ...], tuple[str, ...]] = {}  # one object for all that are equal
        for table in reversed(TABLES):
            if table == "sites" and wanted.isdisjoint(known):
                continue
            for name in sorted(there[table]):
                own = name.partition("/")[2]
                if table != "sites" and f"sites/{own}" in there["sites"]:
                    continue  # known by now
                part = [one for t in TABLES if (one := f"{t}/{own}") in there[t]]
                for site in wanted & sites_in(self.store, name):
                    files = (*found.get(site, ()), *part)
                    found[site] = same.setdefault(files, files)
        if found:
            self._refuse_columns()
        return found

    def _refuse_columns(self) -> None:
        """Raise :class:`DatasetError` if files cannot be written anew, because of others' columns."""
        for table in TABLES:
            others = [name for name in self.columns(table) if name not in schema_of(table).names]
            if others:
                raise DatasetError(
                    f"{self.store.path(table)} has columns of another program ({', '.join(others)}),"
                    " which would be lost for sites that are crawled again; keep them in a table of"
                    " their own, or crawl into another dataset"
                )

    def files(self, table: str) -> set[str]:
        """Return the names of the files of a table that count, below the dataset."""
        with self.store.words():
            paths = pyarrow().table(self.table(table).get_add_actions(flatten=True))
        return {f"{table}/{path}" for path in paths.column("path").to_pylist()}

    # Runs -----------------------------------------------------------------------------------------

    def begin_run(self, *, keep_versions: bool = False) -> int:
        """Take over the dataset, recover it, and return the number of the new run.

        Commits of a run that is still going on fail from now on.
        """
        for table in TABLES:
            self._refuse_features(table)
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

    def _refuse_features(self, table: str) -> None:
        """Raise :class:`DatasetError` if files of a table have rows that do not count any more."""
        with self.store.words():
            protocol = self.table(table).protocol()
        if protocol.min_reader_version > 1:
            names = ", ".join(protocol.reader_features or ("column mapping",))
            raise DatasetError(
                f"{self.store.path(table)} uses features of Delta that usp crawl does not know"
                f" ({names}); drop them with the program that has added them, or crawl into another"
                " dataset"
            )

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

    def commit(self, parts: Iterable[Part], gone: Collection[str] = ()) -> None:
        """Commit parts; ``gone`` are the names of files that they replace."""
        action, now = deltalake(".transaction"), int(time.time() * 1000)
        actions: dict[str, list[Any]] = {table: [] for table in TABLES}
        for file in (file for part in parts for file in part.files):
            name = file.name.partition("/")[2]
            # Only their number: sites come in any order, so that limits of values would leave out none.
            rows = json.dumps({"numRecords": file.rows})
            actions[file.table].append(action.AddAction(name, file.size, {}, now, True, rows))
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

        ``newest`` is the newest run that may have taken over before; the others change if given.
        """
        delta, removing = deltalake(), deltalake(".transaction").RemoveAction
        numbers = ((_RUNS, self._run), (_COMMITS, number), (_AGAIN, again))
        marks = [delta.Transaction(*one) for one in numbers if one[1] is not None]
        name = secrets.token_hex(8)
        properties = delta.CommitProperties({_NAME: name}, 0, marks)
        gone = {one.path for one in actions if isinstance(one, removing)}
        for attempt in range(1, _ATTEMPTS + 1):
            current = self._ours(table, newest)
            if gone and not gone <= {one.partition("/")[2] for one in self.files(table)}:
                raise DatasetError(
                    f"another program has rewritten {self.store.path(table)} during this run; run the"
                    " same command again: it goes on with the new files"
                )
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


# When parts are committed, and what they replace -----------------------------------------------------


_SHARE = 5
"""A commit waits until the last one is this many times as long ago as it took: others join it."""


def _part_of(name: str) -> str:
    """Return the name that a file shares with those of the same part, in other folders."""
    return name.partition("/")[2]


class Committer:
    """Takes parts, and commits them; files that have ``older`` rows of their sites are replaced."""

    def __init__(
        self, dataset: Dataset, run: int, older: Mapping[str, tuple[str, ...]] | None = None
    ) -> None:
        self._dataset = dataset
        self._run = run
        self._older = older or {}
        self._moved: dict[str, str | None] = {}  # what has replaced a file
        self._waiting: list[Part] = []
        self._next = float("-inf")
        self._is_whole = True

    def take(self, part: Part) -> list[Row]:
        """Take a part; return the rows of the sites that are committed now."""
        self._waiting.append(part)
        return [] if time.monotonic() < self._next else self.close()

    def close(self) -> list[Row]:
        """Commit everything that was taken; after an error nothing: the next run recovers."""
        if not self._waiting or not self._is_whole:
            return []
        self._is_whole = False
        began = time.monotonic()
        parts, self._waiting = self._waiting, []
        rows = [row for part in parts for row in part.sites]
        replaced: dict[str, set[str]] = defaultdict(set)
        for site in (row["site"] for row in rows):
            for name in filter(None, map(self._now, self._older.get(site, ()))):
                replaced[name].add(site)
        _, *columns = self._dataset.columns("pages")
        for _, grouped in groupby(sorted(replaced, key=_part_of), _part_of):
            names = list(grouped)
            gone = set().union(*(replaced[name] for name in names))
            rest = rewritten(self._dataset.store, self._run, names, gone, columns)
            parts += rest
            new = {file.table: file.name for part in rest for file in part.files}
            self._moved |= {name: new.get(name.partition("/")[0]) for name in names}
        self._dataset.commit(parts, replaced)
        self._is_whole = True
        now = time.monotonic()
        self._next = now + _SHARE * (now - began)
        return rows

    def _now(self, name: str) -> str | None:
        """Return the file that has the rows of a file now, without those that were replaced."""
        now: str | None = name
        while now in self._moved:
            now = self._moved[now]
        return now
