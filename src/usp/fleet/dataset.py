"""A dataset on disk: three folders of Parquet files, and the commits that say which of them count.

::

    DATASET/pages/part-….parquet      the three tables
    DATASET/sitemaps/part-….parquet
    DATASET/sites/part-….parquet
    DATASET/_commits/….json           a group of sites each: its files, and the outcome of every site
    DATASET/_staging                  files of groups that are not committed
    DATASET/_runs                     the numbers of the runs so far
    DATASET/_summary.json             the totals, after a run

A group of finished sites is written to ``_staging``, synced, and committed by one new file in
``_commits``; then its files move to their folders. A commit that was cut short between the two steps
is completed at the next start, and everything that no commit names is removed. If two commits name
the same site, the later one counts (see :func:`usp.fleet.tables.remove_older_rows`).
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import secrets
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp._base.files import replacing, sync_folder

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

__all__ = ["Commit", "Dataset", "DatasetError", "NotADatasetError"]

TABLES = ("pages", "sitemaps", "sites")
"""The folders, and the tables in them."""

FORMAT = 1

LOCK_SECONDS = 60.0
"""Seconds to wait for the workers of a run whose driver is gone."""

# Files are moved and deleted by the names that a commit gives: they must not lead anywhere else.
_NAME = re.compile(r"\d{5,9}-[0-9a-z]{1,40}-\d{5,9}", re.ASCII)
_PART = re.compile(rf"part-{_NAME.pattern}\.parquet", re.ASCII)


class DatasetError(Exception):
    """A dataset cannot be used as it is; the message says what to do."""


class NotADatasetError(DatasetError):
    """Something else is at the path of the dataset, or nothing."""


@dataclass(frozen=True, slots=True)
class Commit:
    """A group of sites that is in the dataset.

    ``name`` begins with the number of its run. ``files`` are paths below the dataset, ``sites`` the
    outcome of each site, ``supersedes`` the commits that this one replaces.
    """

    name: str
    files: tuple[str, ...] = ()
    sites: Mapping[str, str] = field(default_factory=dict)
    supersedes: tuple[str, ...] = ()

    def to_json(self) -> str:
        """Return the commit as JSON text."""
        return json.dumps(
            {
                "format": FORMAT,
                "name": self.name,
                "files": self.files,
                "sites": self.sites,
                "supersedes": self.supersedes,
            }
        )

    @staticmethod
    def from_json(text: str) -> Commit:
        """Parse a commit; raises ``ValueError`` if it names anything outside of the dataset."""
        given: dict[str, Any] = json.loads(text)
        commit = Commit(
            given["name"], tuple(given["files"]), dict(given["sites"]), tuple(given["supersedes"])
        )
        for name in (commit.name, *commit.supersedes):
            if not _NAME.fullmatch(name):
                raise ValueError(f"{name!r} is not the name of a commit")
        for name in commit.files:
            table, _, part = name.partition("/")
            if table not in TABLES or not _PART.fullmatch(part):
                raise ValueError(f"{name!r} is not a file of a table")
        return commit


def commit_name(run: int, writer: str, number: int) -> str:
    """Return the name of a writer's next commit: names sort by the run."""
    return f"{run:05d}-{writer}-{number:05d}"


