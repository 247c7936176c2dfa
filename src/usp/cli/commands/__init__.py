"""The commands, nearly all in a module each, and a table of them.

A new command is a module with a ``command``, and a line in the table. Modules are loaded when their
command is called. They only declare it: what it does is loaded when it runs, so that the help is quick.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import rich_click as click

GROUPS: Mapping[str, Mapping[str, str]] = {
    "Read": {
        "tree": "Show a website's sitemaps as a tree, and what is wrong with them.",
        "ls": "List the sitemaps of a website and their pages.",
        "report": "Write a report on a website: one HTML file that works offline.",
    },
    "Quality": {
        "check": "Check sitemaps: what is wrong, where, and what to do about it.",
        "rule": "Explain a rule of usp check, or list all rules.",
    },
    "Over time": {
        "snapshot": "Record a website's sitemaps in a snapshot, to read offline.",
        "update": "Bring a snapshot up to date: fetch only what has changed.",
        "diff": "Show what changed from A to B: pages and sitemaps.",
        "watch": "Watch a website: show new and changed pages as they appear.",
    },
    "Many sites": {
        "crawl": "Read many sites into a dataset, and keep it up to date.",
        "changes": "Show what was added, changed, removed and moved in a dataset.",
        "stats": "Show what is in a dataset: totals, failures, formats, dates.",
        "forget": "Leave sites alone, and delete their rows from a dataset.",
        "convert": "Take over a dataset of an earlier version.",
    },
    "Other": {
        "mcp": "Serve the library to language models and agents (MCP).",
        "help": "Show a page of the documentation, or the list of topics.",
        "demo": "Read the sitemaps of a small bundled website and show them.",
    },
}
"""The commands as the help lists them, each with the first sentence of its own help."""

SHORT_HELP = {name: text for group in GROUPS.values() for name, text in group.items()}
# Commands that are in the module of another one; graph is the name of an earlier version.
_BESIDE = {"graph": "tree", "update": "snapshot", "convert": "stats", "forget": "stats"}


class _Commands(Mapping[str, "click.Command"]):
    def __getitem__(self, name: str) -> click.Command:
        if name not in SHORT_HELP and name not in _BESIDE:
            raise KeyError(name)
        module = importlib.import_module(f"{__name__}.cmd_{_BESIDE.get(name, name)}")
        return cast("click.Command", getattr(module, name if name in _BESIDE else "command"))

    def __iter__(self) -> Iterator[str]:
        return iter(SHORT_HELP)

    def __len__(self) -> int:
        return len(SHORT_HELP)


COMMANDS: Mapping[str, click.Command] = _Commands()
