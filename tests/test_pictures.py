"""The pictures of the documentation are what ``python tools/pictures.py`` makes of things as they are now."""

import json
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT / "tools"), str(ROOT)]

import architecture  # noqa: E402 - a script
import pictures  # noqa: E402
import recordings  # noqa: E402
from bench import chart  # noqa: E402
from tools import reference_pages  # noqa: E402

from together import together  # noqa: E402

IMAGES = ROOT / "docs" / "images"
MADE = {name for names in pictures.PICTURES.values() for name in names}
DRAWINGS = sorted(IMAGES.glob("*.svg"))
RECORD = json.loads(pictures.RESULTS.read_text(encoding="utf-8"))
RUN = "run python tools/pictures.py"


def test_every_picture_is_made_by_the_script():
    assert {path.name for path in IMAGES.iterdir()} == MADE


def pages() -> dict[Path, str]:
    """Return the texts of all pages, those that are made from the code too."""
    found = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    made = reference_pages.all_pages()
    texts = {page: page.read_text("utf-8") for page in found}
    return texts | {reference_pages.FOLDER / path: text for path, text in made.items()}


def shown_by(page: Path, text: str) -> set[Path]:
    """Return the files that the pictures of a page are."""
    names = re.findall(r"!\[[^]]*\]\(([^)\s]+)\)|\b(?:src|srcset)=\"([^\"]+)\"", text)
    return {(page.parent / "".join(name)).resolve() for name in names}


def test_every_picture_is_on_a_page_and_every_page_has_its_pictures():
    shown = {path for page, text in pages().items() for path in shown_by(page, text)}
    assert {path.name for path in shown if path.parent == IMAGES} == MADE
    assert [str(path) for path in shown if not path.exists()] == []


def test_every_picture_has_a_text_for_those_who_do_not_see_it():
    for page, text in pages().items():
        assert "![](" not in text
        assert all("alt=" in tag for tag in re.findall(r"<img[^>]*>", text)), page


@together("path", DRAWINGS)
def test_a_drawing_loads_nothing_and_shows_everything_at_once(path):
    text = path.read_text(encoding="utf-8")
    assert re.findall(r"animat|@keyframes|opacity: 0\b", text) == []
    assert re.findall(r"<script|<image|@import|@font-face|href=|url\((?!#)", text) == []


@together("name", chart.CHARTS)
def test_charts_show_the_results_of_the_benchmark(name):
    assert (IMAGES / name).read_text(encoding="utf-8") == chart.CHARTS[name](RECORD), RUN


def test_the_table_of_the_readme_has_the_results_of_the_benchmark():
    text = pictures.README.read_text(encoding="utf-8")
    assert pictures.with_figures(text, RECORD["measurements"]) == text, RUN
    assert pictures.with_figures(text, []) != text, "the README has no table of the benchmark"


def test_the_worst_shapes_are_in_the_chart_first():
    ratios = re.findall(r'class="figure strong".*>(?:&gt; )?([\d.]+) \u00d7<', chart.shapes(RECORD))
    assert len(ratios) > 20
    assert ratios == sorted(ratios, key=float)


def test_the_architecture_shows_every_layer_in_its_row():
    text = (IMAGES / "architecture.svg").read_text(encoding="utf-8")
    heights = dict(re.findall(r'<title>([^<]+)</title>\n<path[^>]* d="M[-\d.]+,(-?[\d.]+)', text))
    missing = {name for names in architecture.layers() for name in names} - set(heights)
    assert missing == set(), RUN
    rows = [{float(heights[name]) for name in names} for names in architecture.layers()]
    assert all(len(row) == 1 for row in rows), RUN
    tops = [max(row) for row in rows]
    assert tops == sorted(tops), RUN


@pytest.mark.long
@together("name, recording", recordings.RECORDINGS.items())
def test_a_recording_shows_what_its_commands_print_now(name, recording):
    now = recordings.svg(recording.title, list(recordings.outputs(recording)), recording.columns)
    kept = (IMAGES / name).read_text(encoding="utf-8")
    assert recordings.shown(kept) == recordings.shown(now), RUN
