"""Makes the pictures of the documentation: ``python tools/pictures.py [PICTURE...]``.

    charts         from bench/results.json, by ``python -m bench --out``; the README's table, too
    recordings     terminals: real commands on the demo website
    architecture   the layers (needs Graphviz)
    graph          what ``usp tree -f svg`` draws (needs Graphviz)
    trees          the same of other websites, and what becomes of a document (needs Graphviz)
    report         the HTML report (needs playwright, and a Chromium of the system)

Without a name it makes all of them, in docs/images; it needs the dependency group ``test``. They look
the same each time, but for the times that the report shows. Drawings are SVG files without fonts,
scripts or links of their own.
"""

# ruff: noqa: INP001, T201 - a script
from __future__ import annotations

import json
import re
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import architecture
import recordings
import tree_diagrams
from drawings import on_paper

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from bench import chart, table  # noqa: E402 - a folder of the project, not a package of it
from bench.environments import PEER  # noqa: E402
from bench.results import Results  # noqa: E402

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FOLDER = ROOT / "docs" / "images"
README = ROOT / "README.md"
RESULTS = ROOT / "bench" / "results.json"
WIDTH, HEIGHT, PHONE_WIDTH, PHONE_HEIGHT = 1280, 650, 390, 844
PICTURES = {
    "charts": tuple(chart.CHARTS),
    "recordings": tuple(recordings.RECORDINGS),
    "architecture": ("architecture.svg",),
    "graph": ("graph.svg",),
    "trees": tree_diagrams.NAMES,
    "report": ("report-light.png", "report-dark.png", "report-phone.png", "report-phone-dark.png"),
}
_PRINTED = re.compile(r"(?<=<!-- printed by bench -->\n).*?(?=\n<!-- until here -->)", re.DOTALL)


def make_charts() -> None:
    """Draw the results of the benchmark, and write its table into the README."""
    record = json.loads(RESULTS.read_text(encoding="utf-8"))
    chart.write(record, FOLDER)
    text = README.read_text(encoding="utf-8")
    README.write_text(with_figures(text, record["measurements"]), encoding="utf-8")


def with_figures(text: str, measurements: list[dict[str, object]]) -> str:
    """Return the text of the README with the figures of the benchmark between its two marks."""
    results = Results(measurements)
    figures = f"{table.short(results, chart.MAIN)}\n\n{table.span(results, PEER)}"
    return _PRINTED.sub(lambda _: figures, text)


def make_recordings() -> None:
    """Draw terminals."""
    for name, recording in recordings.RECORDINGS.items():
        picture = recordings.svg(
            recording.title, list(recordings.outputs(recording)), recording.columns
        )
        (FOLDER / name).write_text(picture, encoding="utf-8")


def make_architecture() -> None:
    """Draw the layers."""
    (FOLDER / "architecture.svg").write_text(architecture.svg(), encoding="utf-8")


def make_graph() -> None:
    """Draw the sitemaps of the demo website."""
    drawn = on_paper(recordings.written("usp tree example.org -f svg"))
    (FOLDER / "graph.svg").write_text(drawn, encoding="utf-8")


def make_trees() -> None:
    """Draw the websites of the explanations, and the way of a document."""
    for name, drawing in tree_diagrams.drawings():
        (FOLDER / name).write_text(on_paper(drawing), encoding="utf-8")


def make_report() -> None:
    """Open the report of the demo website, and take pictures of its beginning."""
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - for these pictures only

    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as scratch, sync_playwright() as play:
        report = Path(scratch) / "report.html"
        written = recordings.written("usp report example.org -o -")
        report.write_text(written, encoding="utf-8")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        _shot(browser, report, "report-light.png", theme="light")
        _shot(browser, report, "report-dark.png", theme="dark")
        size = {"width": PHONE_WIDTH, "height": PHONE_HEIGHT}
        _shot(browser, report, "report-phone.png", theme="light", **size)
        _shot(browser, report, "report-phone-dark.png", theme="dark", **size)
        browser.close()


def _shot(
    browser: Browser,
    page: Path,
    name: str,
    *,
    theme: Literal["light", "dark"],
    width: int = WIDTH,
    height: int = HEIGHT,
) -> None:
    context = browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce"
    )
    tab = context.new_page()
    tab.goto(page.as_uri())
    tab.wait_for_selector("#rows[data-ready]")
    tab.screenshot(path=FOLDER / name)
    context.close()


MAKERS = {
    "charts": make_charts,
    "recordings": make_recordings,
    "architecture": make_architecture,
    "graph": make_graph,
    "trees": make_trees,
    "report": make_report,
}


def main() -> None:
    """Make the pictures that the command line names, or all."""
    wanted = sys.argv[1:] or list(MAKERS)
    if unknown := set(wanted) - set(MAKERS):
        sys.exit(f"unknown: {', '.join(sorted(unknown))}; choose from {', '.join(MAKERS)}")
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name in wanted:
        MAKERS[name]()
        print(*PICTURES[name], sep="\n")


if __name__ == "__main__":
    main()
