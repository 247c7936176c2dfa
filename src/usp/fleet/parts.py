"""Finished sites as Parquet files: a worker writes them in groups, and reports each group.

Nothing counts before the driver has committed it (:mod:`usp.fleet.dataset`). The files of a group have
the same name, in the folders of their tables.
"""

from __future__ import annotations

import secrets
import time
from functools import partial
from typing import TYPE_CHECKING, Any

from usp._base.stores import NewFile
from usp.export.row_groups import BatchWriter
from usp.export.schema import COLUMNS, REPEATING, pyarrow
from usp.fleet.messages import Group, Part
from usp.fleet.tables import TABLES, schema_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from usp._base.stores import Store
    from usp.fleet.messages import Row

GROUP_SITES = 2000
GROUP_ROWS = 2_000_000
GROUP_SECONDS = 30.0
"""A group is finished once it has this many sites or pages, or is this old (in seconds)."""

_REPEATING = {
    "pages": ("site", *(name for name, kind in COLUMNS.items() if kind in REPEATING)),
    "sitemaps": ("site", "type", "status", "depth", "failure"),
    "sites": ("outcome", "reason"),
}
"""The columns that get a dictionary."""


class GroupWriter:
    """Collects the batches of sites, one after another, into files.

    ``add``, ``tick`` and ``finish`` return the group that is finished with it, usually none.
    """

    def __init__(
        self,
        store: Store,
        run: int,
        columns: Sequence[str] | None = None,
        seconds: float = GROUP_SECONDS,
    ) -> None:
        self._store = store
        self._run = run
        self._columns = columns
        self._seconds = seconds
        self._begin()

    def _begin(self) -> None:
        self._name = f"part-{self._run:05d}-{secrets.token_hex(8)}.parquet"
        self._files = {
            table: BatchWriter(
                partial(NewFile, self._store, f"{table}/{self._name}"),
                schema_of(table, self._columns),
                _REPEATING[table],
            )
            for table in TABLES
        }
        self._rows: list[Row] = []
        self._since = float("inf")

    def add(self, table: str, batch: Any) -> list[Group]:
        """Add a batch of a table; those of one site are consecutive, its row of ``sites`` last."""
        self.write(table, batch)
        if table != "sites":
            return []
        self._since = min(self._since, time.monotonic())
        full = len(self._rows) >= GROUP_SITES or self._files["pages"].rows >= GROUP_ROWS
        return self.finish() if full else self.tick()

    def write(self, table: str, batch: Any) -> None:
        """Add a batch, however many there are already."""
        self._files[table].add(batch)
        if table == "sites":
            self._rows += batch.to_pylist()

    def tick(self) -> list[Group]:
        """Finish a group that is old enough; call it only between two sites."""
        return self.finish() if time.monotonic() - self._since >= self._seconds else []

    def finish(self) -> list[Group]:
        """Finish the group of what was added."""
        if not self._rows:
            return []
        parts = []
        for table, file in self._files.items():
            if file.rows:
                file.close()
                parts.append(Part(table, f"{table}/{self._name}", file.stream.close(), file.rows))
        group = Group(tuple(self._rows), tuple(parts))
        self._begin()
        return [group]

    def discard(self) -> None:
        """Remove what is not in a finished group."""
        for file in self._files.values():
            if file.stream is not None:
                file.stream.discard()


def scan(store: Store, name: str, columns: Sequence[str] | None = None) -> Any:
    """Return a file as a ``pyarrow.dataset.Dataset``; columns of the pages that it lacks are null."""
    schema = schema_of(name.partition("/")[0], columns)
    with store.words():
        return pyarrow(".dataset").dataset(name, schema, format="parquet", filesystem=store.files())


def rewritten(
    store: Store, run: int, names: Iterable[str], gone: Collection[str], columns: Sequence[str]
) -> list[Group]:
    """Return a new group with what is in some files, without the rows of some sites."""
    writer = GroupWriter(store, run, columns)
    others = ~pyarrow(".compute").field("site").isin(list(gone))
    for name in names:
        with store.words():
            for batch in scan(store, name, columns).to_batches(filter=others, batch_readahead=1):
                writer.write(name.partition("/")[0], batch)
    return writer.finish()
