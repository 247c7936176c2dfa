"""``usp tree``: shows the hierarchy of a website's sitemaps."""

from __future__ import annotations

import copy
from itertools import chain
from typing import TYPE_CHECKING, Any

from click import get_current_context

from usp.cli import options
from usp.cli.errors import messages
from usp.cli.output import write_text

if TYPE_CHECKING:
    from pathlib import Path

    from usp.objects.sitemap import AbstractSitemap

# The names of usp.graph's functions and their default, which the help shows without loading it.
GRAPHS = ("dot", "mermaid", "svg")
SIBLINGS = 20
_FORMATS = ("text", "json", *GRAPHS)


@options.command("tree")
@options.url_argument
@options.table(
    {
        "-a --all": "Show every sitemap; long lists are shortened otherwise.",
        "-d --levels N": "Show this many levels; sitemaps below them are only counted.",
        "-p --problems": "Check a large website, too, with all rules of usp check; takes longer.",
    },
    all={"name": "everything"},
)
@options.results(
    _FORMATS,
    "text: for people (the default). json: for programs, nested like the tree. dot, mermaid: a graph "
    "for Graphviz or Markdown. svg: the same as an image, which needs Graphviz.",
)
@options.table(
    {
        "--siblings N": "Draw at most this many children of a sitemap in a graph; the others share "
        "one box.",
        "--no-count": "Do not count the pages of each sitemap; faster.",
    },
    siblings={"default": SIBLINGS},
)
@options.run_options
def command(
    run: options.RunOptions,
    start: options.Input,
    everything: bool,
    levels: int | None,
    problems: bool,
    form: str | None,
    output: Path | None,
    siblings: int,
    no_count: bool,
) -> None:
    """Show a website's sitemaps as a tree, and what is wrong with them.

    URL is a website, a sitemap, a file, a folder, or - for standard input. Long lists of sitemaps are
    shortened; --all shows them in full. 'usp URL' is the same as 'usp tree URL'.

    Examples:
      usp tree example.org                 the whole site
      usp tree example.org --levels 2      only the first two levels
      usp tree sitemap_index.xml           a file
      usp tree example.org --all | less    every sitemap, in plain text
      usp tree example.org -f json         the tree as JSON
      usp tree example.org -o site.svg     a graph (needs Graphviz)
      usp tree example.org -f mermaid      the same for Markdown
    """
    usual = "dot" if get_current_context().command is graph else "text"
    form = options.format_for(output, form, _FORMATS, usual)
    with run.running() as progress:
        tree = run.tree(start, on_event=progress)
        if not tree.sub_sitemaps and form != "json":  # there is nothing to draw
            if form == "text":
                _show_if_answered(tree)
            run.exit_if_nothing(tree, start)
        run.keep_file(output, tree, start)
        if form in GRAPHS:
            from usp import graph as graphs

            write_text(getattr(graphs, form)(tree, most_siblings=siblings).splitlines(), output)
        elif form == "json":
            from usp.cli.treeview import tree_json

            how: dict[str, Any] = {"depth": levels, "count": not no_count, "problems": problems}
            write_text(tree_json(tree, **how), output)
        else:
            from usp.cli.treeview import TreeView, summary

            checked = True if problems else False if no_count else None
            view = TreeView(tree, checked, progress.reading(tree.sitemap_count()))
            lines = view.drawn(everything=everything, depth=levels, count=not no_count)
            more = () if no_count else chain([""], summary(view.wrong, output))
            write_text(chain(lines, more), output)
    messages.wrote(output, tree.sitemap_count(), "sitemap")
    run.exit_for(tree, start, shown=levels is None and form not in GRAPHS)


def _show_if_answered(tree: AbstractSitemap) -> None:
    """Show the verdict on a website that has no sitemaps, if its server has said why."""
    from usp.checks.verdicts import by_rule, judge
    from usp.cli.treeview import verdict_lines

    if any(failure.status is not None for failure in tree.failures()):
        write_text(verdict_lines(judge(tree, by_rule([]), checked=False, counts=False)))


graph = copy.copy(command)
graph.name, graph.hidden = "graph", True
"""``usp graph``, as ``usp tree -f dot`` was called in earlier versions."""
