"""How far a run is: counted from what the engine tells, and said in a line or as a summary."""

from __future__ import annotations

import heapq
import time
from collections import Counter
from typing import Any

from usp._base.display import clock, counted, duration

_SLOWEST = 5


class FleetProgress:
    """Counts sites and pages; ``line`` says it in a line, ``summary`` as a dictionary."""

    def __init__(self, total: int = 0, before: int = 0) -> None:
        self.total = total
        self.before = before  # sites that were in the dataset already
        self.outcomes: Counter[str] = Counter()
        self.pages = self.sitemaps = self.bytes = self.requests = self.deaths = 0
        self._slowest: list[tuple[float, str]] = []
        self._seen: set[str] = set()
        self._started = time.monotonic()

    @property
    def done(self) -> int:
        """How many sites are finished, well or badly."""
        return sum(self.outcomes.values())

    @property
    def seconds(self) -> float:
        """How long the run has taken so far."""
        return time.monotonic() - self._started

    def take(self, row: dict[str, Any]) -> None:
        """Count a site that is finished; one that is told of twice counts once."""
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
        """Give the sites that took longest, and the seconds of each."""
        return [(site, seconds) for seconds, site in sorted(self._slowest, reverse=True)]

    def line(self) -> str:
        """Say how far the run is."""
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
        """Give what the run has done."""
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
            "workers_lost": self.deaths,
            "slowest": [
                {"site": site, "seconds": round(taken, 3)} for site, taken in self.slowest()
            ],
        }
