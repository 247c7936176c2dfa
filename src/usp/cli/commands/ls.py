"""``usp ls``: lists the sitemaps and pages of a website."""

from __future__ import annotations

import io
import logging
import sys
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.address import Address, address
from usp.cli.crawling import Crawling, crawl_options, end_with, end_with_failures, was_read
from usp.cli.errors import tell
from usp.cli.output import LINES
from usp.cli.output.options import Listing, list_options
from usp.cli.output.text import printable, shown_below, write_lines
from usp.crawl.events import PagesReady
from usp.export import TooLargeError, write
from usp.export.atomic import packing, replacing
from usp.helpers import is_http_url, strip_url_to_homepage
from usp.objects.sitemap import AbstractIndexSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import TextIO

    from usp.cli.progress import Progress
    from usp.crawl.events import Event
    from usp.export.source import Pages
    from usp.objects.problem import Failure

log = logging.getLogger(__name__)


@click.command("ls")
@click.argument("start", metavar="URL", type=address)
@list_options
@crawl_options
def command(crawling: Crawling, listing: Listing, start: Address) -> None:
    """List the sitemaps of a website and their pages.

    URL is a website, or a sitemap, a feed or a robots.txt (-r and -k mean nothing then). Without a
    scheme, https is meant. Results go to the standard output, the log to the standard error. The exit
    status is 0 if anything was read, 1 if nothing could be; with --strict, 3 if something is missing.

    \b
    Examples:
      usp ls example.org                            sitemaps and pages as a tree
      usp ls example.org -f pages > urls.txt        every page, one a line
      usp ls https://example.org/sitemap.xml -u     one sitemap and what it lists
      usp ls example.org -o pages.parquet           a table of all pages
      usp ls example.org -f jsonl --limit 100       the first hundred, as they come
      usp ls example.org --since 2025-01 -o new.csv what changed since January
      usp ls example.org --since 7d --dated --include 'sitemap:*news*' -o news.csv
                                                    last week's pages of its news sitemaps
      usp ls example.org -v -l crawl.log            the log in a file
    """  # noqa: D301 - click knows the backspace
    with crawling.running() as progress:
        if _can_stream(start, listing):
            _list_stream(crawling, listing, start, progress)
        else:
            _list_tree(crawling, listing, start, progress)


def _can_stream(start: Address, listing: Listing) -> bool:
    """Tell whether pages need not wait for the tree: if they are few, that saves requests."""
    limited = listing.selection is not None and listing.selection.limit is not None
    website = not start.is_sitemap and not start.is_local
    return limited and website and listing.output != "tabtree"


def _list_tree(crawling: Crawling, listing: Listing, start: Address, progress: Progress) -> None:
    tree = crawling.tree(start, on_event=progress)
    if (
        tree.failures()
        and not was_read(tree, is_local=start.is_local)
        and not (listing.is_lines and listing.target is None)
    ):
        end_with(
            tree, start, strict=crawling.strict
        )  # a file of nothing must not take the place of a good one
    if listing.is_lines:
        lines = LINES[listing.output](tree, _shown(listing, tree.url), listing.selection)
        _write_lines(progress.counted(lines), listing.target)
    else:
        _write_table(tree, listing, tree.url)
    if isinstance(tree, AbstractIndexSitemap) and not tree.sub_sitemaps:
        log.warning("No sitemaps were found at %s", tree.url)
    sys.stdout.flush()
    tell.undated(listing.undated.count)
    end_with(tree, start, strict=crawling.strict)


def _list_stream(crawling: Crawling, listing: Listing, start: Address, progress: Progress) -> None:
    """List the first pages; what comes behind them is neither fetched nor missed."""
    assert listing.selection is not None
    failures: list[Failure] = []
    found = False

    def heard(event: Event) -> None:
        nonlocal found
        progress(event)
        found = found or isinstance(event, PagesReady)

    stream = crawling.pages(start, on_event=heard, on_failure=failures.append)
    run = listing.selection.run(start.url)
    with closing(stream):
        pages = progress.counted(run.pages(stream))
        if listing.is_lines:
            shown = _shown(listing, start.url)
            _write_lines((shown(page.url) for page in pages), listing.target)
        else:
            _write_table(pages, listing, start.url, selected=True)
    sys.stdout.flush()
    tell.undated(listing.undated.count)
    # They are told only if the stream came to its own end.
    end_with_failures(failures, found=found, strict=crawling.strict)


def _shown(listing: Listing, url: str) -> Callable[[str], str]:
    strip = listing.strip_url and is_http_url(url)
    return shown_below(strip_url_to_homepage(url)) if strip else printable


def _write_lines(lines: Iterable[str], target: Path | None) -> None:
    with _told(target), _text(target) as stream:
        write_lines(lines, stream)


@contextmanager
def _told(target: Path | None) -> Iterator[None]:
    """Tell of what went wrong with a file; the standard output is everybody's."""
    try:
        yield
    except TooLargeError as error:
        raise click.ClickException(str(error)) from error
    except OSError as error:
        if target is None:
            raise
        raise click.ClickException(f"{target} was not written: {error}") from error


@contextmanager
def _text(target: Path | None) -> Iterator[TextIO]:
    """Give what takes text: the standard output, or a new file."""
    if target is None:
        yield sys.stdout
        return
    with replacing(target) as file, packing(target, file) as packed:
        stream = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        try:
            yield stream
        finally:
            stream.detach()  # flushes; the file is closed by who opened it


def _write_table(pages: Pages, listing: Listing, site: str, *, selected: bool = False) -> None:
    selection = None if selected else listing.selection
    target = listing.target or sys.stdout
    with _told(listing.target):
        write(pages, target, listing.output, listing.columns, selection, site=site)
