"""The command line, under its name in ultimate-sitemap-parser."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, NoReturn

import rich_click as click

from usp._base.names import lazy_getattr
from usp.cli import app
from usp.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Sequence
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = ["ArgumentParser", "main", "parse_args"]


def main(arg_list: Sequence[str] | None = None) -> NoReturn:
    """Run the command line; always ends in ``SystemExit``."""
    app.main(arg_list)


def _context() -> click.Context:
    return app.cli.context_class(app.cli, info_name="usp")


class _HelpParser(ArgumentParser):
    """Prints the help of the command line; has no options of its own."""

    def format_help(self) -> str:
        return app.cli.get_help(_context()) + "\n"


def parse_args(arg_list: Sequence[str] | None) -> tuple[Namespace, ArgumentParser]:
    """Return the options of a command, without running it, and a parser that can print the help.

    Without a command there are no options; a wrong call ends in ``SystemExit``.
    """
    name, rest = app.command_line(list(sys.argv[1:] if arg_list is None else arg_list) or [""])
    parser = _HelpParser(prog="usp", add_help=False)
    if not name:
        return Namespace(), parser
    group = _context()
    command = COMMANDS.get(name)
    if command is None:
        app.main([name, *rest])  # an option such as --version, or a wrong call
    try:
        with command.make_context(name, rest, parent=group) as context:
            return Namespace(**context.params, func=command.callback), parser
    except click.UsageError as error:
        parser.exit(error.exit_code, f"usp {name}: error: {error.format_message()}\n")
