"""Makes the pictures of the documentation: ``python tools/screenshots.py [folder]``.

Needs playwright, and a Chromium that the system has installed.
"""

# ruff: noqa: INP001 - a script
from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import sync_playwright

from usp.demo import demo_site
from usp.report import FetchLog, write_report
from usp.tree import sitemap_tree_for_homepage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1280, 1500


def demo_report(path: Path) -> None:
    """Write the report of the bundled website."""
    log = FetchLog()
    with demo_site() as url:
        tree = sitemap_tree_for_homepage(url, on_event=log)
    write_report(tree, path, log)


def picture(browser: Browser, page: Path, to: Path, *, theme: Literal["light", "dark"]) -> None:
    """Open a page and take a picture of its beginning."""
    context = browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT},
        color_scheme=theme,
        reduced_motion="reduce",
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.wait_for_selector("#rows[data-ready]")
    tab.screenshot(path=to)
    context.close()


def main() -> None:
    """Make all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as play:
        report = Path(scratch) / "report.html"
        demo_report(report)
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        picture(browser, report, folder / "report-light.png", theme="light")
        picture(browser, report, folder / "report-dark.png", theme="dark")
        browser.close()


if __name__ == "__main__":
    main()
