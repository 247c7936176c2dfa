"""A run: sites that are new or due, crawled into a dataset by an engine, and its counts."""

from __future__ import annotations

import heapq
import json
import queue
import time
from bisect import bisect_left
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import usp
from usp._base.display import clock, counted, duration
from usp._base.files import DatasetError, NotADatasetError
from usp._base.interrupts import InterruptibleThread
from usp._base.shortage import shortage_of
from usp.exceptions import LocalShortageError
from usp.export.schema import ALL_COLUMNS
from usp.fleet.crawler import Job, load_for_threads, site_module
from usp.fleet.dataset import Committer, Dataset
from usp.fleet.engines import LocalEngine, News, RayEngine, Signal, ray_module
from usp.fleet.known_sites import KnownSites, Shard
from usp.fleet.leave_alone import LeaveAlone
from usp.fleet.metrics import DELAYS
from usp.fleet.options import ENGINES, FleetOptions
from usp.fleet.previous_visit import Known
from usp.fleet.site_list import Assignment, Assignments, by_address, homepages, host_key
from usp.fleet.tables import OUTCOMES, PART_SECONDS, Part, Row, quoted
from usp.objects.failure_codes import BY_VALUE

if TYPE_CHECKING:
    import os

    from usp._base.urls import Login

__all__ = ["FleetProgress", "FleetRun", "crawl_fleet"]

_LAST_SECONDS = 5.0  # in which a store must respond to each request of a run that was interrupted
_SLOWEST = 5
SUMS = ("sitemaps", "pages", "bytes", "requests")
MAX_FAILED = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetRun:
    """How a run is executed, as opposed to how each site is crawled.

    ``workers`` is the number of processes on this machine, or the maximum number of CPUs of a cluster;
    ``address`` is that of a Ray cluster. ``shard``, as ``"0/4"``, is the part of the sites that is
    crawled: other runs may crawl the others at the same time. With ``same_address``, hosts are looked
    up first, and sites at one address are kept together.

    With ``retry_failed``, sites that failed are crawled again; with ``again`` all, and with ``due``
    those of which something is due. With ``every``, that is looked for again after so many seconds,
    until the run is stopped; ``per_hour`` is then how many requests are sent to a host in an hour: what
    is more stays due. With ``codes``, ``retry_failed`` is for sites with one of these reasons, also if
    only a part of them is missing. What fails then keeps what it had, and so does a site that has lost
    more than half of its pages, until the next visit finds the same; ``accept`` takes what there is. If
    more than the share ``max_failed`` of the sites fail that were good before, the summary says so.
    """

    engine: str = "local"
    workers: int | None = None
    address: str | None = None
    shard: str = "0/1"
    same_address: bool = False
    retry_failed: bool = False
    again: bool = False
    due: bool = False
    every: float | None = None
    per_hour: int | None = None
    codes: tuple[str, ...] = ()
    accept: bool = False
    max_failed: float = MAX_FAILED
    commit_seconds: float = PART_SECONDS
    options: FleetOptions = field(default_factory=FleetOptions)

    def __post_init__(self) -> None:
        if self.engine not in ENGINES:
            raise ValueError(f"unknown engine {self.engine!r}; choose from {', '.join(ENGINES)}")
        Shard.read(self.shard)
        if self.again + self.retry_failed + self.is_due > 1:
            raise ValueError(
                "again is for all sites, retry_failed and due for some: choose one of them"
            )
        if self.accept and not self.replaces:
            raise ValueError(
                "accept is for sites that are crawled again: add again, retry_failed or due"
            )
        if self.every is not None and not self.every > 0:
            raise ValueError("every must be a positive number of seconds")
        if self.per_hour is not None and not (self.is_due and self.per_hour > 0):
            raise ValueError(
                "per_hour must be a positive number of requests, and is for due or every"
            )
        if unknown := [code for code in self.codes if code not in BY_VALUE]:
            raise ValueError(f"unknown code {unknown[0]!r}; 'usp stats' shows those of a dataset")
        if self.codes and not self.retry_failed:
            raise ValueError("codes are for retry_failed")
        if not 0 <= self.max_failed <= 1:
            raise ValueError("max_failed must be from 0 to 1")
        if self.address is not None and self.engine != "ray":
            raise ValueError("address is that of a Ray cluster: it needs engine='ray'")

    @property
    def is_due(self) -> bool:
        """Whether sites are crawled of which something is due."""
        return self.due or self.every is not None

    @property
    def replaces(self) -> bool:
        """Whether sites that are in the dataset are crawled again."""
        return self.again or self.retry_failed or self.is_due


