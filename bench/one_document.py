"""``python -m bench.one_document``: the memory and time of one document with millions of URLs.

Each size is read in a process of its own, from a compressed file that is written before: all pages are
counted, which is where duplicates must be known. Peak memory is the process's high-water mark.
"""

from __future__ import annotations

import argparse
import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

SIZES = (50_000, 100_000, 1_000_000, 10_000_000)
MOST_MIB = 300  # for ten million URLs
_BLOCK = 10_000
_ENTRY = "<url><loc>https://www.example.org/catalogue/{:09}-name-of-a-product.html</loc></url>\n"

_READ = """
import resource, sys, time
from usp.limits import Limits
from usp.tree import sitemap_from_file
limits = Limits(document_bytes=None, unpacked_bytes=None, ratio=None)
began = time.process_time()
pages = sitemap_from_file(sys.argv[1], limits=limits).page_count()
seconds = time.process_time() - began
print(pages, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def write(path: Path, urls: int, *, twice: bool) -> None:
    """Write a sitemap; with ``twice`` every URL stands in it a second time, at its end."""
    with gzip.open(path, "wt", compresslevel=1) as file:
        file.write('<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n')
        for _ in range(2 if twice else 1):
            for start in range(0, urls, _BLOCK):
                end = min(start + _BLOCK, urls)
                file.write("".join(map(_ENTRY.format, range(start, end))))
        file.write("</urlset>\n")


def measure(path: Path) -> tuple[int, float, float]:
    """Return the pages that were found, seconds of CPU time, and the peak in MiB."""
    done = subprocess.run(
        [sys.executable, "-c", _READ, str(path)], capture_output=True, text=True, check=True
    )
    pages, seconds, peak = done.stdout.split()
    return int(pages), float(seconds), float(peak)


def main() -> None:
    """Measure, print a table, and fail if ten million URLs take too much memory."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--urls", type=int, nargs="*", default=SIZES)
    too_much = False
    print("| URLs | declared | found | CPU s | µs a URL | peak MiB |")
    print("|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        for urls in options.parse_args().urls:
            for twice in (False, True):
                path = Path(folder) / "sitemap.xml.gz"
                write(path, urls, twice=twice)
                pages, seconds, peak = measure(path)
                declared = urls * (2 if twice else 1)
                each = seconds / declared * 1e6
                print(f"| {urls:,} | {'twice' if twice else 'once'} | {pages:,} ", end="")
                print(f"| {seconds:.1f} | {each:.2f} | {peak:.0f} |", flush=True)
                too_much = too_much or pages != urls or peak > MOST_MIB
    sys.exit(too_much)


if __name__ == "__main__":
    main()
