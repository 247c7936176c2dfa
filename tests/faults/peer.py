"""``python -m tests.faults.peer``: generated websites, crawled by usp and by ultimate-sitemap-parser.

Both are black boxes: the same call, the same time-outs, their own retries. A website that takes longer
than the limit counts as hung, and its pages as lost.
"""

from __future__ import annotations

import argparse
import json
import select
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent), str(Path(__file__).parent.parent)]

from fault_server import FaultServer  # noqa: E402 - the path is set above
from fault_sites import generate  # noqa: E402

PEER = "ultimate-sitemap-parser==1.8.1"
WORKER = str(Path(__file__).parent / "peer_worker.py")


@dataclass
class Score:
    """What a library made of all websites."""

    expected: int = 0
    found: int = 0
    lost: int = 0
    invented: int = 0
    raised: int = 0
    hung: int = 0
    seconds: float = 0.0
    peak: float = 0.0
    raising: dict[str, int] = field(default_factory=dict)


class Worker:
    """A process that crawls one website after the other; started anew if it hangs."""

    def __init__(self, python: str, patience: float) -> None:
        self._command = [python, WORKER]
        self._patience = patience
        self._process: subprocess.Popen | None = None

    def crawl(self, job: dict) -> dict | None:
        if self._process is None:
            pipe = subprocess.PIPE
            self._process = subprocess.Popen(
                self._command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL
            )
        self._process.stdin.write(json.dumps(job).encode() + b"\n")
        self._process.stdin.flush()
        ready, _, _ = select.select([self._process.stdout], [], [], self._patience)
        line = self._process.stdout.readline() if ready else b""
        if not line:
            self.close()
            return None
        return json.loads(line)

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


def measure(python: str, seeds: range, patience: float, at_once: int) -> Score:
    """Crawl the websites of all seeds with the library of a Python."""
    score = Score()
    lock = threading.Lock()
    local = threading.local()
    workers = []

    with FaultServer() as server, ThreadPoolExecutor(at_once) as pool:
        nobody = server.nobody()

        def one(seed: int) -> None:
            if not hasattr(local, "worker"):
                local.worker = Worker(python, patience)
                workers.append(local.worker)
            made = []
            site = server.open(
                lambda base: made.append(generate(seed, base, nobody)) or made[0].answers
            )
            website = made[0]
            started = time.monotonic()
            answer = local.worker.crawl(
                {"url": site.base + "/", "use_known_paths": website.use_known_paths}
            )
            seconds = time.monotonic() - started
            server.shut(site)
            with lock:
                count(score, website.expected, answer, seconds)

        list(pool.map(one, seeds))
        for worker in workers:
            worker.close()
    return score


def count(score: Score, expected: object, answer: dict | None, seconds: float) -> None:
    found = set(answer["pages"]) if answer else set()
    score.expected += len(expected.sure)
    score.found += len(found & expected.sure)
    score.lost += len(expected.sure - found)
    score.invented += len(found - expected.sure - expected.possible)
    score.seconds += seconds
    score.hung += answer is None
    if answer:
        score.peak = max(score.peak, answer["peak"])
        if "raised" in answer:
            score.raised += 1
            name = answer["raised"].partition(":")[0]
            score.raising[name] = score.raising.get(name, 0) + 1


def peer_python(folder: Path) -> str:
    """Give a Python that has the peer, installing it if need be."""
    python = folder / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
        subprocess.run([str(python), "-m", "pip", "install", "-q", PEER], check=True)
    return str(python)


def main() -> None:
    """Measure both, and print a table."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults.peer", description=__doc__)
    parser.add_argument("--count", type=int, default=100, help="how many websites")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--at-once", type=int, default=4, help="crawls side by side")
    parser.add_argument("--limit", type=float, default=30.0, help="seconds for one website")
    parser.add_argument("--peer", type=Path, default=Path("/tmp/peer"), help="its environment")
    options = parser.parse_args()
    seeds = range(options.seed, options.seed + options.count)
    columns = (
        "sites",
        "expected",
        "found",
        "lost",
        "invented",
        "raised",
        "hung",
        "sum s",
        "peak MiB",
    )
    print(f"{'':26}" + "".join(f"{name:>10}" for name in columns))
    for name, python in ((PEER, peer_python(options.peer)), ("usp", sys.executable)):
        score = measure(python, seeds, options.limit, options.at_once)
        values = (len(seeds), score.expected, score.found, score.lost, score.invented)
        values += (score.raised, score.hung, round(score.seconds), round(score.peak))
        print(f"{name:26}" + "".join(f"{value:>10,}" for value in values), flush=True)
        if score.raising:
            print(f"{'':26}  raised: {score.raising}")


if __name__ == "__main__":
    main()
