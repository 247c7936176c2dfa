"""What a command writes: text that is safe to print, tables and drawings; the log goes elsewhere."""

from __future__ import annotations

import json
import logging
import os
import select
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import rich_click as click
from click import HelpFormatter, core

from usp._base.display import printable
from usp.cli.errors import messages

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import RenderableType

_NO_WRAP = 1_000_000  # columns: a pipe has no width, and a URL that is cut cannot be copied
_EVERY = 0.1  # seconds between two looks at a pipe
_OWN = "Options"  # the panel of a command's own options
_PLAIN_WIDTH = 80  # columns of help that no terminal shows
_NARROWEST = 50


# Lines --------------------------------------------------------------------------------------------


def shown_below(homepage_url: str) -> Callable[[str], str]:
    """Return a function that shortens URLs beginning with ``homepage_url`` to their path."""
    keep_from = len(homepage_url) - 1  # the slash at its end

    def shown(url: str) -> str:
        return printable(url[keep_from:] if url.startswith(homepage_url) else url)

    return shown


def write_text(lines: Iterable[str], output: Path | None = None) -> None:
    """Write lines to a file, compressed if its name ends with .gz, or to the standard output.

    There, what its encoding cannot represent is percent-encoded.
    """
    if output is not None:
        from usp.export.text_formats import opened

        with naming(output), opened(output, "text") as file:
            file.writelines(f"{line}\n".encode(errors="backslashreplace") for line in lines)
        return
    encoding = (sys.stdout.encoding or "utf-8").lower()
    if encoding not in ("utf-8", "utf8"):
        lines = (_encodable(line, encoding) for line in lines)
    sys.stdout.writelines(f"{line}\n" for line in lines)
    sys.stdout.flush()


def _encodable(line: str, encoding: str) -> str:
    try:
        line.encode(encoding)
    except UnicodeEncodeError:
        import string

        from usp._base.urls import quote

        return quote(line, safe=string.printable)
    return line


@contextmanager
def naming(output: Path | None) -> Iterator[None]:
    """Name the file that cannot be written; for the standard output, all commands say the same."""
    try:
        yield
    except OSError as error:
        if output is None:
            raise
        raise click.ClickException(f"{output} was not written: {error}") from error


# Help ---------------------------------------------------------------------------------------------


class Command(click.RichCommand):
    """A command whose help has panels and colors on a terminal, and is plain text elsewhere."""

    def get_help(self, ctx: click.Context) -> str:
        """Return the help."""
        if not is_for_people():
            return plain_help(self, ctx)
        self.panels = [click.RichOptionPanel(_OWN)]  # first; the others are as options name them
        return super().get_help(ctx)


