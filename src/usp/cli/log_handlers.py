"""Handlers of the log: it goes to the standard error or a file, never to the standard output."""

from __future__ import annotations

import json
import logging
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import rich_click as click

from usp._base.safe_text import printable
from usp.cli.errors import tell

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
_FORMAT = "%(levelname)s:%(name)s:%(message)s"


class _Formatter(logging.Formatter):
    """Escapes control characters: URLs in the log come from websites."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(printable(line) for line in super().format(record).split("\n"))


class _JsonFormatter(logging.Formatter):
    """Formats each record as a line of JSON."""

    def format(self, record: logging.LogRecord) -> str:
        told = {"level": record.levelname, "logger": record.name, "log": super().format(record)}
        return json.dumps(told, ensure_ascii=True)


@contextmanager
def logging_to(log_file: Path | None, verbosity: int) -> Iterator[None]:
    """Log to a file, or with ``verbosity`` 1 or 2 to the standard error, at level INFO or DEBUG.

    A log file has warnings too, and then nothing is logged to the standard error. Without either
    nothing is logged: the command itself reports what went wrong, once.
    """
    handler = _handler(log_file, verbosity)
    root = logging.getLogger()
    before = root.level
    logging.captureWarnings(capture=True)
    root.setLevel(_LEVELS[min(verbosity, len(_LEVELS) - 1)])
    root.addHandler(handler)
    try:
        yield
    finally:
        logging.captureWarnings(capture=False)
        root.removeHandler(handler)
        root.setLevel(before)
        handler.close()


@contextmanager
def no_logging() -> Iterator[None]:
    """Log nothing, for a command whose result shows what went wrong."""
    logger = logging.getLogger("usp")
    handler, propagate = logging.NullHandler(), logger.propagate
    logger.addHandler(handler)
    logger.propagate = False
    try:
        yield
    finally:
        logger.propagate = propagate
        logger.removeHandler(handler)


def _handler(log_file: Path | None, verbosity: int) -> logging.Handler:
    if log_file is None:
        if not verbosity:
            return logging.NullHandler()
        handler: logging.Handler = logging.StreamHandler(sys.stderr)
        handler.setFormatter(_JsonFormatter("%(message)s") if tell.as_json else _Formatter(_FORMAT))
        return handler
    try:
        handler = logging.FileHandler(log_file, encoding="utf-8")
    except OSError as error:
        raise click.BadParameter(
            f"cannot write to {str(log_file)!r}: {error.strerror}", param_hint="--log-file"
        ) from error
    handler.setFormatter(_Formatter(f"%(asctime)s {_FORMAT}", "%Y-%m-%dT%H:%M:%S%z"))
    return handler
