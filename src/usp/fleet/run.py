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
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from itertools import chain, islice
from typing import TYPE_CHECKING, Any

import usp
from usp._base.display import clock, counted, duration
from usp._base.files import DatasetError, InterruptibleThread
from usp.export.schema import ALL_COLUMNS
from usp.fleet.crawler import Job, load_for_threads, site_module
from usp.fleet.dataset import Dataset
from usp.fleet.engines import LocalEngine, News, RayEngine, Signal, advice_on, ray_module
from usp.fleet.joins import KnownSites
from usp.fleet.leave_alone import LeaveAlone
from usp.fleet.metrics import DELAYS
from usp.fleet.options import MAX_FAILED, FleetRun, Shard
from usp.fleet.site_list import (
    Assignments,
    WaitingSite,
    by_address,
    homepages,
    host_key,
)
from usp.fleet.tables import OUTCOMES, SUMS, Part, Row, failure_row, quoted

if TYPE_CHECKING:
    import os

__all__ = ["FleetProgress", "FleetRun", "crawl_fleet"]

_LAST_SECONDS = 5.0  # in which a store must respond to each request of a run that was interrupted
_SHARE = 5
"""A commit waits until the last one is this many times as long ago as it took: others join it."""

_LONGEST_WAIT = 20.0  # seconds
_SLOWEST = 5


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
    if find_spec("aiohttp") is None:  # only workers load it: it takes 14 MiB
        site_module("aiohttp")
    load_for_threads(".parquet", ".fs")
    is_ray = how.engine == "ray"
    if is_ray:
        ray_module(address=how.address)
    dataset = Dataset(root)
    if sites is None and not how.replaces:
        raise ValueError("without a list of sites, choose again, retry_failed or due")
    if sites is not None:  # one that cannot be read is an error before anything is written
        rest = iter(sites)
        sites = chain(list(islice(rest, 1)), rest)
    aside = InterruptibleThread()
    how, number, first = aside(_begin, dataset, how, sites is None)
    progress, started = FleetProgress(again=how.replaces), datetime.now(UTC)
    on_progress(progress)
    job = Job(how, dataset.store.root, number, how.shard)
    engine = RayEngine(job) if is_ray else LocalEngine(job)
    alone = LeaveAlone(dataset.store)

    def is_left_alone(site: str) -> bool:
        if alone.is_stale:
            alone.refresh()
        is_covered = alone.covers(site)
        if is_covered:
            progress.left_alone += 1
            progress.active.discard(site)
        return is_covered

    def end(*, is_whole: bool) -> dict[str, Any]:
        summary = progress.summary(how.max_failed)
        what = "again" * how.again or "retry_failed" * how.retry_failed or "due" * how.is_due
        row = summary | {
            **{name: progress.outcomes[name] for name in ("failed", "kept")},
            "run": number,
            "shard": how.shard,
            "what": what or "new",
            "version": usp.__version__,
            "started": started,
            "ended": datetime.now(UTC),
            "is_whole": is_whole,
            "failures": json.dumps({one["code"]: one["sites"] for one in summary["failures"]}),
        }
        aside(dataset.add_run, row)
        known = {"run": number, "engine": how.engine}
        return summary | known | {"started": started.isoformat(timespec="seconds")}

    with KnownSites(Dataset(root), Shard.read(how.shard)) as known:
        left = Assignments(_Wanted(known, how, first, progress).all(sites), is_left_alone)
        try:
            _crawl(engine, left, dataset, aside, progress, on_progress)
        except BaseException:
            with suppress(Exception):  # the first one says more
                end(is_whole=False)
            raise
        finally:
            left.close()
    return aside(_finish, dataset, how, end(is_whole=True))


@dataclass
class _Wanted:
    """The sites of a run, with what is known of them, as they are read."""

    known: KnownSites
    how: FleetRun
    first: int
    progress: FleetProgress

    def all(self, sites: Iterable[str] | None) -> Iterator[WaitingSite]:
        """Yield the sites in the order in which they are to be crawled."""
        more: dict[str, WaitingSite] = {}
        found = self._wanted(None if sites is None else homepages(sites, more))
        if self.how.same_address:
            found = by_address(found)
        for one in found:
            login, feeds = more.pop(one.url, one)[2:4]
            yield one._replace(key=one.key or host_key(one.url), login=login, feeds=feeds)

    def _wanted(self, sites: Iterator[str] | None) -> Iterator[WaitingSite]:
        how, known, progress = self.how, self.known, self.progress
        if not how.replaces:
            assert sites is not None
            for site, is_there in known.new(sites):
                progress.before += is_there
                if not is_there:
                    yield WaitingSite(site)
            return
        if sites is not None:
            known.listed(sites)
        if how.is_due:
            yield from self._due()
        elif how.again:
            yield from known.known(f"coalesce(run, 0) < {self.first}", checks=True)
            yield from map(WaitingSite, known.unknown())
        else:
            codes = ", ".join(map(quoted, how.codes))
            failed = f"code in ({codes})" if codes else "outcome in ('failed', 'kept')"
            yield from known.known(failed, checks=True)
            progress.unknown = sum(1 for _ in known.unknown())

    def _due(self) -> Iterator[WaitingSite]:
        """Yield the sites of which something is due; with ``every``, for ever."""
        progress, most = self.progress, self.how.per_hour
        while True:
            began, now = time.monotonic(), datetime.now(UTC)
            self.known.dataset.vacuum(daily=True)
            progress.lag = 0.0
            sent = Counter() if most is None else self.known.requests_of_last_hour()
            for one in self.known.known("due is null or due <= now()"):
                progress.lag = max(progress.lag, (now - (one.due or now)).total_seconds())
                host = host_key(one.url)
                room = None if most is None else min(most - sent[host], one.sitemaps or 1)
                if one.url not in progress.active and (room is None or room > 0):
                    progress.active.add(one.url)
                    sent[host] += room or 0
                    yield one._replace(room=room)
            if self.how.every is None:
                return
            time.sleep(max(0.0, self.how.every - (time.monotonic() - began)))


