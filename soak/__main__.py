"""``python -m soak [--minutes 30]``: crawl over and over; ends with 1 if it holds ever more."""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import time
from itertools import cycle
from pathlib import Path

from soak.measure import SHARE, TOLERANCES, WARM_UP, Sample, growth, sample
from soak.server import served
from soak.work import WAYS
from usp._crawl import crawl as crawl_module
from usp._crawl.schedule import RetryPolicy

_SAMPLES = 40


def main() -> int:
    """Soak, print a table, and judge."""
    parser = argparse.ArgumentParser(prog="python -m soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    minutes = parser.parse_args().minutes
    logging.disable(logging.CRITICAL)
    crawl_module.DECLARED = RetryPolicy(first_delay=0.001)  # as often as ever, but soon
    with tempfile.TemporaryDirectory(prefix="usp-soak-") as folder, served() as sites:
        tempfile.tempdir = folder
        samples, errors = soak(sites, minutes * 60, Path(folder))
        tempfile.tempdir = None
    for error in errors:
        _say(error)
    return judge(samples) or bool(errors)


def soak(
    sites: dict[str, list[str]], seconds: float, temporary: Path
) -> tuple[list[Sample], list[str]]:
    """Crawl each website in each way, over and over; measure at intervals."""
    started = time.monotonic()
    interval = seconds / _SAMPLES
    samples: list[Sample] = []
    errors: list[str] = []
    crawls = 0
    urls = cycle([url for faulty in sites["faulty"] for url in (faulty, *sites["ordinary"])])
    _say(f"{'seconds':>8}{'crawls':>8}{'RSS MiB':>9}{'fds':>5}{'threads':>9}{'temp files':>12}")
    while time.monotonic() - started < seconds:
        url = next(urls)
        for name, crawl in WAYS.items():
            crawls += 1
            try:
                crawl(url + "/")
            except Exception as error:  # noqa: BLE001 - nothing may raise
                errors.append(f"{name} of {url} raised {type(error).__name__}: {error}")
        if time.monotonic() - started >= interval * len(samples):
            samples.append(sample(started, crawls, temporary))
            _show(samples[-1])
    return samples, errors


def judge(samples: list[Sample]) -> int:
    """Say whether anything grew; 1 if so."""
    tolerances = ", ".join(f"{name} {most:g}" for name, most in TOLERANCES.items())
    _say(f"\nmedian of the first and the last third after {WARM_UP:.0%} of warm-up;")
    _say(f"tolerated: {tolerances} (RSS in MiB, or {SHARE:.0%} if that is more)")
    grown = growth(samples)
    for name, (first, last, grows) in grown.items():
        _say(f"{name:>12} {first:8.1f} -> {last:8.1f}  {'GROWS' if grows else 'ok'}")
    return int(any(grows for *_, grows in grown.values()))


def _show(one: Sample) -> None:
    _say(
        f"{one.seconds:8.0f}{one.crawls:8}{one.rss:9.1f}{one.descriptors:5}"
        f"{one.threads:9}{one.files:12}"
    )


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
