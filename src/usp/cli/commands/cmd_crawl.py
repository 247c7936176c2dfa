"""``usp crawl``: the sitemaps of many sites, as a dataset of Parquet files."""

from __future__ import annotations

import dataclasses
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

from usp._base.display import counted, duration, printable, size
from usp.cli import options
from usp.cli.cli import MORE
from usp.cli.errors import FAILED, failure_line, messages, reading_dataset, remedy
from usp.cli.option_values import (
    Choice,
    Integer,
    bad_value,
    interval,
    read_columns,
    share,
    value_of,
)
from usp.cli.output import logging_to
from usp.fleet.options import ENGINES, FLEET_LIMITS, SITE_SECONDS, FleetOptions

if TYPE_CHECKING:
    from usp.fleet.run import FleetProgress, FleetRun

_EVERY = 30.0  # seconds between two lines of the log
_MOST_REASONS = 5  # reasons of failures in the summary for people
_QUOTED = re.compile(r"(?<!code )'(\w+)'")  # the name of an option, in what is wrong with it
_OF_SITES = ("sites_per_worker", "per_host", "sites_per_host", "problems", "trust_lastmod")
_USUAL: dict[str, Any] = {field.name: field.default for field in dataclasses.fields(FleetOptions)}


@options.command("crawl")
@click.argument("sites", metavar="SITES|DATASET")
@options.table(
    {
        "-o --output DATASET": "Folder of the dataset, or its URL in an object store (s3://, gs://, "
        "az://); resumes an existing dataset.",
        "--workers N": "Number of worker processes; one per CPU by default.",
        "--concurrency N": "Maximum number of simultaneous requests of a worker to one host, for all "
        "sites.",
        "--no-pages": "Only count pages; do not write the table of pages.",
        "--columns NAMES": "Columns of the table of pages, comma-separated: "
        f"{', '.join(options.COLUMNS)}.",
    },
    concurrency={"name": "per_host", "type": Integer(1, 64), "default": _USUAL["per_host"]},
)
@options.filter_options
@options.table(
    {
        "--problems": "Count the problems of every sitemap; takes longer.",
        "--due": "Request what is due in the dataset, and end. Each sitemap has its own rhythm.",
        "--every TIME": "Repeat --due at this interval, for example 1m, until it is stopped.",
        "--again": "Request all sitemaps again; those that have not changed are not downloaded.",
        "--retry-failed": "Crawl the sites again that failed or keep what they had, and no others.",
        "--code CODE...": "With --retry-failed, only sites with this reason, for example server-error; "
        "also if only a part of them is missing.",
        "--accept": "Take what there is now. Without it, a site that has lost more than half of its "
        "pages keeps them until the next visit finds the same.",
    },
    every={"type": interval},
    code={"name": "codes"},
)
@options.table(
    {
        "--per-hour N": "With --due or --every, send a host at most so many requests in an hour; "
        "what is more stays due.",
        "--engine": "Run in processes on this machine, or on Ray.",
        "--address ADDRESS": "Address of a Ray cluster; without it, one is started on this machine.",
        "--shard I/N": "Crawl only this part of the sites, for example 0/4; the others can be crawled "
        "at the same time, on other machines.",
        "--sites-per-worker N": "Number of sites that each worker crawls at the same time.",
        "--same-address": "Group sites by IP address instead of host.",
        "--sites-per-host N": "Number of sites on one host (or address) that are crawled at the same "
        "time.",
        "--trust-lastmod": "Do not request sitemaps whose index declares the same lastmod as before.",
        "--max-failed SHARE": "Exit with status 1 if more of the sites fail that were good before.",
        "--metrics TARGET": "Write the counts of the run to this file, or serve them at this port "
        "(:9100), as OpenMetrics.",
    },
    MORE,
    per_hour={"type": Integer(1)},
    engine={"type": Choice(ENGINES), "default": "local"},
    sites_per_worker={"type": Integer(1, 10_000), "default": _USUAL["sites_per_worker"]},
    sites_per_host={"default": _USUAL["sites_per_host"]},
    max_failed={"type": share, "default": "20%"},
)
@options.request_options(
    limits=f"Set a limit for every site, as in 'usp ls'. The usual one is seconds={SITE_SECONDS:g}.",
    patience=_USUAL["timeout"][1],
)
@click.option("--commit-seconds", type=float, default=30.0, hidden=True)
@click.option("--site-seconds", type=float, default=SITE_SECONDS, hidden=True)  # now --max seconds=
@options.log_options
@options.common_options
def command(sites: str, output: str | None, metrics: str | None, **values: Any) -> None:
    """Read many sites into a dataset, and keep it up to date.

    SITES is a file with one site per line, a CSV, TSV or Parquet file with a column site, url, host or
    domain, or an OPML file, whose feeds are read with their sites; - is standard input. Run the same
    command again to complete a dataset: sites that are already in it are skipped, however the last run
    ended. A site that fails gets a row with the reason. With --due, --every, --again or --retry-failed,
    sites of a DATASET are visited again: what fails then keeps what it had. The exit status is 0 if
    every site of the list is in the dataset. It is 1 if the run could not go on, if more sites failed
    than --max-failed allows, and, with --again or --retry-failed, if any site keeps what it had.

    Examples:
      usp crawl sites.txt -o dataset
      usp crawl sites.parquet -o dataset --max pages=100000 --columns url,lastmod
      usp crawl sites.txt -o dataset --since 7d --include '*/blog/*'
      usp crawl sites.txt -o dataset --retry-failed
      usp crawl dataset --due
      usp crawl dataset --every 1m --metrics :9100
      usp crawl dataset --again
      usp crawl sites.txt -o s3://bucket/dataset --shard 0/4
      usp crawl sites.txt -o /shared/dataset --engine ray --address auto
    """
    from usp._base.names import load_extra
    from usp.cli.run_options import ending_at_sigterm
    from usp.export.schema import skip_pandas_import

    load_extra("pyarrow", "usp crawl needs pyarrow", "fleet")
    from usp.fleet.metrics import read_target
    from usp.fleet.run import crawl_fleet
    from usp.fleet.site_list import read_sites

    if output is not None and not output.strip():
        raise bad_value("--output", "choose a folder for the dataset")
    run = _read_run(values)
    if output is None and not run.replaces:
        raise click.UsageError(
            "choose a folder for the dataset with -o, or add --due, --every, --again or --retry-failed"
            " to visit the sites of a dataset again"
        )
    with value_of("--metrics"):
        target = None if metrics is None else read_target(metrics)
    root, listed = output or sites, None
    log = logging_to(values["log_file"], values["verbose"])
    with ending_at_sigterm(), _shown(root, target) as show, log, reading_dataset():
        skip_pandas_import()
        if output is not None:
            patience = run.options.effective_limits.seconds
            listed = read_sites(sites, messages.notice, seconds=patience)
        summary = crawl_fleet(listed, root, run, show)
    for failure in summary["failures"]:
        failure["remedy"] = remedy(failure["code"], of_fleet=True)
    if not messages.quiet:
        messages.line(_summary(summary, root, run), summary=summary)
    if wrong := list(_wrong(summary, root, run)):
        for text in wrong:
            messages.error(text, FAILED)
        raise Exit(FAILED)


