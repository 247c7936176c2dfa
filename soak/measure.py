"""What the process holds, and whether that grows."""

from __future__ import annotations

import gc
import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FD = Path("/proc/self/fd")
_STATM = Path("/proc/self/statm")
_MIB = 1024 * 1024
_SETTLE = 5.0  # seconds that threads have to end after a crawl was left

WARM_UP = 0.2
"""The share of the measurements, from the first, that does not count."""

TOLERANCES = {"rss": 4.0, "descriptors": 2.0, "threads": 1.0, "files": 1.0}
"""How much the median of the last third may lie above that of the first: MiB, then numbers."""

SHARE = 0.05
"""Of the resident memory, a growth by this share is tolerated too."""


@dataclass(frozen=True)
class Sample:
    """One measurement; ``files`` counts temporary ones, named or not."""

    seconds: float
    crawls: int
    rss: float
    descriptors: int
    threads: int
    files: int


def sample(started: float, crawls: int, temporary: Path) -> Sample:
    """Measure, once what was left behind has had time to end."""
    end = time.monotonic() + _SETTLE
    while threading.active_count() > 1 and time.monotonic() < end:
        time.sleep(0.02)
    gc.collect()
    targets = [_target(entry) for entry in _FD.iterdir()]
    unnamed = sum("(deleted)" in target for target in targets)
    return Sample(
        time.monotonic() - started,
        crawls,
        int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / _MIB,
        len(targets) - 1,  # the one that lists them is not counted
        threading.active_count(),
        unnamed + sum(1 for _ in temporary.rglob("*")),
    )


def _target(entry: Path) -> str:
    try:
        return str(entry.readlink())
    except OSError:
        return ""


def growth(samples: Sequence[Sample]) -> dict[str, tuple[float, float, bool]]:
    """Give the medians of the first and the last third after the warm-up, and whether it grew."""
    counted = samples[int(len(samples) * WARM_UP) :]
    third = max(1, len(counted) // 3)
    result = {}
    for name, tolerance in TOLERANCES.items():
        first = median(getattr(one, name) for one in counted[:third])
        last = median(getattr(one, name) for one in counted[-third:])
        allowed = max(tolerance, first * SHARE) if name == "rss" else tolerance
        result[name] = (first, last, last - first > allowed)
    return result
