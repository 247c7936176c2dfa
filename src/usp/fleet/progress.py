"""Counts what a run has done, while it runs and at its end."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from typing import TYPE_CHECKING, Any

from usp._base.display import clock, counted, duration
from usp.fleet.messages import SiteDone, WorkerLost
from usp.objects.failure_codes import BY_VALUE

if TYPE_CHECKING:
    from usp.fleet.messages import News, Row

_SLOWEST = 5
_SUMS = ("sitemaps", "pages", "bytes", "requests")


def failure_row(code: str, sites: int, example: str, reason: str) -> dict[str, Any]:
    """Return why something is missing, of how many sites, with an example and what to do."""
    known = BY_VALUE.get(code)
    return {
        "code": code,
        "reason": getattr(known, "message", None),
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
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, Row] = {}
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
        if isinstance(message, WorkerLost):
            self.workers_lost += 1
            return
        for row in (message.row,) if isinstance(message, SiteDone) else message.sites:
            if row["site"] not in self._seen:
                self._seen.add(row["site"])
                self._take_site(row)

    def _take_site(self, row: Row) -> None:
        self.outcomes[row["outcome"]] += 1
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + (row.get(name) or 0))
        if row.get("code") is not None:
            self._failures[row["code"]] += 1
            self._examples.setdefault(row["code"], row)
        taken = (row.get("duration") or 0.0, row["site"])
        self.slowest = heapq.nlargest(_SLOWEST, [*self.slowest, taken])

    def failures(self) -> list[dict[str, Any]]:
        """Return why something is missing, the most frequent reason first, with an example of each."""
        return [
            failure_row(code, count, self._examples[code]["site"], self._examples[code]["reason"])
            for code, count in sorted(self._failures.items(), key=lambda one: (-one[1], one[0]))
        ]

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
            **{name: getattr(self, name) for name in _SUMS},
            "seconds": round(seconds, 3),
            "sites_per_second": round(self.done / max(seconds, 0.001), 3),
            "workers_lost": self.workers_lost,
            "failures": self.failures(),
            "slowest": [{"site": site, "seconds": round(taken, 3)} for taken, site in self.slowest],
        }
