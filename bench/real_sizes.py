"""``python -m bench.real_sizes``: documents of the sizes that websites have, each seen once.

Most sitemaps have about ten entries, post sitemaps some hundred of which a few have images, feeds ten
to fifty entries with bodies. Every field of every page is read; CPU time a document, side by side.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import subprocess
import sys
import tempfile
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bench.environments import HERE, OURS, PEER, python_of
from bench.run import contender_environment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

WORST, MEDIAN = 1.5, 3.0
"""Times the speed of the peer that must be reached: by the worst kind, and by their median."""

_SPACES = {
    "image": "http://www.google.com/schemas/sitemap-image/1.1",
    "news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xhtml": "http://www.w3.org/1999/xhtml",
}
_WORDS = [
    "harbour",
    "morning",
    "quiet",
    "council",
    "budget",
    "tea",
    "garden",
    "winter",
    "league",
    "minister",
    "storm",
    "review",
]
_LANGUAGES = ("en", "de", "fr", "x-default")
_BODY = '<p>Some <a href="https://www.example.org/more?a=1&amp;b=2">words</a> of the story.</p>\n'


class Maker:
    """Makes documents; the same number makes the same ones."""

    def __init__(self, number: int) -> None:
        self._random = random.Random(number)
        self._host = f"https://www.site{number}.example"
        self._moment = datetime(2025, 1, 1, tzinfo=UTC) + timedelta(minutes=number)

    def _words(self, least: int, most: int) -> str:
        return " ".join(self._random.choices(_WORDS, k=self._random.randint(least, most)))

    def _loc(self) -> str:
        return (
            f"{self._host}/{self._words(1, 5).replace(' ', '-')}-{self._random.randrange(10**6)}/"
        )

    def _time(self) -> datetime:
        self._moment -= timedelta(seconds=self._random.randint(60, 90_000))
        return self._moment

    def _entries(self, least: int, most: int) -> range:
        return range(self._random.randint(least, most))

    def _urlset(self, entries: Iterator[str], *prefixes: str) -> str:
        spaces = "".join(f' xmlns:{prefix}="{_SPACES[prefix]}"' for prefix in prefixes)
        root = f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"{spaces}>'
        body = "".join(f"\t<url>\n{entry}\t</url>\n" for entry in entries)
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n{body}</urlset>\n'

    def _own(self) -> str:
        return f"\t\t<loc>{self._loc()}</loc>\n\t\t<lastmod>{self._time().isoformat()}</lastmod>\n"

    def _image(self) -> str:
        loc = f"<image:loc>{self._loc()}a.jpg</image:loc>"
        return f"\t\t<image:image>\n\t\t\t{loc}\n\t\t</image:image>\n"

    def small(self) -> str:
        """Return a urlset of 1 to 30 entries."""
        more = "\t\t<changefreq>weekly</changefreq>\n\t\t<priority>0.8</priority>\n"
        return self._urlset(self._own() + more for _ in self._entries(1, 30))

    def sparse_images(self) -> str:
        """Return a post sitemap: a few of its entries have images."""
        entries = (
            self._own() + "".join(self._image() for _ in range(max(0, self._random.randint(-5, 3))))
            for _ in self._entries(20, 400)
        )
        return self._urlset(entries, "image")

    def images(self) -> str:
        """Return a sitemap with an image in every entry."""
        return self._urlset((self._own() + self._image() for _ in self._entries(20, 200)), "image")

    def news(self) -> str:
        """Return a news sitemap."""
        entries = (
            f"\t\t<loc>{self._loc()}</loc>\n\t\t<news:news>\n\t\t\t<news:publication>\n"
            "\t\t\t\t<news:name>The Example Times</news:name>\n"
            "\t\t\t\t<news:language>en</news:language>\n\t\t\t</news:publication>\n"
            f"\t\t\t<news:publication_date>{self._time().isoformat()}</news:publication_date>\n"
            f"\t\t\t<news:title>{self._words(4, 9)}</news:title>\n"
            f"\t\t\t<news:keywords>{self._words(3, 3).replace(' ', ', ')}</news:keywords>\n"
            "\t\t</news:news>\n"
            for _ in self._entries(20, 200)
        )
        return self._urlset(entries, "news")

    def alternates(self) -> str:
        """Return a sitemap with each page in four languages."""
        entries = (
            self._own()
            + "".join(
                f'\t\t<xhtml:link rel="alternate" hreflang="{language}" href="{self._loc()}"/>\n'
                for language in _LANGUAGES
            )
            for _ in self._entries(20, 150)
        )
        return self._urlset(entries, "xhtml")

    def index(self) -> str:
        """Return an index of 1 to 30 sitemaps."""
        entries = "".join(
            f"\t<sitemap>\n\t\t<loc>{self._host}/sitemap-{number}.xml</loc>\n"
            f"\t\t<lastmod>{self._time().isoformat()}</lastmod>\n\t</sitemap>\n"
            for number in self._entries(1, 30)
        )
        space = "http://www.sitemaps.org/schemas/sitemap/0.9"
        root = f'<sitemapindex xmlns="{space}">'
        return f'<?xml version="1.0" encoding="UTF-8"?>\n{root}\n{entries}</sitemapindex>\n'

    def rss(self) -> str:
        """Return an RSS feed of 5 to 50 items with their bodies."""
        items = "".join(
            f"<item>\n<title>{self._words(3, 9)}</title>\n<link>{self._loc()}</link>\n"
            f"<dc:creator><![CDATA[{self._words(2, 2)}]]></dc:creator>\n"
            f"<pubDate>{format_datetime(self._time())}</pubDate>\n"
            f'<guid isPermaLink="false">{self._loc()}</guid>\n'
            f"<description><![CDATA[{_BODY}]]></description>\n"
            f"<content:encoded><![CDATA[{_BODY * self._random.randint(5, 60)}]]></content:encoded>\n"
            "</item>\n"
            for _ in self._entries(5, 50)
        )
        return (
            '<?xml version="1.0" encoding="UTF-8"?><rss version="2.0"\n'
            ' xmlns:content="http://purl.org/rss/1.0/modules/content/"\n'
            ' xmlns:dc="http://purl.org/dc/elements/1.1/">\n<channel>\n<title>News</title>\n'
            f"<link>{self._host}</link>\n{items}</channel>\n</rss>\n"
        )

    def atom(self) -> str:
        """Return an Atom feed of 5 to 50 entries with their bodies."""
        body = _BODY.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        entries = "".join(
            f"<entry>\n<title>{self._words(3, 9)}</title>\n"
            f'<link href="{self._loc()}" rel="alternate" type="text/html"/>\n'
            f"<published>{self._time().isoformat()}</published>\n"
            f"<updated>{self._time().isoformat()}</updated>\n<id>{self._loc()}</id>\n"
            f'<content type="html">{body * self._random.randint(5, 60)}</content>\n</entry>\n'
            for _ in self._entries(5, 50)
        )
        head = f'<title>News</title>\n<link href="{self._host}/feed.xml" rel="self"/>\n'
        return (
            '<?xml version="1.0" encoding="utf-8"?><feed xmlns="http://www.w3.org/2005/Atom">\n'
            f"{head}<id>{self._host}/</id>\n{entries}</feed>\n"
        )

    def robots(self) -> str:
        """Return a robots.txt."""
        rules = "".join(f"Disallow: /{self._words(1, 2)}/\n" for _ in self._entries(3, 40))
        sitemaps = "".join(f"Sitemap: {self._host}/{at}.xml\n" for at in self._entries(1, 4))
        return f"User-agent: *\n{rules}\n{sitemaps}"


KINDS: dict[str, Callable[[Maker], str]] = {
    "urlsets of 1-30 entries": Maker.small,
    "20-400 entries, sparse images": Maker.sparse_images,
    "an image in every entry": Maker.images,
    "news": Maker.news,
    "four alternates": Maker.alternates,
    "indexes of 1-30": Maker.index,
    "RSS of 5-50 items": Maker.rss,
    "Atom of 5-50 entries": Maker.atom,
    "robots.txt": Maker.robots,
}


def measure(path: Path, name: str) -> dict[str, dict[str, float]]:
    """Return what the script of a contender prints."""
    script = HERE / "contenders" / "run_documents.py"
    options = json.dumps({"documents": str(path)})
    run = subprocess.run(
        [python_of(name), str(script), options],
        capture_output=True,
        text=True,
        check=True,
        env=contender_environment(),
    )
    return json.loads(run.stdout.splitlines()[-1])


def main() -> None:
    """Measure in turns, print a table, and fail below the bars."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--rounds", type=int, default=5)
    options.add_argument("--documents", type=int, default=100, help="of each kind")
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "documents.json")
        made = {
            kind: [make(Maker(number)) for number in range(given.documents + 1)]
            for kind, make in KINDS.items()
        }
        path.write_text(json.dumps(made))
        rounds = [{name: measure(path, name) for name in (OURS, PEER)} for _ in range(given.rounds)]
    print("| kind | usp: µs a document | 1.8.1 | usp is |")
    print("|---|--:|--:|--:|")
    ratios = []
    for kind in KINDS:
        ours, theirs = (
            min(turn[name]["kinds"][kind] for turn in rounds) / given.documents * 1e6
            for name in (OURS, PEER)
        )
        ratios.append(theirs / ours)
        same = rounds[0][OURS]["found"][kind] == rounds[0][PEER]["found"][kind]
        wrong = "" if same else " (other pages)"
        print(f"| {kind} | {ours:,.0f} | {theirs:,.0f} | {theirs / ours:.1f} ×{wrong} |")
    worst, median = min(ratios), statistics.median(ratios)
    print(f"\nworst {worst:.1f} × (bar {WORST}), median {median:.1f} × (bar {MEDIAN})")
    if worst < WORST or median < MEDIAN:
        sys.exit("slower than wanted")


if __name__ == "__main__":
    main()