def crawl_fleet(
    sites: Iterable[str] | None,
    root: str | os.PathLike[str],
    run: FleetRun | None = None,
    on_progress: Callable[[FleetProgress], None] = lambda _: None,
) -> dict[str, Any]:
    """Crawl sites into the dataset at ``root``, and return a summary.

    A site is a URL or the name of a host; None are the sites that are in the dataset. Without an option
    that says so, sites that are already there are skipped, so that the same call completes a run that
    was interrupted. ``on_progress`` is called whenever a site is finished, and now and then. Raises
    ``DatasetError`` if the dataset cannot be used, ``MissingExtraError`` if an extra is missing.
    """
    how = run or FleetRun()
    site_module()
    load_for_threads()
    if how.engine == "ray":
        ray_module(address=how.address)
    dataset = Dataset(root)
    if sites is None and not how.replaces:
        raise ValueError("without a list of sites, choose again, retry_failed or due")
    if sites is not None:  # one that cannot be read is an error before anything is written
        rest = iter(sites)
        sites = chain(list(islice(rest, 1)), rest)
    aside = InterruptibleThread()
    how, number, first = aside(_begin, dataset, how, sites is None)
    progress = FleetProgress()
    on_progress(progress)
    started = datetime.now(UTC)
    job = Job(
        dataset.store.root,
        number,
        how.options,
        how.commit_seconds,
        how.shard,
        dataset.buckets,
        all_due=not how.is_due,
        accept=how.accept,
    )
    ray = how.engine == "ray"
    engine = RayEngine(job, how.workers, how.address) if ray else LocalEngine(job, how.workers)
    with KnownSites(Dataset(root), Shard.read(how.shard)) as known:
        alone = LeaveAlone(dataset.store)
        wanted = _Wanted(known, how, first, progress).all(sites)
        left = Assignments(wanted, lambda site: _is_left_alone(alone, site, progress))
        try:
            _crawl(engine, left, Committer(dataset), aside, progress, on_progress)
        except BaseException:
            with suppress(Exception):  # the first one says more
                aside(dataset.add_run, _run_row(how, number, started, progress, is_whole=False))
            raise
        finally:
            left.close()
    aside(dataset.add_run, _run_row(how, number, started, progress, is_whole=True))
    summary = progress.summary(how.max_failed) | {
        "run": number,
        "engine": how.engine,
        "started": started.isoformat(timespec="seconds"),
    }
    return aside(_finish, dataset, how, summary)


def _is_left_alone(alone: LeaveAlone, site: str, progress: FleetProgress) -> bool:
    if alone.is_stale:
        alone.refresh()
    is_covered = alone.covers(site)
    progress.left_alone += is_covered
    if is_covered:
        progress.active.discard(site)
    return is_covered


