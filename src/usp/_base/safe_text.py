"""Text of websites, made safe to keep, show and log: bounded, and without control characters."""

from __future__ import annotations

import logging
from typing import Any

MAX_TEXT = 500
"""Maximum length of a message, a reason or a name."""


def shortened(text: str, most: int = MAX_TEXT) -> str:
    """Return text, cut to at most ``most`` characters, as it was written otherwise."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def excerpt(text: str, most: int = MAX_TEXT) -> str:
    """Return text that is safe to show, on one line of at most ``most`` characters."""
    if len(text) <= most and text.isprintable():
        return text
    return shortened(printable(shortened(text, most)), most)


def printable(text: str) -> str:
    """Return text with control characters, line ends and bidirectional marks percent-encoded."""
    if text.isprintable():
        return text
    from usp._base.urls import quote  # noqa: PLC0415 - most text is printable

    return "".join(
        char if char.isprintable() else quote(char, errors="surrogatepass") for char in text
    )


# The loggers of the library: their records are safe to show -----------------------------------------


def get_logger(name: str) -> logging.Logger:
    """Return the logger of that name; its records have no control characters or bidirectional marks.

    URLs and messages in them come from websites. Handlers, formatters and collectors need not care.
    """
    logger = logging.getLogger(name)
    if not any(isinstance(one, _Safe) for one in logger.filters):
        logger.addFilter(_Safe())
    return logger


class _Safe(logging.Filter):
    """Escapes the parts of a record; the message keeps its pattern and the number of arguments."""

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
