"""Crawls generated websites, several at a time, and says what came out wrong."""

import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

from fault_effects import LIMIT
from fault_fronts import FRONTS, crawl
from fault_sites import GeneratedWebsite

from usp._crawl import schedule
from usp._crawl.schedule import RetryPolicy
from usp.limits import Limits
from website import Site, nobody

AT_ONCE = 6
LIMITS = Limits(document_bytes=LIMIT, seconds=60)


class Verdict(NamedTuple):
    """What is wrong with the crawl of one website; nothing, if all is well."""

    seed: int
    front: str
    wrong: list[str]
    pages: int
    seconds: float


def quick_retries() -> None:
    """Repeat failed requests as often as ever, but without long pauses."""
    schedule.DECLARED = RetryPolicy(first_delay=0.001)
    schedule.GUESSED = RetryPolicy(connection=2, busy=2, server=2, first_delay=0.001)


def run(seeds: Iterable[int], front: str | None = None) -> Iterator[Verdict]:
    """Crawl the websites of seeds; each by one of the fronts, unless it is said which."""
    with nobody() as refusing, ThreadPoolExecutor(AT_ONCE) as pool:
        yield from pool.map(
            lambda seed: judge(seed, front or FRONTS[seed % len(FRONTS)], refusing), seeds
        )


def judge(seed: int, front: str, refusing: str) -> Verdict:
    """Crawl the website of a seed, and compare."""
    started = time.monotonic()
    found: list[str] = []
    with Site() as site:
        website = GeneratedWebsite(seed, site.base, refusing)
        site.answers = website.answers
        options = {"limits": LIMITS, "use_known_paths": website.use_known_paths}
        try:
            outcome = crawl(front, site.base + "/", **options)
            found = outcome.pages
            wrong = website.expected.differences(found, outcome.failures)
        except Exception as error:  # noqa: BLE001 - nothing may raise
            wrong = [f"raised {type(error).__name__}: {error}"]
    return Verdict(seed, front, wrong, len(found), time.monotonic() - started)
