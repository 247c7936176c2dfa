"""What a command writes: lines that are safe to print, fit and have colors; the log goes elsewhere."""

from __future__ import annotations

import json
import logging
import os
import select
import shutil
import sys
import textwrap
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

import rich_click as click

from usp._base.display import printable
from usp._base.files import is_pipe
from usp.cli.errors import messages

if TYPE_CHECKING:
    from pathlib import Path

_PLAIN = str.maketrans({"│": "|", "├": "+", "└": "`", "─": "-", "…": "..."})
_NARROWEST = 30  # columns for texts
_EVERY = 0.1  # seconds between two looks at a pipe


# Lines --------------------------------------------------------------------------------------------


def shown_below(homepage_url: str) -> Callable[[str], str]:
    """Return a function that shortens URLs beginning with ``homepage_url`` to their path."""
    keep_from = len(homepage_url) - 1  # the slash at its end
    is_folder = homepage_url.endswith("/")  # and no file with a table

    def shown(url: str) -> str:
        return printable(url[keep_from:] if is_folder and url.startswith(homepage_url) else url)

    return shown


def write_text(lines: Iterable[str], output: Path | None = None) -> None:
    """Write lines to a file, compressed if its name ends with .gz, or to the standard output.

    There, what its encoding cannot represent is percent-encoded.
    """
    if output is not None:
        from usp.export.text_formats import opened

        with naming(output), opened(output, "text") as file:
            plain = map(click.unstyle, lines)  # a terminal may have had colors
            file.writelines(f"{line}\n".encode(errors="backslashreplace") for line in plain)
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
        line = line.translate(_PLAIN)
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
        raise click.ClickException(
            f"{output} was not written: {error.strerror or error}"
        ) from error


# The terminal and the browser --------------------------------------------------------------------


def open_in_browser(path: Path, otherwise: str) -> bool:
    """Open a file in the browser; if there is none, say so, and what to do ``otherwise``.

    Return whether it was opened.
    """
    import webbrowser

    opened = webbrowser.open(path.resolve().as_uri())
    if not opened:
        messages.notice(f"no browser could be opened; {otherwise}")
    return opened


def fitting(lines: Iterable[str], output: Path | None = None) -> Iterator[str]:
    """Yield lines, long ones in several that fit the terminal: no word, and no URL, is broken."""
    if output is not None or not sys.stdout.isatty():
        yield from lines
        return
    room = max(shutil.get_terminal_size().columns, _NARROWEST)
    for line in lines:
        indent = " " * (len(line) - len(line.lstrip()))
        yield from textwrap.wrap(
            line, room, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False
        ) or [line]


def is_for_people() -> bool:
    """Return whether the standard output is a terminal, or is to look like one."""
    return sys.stdout.isatty() or bool(os.environ.get("FORCE_COLOR"))


def has_colors() -> bool:
    """Return whether the standard output shows colors, and nobody asked for none."""
    is_dumb = os.environ.get("TERM") in ("dumb", "unknown")
    return is_for_people() and not is_dumb and not os.environ.get("NO_COLOR")


_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "info": {"fg": "cyan", "bold": True},
    "title": {"bold": True},
    "good": {"fg": "green"},
    "fair": {"fg": "yellow"},
    "bad": {"fg": "red"},
    "dim": {"dim": True},
}


def painted(text: str, style: str) -> str:
    """Return text in a style, if the standard output shows colors; files get none."""
    return click.style(text, **_STYLES[style]) if has_colors() else text


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

    A log file also has warnings, and the messages of the command itself; then nothing is logged to the
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
