"""A run: the sites that are not in the dataset yet, crawled into it by an engine, and its counts."""

from __future__ import annotations

import heapq
import json
import queue
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Sized
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from usp._base.display import clock, counted, duration
from usp._base.files import DatasetError
from usp._base.interrupts import InterruptibleThread
from usp._base.shortage import shortage_of
from usp.exceptions import LocalShortageError
from usp.export.schema import pyarrow
from usp.fleet.crawler import Job, site_module
from usp.fleet.dataset import Committer, Dataset
from usp.fleet.engines import LocalEngine, News, RayEngine, Signal, ray_module
from usp.fleet.options import ENGINES, FleetOptions
from usp.fleet.site_list import Assignments, by_address, grouped, homepages, host_key
from usp.fleet.tables import OUTCOMES, PART_SECONDS, Part, Row
from usp.objects.failure_codes import BY_VALUE

if TYPE_CHECKING:
    import os

    from usp._base.urls import Login

__all__ = ["FleetProgress", "FleetRun", "crawl_fleet"]

_LAST_SECONDS = 5.0  # in which a store must respond to each request of a run that was interrupted
_SLOWEST = 5
SUMS = ("sitemaps", "pages", "bytes", "requests")


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """How a run is executed, as opposed to how each site is crawled.

    ``workers`` is the number of processes on this machine, or the maximum number of CPUs of a cluster;
    ``address`` is that of a Ray cluster. With ``same_address``, hosts are looked up first, and sites
    at one address are kept together. With ``retry_failed``, sites that failed are crawled again, with
    ``again`` all of the list: their rows are replaced, and page sitemaps are downloaded if they have
    changed. A site that fails then, or has lost more than half of its pages, keeps the rows that it
    had, unless ``accept`` takes what there is. With ``keep_versions``, files with older rows of sites
    that were crawled again stay there, so that older versions of the tables can be read.
    """

    engine: str = "local"
    workers: int | None = None
    address: str | None = None
    same_address: bool = False
    retry_failed: bool = False
    again: bool = False
    accept: bool = False
    keep_versions: bool = False
    commit_seconds: float = PART_SECONDS
    options: FleetOptions = field(default_factory=FleetOptions)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; choose from {', '.join(ENGINES)}")
        if self.again and self.retry_failed:
            raise ValueError("again is for all sites, retry_failed for some: choose one of them")
        if self.accept and not self.replaces:
            raise ValueError(
                "accept is for sites that are crawled again: add again or retry_failed"
            )
        if self.address is not None and self.engine != "ray":
            raise ValueError("address is that of a Ray cluster: it needs engine='ray'")

    @property
    def replaces(self) -> bool:
        """Whether sites that are in the dataset are crawled again."""
        return self.again or self.retry_failed


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
    feeds: dict[str, tuple[str, ...]] = {}
    listed = dict.fromkeys(homepages(sites, logins, feeds))
    logins, feeds = how.options.logins | logins, how.options.feeds | feeds
    options = replace(how.options, logins=logins, feeds=feeds)
    dataset = Dataset(root)
    aside = InterruptibleThread()
    number, before, wanted, older = aside(_begin, dataset, listed, how)
    progress = FleetProgress(
        len(wanted), before, len(listed), replaces=how.replaces and bool(older)
    )
    on_progress(progress)
    started = datetime.now(UTC)
    if wanted:
        job = Job(dataset.store.root, number, options, how.commit_seconds, how.accept)
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
    engine: LocalEngine | RayEngine,
    left: Assignments,
    committer: Committer,
    aside: InterruptibleThread,
    progress: FleetProgress,
    on_progress: Callable[[FleetProgress], None],
) -> None:
    """Let an engine crawl, and commit what it reports; also what it has when it is interrupted."""

    def keep(commit: Callable[..., Sized], *given: object) -> None:
        progress.safe += len(commit(*given))  # not in the thread that may be interrupted

    def take(message: News) -> None:
        progress.take(message)
        if isinstance(message, Part):
            aside(keep, committer.take, message)
        on_progress(progress)

    try:
        for message in engine.run(left):
            take(message)
        aside(keep, committer.close)
    except (DatasetError, OSError) as error:  # no more is committed: see Committer.close
        deque(engine.stop(), 0)
        advice = LocalShortageError.ADVICE.get(shortage_of(error) or 0)
        if isinstance(error, DatasetError) or advice is None:
            raise
        raise DatasetError(advice) from error
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


