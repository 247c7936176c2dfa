"""``usp forget`` and ``usp convert``: sites that are left alone, and datasets of earlier versions."""

from __future__ import annotations

import rich_click as click

from usp._base.display import counted
from usp.cli import options
from usp.cli.errors import messages


@options.command("forget")
@click.argument("dataset")
@click.argument("sites", metavar="[SITE]...", nargs=-1)
@options.common_options
def command(dataset: str, sites: tuple[str, ...]) -> None:
    """Leave sites alone, and delete their rows from a dataset.

    A SITE is a host or a URL, and stands for the hosts below it, too. It is added to leave-alone.txt in
    the dataset, a list that may also be edited by hand. A crawl that is running sends these sites no
    more requests, within seconds. Without SITE, the rows of all sites of the list are deleted. Files
    with deleted rows are removed once no version of the tables needs them. Needs the extra fleet.

    \b
    Examples:
      usp forget dataset example.org
      usp forget dataset                delete the rows of all sites of the list
    """  # noqa: D301 - click knows the backspace
    from usp._base.files import NotADatasetError
    from usp._base.interrupts import InterruptibleThread
    from usp.fleet.current import OpenDataset
    from usp.fleet.leave_alone import forget
    from usp.fleet.site_list import SiteListError

    aside = InterruptibleThread()
    try:
        done = aside(forget, aside(OpenDataset, dataset), sites)
    except (NotADatasetError, SiteListError) as error:
        raise click.UsageError(str(error)) from error
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

    \b
    Examples:
      usp convert old -o dataset
      usp crawl dataset --due              see what has changed
    """  # noqa: D301 - click knows the backspace
    from usp._base.files import NotADatasetError
    from usp._base.interrupts import InterruptibleThread
    from usp.fleet.takeover import take_over

    try:
        done = InterruptibleThread()(take_over, old, output)
    except NotADatasetError as error:
        raise click.UsageError(str(error)) from error
    names = {"visits": "site", "fetches": "sitemap", "pages": "page"}
    found = ", ".join(counted(done[table], name) for table, name in names.items())
    messages.notice(f"{found} taken over", **done)
