"""``python -m bench.report``: a report on 300,000 pages, opened, filtered and sorted in Chromium.

The website has dates, news, images and some findings. Measured are the size of the file, the time
until the table of pages can be used, and for each filter and order the time from the input to the
frame that shows it. The command fails if one of them is above its bar. Needs ``playwright`` and a
Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from usp.objects.sitemap import IndexWebsiteSitemap
from usp.report import write_report
from usp.tree import sitemap_from_bytes

SITE = "https://www.example.org"
MOST = {"file": 25.0, "open": 3.0, "filter": 0.2, "sort": 1.0}  # MiB, and seconds

_HEAD = (
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9" '
    'xmlns:news="http://www.google.com/schemas/sitemap-news/0.9" '
    'xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">'
)
_SECTIONS = "blog", "shop/tea", "shop/cups", "news", "docs"
_WORDS = [
    "tea",
    "milk",
    "oat",
    "river",
    "stone",
    "lamp",
    "quiet",
    "north",
    "apple",
    "harbor",
    "winter",
]
_EACH = 25_000  # pages of a sitemap
_CHROMIUMS = "chromium", "chromium-browser", "google-chrome"
_FIELDS = {
    "word": ("search", "winter"),
    "rare word": ("search", "harbor-harbor-12"),
    "section": ("section", "/shop/"),
    "sitemap": ("sitemap", "/3.xml"),
    "date": ("from", "2020-01-01"),
    "finding": ("finding", "any"),
}
_HEADS = "page", "last modified", "news title"
_TIMED = """([act, name, value]) => new Promise((done) => {
    const start = performance.now();
    const seen = new MutationObserver(() => {
        seen.disconnect();
        requestAnimationFrame(() => setTimeout(() => done((performance.now() - start) / 1000)));
    });
    seen.observe(document.getElementById("pages-place"), { subtree: true, childList: true });
    if (act === "sort") {
        const heads = [...document.querySelectorAll("#pages-table th button")];
        heads.find((one) => one.textContent === name).click();
    } else {
        const field = document.getElementById(`pages-${name}`);
        field.value = value;
        field.dispatchEvent(new Event("input", { bubbles: true }));
    }
})"""


def main() -> None:
    """Measure, print a table, and fail if something takes too much."""
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument("--pages", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "report.html"
        start = time.process_time()
        write_report(_website(options.pages), path)
        print(f"{options.pages:,} pages; written in {time.process_time() - start:.1f} s of CPU.\n")
        taken = {"file": [path.stat().st_size / 2**20], **_in_browser(path, options.rounds)}
    print("| | median | most | bar |")
    print("|---|---|---|---|")
    slow = []
    for name, values in taken.items():
        bar, middle = MOST[name.partition(" ")[0]], statistics.median(values)
        print(f"| {name} | {middle:.2f} | {max(values):.2f} | {bar} |")
        if middle > bar:
            slow.append(name)
    if slow:
        sys.exit(f"above the bar: {', '.join(slow)}")


def _website(pages: int) -> IndexWebsiteSitemap:
    random = Random(1)
    documents = (
        "".join((_HEAD, *_entries(range(at, min(at + _EACH, pages)), random), "</urlset>"))
        for at in range(0, pages, _EACH)
    )
    sitemaps = [
        sitemap_from_bytes(document.encode(), f"{SITE}/{at}.xml")
        for at, document in enumerate(documents)
    ]
    return IndexWebsiteSitemap(f"{SITE}/", sitemaps)


def _entries(numbers: range, random: Random) -> Iterator[str]:
    for at in numbers:
        slug = "-".join(random.choices(_WORDS, k=5))
        loc = f"{SITE}/{_SECTIONS[at % 5]}/{slug}-{at}/"
        date = f"20{10 + at % 15}-{1 + at % 12:02}-{1 + at % 28:02}T{at % 24:02}:{at % 60:02}:00Z"
        entry = f"<loc>{loc}</loc><lastmod>{date if at % 50 else 'soon'}</lastmod>"
        if at % 5 == 3:
            entry += (
                "<news:news><news:publication><news:name>Tea</news:name><news:language>en</news:language>"
                f"</news:publication><news:publication_date>{date}</news:publication_date>"
                f"<news:title>{slug.replace('-', ' ').title()}</news:title></news:news>"
            )
        if at % 4 == 0:
            entry += f"<image:image><image:loc>{SITE}/{at}.jpg</image:loc></image:image>"
        yield f"<url>{entry}</url>"


def _in_browser(path: Path, rounds: int) -> dict[str, list[float]]:
    """Return the seconds that opening, filtering and sorting take, each in every round."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - an extra of this benchmark

    taken: dict[str, list[float]] = {}
    chromium = next(filter(None, map(shutil.which, _CHROMIUMS)), None)
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for _ in range(rounds):
            tab: Any = browser.new_page()
            start = time.perf_counter()
            tab.goto(path.as_uri())
            tab.wait_for_selector("#pages-place[data-ready]")
            taken.setdefault("open", []).append(time.perf_counter() - start)
            for name, (field, value) in _FIELDS.items():
                seconds = tab.evaluate(_TIMED, ["filter", field, value])
                taken.setdefault(f"filter by {name}", []).append(seconds)
                tab.evaluate(_TIMED, ["filter", field, ""])
            for head in _HEADS:
                taken.setdefault(f"sort by {head}", []).append(
                    tab.evaluate(_TIMED, ["sort", head, ""])
                )
            tab.close()
        browser.close()
    return taken


if __name__ == "__main__":
    main()
