"""``docs/architecture.md`` names the files that are there: every one of a folder, and no other."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src"


def listed() -> dict[str, set[str]]:
    """Return the files in the tables after "Inside `usp/…`", by folder."""
    found: dict[str, set[str]] = {}
    folder = None
    for line in TEXT.splitlines():
        if begin := re.match(r"(?:Inside|.* is in) `(usp/\w+)`.*[,:]", line):
            folder = begin[1]
        elif line.startswith("#"):
            folder = None
        elif folder and line.startswith("|"):
            found.setdefault(folder, set()).update(re.findall(r"`(\w+\.py)`", line))
    return found


LISTED = listed()


def test_a_folder_is_listed_with_every_module():
    assert {
        folder: {path.name for path in (SOURCE / folder).glob("[a-z]*.py")} for folder in LISTED
    } == LISTED


def test_the_larger_folders_are_listed():
    assert {"usp/_crawl", "usp/_http", "usp/fleet", "usp/report"} <= set(LISTED)


def test_every_module_that_is_named_without_its_folder_exists():
    names = set(re.findall(r"`(\w+\.py)`", TEXT))
    assert names <= {path.name for path in SOURCE.rglob("*.py")}
