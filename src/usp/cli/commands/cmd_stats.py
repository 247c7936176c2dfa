"""``usp stats``, ``usp forget`` and ``usp convert``: a dataset of ``usp crawl`` after the crawl."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import rich_click as click

from usp._base.display import counted, duration, printable, size
from usp.cli import options
from usp.cli.errors import failure_line, messages, reading_dataset, remedy
from usp.cli.output import fitting, painted, write_text

if TYPE_CHECKING:
    from pathlib import Path

_TITLES = {
    "outcomes": "Outcomes",
    "largest": "Largest sites",
    "formats": "Formats",
    "extensions": "Extensions",
    "kept": "Kept from an earlier crawl",
}
_LAST_YEARS = 15


@options.command("stats")
@click.argument("dataset")
@options.table({"--most N": "Number of sites and reasons to list."}, most={"default": 10})
@options.results(["text", "json"], "text: tables (the default). json: everything, for programs.")
@options.common_options
def command(dataset: str, most: int, form: str | None, output: Path | None) -> None:
    """Show what is in a dataset: totals, failures, formats, dates.

    DATASET is the folder, or the URL in an object store, that 'usp crawl' writes to; the crawl may
    still be running. Needs the extra fleet.

    Examples:
      usp stats dataset
      usp stats dataset -f json | jq .freshness.shares
    """
    form = options.format_for(output, form, ("text", "json"), "text")
    from usp.fleet.current import dataset_stats

    with reading_dataset() as aside:
        stats = aside(dataset_stats, dataset, most)
    if form == "json":
        write_text(json.dumps(stats, indent=1, default=str).splitlines(), output)
    else:
        write_text(_lines(stats, output), output)
    messages.wrote(output, stats["totals"]["sites"], "site")


@options.command("forget")
@click.argument("dataset")
@click.argument("sites", metavar="[SITE]...", nargs=-1)
@options.common_options
def forget(dataset: str, sites: tuple[str, ...]) -> None:
    """Leave sites alone, and delete their rows from a dataset.

    A SITE is a host or a URL, and stands for the hosts below it, too. It is added to leave-alone.txt in
    the dataset, a list that may also be edited by hand. A crawl that is running sends these sites no
    more requests, within seconds. Without SITE, the rows of all sites of the list are deleted. Files
    with deleted rows are removed once no version of the tables needs them. Needs the extra fleet.

    Examples:
      usp forget dataset example.org
      usp forget dataset                delete the rows of all sites of the list
    """
    from usp.fleet import leave_alone
    from usp.fleet.current import OpenDataset

    with reading_dataset() as aside:
        done = aside(leave_alone.forget, aside(OpenDataset, dataset), sites)
    for line in done["wrong"]:
        messages.notice(
            f"{leave_alone.FILE}: {line!r} names no host, and so leaves no site alone; write for"
            " example example.org, which stands for the hosts below it, too"
        )
    messages.notice(
        f"{counted(done['deleted'], 'site')} deleted; {counted(done['listed'], 'host')} left alone",
        **done,
    )


@options.command("convert")
@click.argument("old", metavar="OLD")
@options.table(
    {"-o --output DATASET": "Dataset to write, which does not exist yet."},
    output={"required": True},
)
@options.common_options
def convert(old: str, output: str) -> None:
    """Take over a dataset of an earlier version.

    OLD has the tables pages, sitemaps and sites, and stays as it is. Everything in the new dataset is
    due at once. If the command is interrupted, the same command completes it. Needs the extra fleet.

    Examples:
      usp convert old -o dataset
      usp crawl dataset --due              see what has changed
    """
    from usp.fleet.current import take_over

    with reading_dataset() as aside:
        done = aside(take_over, old, output)
    names = {"visits": "site", "fetches": "sitemap", "pages": "page"}
    found = ", ".join(counted(done[table], name) for table, name in names.items())
    messages.notice(f"{found} taken over", **done)


# Tables of stats -----------------------------------------------------------------------------------


def _lines(stats: dict[str, Any], output: Path | None) -> Iterator[str]:
    totals = stats["totals"]
    yield (
        f"{counted(totals['sites'], 'site')}, {counted(totals['sitemaps'] or 0, 'sitemap')},"
        f" {counted(totals['pages'] or 0, 'page')}; {size(totals['bytes'] or 0)} received in"
        f" {counted(totals['requests'] or 0, 'request')}"
    )
    for name, title in _TITLES.items():
        if stats[name]:
            yield from _table(title, stats[name])
    yield from fitting(_failures(stats["failures"]), output)
    yield from _freshness(stats["freshness"])


def _failures(failures: list[dict[str, Any]]) -> Iterator[str]:
    if failures:
        yield painted("Failures", "title")
    for failure in failures:
        known = failure["remedy"] is not None  # else the code is not one of ours
        what = {"remedy": remedy(failure["code"], of_fleet=True)} if known else {}
        yield printable(failure_line(failure | what))


def _freshness(freshness: dict[str, Any]) -> Iterator[str]:
    if not freshness["dated"]:
        yield "No page has a date."
        return
    shares = ", ".join(
        f"{share:.1%} within {counted(int(days), 'day')}"
        for days, share in freshness["shares"].items()
    )
    yield (
        f"\n{freshness['dated']:,} of {counted(freshness['pages'], 'page')}"
        f" {'has' if freshness['pages'] == 1 else 'have'} a date, the newest"
        f" {str(freshness['newest'])[:10]}; before it: {shares}"
    )
    yield from _table("Pages by year", freshness["years"][-_LAST_YEARS:])


def _table(title: str, rows: Sequence[dict[str, Any]]) -> Iterator[str]:
    names, first = [*rows[0]], rows[0]
    cells = [names, *([_cell(name, row[name]) for name in names] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    yield painted(title, "title")
    for at, row in enumerate(cells):
        line = "  ".join(
            text.rjust(width)
            if isinstance(first[name], int | float) and name != "year"
            else text.ljust(width)
            for name, text, width in zip(names, row, widths, strict=True)
        ).rstrip()
        yield line if at else painted(line, "title")


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name == "bytes":
        return size(int(value))
    if name == "seconds":
        return duration(value)
    if isinstance(value, int) and name != "year":
        return f"{value:,}"
    return printable(str(value))
