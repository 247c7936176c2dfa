"""``usp ls``: lists the sitemaps and pages of a website."""

from __future__ import annotations

import io
import sys
from contextlib import closing, contextmanager
from itertools import chain
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.address import Address, address
from usp.cli.crawling import Crawling, crawl_options, end_with, was_read
from usp.cli.errors import tell
from usp.cli.hints import told
from usp.cli.output.formats import LINES
from usp.cli.output.options import Listing, list_options
from usp.cli.output.text import printable, shown_below, write_lines
from usp.cli.pipes import watching
from usp.export import TooLargeError, write, write_blocks
from usp.export.atomic import compressing, replacing
from usp.export.sitemaps import sitemap_rows, write_sitemaps
from usp.helpers import is_http_url, strip_url_to_homepage

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from pathlib import Path
    from typing import TextIO

    from usp.cli.progress import Progress
    from usp.objects.page import PageBlock
    from usp.objects.sitemap import AbstractSitemap
    from usp.stream import PageBlocks


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
      usp ls example.org -f sitemaps                a table of the sitemaps; -o FILE.csv writes it
      usp ls example.org -v -l crawl.log            the log in a file
    """  # noqa: D301 - click knows the backspace
    with crawling.running() as progress:
        if listing.sitemaps:
            _list_sitemaps(crawling, listing, start, progress)
        elif _can_stream(crawling, listing, start):
            _list_stream(crawling, listing, start, progress)
        else:
            _list_tree(crawling, listing, start, progress)


_STREAMED = frozenset({"pages", "csv", "jsonl", "json"})


def _can_stream(crawling: Crawling, listing: Listing, start: Address) -> bool:
    """Tell whether pages are written as they are found, and need not wait for the tree.

    A file is there when it is complete; if few pages are wanted, the rest need not be fetched.
    """
    if start.is_local or crawling.options.keep_partial or listing.output == "tabtree":
        return False
    limited = listing.selection is not None and listing.selection.limit is not None
    return limited or (listing.target is None and listing.output in _STREAMED)


def _list_tree(crawling: Crawling, listing: Listing, start: Address, progress: Progress) -> None:
    tree = crawling.tree(start, on_event=progress)
    _end_if_nothing(tree, crawling, listing, start)
    if listing.is_lines:
        lines = LINES[listing.output](tree, _shown(listing, tree.url), listing.selection)
        _write_lines(progress.counted(lines), listing.target)
    else:
        _write_table(tree, listing)
    _end(tree, crawling, listing, start)


def _list_sitemaps(
    crawling: Crawling, listing: Listing, start: Address, progress: Progress
) -> None:
    tree = crawling.tree(start, on_event=progress)
    if listing.target is not None:
        _end_if_nothing(tree, crawling, listing, start)
    rows = sitemap_rows(tree, told)
    if listing.output == "text":
        rows = ({name: _printed(value) for name, value in row.items()} for row in rows)
    with _told(listing.target):
        write_sitemaps(rows, listing.target or sys.stdout, listing.output, listing.columns)
    sys.stdout.flush()
    end_with(tree, start, strict=crawling.strict, shown=True)


def _printed(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


def _list_stream(crawling: Crawling, listing: Listing, start: Address, progress: Progress) -> None:
    """List pages as they come in; what is behind the last one wanted is neither fetched nor missed."""
    for stream in crawling.blocks(start, on_event=progress):
        with closing(iter(stream)) as coming, _stopping(stream, listing.target):
            first = next(coming, None)
            assert stream.top is not None
            if stream.top.is_wrong_guess:
                continue
            if stream.tree is not None:
                _end_if_nothing(stream.tree, crawling, listing, start)
            blocks = coming if first is None else chain((first,), coming)
            _write_blocks(progress.counted_blocks(blocks), listing, stream.top.url)
            _end(stream.tree, crawling, listing, start)
        return


@contextmanager
def _stopping(stream: PageBlocks, target: Path | None) -> Iterator[None]:
    """Stop a stream if the standard output is a pipe that nobody reads any more."""
    if target is not None:
        yield
        return
    with watching(sys.stdout, stream.stop):
        yield
        if stream.is_stopped:
            raise BrokenPipeError


def _write_blocks(blocks: Iterator[tuple[str, PageBlock]], listing: Listing, site: str) -> None:
    if listing.selection is not None:
        blocks = listing.selection.run(site).of_stream(blocks)
    if listing.target is None:
        blocks = _flushed(blocks)
    if listing.is_lines:
        shown = _shown(listing, site)
        _write_lines((shown(url) for _, block in blocks for url in block.urls), listing.target)
        return
    with _told(listing.target):
        target = listing.target or sys.stdout
        write_blocks(blocks, target, listing.output, listing.columns, location=site)


def _flushed(blocks: Iterable[tuple[str, PageBlock]]) -> Iterator[tuple[str, PageBlock]]:
    """Let whoever reads have what was found, before the next block is waited for."""
    for block in blocks:
        yield block
        sys.stdout.flush()


def _end_if_nothing(
    tree: AbstractSitemap, crawling: Crawling, listing: Listing, start: Address
) -> None:
    """End if nothing was read: a file of nothing must not take the place of a good one."""
    is_shown = listing.is_lines and listing.target is None
    if tree.failures() and not was_read(tree, is_local=start.is_local) and not is_shown:
        end_with(tree, start, strict=crawling.strict)


def _end(
    tree: AbstractSitemap | None, crawling: Crawling, listing: Listing, start: Address
) -> None:
    """End with what is said of a tree; None is one that was not fetched to its end."""
    sys.stdout.flush()
    tell.undated(listing.undated.count)
    if tree is not None:
        end_with(tree, start, strict=crawling.strict)


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
    with replacing(target) as file, compressing(target, file) as packed:
        stream = io.TextIOWrapper(packed, encoding="utf-8", newline="\n")
        try:
            yield stream
        finally:
            stream.detach()  # flushes; the file is closed by who opened it


def _write_table(tree: AbstractSitemap, listing: Listing) -> None:
    with _told(listing.target):
        target = listing.target or sys.stdout
        write(tree, target, listing.output, listing.columns, listing.selection)
