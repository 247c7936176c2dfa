"""The command ``usp``: its help, the names that options had before, and how every call ends.

The exit status is 0 if anything was read (even if the reader of a pipe stopped early), 1 if nothing
could be read or the result could not be written, 2 for wrong usage, 3 with ``--strict`` if anything is
missing, and 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import rich_click as click
from click import HelpFormatter, core
from click.core import ParameterSource

import usp
from usp._base.display import did_you_mean
from usp._base.names import lazy_getattr
from usp.cli import INTERRUPTED, has_format, interrupts, output, wants_json
from usp.cli.commands import COMMANDS, GROUPS, SHORT_HELP
from usp.cli.errors import CONFIG_FILE, EXPECTED, FAILED, messages, words_of
from usp.cli.output import is_for_people

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = ["ArgumentParser", "main", "parse_args"]

click.rich_click.TEXT_PARAGRAPH_LINEBREAKS = "\n\n"
click.rich_click.OPTIONS_TABLE_COLUMN_TYPES = [
    "required",
    "opt_long",
    "opt_short",
    "metavar_short",
    "help",
]
click.rich_click.OPTIONS_TABLE_HELP_SECTIONS = ["help", "range", "required", "default"]

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
            self.panels = [click.RichOptionPanel(_OWN)]  # first; others are as options name them
            return super().get_help(ctx)
        finally:
            self._hidden_panels = ()

    def _show_all(self, ctx: click.Context, _: click.Parameter, value: bool) -> None:
        if value and not ctx.resilient_parsing:
            click.echo(self.get_help(ctx, everything=True), color=ctx.color)
            ctx.exit()


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


def _context() -> click.Context:
    return cli.context_class(cli, info_name="usp")


def parse_args(arg_list: Sequence[str] | None) -> tuple[Namespace, ArgumentParser]:
    """Return the options of a command, without running it, and a parser that can print the help.

    As in ultimate-sitemap-parser. Without a command there are no options; a wrong call ends in
    ``SystemExit``.
    """
    from argparse import ArgumentParser, Namespace

    class HelpParser(ArgumentParser):
        def format_help(self) -> str:
            return cli.get_help(_context()) + "\n"

    name, rest = command_line(list(sys.argv[1:] if arg_list is None else arg_list) or [""])
    parser = HelpParser(prog="usp", add_help=False)
    if not name:
        return Namespace(), parser
    command = COMMANDS.get(name)
    if command is None:
        main([name, *rest])  # an option such as --version, or a wrong call
    try:
        with command.make_context(name, rest, parent=_context()) as context:
            return Namespace(**context.params, func=command.callback), parser
    except click.UsageError as error:
        parser.exit(error.exit_code, f"usp {name}: error: {error.format_message()}\n")
