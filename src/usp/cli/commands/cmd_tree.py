"""``usp tree``: shows the hierarchy of a website's sitemaps."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.option_values import Integer
from usp.cli.options import format_option, run_options, url_argument
from usp.cli.output import Command

if TYPE_CHECKING:
    from usp._inputs.sources import Input
    from usp.cli.run_options import RunOptions


@click.command("tree", cls=Command)
@url_argument
@click.option(
    "-a",
    "--all",
    "everything",
    is_flag=True,
    help="Show every sitemap; long lists are shortened otherwise.",
)
@click.option(
    "-d",
    "--depth",
    type=Integer(min=1),
    metavar="N",
    help="Show this many levels; sitemaps below them are only counted.",
)
@click.option(
    "-p",
    "--problems",
    is_flag=True,
    help="Check every field of every page, and show the problems; takes longer.",
)
@format_option(
    choices=["text", "json"],
    default="text",
    help="text: for people (the default). json: for programs, nested like the tree.",
)
@click.option("--no-count", is_flag=True, help="Do not count the pages of each sitemap; faster.")
@run_options
def command(
    run: RunOptions,
    start: Input,
    everything: bool,
    depth: int | None,
    problems: bool,
    form: str,
    no_count: bool,
) -> None:
    """Show the sitemaps of a website as a tree: what they contain, and what is wrong with them.

    URL is a website, a sitemap, a file, a folder, or - for standard input. Long lists of sitemaps are
    shortened; --all shows them in full.

    \b
    Examples:
      usp tree example.org                 the whole site
      usp tree example.org --depth 2       only the first two levels
      usp tree sitemap_index.xml           a file
      usp tree example.org --all | less    every sitemap, in plain text
      usp tree example.org -f json         the tree as JSON
    """  # noqa: D301 - click knows the backspace
    from usp.cli.output import show, write_lines
    from usp.cli.run_options import exit_for_tree, found_anything
    from usp.cli.treeview import summary, tree_json, tree_view

    with run.running() as progress:
        tree = run.tree(start, on_event=progress)
        if tree.failures() and not tree.sub_sitemaps and not found_anything(tree, start):
            exit_for_tree(tree, start, run)  # there is nothing to draw
        if form == "json":
            lines = tree_json(tree, depth=depth, count=not no_count, problems=problems)
            write_lines(lines, sys.stdout)
            sys.stdout.flush()
            exit_for_tree(tree, start, run, shown=depth is None)
            return
        view = tree_view(
            tree, everything=everything, depth=depth, count=not no_count, problems=problems
        )
        totals = "" if no_count else summary(tree, problems=problems)
    show(view, *(("", totals) if totals else ()))
    exit_for_tree(tree, start, run, shown=depth is None)