def _wrong(summary: dict[str, Any], root: str, run: FleetRun) -> Iterator[str]:
    """Yield what is not as it should be after a run."""
    if summary["missing"]:
        again = "run the same command to resume"
        how = "run it without --retry-failed" if run.retry_failed else again
        yield f"sites that are not in {root}: {summary['missing']:,}; {how}"
    if summary["guard"]:
        yield summary["guard"]
    if summary["kept"] and not run.is_due:
        yield (
            f"{counted(summary['kept'], 'site')} failed or lost more than half of the pages: what"
            f" {root} had of them is kept; --retry-failed tries again, --retry-failed --accept takes"
            " what there is now"
        )


def _read_run(values: dict[str, Any]) -> FleetRun:
    from usp.fleet.options import FleetRun

    usual = dataclasses.replace(FLEET_LIMITS, seconds=values["site_seconds"])
    crawl, client = options.read_requests(values, usual, trust_start=False)
    fleet = FleetOptions(
        **crawl,
        **client,
        pages=not values["no_pages"],
        columns=read_columns(values["columns"], options.COLUMNS),
        selection=options.read_selection(values),
        **{name: values[name] for name in _OF_SITES},
    )
    if fleet.selection is not None and not values["no_skip"]:
        fleet = fleet.selection.crawl_options(fleet)
    values["shard"] = values["shard"] or "0/1"
    names = {field.name for field in dataclasses.fields(FleetRun)}.intersection(values)
    try:
        return FleetRun(options=fleet, **{name: values[name] for name in names})
    except ValueError as error:
        text = _QUOTED.sub(
            lambda found: _flag(found[1]) if found[1] in names else found[0],
            str(error),
        )
        raise click.UsageError(text) from error


