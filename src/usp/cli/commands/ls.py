"""``usp ls``: lists the sitemaps and pages of a website; which pages, in which format, and where to."""

from __future__ import annotations

import sys
from dataclasses import dataclass, field, replace
from functools import update_wrapper
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp.cli.filters import FILTER_OPTIONS, read_selection
from usp.cli.option_values import Integer, Target
from usp.cli.output import Command
from usp.cli.shared_options import COLUMNS, crawl_options, is_from_file, url_argument

if TYPE_CHECKING:
    from pathlib import Path

    from usp.cli.crawling import Address, Crawling
    from usp.cli.shared_options import F
    from usp.events import Event, Listener
    from usp.objects.child import SkipReason
    from usp.selection import Selection

# The names of what usp.export writes, which the help lists without loading it.
LINES = ("tabtree", "pages")
TABLES = ("csv", "json", "jsonl", "parquet", "xml")
SITEMAP_TABLES = ("text", "csv", "json", "jsonl", "parquet")
SITEMAP_COLUMNS = (
    *("url", "parent", "type", "status", "bytes", "pages", "problems", "problem_codes"),
    *("failure", "code"),
)
_USUAL = "tabtree"


class Undated:
    """Counts the pages without a date that were listed although a period was given."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, count: int) -> None:
        """Add to the count."""
        self.count += count


class Skipped:
    """Counts the sitemaps that were not fetched because an index shows that no page is wanted."""

    def __init__(self) -> None:
        self._urls: dict[SkipReason, set[str]] = {}

    def counts(self) -> dict[SkipReason, int]:
        """Return how many were skipped for each reason."""
        return {reason: len(urls) for reason, urls in sorted(self._urls.items())}

    def hearing(self, listener: Listener) -> Listener:
        """Return a listener that counts what it hears, and passes it on."""
        from usp.events import SitemapSkipped

        def hear(event: Event) -> None:
            if isinstance(event, SitemapSkipped):
                self._urls.setdefault(event.reason, set()).add(event.url)
            listener(event)

        return hear


@dataclass(frozen=True, slots=True)
class Listing:
    """What to list, in which format, and where to write it."""

    output: str
    target: Path | None
    columns: tuple[str, ...] | None
    selection: Selection | None
    undated: Undated
    strip_url: bool
    sitemaps: bool = False
    skips: bool = False
    skipped: Skipped = field(default_factory=Skipped)

    @property
    def is_lines(self) -> bool:
        """Whether the format is one of lines, for people and pipes, and not a table."""
        return self.output in LINES


_OPTIONS = [
    click.option(
        "-f",
        "--format",
        "output",
        type=click.Choice([*LINES, *TABLES, "sitemaps"]),
        metavar="FORMAT",
        help="tabtree: sitemaps and pages, indented with tabs (the default without -o). "
        "pages: one page URL per line. csv, json, jsonl, parquet: a table of the pages. xml: one "
        "sitemap with all pages. sitemaps: the same as --sitemaps.",
    ),
    click.option(
        "--sitemaps",
        is_flag=True,
        help="List the sitemaps instead of their pages, with the columns "
        f"{', '.join(SITEMAP_COLUMNS)}: as text, or in the format set by -f or -o (csv, json, jsonl, "
        "parquet).",
    ),
    click.option(
        "-o",
        "--output",
        "target",
        metavar="FILE",
        type=Target(),
        help="Write to this file once everything has been read. Its suffix sets the format; "
        ".gz compresses it.",
    ),
    click.option(
        "-u", "--strip-url", is_flag=True, help="Leave out the scheme and host of the website."
    ),
    click.option(
        "--columns",
        metavar="NAMES",
        help=f"Columns of a table of pages, comma-separated: {', '.join(COLUMNS)}.",
    ),
    *FILTER_OPTIONS,
    click.option(
        "--limit",
        type=Integer(min=1),
        metavar="N",
        help="Stop after this many pages; no more sitemaps are fetched then.",
    ),
]


def list_options(command: F) -> F:
    """Return a command with the options of a listing; it receives them as ``listing``."""

    def collected(**values: Any) -> Any:
        undated = Undated()
        selection = read_selection(values, limit=values.pop("limit"), on_undated=undated.add)
        skips = not values.pop("no_skip") and selection is not None
        output, target, columns, strip_url, sitemaps = (
            values.pop(name) for name in ("output", "target", "columns", "strip_url", "sitemaps")
        )
        if sitemaps or output == "sitemaps":
            if strip_url or selection is not None:
                raise click.UsageError(
                    "filters and --strip-url apply to pages; they cannot be used with --sitemaps"
                )
            form = _table_of_sitemaps(output, target)
            names = _columns(columns, SITEMAP_COLUMNS)
            listing = Listing(form, target, names, None, undated, strip_url=False, sitemaps=True)
        else:
            listing = _listing(output, target, columns, selection, undated, strip_url=strip_url)
        return command(listing=replace(listing, skips=skips), **values)

    result: Any = update_wrapper(collected, command)
    for option in reversed(_OPTIONS):
        result = option(result)
    return result  # type: ignore[no-any-return]


def _listing(
    output: str | None,
    target: Path | None,
    columns: str | None,
    selection: Selection | None,
    undated: Undated,
    *,
    strip_url: bool,
) -> Listing:
    if target is not None and is_from_file("output"):
        output = _format_told(target) or output
    output = output or (_USUAL if target is None else _format_of(target))
    if output in TABLES and strip_url:
        raise click.UsageError(
            f"--strip-url works with the formats tabtree and pages, not with {output}"
        )
    if output not in TABLES and columns is not None:
        raise click.UsageError(
            f"--columns needs a table, and {output} is not one; use for example -f csv"
        )
    if output == "parquet":
        _check_parquet(target)
    return Listing(output, target, _columns(columns, COLUMNS), selection, undated, strip_url)


def _table_of_sitemaps(output: str | None, target: Path | None) -> str:
    """Return the format of a table of sitemaps: that of -f, else that of the file name."""
    told = _format_told(target) if target is not None else None
    if output in (None, "sitemaps") or (told is not None and is_from_file("output")):
        output = "text" if told in (None, "pages") else told
    if output not in SITEMAP_TABLES:
        raise click.UsageError(
            f"sitemaps cannot be listed as {output}; choose from {', '.join(SITEMAP_TABLES)}"
        )
    if output == "parquet":
        _check_parquet(target)
    return output


def _columns(given: str | None, known: tuple[str, ...]) -> tuple[str, ...] | None:
    if given is None:
        return None
    from usp.export.schema import chosen

    try:
        return chosen((name.strip() for name in given.split(",")), known)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--columns") from error


def _format_told(target: Path) -> str | None:
    """Return the format for the suffix of a file, or None."""
    from usp.export import format_of

    if target.name.lower().removesuffix(".gz").endswith(".txt"):
        return "pages"
    return format_of(target)


def _format_of(target: Path) -> str:
    form = _format_told(target)
    if form is None:
        raise click.BadParameter(
            f"no format given for {target.name!r}; use -f, or one of the suffixes "
            f"{', '.join(f'.{name}' for name in TABLES)}, .txt",
            param_hint="--output",
        )
    return form


def _check_parquet(target: Path | None) -> None:
    """Raise an error if Parquet cannot be written, before anything is fetched."""
    from usp.export.schema import MissingExtraError, pyarrow

    if target is None and sys.stdout.isatty():
        raise click.UsageError(
            "parquet cannot be shown on a terminal; write it to a file with -o pages.parquet"
        )
    try:
        pyarrow(".parquet")
    except MissingExtraError as error:
        raise click.ClickException(str(error)) from error


# The command ---------------------------------------------------------------------------------------


@click.command("ls", cls=Command)
@url_argument
@list_options
@crawl_options
def command(crawling: Crawling, listing: Listing, start: Address) -> None:
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
    from usp.cli.listing import list_site

    list_site(crawling, listing, start)
