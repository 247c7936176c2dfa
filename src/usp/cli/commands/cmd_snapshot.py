"""``usp snapshot``: records the sitemaps of a website in a WARC file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from usp._base.display import printable
from usp.cli import options

if TYPE_CHECKING:
    from pathlib import Path


@options.command("snapshot")
@options.url_argument
@options.output(
    "File to write, for example site.warc.gz; an existing one is replaced if pages are found.",
    must_be_file=True,
    required=True,
)
@options.run_options
def command(run: options.RunOptions, start: options.Input, output: Path) -> None:
    """Record the sitemaps of a website in a snapshot, a WARC file to read again offline.

    URL is a website, a sitemap, or another snapshot. Every command takes the file wherever it takes a
    URL, and shows the same sitemaps, pages and failures. Requests, responses and redirects are recorded
    without passwords and cookies. An existing file is replaced only when the new one is complete, and
    has pages. Needs the extra warc.

    \b
    Examples:
      usp snapshot example.org -o site.warc.gz
      usp tree site.warc.gz                       what was recorded
      usp update site.warc.gz                     fetch what has changed since
    """  # noqa: D301 - click knows the backspace
    from dataclasses import replace

    from usp._snapshot.recording import lists_pages
    from usp.cli.errors import FAILED, messages
    from usp.cli.run_options import found_anything

    if start.is_local and not start.is_snapshot:
        raise click.UsageError(
            "only a website, a sitemap on the web or another snapshot can be recorded, not a file"
        )
    existed = output.exists()
    recording = replace(run, options=replace(run.options, record=output))
    with recording.running() as progress:
        tree = recording.tree(start, on_event=progress)
    is_left = existed and not start.is_local and not lists_pages(tree)
    if is_left:
        messages.error(f"no pages were found: {output} was left as it was", FAILED)
    elif found_anything(tree, start):  # otherwise nothing may have been written
        click.echo(printable(str(output)))
    run.exit_for(tree, start)
    if is_left:
        raise Exit(FAILED)
