"""``usp rule``: explains the rules of ``usp check``."""

from __future__ import annotations

import sys

import rich_click as click

from usp.cli.errors import json_option
from usp.cli.output import Command


@click.command("rule", cls=Command)
@click.argument("names", metavar="RULE...", nargs=-1)
@click.option("--all", "everything", is_flag=True, help="List all rules, or explain them as JSON.")
@click.option(
    "-f",
    "--format",
    "form",
    type=click.Choice(["text", "json"]),
    default="text",
    help="text: for people (the default). json: for programs.",
)
@json_option
def command(names: tuple[str, ...], everything: bool, form: str) -> None:
    """Explain a rule of usp check: what it finds, why it matters, and what to do.

    RULE is a code, the beginning of codes, or a name. With several, or --all, rules are listed in a
    line each; -f json has everything about each of them.

    \b
    Examples:
      usp rule SM401
      usp rule relative-url
      usp rule SM4                 all rules about URLs
      usp rule --all               all rules
      usp rule --all -f json       the same for programs
    """  # noqa: D301 - click knows the backspace
    from usp.cli.output import write_lines
    from usp.cli.rule_pages import lines_of, named

    if not names and not everything:
        raise click.UsageError("name a rule, such as SM401 or relative-url, or use --all")
    write_lines(lines_of(named(names), form), sys.stdout)
