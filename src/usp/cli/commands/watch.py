"""``usp watch``: shows new and changed pages of a website as they appear."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.option_values import Integer, Interval, Target
from usp.cli.output import Command
from usp.cli.shared_options import crawl_options, is_from_file, url_argument

if TYPE_CHECKING:
    from pathlib import Path

    from usp.cli.crawling import Address, Crawling


@click.command("watch", cls=Command)
@url_argument
@click.option(
    "--snapshot",
    type=Target(must_be_file=True),
    metavar="FILE",
    required=True,
    help="File that remembers what is known, for example site.warc.gz; it is created if necessary.",
)
@click.option(
    "--every",
    type=Interval(),
    metavar="TIME",
    default="5m",
    show_default=True,
    help="Time between two rounds, for example 90s, 5m or 1h; varied by up to 10 %.",
)
@click.option("--jsonl", is_flag=True, help="Write an object per line instead of text.")
@click.option(
    "--exec",
    "run",
    metavar="COMMAND",
    help="Run this command for each batch of changes, which it gets as JSON lines on its standard "
    "input. If it fails, they come again.",
)
@click.option(
    "--existing", is_flag=True, help="Begin with the pages that exist when the snapshot is created."
)
@click.option(
    "--trust-lastmod",
    is_flag=True,
    help="Do not request sitemaps whose index declares the same lastmod as before.",
)
@click.option("--rounds", type=Integer(min=1), metavar="N", help="Stop after this many rounds.")
@crawl_options
def command(
    crawling: Crawling,
    start: Address,
    snapshot: Path,
    every: float,
    jsonl: bool,
    run: str | None,
    existing: bool,
    trust_lastmod: bool,
    rounds: int | None,
) -> None:
    """Watch a website: show new and changed pages as they appear, once each.

    URL is a website or a sitemap. The first round records it in the snapshot; each later one fetches
    only what has changed. Lines begin with + (new) or ~ (changed: which fields, from what to what).
    Errors are reported, and the next round tries again. Ctrl-C and SIGTERM end the command after the
    current batch, with exit status 0. When it is started again, it continues where it was: no page is
    lost, and after a crash the last batch may come twice. Needs the extra warc.

    With --strict, the exit status is 3 if anything was missing in the last round of --rounds.

    \b
    Examples:
      usp watch example.org --snapshot site.warc.gz
      usp watch example.org --snapshot s.warc.gz --every 1h --jsonl >> new.jsonl
      usp watch example.org --snapshot site.warc.gz --exec 'jq -r .url | notify'
    """  # noqa: D301 - click knows the backspace
    from usp.cli.watching import Watcher

    if start.is_local:
        raise click.UsageError("only a website or a sitemap on the web can be watched, not a file")
    if crawling.site is not None:
        raise click.UsageError(
            "--site chooses a website in a WARC file; usp watch does not read one"
        )
    if crawling.options.keep_partial and not is_from_file("keep_partial"):
        raise click.UsageError(
            "--keep-partial cannot be used with usp watch: a round that is stopped is repeated"
        )
    watcher = Watcher(sys.stdout, jsonl=jsonl, run=run)
    watcher.watch(
        crawling,
        start,
        snapshot,
        every=every,
        rounds=rounds,
        existing=existing,
        trust_lastmod=trust_lastmod,
    )
