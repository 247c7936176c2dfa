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
    from collections.abc import Iterable

    from usp.fleet.messages import News, Row

_SLOWEST = 5


class FleetProgress:
    """Counts what a run has done: ``line`` for people, ``summary`` for programs.

    ``total`` is the number of sites to crawl, ``listed`` that of the list, and ``before`` how many were
    in the dataset already; with ``replaces``, the sites to crawl are among them.
    """

    def __init__(
        self,
        total: int = 0,
        before: int = 0,
        listed: int | None = None,
        *,
        replaces: bool = False,
    ) -> None:
        self.total = total
        self.before = before
        self.listed = total if listed is None else listed
        self._replaces = replaces
        self.outcomes: Counter[str] = Counter()
        self.pages = self.sitemaps = self.bytes = self.requests = self.workers_lost = 0
        self.safe = 0  # sites that this run has committed
        self._failures: Counter[str] = Counter()
        self._examples: dict[str, tuple[str, str]] = {}
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
        if row.get("code") is not None:
            self._failures[row["code"]] += 1
            self._examples.setdefault(row["code"], (row["site"], row["reason"]))
        if row.get("duration") is not None:
            heapq.heappush(self._slowest, (row["duration"], row["site"]))
            if len(self._slowest) > _SLOWEST:
                heapq.heappop(self._slowest)

    def slowest(self) -> list[tuple[str, float]]:
        """Return the sites that took longest, and the seconds of each."""
        return [(site, seconds) for seconds, site in sorted(self._slowest, reverse=True)]

    def failures(self) -> list[dict[str, Any]]:
        """Return why something is missing, the most frequent reason first, with an example of each."""
        return [
            {
                "code": code,
                "reason": BY_VALUE[code].message,
                "sites": count,
                "example": self._examples[code][0],
                "example_reason": self._examples[code][1],
                "remedy": BY_VALUE[code].remedy,
            }
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
            "failures": self.failures(),
            "slowest": [
                {"site": site, "seconds": round(taken, 3)} for site, taken in self.slowest()
            ],
        }
