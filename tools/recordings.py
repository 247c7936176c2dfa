"""Terminal recordings for the documentation: real commands on the demo website, as SVG.

The colours are those of a dark terminal, which reads well on light and dark pages. Lines appear one
after another, unless the reader prefers reduced motion, and stay.
"""

# ruff: noqa: INP001 - part of a script
from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import chdir
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from html import unescape
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rich.console import Console
from rich.terminal_theme import TerminalTheme
from rich.text import Text
from stand_in import SITE, stand_in

from usp._demo import demo_files

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

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
    "check.svg": Recording("usp check", ("usp check example.org",)),
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
@media screen and (prefers-reduced-motion: no-preference) {{
.{unique_id}-matrix text {{ animation: appear 0.2s backwards }}
@keyframes appear {{ from {{ opacity: 0 }} }}
/* delays */
}}
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


def printed(command: str, environment: dict[str, str]) -> str:
    """Return what a command prints, in colour, on a terminal of ``COLUMNS`` columns."""
    return subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, "-m", "usp.cli", *command.split()[1:]],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, **environment, "FORCE_COLOR": "1"},
    ).stdout


def outputs(
    recording: Recording, run: Callable[[str, dict[str, str]], str] = printed
) -> Iterator[tuple[str, str]]:
    """Yield each command with what it prints in a folder of its own, run by ``run``."""
    files = demo_files(SITE)
    with TemporaryDirectory() as folder, chdir(folder), stand_in(files) as environment:
        environment["COLUMNS"] = str(COLUMNS)
        for command in recording.commands:
            if recording.later and command == recording.commands[-1]:
                files |= demo_files(SITE, later=True)
            yield command, _steady(run(command, environment))


def _steady(text: str) -> str:
    """Return what was printed as if it was another day: the demo website is never older than today."""
    today = datetime.now(UTC).date()
    return text.replace(str(today), "2025-06-03").replace(str(today - timedelta(1)), "2025-06-02")


def svg(title: str, typed: Sequence[tuple[str, str]], columns: int = COLUMNS) -> str:
    """Return commands and what they printed as a picture of a terminal."""
    console = Console(
        record=True, width=columns, file=io.StringIO(), highlight=False, force_terminal=True
    )
    for at, (command, output) in enumerate(typed):
        if at:
            console.print()
        console.print(Text.assemble(("$ ", "green"), (command, "bold")))
        whole = columns == COLUMNS
        cut = None if whole else "ellipsis"
        for line in Text.from_ansi(output.rstrip("\n")).split():
            console.print(line, no_wrap=not whole, overflow=cut)
    drawn = console.export_svg(title=title, theme=_THEME, code_format=_TEMPLATE, unique_id="usp")
    last = max(map(int, re.findall(r"url\(#usp-line-(\d+)\)", drawn)), default=0)
    delays = "\n".join(
        f'text[clip-path="url(#usp-line-{line})"] {{ animation-delay: {_delay(line):.2f}s }}'
        for line in range(1, last + 1)
    )
    return drawn.replace("/* delays */", delays)


def _delay(line: int) -> float:
    return 0.3 + 0.05 * line


def shown(picture: str) -> str:
    """Return the text that a recording shows, without its white space."""
    texts = re.findall(r'url\(#usp-line-\d+\)">(.*?)</text>', picture)
    return "".join(unescape("".join(texts)).split())
