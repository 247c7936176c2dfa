"""The options of a listing: which pages, which columns, in which format, and where to."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import update_wrapper
from typing import TYPE_CHECKING, Any, TypeVar

import rich_click as click

from usp.cli.output.formats import LINES, OUTPUTS
from usp.cli.target import Target, is_from_file
from usp.export import COLUMNS, FORMATS, format_of
from usp.export.schema import MissingExtraError, chosen, pyarrow
from usp.export.sitemaps import SITEMAP_COLUMNS, SITEMAP_FORMATS
from usp.selection import Selection, bounds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    F = TypeVar("F", bound=Callable[..., Any])

_USUAL = "tabtree"


class Undated:
    """Counts the pages without a date that were listed although a period was asked for."""

    def __init__(self) -> None:
        self.count = 0

    def add(self, count: int) -> None:
        """Count some more."""
        self.count += count


@dataclass(frozen=True, slots=True)
class Listing:
    """What is listed, and how."""

    output: str
    target: Path | None
    columns: tuple[str, ...] | None
    selection: Selection | None
    undated: Undated
    strip_url: bool
    sitemaps: bool = False

    @property
    def is_lines(self) -> bool:
        """Whether it is written line by line, for people and pipes; else it is a table."""
        return self.output in LINES


_OPTIONS = [
    click.option(
        "-f",
        "--format",
        "output",
        type=click.Choice([*OUTPUTS, "sitemaps"]),
        help="tabtree: sitemaps and pages, indented by tabs (the default without -o). "
        "pages: one page URL a line. csv, json, jsonl, parquet: a table of the pages. xml: one "
        "sitemap of them all. sitemaps: a table of the sitemaps, see --sitemaps.",
    ),
    click.option(
        "--sitemaps",
        is_flag=True,
        help="List the sitemaps instead of their pages: "
        f"{', '.join(SITEMAP_COLUMNS)}; in text, or in the format of -f or -o: csv, json, jsonl, "
        "parquet.",
    ),
    click.option(
        "-o",
        "--output",
        "target",
        metavar="FILE",
        type=Target(),
        help="Write to this file when everything has been read; its suffix sets the format,"
        " .gz compresses it.",
    ),
    click.option(
        "-u", "--strip-url", is_flag=True, help="Leave out scheme and host of the website."
    ),
    click.option(
        "--columns",
        metavar="NAMES",
        help=f"Only these columns of a table, comma-separated: {', '.join(COLUMNS)}.",
    ),
    click.option(
        "--since",
        metavar="DATE",
        help="Only pages that changed, or were published if nothing says when they changed, on this "
        "date or later: 2025, 2025-01-31, or 12h, 7d, 4w ago. Pages without a date are kept.",
    ),
    click.option("--until", metavar="DATE", help="The same, on this date or before."),
    click.option("--dated", is_flag=True, help="Leave out pages without a date."),
    click.option(
        "--include",
        multiple=True,
        metavar="PATTERN",
        help="Only pages whose URL matches: '*/blog/*', '/blog/*' from the path on, 're:…' a "
        "regular expression; 'sitemap:*news*' is for the URL of the sitemap.",
    ),
    click.option("--exclude", multiple=True, metavar="PATTERN", help="No pages that match."),
    click.option("--unique", is_flag=True, help="Each URL once, however many sitemaps name it."),
    click.option("--same-host", is_flag=True, help="Only pages on the website's own host."),
    click.option(
        "--limit",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop after this many pages; the rest is not fetched.",
    ),
]
_SELECTED = ("since", "until", "include", "exclude", "unique", "same_host", "limit")


_AGO = re.compile(r"([0-9]{1,6})\s*([hdw])", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}


def _moment(name: str, text: str | None) -> str | datetime | None:
    """Return the time seven days ago for ``7d``; anything else must be a date."""
    if text is None:
        return None
    match = _AGO.fullmatch(text.strip())
    try:
        if match is not None:
            return datetime.now(UTC) - timedelta(hours=int(match[1]) * _HOURS[match[2].lower()])
        bounds(name, text)
    except (ValueError, OverflowError) as error:
        raise click.UsageError(
            f"--{name} {text!r} is not a date; use 2025-01-31, 12h, 7d or 4w"
        ) from error
    return text


def list_options(command: F) -> F:
    """Give a command the options of a listing; it gets them as ``listing``."""

    def collected(**values: Any) -> Any:
        given = {name: values.pop(name) for name in _SELECTED}
        undated = Undated()
        selection = _selection(given, undated, dated=values.pop("dated"))
        output, target, columns, strip_url, sitemaps = (
            values.pop(name) for name in ("output", "target", "columns", "strip_url", "sitemaps")
        )
        if sitemaps or output == "sitemaps":
            if strip_url or selection is not None:
                raise click.UsageError("filters and --strip-url are for pages, not for --sitemaps")
            form = _table_of_sitemaps(output, target)
            names = _columns(columns, SITEMAP_COLUMNS)
            listing = Listing(form, target, names, None, undated, strip_url=False, sitemaps=True)
        else:
            listing = _listing(output, target, columns, selection, undated, strip_url=strip_url)
        return command(listing=listing, **values)

    result: Any = update_wrapper(collected, command)
    for option in reversed(_OPTIONS):
        result = option(result)
    return result  # type: ignore[no-any-return]


def _selection(given: dict[str, Any], undated: Undated, *, dated: bool) -> Selection | None:
    period = {name: _moment(name, given[name]) for name in ("since", "until")}
    try:
        Selection(since=period["since"], until=period["until"])
    except ValueError as error:
        raise click.UsageError(
            f"--since {given['since']} is after --until {given['until']}; swap them"
        ) from error
    try:
        selection = Selection(**{**given, **period}, keep_undated=not dated, on_undated=undated.add)
    except ValueError as error:
        raise click.UsageError(str(error)) from error
    return None if selection.takes_all else selection


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
    if output in FORMATS and strip_url:
        raise click.UsageError(f"--strip-url is for tabtree and pages; {output} has whole URLs")
    if output not in FORMATS and columns is not None:
        raise click.UsageError(f"--columns is for tables, and {output} is none; write -f csv")
    if output == "parquet":
        _check_parquet(target)
    return Listing(output, target, _columns(columns, COLUMNS), selection, undated, strip_url)


def _table_of_sitemaps(output: str | None, target: Path | None) -> str:
    """Return the format of a table of sitemaps: that of -f, else the one that the file tells."""
    told = _format_told(target) if target is not None else None
    if output in (None, "sitemaps") or (told is not None and is_from_file("output")):
        output = "text" if told in (None, "pages") else told
    if output not in SITEMAP_FORMATS:
        raise click.UsageError(
            f"a table of sitemaps cannot be {output}; choose from {', '.join(SITEMAP_FORMATS)}"
        )
    if output == "parquet":
        _check_parquet(target)
    return output


def _columns(given: str | None, known: Iterable[str]) -> tuple[str, ...] | None:
    if given is None:
        return None
    try:
        return chosen((name.strip() for name in given.split(",")), known)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--columns") from error


def _format_told(target: Path) -> str | None:
    """Return the format that the suffix of a file tells; None if it tells none."""
    if target.name.lower().removesuffix(".gz").endswith(".txt"):
        return "pages"
    return format_of(target)


def _format_of(target: Path) -> str:
    form = _format_told(target)
    if form is None:
        raise click.BadParameter(
            f"{target.name!r} does not tell the format; say it with -f, or give the file a suffix: "
            f"{', '.join(f'.{name}' for name in FORMATS)}, .txt",
            param_hint="--output",
        )
    return form


def _check_parquet(target: Path | None) -> None:
    """Say before anything is fetched what would not work in the end."""
    if target is None and sys.stdout.isatty():
        raise click.UsageError(
            "parquet is not for a terminal; write it to a file with -o pages.parquet"
        )
    try:
        pyarrow(".parquet")
    except MissingExtraError as error:
        raise click.ClickException(str(error)) from error
