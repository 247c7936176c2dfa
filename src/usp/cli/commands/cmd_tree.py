"""``usp tree``: shows the hierarchy of a website's sitemaps."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from usp.cli import options
from usp.cli.output import show, write_text

if TYPE_CHECKING:
    from rich.console import RenderableType


@options.command("tree")
@options.url_argument
@options.table(
    {
        "-a --all": "Show every sitemap; long lists are shortened otherwise.",
        "-d --depth N": "Show this many levels; sitemaps below them are only counted.",
        "-p --problems": "Check every field of every page, and show the problems; takes longer.",
    },
    all={"name": "everything"},
)
@options.form(
    ["text", "json"],
    "text: for people (the default). json: for programs, nested like the tree.",
    default="text",
)
@options.table({"--no-count": "Do not count the pages of each sitemap; faster."})
@options.run_options
def command(
    run: options.RunOptions,
    start: options.Input,
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
    from usp.cli.treeview import summary, tree_json, tree_view

    with run.running() as progress:
        tree = run.tree(start, on_event=progress)
        if not tree.sub_sitemaps:
            run.exit_if_nothing(tree, start)  # there is nothing to draw
        how: dict[str, Any] = {"depth": depth, "count": not no_count, "problems": problems}
        parts: list[RenderableType] = []
        if form == "json":
            write_text(tree_json(tree, **how))
        else:
            parts.append(tree_view(tree, everything=everything, **how))
            if not no_count:
                parts += ["", summary(tree, problems=problems)]
    show(*parts)
    run.exit_for(tree, start, shown=depth is None)
