"""Terminal recordings for the documentation: real commands on the demo website, as SVG.

The colours are those of a dark terminal, which reads well on light and dark pages. Nothing moves: a
picture shows all of its lines at once.
"""

# ruff: noqa: INP001 - part of a script
from __future__ import annotations

import io
import os
import re
import shlex
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "docs"))

import doc_runs
from doc_sites import example_sites

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from doc_sites import Sites

COLUMNS = 104


@dataclass(frozen=True, slots=True)
class Recording:
    """Commands, as they are typed; the last one is typed ``later``: the website has changed.

    A picture with fewer columns shows only the beginning of long lines.
    """

    title: str
    commands: tuple[str, ...]
    later: bool = False
    columns: int = COLUMNS


RECORDINGS = {
    "tree.svg": Recording("usp tree", ("usp tree example.org -p",)),
    "tree-phone.svg": Recording("usp tree", ("usp tree example.org -p",), columns=58),
    "ls.svg": Recording(
        "usp ls",
        (
            "usp ls example.org --since 7d --dated -f pages",
            "usp ls example.org --since 2025-04 --until 2025-05 --dated -f csv --columns url,lastmod",
        ),
    ),
    "check.svg": Recording("usp check", ("usp check example.org",), columns=108),
    "diff.svg": Recording(
        "usp diff",
        ("usp snapshot example.org -o monday.warc.gz", "usp diff monday.warc.gz example.org"),
        later=True,
    ),
}

_THEME = TerminalTheme(
    (22, 27, 34),
    (214, 221, 228),
    [
        (22, 27, 34), (255, 123, 114), (126, 211, 133), (227, 179, 65),
        (121, 170, 255), (210, 168, 255), (86, 200, 216), (214, 221, 228),
    ],
)  # fmt: skip

_TEMPLATE = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img">
<style>
.{unique_id}-matrix {{ font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono",
  "Liberation Mono", monospace; font-size: {char_height}px; line-height: {line_height}px }}
.{unique_id}-title {{ font: bold 18px system-ui, sans-serif }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


def written(command: str, *, later: bool = False) -> str:
    """Return what a command writes to its standard output about the demo website."""
    with _terminal() as sites:
        sites.fill(later=later)
        return doc_runs.command(command).out.decode()


def outputs(recording: Recording) -> Iterator[tuple[str, str]]:
    """Yield each command with what it prints, in colour."""
    with _terminal() as sites:
        for command in recording.commands:
            sites.fill(later=recording.later and command == recording.commands[-1])
            typed = f"script -qec {shlex.quote(command)} /dev/null"  # at a terminal of its own
            shown = doc_runs.steady(doc_runs.command(typed, together=True).out.decode())
            # Without the progress that was written over, and the second \r that ends lines of CSV.
            yield command, re.sub(r".*\r(?!\n)|\r(?=\n)", "", shown)


@contextmanager
def _terminal() -> Iterator[Sites]:
    """Be at a terminal that shows colours, with the demo website as https://example.org/."""
    with TemporaryDirectory(prefix="usp-pictures-") as place:
        home = Path(place) / "home"
        home.mkdir()
        with example_sites(Path(place)) as sites, doc_runs.reader(home, sites):
            os.environ |= {"FORCE_COLOR": "1", "COLUMNS": str(COLUMNS), "NO_COLOR": ""}
            yield sites


def svg(title: str, typed: Sequence[tuple[str, str]], columns: int = COLUMNS) -> str:
    """Return commands and what they printed as a picture of a terminal."""
    console = Console(
        record=True, width=columns, file=io.StringIO(), highlight=False, force_terminal=True
    )
    for at, (command, output) in enumerate(typed):
        if at:
            console.print()
        console.print(Text.assemble(("$ ", "green"), (command, "bold")))
        whole = columns >= COLUMNS
        cut = None if whole else "ellipsis"
        for line in Text.from_ansi(output.rstrip("\n")).split():
            console.print(line, no_wrap=not whole, overflow=cut)
    return console.export_svg(title=title, theme=_THEME, code_format=_TEMPLATE, unique_id="usp")


def shown(picture: str) -> str:
    """Return the text that a recording shows, without its white space."""
    texts = re.findall(r'url\(#usp-line-\d+\)">(.*?)</text>', picture)
    return "".join(unescape("".join(texts)).split())
