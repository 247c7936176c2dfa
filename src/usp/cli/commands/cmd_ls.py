"""``usp ls``: lists the sitemaps and pages of a website, as they come in if possible.

Tables are written by :mod:`usp.export`.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._base.display import counted, printable
from usp._base.names import PAGE_FORMATS, SITEMAP_COLUMNS, SITEMAP_FORMATS
from usp.cli import options
from usp.cli.errors import messages, why
from usp.cli.option_values import read_columns, value_of
from usp.cli.output import (
    is_for_people,
    naming,
    painted,
    shown_below,
    watching,
    write_text,
)

if TYPE_CHECKING:
    from pathlib import Path

    from usp._base.progress_line import Progress
    from usp.objects.page import PageBlock
    from usp.objects.sitemap import AbstractSitemap
    from usp.selection import Selection

LINES = ("tabtree", "pages")
TABLES = ("table", *PAGE_FORMATS)
_BY_SUFFIX = (*PAGE_FORMATS, "pages")
_BEST = 100  # pages that fit some words, unless a limit is given
_STREAMED = frozenset({"pages", "table", "csv", "jsonl", "json"})


@options.command("ls")
@options.url_argument
@options.results(
    [*LINES, *TABLES],
    "tabtree: all, indented with tabs (default). pages: one URL per line. table: for terminals. "
    "csv, json, jsonl, parquet: a row per page. xml: one sitemap.",
    old=["sitemaps"],
    metavar="FORMAT",
)
@options.table(
    {
        "--sitemaps": "List sitemaps: text, csv, json, jsonl or parquet.",
        "--unordered": "List pages as they arrive, not in the tree's order.",
        "-u --strip-url": "Leave out the scheme and host of the website.",
        "--columns NAMES": "Columns of a table, comma-separated. Of pages: "
        f"{', '.join(options.COLUMNS)}.",
    }
)
@options.filter_options
@options.table(
    {
        "--match WORDS": "The pages that fit these words best, best first.",
        "--limit N": "Stop after N pages (--match: 100).",
    }
)
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

    URL is a website, a sitemap, a feed, a robots.txt, a file, a folder, or - for standard input. The
    exit status is 0 if anything was read and 1 if nothing was; with --strict, it is 3 if anything is
    missing.

    Examples:
      usp ls example.org                            sitemaps and pages as a tree
      usp ls example.org -f pages > urls.txt        one page URL per line
      usp ls example.org -o pages.parquet           a table of all pages
      usp ls example.org --since 30d -o new.csv     pages of the last 30 days
      usp ls example.org --match "pricing api"      the pages that fit best
    """
    from usp.selection import Selection

    undated: list[int] = []
    selection = options.read_selection(values, limit=limit, on_undated=undated.append)
    if selection is not None and not no_skip:
        run = replace(run, options=selection.crawl_options(run.options))
    if sitemaps or values["form"] == "sitemaps":
        of_pages = values.pop("strip_url") | values.pop("unordered")
        if of_pages or values.pop("match") is not None or selection is not None:
            raise click.UsageError(
                "filters, --match, --unordered and --strip-url apply to pages; they cannot be used "
                "with --sitemaps"
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
    output: Path | None
    columns: Any
    strip_url: bool
    unordered: bool
    match: str | None

    def __post_init__(self) -> None:
        usual = "tabtree" if self.match is None else "pages"
        self.form = options.format_for(self.output, self.form, _BY_SUFFIX, usual)
        if self.match is not None and (self.form == "tabtree" or self.unordered):
            raise click.UsageError(
                "--match lists pages in an order of its own, not with -f tabtree or --unordered"
            )
        if self.match is not None:
            from usp.matching import Ranking

            with value_of("--match"):
                Ranking(self.match)
        if self.unordered and self.form not in _STREAMED:
            raise click.UsageError(
                f"--unordered works with the formats {', '.join(sorted(_STREAMED))}, not with "
                f"{self.form}; use for example -f pages"
            )
        if self.form in TABLES and self.strip_url:
            raise click.UsageError(
                f"--strip-url works with the formats tabtree and pages, not with {self.form}"
            )
        if self.form not in TABLES and self.columns is not None:
            raise click.UsageError(
                f"--columns needs a table, and {self.form} is not one; use for example -f csv"
            )
        self.columns = _columns(self.columns, options.COLUMNS, self.form, self.output)

    @property
    def can_stream(self) -> bool:
        """Whether pages are written as they are found, without waiting for the whole tree.

        A file is only written when it is complete; with a limit, the rest need not be fetched.
        """
        needs_all = self.form == "tabtree" or self.match is not None
        if needs_all or self.start.is_local or self.run.options.keep_partial:
            return False
        is_shown = self.output is None and self.form in _STREAMED
        return is_shown or self.selection.limit is not None

    def shown_below(self, url: str) -> Callable[[str], str]:
        """Return how URLs are shown in the listing of a website or a sitemap."""
        from usp.helpers import is_http_url, strip_url_to_homepage

        strip = self.strip_url and is_http_url(url)
        return shown_below(strip_url_to_homepage(url)) if strip else printable

    def exit_if_nothing(self, tree: AbstractSitemap) -> None:
        """End if nothing was read; lines that are shown have at least the URL."""
        if self.form not in LINES or self.output is not None:
            self.run.exit_if_nothing(tree, self.start)

    def end(self, tree: AbstractSitemap | None, progress: Progress, written: int) -> None:
        """End with the status of a tree; None stands for one that was not fetched to the end."""
        sys.stdout.flush()
        messages.wrote(self.output, written, "line" if self.form == "tabtree" else "page")
        messages.undated(sum(self.undated))
        messages.skipped(progress.skipped)
        if tree is not None:
            self.run.exit_for(tree, self.start)


def _columns(
    given: str | None, known: tuple[str, ...], form: str, output: Path | None
) -> tuple[str, ...] | None:
    """Return the columns of a table; a format that is not possible is refused before the crawl."""
    if form == "parquet":
        from usp.export.schema import pyarrow

        if output is None and sys.stdout.isatty():
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
        write_text(progress.counted(lines), listing.output)
    else:
        blocks = listing.selection.blocks(tree)
        if listing.match is not None:
            blocks = _best_blocks(tree, listing.match, listing.selection)
        _write(progress.counted(blocks, _pages_in), listing, tree.url)
        if not progress.pages:
            _notice_empty(tree, tree.page_count())
    listing.end(tree, progress, progress.pages)


def _best_blocks(
    tree: AbstractSitemap, words: str, selection: Selection
) -> Iterator[tuple[str | None, PageBlock]]:
    """Return the pages that fit some words best, each as a block."""
    from usp.matching import best_pages
    from usp.objects.page import PageList

    limit = _BEST if selection.limit is None else selection.limit
    found = best_pages(tree, words, limit=limit, selection=selection)
    return ((match.sitemap, PageList([match.page])) for match in found)


def _list_stream(listing: _Listing, progress: Progress) -> None:
    """List pages as they arrive; after the last one selected, nothing is fetched or missing."""
    from usp._base.progress_line import Progress

    written = Progress()  # of the pages that are selected; the other one has all that are read
    for stream in listing.run.blocks(listing.start, progress, unordered=listing.unordered):
        reader = sys.stdout if listing.output is None else None
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
            listing.end(stream.tree, progress, written.pages)
        return


def _list_sitemaps(
    run: options.RunOptions,
    start: options.Input,
    form: str | None,
    output: Path | None,
    columns: str | None,
) -> None:
    """List the sitemaps of a website, a row for each."""
    given = None if form == "sitemaps" else form
    form = options.format_for(output, given, (*_BY_SUFFIX, "text"), "text", is_needed=False)
    if form not in SITEMAP_FORMATS:
        raise click.UsageError(
            f"sitemaps cannot be listed as {form}; choose from {', '.join(SITEMAP_FORMATS)}"
        )
    names = _columns(columns, SITEMAP_COLUMNS, form, output)
    from usp.export.sitemaps import sitemap_rows, write_sitemaps

    with run.running() as progress:
        tree = (run.tree if output is None else run.needed_tree)(start, progress)
        examine = not names or any(name.startswith("problem") for name in names)
        rows = sitemap_rows(tree, why, problems=examine)
        if form == "text":
            rows = (
                {name: printable(one) if isinstance(one, str) else one for name, one in row.items()}
                for row in rows
            )
        with naming(output):
            write_sitemaps(progress.counted(rows), output or sys.stdout, form, names)
        sys.stdout.flush()
        messages.wrote(output, progress.pages, "sitemap")
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
        write_text((shown(url) for _, block in blocks for url in block.urls), listing.output)
        return
    if listing.form == "table":
        is_file = listing.output is not None
        write_text(table_lines(blocks, listing.columns, is_file=is_file), listing.output)
        return
    from usp.export import write_blocks

    target = listing.output or sys.stdout
    with naming(listing.output):
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


# Pages as a table for people: as wide as the terminal, or with tabs between the columns ------------


_USUAL = ("url", "lastmod", "changefreq", "priority", "news.title", "image_count")
_WIDEST = 24  # of all columns but those with URLs
_LEAST = 20  # columns of the terminal for URLs, whatever else there is
_GAP = "  "


def table_lines(
    blocks: Iterable[tuple[str | None, PageBlock]], names: Sequence[str] | None, *, is_file: bool
) -> Iterator[str]:
    """Yield the lines of a table; without names, of the usual columns that have anything.

    Only a terminal has a width: it is shared by what the first pages have.
    """
    from usp.export.text_formats import rows_of_block

    shown = names or _USUAL
    parts = (rows_of_block(shown, url, block) for url, block in blocks)
    if is_file or not is_for_people():
        yield "\t".join(shown)
        yield from ("\t".join(map(_cell_text, row)) for rows in parts for row in rows)
        return
    first = [_cells(shown, row) for row in next(parts, ())]
    used = [at for at in range(len(shown)) if names or any(row[at] for row in first) or not at]
    titles = [shown[at] for at in used]
    widths = _widths(titles, [[row[at] for at in used] for row in first])
    head = _GAP.join(map(_fitting, titles, widths)).rstrip()
    yield painted(head, "title")
    for row in chain(first, (_cells(shown, row) for rows in parts for row in rows)):
        cells = (_fitting(row[at], width) for at, width in zip(used, widths, strict=True))
        yield _GAP.join(cells).rstrip()


def _cell_text(value: Any) -> str:
    from usp.export.text_formats import to_json

    if value is None:
        return ""
    return printable(" ".join((value if isinstance(value, str) else to_json(value)).split()))


def _cells(names: Sequence[str], row: Sequence[Any]) -> list[str]:
    """Return the texts of a row; a date at midnight is a day, and no images are nothing."""
    texts = ["" if value in (0, False) else _cell_text(value) for value in row]
    return [
        text[:16].replace("T", " ").removesuffix(" 00:00")
        if name in ("lastmod", "news.date")
        else text
        for name, text in zip(names, texts, strict=True)
    ]


def _widths(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the widths of the columns: what the first pages need, and URLs what is left.

    Later URLs may be longer: they get half as much again, if there is room.
    """
    from rich.cells import cell_len

    room = shutil.get_terminal_size().columns - len(_GAP) * (len(titles) - 1)
    needs = [max(map(cell_len, column)) for column in zip(titles, *rows, strict=True)]
    long = [at for at, name in enumerate(titles) if name in ("url", "sitemap", "path")]
    widths = [need if at in long else min(need, _WIDEST) for at, need in enumerate(needs)]
    left = room - sum(width for at, width in enumerate(widths) if at not in long)
    for number, at in enumerate(sorted(long, key=needs.__getitem__)):
        share = max(_LEAST, left // (len(long) - number))
        widths[at] = min(needs[at] * 3 // 2, share)
        left -= widths[at]
    return widths


def _fitting(text: str, width: int) -> str:
    """Return a text of this width: a URL loses its host, then its middle: its ends say most."""
    from rich.cells import cell_len, chop_cells, set_cell_size

    if cell_len(text) <= width:
        return set_cell_size(text, width)
    scheme, _, path = text.partition("://")
    if path and scheme.isalpha():
        return _fitting(f"…/{path.partition('/')[2]}", width)
    keep = width - 1
    tail = keep // 2 if "/" in text and " " not in text else 0
    end = chop_cells(text[::-1], tail)[0][::-1] if tail else ""
    return set_cell_size(set_cell_size(text, keep - cell_len(end)) + "…" + end, width)
