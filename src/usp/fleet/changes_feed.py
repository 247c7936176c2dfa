"""What was added, changed, removed and moved in a dataset: each change once for every consumer.

A position is a version of the table ``visits``. What each writer had committed by then is in the log of
that version, so that exactly the commits since are new.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from usp._base.files import DatasetError, deltalake
from usp.export.schema import pyarrow
from usp.fleet.current import OpenDataset
from usp.fleet.site_list import homepage
from usp.fleet.tables import CHANGES

if TYPE_CHECKING:
    import os
    from datetime import datetime

__all__ = ["COLUMNS", "ChangesFeed"]

COLUMNS = (
    *("seen_at", "kind", "url", "title", "lastmod", "previous_lastmod"),
    *("site", "domain", "sitemap"),
)
"""The columns of a change."""

_QUERY = f"""select {", ".join(f"c.{name}" for name in COLUMNS)}
from changes c join visits v on c.bucket = v.bucket and c.visit = v.visit
join commits on commits.writer = c.writer and c.number > commits.number
where {{conditions}} order by c.seen_at, c.site, c.url, c.kind"""  # noqa: S608 - our own words


class ChangesFeed:
    """The changes of a dataset."""

    def __init__(self, root: str | os.PathLike[str]) -> None:
        self._open = OpenDataset(root)
        self._dataset = self._open.dataset

    def position(self) -> int:
        """Return the position after the last commit."""
        return int(self._dataset.table("visits").version())

    def read(
        self,
        after: int | None = None,
        since: datetime | None = None,
        kinds: Sequence[str] = CHANGES,
        site: str | None = None,
    ) -> tuple[Any, int]:
        """Return the changes as a ``pyarrow.RecordBatchReader``, and the position after them.

        The oldest change is the first.

        ``after`` is such a position of an earlier call: then they are those that it did not have.
        """
        with self._open.errors():
            database = self._open.connection("visits", "changes")
            visits = self._dataset.table("visits", update=False)  # with the rows that are read
            commits = self._commits(database, visits, after)
            database.register("commits", commits)
            # Statistics of the files tell which of them have higher numbers.
            least = min(commits.column("number").to_pylist(), default=0)
            wanted = {"c.number > ?": least, "v.number > ?": least}
            if since is not None:
                wanted["c.seen_at >= ?"] = since
            if site is not None:
                wanted["c.site = ?"] = homepage(site)[0]
            if set(kinds) != set(CHANGES):
                wanted["c.kind in (select unnest(?))"] = list(kinds)
            query = _QUERY.format(conditions=" and ".join(wanted))
            found = database.sql(query, params=list(wanted.values())).to_arrow_reader()
        return found, int(visits.version())

    def _commits(self, database: Any, visits: Any, after: int | None) -> Any:
        """Return the number of the last commit of each writer at a position."""
        then = None
        if after is not None:
            if after > visits.version():
                raise DatasetError(
                    f"{self._dataset.store} has no position {after:,}: its last one is"
                    f" {visits.version():,}; is {after:,} that of another dataset?"
                )
            then = self._at(after)
        writers = [
            row[0] for row in database.execute("select distinct writer from visits").fetchall()
        ]
        numbers = [
            0 if then is None else int(then.transaction_version(f"usp {one}") or 0)
            for one in writers
        ]
        pa = pyarrow()
        return pa.table(
            {"writer": pa.array(writers, pa.string()), "number": pa.array(numbers, pa.int64())}
        )

    def _at(self, version: int) -> Any:
        store = self._dataset.store
        try:
            return deltalake().DeltaTable(
                store.path("visits"), version=version, storage_options=store.options
            )
        except (deltalake(".exceptions").DeltaError, OSError) as error:
            raise DatasetError(
                f"the log of {store} does not reach back to position {version:,}; begin anew with"
                " --since"
            ) from error
