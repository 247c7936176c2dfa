"""The engine of a cluster: Ray Data gives parcels of sites to its workers, and gives lost ones again.

The workers write to the dataset themselves, so its folder must be one that all machines share. What
comes back to the driver is one small row for each site.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from usp.export.schema import pyarrow
from usp.fleet.dataset import Dataset, DatasetError
from usp.fleet.extras import need
from usp.fleet.groups import parcels
from usp.fleet.locks import working
from usp.fleet.ray_reaper import reaping
from usp.fleet.tables import rows_of, schema_of
from usp.fleet.worker import KILLER, crawl_into, write_failed
from usp.fleet.writer import GROUP_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from usp.fleet.options import FleetOptions

_PARCEL = 4000
"""Sites of a task: its slowest site must not be most of its time; see docs/scale.md."""

_SHARE = 0.5
"""Of a CPU, for one parcel: while the last sites of one are waited for, another one uses it."""

_MOST_DEATHS = 2
"""After so many workers have died with a parcel, its sites are crawled one at a time."""


class RayEngine:
    """Crawls groups of sites on Ray; a cluster that is there is used, or one is started here."""

    def __init__(
        self,
        root: Path,
        run: int,
        options: FleetOptions,
        workers: int | None = None,
        address: str | None = None,
        commit_seconds: float = GROUP_SECONDS,
    ) -> None:
        self._root = root
        self._run = run
        self._options = options
        self._workers = workers
        self._address = address
        self._seconds = commit_seconds

    def run(self, groups: list[tuple[str, list[str]]]) -> Iterator[tuple[str, Any]]:
        """Crawl; gives ``("done", rows)`` as groups of sites are committed."""
        ray, data = need("ray"), need("ray.data")
        mine = not ray.is_initialized()
        with reaping() if mine and self._address is None else nullcontext():
            if mine:
                _connect(ray, self._address, self._workers)
            try:
                data.DataContext.get_current().enable_progress_bars = False
                yield from self._stream(data, ray, groups)
            finally:
                if mine:
                    ray.shutdown()

    def _stream(
        self, data: Any, ray: Any, groups: list[tuple[str, list[str]]]
    ) -> Iterator[tuple[str, Any]]:
        cpus = int(ray.cluster_resources().get("CPU", 1))
        sites = sum(len(group) for _, group in groups)
        size = max(1, min(_PARCEL, sites // (4 * cpus)))
        tables = [_table(parcel) for parcel in parcels(groups, size)]
        task = _Task(self._root, self._run, self._options, self._seconds)
        rows = data.from_arrow(tables).map_batches(
            task,
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=_SHARE,
            ray_remote_args_fn=lambda: {"max_retries": -1},
        )
        try:
            for batch in rows.iter_batches(batch_size=None, batch_format="pyarrow"):
                if len(batch):
                    yield "done", batch.to_pylist()
        except (ray.exceptions.RayError, ray.exceptions.RayTaskError) as error:
            raise DatasetError(f"ray could not go on: {_last_line(error)}") from error


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            ray.init(num_cpus=workers, include_dashboard=False, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise DatasetError(f"ray could not be reached: {_last_line(error)}") from error


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _table(parcel: list[tuple[str, str]]) -> Any:
    sites, keys = zip(*parcel, strict=True)
    return pyarrow().table({"site": list(sites), "key": list(keys)})


class _Task:
    """Crawls one parcel. Its name comes from its sites: given again, it goes on where it was."""

    def __init__(self, root: Path, run: int, options: FleetOptions, seconds: float) -> None:
        self._root = root
        self._run = run
        self._options = options
        self._seconds = seconds
        self._notes = root / "_staging"

    def __call__(self, table: Any) -> Iterator[Any]:
        sites = table.column("site").to_pylist()
        parcel = list(zip(sites, table.column("key").to_pylist(), strict=True))
        name = f"p{hashlib.sha256(chr(10).join(sites).encode()).hexdigest()[:12]}"
        place = (self._root, self._run, name)
        done: dict[str, str] = {}
        # Until its notes are gone too: a worker whose driver was killed must leave none of them.
        with working(self._root, self._run):
            for commit in Dataset(self._root).commits_of(self._run, name):
                done.update(commit.sites)
            yield _rows([{"site": site, "outcome": outcome} for site, outcome in done.items()])
            left = [pair for pair in parcel if pair[0] not in done]
            crawl = self._careful if self._is_risky(name) else self._all
            for rows in crawl(left, place):
                yield _rows(rows)
            for note in self._notes.glob(f"{name}.*"):
                note.unlink(missing_ok=True)

    def _all(self, left: list[tuple[str, str]], place: Any) -> Iterator[Any]:
        return crawl_into(iter([left]), self._options, place, commit_seconds=self._seconds)

    def _is_risky(self, name: str) -> bool:
        """Count how often this parcel was begun, where the next one who tries can see it."""
        begun = len(list(self._notes.glob(f"{name}.try*")))
        (self._notes / f"{name}.try{begun}").touch()
        return begun >= _MOST_DEATHS

    def _careful(self, left: list[tuple[str, str]], place: Any) -> Iterator[Any]:
        """Crawl one site at a time; the one that ended the last worker fails."""
        note = self._notes / f"{place[2]}.alone"
        blamed = note.read_text(encoding="utf-8") if note.exists() else None
        for site, key in left:
            if site == blamed:
                yield [write_failed(self._options, place, site, KILLER)]
                continue
            note.write_text(site, encoding="utf-8")
            yield from self._all([(site, key)], place)


def _rows(rows: list[dict[str, Any]]) -> Any:
    return pyarrow().Table.from_batches([rows_of("sites", rows)], schema_of("sites"))
