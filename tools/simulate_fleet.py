"""How long a fleet takes, and why: simulated sites of very different sizes, given to workers in turn.

``python tools/simulate_fleet.py`` prints the tables of docs/scale.md; the same seed, the same tables.
The costs of CPU come from the measurements in that document; sizes and waits are assumed.
"""

# ruff: noqa: INP001, T201, S311 - a script that prints the tables of a seed
from __future__ import annotations

import argparse
import heapq
import random
from dataclasses import dataclass
from itertools import islice

# The first two are measured, see docs/scale.md; the others are assumed or chosen.
CPU_PER_SITE = 0.0115  # seconds: connections, requests, answers, a small table
CPU_PER_PAGE = 3.3e-6  # seconds: parsing, columns, Parquet
MEDIAN_WAIT = 4.0  # seconds that an ordinary site takes on the network
LONGEST = 900.0  # seconds: --site-seconds
IN_FLIGHT = 256

_MEDIAN_PAGES = 60.0
_SPREAD = 2.4  # of the logarithm of a site's pages
_TAIL = 0.002  # of the sites have a size from a Pareto distribution instead
_TAIL_FROM, _TAIL_SHAPE, _MOST_PAGES = 50_000.0, 1.1, 20_000_000.0


@dataclass(frozen=True, slots=True)
class Site:
    """What a site costs: seconds of CPU, and seconds of waiting."""

    cpu: float
    wait: float


def site(chance: random.Random) -> Site:
    """Make a site: log-normal in its pages, with a heavy tail; slower if it is larger."""
    pages = chance.lognormvariate(0.0, _SPREAD) * _MEDIAN_PAGES
    if chance.random() < _TAIL:
        pages = _TAIL_FROM * chance.paretovariate(_TAIL_SHAPE)
    pages = min(pages, _MOST_PAGES)
    wait = chance.lognormvariate(0.0, 0.9) * MEDIAN_WAIT + pages / 50_000 * 0.5
    return Site(CPU_PER_SITE + pages * CPU_PER_PAGE, min(wait, LONGEST))


def streamed(sites: list[Site], workers: int, in_flight: int = IN_FLIGHT) -> float:
    """Return the seconds until all are done, if every free place takes the next site.

    A worker has one CPU, which its sites share one after another, and many places to wait in.
    """
    waiting = iter(sites)
    arrivals = [
        (one.wait, number % workers, one.cpu)
        for number, one in enumerate(islice(waiting, workers * in_flight))
    ]
    heapq.heapify(arrivals)
    cpu_free = [0.0] * workers
    while arrivals:
        at, worker, cpu = heapq.heappop(arrivals)
        done = cpu_free[worker] = max(cpu_free[worker], at) + cpu
        for one in islice(waiting, 1):
            heapq.heappush(arrivals, (done + one.wait, worker, one.cpu))
    return max(cpu_free)


def divided(sites: list[Site], workers: int, in_flight: int = IN_FLIGHT) -> float:
    """Return the seconds if the list is split beforehand into one part for each worker."""
    return max(streamed(sites[at::workers], 1, in_flight) for at in range(workers))


def in_batches(sites: list[Site], workers: int, size: int, share: int) -> float:
    """Return the seconds if batches of sites are tasks, ``share`` of them at a time for each CPU."""
    batches = [sites[at : at + size] for at in range(0, len(sites), size)]
    free = [0.0] * (workers * share)
    heapq.heapify(free)
    end = 0.0
    for batch in batches:
        begin = heapq.heappop(free)
        slower = [Site(one.cpu * share, one.wait) for one in batch]
        taken = streamed(slower, 1)
        heapq.heappush(free, begin + taken)
        end = max(end, begin + taken)
    return end


def chained(sites: list[Site], count: int) -> list[Site]:
    """Put so many sites at one address, where they are crawled one after another."""
    chain, others = sites[:count], sites[count:]
    if not chain:
        return others
    return [Site(sum(one.cpu for one in chain), sum(one.wait for one in chain)), *others]


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sites", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=7)
    options = parser.parse_args()
    chance = random.Random(options.seed)
    sites = [site(chance) for _ in range(options.sites)]
    cpu = sum(one.cpu for one in sites)
    wait = sum(one.wait for one in sites)
    largest = max(sites, key=lambda one: one.cpu)
    print(f"{len(sites):,} sites, seed {options.seed}: {cpu / 3600:.2f} CPU hours,")
    print(f"{wait / 3600:.0f} hours of waiting; the largest site needs {largest.cpu:.0f} s of CPU,")
    top = sorted((one.cpu for one in sites), reverse=True)[: len(sites) // 100]
    print(f"the largest hundredth {sum(top) / cpu:.0%} of all CPU time.\n")
    print(
        "| workers | ideal | streamed | split beforehand | batches of 1,000 | of 4,000, 2 per CPU |"
    )
    print("|---|---|---|---|---|---|")
    for workers in (2, 8, 32, 128):
        ideal = max(cpu / workers, wait / (workers * IN_FLIGHT))
        cells = [
            streamed(sites, workers),
            divided(sites, workers),
            in_batches(sites, workers, 1000, 1),
            in_batches(sites, workers, 4000, 2),
        ]
        print(f"| {workers} | {_clock(ideal)} | " + " | ".join(map(_clock, cells)) + " |")
    _print_order(sites)
    _print_in_flight(sites)
    _print_politeness(sites)


def _print_order(sites: list[Site]) -> None:
    print("\n| order of the list, 32 workers | streamed |\n|---|---|")
    by_cost = sorted(sites, key=lambda one: one.wait + one.cpu)
    orders = {"as it comes": sites, "longest first": by_cost[::-1], "longest last": by_cost}
    for name, listed in orders.items():
        print(f"| {name} | {_clock(streamed(listed, 32))} |")


def _print_in_flight(sites: list[Site]) -> None:
    print("\n| sites in flight, 8 workers | streamed |\n|---|---|")
    for in_flight in (1, 16, 64, 256, 1024):
        print(f"| {in_flight} | {_clock(streamed(sites, 8, in_flight))} |")


def _print_politeness(sites: list[Site]) -> None:
    print("\n| sites at one address, one after another, 32 workers | streamed |\n|---|---|")
    for count in (0, 100, 1000, 10_000):
        print(f"| {count:,} | {_clock(streamed(chained(sites, count), 32))} |")


def _clock(seconds: float) -> str:
    if seconds < 600:  # noqa: PLR2004
        return f"{seconds:.0f} s"
    minutes = seconds / 60
    return f"{minutes:.0f} min" if minutes < 600 else f"{minutes / 60:.1f} h"  # noqa: PLR2004


if __name__ == "__main__":
    main()
