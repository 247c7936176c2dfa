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
        group = rewritten(self._dataset.store, self._run, names, gone, columns)
        if group is None:
            return []
        name = group.parts[0].name.rpartition("/")[2]
        for row in group.sites:  # not crawled again yet: it moves along
            if row["site"] in self._older:
                self._older[row["site"]] = name
                self._missing[name].add(row["site"])
        return [group]
