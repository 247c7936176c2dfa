"""``usp graph``: draws the sitemaps of a website."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.cli import options
from usp.cli.output import write_text

if TYPE_CHECKING:
    from pathlib import Path


# The names of usp.graph's functions and their default, which the help shows without loading it.
LANGUAGES = ("dot", "mermaid", "svg")
SIBLINGS = 20
_SUFFIXES = {".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid", ".svg": "svg"}


@options.command("graph")
@options.url_argument
@options.form(LANGUAGES, "Graph language; by default that of the output file's suffix, or dot.")
@options.output("Write to this file instead of standard output.")
@options.table(
    {"--siblings N": "Draw at most this many children of a sitemap; the others share one box."},
    siblings={"default": SIBLINGS},
)
@options.run_options
def command(
    run: options.RunOptions,
    start: options.Input,
    form: str | None,
    output: Path | None,
    siblings: int,
) -> None:
    """Draw the sitemaps of a website as a graph, for Graphviz or Mermaid.

    URL is a website, a sitemap, a file, a folder, or - for standard input.

    \b
    Examples:
      usp graph example.org -o site.svg            an image (needs Graphviz)
      usp graph example.org -f mermaid             for Markdown
      usp graph example.org | dot -Tpng > a.png    any other format of Graphviz
    """  # noqa: D301 - click knows the backspace
    language = options.format_for(output, form, _SUFFIXES, "dot")
    from usp import graph

    with run.running() as progress:
        tree = run.tree(start, on_event=progress)
    text = getattr(graph, language)(tree, most_siblings=siblings)
    write_text(text.splitlines(), output)
    run.exit_for(tree, start)
