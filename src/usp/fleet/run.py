"""A run: the sites that are not in the dataset yet, crawled into it by an engine."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from usp.export.schema import pyarrow
from usp.fleet.dataset import Dataset
from usp.fleet.extras import need
from usp.fleet.groups import by_address, grouped, host_key
from usp.fleet.local import LocalEngine
from usp.fleet.locks import driving, without_workers
from usp.fleet.options import FleetOptions
from usp.fleet.progress import FleetProgress
from usp.fleet.ray_engine import RayEngine
from usp.fleet.sites import apart
from usp.fleet.tidy import tidy
from usp.fleet.writer import GROUP_SECONDS

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Iterator

    from usp._base.urls import Login

__all__ = ["FleetRun", "crawl_fleet"]

ENGINES = ("local", "ray")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """How a run is made, beside how each site is crawled.

    ``workers`` are processes of this machine, or the most CPUs of a cluster; ``address`` is that of a
    Ray cluster. With ``same_address`` hosts are looked up first, and sites at one address kept
    together.
    """

    engine: str = "local"
    workers: int | None = None
    address: str | None = None
    same_address: bool = False
    retry_failed: bool = False
    commit_seconds: float = GROUP_SECONDS
    options: FleetOptions = field(default_factory=FleetOptions)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"there is no engine {self.engine!r}; there are {', '.join(ENGINES)}")


def crawl_fleet(
    sites: Iterable[str],
    root: str | os.PathLike[str],
    run: FleetRun | None = None,
    on_progress: Callable[[FleetProgress], None] = lambda _: None,
) -> dict[str, Any]:
    """Crawl sites into the dataset at ``root``, and give a summary.

    Sites that are in the dataset already are left alone, so that a run that was interrupted is
    completed by the same call; with ``retry_failed`` just those that failed are crawled again, and
    their rows replaced. ``on_progress`` is called whenever a site is finished.

    Raises ``DatasetError`` if the folder cannot be used, ``MissingExtraError`` if an extra is missing.
    """
    how = run or FleetRun()
    need("usp.fleet.client")
    pyarrow()
    if how.engine == "ray":
        need("ray.data")
    dataset = Dataset(Path(root).absolute())
    dataset.make()
    with driving(dataset.root):
        with without_workers(dataset.root):
            dataset.recover()
            tidy(dataset)
            number = dataset.begin_run()
        known = dataset.sites()
        logins: dict[str, Login] = {}
        once = dict.fromkeys(apart(sites, logins))
        wanted = [site for site in once if _is_wanted(known.get(site), how)]
        how = replace(how, options=replace(how.options, logins=how.options.logins | logins))
        progress = FleetProgress(len(wanted), len(known))
        on_progress(progress)
        started = datetime.now(UTC)
        if wanted:
            _crawl(dataset, number, _groups(wanted, how), how, progress, on_progress)
        tidy(dataset)
        summary = progress.summary() | {
            "run": number,
            "engine": how.engine,
            "started": started.isoformat(timespec="seconds"),
            "dataset": _totals(dataset),
        }
        dataset.write_summary(summary)
    return summary


def _is_wanted(outcome: str | None, how: FleetRun) -> bool:
    return outcome == "failed" if how.retry_failed else outcome is None


def _groups(wanted: list[str], how: FleetRun) -> list[tuple[str, list[str]]]:
    if how.same_address:
        return grouped(by_address(wanted))
    return grouped((site, host_key(site)) for site in wanted)


def _crawl(
    dataset: Dataset,
    number: int,
    groups: list[tuple[str, list[str]]],
    how: FleetRun,
    progress: FleetProgress,
    on_progress: Callable[[FleetProgress], None],
) -> None:
    for what, about in _engine(dataset, number, how).run(groups):
        if what == "site":
            progress.take(about)
        elif what == "done":
            for row in about:
                progress.take(row)
        elif what == "death":
            progress.deaths += 1
        on_progress(progress)


def _engine(dataset: Dataset, number: int, how: FleetRun) -> Any:
    place = (dataset.root, number, how.options)
    if how.engine == "ray":
        return RayEngine(*place, how.workers, how.address, how.commit_seconds)
    return LocalEngine(*place, how.workers, how.commit_seconds)


def _totals(dataset: Dataset) -> dict[str, int]:
    """Count what is in the dataset now."""
    outcomes = list(_outcomes(dataset))
    return {"sites": len(outcomes)} | {
        name: outcomes.count(name) for name in ("complete", "partial", "failed", "empty")
    }


def _outcomes(dataset: Dataset) -> Iterator[str]:
    for commit in dataset.commits().values():
        yield from commit.sites.values()
