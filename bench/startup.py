"""``python -m bench.startup``: what help costs, beside the import of the libraries that it needs.

CPU time of fresh processes that take turns, the least of several rounds each: what else runs on the
machine adds to it, and never takes away.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys

_USP = "import sys; sys.argv = ['usp', *'{0}'.split()]; from usp.cli import main; main()"
YARDSTICK = "import requests, rich_click"
JOBS = {
    YARDSTICK: YARDSTICK,
    "import usp": "import usp",
    **{
        f"usp {words}": _USP.format(words)
        for words in ("--version", "--help", "ls --help", "tree --help", "crawl --help")
    },
}
MOST = {"usp --help": 0.7}  # times the yardstick


def cpu_seconds(code: str) -> float:
    """Return the CPU time of a new process that runs some code, its start included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, "-c", code], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, print a table, and fail if help takes too long."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=10)
    rounds = options.parse_args().rounds
    turns = [{name: cpu_seconds(code) for name, code in JOBS.items()} for _ in range(rounds)]
    taken = {name: min(turn[name] for turn in turns) for name in JOBS}
    print("| | CPU ms | times the import |")
    print("|---|---|---|")
    for name, seconds in taken.items():
        print(f"| `{name}` | {seconds * 1000:.0f} | {seconds / taken[YARDSTICK]:.2f} |")
    slow = [name for name, most in MOST.items() if taken[name] > most * taken[YARDSTICK]]
    if slow:
        sys.exit(f"slower than wanted: {', '.join(slow)}")


if __name__ == "__main__":
    main()
