"""Commits what workers report: as it comes, or in place of older rows of the same sites."""

from __future__ import annotations

import time
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from usp.fleet.parts import rewritten
from usp.fleet.tables import TABLES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.fleet.dataset import Dataset
    from usp.fleet.messages import Row
    from usp.fleet.parts import Group

_SHARE = 5
"""A commit waits until the last one is this many times as long ago as it took: others join it."""


@dataclass(frozen=True, slots=True, eq=False)
class _Waiting:
    """Groups that must be committed together, and the files that they replace."""

    groups: list[Group]
    files: set[str]


class Committer:
    """Takes groups, and commits them.

    ``older`` are the files that have the sites now that are crawled again. A group with such sites
    replaces their files: it waits until all that are wanted of these are there, so that files need not
    be rewritten several times. ``close`` commits the rest.
    """

    def __init__(self, dataset: Dataset, run: int, older: Mapping[str, str] | None = None) -> None:
        self._dataset = dataset
        self._run = run
        self._older = dict(older or {})
        self._missing: dict[str, set[str]] = defaultdict(set)  # sites that a file waits for
        for site, file in self._older.items():
            self._missing[file].add(site)
        self._waiting: list[_Waiting] = []
        self._done: set[str] = set()
        self._last = float("-inf")
        self._took = 0.0

    def take(self, group: Group) -> list[Row]:
        """Take a group; return the rows of the sites that are committed now."""
        new = self._without_known(group)
        if new is not None:
            files: set[str] = set()
            for row in new.sites:
                self._done.add(row["site"])
                file = self._older.get(row["site"])
                if file is not None:
                    self._missing[file].discard(row["site"])
                    files.add(file)
            self._join(_Waiting([new], files))
        if time.monotonic() - self._last < _SHARE * self._took:
            return []
        return self._commit([one for one in self._waiting if self._is_ready(one)])

    def close(self) -> list[Row]:
        """Commit everything that was taken."""
        return self._commit(self._waiting)

    def _without_known(self, group: Group) -> Group | None:
        """Return a group without sites that were reported before, as by a task that was repeated."""
        known = [row["site"] for row in group.sites if row["site"] in self._done]
        if not known:
            return group
        names = [part.name for part in group.parts]
        return rewritten(self._dataset.store, self._run, names, known)

    def _join(self, new: _Waiting) -> None:
        """Add groups to those that wait: what replaces the same file is committed together."""
        others = []
        for one in self._waiting:
            if one.files.isdisjoint(new.files):
                others.append(one)
            else:
                new = _Waiting(one.groups + new.groups, one.files | new.files)
        self._waiting = [*others, new]

    def _is_ready(self, waiting: _Waiting) -> bool:
        """Return whether all that is wanted of the files that groups replace is there."""
        return not any(self._missing[file] for file in waiting.files)

    def _commit(self, ready: list[_Waiting]) -> list[Row]:
        if not ready:
            return []
        began = time.monotonic()
        groups = [group for one in ready for group in one.groups]
        rows = [row for group in groups for row in group.sites]
        replaced: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            if row["site"] in self._older:
                replaced[self._older.pop(row["site"])].append(row["site"])
        there = set().union(*map(self._dataset.files, TABLES)) if replaced else set()
        kept = [self._rest_of(file, sites, there) for file, sites in replaced.items()]
        self._dataset.commit(
            [*groups, *(group for group in kept if group is not None)], list(replaced)
        )
        self._waiting = [one for one in self._waiting if one not in ready]
        self._last = time.monotonic()
        self._took = self._last - began
        return rows

    def _rest_of(self, file: str, gone: list[str], there: set[str]) -> Group | None:
        """Return what is left of a group of files without some of its sites."""
        names = [f"{table}/{file}" for table in TABLES if f"{table}/{file}" in there]
        group = rewritten(self._dataset.store, self._run, names, gone)
        if group is not None and self._older:
            name = group.parts[0].name.rpartition("/")[2]
            for row in group.sites:  # not crawled again yet: it moves along
                if row["site"] in self._older:
                    self._older[row["site"]] = name
                    self._missing[name].add(row["site"])
        return group
