"""``usp report``: shows the sitemaps of a website as one page to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.address import Address, address
from usp.cli.crawling import Crawling, crawl_options, end_with
from usp.cli.output.text import printable
from usp.cli.target import Target
from usp.export.atomic import replacing
from usp.report import FetchLog, html

if TYPE_CHECKING:
    from pathlib import Path

    from usp.events import Event


@click.command("report")
@click.argument("start", metavar="URL", type=address)
@click.option(
    "-o",
    "--output",
    type=Target(),
    metavar="FILE",
    default="report.html",
    show_default=True,
    help="The file to write; an older one is replaced. - is the standard output.",
)
@click.option(
    "--all-problems",
    is_flag=True,
    help="Look for problems in every sitemap, however large. Takes long for millions of pages.",
)
@crawl_options
def command(
    crawling: Crawling,
    start: Address,
    output: Path | None,
    all_problems: bool,
) -> None:
    """Write a report of a website's sitemaps: one HTML page that needs no network.

    URL is a website or a sitemap, a file, a folder, or - for the standard input. The page shows the
    tree of sitemaps, the pages by section, date and language, what is damaged, missing or declared
    twice, and how long everything took. Its path is printed at the end. The exit status is 0 if
    anything was read, 1 if nothing could be; with --strict, 3 if something is missing.

    \b
    Examples:
      usp report example.org
      usp report example.org -o example.html
      usp report https://example.org/sitemap.xml --all-problems
    """  # noqa: D301 - click knows the backspace
    fetches = FetchLog()
    with crawling.running() as progress:

        def listen(event: Event) -> None:
            fetches(event)
            progress(event)

        tree = crawling.tree(start, on_event=listen)
        page = html(tree, fetches, all_problems=all_problems)
        if output is not None:
            _write(page, output)
    click.echo(page if output is None else printable(str(output)))
    end_with(tree, start, strict=crawling.strict)


def _write(page: str, output: Path) -> None:
    try:
        with replacing(output) as file:
            file.write(page.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.ClickException(printable(f"{output}: {reason}")) from error
