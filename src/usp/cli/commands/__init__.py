"""The commands: one module each, and the table of them.

A new command is a module with a ``command``, and a line in :data:`COMMANDS`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.cli.commands import crawl, demo, graph, ls, report, stats, tree

if TYPE_CHECKING:
    from collections.abc import Mapping

    import rich_click as click

COMMANDS: Mapping[str, click.Command] = {
    "demo": demo.command,
    "ls": ls.command,
    "tree": tree.command,
    "graph": graph.command,
    "report": report.command,
    "crawl": crawl.command,
    "stats": stats.command,
}
