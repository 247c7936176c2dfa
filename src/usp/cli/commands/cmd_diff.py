"""``usp diff``: shows what changed between two websites, snapshots or files."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from usp._base.display import counted
from usp.cli import options
from usp.cli.errors import PARTIAL, messages
from usp.cli.output import has_colors, write_text

if TYPE_CHECKING:
    from usp.changes import Change, Diff
    from usp.events import Listener
    from usp.objects.sitemap import AbstractSitemap

CHANGED = 1
TROUBLE = 2
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
@options.form(
    ["text", "json", "jsonl", "csv"],
    "text: a line for each change (the default). jsonl: an object per line. json: one object. "
    "csv: a row for each field that changed.",
    default="text",
)
@options.table(
    {
        "--unknown": "In text, also list the pages of sitemaps that are missing; other formats "
        "always have them."
    }
)
@options.run_options
def command(
    run: options.RunOptions, before: options.Input, after: options.Input, form: str, unknown: bool
) -> None:
    """Show what changed from A to B: pages added, removed, changed and moved, and sitemaps.

    A and B are each a website, a sitemap, a snapshot, a file or a folder; one may be - for standard
    input. Lines begin with + (added), - (removed), ~ (changed: which fields, from what to what), >
    (moved to other sitemaps), ! (a sitemap that failed), = (one that recovered) or ? (unknown). A
    sitemap that failed removes nothing: its pages are unknown, and only counted.

    The exit status is 0 if nothing changed, 1 if something did, 2 if A or B could not be read, and 3 if
    there is no confirmed change, but one side is incomplete; with --strict, it is 3 whenever something
    is missing.

    \b
    Examples:
      usp diff monday.warc.gz tuesday.warc.gz    two snapshots
      usp diff site.warc.gz example.org          what changed since then
      usp diff old/sitemap.xml new/sitemap.xml   two files
      usp diff a.warc.gz b.warc.gz -f jsonl      for programs
    """  # noqa: D301 - click knows the backspace
    from usp.changes import diff
    from usp.changes.change_values import counts_json, summary_of

    if before.is_stdin and after.is_stdin:
        raise click.UsageError("only one of A and B can be standard input")
    messages.failed = TROUBLE
    with run.running() as progress:
        former = _tree(run, before, progress)
        changes = diff(former, _tree(run, after, progress))
        write_text(_lines(changes, form, unknown=unknown))
    counts = changes.counts()
    messages.notice(summary_of(counts), **counts_json(counts))
    if run.strict and any(map(_missing, (changes.before, changes.after))):
        raise Exit(PARTIAL)
    if counts.changed:
        raise Exit(CHANGED)
    if counts.uncertain:
        raise Exit(PARTIAL)


def _tree(run: options.RunOptions, start: options.Input, progress: Listener) -> AbstractSitemap:
    """Return the tree of A or B; ends the command if nothing of it could be read."""
    tree = run.tree(start, on_event=progress)
    run.exit_if_nothing(tree, start)
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


def _lines(changes: Diff, form: str, *, unknown: bool) -> Iterator[str]:
    """Yield the changes in a format; text has colors if the standard output shows them."""
    from usp.changes import ChangeKind, PageChange
    from usp.changes.change_values import lines_of, text_of

    def is_listed(change: Change) -> bool:
        return not isinstance(change, PageChange) or change.kind != ChangeKind.UNKNOWN

    def colored(change: Change) -> str:
        return click.style(text_of(change), fg=_COLORS[change.kind.value])

    listed = changes if unknown or form != "text" else filter(is_listed, changes)
    return lines_of(listed, form, changes.counts, colored if has_colors() else text_of)
