"""``usp snapshot`` and ``usp update``: record the sitemaps of a website, and what has changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import rich_click as click
from click.exceptions import Exit

from usp._base.display import printable
from usp.cli import options


@options.command("snapshot")
@options.url_argument
@options.output(
    "File to write, for example site.warc.gz; an existing one is replaced if pages are found.",
    must_be_file=True,
    required=True,
)
@options.run_options
def command(run: options.RunOptions, start: options.Input, output: Path) -> None:
    """Record a website's sitemaps in a snapshot, to read offline.

    URL is a website, a sitemap, or another snapshot. Every command takes the file wherever it takes a
    URL, and shows the same sitemaps, pages and failures. Requests, responses and redirects are recorded
    without passwords and cookies. An existing file is replaced only when the new one is complete, and
    has pages. Needs the extra warc.

    Examples:
      usp snapshot example.org -o site.warc.gz
      usp tree site.warc.gz                       what was recorded
      usp update site.warc.gz                     fetch what has changed since
    """
    from dataclasses import replace

    from usp.cli.errors import FAILED, messages

    if start.is_local and not start.is_snapshot:
        raise click.UsageError(
            "only a website, a sitemap on the web or another snapshot can be recorded, not a file"
        )
    before = output.stat() if output.exists() else None
    recording = replace(run, options=replace(run.options, record=output))
    with recording.running() as progress:
        tree = recording.tree(start, on_event=progress)
    is_left = before is not None and os.path.samestat(before, output.stat())
    if is_left:
        messages.error(f"no pages were found: {output} was left as it was", FAILED)
    elif output.exists():
        click.echo(printable(str(output)))
    run.exit_for(tree, start)
    if is_left:
        raise Exit(FAILED)


@options.command("update")
@click.argument("snapshot", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@options.table(
    {
        "--trust-lastmod": "Do not request sitemaps whose index declares the same lastmod as before, "
        "nor known paths that did not exist."
    }
)
@options.output(
    "Write the updated snapshot to this file, and leave the old one as it is.", must_be_file=True
)
@options.accept
@options.run_options
def update(
    run: options.RunOptions, snapshot: str, output: Path | None, accept: bool, **how: Any
) -> None:
    """Bring a snapshot up to date: fetch only what has changed.

    FILE is a snapshot written by usp snapshot. Sitemaps are downloaded only if they have changed
    (ETag, Last-Modified); the others are kept. A summary shows what has changed, and how much was
    saved. The options are those of the recorded crawl, except for logins, headers and limits above the
    default ones: give them again.

    Sitemaps that fail, or suddenly have no pages, are kept as they were, and marked. If more of the
    pages would be gone than --max-removed, the file is left as it was. The exit status is 1 then, if
    more than half of them could not be read, and for sitemaps without their pages until the next one
    finds the same.

    Examples:
      usp update site.warc.gz
      usp update site.warc.gz --trust-lastmod     skip unchanged dates
      usp update site.warc.gz -o today.warc.gz    keep the old snapshot, too
      usp update site.warc.gz --accept            even if most pages are gone
    """
    from dataclasses import replace

    from usp import snapshot as snapshots
    from usp._inputs import file_input, given_options
    from usp.cli.errors import FAILED, messages, update_warning

    path = Path(snapshot)
    if not path.is_file():
        raise click.UsageError(f"{snapshot!r} is not a snapshot but a pipe or a device")
    with run.running() as progress:
        given = given_options(replace(run.options, on_event=progress))
        done = snapshots.update(path, run.client(), output=output, accept=accept, **how, **given)
    messages.notice(str(done), **{name: getattr(done, name) for name in done.NUMBERS})
    if done.warning and not accept:
        failures = done.tree.failures() if done.accepted else done.kept
        if failures:
            messages.failures(failures, FAILED, found=True)
        messages.error(f"{path}: {update_warning(done.warning)}", FAILED)
        raise Exit(FAILED)
    if done.warning:
        messages.notice(done.warning, pages_before=done.pages_before, pages_lost=done.pages_lost)
    run.exit_for(done.tree, file_input(output or path))
