"""``usp graph``: draws the sitemaps of a website."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich_click as click

from usp import graph
from usp.cli.address import Address, address
from usp.cli.crawling import Crawling, crawl_options, end_with
from usp.cli.target import Target, is_from_file
from usp.export.atomic import replacing

if TYPE_CHECKING:
    from pathlib import Path

_DRAW = {"dot": graph.dot, "mermaid": graph.mermaid, "svg": graph.svg}
_SUFFIXES = {".dot": "dot", ".gv": "dot", ".mmd": "mermaid", ".mermaid": "mermaid", ".svg": "svg"}


@click.command("graph")
@click.argument("start", metavar="URL", type=address)
@click.option(
    "-f",
    "--format",
    "language",
    type=click.Choice(list(_DRAW)),
    help="What to draw in; by default what the name of the file says, or dot.",
)
@click.option(
    "-o",
    "--output",
    type=Target(),
    metavar="FILE",
    help="Write to this file instead of the standard output.",
)
@click.option(
    "--siblings",
    type=click.IntRange(min=1),
    default=graph.MOST_SIBLINGS,
    show_default=True,
    help="Draw so many sitemaps below one; the rest become one box.",
)
@crawl_options
def command(
    crawling: Crawling, start: Address, language: str | None, output: Path | None, siblings: int
) -> None:
    """Draw the sitemaps of a website: square boxes list sitemaps, rounded ones list pages.

    URL is a website or a sitemap, a file, a folder, or - for the standard input.

    \b
    Examples:
      usp graph example.org -o site.svg            a picture (needs Graphviz)
      usp graph example.org -f mermaid             for Markdown
      usp graph example.org | dot -Tpng > a.png    anything else that Graphviz draws
    """  # noqa: D301 - click knows the backspace
    told = _SUFFIXES.get(output.suffix.lower()) if output else "dot"
    if language is None or (output is not None and is_from_file("language")):
        language = told or language
    if language is None:
        raise click.UsageError(
            f"{output.name if output else ''!r} does not say what to draw in; end it in .svg, .dot "
            "or .mmd, or use --format"
        )
    with crawling.running() as progress:
        tree = crawling.tree(start, on_event=progress)
    text = _DRAW[language](tree, most_siblings=siblings)
    if output is None:
        click.echo(text, nl=False)
        sys.stdout.flush()
    else:
        with replacing(output) as file:
            file.write(text.encode())
    end_with(tree, start, strict=crawling.strict)
