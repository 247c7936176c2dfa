"""Makes the pictures of the documentation: ``python tools/screenshots.py [folder]``.

Needs playwright, and a Chromium and Graphviz that the system has installed.
"""

# ruff: noqa: INP001 - a script
from __future__ import annotations

import io
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from playwright.sync_api import sync_playwright
from rich.console import Console
from rich.text import Text

import usp.graph
from usp._demo import demo_site
from usp.report import write_report
from usp.tree import sitemap_tree_for_homepage

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import Browser

FOLDER = Path(__file__).parents[1] / "docs" / "images"
WIDTH, HEIGHT = 1280, 1500
PHONE = 390


def demo_report(path: Path) -> None:
    """Write the report of the bundled website."""
    with demo_site() as url:
        tree = sitemap_tree_for_homepage(url)
    write_report(tree, path)


def terminal(command: Sequence[str], page: Path) -> None:
    """Write what a command prints on a terminal, as a page."""
    done = subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, "-m", "usp.cli", *command],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": "140", "NO_PROXY": "*"},
    )
    console = Console(record=True, width=140, file=io.StringIO(), highlight=False)
    console.print(Text(f"$ usp {' '.join(command)}", style="bold"))
    console.print(Text.from_ansi(done.stdout))
    console.save_svg(str(page), title="usp")


def shot(browser: Browser, page: Path, to: Path) -> None:
    """Take a picture of a drawing, as large as it is."""
    frame = page.with_suffix(".html")
    frame.write_text(f'<img src="{page.name}" style="max-width: 100%">', encoding="utf-8")
    tab = browser.new_page(viewport={"width": WIDTH, "height": 800})
    tab.goto(frame.as_uri())
    tab.locator("img").screenshot(path=to)
    tab.close()


def picture(
    browser: Browser, page: Path, to: Path, *, theme: Literal["light", "dark"], width: int = WIDTH
) -> None:
    """Open a page and take a picture of its beginning."""
    context = browser.new_context(
        viewport={"width": width, "height": HEIGHT},
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
        picture(browser, report, folder / "report-phone.png", theme="light", width=PHONE)
        tree, graph = Path(scratch) / "tree.svg", Path(scratch) / "graph.svg"
        with demo_site() as url:
            terminal(["tree", url, "--problems"], tree)
            graph.write_text(usp.graph.svg(sitemap_tree_for_homepage(url)), encoding="utf-8")
        shot(browser, tree, folder / "tree.png")
        shot(browser, graph, folder / "graph.png")
        browser.close()


if __name__ == "__main__":
    main()
