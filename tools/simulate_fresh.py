"""How soon new pages are seen, and for how many requests: policies, on histories of sitemaps.

``python tools/simulate_fresh.py [HISTORIES.json]`` replays when real sitemaps changed, if it is given
such a file, and made ones in any case; then it calculates what it takes to keep many sites current. It
prints the tables of docs/scale.md. The same seed, the same tables.

A file of histories is an object with a list ``histories``; each has ``changes``, a list of
``[seconds since the first version, URLs added, URLs removed]``.
"""

# ruff: noqa: INP001, T201, S311 - a script that prints the tables of a seed
from __future__ import annotations

import argparse
import json
import math
import random
import sys
from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from usp._base.recrawl_policy import DAY, HOUR, RecrawlPolicy, Rhythm, SitemapHints

MINUTE = 60.0
SHORTEST, LONGEST = 10 * MINUTE, 30 * DAY  # of every interval but the fixed ones
SEEDS = 3
LEVELS = (1 / 9, 1 / 3, 1.0)  # requests a sitemap and day
_STEPS = 14
_CLOSE = 0.005  # of the requests: near enough


@dataclass(frozen=True, slots=True)
class History:
    """When a sitemap changed, and how many pages were new in each change."""

    changes: tuple[tuple[float, int], ...]
    url: str = ""

    @property
    def end(self) -> float:
        """How long it is known, in seconds."""
        return self.changes[-1][0]


class Visits(Protocol):
    """Decides on the visits of one sitemap."""

    def first(self, phase: float) -> float:
        """Return the time of the first visit after the one at 0; ``phase`` is from 0 to 1."""

    def after(self, now: float, *, changed: bool, added: int) -> float:
        """Return the time of the next visit."""


Make: TypeAlias = Callable[[float, History], Visits]
"""Makes the visits of a sitemap; the larger the number, the fewer they are."""


@dataclass
class Fixed:
    """The same interval for all, whatever they do."""

    interval: float

    def first(self, phase: float) -> float:
        """Begin anywhere in the first interval."""
        return phase * self.interval

    def after(self, now: float, *, changed: bool, added: int) -> float:
        """Wait for an interval."""
        del changed, added
        return now + self.interval


@dataclass
class Halving:
    """The interval halves after a change, and doubles without one."""

    scale: float
    interval: float = DAY

    def first(self, phase: float) -> float:
        """Begin anywhere in the first interval."""
        return phase * self._wait()

    def after(self, now: float, *, changed: bool, added: int) -> float:
        """Halve or double."""
        del added
        self.interval = min(max(self.interval * (0.5 if changed else 2), SHORTEST), LONGEST)
        return now + self._wait()

    def _wait(self) -> float:
        return min(max(self.interval * self.scale, SHORTEST), LONGEST)


class Ours:
    """What ``usp crawl`` does."""

    def __init__(self, pace: float, history: History) -> None:
        self._policy = RecrawlPolicy(SHORTEST, LONGEST, pace)
        self._hints = SitemapHints(url=history.url)
        self._known: Rhythm = self._policy.first(0.0, self._hints)

    def first(self, phase: float) -> float:
        """Begin anywhere in the first interval."""
        return phase * self._known.due

    def after(self, now: float, *, changed: bool, added: int) -> float:
        """Ask the policy."""
        known, policy, hints = self._known, self._policy, self._hints
        if changed:
            self._known = policy.changed(known, now, hints, has_news=added > 0)
        else:
            self._known = policy.unchanged(known, now, hints)
        return self._known.due


POLICIES: dict[str, Make] = {
    "fixed": lambda scale, _: Fixed(scale * DAY),
    "halving": lambda scale, _: Halving(scale),
    "ours": Ours,
}
ORACLE = "oracle"


# What comes of a policy ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Score:
    """Requests, and the delays until new pages were seen: of versions with new pages, and of pages."""

    requests: float
    median: float
    late: float  # the 95th percentile
    page_median: float
    page_late: float


def visited(visits: Visits, history: History, phase: float) -> tuple[int, list[tuple[float, int]]]:
    """Return the requests of a history, and the delay and the number of new pages of each version."""
    times = [time for time, _ in history.changes]
    seen = requests = 0
    delays: list[tuple[float, int]] = []
    now = visits.first(phase)
    while now <= history.end or seen < len(times):
        requests += 1
        until = bisect_right(times, now)
        found = history.changes[seen:until]
        delays += [(now - time, added) for time, added in found if added]
        added = sum(added for _, added in found)
        now = visits.after(now, changed=until > seen, added=added)
        seen = until
    return requests, delays


