"""The documents say what is there."""

import re
import shlex
from pathlib import Path

from cases import cases
from usp.cli.commands.cmd_ls import LINES, TABLES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = README + "".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("**/*.md"))
)


def blocks(text: str, language: str = r"\w*") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


def test_every_output_format_is_documented():
    for output in cases([*LINES, *TABLES]):
        assert f"`{output}`" in DOCS


def test_the_two_commands_stand_in_blocks_of_one_line():
    """The continuous integration takes them from there, word for word."""
    lines = [block.strip() for block in blocks(README) if block.count("\n") == 1]
    for end in ("usp demo", "pytest"):
        found = [line for line in lines if line.startswith("python3 -m venv") and end in line]
        assert len(found) == 1, end
        assert shlex.split(found[0])


def test_every_file_that_the_docs_name_is_there():
    for path in cases(sorted((ROOT / "docs").glob("**/*.md"))):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r"`((?:src/usp|usp|tests|docs)/[\w./-]+)`", text):
            place = ROOT / "src" / name if name.startswith("usp/") else ROOT / name
            assert place.exists(), name
