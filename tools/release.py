"""Checks that a tag can be released, and prints what the changelog says about its version.

    python tools/release.py v2.0.0

Ends with 1 if the tag is not the version of the package, or if CHANGELOG.md has no entry for it.
"""

# ruff: noqa: INP001, T201 - a script
from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent


def version() -> str:
    """Return the version of the package, without importing it."""
    text = (ROOT / "src" / "usp" / "__init__.py").read_text("utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    assert match is not None
    return match[1]


def notes(changelog: str, number: str) -> str | None:
    """Return the entry of a version, or None."""
    entry = re.compile(
        rf"^## \[{re.escape(number)}\] - \d{{4}}-\d\d-\d\d\n(.*?)(?=^## |^\[|\Z)",
        re.MULTILINE | re.DOTALL,
    )
    match = entry.search(changelog)
    return match[1].strip() if match else None


def main(arguments: list[str]) -> int:
    """Check the tag; return the exit status."""
    if len(arguments) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    (tag,) = arguments
    if tag != f"v{version()}":
        print(f"the tag is {tag}, and the version is {version()}", file=sys.stderr)
        return 1
    found = notes((ROOT / "CHANGELOG.md").read_text("utf-8"), version())
    if not found:
        print(f"CHANGELOG.md has no '## [{version()}] - YYYY-MM-DD'", file=sys.stderr)
        return 1
    print(found)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
