"""Installs the lowest versions that ``pyproject.toml`` allows into a folder, to be tried before others.

    python tools/lowest.py build/lowest
    PYTHONPATH=build/lowest python -m pytest tests/web_client

Everything else, the tools that run the tests included, stays what the environment has. Ray is left
out: it pins many things itself. So are Scrapy, whose versions need the Twisted of their time, and the
SDK of ``mcp``, which needs newer versions than the core.
"""

# ruff: noqa: INP001 - a script
from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parent.parent
EXTRAS = ("async", "arrow", "fleet")

_MINIMUM = re.compile(r"(?P<name>[A-Za-z0-9._-]+)(?:\[[^\]]*\])?>=(?P<version>[0-9][0-9.]*)")


def lowest(project: dict[str, Any]) -> Iterator[str]:
    """Yield the lowest version of every dependency, as a requirement."""
    extras = (text for name in EXTRAS for text in project["optional-dependencies"][name])
    for text in (*project["dependencies"], *extras):
        if text.startswith(f"{project['name']}["):
            continue  # other extras, which are in the list themselves
        match = _MINIMUM.match(text)
        if match is None:
            raise SystemExit(f"{text!r} has no lower bound")
        yield f"{match['name']}=={match['version']}"


def main() -> None:
    """Install them, or print them if no folder is given."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, nargs="?", help="Where; without, print the versions.")
    folder = parser.parse_args().folder
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = sorted(set(lowest(project)))
    if folder is None:
        sys.stdout.writelines(f"{pin}\n" for pin in pins)
        return
    shutil.rmtree(folder, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--only-binary", ":all:"]
    subprocess.run([*pip, "--target", folder, *pins], check=True)  # noqa: S603 - our own pip


if __name__ == "__main__":
    main()