def is_for_people() -> bool:
    """Return whether the standard output is a terminal, or is to look like one."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def plain_help(
    command: core.Command, ctx: click.Context, commands: Iterable[tuple[str, str]] = ()
) -> str:
    """Return the help of a command as text; ``rich`` takes longer to load than all the rest.

    ``commands`` are those of a group, with a sentence each.
    """
    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() else _PLAIN_WIDTH
    formatter = HelpFormatter(width=max(width - 2, _NARROWEST))
    core.Command.format_usage(command, ctx, formatter)
    core.Command.format_help_text(command, ctx, formatter)
    panels: dict[str, list[tuple[str, str]]] = {_OWN: []}
    for parameter in command.get_params(ctx):
        record = parameter.get_help_record(ctx)
        if record and isinstance(parameter, core.Option):
            panels.setdefault(getattr(parameter, "panel", None) or _OWN, []).append(record)
    for name, records in panels.items():
        with formatter.section(name):
            formatter.write_dl(records)
    if commands:
        with formatter.section("Commands"):
            formatter.write_dl(list(commands))
    return formatter.getvalue().rstrip("\n")


# Tables and drawings ------------------------------------------------------------------------------


def show(*parts: RenderableType) -> None:
    """Print tables, drawings and texts, in color on a terminal; lines are never wrapped or cut."""
    from rich.console import Console

    console = Console(highlight=False, emoji=False, width=_NO_WRAP)
    with console.capture() as printed:  # rich would end the process if the reader is gone
        for part in parts:
            console.print(part, soft_wrap=isinstance(part, str))
    sys.stdout.write(printed.get())
    sys.stdout.flush()


def has_colors() -> bool:
    """Return whether the standard output shows colors, and nobody asked for none."""
    if not is_for_people():
        return False
    from rich.console import Console

    console = Console()
    return console.color_system is not None and not console.no_color


_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "info": {"fg": "cyan", "bold": True},
    "title": {"bold": True},
    "good": {"fg": "green"},
    "dim": {"dim": True},
}


def painted(text: str, style: str) -> str:
    """Return text in a style, for a terminal with colors."""
    return click.style(text, **_STYLES[style])


# Readers that go away -----------------------------------------------------------------------------


@contextmanager
def watching(stream: TextIO | None, on_closed: Callable[[], object]) -> Iterator[None]:
    """Call ``on_closed``, from another thread, if the reader of a pipe closes it meanwhile.

    Otherwise that is noticed at the next write, which on a slow website may be much later. The block
    ends in ``BrokenPipeError`` then.
    """
    if stream is None or not is_pipe(stream) or not hasattr(select, "poll"):
        yield
        return
    over, closed = threading.Event(), threading.Event()
    poll = select.poll()
    poll.register(stream.fileno(), 0)  # errors are always reported

    def watch() -> None:
        while not over.wait(_EVERY):
            if poll.poll(0):
                closed.set()
                on_closed()
                return

    threading.Thread(target=watch, name="usp-pipe", daemon=True).start()
    try:
        yield
    finally:
        over.set()
    if closed.is_set():
        raise BrokenPipeError


def is_pipe(stream: TextIO) -> bool:
    """Return whether somebody reads what is written to a stream while it is written."""
    try:
        mode = os.fstat(stream.fileno()).st_mode
    except OSError:
        return False
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


def discard() -> None:
    """Send what is still buffered nowhere, so that the last flush of Python succeeds."""
    try:
        descriptor = sys.stdout.fileno()
    except OSError:  # a stream of somebody's own, without a file
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, descriptor)
    os.close(nowhere)


# The log: to the standard error or a file, never to the standard output ----------------------------


_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_FORMAT = "%(levelname)s:%(name)s:%(message)s"


class _Formatter(logging.Formatter):
    """Escapes control characters: URLs in the log come from websites."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(printable(line) for line in super().format(record).split("\n"))


class _JsonFormatter(logging.Formatter):
    """Formats each record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        fields = {"level": record.levelname, "logger": record.name, "log": super().format(record)}
        return json.dumps(fields, ensure_ascii=True)


@contextmanager
def logging_to(log_file: Path | None, verbosity: int) -> Iterator[None]:
    """Log to a file, or with ``verbosity`` 1 or 2 to the standard error, at level INFO or DEBUG.

    A log file has warnings too, and what the command itself tells, and then nothing is logged to the
    standard error. Without either nothing is logged: the command itself reports what went wrong, once.
    """
    handler = _handler(log_file, verbosity)
    root, own = logging.getLogger(), logging.getLogger(__package__)
    before, own_before = root.level, own.level
    logging.captureWarnings(capture=True)
    level = _LEVELS[min(verbosity, len(_LEVELS) - 1)]
    root.setLevel(level)
    if log_file is not None:
        own.setLevel(min(logging.INFO, level))
    root.addHandler(handler)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
        root.setLevel(before)
        own.setLevel(own_before)
        handler.close()


def _handler(log_file: Path | None, verbosity: int) -> logging.Handler:
    if log_file is None:
        if not verbosity:
            return logging.NullHandler()
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(
            _JsonFormatter("%(message)s") if messages.as_json else _Formatter(_FORMAT)
        )
        return handler
    try:
        handler = logging.FileHandler(log_file, encoding="utf-8")
    except OSError as error:
        reason = f"cannot write to {str(log_file)!r}: {error.strerror}"
        raise click.BadParameter(reason, param_hint="--log-file") from error
    handler.setFormatter(_Formatter(f"%(asctime)s {_FORMAT}", "%Y-%m-%dT%H:%M:%S%z"))
    return handler
