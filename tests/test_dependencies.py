"""What the library imports is declared, with a lower bound that the tests are run with."""

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import usp
from test_layers import BY_NAME, imports

ROOT = Path(usp.__file__).parent
PROJECT = Path(__file__).parent.parent
DISTRIBUTIONS = {"dateutil": "python-dateutil", "rich_click": "rich-click"}
CHOSEN = {"brotli", "brotlicffi", "compression", "backports", "zstandard"}  # used if they are there

if not (PROJECT / "pyproject.toml").exists():  # pragma: no cover
    pytest.skip("these are not the sources", allow_module_level=True)

DECLARED = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = DECLARED["optional-dependencies"]


def requirements() -> list[str]:
    users = (text for texts in EXTRAS.values() for text in texts)
    return [text for text in (*DECLARED["dependencies"], *users) if not text.startswith("usp[")]


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=;! ]", requirement)[0].lower()


def imported() -> set[str]:
    """Give the modules of others that are imported anywhere in the library."""
    tops = {name.partition(".")[0] for module in BY_NAME for name, _ in imports(module)}
    return tops - {"usp", "__future__", *sys.stdlib_module_names}


def test_everything_that_is_imported_is_declared():
    known = {name_of(text) for text in requirements()}
    assert {DISTRIBUTIONS.get(name, name) for name in imported()} - CHOSEN <= known


def test_every_dependency_has_a_lower_bound():
    assert [text for text in requirements() if not re.search(r">=[0-9]", text)] == []


def test_the_lowest_versions_are_those_that_are_declared():
    printed = subprocess.check_output([sys.executable, PROJECT / "tools" / "lowest.py"], text=True)
    pins = dict(line.split("==") for line in printed.split())
    for name in ("requests", "urllib3", "click", "rich", "rich-click", "aiohttp", "yarl", "duckdb"):
        (requirement,) = [text for text in requirements() if name_of(text) == name]
        assert f">={pins[name]}" in requirement
