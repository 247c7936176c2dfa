"""The commands: one module each, and the table of them.

A new command is a module with a ``command``, and a line in the table. A command is loaded when it is
asked for: those that are not called cost nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Iterator

    import rich_click as click

SHORT_HELP: Mapping[str, str] = {
    "demo": "Read the sitemaps of a small bundled website and show them.",
    "ls": "List the sitemaps of a website and their pages.",
    "tree": "Show the sitemaps of a website as a tree: what they hold, and what is wrong with them.",
    "graph": "Draw the sitemaps of a website: square boxes list sitemaps, rounded ones list pages.",
    "report": "Write a report of a website's sitemaps: one HTML page that needs no network.",
    "crawl": "Read the sitemaps of many sites into a dataset: the tables pages, sitemaps and sites.",
    "stats": "Tell what a dataset holds: totals, outcomes, the largest sites, formats, failures, "
    "dates.",
}
"""What each command does, in the words that it begins its own help with."""


class _Commands(Mapping[str, "click.Command"]):
    def __getitem__(self, name: str) -> click.Command:
        if name not in SHORT_HELP:
            raise KeyError(name)
        module = importlib.import_module(f"{__name__}.{name}")
        return cast("click.Command", module.command)

    def __iter__(self) -> Iterator[str]:
        return iter(SHORT_HELP)

    def __len__(self) -> int:
        return len(SHORT_HELP)


COMMANDS: Mapping[str, click.Command] = _Commands()