class _Wanted:
    """The sites of a run, with what is known of them, as they are read."""

    def __init__(
        self, known: KnownSites, how: FleetRun, first: int, progress: FleetProgress
    ) -> None:
        self._known = known
        self._how = how
        self._first = first
        self._progress = progress
        self._logins: dict[str, Login] = {}
        self._feeds: dict[str, tuple[str, ...]] = {}

    def all(self, sites: Iterable[str] | None) -> Iterator[tuple[str, Assignment]]:
        """Yield the sites in the order in which they are to be crawled, with their assignments."""
        known: dict[str, Known] = {}

        def names() -> Iterator[str]:
            for one in self._wanted(sites):
                if isinstance(one, Known):
                    known[one.row["site"]] = one
                    yield one.row["site"]
                else:
                    yield one

        keyed = (
            by_address(names()) if self._how.same_address else ((s, host_key(s)) for s in names())
        )
        for site, key in keyed:
            login = self._logins.pop(site, self._how.options.logins.get(site))
            yield site, Assignment(key, known.pop(site, None), login, self._feeds.pop(site, ()))

    def _wanted(self, sites: Iterable[str] | None) -> Iterator[str | Known]:
        how, known = self._how, self._known
        if not how.replaces:
            assert sites is not None
            yield from known.new(self._homepages(sites), self._count_before)
            return
        if sites is not None:
            self._progress.listed = known.listed(self._homepages(sites))
        is_listed = sites is not None
        if how.retry_failed:
            codes = ", ".join(map(quoted, how.codes))
            failed = f"code in ({codes})" if codes else "outcome in ('failed', 'kept')"
            yield from known.known(failed, is_listed=is_listed, checks=True)
            self._progress.unknown = sum(1 for _ in known.unknown()) if is_listed else 0
        elif how.again:
            older = f"coalesce(run, 0) < {self._first}"
            yield from known.known(older, is_listed=is_listed, checks=True)
            if is_listed:
                yield from known.unknown()
        else:
            yield from self._due(is_listed=is_listed)

    def _due(self, *, is_listed: bool) -> Iterator[Known]:
        """Yield the sites of which something is due; with ``every``, for ever."""
        progress = self._progress
        while True:
            began = time.monotonic()
            self._known.dataset.vacuum(daily=True)
            now = datetime.now(UTC)
            progress.lag = 0.0
            most = self._how.per_hour
            sent = Counter() if most is None else self._known.requests_of_last_hour()
            for one in self._known.known("due is null or due <= now()", is_listed=is_listed):
                progress.lag = max(progress.lag, (now - (one.row["due"] or now)).total_seconds())
                host = host_key(one.row["site"])
                room = None if most is None else min(most - sent[host], len(one.rows) or 1)
                if one.row["site"] not in progress.active and (room is None or room > 0):
                    progress.active.add(one.row["site"])
                    sent[host] += room or 0
                    yield replace(one, room=room)
            if self._how.every is None:
                return
            time.sleep(max(0.0, self._how.every - (time.monotonic() - began)))

    def _homepages(self, sites: Iterable[str]) -> Iterator[str]:
        for site in homepages(sites, self._logins, self._feeds):
            self._progress.listed += not self._how.replaces
            yield site

    def _count_before(self, number: int) -> None:
        self._progress.before += number


def _crawl(
    engine: LocalEngine | RayEngine,
    left: Assignments,
    committer: Committer,
    aside: InterruptibleThread,
    progress: FleetProgress,
    on_progress: Callable[[FleetProgress], None],
) -> None:
    """Let an engine crawl, and commit what it reports; also what it has when it is interrupted."""

    def keep() -> None:
        done = committer.close()
        progress.safe += len(done)  # not in the thread that may be interrupted
        progress.active.difference_update(row["site"] for row in done)

    def take(message: News) -> None:
        progress.total = left.total
        progress.take(message)
        if isinstance(message, Part):
            committer.add(message)
        if committer.is_late:
            aside(keep)
        on_progress(progress)

    try:
        deque(map(take, engine.run(left)), 0)
        aside(keep)
        progress.total = left.total
    except (DatasetError, OSError) as error:  # no more is committed: see Committer.close
        deque(engine.stop(), 0)
        _explain(error)
        raise
    except BaseException as error:
        aside.patience = _LAST_SECONDS
        if isinstance(error, KeyboardInterrupt):
            progress.is_ending = True
            on_progress(progress)
        with suppress(queue.Empty):  # what the store does not take any more is crawled again
            aside.rest()
            deque(map(take, engine.stop()), 0)
            aside(keep)
        raise


