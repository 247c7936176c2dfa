"""``usp crawl``: the sitemaps of many sites, as a dataset of Parquet files."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import rich_click as click
from click.exceptions import Exit

from usp._base.display import counted, duration, size
from usp._base.safe_text import printable
from usp.cli.errors import FAILED, failure_line, json_message_option, remedy, tell
from usp.cli.filters import filter_options, read_selection
from usp.cli.option_values import (
    LIMIT_NAMES,
    Integer,
    Number,
    changed_limits,
    read_header,
    read_proxy,
    read_verify,
    read_zones,
)
from usp.cli.output import Command
from usp.cli.shared_options import (
    COLUMNS,
    fetch_options,
    message_option,
    request_option,
    website_values,
)
from usp.fleet.options import ENGINES, FLEET_LIMITS, SITE_SECONDS, FleetOptions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from usp.fleet.run import FleetProgress, FleetRun
    from usp.limits import Limits

_EVERY = 30.0  # seconds between two lines of the log
_MOST_REASONS = 5  # reasons of failures in the summary for people
_USUAL = {field.name: field.default for field in dataclasses.fields(FleetOptions)}


@click.command("crawl", cls=Command)
@click.argument("sites", metavar="SITES")
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="DATASET",
    help="Folder of the dataset, or its URL in an object store (s3://, gs://, az://); an existing one "
    "is completed.",
)
@click.option(
    "--engine",
    type=click.Choice(ENGINES),
    default="local",
    show_default=True,
    help="Run in processes on this machine, or on Ray.",
)
@click.option(
    "--address",
    metavar="ADDRESS",
    help="Address of a Ray cluster; without it, one is started on this machine.",
)
@click.option(
    "--workers",
    type=Integer(min=1),
    metavar="N",
    help="Number of worker processes; one per CPU by default.",
)
@click.option(
    "--in-flight",
    type=Integer(min=1, max=10_000),
    metavar="N",
    default=_USUAL["in_flight"],
    show_default=True,
    help="Number of sites that each worker crawls at the same time.",
)
@click.option(
    "--per-host",
    type=Integer(min=1, max=64),
    metavar="N",
    default=_USUAL["per_host"],
    show_default=True,
    help="Maximum number of simultaneous requests of a worker to one host, for all sites.",
)
@click.option(
    "--same-address",
    is_flag=True,
    help="Look up IP addresses first, and treat sites at the same address as one host.",
)
@click.option(
    "--together",
    type=Integer(min=1),
    metavar="N",
    default=_USUAL["together"],
    show_default=True,
    help="Number of sites on one host (or address) that are crawled at the same time.",
)
@request_option(
    "--site-seconds",
    type=Number(min=0, min_open=True),
    metavar="SECONDS",
    default=SITE_SECONDS,
    show_default=True,
    help="Maximum time for the sitemaps of one site.",
)
@request_option(
    "--max",
    "limits",
    multiple=True,
    metavar="NAME=VALUE",
    help=f"Set a limit for every site, as in 'usp ls'. Names: {', '.join(LIMIT_NAMES)}.",
)
@click.option("--no-pages", is_flag=True, help="Only count pages; do not write the table of pages.")
@click.option(
    "--columns",
    metavar="NAMES",
    help=f"Columns of the table of pages, comma-separated: {', '.join(COLUMNS)}.",
)
@filter_options
@click.option("--problems", is_flag=True, help="Count the problems of every sitemap; takes longer.")
@click.option("--retry-failed", is_flag=True, help="Crawl the failed sites again, and no others.")
@click.option(
    "--again",
    is_flag=True,
    help="Crawl all sites again and replace their rows; page sitemaps are downloaded if they have "
    "changed.",
)
@click.option(
    "--keep-versions",
    is_flag=True,
    help="Keep the files of older versions of the tables, for time travel.",
)
@request_option(
    "--user-agent", envvar="USP_USER_AGENT", metavar="NAME", help="User-Agent header to send."
)
@request_option(
    "--allow-network",
    multiple=True,
    metavar="NET",
    help="Allow connections to this private network, address or host ('any': all of them).",
)
@fetch_options
@request_option("--crawl-delay", is_flag=True, help="Respect Crawl-delay in robots.txt.")
@click.option("--commit-seconds", type=float, default=30.0, hidden=True)
@message_option("-q", "--quiet", is_flag=True, help="Show no progress and no summary.")
@message_option(
    "-v", "--verbose", count=True, metavar="", help="Log more: -v logs each step, -vv every detail."
)
@message_option(
    "-l",
    "--log-file",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Append the log to this file instead of showing it.",
)
@json_message_option
def command(sites: str, output: str, quiet: bool, **values: Any) -> None:
    """Read the sitemaps of many sites into a dataset: the tables pages, sitemaps and sites.

    SITES is a file with one site per line, or a CSV, TSV or Parquet file with a column site, url,
    host or domain; - is standard input. Run the same command again to complete a dataset: sites that
    are already in it are skipped, however the last run ended. A site that fails gets a row with the
    reason. The exit status is 0 if every site of the list is in the dataset, and 1 if not, because the
    run could not go on.

    \b
    Examples:
      usp crawl sites.txt -o dataset
      usp crawl sites.parquet -o dataset --max pages=100000 --columns url,lastmod
      usp crawl sites.txt -o dataset --since 7d --include '*/blog/*'
      usp crawl sites.txt -o dataset --retry-failed
      usp crawl sites.txt -o dataset --again
      usp crawl sites.txt -o /shared/dataset --engine ray --address auto
    """  # noqa: D301 - click knows the backspace
    from usp.cli.crawling import ending_at_sigterm

    if not output.strip():
        raise click.BadParameter("choose a folder for the dataset", param_hint="--output")
    run = _read_run(values)
    with ending_at_sigterm():
        summary = _crawled(
            sites, output, run, quiet=quiet, verbose=values["verbose"], log_file=values["log_file"]
        )
    for failure in summary["failures"]:
        failure["remedy"] = remedy(failure["code"])
    if not quiet:
        tell.line(_summary(summary, output, run), summary=summary)
    if summary["missing"]:
        how = "run it without --retry-failed" if run.retry_failed else "the same command goes on"
        tell.error(f"sites that are not in {output}: {summary['missing']:,}; {how}", FAILED)
        raise Exit(FAILED)


def _crawled(
    sites: str,
    output: str,
    run: FleetRun,
    *,
    quiet: bool,
    verbose: int,
    log_file: Path | None,
) -> dict[str, Any]:
    """Crawl, and return the summary; tell what is safe if the run cannot go on or is interrupted."""
    from usp._base.names import MissingExtraError
    from usp._base.stores import DatasetError, NotADatasetError
    from usp.cli.crawling import Terminated
    from usp.cli.output import logging_to
    from usp.export.schema import spare_pandas
    from usp.fleet.run import crawl_fleet
    from usp.fleet.site_list import SiteListError, read_sites

    latest: list[FleetProgress] = []
    was_ending: list[bool] = []
    try:
        with (
            _shown(quiet=quiet or tell.as_json) as show,
            logging_to(log_file, verbose),
        ):

            def heard(progress: FleetProgress) -> None:
                if progress.is_ending and not was_ending:
                    was_ending.append(True)
                    safe = progress.position(output)
                    tell.notice(f"finishing what was begun; Ctrl-C again does not wait: {safe}")
                latest[:] = [progress]
                show(progress)

            spare_pandas()
            return crawl_fleet(read_sites(sites, tell.notice), output, run, heard)
    except (NotADatasetError, SiteListError) as error:
        raise click.UsageError(printable(str(error))) from error
    except (DatasetError, MissingExtraError) as error:
        safe = [progress.position(output) for progress in latest]
        message = "\n".join(printable(line) for line in [str(error), *safe])
        raise click.ClickException(message) from error
    except (KeyboardInterrupt, Terminated):
        for progress in latest:
            tell.notice(progress.position(output))
        raise


def _read_run(values: dict[str, Any]) -> FleetRun:
    from usp.export.schema import chosen
    from usp.fleet.run import FleetRun

    columns = values["columns"]
    try:
        names = None if columns is None else chosen(n.strip() for n in columns.split(","))
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--columns") from error
    given = {} if values["timeout"] is None else {"timeout": values["timeout"]}
    options = FleetOptions(
        **website_values(values),
        **given,
        limits=_read_limits(values["limits"], values["site_seconds"]),
        zones=read_zones(values["allow_network"], trust_start=False),
        pages=not values["no_pages"],
        columns=names,
        selection=read_selection(values),
        verify=read_verify(values["ca_bundle"], insecure=values["insecure"]),
        headers=dict(map(read_header, values["headers"])),
        proxy=read_proxy(values["proxy"]),
        **{
            name: values[name]
            for name in (
                "crawl_delay", "user_agent", "in_flight", "per_host", "together", "problems",
                "wait",
            )
        },
    )  # fmt: skip
    if options.selection is not None and not values["no_skip"]:
        options = options.selection.crawl_options(options)
    same = (
        *("engine", "workers", "address", "same_address"),
        *("retry_failed", "again", "keep_versions", "commit_seconds"),
    )
    if values["again"] and values["retry_failed"]:
        raise click.UsageError(
            "--again is for all sites, --retry-failed for some; choose one of them"
        )
    if values["address"] is not None and values["engine"] != "ray":
        raise click.UsageError("--address is that of a Ray cluster; add --engine ray")
    return FleetRun(options=options, **{name: values[name] for name in same})


def _read_limits(given: tuple[str, ...], seconds: float) -> Limits:
    """Return the limits of a site: those of a fleet, with the given ones changed."""
    return changed_limits(dataclasses.replace(FLEET_LIMITS, seconds=seconds), given)


@contextmanager
def _shown(*, quiet: bool) -> Iterator[Callable[[FleetProgress], None]]:
    """Yield a function that shows progress: a live line on a terminal, else a line now and then."""
    from usp.cli.progress import can_show, live_line

    if quiet:
        yield lambda _: None
        return
    if can_show():
        latest: deque[FleetProgress] = deque(maxlen=1)
        with live_line(lambda: printable(latest[0].line()) if latest else ""):
            yield latest.append
        return
    last = time.monotonic()

    def show(progress: FleetProgress) -> None:
        nonlocal last
        if time.monotonic() - last >= _EVERY:
            last = time.monotonic()
            click.echo(printable(progress.line()), err=True)

    yield show


def _summary(summary: dict[str, Any], output: str, run: FleetRun) -> str:
    outcomes = ", ".join(f"{count:,} {name}" for name, count in summary["outcomes"].items())
    before, failed = summary["before"], summary["dataset"]["failed"]
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
    return "\n".join(printable(line) for line in lines)