def _flag(name: str) -> str:
    return "--code" if name == "codes" else f"--{name.replace('_', '-')}"


@contextmanager
def _shown(output: str, metrics: Any = None) -> Iterator[Callable[[FleetProgress], None]]:
    """Yield a function that shows progress: a live line on a terminal, else a line now and then.

    If the run cannot go on, or is interrupted, what is safe is reported.
    """
    from usp._base.files import DatasetError
    from usp._base.names import MissingExtraError
    from usp._base.progress_line import can_show, live_line
    from usp.cli.run_options import Terminated
    from usp.fleet.metrics import exporting

    latest: list[FleetProgress] = []
    is_live = can_show() and not (messages.quiet or messages.as_json)
    last, was_ending = time.monotonic(), False

    def show(progress: FleetProgress) -> None:
        nonlocal last, was_ending
        if progress.is_ending and not was_ending:
            was_ending = True
            how = "stopping after current sites; press Ctrl-C again to quit now"
            messages.notice(f"{how}: {progress.how_far(output)}")
        latest[:] = [progress]
        if not (messages.quiet or is_live) and time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            messages.line(progress.line(), progress=progress.summary())

    def line() -> str:
        return "".join(printable(progress.line()) for progress in latest)

    try:
        current = lambda: latest[0] if latest else None  # noqa: E731
        with live_line(line) if is_live else nullcontext(), exporting(metrics, current):
            yield show
    except (DatasetError, MissingExtraError) as error:
        safe = [progress.how_far(output) for progress in latest]
        raise click.ClickException("\n".join([str(error), *safe])) from error
    except (KeyboardInterrupt, Terminated):
        for progress in latest:
            messages.notice(progress.how_far(output))
        raise


def _summary(summary: dict[str, Any], output: str, run: FleetRun) -> str:
    outcomes = ", ".join(f"{count:,} {name}" for name, count in summary["outcomes"].items())
    before, failed = summary["before"], summary.get("dataset", {}).get("failed")
    there = f" ({before:,} were already there)" if before else ""
    if before and failed and not summary["sites"] and not run.retry_failed:
        there = (
            f" ({before:,} were already there; {failed:,} failed, --retry-failed tries them again)"
        )
    lines = [
        (
            f"{counted(summary['sites'], 'site')} in {duration(summary['seconds'])}:"
            f" {outcomes or 'nothing to do'}{there}"
        ),
        (
            f"{counted(summary['pages'], 'page')} in {counted(summary['sitemaps'], 'sitemap')},"
            f" {size(summary['bytes'])} in {counted(summary['requests'], 'request')}"
        ),
        *(f"  slowest: {row['site']} {duration(row['seconds'])}" for row in summary["slowest"][:3]),
        *map(failure_line, summary["failures"][:_MOST_REASONS]),
        f"Next: usp stats {output}",
    ]
    return "\n".join(lines)