def _explain(error: DatasetError | OSError) -> None:
    """Raise an error of this machine with what to do, if that is known."""
    advice = LocalShortageError.ADVICE.get(shortage_of(error) or 0)
    if advice is not None and not isinstance(error, DatasetError):
        raise DatasetError(advice) from error


def _begin(dataset: Dataset, how: FleetRun, must_exist: bool) -> tuple[FleetRun, int, int]:
    """Begin a run; return how, its number, and that of the run in which ``again`` was begun.

    The columns of a dataset that exists stay as they are, unless others are chosen.
    """
    if must_exist and not dataset.exists():
        raise NotADatasetError(
            f"{dataset.store} is not a dataset; pass what 'usp crawl SITES -o DATASET' has written"
        )
    if must_exist and how.options.columns is None:
        there = [name for name in ALL_COLUMNS if name in dataset.columns("pages")]
        how = replace(how, options=replace(how.options, columns=tuple(there)))
    dataset.make(how.options.columns)
    number = dataset.begin_run()
    return how, number, dataset.begin_again(number, how.shard) if how.again else number


def _run_row(
    how: FleetRun, number: int, started: datetime, progress: FleetProgress, *, is_whole: bool
) -> Row:
    """Return the row of a run."""
    summary = progress.summary(how.max_failed)
    whats = [name for name in ("again", "retry_failed", "is_due") if getattr(how, name)]
    return {
        **{name: summary[name] for name in (*SUMS, "sites", "seconds")},
        **{name: progress.outcomes[name] for name in ("failed", "kept")},
        "run": number,
        "shard": how.shard,
        "what": (whats or ["new"])[0].removeprefix("is_"),
        "version": usp.__version__,
        "started": started,
        "ended": datetime.now(UTC),
        "is_whole": is_whole,
        "failures": json.dumps({one["code"]: one["sites"] for one in summary["failures"]}),
    }


