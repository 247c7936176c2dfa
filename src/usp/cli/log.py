"""Where the log of a command goes: the standard error or a file, never the standard output."""

from __future__ import annotations

import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import rich_click as click

from usp.cli.output.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)


class _Formatter(logging.Formatter):
    """Lets nothing through that a terminal would obey: URLs in the log are a website's."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(printable(line) for line in super().format(record).split("\n"))


@contextmanager
def logging_to(log_file: Path | None, verbosity: int) -> Iterator[None]:
    """Log warnings, with ``verbosity`` 1 and 2 also information and details.

    They are appended to the file, if there is one; the console stays quiet then.
    """
    handler = _handler(log_file)
    handler.setFormatter(_Formatter("%(levelname)s:%(name)s:%(message)s"))
    root = logging.getLogger()
    before = root.level
    root.setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
    root.addHandler(handler)
    try:
        yield
    finally:
        root.removeHandler(handler)
        root.setLevel(before)
        handler.close()


@contextmanager
def no_logging() -> Iterator[None]:
    """Log nothing: for a command that shows what went wrong as its result."""
    logger = logging.getLogger("usp")
    handler, propagate = logging.NullHandler(), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)


def _handler(log_file: Path | None) -> logging.Handler:
    if log_file is None:
        return logging.StreamHandler(sys.stderr)
    try:
        return logging.FileHandler(log_file, encoding="utf-8")
    except OSError as error:
        raise click.BadParameter(
            f"cannot write to {str(log_file)!r}: {error.strerror}", param_hint="--log-file"
        ) from error
