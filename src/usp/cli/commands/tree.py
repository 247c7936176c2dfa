"""``usp tree``: shows the hierarchy of a website's sitemaps."""

from __future__ import annotations

import sys

import rich_click as click

from usp.cli.address import Address, address
from usp.cli.console import Output
from usp.cli.crawling import Crawling, crawl_options, end_with, was_read
from usp.cli.output.text import write_lines
from usp.cli.output.tree_json import tree_json
from usp.cli.treeview import summary, tree_view


@click.command("tree")
@click.argument("start", metavar="URL", type=address)
@click.option(
    "-a", "--all", "everything", is_flag=True, help="Show every sitemap, however many there are."
)
@click.option(
    "-d",
    "--depth",
    type=click.IntRange(min=1),
    help="Show this many levels; what is below is only counted.",
)
@click.option(
    "-p",
    "--problems",
    is_flag=True,
    help="Read every field of every page, and show what is wrong with them; takes longer.",
)
@click.option(
    "-f",
    "--format",
    "output",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text: a drawing (the default). json: every sitemap, nested as in the tree.",
)
@click.option("--no-count", is_flag=True, help="Do not read the pages: no counts and no dates.")
@crawl_options
def command(
    crawling: Crawling,
    start: Address,
    everything: bool,
    depth: int | None,
    problems: bool,
    output: str,
    no_count: bool,
) -> None:
    """Show the sitemaps of a website as a tree: what they hold, and what is wrong with them.

    URL is a website or a sitemap, a file, a folder, or - for the standard input. Long runs of
    sitemaps are cut short unless --all is given.

    \b
    Examples:
      usp tree example.org                 the whole site
      usp tree example.org --depth 2       robots.txt and what it names
      usp tree sitemap_index.xml           a file
      usp tree example.org --all | less    every sitemap, in plain text
      usp tree example.org -f json         the same for programs
    """  # noqa: D301 - click knows the backspace
    with crawling.running() as progress:
        tree = crawling.tree(start, on_event=progress)
        if tree.failures() and not tree.sub_sitemaps and not was_read(tree):
            end_with(tree, start, strict=crawling.strict)  # there is nothing to draw
        if output == "json":
            lines = tree_json(tree, depth=depth, count=not no_count, problems=problems)
            write_lines(lines, sys.stdout)
            sys.stdout.flush()
            end_with(tree, start, strict=crawling.strict, shown=depth is None)
            return
        view = tree_view(
            tree, everything=everything, depth=depth, count=not no_count, problems=problems
        )
        totals = "" if no_count else summary(tree, problems=problems)
    console = Output()
    console.print(view)
    if totals:
        console.print()
        console.print(totals, soft_wrap=True)
    sys.stdout.flush()
    end_with(tree, start, strict=crawling.strict, shown=depth is None)