def _finish(dataset: Dataset, how: FleetRun, summary: dict[str, Any]) -> dict[str, Any]:
    """End a run; return its summary, with what is in the dataset now."""
    if how.again:
        dataset.end_again(how.shard)
    if not how.is_due:
        dataset.vacuum()
    summary["kept"] = summary["outcomes"].get("kept", 0)
    if not how.is_due:  # which may have taken a second, where this takes a minute
        outcomes = dataset.outcomes()
        counts = {name: outcomes[name] for name in OUTCOMES}
        summary["dataset"] = {"sites": outcomes.total()} | counts
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

    ``total`` is the number of sites to crawl once that is known, ``listed`` that of the list as far as
    it was read, and ``before`` how many of these were in the dataset already. ``safe`` counts those
    that this run has committed, ``slowest`` are the seconds and the sites of those that took longest;
    ``active`` are sites that are due and not finished. ``is_ending`` is true after Ctrl-C.
    """

    def __init__(self) -> None:
        self.total: int | None = None
        self.before = self.listed = 0
        self.active: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        self.pages = self.sitemaps = self.bytes = self.requests = 0
        self.workers_lost = self.safe = self.left_alone = self.unknown = 0
        self.statuses: Counter[str] = Counter()  # of requests
        self.delays = [0] * (len(DELAYS) + 1)  # of changed sitemaps: since they were as before
        self.lag = 0.0  # seconds for which the first of the sites that were due had been so
        self.were_good = self.lost = 0
        self.is_ending = False
        self._failed: dict[str, tuple[int, Row]] = {}  # by code: how many, and the first
        self.slowest: list[tuple[float, str]] = []
        self._seen: set[str] = set()  # those that are not in a part yet
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
        """Count what an engine reports; a site that is reported by itself and in a part counts once."""
        if isinstance(message, Signal):
            self.workers_lost += message is Signal.LOST
        elif isinstance(message, Part):
            for row in message.sites:
                if row["site"] in self._seen:
                    self._seen.remove(row["site"])
                else:
                    self._count(row)
        elif message["site"] not in self._seen:  # else its first worker died before the part
            self._seen.add(message["site"])
            self._count(message)

    def _count(self, row: Row) -> None:
        self.outcomes[row["outcome"]] += 1
        for name in SUMS:
            setattr(self, name, getattr(self, name) + (row.get(name) or 0))
        if row.get("code") is not None:
            count, first = self._failed.get(row["code"], (0, row))
            self._failed[row["code"]] = count + 1, first
        self.statuses.update(row.get("statuses") or ())
        for delay in row.get("delays") or ():
            self.delays[bisect_left(DELAYS, delay)] += 1
        if row.get("was_good"):
            self.were_good += 1
            self.lost += bool(row.get("is_lost"))
        taken = (row.get("duration") or 0.0, row["site"])
        self.slowest = heapq.nlargest(_SLOWEST, [*self.slowest, taken])

    def failures(self) -> list[dict[str, Any]]:
        """Return why something is missing, the most frequent reason first, with an example of each."""
        ordered = sorted(self._failed.items(), key=lambda one: (-one[1][0], one[0]))
        return [failure_row(c, count, row["site"], row["reason"]) for c, (count, row) in ordered]

    def position(self, dataset: object) -> str:
        """Return how many sites are safe if the run ends now, and how to go on."""
        there = self.safe + self.before
        of = f" of {counted(self.total + self.before, 'site')}" if self.total is not None else ""
        text = f"{there:,}{of}" if of else counted(there, "site")
        return (
            f"{text} {'is' if there == 1 else 'are'} in {dataset}; run the same command to resume"
        )

    def line(self) -> str:
        """Return the progress of the run as one line."""
        seconds = max(self.seconds, 0.001)
        rate = self.done / seconds
        left = 0 if self.total is None else self.total - self.done
        done = counted(self.done, "site")
        parts = [
            done if self.total is None else f"{self.done:,} of {counted(self.total, 'site')}",
            f"{self.outcomes['failed']:,} failed",
            f"{self.outcomes['kept']:,} kept" if self.outcomes["kept"] else "",
            counted(self.pages, "page"),
            f"{rate:,.1f} sites/s",
            f"{clock(left / rate)} left" if rate and left > 0 else "",
            clock(seconds),
            *(f"slowest {site} {duration(longest)}" for longest, site in self.slowest[:1]),
        ]
        return " · ".join(part for part in parts if part)

    def guard(self, most: float) -> str | None:
        """Return what to say if more than a share of the sites failed that were good before."""
        if not self.were_good or self.lost / self.were_good <= most:
            return None
        return (
            f"{self.lost:,} of {counted(self.were_good, 'site')} that were good before failed, more"
            f" than {most:.0%}: something may be wrong here. What was there of them is kept"
        )

    def summary(self, most_failed: float = MAX_FAILED) -> dict[str, Any]:
        """Return the totals of the run."""
        seconds = self.seconds
        return {
            "sites": self.done,
            "before": self.before,
            "missing": max(0, (self.total or 0) + self.unknown - self.safe - self.left_alone),
            "left_alone": self.left_alone,
            "guard": self.guard(most_failed),
            "outcomes": dict(sorted(self.outcomes.items())),
            **{name: getattr(self, name) for name in SUMS},
            "seconds": round(seconds, 3),
            "sites_per_second": round(self.done / max(seconds, 0.001), 3),
            "workers_lost": self.workers_lost,
            "failures": self.failures(),
            "slowest": [{"site": site, "seconds": round(taken, 3)} for taken, site in self.slowest],
        }
