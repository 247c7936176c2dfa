"""A run: the sites that are not in the dataset yet, crawled into it by an engine."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from usp._base.display import clock, counted, duration
from usp.export.schema import pyarrow
from usp.fleet.committing import Committer
from usp.fleet.crawler import Job, site_module
from usp.fleet.dataset import Dataset
from usp.fleet.local_engine import LocalEngine
from usp.fleet.messages import GroupDone, SiteDone, WorkerLost
from usp.fleet.options import ENGINES, FleetOptions
from usp.fleet.parts import GROUP_SECONDS
from usp.fleet.ray_engine import RayEngine, ray_module
from usp.fleet.site_list import by_address, grouped, homepages, host_key
from usp.fleet.store import DatasetError
from usp.fleet.tables import OUTCOMES

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterable

    from usp._base.urls import Login
    from usp.fleet.messages import News, Row

__all__ = ["FleetProgress", "FleetRun", "crawl_fleet"]

_SLOWEST = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """How a run is executed, as opposed to how each site is crawled.

    ``workers`` is the number of processes on this machine, or the maximum number of CPUs of a cluster;
    ``address`` is that of a Ray cluster. With ``same_address``, hosts are looked up first, and sites
    at one address are kept together. With ``keep_versions``, files with older rows of sites that were
    crawled again stay there, so that older versions of the tables can be read.
    """

    engine: str = "local"
    workers: int | None = None
    address: str | None = None
    same_address: bool = False
    retry_failed: bool = False
    keep_versions: bool = False
    commit_seconds: float = GROUP_SECONDS
    options: FleetOptions = field(default_factory=FleetOptions)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; choose from {', '.join(ENGINES)}")


def crawl_fleet(
    sites: Iterable[str],
    root: str | os.PathLike[str],
    run: FleetRun | None = None,
    on_progress: Callable[[FleetProgress], None] = lambda _: None,
) -> dict[str, Any]:
    """Crawl sites into the dataset at ``root``, and return a summary.

    A site is a URL or the name of a host. Sites that are already in the dataset are skipped, so that
    the same call completes a run that was interrupted; with ``retry_failed``, only those that failed
    are crawled again, and their rows are replaced. ``on_progress`` is called whenever a site is
    finished.

    Raises ``DatasetError`` if the folder cannot be used, ``MissingExtraError`` if an extra is missing.
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
    dataset.make(options.columns)
    number = dataset.begin_run()
    known = dataset.sites()
    outcome = "failed" if how.retry_failed else None
    wanted = [site for site in listed if known.get(site) == outcome]
    progress = FleetProgress(len(wanted), len(known))
    on_progress(progress)
    started = datetime.now(UTC)
    if wanted:
        older = dataset.groups(set(wanted)) if how.retry_failed else {}
        job = Job(dataset.store.root, number, options, how.commit_seconds)
        _crawl(
            _engine(job, how),
            _groups(wanted, how),
            Committer(dataset, number, older),
            progress,
            on_progress,
        )
    if not how.keep_versions:
        dataset.vacuum()
    summary = progress.summary() | {
        "run": number,
        "engine": how.engine,
        "started": started.isoformat(timespec="seconds"),
        "dataset": _totals(dataset),
    }
    dataset.write_summary(summary)
    return summary


def _crawl(
    engine: LocalEngine | RayEngine,
    groups: list[tuple[str, list[str]]],
    committer: Committer,
    progress: FleetProgress,
    on_progress: Callable[[FleetProgress], None],
) -> None:
    """Let an engine crawl, and commit what it reports; also what it has when it is interrupted."""

    def take(message: News) -> None:
        progress.take(message)
        if isinstance(message, GroupDone):
            progress.committed(committer.take(message.group))
        on_progress(progress)

    try:
        for message in engine.run(groups):
            take(message)
    except DatasetError:
        for _ in engine.stop():
            pass
        raise
    except BaseException:
        for message in engine.stop():
            take(message)
        progress.committed(committer.close())
        raise
    progress.committed(committer.close())


