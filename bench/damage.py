"""``python -m bench.damage``: how the time for damage grows, as a ratio of CPU time.

Every kind of damage is read at one length and at six times that, in all ways, in small pieces, in one
piece and compressed. A ratio of 6 is linear; one much above it is not.
"""

from __future__ import annotations

import argparse
import gzip
import logging
import sys
import time

TIMES = 6
MOST = 9.0  # the ratio that is still taken for linear: short runs vary
SHORTEST = 0.02  # seconds below which a ratio says nothing
PIECE = 16 * 1024
ONE_PIECE = 1 << 30

REPEATED = (
    *("<", "<a ", "<a b='", '<a b="', "<!", "<![", "<![CDATA[", "<!--", "<!-- x ", "<!--->", "<?"),
    *("<?x ", "<?xml ", "<!DOCTYPE ", "<!DOCTYPE x [", "<!DOCTYPE x>", "<!ENTITY a 'b", "&", "&#1"),
    *("<loc>&", "<loc>", "<loc/>", "<a>", "</a>", "<a></b>", "<url>", "<url/>", "</url>", "\0"),
    *("<url>\0", "<lo\0", "<a xmlns:b='c'>", "<a xml:base='b'>", "<urlset>", "</urlset>", "<x:a>"),
    *("<sitemap>", "<url><loc>", "<url><loc>http://a/</loc><!--</url>", "words "),
    *("<url><loc>http://a/</loc><![CDATA[</url>", "<url><loc>http://a/</loc>< </url>"),
    *("<url><loc>http://a/</loc><image:image><image:loc>", "<url><loc>http://a/</loc></url "),
)
LONG = (
    *(("<a ", " b='c'", ">"), ("<a ", " xmlns:b='c'", ">"), ("<!--", "x<", ""), ("<?x ", "?<", "")),
    *(("<url><loc>http://a/", "x", "</loc></url>"), ("<url><loc>http://a/", "&x", "</loc></url>")),
    *(
        ("<url><loc><![CDATA[http://a/", "]", "]]></loc></url>"),
        ("<a b='", "x>", ""),
        ("<a ", "'", ">"),
    ),
    *(
        ("<url><loc>http://a/</loc>", "< ", "</url>"),
        ("<url><loc>http://a/</loc><lastmod>", "2", ""),
    ),
)
ROOTS = ("urlset", "sitemapindex", "rss", "feed")


def documents(length: int, root: str) -> dict[str, bytes]:
    """Return a document of about that length for every kind of damage."""
    made = {unit: unit * (length // len(unit)) for unit in REPEATED}
    made |= {f"{a}{b}…{c}": a + b * (length // len(b)) + c for a, b, c in LONG}
    return {name: f"<{root}>{inside}</{root}>".encode() for name, inside in made.items()}


def seconds(data: bytes, size: int, *, fast: bool) -> float:
    """Return the CPU time of reading a document with all its fields, in pieces of that size."""
    from usp._formats.abstract_parser import PageBatch, PageEntry  # noqa: PLC0415
    from usp._formats.document import DocumentParser  # noqa: PLC0415 - only usp's own environment has it
    from usp.limits import Limits  # noqa: PLC0415

    started = time.process_time()
    parser = DocumentParser("https://www.example.org/", fast=fast, limits=Limits(ratio=None))
    for at in [*range(0, len(data), size), -1]:
        for entry in parser.close() if at < 0 else parser.feed(data[at : at + size]):
            if isinstance(entry, PageEntry):
                entry.page(lambda *_: None)
            elif isinstance(entry, PageBatch):
                for page in entry.pages():
                    page.images  # noqa: B018 - reads the fields
    return time.process_time() - started


def main() -> int:
    """Measure, print a line for each kind, and say whether all of them are linear."""
    options = argparse.ArgumentParser(prog="python -m bench.damage", description=__doc__)
    options.add_argument("--kib", type=int, default=256, help="length of the shorter document")
    options.add_argument("--roots", default="urlset", help=f"comma-separated: {','.join(ROOTS)}")
    chosen = options.parse_args()
    logging.disable(logging.CRITICAL)
    worst = 0.0
    for root in chosen.roots.split(","):
        short, long = (documents(chosen.kib * 1024 * times, root) for times in (1, TIMES))
        for name, data in short.items():
            ratios = []
            for size in (PIECE, ONE_PIECE, 0):
                for fast in (False, True):
                    both = [data, long[name]]
                    if not size:
                        both = [gzip.compress(document) for document in both]
                    one, six = (seconds(document, size or PIECE, fast=fast) for document in both)
                    ratios.append(six / max(one, SHORTEST))
            worst = max(worst, *ratios)
            told = " ".join(f"{ratio:5.1f}" for ratio in ratios)
            print(
                f"{root:13} {name!r:50.50} {told}{'  <<<' if max(ratios) > MOST else ''}",
                flush=True,
            )
    print(f"{TIMES} times the damage takes at most {worst:.1f} times as long")
    return worst > MOST


if __name__ == "__main__":
    sys.exit(main())
