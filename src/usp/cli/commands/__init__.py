"""The commands, one module each, and a table of them.

A new command is a module with a ``command``, and a line in the table. Modules are loaded when their
command is called. They only declare it: what it does is loaded when it runs, so that the help is quick.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import rich_click as click

SHORT_HELP: Mapping[str, str] = {
    "demo": "Read the sitemaps of a small bundled website and show them.",
    "ls": "List the sitemaps of a website and their pages.",
    "tree": "Show the sitemaps of a website as a tree: what they contain, and what is wrong with them.",
    "graph": "Draw the sitemaps of a website as a graph, for Graphviz or Mermaid.",
    "report": "Write a report on the sitemaps of a website: one HTML file that works offline.",
    "snapshot": "Record the sitemaps of a website in a snapshot, a WARC file to read again offline.",
    "update": "Bring a snapshot up to date: fetch only what has changed.",
    "diff": "Show what changed from A to B: pages added, removed, changed and moved, and sitemaps.",
    "watch": "Watch a website: show new and changed pages as they appear, once each.",
    "check": "Check the sitemaps of a website: what is wrong, where, and what to do about it.",
    "rule": "Explain a rule of usp check: what it finds, why it matters, and what to do.",
    "crawl": "Read the sitemaps of many sites into a dataset: the tables pages, sitemaps and sites.",
    "stats": "Show what is in a dataset: totals, outcomes, the largest sites, formats, failures, "
    "dates.",
    "mcp": "Serve the library to language models and agents: a Model Context Protocol server.",
    "help": "Show a page of the documentation, or the list of topics.",
}
"""The first sentence of each command's own help."""


class _Commands(Mapping[str, "click.Command"]):
    def __getitem__(self, name: str) -> click.Command:
        if name not in SHORT_HELP:
            raise KeyError(name)
        module = importlib.import_module(f"{__name__}.cmd_{name}")
        return cast("click.Command", module.command)

    def __iter__(self) -> Iterator[str]:
        return iter(SHORT_HELP)

    def __len__(self) -> int:
        return len(SHORT_HELP)


COMMANDS: Mapping[str, click.Command] = _Commands()
