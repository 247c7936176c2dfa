"""``python -m bench.changes``: what comparing two large websites costs, against iterating over both.

Each pair is compared in a process of its own, from files that are written before. CPU time is that of
the comparison with everything that it reads; peak memory is the process's high-water mark.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.data import SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable

SITEMAPS, URLS = 75, 2_600_000
MOST_MIB = 400
MOST_TIMES = 3.0
_TAG = re.compile(r"<((?:\w+:)?url)\b")
_YEAR = re.compile(r"(lastmod>)20\d\d")
_LOC = re.compile(r"(loc>[^<]*[^<\s])")

_READ = """
import resource, sys, time
from pathlib import Path
from usp._store import Store
from usp.changes import diff
from usp.objects.sitemap import IndexWebsiteSitemap
from usp._crawl.receiver import parse_file

def tree(folder):
    store = Store()
    nodes = [parse_file(path, store=store) for path in sorted(Path(folder).iterdir())]
    return IndexWebsiteSitemap(Path(folder).as_uri() + "/", nodes)

trees = [tree(folder) for folder in sys.argv[1:]]
began = time.process_time()
pages = sum(1 for one in trees for _ in one.all_pages())
iterated = time.process_time() - began
began = time.process_time()
changes = sum(1 for _ in diff(*trees))
compared = time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(pages, changes, iterated, compared, peak)
"""


def some(entries: list[str]) -> list[str]:
    """Remove, change and add one page in a hundred each."""
    kept = []
    for number, entry in enumerate(entries):
        turn = number % 100
        if turn != 1:
            kept.append(_YEAR.sub(r"\g<1>2031", entry, count=1) if turn == 2 else entry)
        if turn == 3:
            kept.append(_LOC.sub(r"\1-new", entry, count=1))
    return kept


def dates(entries: list[str]) -> list[str]:
    """Change every date."""
    return [_YEAR.sub(r"\g<1>2031", entry, count=1) for entry in entries]


def addresses(entries: list[str]) -> list[str]:
    """Change every address."""
    return [_LOC.sub(r"\1-new", entry, count=1) for entry in entries]


PAIRS: dict[str, tuple[Callable[[list[str]], list[str]], str]] = {
    "the same": (list, ""),
    "one page in a hundred added, removed and changed": (some, ""),
    "every sitemap renamed": (list, "x"),
    "every date changed": (dates, ""),
    "nothing in common": (addresses, ""),
}


def write(
    folder: Path, sitemaps: int, urls: int, change: Callable[..., list[str]], to: str
) -> None:
    """Write the sitemaps of a website, changed."""
    folder.mkdir()
    for name, body in SHAPES["plain"](sitemaps, urls):
        text = body if isinstance(body, str) else body.decode()
        found = _TAG.search(text)
        assert found
        *entries, rest = text.split(f"</{found[1]}>")
        entries[1:] = change(entries[1:])  # the first one has the head of the document
        text = "".join(f"{entry}</{found[1]}>" for entry in entries) + rest
        (folder / (to + name)).write_bytes(text.encode())


def main() -> None:
    """Measure, print a table, and fail if a comparison takes too much."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--urls", type=int, default=URLS)
    urls = options.parse_args().urls
    too_much = False
    print(
        "| pair | pages of both | changes | iterating: CPU s | comparing: CPU s | times | peak MiB |"
    )
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        before, after = Path(name) / "before", Path(name) / "after"
        write(before, SITEMAPS, urls, list, "")
        for label, (change, to) in PAIRS.items():
            write(after, SITEMAPS, urls, change, to)
            done = subprocess.run(
                [sys.executable, "-c", _READ, str(before), str(after)],
                capture_output=True,
                text=True,
                check=True,
            )
            pages, changes, iterated, compared, peak = map(float, done.stdout.split())
            times = compared / iterated
            print(f"| {label} | {pages:,.0f} | {changes:,.0f} | {iterated:.1f} | {compared:.1f} "
                  f"| {times:.1f} | {peak:.0f} |", flush=True)  # fmt: skip
            too_much |= peak > MOST_MIB or (changes < pages / 20 and times > MOST_TIMES)
            for path in after.iterdir():
                path.unlink()
            after.rmdir()
    if too_much:
        sys.exit(f"more than {MOST_MIB} MiB, or {MOST_TIMES} times the iteration")


if __name__ == "__main__":
    main()
