"""``usp update``: fetches what has changed since a snapshot was recorded."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from click.exceptions import Exit

from usp.cli.option_values import Target
from usp.cli.output import Command
from usp.cli.shared_options import crawl_options

if TYPE_CHECKING:
    from usp.cli.crawling import Crawling


@click.command("update", cls=Command)
@click.argument("snapshot", metavar="FILE", type=click.Path(exists=True, dir_okay=False))
@click.option(
    "--trust-lastmod",
    is_flag=True,
    help="Do not request sitemaps whose index declares the same lastmod as before, nor known paths "
    "that did not exist.",
)
@click.option(
    "-o",
    "--output",
    type=Target(must_be_file=True),
    metavar="FILE",
    help="Write the updated snapshot to this file, and leave the old one as it is.",
)
@crawl_options
def command(crawling: Crawling, snapshot: str, trust_lastmod: bool, output: Path | None) -> None:
    """Bring a snapshot up to date: fetch only what has changed.

    FILE is a snapshot written by usp snapshot. Sitemaps are downloaded only if they have changed
    (ETag, Last-Modified); the others are kept. A summary shows what has changed, and how much was
    saved. The options are those of the recorded crawl, except for logins and headers: they are not in
    the file, and must be given again.

    \b
    Examples:
      usp update site.warc.gz
      usp update site.warc.gz --trust-lastmod     skip those of the same date
      usp update site.warc.gz -o today.warc.gz    keep the old snapshot, too
    """  # noqa: D301 - click knows the backspace
    from dataclasses import replace

    from usp.cli.crawling import Address, end_with, given_options
    from usp.cli.errors import PARTIAL, tell
    from usp.snapshot import update

    if crawling.site is not None:
        raise click.UsageError(
            "--site chooses a website in a file of another program; a snapshot knows its own"
        )
    path = Path(snapshot)
    with crawling.running() as progress:
        options = given_options(replace(crawling.options, on_event=progress))
        done = update(
            path, crawling.client(), trust_lastmod=trust_lastmod, output=output, **options
        )
    facts = {name: getattr(done, name) for name in done.NUMBERS}
    tell.notice(str(done), **facts)
    tell.missing(done.kept)
    start = Address((output or path).resolve().as_uri(), is_sitemap=True, path=output or path)
    end_with(done.tree, start, crawling)
    if crawling.strict and done.kept:
        raise Exit(PARTIAL)