class Dataset:
    """The files of a dataset."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self.root = Path(root)
        self.staging = self.root / "_staging"
        self._commits = self.root / "_commits"
        self._runs = self.root / "_runs"

    def make(self) -> None:
        """Create the folders; raises :class:`NotADatasetError` if there is something else."""
        if self.root.exists() and not self.root.is_dir():
            raise NotADatasetError(f"{self.root} is a file; choose a folder for the dataset")
        if self.root.is_dir() and not self._commits.is_dir() and any(self.root.iterdir()):
            raise NotADatasetError(
                f"{self.root} is not empty and not a dataset of usp crawl; choose another folder"
            )
        tables = (self.root / table for table in TABLES)
        for folder in (self.staging, self._runs, *tables, self._commits):
            folder.mkdir(parents=True, exist_ok=True)

    def check(self) -> None:
        """Raise :class:`NotADatasetError` unless there is a dataset."""
        if not self._commits.is_dir():
            raise NotADatasetError(
                f"{self.root} is not a dataset; pass a folder written by 'usp crawl SITES -o FOLDER'"
            )

    # Commits --------------------------------------------------------------------------------------

    def commits(self) -> dict[str, Commit]:
        """Return the commits that count, by name, in order."""
        found = {commit.name: commit for commit in self._all_commits()}
        void = {name for commit in found.values() for name in commit.supersedes}
        return {name: commit for name, commit in found.items() if name not in void}

    def _all_commits(self) -> Iterator[Commit]:
        for path in sorted(self._commits.glob("*.json")):
            try:
                yield Commit.from_json(path.read_text(encoding="utf-8"))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise DatasetError(
                    f"{path} is damaged ({error}); delete it to crawl its sites again"
                ) from error

    def sites(self) -> dict[str, str]:
        """Return the outcome of every site that is in the dataset."""
        outcomes: dict[str, str] = {}
        for commit in self.commits().values():
            outcomes.update(commit.sites)
        return outcomes

    def commits_of(self, run: int, writer: str) -> list[Commit]:
        """Return the commits that one writer has made in a run, without looking at any other."""
        found: list[Commit] = []
        while (path := self._path_of(commit_name(run, writer, len(found)))).exists():
            found.append(Commit.from_json(path.read_text(encoding="utf-8")))
        return found

    def _path_of(self, name: str) -> Path:
        return self._commits / f"{name}.json"

    def staged(self, table: str, name: str) -> Path:
        """Return where a file is written before it is committed."""
        return self.staging / f"{table}.part-{name}.parquet"

    def commit(self, commit: Commit) -> None:
        """Commit a group whose files are staged and synced; raises ``FileExistsError`` if it is."""
        sync_folder(self.staging)
        temporary = self.staging / f"{commit.name}.{secrets.token_hex(4)}.json"
        with temporary.open("w", encoding="utf-8") as file:
            file.write(commit.to_json())
            file.flush()
            os.fsync(file.fileno())
        try:
            # A link, unlike a rename, does not replace a commit of another writer.
            os.link(temporary, self._path_of(commit.name))
        finally:
            temporary.unlink()
        sync_folder(self._commits)
        self._move(commit)

    def _move(self, commit: Commit) -> None:
        """Move the files of a commit to their folders; ``sites`` come last."""
        touched = set()
        for name in sorted(commit.files, key=lambda name: TABLES.index(name.split("/")[0])):
            table, _, part = name.partition("/")
            target = self.root / table / part
            if target.exists():
                continue
            staged = self.staging / f"{table}.{part}"
            if not staged.exists():
                raise DatasetError(
                    f"{target} is missing; restore it, or delete {self._path_of(commit.name)}"
                    " to crawl its sites again"
                )
            staged.replace(target)
            touched.add(target.parent)
        for folder in touched:
            sync_folder(folder)

    def remove(self, commit: Commit) -> None:
        """Remove a commit from the dataset, with its files."""
        self._path_of(commit.name).unlink(missing_ok=True)
        sync_folder(self._commits)
        for name in commit.files:
            (self.root / name).unlink(missing_ok=True)

    def recover(self) -> None:
        """Complete what was committed, and remove what was not. There must be no other writer."""
        everything = list(self._all_commits())
        void = {name for commit in everything for name in commit.supersedes}
        live = [commit for commit in everything if commit.name not in void]
        for commit in live:
            self._move(commit)
        wanted = {name for commit in live for name in commit.files}
        for table in TABLES:
            for path in (self.root / table).glob("part-*.parquet"):
                if f"{table}/{path.name}" not in wanted:
                    path.unlink()
        for commit in everything:
            if commit.name in void:
                self._path_of(commit.name).unlink()
        for path in self.staging.iterdir():
            path.unlink()

    def write_summary(self, summary: Mapping[str, Any]) -> None:
        """Write ``_summary.json``."""
        with replacing(self.root / "_summary.json") as file:
            file.write((json.dumps(summary, indent=1) + "\n").encode())

    # Runs: only the latest one may write ------------------------------------------------------------

    def last_run(self) -> int:
        """Return the number of the last run that has begun, 0 if there is none."""
        names = [path.name for path in self._runs.iterdir()]
        return max((int(name) for name in names if name.isdigit()), default=0)

    def begin_run(self) -> int:
        """Return the number of a new run: commits of older ones are refused from now on."""
        run = self.last_run() + 1
        self._runs.joinpath(f"{run:05d}").touch()
        return run

    def check_run(self, run: int) -> None:
        """Raise :class:`DatasetError` if a run is no longer the last one."""
        if self.last_run() != run:
            raise DatasetError("a newer run has taken over this dataset; this one ends")

    @contextlib.contextmanager
    def only_run(self) -> Iterator[None]:
        """Hold the lock of the run that writes; raises :class:`DatasetError` if there is another."""
        with _locked(self.root / "_lock", shared=False, seconds=0.0) as mine:
            if not mine:
                raise DatasetError(f"another run is writing to {self.root}; wait for it, or end it")
            yield

    @contextlib.contextmanager
    def without_workers(self) -> Iterator[None]:
        """Lock workers out; raises :class:`DatasetError` if those of an older run are still writing.

        A run that begins inside locks them out for good: they see that theirs is not the latest.
        """
        with _locked(self.root / "_workers", shared=False, seconds=LOCK_SECONDS) as alone:
            if not alone:
                raise DatasetError(
                    f"workers of an older run still write to {self.root}; end them first"
                )
            yield

    @contextlib.contextmanager
    def as_worker(self, run: int) -> Iterator[None]:
        """Hold the lock of a worker of a run; raises :class:`DatasetError` if a newer run has begun."""
        with _locked(self.root / "_workers", shared=True, seconds=LOCK_SECONDS):
            self.check_run(run)
            yield


@contextlib.contextmanager
def _locked(path: Path, *, shared: bool, seconds: float) -> Iterator[bool]:
    """Hold a lock, which is released when the process ends; yield whether it is held."""
    try:
        fcntl: Any = importlib.import_module("fcntl")
    except ImportError:  # Windows: commits of an older run are still refused
        yield True
        return
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
    try:
        kind = fcntl.LOCK_SH if shared else fcntl.LOCK_EX
        yield _acquire(fcntl, descriptor, kind, seconds)
    finally:
        os.close(descriptor)


def _acquire(fcntl: Any, descriptor: int, kind: int, seconds: float) -> bool:
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
        except OSError:
            if time.monotonic() >= end:
                return False
            time.sleep(0.05)
        else:
            return True
