"""The benchmark's sites, written as files; the same bytes on every machine.

``python -m bench.data SHAPE SITEMAPS URLS DIR`` makes one. It runs as a process of its own, so that
what it needs of memory is not inherited by the contenders as their peak.
"""

from __future__ import annotations

import gzip
import json
import random
import re
import shutil
import sys
from functools import partial
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from bench.rich import rich_urlset
from bench.wild import WAYS, atom_feed, rss_feed, wild_urlset

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

VERSION = 1
"""Part of the cache's key: count it up when anything below changes."""

NAMESPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"
_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_PER_INDEX = 1000
_ONE_INDEX = 100
_SECTIONS = (
    "news",
    "sport",
    "culture",
    "products/garden",
    "products/kitchen",
    "blog",
    "de/artikel",
)
_WORDS = ["amber", "basket", "copper", "distant", "early", "forest", "garden", "harbour", "island"]
_WORDS += ["journey", "kettle", "lantern", "meadow", "northern", "orchard", "pepper", "quiet"]
_WORDS += ["river", "silver", "timber", "under", "velvet", "winter", "yellow", "zephyr"]
_FREQUENCIES = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")


def main() -> None:
    """Make the site that the command line names."""
    shape, sitemaps, urls, directory = sys.argv[1:]
    root = Path(directory)
    shutil.rmtree(root, ignore_errors=True)
    (root / "pages").mkdir(parents=True)
    names = []
    size = 0
    for name, body in SHAPES[shape](int(sitemaps), int(urls)):
        data = body.encode() if isinstance(body, str) else body
        (root / "pages" / name).write_bytes(data)
        names.append(name)
        size += len(data)
    _write_indexes(root, names, nested=shape != "small" or len(names) > _ONE_INDEX)
    about = {"urls": int(urls), "sitemaps": len(names), "bytes": size}
    (root / "about.json").write_text(json.dumps(about))


