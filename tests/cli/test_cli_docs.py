"""The documents say what is there."""

import re
import shlex
from pathlib import Path

import pytest

from usp.cli.commands import COMMANDS
from usp.cli.commands.ls import LINES, TABLES

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
DOCS = README + "".join(
    path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs").glob("**/*.md"))
)


def blocks(text: str, language: str = r"\w*") -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_documented(command):
    assert f"usp {command}" in DOCS


@pytest.mark.parametrize("option", [*COMMANDS["ls"].params, *COMMANDS["demo"].params])
def test_every_option_is_documented(option):
    names = [name for name in option.opts if name.startswith("--")]
    assert all(name in DOCS for name in names)


@pytest.mark.parametrize("output", [*LINES, *TABLES])
def test_every_output_format_is_documented(output):
    assert f"`{output}`" in DOCS


def test_the_two_commands_stand_in_blocks_of_one_line():
    """The continuous integration takes them from there, word for word."""
    lines = [block.strip() for block in blocks(README) if block.count("\n") == 1]
    for end in ("usp demo", "pytest"):
        found = [line for line in lines if line.startswith("python3 -m venv") and end in line]
        assert len(found) == 1, end
        assert shlex.split(found[0])


@pytest.mark.parametrize(
    "path", sorted((ROOT / "docs").glob("**/*.md")), ids=lambda path: path.name
)
def test_every_file_that_the_docs_name_is_there(path):
    text = path.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:src/usp|usp|tests|docs)/[\w./-]+)`", text):
        place = ROOT / "src" / name if name.startswith("usp/") else ROOT / name
        assert place.exists(), name
