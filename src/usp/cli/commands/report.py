"""``usp report``: shows the sitemaps of a website as one page to look at."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from usp._base.safe_text import printable
from usp.cli.option_values import Target
from usp.cli.output import Command
from usp.cli.shared_options import address_type, crawl_options, url_argument

if TYPE_CHECKING:
    from pathlib import Path

    from usp.cli.crawling import Address, Crawling


@click.command("report", cls=Command)
@url_argument
@click.option(
    "-o",
    "--output",
    type=Target(),
    metavar="FILE",
    default="report.html",
    show_default=True,
    help="File to write; an existing one is replaced. - is standard output.",
)
@click.option(
    "--all-problems",
    is_flag=True,
    help="Check every sitemap for problems, even very large ones; takes long for millions of pages.",
)
@click.option(
    "--compare",
    "former",
    type=address_type,
    metavar="A",
    help="Also show what changed since A: a snapshot, a file, a folder or another website.",
)
@crawl_options
def command(
    crawling: Crawling,
    start: Address,
    output: Path | None,
    all_problems: bool,
    former: Address | None,
) -> None:
    """Write a report on the sitemaps of a website: one HTML file that works offline.

    URL is a website, a sitemap, a file, a folder, or - for standard input. The report shows the tree
    of sitemaps, the pages by section, date and language, what is damaged, missing or listed twice, and
    how long each request took. Its path is printed at the end. The exit status is 0 if anything was
    read and 1 if nothing was; with --strict, it is 3 if anything is missing.

    \b
    Examples:
      usp report example.org
      usp report example.org -o example.html
      usp report example.org/sitemap_index.xml --all-problems
      usp report example.org --compare last-week.warc.gz
    """  # noqa: D301 - click knows the backspace
    from usp.cli.crawling import end_with
    from usp.report import html

    with crawling.running() as progress:
        tree = crawling.tree(start, on_event=progress)
        before = None if former is None else crawling.tree(former, on_event=progress)
        page = html(tree, all_problems=all_problems, before=before)
        if output is not None:
            _write(page, output)
    click.echo(page if output is None else printable(str(output)))
    end_with(tree, start, crawling)


def _write(page: str, output: Path) -> None:
    from usp._base.files import replacing

    try:
        with replacing(output) as file:
            file.write(page.encode())
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.ClickException(printable(f"{output}: {reason}")) from error
