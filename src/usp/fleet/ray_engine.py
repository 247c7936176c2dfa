"""The engine of a cluster: each batch of sites is a task of Ray.

The machines share nothing but the store of the dataset: tasks write their groups to it, and report
them to the driver, which commits them. A batch whose task is lost is crawled again.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from usp._base.names import load_extra
from usp.fleet.assignments import Assignments
from usp.fleet.crawler import crawl_groups, killer_group
from usp.fleet.messages import GroupDone, WorkerLost
from usp.fleet.store import DatasetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from usp.fleet.crawler import Job
    from usp.fleet.messages import Batch, News, Place
    from usp.fleet.parts import Group

_BATCH = 4000
"""Sites of a task: its slowest site must not be most of its time; see docs/scale.md."""

_SHARE = 0.5
"""Of a CPU, for one task: while the last sites of one are waited for, another one uses it."""

_AHEAD = 2  # tasks that wait for each one that runs

_STORES = ("AWS_", "GOOGLE_", "AZURE_")
"""How the names of environment variables begin that the driver passes on to the other machines."""


def ray_module(part: str = "") -> Any:
    """Return Ray, or a module of it; raises ``MissingExtraError`` if it is not installed."""
    return load_extra(f"ray{part}", "The engine ray needs ray", "ray")


class RayEngine:
    """Crawls groups of sites on Ray: on the cluster at ``address``, or on one that is started here."""

    def __init__(self, job: Job, workers: int | None = None, address: str | None = None) -> None:
        self._job = job
        self._workers = workers
        self._address = address

    def run(
        self, groups: Iterable[tuple[str, list[str]]], older: Mapping[str, str] | None = None
    ) -> Iterator[News]:
        """Crawl; ends when every site was reported in a group. ``older`` are the files with sites."""
        ray = ray_module()
        ours = not ray.is_initialized()
        if ours:
            _connect(ray, self._address, self._workers)
        try:
            yield from _Tasks(ray, self._job, list(groups), older).run()
        except ray.exceptions.RaySystemError as error:
            raise DatasetError(f"Ray failed: {_last_line(error)}") from error
        finally:
            if ours:
                ray.shutdown()

    def stop(self) -> Iterator[News]:
        """Return nothing: tasks end with the connection, and what they have not reported is lost."""
        return iter(())


class _Tasks:
    """The tasks of a run: some are running or waiting, the rest of the sites is not handed out yet."""

    def __init__(
        self,
        ray: Any,
        job: Job,
        groups: list[tuple[str, list[str]]],
        older: Mapping[str, str] | None = None,
    ) -> None:
        self._ray = ray
        self._job = job
        self._left = Assignments(groups, older)
        cpus = int(ray.cluster_resources().get("CPU", 1))
        sites = sum(len(group) for _, group in groups)
        self._size = max(1, min(_BATCH, sites // (4 * cpus)))
        self._most = max(1, int(cpus / _SHARE)) * _AHEAD
        self._given: dict[Any, dict[str, Place]] = {}  # what each task has not reported yet
        self._environment = {
            name: value for name, value in os.environ.items() if name.startswith(_STORES)
        }
        self._task = ray.remote(num_cpus=_SHARE, max_retries=0, num_returns="streaming")(_crawl)

    def run(self) -> Iterator[News]:
        while self._given or not self._left.is_empty:
            self._start()
            ready, _ = self._ray.wait(list(self._given), num_returns=1, fetch_local=False)
            for stream in ready:
                yield from self._take(stream)

    def _start(self) -> None:
        while self._left and len(self._given) < self._most:
            self._begin(self._left.sites(self._size))
        if not self._left and not self._given and self._left.has_suspects:
            self._begin(self._left.suspect())

    def _begin(self, batch: Batch) -> None:
        self._given[self._task.remote(self._job, batch, self._environment)] = dict(batch)

    def _take(self, stream: Any) -> Iterator[News]:
        """Take what a task has to report: a group, its end, or that it is lost."""
        given = self._given[stream]
        try:
            group: Group = self._ray.get(next(stream))
        except StopIteration:
            del self._given[stream]
            if given:
                yield from self._lost(given)
        except self._ray.exceptions.RayTaskError as error:
            raise DatasetError(f"a worker failed: {_last_line(error)}") from error
        except self._ray.exceptions.RayError:
            del self._given[stream]
            if given:
                yield from self._lost(given)
        else:
            for row in group.sites:
                given.pop(row["site"], None)
            yield GroupDone(group)

    def _lost(self, given: dict[str, Place]) -> Iterator[News]:
        yield WorkerLost(next(iter(given)))
        killer = self._left.take_back(given)
        if killer is not None:
            yield GroupDone(killer_group(self._job, killer))


def _crawl(job: Job, batch: Batch, environment: dict[str, str]) -> Iterator[Group]:
    """Crawl a batch; runs on any machine of the cluster, with the credentials of the driver."""
    os.environ.update(environment)  # not as an environment of Ray: its dashboard would show it
    yield from crawl_groups(job, iter([batch]))


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
