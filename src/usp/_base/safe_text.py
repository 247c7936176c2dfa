"""Text that a website wrote, fit to keep, show and log: bounded, and unable to steer a terminal."""

from __future__ import annotations

import logging
from typing import Any

MAX_TEXT = 500
"""Characters that are kept of a message, a reason or a name: what is longer says no more."""


def excerpt(text: str, most: int = MAX_TEXT) -> str:
    """Return text as it is, or its beginning if it has more than ``most`` characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def printable(text: str) -> str:
    """Return text with what has no shape percent-encoded: controls, line ends, marks of direction."""
    if text.isprintable():
        return text
    from urllib.parse import quote  # noqa: PLC0415 - most text is printable

    return "".join(
        char if char.isprintable() else quote(char, errors="surrogatepass") for char in text
    )


# The loggers of the library: whoever handles their records gets text that is safe to show ----------


def get_logger(name: str) -> logging.Logger:
    """Return the logger of that name; its records have no controls and no marks of direction.

    Addresses and messages in them are a website's. A handler, a formatter or a collector of somebody
    else's need not know that.
    """
    logger = logging.getLogger(name)
    if not any(isinstance(one, _Safe) for one in logger.filters):
        logger.addFilter(_Safe())
    return logger


class _Safe(logging.Filter):
    """Escapes what a record is made of; the message keeps its pattern and the number of arguments."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return True: every record passes."""
        record.msg = _safe(record.msg)
        if isinstance(record.args, tuple):
            record.args = tuple(map(_safe, record.args))
        elif record.args:
            record.args = {name: _safe(value) for name, value in record.args.items()}
        if record.exc_info and record.exc_info[0] is not None and not record.exc_text:
            import traceback  # noqa: PLC0415 - most records have none

            record.exc_text = "\n".join(map(_piece, traceback.format_exception(*record.exc_info)))
        return True


def _piece(text: str) -> str:
    """Return a piece of a traceback: places in the source have lines, an exception has one."""
    lines = text.split("\n") if text.startswith(_PLACES) else [text]
    return "\n".join(printable(line) for line in (one.strip("\r\n") for one in lines) if line)


_PLACES = ("  File ", "Traceback ", "\n")


def _safe(value: Any) -> Any:
    """Return a value that is shown as it is, or the text that is shown for it, escaped."""
    if value is None or isinstance(value, int | float):
        return value
    text = str(value)
    return value if text.isprintable() else printable(text)
