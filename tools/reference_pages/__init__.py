"""The pages of ``docs/reference`` that are made from the code.

    python -m tools.reference_pages     write them

Each module has a function ``pages``, which returns texts by their paths below ``docs/reference``.
"""

from __future__ import annotations

from pathlib import Path

from tools.reference_pages import api, commands, formats, limits, problems, rules, schemas

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
_MADE = ("api", "cli", "rules")  # folders that have nothing else, but for an index


def all_pages() -> dict[str, str]:
    """Return the texts of all pages by their paths below ``docs/reference``."""
    makers = (api, commands, formats, limits, problems, rules, schemas)
    return {path: text for maker in makers for path, text in maker.pages().items()}


def stale() -> list[Path]:
    """Return the pages of commands, modules and rules that do not exist any more."""
    known = {FOLDER / path for path in all_pages()} | {FOLDER / "cli" / "index.md"}
    found = [page for folder in _MADE for page in (FOLDER / folder).glob("*.md")]
    return [page for page in found if page not in known]
