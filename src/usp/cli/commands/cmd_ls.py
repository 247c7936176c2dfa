"""``usp ls``: lists the sitemaps and pages of a website, as they come in if possible.

Tables are written by :mod:`usp.export`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._base.display import counted, printable
from usp.cli import options
from usp.cli.errors import messages, why
from usp.cli.option_values import read_columns
from usp.cli.output import naming, shown_below, watching, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from usp.cli.progress_line import Progress
    from usp.objects.page import PageBlock
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Selection

LINES = ("tabtree", "pages")
# The names of what usp.export writes, which the help lists without loading it.
TABLES = ("csv", "json", "jsonl", "parquet", "xml")
SITEMAP_TABLES = ("text", "csv", "json", "jsonl", "parquet")
SITEMAP_COLUMNS = (
    *("url", "parent", "type", "status", "bytes", "pages", "problems", "problem_codes"),
    *("failure", "code"),
)
_SUFFIXES = {f".{name}": name for name in TABLES} | {".txt": "pages"}
_STREAMED = frozenset({"pages", "csv", "jsonl", "json"})


@options.command("ls")
@options.url_argument
@options.form(
    [*LINES, *TABLES, "sitemaps"],
    "tabtree: sitemaps and pages, indented with tabs (the default without -o). "
    "pages: one page URL per line. csv, json, jsonl, parquet: a table of the pages. xml: one "
    "sitemap with all pages. sitemaps: the same as --sitemaps.",
    metavar="FORMAT",
)
@options.table(
    {
        "--sitemaps": "List the sitemaps instead of their pages, with the columns "
        f"{', '.join(SITEMAP_COLUMNS)}: as text, or in the format set by -f or -o (csv, json, jsonl, "
        "parquet)."
    }
)
@options.output(
    "Write to this file once everything has been read. Its suffix sets the format; "
    ".gz compresses it.",
    name="target",
)
@options.table(
    {
        "-u --strip-url": "Leave out the scheme and host of the website.",
        "--columns NAMES": "Columns of a table of pages, comma-separated: "
        f"{', '.join(options.COLUMNS)}.",
    }
)
@options.filter_options
@options.table({"--limit N": "Stop after this many pages; no more sitemaps are fetched then."})
@options.run_options
def command(
    run: options.RunOptions,
    start: options.Input,
    sitemaps: bool,
    no_skip: bool,
    limit: int | None,
    **values: Any,
) -> None:
    """List the sitemaps of a website and their pages.

    URL is a website, a sitemap, a feed or a robots.txt; -r and -k apply to websites only.
    The default scheme is https. URL may also be a file, a folder, or - for standard input. Results
    are written to standard output, the log to standard error. The exit status is 0 if anything was
    read and 1 if nothing was; with --strict, it is 3 if anything is missing.

    \b
    Examples:
      usp ls example.org                            sitemaps and pages as a tree
      usp ls example.org -f pages > urls.txt        one page URL per line
      usp ls example.org/sitemap_index.xml -u       one sitemap and what it lists
      usp ls example.org -o pages.parquet           a table of all pages
      usp ls example.org -f jsonl --limit 100       the first 100 pages
      usp ls example.org --since 30d -o new.csv     pages of the last 30 days
      usp ls example.org --since 7d --dated --include 'sitemap:*news*' -o news.csv
                                                    this week's news pages
      usp ls example.org -f sitemaps                a table of the sitemaps
      usp ls example.org -v -l crawl.log            write a log file
    """  # noqa: D301 - click knows the backspace
    from usp.selection import Selection

    undated: list[int] = []
    selection = options.read_selection(values, limit=limit, on_undated=undated.append)
    if selection is not None and not no_skip:
        run = replace(run, options=selection.crawl_options(run.options))
    if sitemaps or values["form"] == "sitemaps":
        if values.pop("strip_url") or selection is not None:
            raise click.UsageError(
                "filters and --strip-url apply to pages; they cannot be used with --sitemaps"
            )
        _list_sitemaps(run, start, **values)
        return
    listing = _Listing(run, start, selection or Selection(), undated, **values)
    with run.running() as progress:
        (_list_stream if listing.can_stream else _list_tree)(listing, progress)


@dataclass(slots=True)
class _Listing:
    """Which pages to list, in which format, and where to write them.

    Raises ``UsageError`` for options that exclude each other.
    """

    run: options.RunOptions
    start: options.Input
    selection: Selection
    undated: list[int]  # how many pages had no date, in parts
    form: str
    target: Path | None
    columns: Any
    strip_url: bool

    def __post_init__(self) -> None:
        self.form = options.format_for(self.target, self.form, _SUFFIXES, "tabtree")
        if self.form in TABLES and self.strip_url:
            raise click.UsageError(
                f"--strip-url works with the formats tabtree and pages, not with {self.form}"
            )
        if self.form not in TABLES and self.columns is not None:
            raise click.UsageError(
                f"--columns needs a table, and {self.form} is not one; use for example -f csv"
            )
        self.columns = _columns(self.columns, options.COLUMNS, self.form, self.target)

    @property
    def can_stream(self) -> bool:
        """Whether pages are written as they are found, without waiting for the whole tree.

        A file is only written when it is complete; with a limit, the rest need not be fetched.
        """
        if self.start.is_local or self.run.options.keep_partial or self.form == "tabtree":
            return False
        is_shown = self.target is None and self.form in _STREAMED
        return is_shown or self.selection.limit is not None

    def shown_below(self, url: str) -> Callable[[str], str]:
        """Return how URLs are shown in the listing of a website or a sitemap."""
        from usp.helpers import is_http_url, strip_url_to_homepage

        strip = self.strip_url and is_http_url(url)
        return shown_below(strip_url_to_homepage(url)) if strip else printable

    def exit_if_nothing(self, tree: AbstractSitemap) -> None:
        """End if nothing was read; lines that are shown have at least the URL."""
        if self.form not in LINES or self.target is not None:
            self.run.exit_if_nothing(tree, self.start)

    def end(self, tree: AbstractSitemap | None, progress: Progress) -> None:
        """End with the status of a tree; None stands for one that was not fetched to the end."""
        sys.stdout.flush()
        messages.undated(sum(self.undated))
        messages.skipped(progress.skipped)
        if tree is not None:
            self.run.exit_for(tree, self.start)


def _columns(
    given: str | None, known: tuple[str, ...], form: str, target: Path | None
) -> tuple[str, ...] | None:
    """Return the columns of a table; a format that is not possible is refused before the crawl."""
    if form == "parquet":
        from usp.export.schema import pyarrow

        if target is None and sys.stdout.isatty():
            raise click.UsageError(
                "parquet cannot be shown on a terminal; write it to a file with -o pages.parquet"
            )
        pyarrow(".parquet")
    return read_columns(given, known)


def _list_tree(listing: _Listing, progress: Progress) -> None:
    from usp.helpers import is_http_url

    tree = listing.run.tree(listing.start, on_event=progress)
    listing.exit_if_nothing(tree)
    if listing.selection.same_host and not is_http_url(tree.url):
        raise click.UsageError(
            "--same-host needs a website, and a file has no host of its own; use for example "
            "--include 'https://example.org/*'"
        )
    if listing.form == "tabtree":
        lines = tabtree_lines(tree, listing.shown_below(tree.url), listing.selection)
        write_text(progress.counted(lines), listing.target)
    else:
        blocks = listing.selection.blocks(tree)
        _write(progress.counted(blocks, _pages_in), listing, tree.url)
        if not progress.pages:
            _notice_empty(tree, tree.page_count())
    listing.end(tree, progress)


def _list_stream(listing: _Listing, progress: Progress) -> None:
    """List pages as they arrive; after the last one selected, nothing is fetched or missing."""
    from usp.cli.progress_line import Progress

    written = Progress()  # of the pages that are selected; the other one has all that are read
    for stream in listing.run.blocks(listing.start, on_event=progress):
        reader = sys.stdout if listing.target is None else None
        with closing(iter(stream)) as coming, watching(reader, stream.stop):
            first = next(coming, None)
            assert stream.top is not None
            if stream.top.is_wrong_guess:
                continue
            if stream.tree is not None:
                listing.exit_if_nothing(stream.tree)
            site = stream.top.url
            read = progress.counted(chain((first,) if first else (), coming), _pages_in)
            blocks = written.counted(listing.selection.run(site).of_stream(read), _pages_in)
            _write(_flushed(blocks) if reader else blocks, listing, site)
            if not written.pages:
                _notice_empty(stream.tree, progress.pages)
            listing.end(stream.tree, progress)
        return


def _list_sitemaps(
    run: options.RunOptions,
    start: options.Input,
    form: str | None,
    target: Path | None,
    columns: str | None,
) -> None:
    """List the sitemaps of a website, a row for each."""
    given = None if form == "sitemaps" else form
    form = options.format_for(target, given, _SUFFIXES | {".txt": "text"}, "text", is_needed=False)
    if form not in SITEMAP_TABLES:
        raise click.UsageError(
            f"sitemaps cannot be listed as {form}; choose from {', '.join(SITEMAP_TABLES)}"
        )
    names = _columns(columns, SITEMAP_COLUMNS, form, target)
    from usp.export.sitemaps import sitemap_rows, write_sitemaps

    with run.running() as progress:
        tree = run.tree(start, on_event=progress)
        if target is not None:
            run.exit_if_nothing(tree, start)
        examine = not names or any(name.startswith("problem") for name in names)
        rows = sitemap_rows(tree, why, problems=examine)
        if form == "text":
            rows = (
                {name: printable(one) if isinstance(one, str) else one for name, one in row.items()}
                for row in rows
            )
        with naming(target):
            write_sitemaps(rows, target or sys.stdout, form, names)
        sys.stdout.flush()
        run.exit_for(tree, start, shown=True)


def tabtree_lines(
    tree: AbstractSitemap, shown: Callable[[str], str], selection: Selection
) -> Iterator[str]:
    """Yield a line for each sitemap and each page, indented with tabs; the root has its full URL.

    A selection is one of pages: sitemaps are listed whether or not they have selected pages.
    """
    from usp.objects.sitemap import AbstractPagesSitemap

    run, takes_all = selection.run(tree.url), selection.takes_all
    waiting = [(tree, 0)]
    while waiting:
        sitemap, depth = waiting.pop()
        yield "\t" * depth + (shown if depth else printable)(sitemap.url)
        waiting.extend((child, depth + 1) for child in reversed(sitemap.sub_sitemaps))
        if isinstance(sitemap, AbstractPagesSitemap):
            selected = (page for _, block in run.blocks(sitemap) for page in block.pages())
            for page in sitemap.all_pages() if takes_all else selected:
                yield "\t" * (depth + 1) + shown(page.url)


def _write(blocks: Iterable[Any], listing: _Listing, site: str) -> None:
    """Write blocks of pages as lines or as a table."""
    if listing.form == "pages":
        shown = listing.shown_below(site)
        write_text((shown(url) for _, block in blocks for url in block.urls), listing.target)
        return
    from usp.export import write_blocks

    target = listing.target or sys.stdout
    with naming(listing.target):
        write_blocks(blocks, target, listing.form, listing.columns, location=site)


def _pages_in(given: tuple[Any, PageBlock]) -> int:
    return len(given[1].urls)


def _flushed(blocks: Iterable[Any]) -> Iterator[Any]:
    """Yield blocks; what was written of one is flushed before the next."""
    for block in blocks:
        yield block
        sys.stdout.flush()


def _notice_empty(tree: AbstractSitemap | None, read: int) -> None:
    """Report why no page is listed although sitemaps were read."""
    sys.stdout.flush()
    if read:
        message = f"no page matches the filters; {counted(read, 'page')} left out"
        messages.notice(message, left_out=read)
    elif tree is not None:
        from usp.objects.sitemap import AbstractPagesSitemap

        nodes = (tree, *tree.all_sitemaps())
        empty = sum(isinstance(node, AbstractPagesSitemap) for node in nodes)
        if empty:
            messages.notice(f"{counted(empty, 'sitemap')} read, without any pages", empty=empty)
