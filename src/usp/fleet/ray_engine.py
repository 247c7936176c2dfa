"""The engine of a cluster: each batch of sites is a task of Ray.

The machines share nothing but the store of the dataset: tasks write their groups to it, and report
them to the driver, which commits them. A batch whose task is lost is crawled again.
"""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING, Any

from usp._base.names import load_extra
from usp._base.stores import DatasetError
from usp.fleet.crawler import crawl_groups
from usp.fleet.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Iterator

    from usp.fleet.crawler import Job
    from usp.fleet.engine import Assignments
    from usp.fleet.messages import Batch, Group, News, Place

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


class RayEngine(Engine):
    """Crawls on the cluster at ``address``, or on one that is started here.

    When it is stopped, tasks end with the connection, and what they have not reported is lost.
    """

    def __init__(self, job: Job, workers: int | None = None, address: str | None = None) -> None:
        super().__init__(job)
        # Not another one that happens to run on this machine: Ray would connect to that.
        here = {"address": "local", "num_cpus": workers, "include_dashboard": False}
        self._cluster = here if address is None else {"address": address}

    def run(self, left: Assignments) -> Iterator[News]:
        """Crawl; ends when every site was reported in a group."""
        ray = ray_module()
        ours = not ray.is_initialized()
        if ours:
            try:
                ray.init(log_to_driver=False, logging_level=logging.ERROR, **self._cluster)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise DatasetError(f"cannot connect to Ray: {_last_line(error)}") from error
        try:
            yield from self._run(ray, left)
        except ray.exceptions.RayTaskError as error:
            raise DatasetError(f"a worker failed: {_last_line(error)}") from error
        except ray.exceptions.RaySystemError as error:
            raise DatasetError(f"Ray failed: {_last_line(error)}") from error
        finally:
            if ours:
                ray.shutdown()

    def _run(self, ray: Any, left: Assignments) -> Iterator[News]:
        cpus = int(ray.cluster_resources().get("CPU", 1))
        size = max(1, min(_BATCH, left.sites // (4 * cpus)))
        most = max(1, int(cpus / _SHARE)) * _AHEAD
        task = ray.remote(num_cpus=_SHARE, max_retries=0, num_returns="streaming")(_crawl)
        variables = {name: text for name, text in os.environ.items() if name.startswith(_STORES)}

        given: dict[Any, dict[str, Place]] = {}  # what each task has not reported yet
        while given or left or left.suspects:
            while (left and len(given) < most) or not given:
                batch = left.batch(size) if left else left.suspects.popleft()
                given[task.remote(self.job, batch, variables)] = dict(batch)
            (stream,), _ = ray.wait(list(given), num_returns=1, fetch_local=False)
            try:
                group: Group = ray.get(next(stream))
            except ray.exceptions.RayTaskError:
                raise
            except (StopIteration, ray.exceptions.RayError):  # it has ended, or is lost
                yield from self.lost(left, given.pop(stream))
            else:
                for row in group.sites:
                    given[stream].pop(row["site"], None)
                yield group


def _crawl(job: Job, batch: Batch, environment: dict[str, str]) -> Iterator[Group]:
    """Crawl a batch; runs on any machine of the cluster, with the credentials of the driver."""
    os.environ.update(environment)  # not as an environment of Ray: its dashboard would show it
    # Ray sends values to a generator, which those that it delegates to may not take.
    for group in crawl_groups(job, iter([batch])):  # noqa: UP028
        yield group


def _last_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return lines[-1] if lines else type(error).__name__
