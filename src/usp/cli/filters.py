"""Options that choose pages: by date, by URL, each URL once; and how their values are read."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from datetime import date, datetime

    from usp.cli.shared_options import F
    from usp.selection import Selection

_filter = partial(click.option, panel="Filters")
FILTER_OPTIONS = [
    _filter(
        "--since",
        metavar="DATE",
        help="Only pages last modified (or, failing that, published) on this date or later: 2025, "
        "2025-01-31, or 12h, 7d, 4w ago. Pages without a date are kept. Sitemaps whose lastmod in the "
        "index is older are not downloaded.",
    ),
    _filter("--until", metavar="DATE", help="Only pages last modified on or before this date."),
    _filter("--dated", is_flag=True, help="Leave out pages without a date."),
    _filter(
        "--include",
        multiple=True,
        metavar="PATTERN",
        help="Only pages whose URL matches: '*/blog/*', '/blog/*' from the start of the path, or "
        "'re:/20[0-9]{2}/' for a regular expression. 'sitemap:*news*' matches the URL of the sitemap;"
        " others that an index lists are not downloaded.",
    ),
    _filter("--exclude", multiple=True, metavar="PATTERN", help="Leave out pages that match."),
    _filter(
        "--no-skip",
        is_flag=True,
        help="Download every sitemap, even where --since, --include or --exclude skip it by its date "
        "or URL in the index.",
    ),
    _filter("--unique", is_flag=True, help="Each URL once, even if several sitemaps have it."),
    _filter("--same-host", is_flag=True, help="Only pages on the website's own host."),
]


def _moment(name: str, text: str | None) -> datetime | date | str | None:
    """Return the time seven days ago for ``7d``; any other text must be a date."""
    from usp._base.periods import moment

    try:
        return None if text is None else moment(name, text)
    except ValueError as error:
        raise click.UsageError(
            f"--{name} {text!r} is not a date; use 2025-01-31, 12h, 7d or 4w"
        ) from error


def read_selection(values: dict[str, Any], **more: Any) -> Selection | None:
    """Take the filters out of the values; return them, or None if every page is wanted.

    ``no_skip`` stays there.
    """
    from usp.selection import Selection

    names = ("since", "until", "include", "exclude", "unique", "same_host")
    given = {name: values.pop(name) for name in names} | more
    dated = values.pop("dated")
    period = {name: _moment(name, given[name]) for name in ("since", "until")}
    try:
        Selection(since=period["since"], until=period["until"])
    except ValueError as error:
        raise click.UsageError(
            f"--since {given['since']} is after --until {given['until']}; swap them"
        ) from error
    try:
        selection = Selection(**{**given, **period}, keep_undated=not dated)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error  # they begin with the name of the option
    return None if selection.takes_all else selection


def filter_options(command: F) -> F:
    """Return a command with the options that choose pages."""
    for option in reversed(FILTER_OPTIONS):
        command = option(command)
    return command
