"""``usp graph``: draws the sitemaps of a website."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.option_values import Integer, Target
from usp.cli.output import Command
from usp.cli.shared_options import crawl_options, is_from_file, url_argument

if TYPE_CHECKING:
    from pathlib import Path

    from usp.cli.crawling import Address, Crawling

# The names of usp.graph's functions and their default, which the help shows without loading it.
LANGUAGES = ("dot", "mermaid", "svg")
SIBLINGS = 20
_SUFFIXES = {".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid", ".svg": "svg"}


@click.command("graph", cls=Command)
@url_argument
@click.option(
    "-f",
    "--format",
    "language",
    type=click.Choice(LANGUAGES),
    help="Graph language; by default that of the output file's suffix, or dot.",
)
@click.option(
    "-o",
    "--output",
    type=Target(),
    metavar="FILE",
    help="Write to this file instead of standard output.",
)
@click.option(
    "--siblings",
    type=Integer(min=1),
    metavar="N",
    default=SIBLINGS,
    show_default=True,
    help="Draw at most this many children of a sitemap; the others share one box.",
)
@crawl_options
def command(
    crawling: Crawling, start: Address, language: str | None, output: Path | None, siblings: int
) -> None:
    """Draw the sitemaps of a website as a graph, for Graphviz or Mermaid.

    URL is a website, a sitemap, a file, a folder, or - for standard input.

    \b
    Examples:
      usp graph example.org -o site.svg            an image (needs Graphviz)
      usp graph example.org -f mermaid             for Markdown
      usp graph example.org | dot -Tpng > a.png    any other format of Graphviz
    """  # noqa: D301 - click knows the backspace
    told = _SUFFIXES.get(output.suffix.lower()) if output else "dot"
    if language is None or (output is not None and is_from_file("language")):
        language = told or language
    if language is None:
        raise click.UsageError(
            f"no format given for {output.name if output else ''!r}; use -f, or one of the suffixes "
            ".svg, .dot, .mmd"
        )
    from usp import graph
    from usp._base.files import replacing
    from usp.cli.crawling import end_with

    with crawling.running() as progress:
        tree = crawling.tree(start, on_event=progress)
    text = getattr(graph, language)(tree, most_siblings=siblings)
    if output is None:
        click.echo(text, nl=False)
        sys.stdout.flush()
    else:
        with replacing(output) as file:
            file.write(text.encode())
    end_with(tree, start, crawling)
