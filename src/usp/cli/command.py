"""Commands and options as they are here: their help, and the names that they had before."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any

import rich_click as click
from click import HelpFormatter, core

from usp.cli import has_format
from usp.cli.errors import messages

WEBSITE, REQUESTS = "Where sitemaps are looked for", "Requests and limits"
MESSAGES, FILTERS, MORE = "Messages and exit status", "Filters", "More options"
_BEHIND = (MORE, WEBSITE, REQUESTS, MESSAGES)  # panels that only --help-all shows
_OWN = "Options"  # the panel of a command's own options
_PLAIN_WIDTH = 80  # columns of help that no terminal shows
_NARROWEST = 50
_EXAMPLES = re.compile(r"^( *)Examples:$", re.MULTILINE)


OLD_NAMES = {
    "--all-problems": "--problems",
    "--depth": "--levels",
    "--in-flight": "--sites-per-worker",
    "--jsonl": "--format=jsonl",
    "--per-host": "--concurrency",
    "--together": "--sites-per-host",
}
"""What options were called in earlier versions, which goes on working."""


def _log_as_json(_: click.Context, __: click.Parameter, value: bool) -> None:
    messages.as_json = messages.as_json or value


class Command(click.RichCommand):
    """A command whose help has panels and colors on a terminal, and is plain text elsewhere.

    ``--help`` shows its own options and the filters, ``--help-all`` those of all panels. ``--json`` is
    short for ``-f json``; where a format is given, or none can be, it is ``--log-format json``, as in
    earlier versions.
    """

    def __init__(self, *given: Any, params: list[click.Parameter], **settings: Any) -> None:
        self._form = next((one for one in params if one.name == "form"), None)
        at = params.index(self._form) + 1 if self._form else len(params)
        flag: dict[str, Any] = {"is_flag": True, "expose_value": False}
        choices = getattr(getattr(self._form, "type", None), "choices", ())
        self._json = "jsonl" if choices and "json" not in choices else "json"
        # Click leaves lines as they are after a backspace.
        settings["help"] = _EXAMPLES.sub(r"\1\b\n\g<0>", settings["help"])
        text, hidden = f"The same as -f {self._json}.", not self._form
        as_json = {"help": text, "hidden": hidden, "callback": _log_as_json, **flag}
        params.insert(at, click.RichOption(["--json"], **as_json))
        super().__init__(*given, params=params, **settings)
        text = "Show all options: requests, limits, messages, too."
        show = {"help": text, "is_eager": True, "callback": self._show_all, **flag}
        self._help_all = click.RichOption(["--help-all"], **show)
        self._hidden_panels: tuple[str, ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse arguments, in which options may have the names of earlier versions."""
        own = {name for parameter in self.params for name in parameter.opts}
        renamed = {old: new for old, new in OLD_NAMES.items() if new.partition("=")[0] in own}
        parts = (word.partition("=") for word in args)
        args = [renamed.get(name, name) + equals + value for name, equals, value in parts]
        if "--json" in args and self._form and not has_format(args):
            args = [f"--format={self._json}" if word == "--json" else word for word in args]
        return super().parse_args(ctx, args)

    def get_params(self, ctx: click.Context) -> list[click.Parameter]:
        """Return the parameters; while help is written, those that it shows."""
        *params, usual_help = super().get_params(ctx)
        shown = [p for p in params if getattr(p, "panel", None) not in self._hidden_panels]
        return [*shown, self._help_all, usual_help]

    def get_help(self, ctx: click.Context, *, everything: bool = False) -> str:
        """Return the help."""
        self._hidden_panels = () if everything else _BEHIND
        try:
            if not is_for_people():
                return plain_help(self, ctx)
            self.panels = [
                click.RichOptionPanel(_OWN)
            ]  # first; the others are as options name them
            return super().get_help(ctx)
        finally:
            self._hidden_panels = ()

    def _show_all(self, ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(self.get_help(ctx, everything=True), color=ctx.color)
            ctx.exit()


def is_for_people() -> bool:
    """Return whether the standard output is a terminal, or is to look like one."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def plain_help(
    command: core.Command,
    ctx: click.Context,
    groups: Mapping[str, Mapping[str, str]] | None = None,
) -> str:
    """Return the help of a command as text; ``rich`` takes longer to load than all the rest.

    ``groups`` are the commands of a group, with a sentence each.
    """
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else _PLAIN_WIDTH
    formatter = HelpFormatter(width=max(width - 2, _NARROWEST))
    core.Command.format_usage(command, ctx, formatter)
    core.Command.format_help_text(command, ctx, formatter)
    panels: dict[str, Iterable[tuple[str, str]]] = {_OWN: []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record and isinstance(parameter, core.Option):
            panel = getattr(parameter, "panel", None) or _OWN
            panels[panel] = [*panels.get(panel, ()), record]
    for name, commands in (groups or {}).items():
        panels[name] = commands.items()
    for name, records in panels.items():
        with formatter.section(name):
            formatter.write_dl(list(records))
    return formatter.getvalue().rstrip("\n")