def score(make: Make, scale: float, histories: Sequence[History], seeds: int = SEEDS) -> Score:
    """Return what a policy does on histories, each from several beginnings."""
    chance = random.Random(1)
    requests, delays = 0, []
    for _ in range(seeds):
        for history in histories:
            count, found = visited(make(scale, history), history, chance.random())
            requests += count
            delays += found
    delays.sort()
    versions = [1] * len(delays)
    pages = [added for _, added in delays]
    times = [delay for delay, _ in delays]
    shares = [_share(times, weights, at) for weights in (versions, pages) for at in (0.5, 0.95)]
    return Score(requests / seeds, *shares)


def _share(times: Sequence[float], weights: Sequence[int], share: float) -> float:
    """Return the time below which a share of sorted times is, by their weights."""
    left = share * sum(weights)
    for time, weight in zip(times, weights, strict=True):
        left -= weight
        if left <= 0:
            return time
    return math.nan


def for_requests(make: Make, histories: Sequence[History], requests: float) -> Score:
    """Return what a policy does that takes so many requests."""
    low, high = 1e-4, 1e4
    for _ in range(_STEPS):
        scale = math.sqrt(low * high)
        found = score(make, scale, histories, 1).requests
        if abs(found / requests - 1) < _CLOSE:
            break
        low, high = (scale, high) if found > requests else (low, scale)
    return score(make, scale, histories)


# Made histories -------------------------------------------------------------------------------------


def news(chance: random.Random, days: int) -> History:
    """Make a newspaper: stories at random times, more of them by day than at night."""
    a_day = chance.lognormvariate(math.log(8), 1.0)
    noon, time, changes = chance.random() * DAY, 0.0, []
    while (time := time + chance.expovariate(2 * a_day / DAY)) < days * DAY:
        if chance.random() < 0.5 + 0.5 * math.cos((time - noon) / DAY * 2 * math.pi):
            changes.append((time, 1))
    return History((*changes, (days * DAY, 0)))


def shop(chance: random.Random, days: int) -> History:
    """Make a shop: written anew every night, with new products in most nights."""
    hour = chance.random() * DAY
    changes = []
    for day in range(1, days):
        added = 1 + int(chance.expovariate(1 / 5)) if chance.random() < 0.7 else 0  # noqa: PLR2004
        changes.append((day * DAY + hour + chance.gauss(0.0, 10 * MINUTE), added))
    return History((*changes, (days * DAY, 0)))


def blog(chance: random.Random, days: int) -> History:
    """Make a small website: a page now and then."""
    time, changes = 0.0, []
    while (time := time + chance.expovariate(1 / (10 * DAY))) < days * DAY:
        changes.append((time, 1))
    return History((*changes, (days * DAY, 0)))


def archive(chance: random.Random, days: int) -> History:
    """Make an archive, which never changes; every second one is named after a month."""
    name = f"sitemap-19{chance.randrange(50, 69)}-05.xml" if chance.random() < 0.5 else "old.xml"  # noqa: PLR2004
    return History(((days * DAY, 0),), f"https://example.org/{name}")


MIX = {news: 6, shop: 14, blog: 20, archive: 60}
"""How many of each there are among a hundred."""


