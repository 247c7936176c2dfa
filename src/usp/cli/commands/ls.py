"""``usp ls``: lists the sitemaps and pages of a website."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.address import Address, address
from usp.cli.log import logging_to
from usp.cli.output import OUTPUTS
from usp.cli.output.text import printable, shown_below, write_lines
from usp.helpers import strip_url_to_homepage
from usp.objects.sitemap import AbstractIndexSitemap, InvalidSitemap
from usp.tree import sitemap_tree_for_homepage, sitemap_tree_for_sitemap

if TYPE_CHECKING:
    from usp.objects.sitemap import AbstractSitemap

log = logging.getLogger(__name__)


@click.command("ls")
@click.argument("start", metavar="URL", type=address)
@click.option(
    "-f",
    "--format",
    "output",
    type=click.Choice(list(OUTPUTS)),
    default="tabtree",
    show_default=True,
    help="tabtree: sitemaps and pages, indented by tabs. pages: one page URL a line.",
)
@click.option("-r", "--no-robots", is_flag=True, help="Do not look for sitemaps in robots.txt.")
@click.option("-k", "--no-known", is_flag=True, help="Do not look for sitemaps at known paths.")
@click.option("-u", "--strip-url", is_flag=True, help="Leave out scheme and host of the website.")
@click.option(
    "-v", "--verbose", count=True, metavar="", help="Log more: -v what is done, -vv every detail."
)
@click.option(
    "-l",
    "--log-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append the log to this file and keep the console quiet.",
)
def command(
    start: Address,
    output: str,
    no_robots: bool,
    no_known: bool,
    strip_url: bool,
    verbose: int,
    log_file: Path | None,
) -> None:
    """List the sitemaps of a website and their pages.

    URL is a website, or a sitemap, a feed or a robots.txt (-r and -k mean nothing then). Without a
    scheme, https is meant. Results go to the standard output, the log to the standard error.

    \b
    Examples:
      usp ls example.org                            sitemaps and pages as a tree
      usp ls example.org -f pages > urls.txt        every page, one a line
      usp ls https://example.org/sitemap.xml -u     one sitemap and what it lists
      usp ls example.org -v -l crawl.log            the log in a file
    """  # noqa: D301 - click knows the backspace
    with logging_to(log_file, verbose):
        if start.is_sitemap:
            tree = sitemap_tree_for_sitemap(start.url)
        else:
            tree = sitemap_tree_for_homepage(
                start.url, use_robots=not no_robots, use_known_paths=not no_known
            )
        shown = shown_below(strip_url_to_homepage(tree.url)) if strip_url else printable
        write_lines(OUTPUTS[output](tree, shown), sys.stdout)
        _warn_of_nothing(tree)


def _warn_of_nothing(tree: AbstractSitemap) -> None:
    """Say so if there is nothing to list: a failure must not look like an empty site."""
    if isinstance(tree, InvalidSitemap):
        raise click.ClickException(printable(tree.reason))
    if isinstance(tree, AbstractIndexSitemap) and not tree.sub_sitemaps:
        log.warning("No sitemaps were found at %s", tree.url)
