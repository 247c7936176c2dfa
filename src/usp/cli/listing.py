"""What ``usp ls`` does: lists the pages or the sitemaps of a website, as they come in if possible.

Tables are written by :mod:`usp.export`. The formats of lines are here: a new one is a function that
yields the lines of a tree one by one, so that a site of any size can be listed, and an entry in
:data:`LINES`.
"""

from __future__ import annotations

import io
import sys
from contextlib import closing, contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Protocol, TypeVar

import rich_click as click

from usp._base.display import counted
from usp._base.files import replacing
from usp._base.safe_text import printable
from usp.cli.crawling import Crawling, end_with, was_read
from usp.cli.errors import tell, why
from usp.cli.output import shown_below, watching, write_lines
from usp.export import TooLargeError, write_blocks
from usp.export.sitemaps import sitemap_rows, write_sitemaps
from usp.export.targets import compressing
from usp.helpers import is_http_url, strip_url_to_homepage
from usp.objects.sitemap import AbstractPagesSitemap
from usp.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping
    from pathlib import Path
    from typing import TextIO

    from usp.cli.commands.ls import Listing
    from usp.cli.crawling import Address
    from usp.cli.progress import Progress
    from usp.objects.page import PageBlock, SitemapPage
    from usp.objects.sitemap import AbstractSitemap
    from usp.stream import PageBlocks

Url = TypeVar("Url", str, str | None)


# Formats of lines ---------------------------------------------------------------------------------


class LineFormat(Protocol):
    """Yields the lines of a tree; ``shown`` returns the text to print for a URL."""

    def __call__(
        self,
        tree: AbstractSitemap,
        shown: Callable[[str], str],
        selection: Selection | None = None,
        /,
    ) -> Iterator[str]:
        """Yield the lines, without line ends."""
        ...


def page_lines(
    tree: AbstractSitemap, shown: Callable[[str], str], selection: Selection | None = None
) -> Iterator[str]:
    """Yield the URLs of all pages, or of the selected ones, in the order of the tree."""
    pages = tree.all_pages() if selection is None else selection.of(tree)
    return (shown(page.url) for page in pages)


def tabtree_lines(
    tree: AbstractSitemap, shown: Callable[[str], str], selection: Selection | None = None
) -> Iterator[str]:
    """Yield a line for each sitemap and each page, indented with tabs; the root has its full URL.

    A selection is one of pages: sitemaps are listed whether or not they have selected pages.
    """
    run = None if selection is None else selection.run(tree.url)

    def pages_of(sitemap: AbstractSitemap) -> Iterable[SitemapPage]:
        if run is None:
            return sitemap.all_pages()
        return (page for _, block in run.blocks(sitemap) for page in block.pages())

    yield printable(tree.url)
    waiting: list[tuple[AbstractSitemap, int, bool]] = [(tree, 0, True)]
    while waiting:
        sitemap, depth, listed = waiting.pop()
        if not listed:
            yield "\t" * depth + shown(sitemap.url)
        waiting.extend((child, depth + 1, False) for child in reversed(sitemap.sub_sitemaps))
        if isinstance(sitemap, AbstractPagesSitemap):
            for page in pages_of(sitemap):
                yield "\t" * (depth + 1) + shown(page.url)


LINES: Mapping[str, LineFormat] = {"tabtree": tabtree_lines, "pages": page_lines}

_STREAMED = frozenset({"pages", "csv", "jsonl", "json"})


# What is listed -----------------------------------------------------------------------------------


def list_site(crawling: Crawling, listing: Listing, start: Address) -> None:
    """List a website, a sitemap or local files."""
    if listing.skips and listing.selection is not None:
        crawling = replace(crawling, options=listing.selection.crawl_options(crawling.options))
    with crawling.running() as progress:
        if listing.sitemaps:
            _list_sitemaps(crawling, listing, start, progress)
        elif _can_stream(crawling, listing, start):
            _list_stream(crawling, listing, start, progress)
        else:
            _list_tree(crawling, listing, start, progress)


def _can_stream(crawling: Crawling, listing: Listing, start: Address) -> bool:
    """Return whether pages are written as they are found, without waiting for the whole tree.

    A file is only written when it is complete; with a limit, the rest need not be fetched.
    """
    if start.is_local or crawling.options.keep_partial or listing.output == "tabtree":
        return False
    limited = listing.selection is not None and listing.selection.limit is not None
    return limited or (listing.target is None and listing.output in _STREAMED)


def _list_tree(crawling: Crawling, listing: Listing, start: Address, progress: Progress) -> None:
    tree = crawling.tree(start, on_event=listing.skipped.hearing(progress))
    _end_if_nothing(tree, crawling, listing, start)
    selected = _Pages()
    if listing.output == "tabtree":
        lines = tabtree_lines(tree, _shown(listing, tree.url), listing.selection)
        _write_lines(progress.counted(lines), listing.target)
        selected.count = 1  # it has lines whatever is selected
    elif listing.is_lines:
        lines = LINES[listing.output](tree, _shown(listing, tree.url), listing.selection)
        _write_lines(progress.counted(selected.lines(lines)), listing.target)
    else:
        blocks = (listing.selection or Selection()).blocks(tree)
        _write_table(selected.blocks(blocks), listing, tree.url)
    if not selected.count:
        _tell_empty(tree, tree.page_count())
    _end(tree, crawling, listing, start)


