"""``usp snapshot``: records the sitemaps of a website in a WARC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from usp._base.safe_text import printable
from usp.cli.option_values import Target
from usp.cli.output import Command
from usp.cli.shared_options import crawl_options, url_argument

if TYPE_CHECKING:
    from pathlib import Path

    from usp.cli.crawling import Address, Crawling


@click.command("snapshot", cls=Command)
@url_argument
@click.option(
    "-o",
    "--output",
    type=Target(must_be_file=True),
    metavar="FILE",
    required=True,
    help="File to write, for example site.warc.gz; an existing one is replaced.",
)
@crawl_options
def command(crawling: Crawling, start: Address, output: Path) -> None:
    """Record the sitemaps of a website in a snapshot, a WARC file to read again offline.

    URL is a website, a sitemap, or another snapshot. Every command takes the file wherever it takes a
    URL, and shows the same sitemaps, pages and failures. Requests, responses and redirects are recorded
    without passwords and cookies. The file is replaced only when the new one is complete. Needs
    the extra warc.

    \b
    Examples:
      usp snapshot example.org -o site.warc.gz
      usp tree site.warc.gz                       what was recorded
      usp update site.warc.gz                     fetch what has changed since
    """  # noqa: D301 - click knows the backspace
    from dataclasses import replace

    from usp.cli.crawling import end_with, was_read

    recording = replace(crawling, options=replace(crawling.options, record=output))
    with recording.running() as progress:
        tree = recording.tree(start, on_event=progress)
    if was_read(tree):  # otherwise nothing may have been written
        click.echo(printable(str(output)))
    end_with(tree, start, crawling)
