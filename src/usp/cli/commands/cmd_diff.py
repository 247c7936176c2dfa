"""``usp diff``: shows what changed between two websites, snapshots or files."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NoReturn

import rich_click as click
from click.exceptions import Exit

from usp._base.display import counted
from usp.cli import options
from usp.cli.errors import PARTIAL, messages
from usp.cli.option_values import value_of
from usp.cli.output import has_colors, naming, write_text

if TYPE_CHECKING:
    from pathlib import Path

    from usp.changes import Change, Diff
    from usp.events import Listener
    from usp.export.schema import Kind
    from usp.objects.sitemap import AbstractSitemap

CHANGED = 1
TROUBLE = 2
_BY_SUFFIX = ("text", "json", "jsonl", "csv")
_FORMATS = ("text", "summary", "json", "jsonl", "csv")
_COLORS = {
    "added": "green",
    "removed": "red",
    "changed": "yellow",
    "moved": "cyan",
    "unknown": "magenta",
    "failed": "bright_red",
    "recovered": "bright_green",
}


@options.command("diff")
@click.argument("before", metavar="A", type=options.input_type)
@click.argument("after", metavar="B", type=options.input_type)
@options.results(
    _FORMATS,
    "text: a line for each change (the default). summary: a line for each section of the website. "
    "jsonl: an object per line. json: one object. csv: a row for each field that changed.",
)
@options.table(
    {
        "--only KINDS": f"Only these changes, comma-separated: {', '.join(_COLORS)}.",
        "--include PATTERN...": "Only changes whose URL matches: '*/blog/*', '/blog/*' from the start "
        "of the path, or 're:/20[0-9]{2}/', a regular expression.",
        "--exclude PATTERN...": "Leave out changes that match.",
        "--unknown": "In text, also list the pages of sitemaps that are missing; other formats "
        "always have them.",
        "--map-host OLD=NEW...": "Treat host OLD in A as host NEW in B, for example "
        "staging.example.org=example.org. Default: the hosts of A and B, if they differ.",
        "--migration": "List only the pages of A that B lacks, as after a move.",
        "--fetch": "With --migration, request each of these pages from A, to see where it redirects.",
    },
    map_host={"name": "map_hosts"},
)
@options.run_options
def command(
    run: options.RunOptions,
    before: options.Input,
    after: options.Input,
    form: str | None,
    output: Path | None,
    only: str | None,
    include: tuple[str, ...],
    exclude: tuple[str, ...],
    unknown: bool,
    map_hosts: tuple[str, ...],
    migration: bool,
    fetch: bool,
) -> None:
    """Show what changed from A to B: pages and sitemaps.

    A and B are each a website, a sitemap, a snapshot, a file, a table of pages or a folder; one may be
    - for standard input. Pages on different hosts are compared by their paths. Lines begin with +
    (added), - (removed), ~ (changed: which fields, from what to what), > (moved to other sitemaps), !
    (a sitemap that failed), = (one that recovered) or ? (unknown). A sitemap that failed removes
    nothing: its pages are unknown, and only counted. On a terminal, changes are grouped by kind.

    The exit status is 0 if nothing changed, 1 if something did, 2 if A or B could not be read, and 3 if
    there is no confirmed change, but a sitemap could be read on one side only; with --strict, it is 3
    whenever something is missing.

    Examples:
      usp diff monday.warc.gz tuesday.warc.gz    two snapshots
      usp diff site.warc.gz example.org          what changed since then
      usp diff old/sitemap.xml new/sitemap.xml   two files
      usp diff a.warc.gz b.warc.gz -o new.csv    as a table
      usp diff a.warc.gz b.warc.gz -f summary    how many changes in each section
      usp diff site.csv example.org --only removed
    """
    from usp.changes import Diff
    from usp.changes.change_values import (
        CSV_COLUMNS,
        counts_json,
        csv_rows,
        selecting,
        summary_of,
    )

    if fetch and not migration:
        raise click.UsageError("--fetch needs --migration")
    form = options.format_for(output, form, _BY_SUFFIX, "text")
    if migration and (only or include or exclude or form == "summary"):
        raise click.UsageError(
            "--only, --include, --exclude and -f summary cannot be used with --migration"
        )
    kinds = [] if only is None else [word.strip() for word in only.split(",")]
    try:
        selecting(kinds, include, exclude)
    except ValueError as error:  # which names the parameter
        raise click.UsageError(f"--{error}") from error
    messages.failed = TROUBLE
    hosts = _hosts(map_hosts)
    with run.running() as progress:
        trees = [_tree(run, start, progress) for start in (before, after)]
        progress.doing = "comparing"
        if migration:
            _list_missing(run, trees[0], trees[1], hosts, form, output, fetch=fetch)
        changes = Diff(*trees, map_host=hosts).select(kinds, include=include, exclude=exclude)
        _notice_hosts(changes.hosts, hosts)
        if form == "csv":
            _write_rows(chain.from_iterable(map(csv_rows, changes)), form, CSV_COLUMNS, output)
        else:
            lines = _lines(changes, form, output, unknown=unknown or "unknown" in kinds)
            write_text(lines, output)
    counts = changes.counts()
    messages.wrote(output, counts.pages.total() + counts.sitemaps.total(), "change")
    messages.notice(summary_of(counts), **counts_json(counts))
    if run.strict and any(map(_missing, (changes.before, changes.after))):
        raise Exit(PARTIAL)
    if counts.changed:
        raise Exit(CHANGED)
    if counts.uncertain:
        raise Exit(PARTIAL)


def _hosts(given: tuple[str, ...]) -> Mapping[str, str] | None:
    """Return the hosts that are to be replaced; None to take those of the trees."""
    from usp.changes.sides import Matching

    pairs = dict(one.partition("=")[::2] for one in given)
    with value_of("--map-host"):
        if not all(pairs.values()):
            raise ValueError("give both hosts, as in old.example.org=example.org")
        return Matching(pairs).hosts or None


def _notice_hosts(hosts: Mapping[str, str], given: Mapping[str, str] | None) -> None:
    """Report that hosts were replaced although nobody asked for it."""
    found = {old: new for old, new in hosts.items() if given is None or old not in given}
    if found:
        pairs = ", ".join(f"{old} = {new}" for old, new in found.items() if old != new)
        message = "A and B are on http and https: pages are compared by path"
        if pairs:
            message = (
                f"different hosts ({pairs}): pages are compared by path; --map-host sets others"
            )
        messages.notice(message, hosts=found)


def _list_missing(
    run: options.RunOptions,
    before: AbstractSitemap,
    after: AbstractSitemap,
    hosts: Mapping[str, str] | None,
    form: str,
    output: Path | None,
    *,
    fetch: bool,
) -> NoReturn:
    """List the pages that B lacks, and end with the status of that."""
    from usp.changes.migration import COLUMNS, Migration, Outcome

    client = run.client() if fetch else None
    missing = Migration(
        before, after, map_host=hosts, fetch=fetch, client=client, options=run.options
    )
    _notice_hosts(missing.hosts, hosts)
    if form == "text":
        write_text(map(str, missing), output)
    else:
        rows = (tuple(getattr(page, name) for name in COLUMNS) for page in missing)
        _write_rows(rows, form, COLUMNS, output)
    total = missing.counts.total()
    messages.wrote(output, total, "page")
    counts = {
        outcome.value: missing.counts[outcome] for outcome in Outcome if missing.counts[outcome]
    }
    parts = ", ".join(f"{count:,} {name}" for name, count in counts.items())
    what = f": {parts}" if fetch and total else ""
    messages.notice(f"{counted(total, 'page')} of A missing in B{what}", **counts)
    is_whole = not _missing(after)
    if total > missing.counts[Outcome.REDIRECTED] and (is_whole or fetch):
        raise Exit(CHANGED)
    raise Exit(0 if is_whole and not (run.strict and _missing(before)) else PARTIAL)


def _write_rows(
    rows: Iterable[Sequence[object]], form: str, columns: Mapping[str, Kind], output: Path | None
) -> None:
    from usp.export.text_formats import opened, write_rows

    with naming(output), opened(output or sys.stdout, form) as stream:
        write_rows(rows, stream, form, columns)


def _tree(run: options.RunOptions, start: options.Input, progress: Listener) -> AbstractSitemap:
    """Return the tree of A or B; ends the command if nothing of it could be read."""
    tree = run.needed_tree(start, progress)
    missing = _missing(tree)
    if missing:
        name = start.path or start.url
        message = f"{name}: {counted(missing, 'sitemap')} missing or incomplete"
        messages.notice(message, url=start.url, missing=missing)
    return tree


def _missing(tree: AbstractSitemap) -> int:
    """Return how many sitemaps are missing, but for those that an index in a file only names."""
    from usp.changes.sides import is_unread

    return sum(not is_unread(failure) for failure in tree.failures())


def _lines(changes: Diff, form: str, output: Path | None, *, unknown: bool) -> Iterator[str]:
    """Yield the changes in a format; text has colors and sections for people."""
    from usp.changes import ChangeKind, PageChange
    from usp.changes.change_values import lines_of, sections_of, text_of

    def is_listed(change: Change) -> bool:
        return not isinstance(change, PageChange) or change.kind != ChangeKind.UNKNOWN

    def colored(change: Change) -> str:
        return click.style(text_of(change), fg=_COLORS[change.kind.value])

    listed = changes if unknown or form != "text" else filter(is_listed, changes)
    shown = colored if has_colors() else text_of
    if form == "text" and output is None and sys.stdout.isatty():
        return sections_of(listed, shown)
    return lines_of(listed, form, changes.counts, shown)
