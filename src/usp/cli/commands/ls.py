"""``usp ls``: lists the sitemaps and pages of a website."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.list_options import list_options
from usp.cli.output import Command
from usp.cli.shared_options import crawl_options, url_argument

if TYPE_CHECKING:
    from usp.cli.crawling import Address, Crawling
    from usp.cli.list_options import Listing


@click.command("ls", cls=Command)
@url_argument
@list_options
@crawl_options
def command(crawling: Crawling, listing: Listing, start: Address) -> None:
    """List the sitemaps of a website and their pages.

    URL is a website, a sitemap, a feed or a robots.txt; -r and -k have an effect on websites only.
    The default scheme is https. URL may also be a file, a folder, or - for standard input. Results
    are written to standard output, the log to standard error. The exit status is 0 if anything was
    read and 1 if nothing was; with --strict, it is 3 if anything is missing.

    \b
    Examples:
      usp ls example.org                            sitemaps and pages as a tree
      usp ls example.org -f pages > urls.txt        one page URL per line
      usp ls https://example.org/sitemap.xml -u     one sitemap and what it lists
      usp ls example.org -o pages.parquet           a table of all pages
      usp ls example.org -f jsonl --limit 100       the first 100 pages
      usp ls example.org --since 2025-01 -o new.csv pages modified since January
      usp ls example.org --since 7d --dated --include 'sitemap:*news*' -o news.csv
                                                    this week's news pages
      usp ls example.org -f sitemaps                a table of the sitemaps
      usp ls example.org -v -l crawl.log            write a log file
    """  # noqa: D301 - click knows the backspace
    from usp.cli.listing import list_site

    list_site(crawling, listing, start)