def _begin(
    dataset: Dataset, listed: Iterable[str], how: FleetRun
) -> tuple[int, int, list[str], dict[str, tuple[str, ...]]]:
    """Begin a run; return its number, how many sites are known, which to crawl, and their files."""
    dataset.make(how.options.columns)
    number = dataset.begin_run(keep_versions=how.keep_versions)
    known = dataset.sites()
    if how.again:
        done = dataset.begin_again()
        wanted = [site for site in listed if site not in done]
    else:
        outcomes = ("failed", "kept") if how.retry_failed else (None,)
        wanted = [site for site in listed if known.get(site) in outcomes]
    older = dataset.files_with(set(wanted), known)
    # A file is written anew without those that are replaced: its sites are crawled together.
    return number, len(known), sorted(wanted, key=lambda site: older.get(site, ("~",))), older


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
        "kept": sum(there.get(site) == "kept" for site in listed) if how.replaces else 0,
        "dataset": {"sites": outcomes.total()} | {name: outcomes[name] for name in OUTCOMES},
    }
    dataset.store.replace("_summary.json", (json.dumps(summary, indent=1) + "\n").encode())
    return summary


# Counts -------------------------------------------------------------------------------------------


def failure_row(code: str, sites: int, example: str, reason: str) -> dict[str, Any]:
    """Return why something is missing, of how many sites, with an example and what to do."""
    known = BY_VALUE.get(code)
    return {
        "code": code,
        "reason": getattr(known, "message", reason),
        "sites": sites,
        "example": example,
        "example_reason": reason,
        "remedy": getattr(known, "remedy", None),
    }


class FleetProgress:
    """Counts what a run has done: ``line`` for people, ``summary`` for programs.

    ``total`` is the number of sites to crawl, ``listed`` that of the list, and ``before`` how many were
    in the dataset already; with ``replaces``, the sites to crawl are among them. ``safe`` counts those
    that this run has committed, ``slowest`` are the seconds and the sites of those that took longest;
    ``is_ending`` is true after Ctrl-C.
    """

    def __init__(
        self, total: int = 0, before: int = 0, listed: int | None = None, *, replaces: bool = False
    ) -> None:
        self.total = total
        self.before = before
        self.listed = total if listed is None else listed
        self._replaces = replaces
        self.outcomes: Counter[str] = Counter()
        self.pages = self.sitemaps = self.bytes = self.requests = 0
        self.workers_lost = self.safe = 0
        self.is_ending = False
        self._failed: dict[str, tuple[int, Row]] = {}  # by code: how many, and the first
        self.slowest: list[tuple[float, str]] = []
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
        if isinstance(message, Signal):
            self.workers_lost += 1
            return
        for row in message.sites if isinstance(message, Part) else (message,):
            if row["site"] in self._seen:
                continue
            self._seen.add(row["site"])
            self.outcomes[row["outcome"]] += 1
            for name in SUMS:
                setattr(self, name, getattr(self, name) + (row.get(name) or 0))
            if row.get("code") is not None:
                count, first = self._failed.get(row["code"], (0, row))
                self._failed[row["code"]] = count + 1, first
            taken = (row.get("duration") or 0.0, row["site"])
            self.slowest = heapq.nlargest(_SLOWEST, [*self.slowest, taken])

    def failures(self) -> list[dict[str, Any]]:
        """Return why something is missing, the most frequent reason first, with an example of each."""
        ordered = sorted(self._failed.items(), key=lambda one: (-one[1][0], one[0]))
        return [failure_row(c, count, row["site"], row["reason"]) for c, (count, row) in ordered]

    def position(self, dataset: object) -> str:
        """Return how many sites are safe if the run ends now, and how to go on."""
        there = self.safe if self._replaces else self.listed - self.total + self.safe
        of = counted(self.total if self._replaces else self.listed, "site")
        done = "crawled again" if self._replaces else f"in {dataset}"
        verb = "is" if there == 1 else "are"
        return f"{there:,} of {of} {verb} {done}; the same command goes on"

    def line(self) -> str:
        """Return the progress of the run as one line."""
        seconds = max(self.seconds, 0.001)
        rate = self.done / seconds
        left = self.total - self.done
        parts = [
            f"{self.done:,} of {counted(self.total, 'site')}",
            f"{self.outcomes['failed']:,} failed",
            f"{self.outcomes['kept']:,} kept" if self.outcomes["kept"] else "",
            counted(self.pages, "page"),
            f"{rate:,.1f} sites/s",
            f"{clock(left / rate)} left" if rate and left else "",
            clock(seconds),
            *(f"slowest {site} {duration(longest)}" for longest, site in self.slowest[:1]),
        ]
        return " · ".join(part for part in parts if part)

    def summary(self) -> dict[str, Any]:
        """Return the totals of the run."""
        seconds = self.seconds
        return {
            "sites": self.done,
            "before": self.before,
            "outcomes": dict(sorted(self.outcomes.items())),
            **{name: getattr(self, name) for name in SUMS},
            "seconds": round(seconds, 3),
            "sites_per_second": round(self.done / max(seconds, 0.001), 3),
            "workers_lost": self.workers_lost,
            "failures": self.failures(),
            "slowest": [{"site": site, "seconds": round(taken, 3)} for taken, site in self.slowest],
        }
