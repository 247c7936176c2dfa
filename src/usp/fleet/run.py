"""A run: the sites that are not in the dataset yet, crawled into it by an engine."""

from __future__ import annotations

import json
import queue
from collections import Counter, deque
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from usp._base.interrupts import Aside
from usp._base.stores import DatasetError
from usp.export.schema import pyarrow
from usp.fleet.crawler import Job, site_module
from usp.fleet.dataset import Committer, Dataset
from usp.fleet.engine import Assignments
from usp.fleet.local_engine import LocalEngine
from usp.fleet.messages import Group
from usp.fleet.options import ENGINES, FleetOptions
from usp.fleet.parts import GROUP_SECONDS
from usp.fleet.progress import FleetProgress
from usp.fleet.ray_engine import RayEngine, ray_module
from usp.fleet.site_list import by_address, grouped, homepages, host_key
from usp.fleet.tables import OUTCOMES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable, Sized

    from usp._base.urls import Login
    from usp.fleet.engine import Engine
    from usp.fleet.messages import News

__all__ = ["FleetProgress", "FleetRun", "crawl_fleet"]

_LAST_SECONDS = 5.0
"""In which a store must respond to each request of a run that was interrupted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """How a run is executed, as opposed to how each site is crawled.

    ``workers`` is the number of processes on this machine, or the maximum number of CPUs of a cluster;
    ``address`` is that of a Ray cluster. With ``same_address``, hosts are looked up first, and sites
    at one address are kept together. With ``retry_failed``, sites that failed are crawled again, with
    ``again`` all of the list: their rows are replaced, and page sitemaps are downloaded if they have
    changed. With ``keep_versions``, files with older rows of sites that were crawled again stay there,
    so that older versions of the tables can be read.
    """

    engine: str = "local"
    workers: int | None = None
    address: str | None = None
    same_address: bool = False
    retry_failed: bool = False
    again: bool = False
    keep_versions: bool = False
    commit_seconds: float = GROUP_SECONDS
    options: FleetOptions = field(default_factory=FleetOptions)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; choose from {', '.join(ENGINES)}")
        if self.again and self.retry_failed:
            raise ValueError("again is for all sites, retry_failed for some: choose one of them")
        if self.address is not None and self.engine != "ray":
            raise ValueError("address is that of a Ray cluster: it needs engine='ray'")


def crawl_fleet(
    sites: Iterable[str],
    root: str | os.PathLike[str],
    run: FleetRun | None = None,
    on_progress: Callable[[FleetProgress], None] = lambda _: None,
) -> dict[str, Any]:
    """Crawl sites into the dataset at ``root``, and return a summary.

    A site is a URL or the name of a host. Sites that are already in the dataset are skipped, so that
    the same call completes a run that was interrupted. ``on_progress`` is called whenever a site is
    finished. Raises ``DatasetError`` if the dataset cannot be used, ``MissingExtraError`` if an extra
    is missing.
    """
    how = run or FleetRun()
    site_module()
    pyarrow()
    if how.engine == "ray":
        ray_module()
    logins: dict[str, Login] = {}
    listed = dict.fromkeys(homepages(sites, logins))
    options = replace(how.options, logins=how.options.logins | logins)
    dataset = Dataset(root)
    aside = Aside()
    number, before, wanted, older = aside(_begin, dataset, listed, how)
    progress = FleetProgress(len(wanted), before, len(listed), replaces=bool(older))
    on_progress(progress)
    started = datetime.now(UTC)
    if wanted:
        job = Job(dataset.store.root, number, options, how.commit_seconds)
        ray = how.engine == "ray"
        engine = RayEngine(job, how.workers, how.address) if ray else LocalEngine(job, how.workers)
        keyed = by_address(wanted) if how.same_address else ((s, host_key(s)) for s in wanted)
        left = Assignments(grouped(keyed), older)
        _crawl(engine, left, Committer(dataset, number, older), aside, progress, on_progress)
    summary = progress.summary() | {
        "run": number,
        "engine": how.engine,
        "started": started.isoformat(timespec="seconds"),
    }
    return aside(_finish, dataset, listed, how, summary)


def _crawl(
    engine: Engine,
    left: Assignments,
    committer: Committer,
    aside: Aside,
    progress: FleetProgress,
    on_progress: Callable[[FleetProgress], None],
) -> None:
    """Let an engine crawl, and commit what it reports; also what it has when it is interrupted."""

    def keep(commit: Callable[..., Sized], *given: object) -> None:
        progress.safe += len(commit(*given))  # not in the thread that may be interrupted

    def take(message: News) -> None:
        progress.take(message)
        if isinstance(message, Group):
            aside(keep, committer.take, message)
        on_progress(progress)

    try:
        for message in engine.run(left):
            take(message)
    except DatasetError:
        deque(engine.stop(), 0)
        raise
    except BaseException as error:
        aside.patience = _LAST_SECONDS
        if isinstance(error, KeyboardInterrupt):
            progress.is_ending = True
            on_progress(progress)
        with suppress(queue.Empty):  # what the store does not take any more is crawled again
            aside.rest()
            for message in engine.stop():
                take(message)
            aside(keep, committer.close)
        raise
    aside(keep, committer.close)


def _begin(
    dataset: Dataset, listed: Iterable[str], how: FleetRun
) -> tuple[int, int, list[str], dict[str, str]]:
    """Begin a run; return its number, the number of known sites, and which to crawl.

    The last value is the files that have some of these now.
    """
    dataset.make(how.options.columns)
    number = dataset.begin_run(keep_versions=how.keep_versions)
    known = dataset.sites()
    if how.again:
        done = dataset.begin_again()
        wanted = [site for site in listed if site not in done]
    else:
        outcome = "failed" if how.retry_failed else None
        wanted = [site for site in listed if known.get(site) == outcome]
    older = dataset.groups(set(wanted)) if how.again or how.retry_failed else {}
    # Files are replaced once all of their sites are there, so these are crawled together.
    return number, len(known), sorted(wanted, key=lambda site: older.get(site, "~")), older


def _finish(
    dataset: Dataset, listed: Iterable[str], how: FleetRun, summary: dict[str, Any]
) -> dict[str, Any]:
    """End a run; return its summary, with what is in the dataset now and what of the list is not."""
    if how.again:
        dataset.end_again()
    if not how.keep_versions:
        dataset.vacuum()
    there = dataset.sites()
    outcomes = Counter(there.values())
    summary |= {
        "missing": sum(site not in there for site in listed),
        "dataset": {"sites": outcomes.total()} | {name: outcomes[name] for name in OUTCOMES},
    }
    dataset.store.replace("_summary.json", (json.dumps(summary, indent=1) + "\n").encode())
    return summary
