"""The command ``usp``: its subcommands, and how every one of them ends.

The exit status is 0 when anything was read (also when the reader of a pipe has seen enough), 1 when
nothing could be read, or the result could not be written, 2 when the call was wrong, 3 with
``--strict`` when something is missing, 130 after Ctrl-C.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import rich_click as click

import usp
from usp.cli import config
from usp.cli.commands import COMMANDS
from usp.cli.errors import FAILED, json_option, tell, wants_json
from usp.cli.interrupts import INTERRUPTED, interrupts
from usp.exceptions import SitemapException

if TYPE_CHECKING:
    from collections.abc import Sequence

click.rich_click.TEXT_PARAGRAPH_LINEBREAKS = "\n\n"


class _Group(click.RichGroup):
    """A group of commands that end in an exit status and a line, never in a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()
        except BrokenPipeError:
            _forget_stdout()
            ctx.exit(0)
        except OSError as error:
            _forget_stdout()
            tell.error(str(error), FAILED)
            ctx.exit(FAILED)
        except SitemapException as error:
            tell.error(str(error), FAILED)
            ctx.exit(FAILED)
        except KeyboardInterrupt:
            _tell_interrupt()
            ctx.exit(INTERRUPTED)
        return result


def _forget_stdout() -> None:
    """Let what is still in the buffer go nowhere, so that Python's own last flush succeeds."""
    try:
        descriptor = sys.stdout.fileno()
    except OSError:  # a stream of somebody's own, without a file
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


@click.group(
    cls=_Group,
    commands=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@json_option
@click.version_option(usp.__version__, "-v", "--version", message="usp v%(version)s")
@click.pass_context
def cli(ctx: click.Context) -> None:
    """Find, fetch and read the sitemaps of a website.

    Robots.txt, known paths and nested indexes are followed; what is damaged is repaired.

    \b
    Examples:
      usp demo                                  see what it does, offline
      usp ls example.org                        sitemaps and pages as a tree
      usp ls example.org -f pages > urls.txt    every page, one a line
    """  # noqa: D301 - click knows the backspace
    found = config.find(Path.cwd())
    if found is not None:
        for line in config.worth_telling(*found, Path.cwd()):
            tell.notice(line)
        ctx.default_map = config.defaults(*found, COMMANDS)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command line with these arguments, by default those of the process.

    Always ends in ``SystemExit``.
    """
    tell.begin(as_json=wants_json(argv))
    interrupts.told = interrupts.received = False
    try:
        sys.exit(_status(argv))
    except (KeyboardInterrupt, click.Abort):
        _tell_interrupt()
        sys.exit(INTERRUPTED)
    except Exception as error:
        if interrupts.received:  # and made something else of by whoever was at work
            _tell_interrupt()
            sys.exit(INTERRUPTED)
        if not tell.as_json:
            raise
        tell.error(f"internal error: {type(error).__name__}: {error}", FAILED)
        sys.exit(FAILED)


def _status(argv: Sequence[str] | None) -> int:
    """Run the command line and return its exit status."""
    try:
        status = cli.main(args=argv, prog_name="usp", standalone_mode=False)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "usp"
        hint = f"Try '{command} --help'."
        tell.error(error.format_message(), error.exit_code, hint=hint, command=command)
        return error.exit_code
    except click.ClickException as error:
        tell.error(error.format_message(), error.exit_code)
        return error.exit_code
    return status if isinstance(status, int) else 0


def _tell_interrupt() -> None:
    if not interrupts.told:
        interrupts.told = True
        tell.error("interrupted", INTERRUPTED)
