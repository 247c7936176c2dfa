"""What every contender's script does around its work: take the time and say what came out.

The scripts run in an environment of their own with this folder first on ``sys.path``. They get one
argument, a JSON object, and print one JSON object as their last line. Imports stand outside the
measured work, as does the interpreter's start (``startup`` tells what both cost of CPU).
"""

from __future__ import annotations

import json
import resource
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable


def measure(work: Callable[[dict[str, Any]], dict[str, Any]]) -> None:
    """Do ``work`` once; it gives ``found`` (the number of URLs) and whatever else it has to tell."""
    options = json.loads(sys.argv[1])
    before = {"startup": time.process_time(), "memory_before": peak_memory()}
    cpu, wall = time.process_time(), time.perf_counter()
    result = work(options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    measured = {"seconds": wall, "cpu": cpu, "memory": peak_memory()}
    # What the work itself says about time and memory goes first.
    print(f"\n{json.dumps(before | measured | result)}", flush=True)


def peak_memory() -> int:
    """Give the peak of this process's memory in bytes.

    ``ru_maxrss`` is what every Unix has, but Linux hands it down from the process that started this
    one; the kernel's high-water mark begins anew with the program, so it goes first.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