def _crawl(
    engine: LocalEngine | RayEngine,
    left: Assignments,
    dataset: Dataset,
    aside: InterruptibleThread,
    progress: FleetProgress,
    on_progress: Callable[[FleetProgress], None],
) -> None:
    """Let an engine crawl, and commit what it reports; also what it has when it is interrupted."""
    waiting: list[Part] = []
    next_at = float("-inf")

    def keep() -> None:
        nonlocal next_at
        parts, began = waiting.copy(), time.monotonic()
        waiting.clear()
        if parts:
            dataset.commit(parts)
            now = time.monotonic()
            next_at = now + min(_SHARE * (now - began), _LONGEST_WAIT)
            done = [row["site"] for part in parts for row in part.sites]
            progress.safe += len(done)  # not in the thread that may be interrupted
            progress.active.difference_update(done)

    def take(message: News) -> None:
        progress.total = left.total
        progress.take(message)
        if isinstance(message, Part):
            waiting.append(message)
        if waiting and time.monotonic() >= next_at:
            aside(keep)
        on_progress(progress)

    try:
        deque(map(take, engine.run(left)), 0)
        aside(keep)
        progress.total = left.total
    except (DatasetError, OSError) as error:  # no more is committed
        deque(engine.stop(), 0)
        if isinstance(error, DatasetError) or (advice := advice_on(error)) is None:
            raise
        raise DatasetError(advice) from error
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


def _begin(dataset: Dataset, how: FleetRun, must_exist: bool) -> tuple[FleetRun, int, int]:
    """Begin a run; return how, its number, and that of the run in which ``again`` was begun.

    The columns of a dataset that exists stay as they are, unless others are chosen.
    """
    if must_exist:
        dataset.require()
    if must_exist and how.options.columns is None:
        there = [name for name in ALL_COLUMNS if name in dataset.columns("pages")]
        how = replace(how, options=replace(how.options, columns=tuple(there)))
    dataset.make(how.options.columns)
    number = dataset.begin_run(how.shard if how.replaces else None)
    return how, number, dataset.begin_again(number, how.shard) if how.again else number


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


class FleetProgress:
    """Counts what a run has done: ``line`` for people, ``summary`` for programs.

    ``total`` is the number of sites to crawl once that is known, and ``before`` how many of the list
    were in the dataset already. ``safe`` counts those that this run has committed, ``slowest`` are the
    seconds and the sites of those that took longest; ``active`` are sites that are due and not
    finished. ``is_ending`` is true after Ctrl-C. With ``again``, all sites were in the dataset before.
    """

    def __init__(self, *, again: bool = False) -> None:
        self._again = again
        self.total: int | None = None
        self.before = 0
        self.active: set[str] = set()
        self.outcomes: Counter[str] = Counter()
        self.pages = self.sitemaps = self.bytes = self.requests = 0
        self.workers_lost = self.safe = self.left_alone = self.unknown = 0
        self.statuses: Counter[str] = Counter()  # of requests
        self.delays = [0] * (len(DELAYS) + 1)  # of changed sitemaps: since they were as before
        self.delayed = 0.0  # the sum of these, in seconds
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
            self.delayed += delay
        if row.get("was_good"):
            self.were_good += 1
            self.lost += bool(row.get("is_lost"))
        taken = (row.get("duration") or 0.0, row["site"])
        self.slowest = heapq.nlargest(_SLOWEST, [*self.slowest, taken])

    def failures(self) -> list[dict[str, Any]]:
        """Return why something is missing, the most frequent reason first, with an example of each."""
        ordered = sorted(self._failed.items(), key=lambda one: (-one[1][0], one[0]))
        return [failure_row(c, count, row["site"], row["reason"]) for c, (count, row) in ordered]

    def how_far(self, dataset: object) -> str:
        """Return how many sites are safe if the run ends now, and how to go on."""
        there, text = self.safe + self.before, counted(self.safe + self.before, "site")
        if self.total is not None:
            text = f"{there:,} of {counted(self.total + self.before, 'site')}"
        is_one = there == 1
        done = f"{'is' if is_one else 'are'} in {dataset}"
        if self._again:
            done = f"of {dataset} {'was' if is_one else 'were'} visited again, and none is lost"
        return f"{text} {done}; run the same command to resume"

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
