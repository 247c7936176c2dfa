"""``usp update``: fetches what has changed since a snapshot was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click
from click.exceptions import Exit

from usp.cli import options


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
def command(
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

    \b
    Examples:
      usp update site.warc.gz
      usp update site.warc.gz --trust-lastmod     skip those of the same date
      usp update site.warc.gz -o today.warc.gz    keep the old snapshot, too
      usp update site.warc.gz --accept            even if most pages are gone
    """  # noqa: D301 - click knows the backspace
    from dataclasses import replace

    from usp._inputs import file_input, given_options
    from usp.cli.errors import FAILED, messages, update_warning
    from usp.snapshot import update

    path = Path(snapshot)
    if not path.is_file():
        raise click.UsageError(f"{snapshot!r} is not a snapshot but a pipe or a device")
    with run.running() as progress:
        given = given_options(replace(run.options, on_event=progress))
        done = update(path, run.client(), output=output, accept=accept, **how, **given)
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
