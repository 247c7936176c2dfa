"""Commits what workers report: as it comes, or in place of older rows of the same sites."""

from __future__ import annotations

import time
from collections import defaultdict
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
        self._waiting: list[Group] = []
        self._done: set[str] = set()
        self._last = float("-inf")
        self._took = 0.0

    def take(self, group: Group) -> list[Row]:
        """Take a group; return the rows of the sites that are committed now."""
        new = self._without_known(group)
        if new is not None:
            self._waiting.append(new)
            for row in new.sites:
                self._done.add(row["site"])
                file = self._older.get(row["site"])
                if file is not None:
                    self._missing[file].discard(row["site"])
        if time.monotonic() - self._last < _SHARE * self._took:
            return []
        return self._commit([one for one in self._waiting if self._is_ready(one)])

    def close(self) -> list[Row]:
        """Commit everything that was taken."""
        return self._commit(list(self._waiting))

    def _without_known(self, group: Group) -> Group | None:
        """Return a group without sites that were reported before, as by a task that was repeated."""
        known = [row["site"] for row in group.sites if row["site"] in self._done]
        if not known:
            return group
        names = [part.name for part in group.parts]
        return rewritten(self._dataset.store, self._run, names, known)

    def _is_ready(self, group: Group) -> bool:
        """Return whether all that is wanted of the files that a group replaces is there.

        Also of those that the groups replace which must be committed together with it.
        """
        files: set[str] = set()
        found = {file for row in group.sites if (file := self._older.get(row["site"]))}
        while found - files:
            files |= found
            found = {
                file
                for one in self._waiting
                if files.intersection(self._older.get(row["site"], "") for row in one.sites)
                for row in one.sites
                if (file := self._older.get(row["site"]))
            }
        return not any(self._missing[file] for file in files)

    def _commit(self, groups: list[Group]) -> list[Row]:
        if not groups:
            return []
        began = time.monotonic()
        rows = [row for group in groups for row in group.sites]
        replaced: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            if row["site"] in self._older:
                replaced[self._older.pop(row["site"])].append(row["site"])
        kept = [self._rest_of(file, sites) for file, sites in replaced.items()]
        self._dataset.commit(
            [*groups, *(group for group in kept if group is not None)], list(replaced)
        )
        gone = set(map(id, groups))
        self._waiting = [group for group in self._waiting if id(group) not in gone]
        self._last = time.monotonic()
        self._took = self._last - began
        return rows

    def _rest_of(self, file: str, gone: list[str]) -> Group | None:
        """Return what is left of a group of files without some of its sites."""
        there = [
            f"{table}/{file}" for table in TABLES if f"{table}/{file}" in self._dataset.files(table)
        ]
        group = rewritten(self._dataset.store, self._run, there, gone)
        if group is not None and self._older:
            name = group.parts[0].name.rpartition("/")[2]
            for site, old in list(self._older.items()):  # not crawled again yet: it moves along
                if old == file:
                    self._older[site] = name
                    self._missing[name].add(site)
        return group
