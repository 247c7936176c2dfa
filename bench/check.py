"""``python -m bench.check``: what checking large websites costs, against iterating over their pages.

Each website is checked in a process of its own, from files that are written before. CPU time is that of
the iteration or the check with everything that they read; peak memory is the process's high-water mark.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.data import SHAPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

SITEMAPS, URLS, LINKED = 75, 2_600_000, 1_000_000
IN_ONE = 40_000  # pages of a sitemap with links to other languages
MOST_MIB = 400
MOST_TIMES = 3.0
LANGUAGES = ("en", "de", "fr", "es", "it", "pt-BR", "nl", "pl", "ja", "zh-Hant")
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"'
    ' xmlns:xhtml="http://www.w3.org/1999/xhtml">\n'
)

_READ = """
import resource, sys, time
from pathlib import Path
import usp
from usp._store import Store
from usp.objects.page import fields_of
from usp.objects.sitemap import IndexWebsiteSitemap
from usp._crawl.receiver import parse_file

def four(page):
    return page.url, page.priority, page.last_modified, page.change_frequency

def every(page):
    return page.url, fields_of(page)

folder, fields = Path(sys.argv[1]), {"four": four, "every": every}[sys.argv[2]]
store = Store()
nodes = [parse_file(path, store=store) for path in sorted(folder.iterdir())]
tree = IndexWebsiteSitemap(folder.as_uri() + "/", nodes)

def measured(things):
    cpu, wall = time.process_time(), time.perf_counter()
    count = sum(1 for _ in things)
    return count, time.process_time() - cpu, time.perf_counter() - wall

iterated = measured(map(fields, tree.all_pages()))
checked = measured(usp.check(tree))
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(*iterated, *checked, peak)
"""


def plain(folder: Path, urls: int, _: int) -> None:
    """Write the sitemaps of the website that all benchmarks read."""
    for name, body in SHAPES["plain"](SITEMAPS, urls):
        (folder / name).write_bytes(body if isinstance(body, bytes) else body.encode())


def together(folder: Path, _: int, pages: int) -> None:
    """Write sitemaps in which the versions of a page follow each other."""
    groups = pages // len(LANGUAGES)
    _write(folder, (_entry(at, one) for at in range(groups) for one in LANGUAGES))


def apart(folder: Path, _: int, pages: int) -> None:
    """Write sitemaps of one language after another."""
    groups = pages // len(LANGUAGES)
    _write(folder, (_entry(at, one) for one in LANGUAGES for at in range(groups)))


def unreturned(folder: Path, _: int, pages: int) -> None:
    """Write the same, in which no other language links to the Japanese pages."""
    groups = pages // len(LANGUAGES)
    others = tuple(one for one in LANGUAGES if one != "ja")
    _write(
        folder,
        (
            _entry(at, one, LANGUAGES if one == "ja" else others)
            for one in LANGUAGES
            for at in range(groups)
        ),
    )


def _entry(number: int, language: str, linked: tuple[str, ...] = LANGUAGES) -> str:
    links = "".join(
        f'<xhtml:link rel="alternate" hreflang="{one}" href="{_url(number, one)}"/>\n'
        for one in linked
    )
    return f"<url>\n<loc>{_url(number, language)}</loc>\n{links}</url>\n"


def _url(number: int, language: str) -> str:
    return f"https://example.org/{language}/products/{number % 97}/item-{number}"


def _write(folder: Path, entries: Iterable[str]) -> None:
    for number, some in enumerate(_parts(entries)):
        with (folder / f"{number:05}.xml").open("w", encoding="utf-8") as file:
            file.writelines((_HEAD, *some, "</urlset>\n"))


def _parts(entries: Iterable[str]) -> Iterator[list[str]]:
    part: list[str] = []
    for entry in entries:
        part.append(entry)
        if len(part) == IN_ONE:
            yield part
            part = []
    if part:
        yield part


WEBSITES: dict[str, tuple[Callable[[Path, int, int], None], str]] = {
    "plain": (plain, "four"),
    "ten languages, versions together": (together, "every"),
    "ten languages, one after another": (apart, "every"),
    "the same, one not linked back to": (unreturned, "every"),
}


def main() -> None:
    """Measure, print a table, and fail if a check takes too much."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--urls", type=int, default=URLS)
    options.add_argument("--linked", type=int, default=LINKED)
    options.add_argument("--only", choices=list(WEBSITES), action="append")
    given = options.parse_args()
    too_much = False
    print(
        "| website | pages | findings | iterating: fields, CPU s, wall s | checking: CPU s, wall s "
        "| times | peak MiB |\n|---|---|---|---|---|---|---|"
    )
    for label in given.only or WEBSITES:
        write, fields = WEBSITES[label]
        with tempfile.TemporaryDirectory() as name:
            write(Path(name), given.urls, given.linked)
            done = subprocess.run(
                [sys.executable, "-c", _READ, name, fields],
                capture_output=True,
                text=True,
                check=True,
            )
        pages, cpu, wall, found, check_cpu, check_wall, peak = map(float, done.stdout.split())
        times = check_cpu / cpu
        print(
            f"| {label} | {pages:,.0f} | {found:,.0f} | {fields}, {cpu:.1f}, {wall:.1f} "
            f"| {check_cpu:.1f}, {check_wall:.1f} | {times:.1f} | {peak:.0f} |",
            flush=True,
        )
        too_much |= peak > MOST_MIB or times > MOST_TIMES
    if too_much:
        sys.exit(f"more than {MOST_MIB} MiB, or {MOST_TIMES} times the iteration")


if __name__ == "__main__":
    main()