def _list_sitemaps(
    crawling: Crawling, listing: Listing, start: Address, progress: Progress
) -> None:
    tree = crawling.tree(start, on_event=progress)
    if listing.target is not None:
        _end_if_nothing(tree, crawling, listing, start)
    columns = listing.columns
    rows = sitemap_rows(tree, why, problems=not columns or _tells_problems(columns))
    if listing.output == "text":
        rows = ({name: _printed(value) for name, value in row.items()} for row in rows)
    with _reporting(listing.target):
        write_sitemaps(rows, listing.target or sys.stdout, listing.output, listing.columns)
    sys.stdout.flush()
    end_with(tree, start, crawling, shown=True)


def _tells_problems(columns: Iterable[str]) -> bool:
    return any(name.startswith("problem") for name in columns)


def _printed(value: object) -> object:
    return printable(value) if isinstance(value, str) else value


def _list_stream(crawling: Crawling, listing: Listing, start: Address, progress: Progress) -> None:
    """List pages as they arrive; after the last one selected, nothing is fetched or missing."""
    for stream in crawling.blocks(start, on_event=listing.skipped.hearing(progress)):
        with closing(iter(stream)) as coming, _stopping(stream, listing.target):
            first = next(coming, None)
            assert stream.top is not None
            if stream.top.is_wrong_guess:
                continue
            if stream.tree is not None:
                _end_if_nothing(stream.tree, crawling, listing, start)
            blocks = coming if first is None else chain((first,), coming)
            read, selected = _write_blocks(progress.counted_blocks(blocks), listing, stream.top.url)
            if not selected:
                _tell_empty(stream.tree, read)
            _end(stream.tree, crawling, listing, start)
        return


@contextmanager
def _stopping(stream: PageBlocks, target: Path | None) -> Iterator[None]:
    """Stop a stream if the standard output is a pipe whose reader has ended."""
    if target is not None:
        yield
        return
    with watching(sys.stdout, stream.stop):
        yield
        if stream.is_stopped:
            raise BrokenPipeError


def _write_blocks(
    blocks: Iterator[tuple[str, PageBlock]], listing: Listing, site: str
) -> tuple[int, int]:
    """Write the pages of blocks; return how many were read, and how many written."""
    read, selected = _Pages(), _Pages()
    blocks = read.blocks(blocks)
    if listing.selection is not None:
        blocks = listing.selection.run(site).of_stream(blocks)
    blocks = selected.blocks(blocks)
    if listing.target is None:
        blocks = _flushed(blocks)
    if listing.is_lines:
        shown = _shown(listing, site)
        _write_lines((shown(url) for _, block in blocks for url in block.urls), listing.target)
    else:
        _write_table(blocks, listing, site)
    return read.count, selected.count


class _Pages:
    """Counts pages that pass."""

    def __init__(self) -> None:
        self.count = 0

    def blocks(self, blocks: Iterable[tuple[Url, PageBlock]]) -> Iterator[tuple[Url, PageBlock]]:
        """Yield blocks, and count their pages."""
        for url, block in blocks:
            self.count += len(block.urls)
            yield url, block

    def lines(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines, and count them."""
        for line in lines:
            self.count += 1
            yield line


def _tell_empty(tree: AbstractSitemap | None, read: int) -> None:
    """Report why no page is listed although sitemaps were read."""
    sys.stdout.flush()
    if read:
        message = f"no page matches the filters; {counted(read, 'page')} left out"
        tell.notice(message, left_out=read)
    elif tree is not None:
        nodes = (tree, *tree.all_sitemaps())
        empty = sum(isinstance(node, AbstractPagesSitemap) for node in nodes)
        if empty:
            tell.notice(f"{counted(empty, 'sitemap')} read, without any pages", empty=empty)


def _flushed(blocks: Iterable[tuple[str, PageBlock]]) -> Iterator[tuple[str, PageBlock]]:
    """Yield blocks, and flush each before waiting for the next one."""
    for block in blocks:
        yield block
        sys.stdout.flush()


def _end_if_nothing(
    tree: AbstractSitemap, crawling: Crawling, listing: Listing, start: Address
) -> None:
    """End if nothing was read: an empty file must not replace a good one."""
    is_shown = listing.is_lines and listing.target is None
    if tree.failures() and not was_read(tree, is_local=start.is_local) and not is_shown:
        end_with(tree, start, crawling)


def _end(
    tree: AbstractSitemap | None, crawling: Crawling, listing: Listing, start: Address
) -> None:
    """End with the status of a tree; None stands for one that was not fetched to the end."""
    sys.stdout.flush()
    tell.undated(listing.undated.count)
    tell.skipped(listing.skipped.counts())
    if tree is not None:
        end_with(tree, start, crawling)


def _shown(listing: Listing, url: str) -> Callable[[str], str]:
    strip = listing.strip_url and is_http_url(url)
    return shown_below(strip_url_to_homepage(url)) if strip else printable


def _write_lines(lines: Iterable[str], target: Path | None) -> None:
    with _reporting(target), _text(target) as stream:
        write_lines(lines, stream)


@contextmanager
def _reporting(target: Path | None) -> Iterator[None]:
    """Report errors of writing a file; those of the standard output are handled for all commands."""
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
    """Yield a text stream: the standard output, or a new file."""
    if target is None:
        yield sys.stdout
        return
    with replacing(target) as file, compressing(target, file) as binary:
        stream = io.TextIOWrapper(binary, encoding="utf-8", newline="\n")
        try:
            yield stream
        finally:
            stream.detach()  # flushes; the file is closed by those who opened it


def _write_table(
    blocks: Iterable[tuple[str | None, PageBlock]], listing: Listing, site: str
) -> None:
    with _reporting(listing.target):
        target = listing.target or sys.stdout
        write_blocks(blocks, target, listing.output, listing.columns, location=site)
