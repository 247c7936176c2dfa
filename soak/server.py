"""``python -m soak.server``: ordinary and faulty websites, in a process of their own.

Prints their addresses as JSON, and serves them until its standard input ends.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import deque
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
TESTS = ROOT / "tests"
FAULTY = 40
_SITEMAPS = 12
_PAGES = 400

sys.path[:0] = [str(TESTS / "faults"), str(TESTS)]


def ordinary(base: str) -> dict[str, Any]:
    """Make a website without faults: an index, and sitemaps of which some are packed."""
    from fault_documents import write  # noqa: PLC0415 - the path is set above
    from fault_replies import ok, packed  # noqa: PLC0415

    names = [f"/s{n}.xml" for n in range(_SITEMAPS)]
    answers = {
        "/robots.txt": ok(write("robots", [f"{base}/index.xml"]).data),
        "/index.xml": ok(write("index", [base + name for name in names]).data),
    }
    chance = random.Random(0)  # noqa: S311 - the same website each time
    for number, name in enumerate(names):
        format_ = chance.choice(["urlset", "dated", "text", "rss", "atom"])
        data = write(format_, [f"{base}/p{number}-{page}" for page in range(_PAGES)]).data
        answers[name] = ok(packed(data) if number % 2 else data)
    return answers


def faulty(base: str, seed: int, refusing: str) -> dict[str, Any]:
    """Make a website with faults; of documents that fall silent the head is all that is left."""
    from fault_replies import PATIENCE, raw  # noqa: PLC0415 - the path is set above
    from fault_sites import GeneratedWebsite  # noqa: PLC0415

    answers: dict[str, Any] = GeneratedWebsite(seed, base, refusing).answers
    for path, answer in answers.items():
        if not isinstance(answer, list) and PATIENCE in answer.raw:
            answers[path] = raw(answer.raw[0])
    return answers


def main() -> None:
    """Serve."""
    from website import Site, nobody  # noqa: PLC0415 - the path is set above

    with ExitStack() as stack:
        refusing = stack.enter_context(nobody())
        sites = [stack.enter_context(Site()) for _ in range(1 + FAULTY)]
        for number, site in enumerate(sites):
            site.requests = deque(maxlen=1000)  # or else they are kept as long as the website
            base = site.base
            site.answers = faulty(base, number - 1, refusing) if number else ordinary(base)
        first, *others = (site.base for site in sites)
        sys.stdout.write(json.dumps({"ordinary": [first], "faulty": others}) + "\n")
        sys.stdout.flush()
        sys.stdin.read()


@contextmanager
def served() -> Iterator[dict[str, list[str]]]:
    """Serve in another process; gives the addresses of the websites by kind."""
    process = subprocess.Popen(
        [sys.executable, "-m", "soak.server"],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield json.loads(process.stdout.readline())
        finally:
            process.stdin.close()


if __name__ == "__main__":
    main()
