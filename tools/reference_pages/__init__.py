"""The pages of ``docs/reference`` that are made from the code.

    python -m tools.reference_pages     write them

Each module has a function ``pages``, which returns texts by their paths below ``docs/reference``. Those
that ``usp help`` shows are in the repository, and so in every wheel, and so is the list of public names.
All others are made when the site is built: ``docs/reference/{api,cli,rules}``.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tools.reference_pages import api, commands, formats, limits, modules, problems, rules, schemas

FOLDER = Path(__file__).parents[2] / "docs" / "reference"
_MADE = ("api", "cli", "rules")  # folders that have nothing else, but for an index


@cache
def all_pages() -> dict[str, str]:
    """Return the texts of all pages by their paths below ``docs/reference``; it takes seconds."""
    makers = (api, commands, formats, limits, modules, problems, rules, schemas)
    return {path: text for maker in makers for path, text in maker.pages().items()}


def is_kept(path: str) -> bool:
    """Return whether a page is in the repository."""
    return "/" not in path or path.endswith("/index.md")


def write() -> None:
    """Write the pages, and remove those of commands, modules and rules that do not exist any more."""
    made = {FOLDER / path: text for path, text in all_pages().items()}
    for page, text in made.items():
        page.parent.mkdir(parents=True, exist_ok=True)
        if not page.exists() or page.read_text("utf-8") != text:  # else the site is built again
            page.write_text(text, encoding="utf-8")
    for page in (page for folder in _MADE for page in (FOLDER / folder).glob("*.md")):
        if page not in made and page.name != "index.md":
            page.unlink()