def made(days: int = 120, seed: int = 1, size: int = 100) -> list[History]:
    """Make a mixture of sitemaps."""
    chance = random.Random(seed)
    return [
        kind(chance, days)
        for kind, share in MIX.items()
        for _ in range(max(1, share * size // 100))
    ]


def read(path: Path) -> list[History]:
    """Return the histories of a file."""
    listed = json.loads(path.read_text(encoding="utf-8"))["histories"]
    return [
        History(tuple((float(time), int(added)) for time, added, *_ in one["changes"]))
        for one in listed
    ]


# Many sites -----------------------------------------------------------------------------------------

SITES = {news: 1, shop: 9, blog: 30, archive: 30}
"""How many of a hundred sites are of each kind, with one sitemap; the others are dead."""

DEAD = 100 - sum(SITES.values())
SETTLED = 60.0  # days after which intervals have found their size
CPU = {"unchanged": 0.0038, "changed": 0.0125, "dead": 0.002}
"""Seconds of CPU for a visit: measured, measured (a first one), assumed."""
BYTES = {"unchanged": 700, "changed": 24_000, "dead": 0}  # received: measured, assumed, none
ROWS = {"unchanged": 214, "changed": 900, "dead": 70}  # bytes written: measured, assumed, assumed
REQUESTS = {"unchanged": 3, "changed": 3, "dead": 1}
SCAN = 0.12e-6  # seconds of CPU for a site of the dataset, each time it is looked at: measured
BUSY = 0.75  # of the CPU of a process


def visits_a_day(days: int = 120, seed: int = 1) -> dict[str, float]:
    """Return how often a site of the mixture is visited in a day, by what comes of it."""
    chance = random.Random(seed)
    found = dict.fromkeys(CPU, 0.0)
    for kind, share in SITES.items():
        for _ in range(share):
            history = kind(chance, days)
            times = [time for time, _ in history.changes]
            ours, seen = Ours(RecrawlPolicy().pace, history), 0
            now = ours.first(chance.random())
            while now <= history.end:
                until = bisect_right(times, now)
                added = sum(added for _, added in history.changes[seen:until])
                if now > SETTLED * DAY:
                    found["changed" if added else "unchanged"] += 1
                now = ours.after(now, changed=until > seen, added=added)
                seen = until
    policy = RecrawlPolicy()
    dead, count = policy.failed(policy.first(0.0), 0.0, "no-such-host"), 0
    while dead.due <= days * DAY:
        count += dead.due > SETTLED * DAY
        dead = policy.failed(dead, dead.due, "no-such-host")
    found["dead"] = DEAD * count
    return {what: count / 100 / (days - SETTLED) for what, count in found.items()}


def recrawls() -> list[str]:
    """Return the table of what it takes to keep sites current."""
    visits = visits_a_day()
    rates = ", ".join(f"{count:.2f} {what}" for what, count in visits.items())
    table = [
        f"Visits of a site in a day: {rates}.\n",
        "| sites | visits a second | requests a second | received | CPU | processes | rows a day |",
        "|---|---|---|---|---|---|---|",
    ]
    for sites in (10**5, 10**6, 10**7, 10**8):
        each = {what: count * sites / DAY for what, count in visits.items()}

        def total(costs: dict[str, float], each: dict[str, float] = each) -> float:
            return sum(each[what] * costs[what] for what in each)

        cpu = total(CPU) + sites * SCAN / (10 * MINUTE)
        table.append(
            f"| {sites:,} | {sum(each.values()):,.1f} | {total(REQUESTS):,.0f} |"
            f" {total(BYTES) / 2**20:,.1f} MiB/s | {cpu:,.2f} | {math.ceil(cpu / BUSY):,} |"
            f" {total(ROWS) * DAY / 2**30:,.2f} GiB |"
        )
    return table


# Tables ---------------------------------------------------------------------------------------------


def curve(histories: Sequence[History]) -> list[dict[str, Any]]:
    """Return the scores of all policies, for the same requests at each level."""
    days = sum(history.end for history in histories) / DAY
    rows = []
    for level in LEVELS:
        for name, make in POLICIES.items():
            found = for_requests(make, histories, level * days)
            rows.append({"policy": name, "level": level, **_rounded(found)})
    batches = sum(added > 0 for history in histories for _, added in history.changes)
    rows.append({"policy": ORACLE, "requests": batches, "median": 0, "late": 0})
    return rows


def _rounded(found: Score) -> dict[str, float]:
    return {name: round(getattr(found, name)) for name in Score.__slots__}


def lines(name: str, rows: Sequence[dict[str, Any]]) -> list[str]:
    """Return the table of a curve."""
    oracle = next(row for row in rows if row["policy"] == ORACLE)
    table = [
        f"| {name}: requests | policy | median | 95 % | median of pages | 95 % of pages |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        if row is not oracle:
            times = (_clock(row[key]) for key in ("median", "late", "page_median", "page_late"))
            table.append(f"| {row['requests']:,} | {row['policy']} | {' | '.join(times)} |")
    table.append(f"| {oracle['requests']:,} | oracle | 0 | 0 | 0 | 0 |")
    return table


def _clock(seconds: float) -> str:
    if seconds < 2 * HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h" if seconds < 4 * DAY else f"{seconds / DAY:.1f} d"


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("histories", type=Path, nargs="?", help="when real sitemaps changed")
    parser.add_argument("--days", type=int, default=120, help="of the made histories")
    parser.add_argument("--size", type=int, default=100, help="of the mixture of made ones")
    options = parser.parse_args()
    sets = {"made sitemaps": made(options.days, size=options.size)}
    if options.histories is not None:
        sets = {"real sitemaps": read(options.histories), **sets}
    curves = {name: curve(histories) for name, histories in sets.items()}
    print("\n\n".join("\n".join(lines(name, rows)) for name, rows in curves.items()))
    print("", *recrawls(), sep="\n")


if __name__ == "__main__":
    sys.exit(main())