def _write_indexes(root: Path, names: list[str], *, nested: bool) -> None:
    """Write robots.txt, and one index or an index of indexes."""
    locs = [f"http://@BASE@/pages/{name}" for name in names]
    if nested:
        step = min(_PER_INDEX, -(-len(locs) // 5))
        groups = [locs[at : at + step] for at in range(0, len(locs), step)]
        for number, group in enumerate(groups):
            (root / f"index-{number}.xml").write_text(_index(group))
        locs = [f"http://@BASE@/index-{number}.xml" for number in range(len(groups))]
    (root / "index.xml").write_text(_index(locs))
    (root / "robots.txt").write_text("User-agent: *\nSitemap: http://@BASE@/index.xml\n")


def _index(locs: list[str]) -> str:
    entries = "".join(f"<sitemap>\n<loc>{loc}</loc>\n</sitemap>\n" for loc in locs)
    return f'{_DECLARATION}\n<sitemapindex xmlns="{NAMESPACE}">\n{entries}</sitemapindex>\n'


def shares(total: int, parts: int) -> list[int]:
    """Cut ``total`` into nearly equal parts, the larger first."""
    least, larger = divmod(total, parts)
    return [least + (number < larger) for number in range(parts)]


def locs(seed: int, amount: int) -> Iterator[str]:
    """Give unique URLs of the usual kind; every fiftieth has a query, every seventieth an umlaut."""
    rng = random.Random(seed)
    for number in range(amount):
        words = "-".join(rng.choices(_WORDS, k=3))
        end = f"{seed}-{number}"
        if number % 50 == 49:
            end += "?page=2&amp;ref=map"
        elif number % 70 == 69:
            end += "-straßen-übersicht"
        yield f"http://127.0.0.1/{_SECTIONS[number % 7]}/{words}-{end}"


def lastmod(number: int) -> str:
    """Give a date, in turn as day, as UTC with fraction, and with an offset."""
    day = f"20{10 + number % 15:02d}-{1 + number % 12:02d}-{1 + number % 28:02d}"
    time = f"{number % 24:02d}:{number % 60:02d}:{number * 7 % 60:02d}"
    return (day, f"{day}T{time}.125Z", f"{day}T{time}+02:00")[number % 3]


def _one_line(number: int, loc: str) -> str:
    return f"<url><loc>{loc}</loc><lastmod>{lastmod(number)}</lastmod></url>\n"


def _pretty(number: int, loc: str) -> str:
    return (
        f"  <url>\n    <loc>{loc}</loc>\n    <lastmod>{lastmod(number)[:10]}</lastmod>\n  </url>\n"
    )


def _minimal(_: int, loc: str) -> str:
    return f"<url><loc>{loc}</loc></url>\n"


def _all_fields(number: int, loc: str) -> str:
    return (
        f"<url>\n<loc>{loc}</loc>\n<lastmod>{lastmod(number)}</lastmod>\n<changefreq>"
        f"{_FREQUENCIES[number % 7]}</changefreq>\n<priority>0.{number % 10}</priority>\n</url>\n"
    )


def _windows(number: int, loc: str) -> str:
    frequency = _FREQUENCIES[number % 7]
    return f"<url>\r\n\t<loc>{loc}</loc>\r\n\t<changefreq>{frequency}</changefreq>\r\n</url>\r\n"


def _unbroken(number: int, loc: str) -> str:
    return f"<url><loc>{loc}</loc><priority>0.{number % 10}</priority></url>"


def _attributed(number: int, loc: str) -> str:
    return f"<url ><loc xml:lang='en'>\n{loc}\n</loc ><lastmod>{lastmod(number)}</lastmod></url >\n"


def _prefixed(_: int, loc: str) -> str:
    return f"<sm:url><sm:loc>{loc}</sm:loc></sm:url>\n"


_PLAIN_ROOT = f'urlset xmlns="{NAMESPACE}"'
_ATTRIBUTED_ROOT = (
    f"urlset xmlns:xsi='http://www.w3.org/2001/XMLSchema-instance' xmlns='{NAMESPACE}' "
    f"xsi:schemaLocation='{NAMESPACE} {NAMESPACE}/sitemap.xsd'"
)
_ODD = (
    (_windows, _PLAIN_ROOT, "\r\n"),
    (_unbroken, _PLAIN_ROOT, ""),
    (_attributed, _ATTRIBUTED_ROOT, "\n"),
    (_prefixed, f'sm:urlset xmlns:sm="{NAMESPACE}"', "\n"),
)


def _style(number: int) -> tuple[Callable[[int, str], str], str, str]:
    """Give entry, root and line end of a sitemap: five styles in turn, the fifth itself in four."""
    style = number % 5
    if style == 4:
        return _ODD[number // 5 % 4]
    return (_one_line, _pretty, _minimal, _all_fields)[style], _PLAIN_ROOT, "\n"


def plain(sitemaps: int, urls: int) -> Iterator[tuple[str, str | bytes]]:
    """Give ordinary sitemaps in five ways of writing them."""
    for number, amount in enumerate(shares(urls, sitemaps)):
        entry, root, line = _style(number)
        body = "".join(map(entry, count(), locs(number, amount)))
        end = root.partition(" ")[0]
        yield f"{number:05d}.xml", f"{_DECLARATION}{line}<{root}>{line}{body}</{end}>{line}"


def gzipped(sitemaps: int, urls: int) -> Iterator[tuple[str, str | bytes]]:
    """Give the plain ones compressed."""
    for name, body in plain(sitemaps, urls):
        yield f"{name}.gz", gzip.compress(str(body).encode(), 6, mtime=0)


def commented(sitemaps: int, urls: int) -> Iterator[tuple[str, str | bytes]]:
    """Give the plain ones with a comment before every entry."""
    start = re.compile(r"<(?:sm:)?url[ >]")
    for name, body in plain(sitemaps, urls):
        yield name, start.sub(r"<!-- written by a machine -->\g<0>", str(body))


def rich(sitemaps: int, urls: int) -> Iterator[tuple[str, str | bytes]]:
    """Give sitemaps full of alternates, images and news."""
    for number, amount in enumerate(shares(urls, sitemaps)):
        yield f"{number:05d}.xml", rich_urlset(number, locs(number, amount))


def wild(
    sitemaps: int, urls: int, ways: tuple[str, ...] = tuple(WAYS)
) -> Iterator[tuple[str, str | bytes]]:
    """Give sitemaps in the ways of the web, in turn."""
    for number, amount in enumerate(shares(urls, sitemaps)):
        yield f"{number:05d}.xml", wild_urlset(ways[number % len(ways)], locs(number, amount))


def feeds(
    write: Callable[[Iterator[str]], str], sitemaps: int, urls: int
) -> Iterator[tuple[str, str | bytes]]:
    """Give feeds of one kind."""
    for number, amount in enumerate(shares(urls, sitemaps)):
        yield f"{number:05d}.xml", write(locs(number, amount))


SHAPES = {
    "plain": plain,
    "gzip": gzipped,
    "commented": commented,
    "rich": rich,
    "small": plain,
    "wild": wild,
    **{f"wild {way}": partial(wild, ways=(way,)) for way in WAYS},
    "rss": partial(feeds, rss_feed),
    "atom": partial(feeds, atom_feed),
}

if __name__ == "__main__":
    main()
