"""``usp help``: shows the documentation."""

from __future__ import annotations

import rich_click as click

from usp.cli.errors import json_option
from usp.cli.output import Command


@click.command("help", cls=Command)
@click.argument("topic", required=False)
@json_option
@click.pass_context
def command(ctx: click.Context, topic: str | None) -> None:
    """Show a page of the documentation, or the list of topics.

    TOPIC is a page, or a command without a page of its own. On a terminal pages are shown in a pager;
    elsewhere they are Markdown.

    \b
    Examples:
      usp help                     all topics
      usp help streaming           a page
      usp help snapshot            how to use a command
      usp help rules > rules.md    a page in a file
    """  # noqa: D301 - click knows the backspace
    from usp.cli import help_pages
    from usp.cli.commands import COMMANDS

    if topic is None:
        help_pages.show_topics()
    elif topic in help_pages.topics():
        help_pages.show(topic)
    elif topic in COMMANDS:
        parent = ctx.parent or ctx
        with click.Context(COMMANDS[topic], parent=parent, info_name=topic) as about:
            click.echo(about.get_help())
    else:
        raise help_pages.unknown(topic)
