"""The command ``usp``: its subcommands, and how every one of them ends.

The exit status is 0 if anything was read (even if the reader of a pipe stopped early), 1 if nothing
could be read or the result could not be written, 2 for wrong usage, 3 with ``--strict`` if anything is
missing, and 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import rich_click as click
from click.core import ParameterSource

import usp
from usp._base.display import did_you_mean
from usp.cli import INTERRUPTED, interrupts, output, wants_json
from usp.cli.command import is_for_people, plain_help
from usp.cli.commands import COMMANDS, GROUPS, SHORT_HELP
from usp.cli.errors import CONFIG_FILE, EXPECTED, FAILED, messages, words_of

click.rich_click.TEXT_PARAGRAPH_LINEBREAKS = "\n\n"
click.rich_click.OPTIONS_TABLE_COLUMN_TYPES = [
    "required",
    "opt_long",
    "opt_short",
    "metavar_short",
    "help",
]
click.rich_click.OPTIONS_TABLE_HELP_SECTIONS = ["help", "range", "required", "default"]

_OPTION = re.compile("--[a-z][a-z-]*+")


class _CommandGroup(click.RichGroup):
    """A group of commands that end with an exit status and a message, never with a traceback.

    A command is loaded when it is called; help and completion list only its name and its sentence.
    """

    def list_commands(self, ctx: click.Context) -> list[str]:
        del ctx
        return list(self.commands)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, rest = command_line(args)
        command = COMMANDS.get(name)
        if command is None and not ctx.resilient_parsing:
            if name.startswith("-"):
                self.parse_args(ctx, args)  # which says what is wrong with an option
            hint = did_you_mean(name, COMMANDS) or "a website needs a dot, as in 'usp example.org'"
            ctx.fail(f"unknown command {name!r}; {hint}")
        return name, command, rest

    def get_help(self, ctx: click.Context) -> str:
        if not is_for_people():
            return plain_help(self, ctx, GROUPS)
        self.panels = [click.RichCommandPanel(title, [*names]) for title, names in GROUPS.items()]
        return super().get_help(ctx)

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:  # which click would take for a failure
            output.discard()
            ctx.exit(0)
        except KeyboardInterrupt as error:  # for which click would write an empty line
            raise click.Abort from error
        return result


@click.group(
    cls=_CommandGroup,
    commands=[click.RichCommand(name=name, help=text) for name, text in SHORT_HELP.items()],
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.option("--json", is_flag=True, expose_value=False, hidden=True)  # see wants_json
@click.option("--log-format", expose_value=False, hidden=True)  # see there, too
@click.version_option(usp.__version__, "-v", "--version", message="usp v%(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find, fetch and read the sitemaps of a website.

    Sitemaps are found through robots.txt and at well-known paths, and nested indexes are followed.
    Damaged sitemaps are read as far as possible.

    \b
    Examples:
      usp demo                           a short demo, offline
      usp example.org                    its sitemaps: short for 'usp tree'
      usp ls example.org -o pages.csv    a table of its pages
      usp check example.org              what is wrong with its sitemaps
    """  # noqa: D301 - click knows the backspace
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def command_line(args: Sequence[str]) -> tuple[str, list[str]]:
    """Return the name of the command that is called, and its arguments.

    A website, a file and whatever else can be read is shown as a tree.
    """
    name, *rest = args
    if name in COMMANDS or (name.startswith("-") and name != "-"):
        return name, rest
    is_input = name in ("-", "localhost") or bool({*"./:"} & {*name}) or os.path.exists(name)  # noqa: PTH110
    return ("tree", [*args]) if is_input else (name, rest)


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line with these arguments, by default those of the process.

    Always ends in ``SystemExit``.
    """
    messages.begin(as_json=wants_json(argv))
    interrupts.reported = interrupts.received = False
    try:
        sys.exit(_status(argv))
    except (KeyboardInterrupt, Exception) as error:
        # The code that was running may have turned an interrupt into another exception.
        if interrupts.received or isinstance(error, KeyboardInterrupt | click.Abort):
            interrupts.reported = True
            messages.error("interrupted", INTERRUPTED, hint=messages.if_interrupted)
            sys.exit(INTERRUPTED)
        if not messages.as_json:
            raise
        messages.error(f"internal error: {type(error).__name__}: {error}", FAILED)
        sys.exit(FAILED)


def _status(argv: Sequence[str] | None) -> int:
    """Run the command line and return its exit status."""
    try:
        status = cli.main(args=argv, prog_name="usp", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        output.discard()
        return 0
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "usp"
        hint = f"Try '{command} --help'."
        message = error.format_message()
        origin = _origin(error, set(_OPTION.findall(message.partition(";")[0])))  # advice follows
        message = f"{message.rstrip('.')} ({origin})" if origin else message
        messages.error(message, error.exit_code, hint=hint, command=command)
        return error.exit_code
    except EXPECTED as error:
        if isinstance(error, OSError):
            output.discard()  # what is still buffered would fail again
        messages.error(words_of(error), messages.failed)
        return messages.failed
    return status if isinstance(status, int) else 0


def _origin(error: click.UsageError, named: set[str]) -> str:
    """Return where a wrong value of one of the options came from, if not from the command line."""
    if error.ctx is None:
        return ""
    for parameter in error.ctx.command.params:
        if named & {*parameter.opts, *parameter.secondary_opts}:
            source = error.ctx.get_parameter_source(parameter.name or "")
            if source is ParameterSource.ENVIRONMENT:
                return f"set by {parameter.envvar}"
            if source is ParameterSource.DEFAULT_MAP:
                return f"set in {error.ctx.meta[CONFIG_FILE]}"
    return ""
