"""``usp check``: finds what is wrong with sitemaps, for people, programs and continuous integration."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from usp.cli.option_values import Integer, Target
from usp.cli.output import Command, trouble
from usp.cli.shared_options import address_type, crawl_options

if TYPE_CHECKING:
    from pathlib import Path

    from usp.cli.crawling import Address, Crawling

TROUBLE = 2
_FORMATS = ("text", "json", "jsonl", "sarif", "junit", "github")
_SEVERITIES = ("error", "warning", "info")


@click.command("check", cls=Command)
@click.argument("starts", metavar="URL...", type=address_type, nargs=-1, required=True)
@click.option(
    "--select",
    multiple=True,
    metavar="RULES",
    help="Check only these rules: codes (SM401), beginnings of codes (SM4) or names, with commas "
    "between them. ALL, the default, is all of them.",
)
@click.option(
    "--ignore",
    multiple=True,
    metavar="RULES",
    help="Leave out these rules. Where --select fits too, the more precise one counts.",
)
@click.option(
    "--extend-select",
    multiple=True,
    metavar="RULES",
    help="Check these rules too, beside those that --select or the configuration file selects.",
)
@click.option(
    "--extend-ignore",
    multiple=True,
    metavar="RULES",
    help="Leave out these rules too.",
)
@click.option(
    "--severity",
    "severities",
    multiple=True,
    metavar="RULES=SEVERITY",
    help="Change how severe rules are: error, warning, info or off, as in SM407=info.",
)
@click.option(
    "--min-severity",
    type=click.Choice(_SEVERITIES),
    default="info",
    show_default=True,
    help="Leave out what is less severe; it does not count for the exit status either.",
)
@click.option(
    "--fail-on",
    type=click.Choice([*_SEVERITIES, "never"]),
    default="warning",
    show_default=True,
    help="Exit with status 1 if anything is found that is this severe, or more.",
)
@click.option(
    "--baseline",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="Leave out the findings in this file, which --write-baseline has written.",
)
@click.option(
    "--write-baseline",
    type=Target(must_be_file=True),
    metavar="FILE",
    help="Write all findings to this file instead of showing them, and exit with status 0.",
)
@click.option(
    "--fetch-pages",
    type=Integer(min=0),
    default=0,
    metavar="N",
    help="Also fetch this many of the listed pages, a sample, as robots.txt allows: is each of them "
    "there, and may it be indexed?",
)
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(_FORMATS),
    default="text",
    help="text: for people (the default). json, jsonl: for programs. sarif: for code scanning. junit: "
    "for test reports. github: annotations in GitHub Actions.",
)
@click.option(
    "-o",
    "--output",
    type=Target(),
    metavar="FILE",
    default="-",
    help="File to write; an existing one is replaced. - is standard output (the default).",
)
@click.option(
    "-a",
    "--all",
    "--no-fold",
    "everything",
    is_flag=True,
    help="Show every finding; otherwise, of many equal ones only examples are shown.",
)
@crawl_options
def command(
    crawling: Crawling,
    starts: tuple[Address, ...],
    form: str,
    output: Path | None,
    **given: Any,
) -> None:
    """Check the sitemaps of a website: what is wrong, where, and what to do about it.

    URL is a website, a sitemap, a snapshot, a file, a folder, or - for standard input; several are
    checked one after the other. Each rule has a code, which 'usp rule CODE' explains. Rules are chosen
    on the command line, or in the table [tool.usp.check] of pyproject.toml.

    The exit status is 0 if nothing was found (see --fail-on), 1 if something was, and 2 if the sitemaps
    could not be checked: wrong usage, nothing that responds, no sitemaps at all.

    \b
    Examples:
      usp check example.org                          a website
      usp check public/                              files, before a deployment
      usp check example.org --select SM4 --ignore SM407
      usp check example.org --write-baseline known.json
      usp check example.org --baseline known.json    only what is new
      usp check example.org --fetch-pages 50         some of the pages, too
      usp check public/ -f sarif -o usp.sarif        for code scanning
    """  # noqa: D301 - click knows the backspace
    from usp.cli.checking import Check

    check = Check(given, starts, crawling)
    with trouble(TROUBLE):
        with crawling.running() as progress:
            check.read(progress)
            check.write(form, output, progress)
        check.end()