def _groups(wanted: list[str], how: FleetRun) -> list[tuple[str, list[str]]]:
    if how.same_address:
        return grouped(by_address(wanted))
    return grouped((site, host_key(site)) for site in wanted)


def _engine(job: Job, how: FleetRun) -> LocalEngine | RayEngine:
    if how.engine == "ray":
        return RayEngine(job, how.workers, how.address)
    return LocalEngine(job, how.workers)


def _totals(dataset: Dataset) -> dict[str, int]:
    """Return how many sites are in the dataset now, by outcome."""
    outcomes = Counter(dataset.sites().values())
    return {"sites": outcomes.total()} | {name: outcomes[name] for name in OUTCOMES}


class FleetProgress:
    """Counts what a run has done: ``line`` for people, ``summary`` for programs."""

    def __init__(self, total: int = 0, before: int = 0) -> None:
        self.total = total
        self.before = before  # sites that were in the dataset already
        self.outcomes: Counter[str] = Counter()
        self.pages = self.sitemaps = self.bytes = self.requests = self.workers_lost = 0
        self.safe = 0  # sites that this run has committed
        self._slowest: list[tuple[float, str]] = []
        self._seen: set[str] = set()
        self._started = time.monotonic()

    @property
    def done(self) -> int:
        """How many sites are finished, including those that failed."""
        return self.outcomes.total()

    @property
    def seconds(self) -> float:
        """The seconds that the run has taken so far."""
        return time.monotonic() - self._started

    def take(self, message: News) -> None:
        """Count what an engine reports; a site that is reported twice counts once."""
        if isinstance(message, WorkerLost):
            self.workers_lost += 1
        elif isinstance(message, SiteDone):
            self._take_site(message.row)
        else:
            for row in message.group.sites:
                self._take_site(row)

    def committed(self, rows: Iterable[Row]) -> None:
        """Count sites that are in the dataset now."""
        self.safe += sum(1 for _ in rows)

    def _take_site(self, row: dict[str, Any]) -> None:
        if row["site"] in self._seen:
            return
        self._seen.add(row["site"])
        self.outcomes[row["outcome"]] += 1
        self.pages += row.get("pages") or 0
        self.sitemaps += row.get("sitemaps") or 0
        self.bytes += row.get("bytes") or 0
        self.requests += row.get("requests") or 0
        if row.get("duration") is not None:
            heapq.heappush(self._slowest, (row["duration"], row["site"]))
            if len(self._slowest) > _SLOWEST:
                heapq.heappop(self._slowest)

    def slowest(self) -> list[tuple[str, float]]:
        """Return the sites that took longest, and the seconds of each."""
        return [(site, seconds) for seconds, site in sorted(self._slowest, reverse=True)]

    def line(self) -> str:
        """Return the progress of the run as one line."""
        seconds = max(self.seconds, 0.001)
        rate = self.done / seconds
        left = self.total - self.done
        parts = [
            f"{self.done:,} of {counted(self.total, 'site')}",
            f"{self.outcomes['failed']:,} failed",
            counted(self.pages, "page"),
            f"{rate:,.1f} sites/s",
            f"{clock(left / rate)} left" if rate and left else "",
            clock(seconds),
        ]
        if self._slowest:
            site, longest = self.slowest()[0]
            parts.append(f"slowest {site} {duration(longest)}")
        return " · ".join(part for part in parts if part)

    def summary(self) -> dict[str, Any]:
        """Return the totals of the run."""
        seconds = self.seconds
        return {
            "sites": self.done,
            "before": self.before,
            "outcomes": {name: self.outcomes[name] for name in sorted(self.outcomes)},
            "sitemaps": self.sitemaps,
            "pages": self.pages,
            "bytes": self.bytes,
            "requests": self.requests,
            "seconds": round(seconds, 3),
            "sites_per_second": round(self.done / max(seconds, 0.001), 3),
            "workers_lost": self.workers_lost,
            "slowest": [
                {"site": site, "seconds": round(taken, 3)} for site, taken in self.slowest()
            ],
        }
