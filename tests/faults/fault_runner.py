"""Crawls generated websites, several at a time, and says what came out wrong."""

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

from fault_effects import LIMIT
from fault_fronts import FRONTS, crawl
from fault_sites import GeneratedWebsite

from usp.limits import Limits
from website import Site, nobody

AT_ONCE = 6
LIMITS = Limits(document_bytes=LIMIT, seconds=60)


def run(seeds: Iterable[int]) -> list[str]:
    """Crawl the websites of seeds, each by one of the fronts; give what is wrong, line by line."""
    with nobody() as refusing, ThreadPoolExecutor(AT_ONCE) as pool:
        return list(chain.from_iterable(pool.map(lambda seed: judge(seed, refusing), seeds)))


def judge(seed: int, refusing: str) -> list[str]:
    """Crawl the website of a seed, and compare."""
    front = FRONTS[seed % len(FRONTS)]
    with Site() as site:
        website = GeneratedWebsite(seed, site.base, refusing)
        site.answers = website.answers
        options = {"limits": LIMITS, "use_known_paths": website.use_known_paths}
        try:
            outcome = crawl(front, site.base + "/", **options)
            wrong = website.expected.differences(outcome.pages, outcome.failures)
        except Exception as error:  # noqa: BLE001 - nothing may raise
            wrong = [f"raised {type(error).__name__}: {error}"]
    return [f"seed {seed}, {front}: {line}" for line in wrong]
