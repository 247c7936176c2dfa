"""The engine of a cluster: Ray Data distributes batches of sites, and repeats lost ones.

The workers write to the dataset themselves, so its folder must be shared by all machines. The driver
gets back one small row for each site.
"""

from __future__ import annotations

import hashlib
import logging
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from usp._base.names import load_extra
from usp.export.schema import pyarrow
from usp.fleet.crawler import crawl_into, write_killer
from usp.fleet.dataset import Dataset, DatasetError
from usp.fleet.ray_cleanup import cleanup_after_kill
from usp.fleet.site_list import batches
from usp.fleet.tables import committed_rows, rows_of, schema_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.fleet.crawler import Job

    Batch = list[tuple[str, str]]

_BATCH = 4000
"""Sites of a task: its slowest site must not be most of its time; see docs/scale.md."""

_SHARE = 0.5
"""Of a CPU, for one task: while the last sites of one are waited for, another one uses it."""

_MOST_DEATHS = 2
"""After this many workers have died with a batch, its sites are crawled one at a time."""


def ray_module(part: str = "") -> Any:
    """Return Ray, or a module of it; raises ``MissingExtraError`` if it is not installed."""
    return load_extra(f"ray{part}", "The engine ray needs ray[data]", "ray")


class RayEngine:
    """Crawls groups of sites on Ray: on the cluster at ``address``, or on one that is started here.

    ``run`` yields events: ``("committed", rows)`` when sites are committed, ``("lost", name)`` for
    every time that a batch was repeated.
    """

    def __init__(self, job: Job, workers: int | None = None, address: str | None = None) -> None:
        self._job = job
        self._workers = workers
        self._address = address

    def run(self, groups: list[tuple[str, list[str]]]) -> Iterator[tuple[str, Any]]:
        """Crawl; ends when every site is committed."""
        ray, data = ray_module(), ray_module(".data")
        ours = not ray.is_initialized()
        with cleanup_after_kill() if ours and self._address is None else nullcontext():
            if ours:
                _connect(ray, self._address, self._workers)
            try:
                logging.getLogger("ray.data").setLevel(logging.ERROR)  # it says what it plans to do
                data.DataContext.get_current().enable_progress_bars = False
                yield from self._stream(data, ray, groups)
            finally:
                if ours:
                    ray.shutdown()
        for note in sorted(Dataset(self._job.root).staging.glob("*.try*")):
            if not note.name.endswith(".try0"):
                yield "lost", note.name
            note.unlink(missing_ok=True)

    def _stream(
        self, data: Any, ray: Any, groups: list[tuple[str, list[str]]]
    ) -> Iterator[tuple[str, Any]]:
        cpus = int(ray.cluster_resources().get("CPU", 1))
        sites = sum(len(group) for _, group in groups)
        size = max(1, min(_BATCH, sites // (4 * cpus)))
        rows = data.from_arrow([_table(batch) for batch in batches(groups, size)]).map_batches(
            _Task(self._job),
            batch_size=None,
            batch_format="pyarrow",
            num_cpus=_SHARE,
            ray_remote_args_fn=lambda: {"max_retries": -1},
        )
        try:
            for batch in rows.iter_batches(batch_size=None, batch_format="pyarrow"):
                if len(batch):
                    yield "committed", batch.to_pylist()
        except (ray.exceptions.RayError, ray.exceptions.RayTaskError) as error:
            raise DatasetError(f"Ray failed: {_last_line(error)}") from error


def _connect(ray: Any, address: str | None, workers: int | None) -> None:
    quiet = {"log_to_driver": False, "logging_level": logging.ERROR}
    try:
        if address is not None:
            ray.init(address=address, **quiet)
        else:
            ray.init(num_cpus=workers, include_dashboard=False, **quiet)
    except (ConnectionError, ValueError, RuntimeError) as error:
        raise DatasetError(f"cannot connect to Ray: {_last_line(error)}") from error


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__


def _table(batch: Batch) -> Any:
    sites, keys = zip(*batch, strict=True)
    return pyarrow().table({"site": list(sites), "key": list(keys)})


class _Task:
    """Crawls one batch. Its name comes from its sites, so that a repeated batch continues.

    What the next worker must know about one that died is in files of the staging folder.
    """

    def __init__(self, job: Job) -> None:
        self._job = job

    def __call__(self, table: Any) -> Iterator[Any]:
        sites = table.column("site").to_pylist()
        batch = list(zip(sites, table.column("key").to_pylist(), strict=True))
        name = f"p{hashlib.sha256(chr(10).join(sites).encode()).hexdigest()[:12]}"
        dataset = Dataset(self._job.root)
        done: list[dict[str, Any]] = []
        # Until its notes are gone too: a worker whose driver was killed must leave none of them.
        with dataset.as_worker(self._job.run):
            for commit in dataset.commits_of(self._job.run, name):
                done += committed_rows(dataset, commit)
            yield _rows(done)
            known = {row["site"] for row in done}
            left = [pair for pair in batch if pair[0] not in known]
            crawl = self._one_by_one if self._is_risky(dataset, name) else self._all
            for rows in crawl(left, name):
                yield _rows(rows)

    def _all(self, left: Batch, name: str) -> Iterator[Any]:
        return crawl_into(self._job, name, iter([left]))

    @staticmethod
    def _is_risky(dataset: Dataset, name: str) -> bool:
        """Return whether workers have died with this batch; every attempt leaves a note."""
        begun = len(list(dataset.staging.glob(f"{name}.try*")))
        (dataset.staging / f"{name}.try{begun}").touch()
        return begun >= _MOST_DEATHS

    def _one_by_one(self, left: Batch, name: str) -> Iterator[Any]:
        """Crawl one site at a time; the one that ended the last worker fails."""
        note = Dataset(self._job.root).staging / f"{name}.alone"
        blamed = note.read_text(encoding="utf-8") if note.exists() else None
        for site, key in left:
            if site == blamed:
                yield [write_killer(self._job, name, site)]
                continue
            note.write_text(site, encoding="utf-8")
            yield from self._all([(site, key)], name)
        note.unlink(missing_ok=True)


def _rows(rows: list[dict[str, Any]]) -> Any:
    return pyarrow().Table.from_batches([rows_of("sites", rows)], schema_of("sites"))
