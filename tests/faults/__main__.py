"""``python -m tests.faults``: crawl generated websites, all of them or one whose seed is known."""

import argparse
import logging
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]


def main() -> int:
    """Crawl, and print what came out wrong."""
    from fault_fronts import FRONTS  # noqa: PLC0415 - the path is set above
    from fault_runner import quick_retries, run  # noqa: PLC0415

    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=1, help="how many websites")
    parser.add_argument("--step", type=int, default=1, help="from one seed to the next")
    parser.add_argument("--front", choices=list(FRONTS), help="instead of one by the seed")
    parser.add_argument("--verbose", action="store_true", help="show what the library logs")
    options = parser.parse_args()
    logging.basicConfig(level=logging.DEBUG if options.verbose else logging.CRITICAL)
    quick_retries()
    seeds = range(options.seed, options.seed + options.count * options.step, options.step)
    bad = pages = 0
    slowest = 0.0
    for verdict in run(seeds, options.front):
        pages += verdict.pages
        slowest = max(slowest, verdict.seconds)
        for line in verdict.wrong:
            print(f"seed {verdict.seed}, {verdict.front}: {line}", flush=True)
        bad += bool(verdict.wrong)
    print(f"{len(seeds)} websites, {pages} pages, {bad} wrong, slowest {slowest:.1f} s")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
