"""``usp report``: shows the sitemaps of a website as one page to look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import rich_click as click

from usp._base.display import printable
from usp.cli import options
from usp.cli.output import open_in_browser, write_text


@options.command("report")
@options.url_argument
@options.output(
    "File to write; an existing one is replaced. - is standard output.", default="report.html"
)
@options.table(
    {
        "--problems": "Check every sitemap for problems, even very large ones; takes long for "
        "millions of pages.",
        "--compare A": "Also show what changed since A: a snapshot, a file, a folder or another "
        "website.",
        "--history FOLDER": "Also show pages, findings and freshness over time: of the website's "
        "snapshots in a folder.",
        "--open": "Open the report in the browser.",
    },
    problems={"name": "all_problems"},
    compare={"name": "former", "type": options.input_type},
    history={"type": click.Path(exists=True, file_okay=False)},
    open={"name": "is_opened"},
)
@options.run_options
def command(
    run: options.RunOptions,
    start: options.Input,
    output: Path | None,
    all_problems: bool,
    former: options.Input | None,
    history: str | None,
    is_opened: bool,
) -> None:
    """Write a report on a website: one HTML file that works offline.

    URL is a website, a sitemap, a file, a folder, or - for standard input. The report shows the tree
    of sitemaps, the pages by section, date and language, what is damaged, missing or listed twice, and
    how long each request took. Its path is printed at the end. The exit status is 0 if anything was
    read and 1 if nothing was; with --strict, it is 3 if anything is missing.

    Examples:
      usp report example.org
      usp report example.org -o example.html
      usp report example.org/sitemap_index.xml --problems
      usp report example.org --compare last-week.warc.gz
      usp report example.org --history snapshots
    """
    from usp.cli.run_options import found_anything
    from usp.exceptions import SnapshotError
    from usp.report import html

    if is_opened and output is None:
        raise click.UsageError("--open needs a file: -o cannot be -")

    with run.running() as progress:
        tree = run.tree(start, on_event=progress)
        run.keep_file(output, tree, start)
        before = None if former is None else run.tree(former, on_event=progress)
        if former is not None and before is not None and not found_anything(before, former):
            run.exit_for(before, former)  # everything would look new
        try:
            seen: dict[str, Any] = {
                "on_read": progress.reading(tree.sitemap_count()),
                "on_pages": progress.checked,
            }
            page = html(tree, all_problems=all_problems, before=before, history=history, **seen)
        except SnapshotError as error:
            raise click.UsageError(f"--history: {error}") from error
        if output is not None:
            write_text([page], output)
    click.echo(page if output is None else printable(str(output)))
    if output is not None and is_opened:
        open_in_browser(output, f"open {output} in one")
    run.exit_for(tree, start)
