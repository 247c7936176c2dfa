"""What people are shown: numbers in their units, text of websites made safe, and the loggers.

Sizes are in binary units (1 KiB = 1024 bytes), as the limits of a crawl and the protocol's own 50 MiB.
Text of websites that is kept, shown or logged is bounded and has no control characters.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from typing import Any

_KIB = 1024
_UNITS = ("KiB", "MiB", "GiB", "TiB")
_MINUTE = 60
_HOUR = 60 * _MINUTE


# Numbers ------------------------------------------------------------------------------------------


def grouped(number: int) -> str:
    """Return a number with commas between its thousands."""
    return f"{number:,}"


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun: ``1 page``, ``2 entries``, ``1,200 sitemaps``."""
    return f"{number:,} {noun if number == 1 else plural or _plural(noun)}"


def _plural(noun: str) -> str:
    if noun.endswith("y") and noun[-2:-1] not in set("aeiou"):
        return f"{noun[:-1]}ies"
    return f"{noun}es" if noun.endswith(("s", "x", "ch", "sh")) else f"{noun}s"


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a question that names what is similar to a word; empty if nothing is."""
    from difflib import get_close_matches  # noqa: PLC0415 - for mistakes only

    near = get_close_matches(word.lower(), dict.fromkeys(known), n=3)
    return f"did you mean {' or '.join(near)}?" if near else ""


def size(number: int) -> str:
    """Return a number of bytes in the unit that suits it: ``812 B``, ``1.5 KiB``, ``120 MiB``."""
    if number < _KIB:
        return f"{number} B"
    value = float(number)
    unit = ""
    for unit in _UNITS:  # noqa: B007 - the unit that the loop ends with
        value /= _KIB
        if round(value) < _KIB:
            break
    # Three digits are enough: 1.5, 99.9, 100, 1,023.
    return f"{value:.1f} {unit}" if round(value, 1) < 100 else f"{value:,.0f} {unit}"  # noqa: PLR2004


def duration(seconds: float) -> str:
    """Return a time span in the units that suit it: ``12 ms``, ``5.0 s``, ``2 min 5 s``, ``3 h``."""
    if seconds < 0.9995:  # noqa: PLR2004 - what rounds to a second is one
        return f"{seconds * 1000:.0f} ms"
    if round(seconds, 1) < _MINUTE:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < _HOUR:
        return _two(whole // _MINUTE, "min", whole % _MINUTE, "s")
    minutes = round(seconds / _MINUTE)
    return _two(minutes // _MINUTE, "h", minutes % _MINUTE, "min")


def _two(much: int, unit: str, rest: int, smaller: str) -> str:
    return f"{much:,} {unit} {rest} {smaller}" if rest else f"{much:,} {unit}"


def clock(seconds: float) -> str:
    """Return a time span as a clock shows it, for a line that changes: ``0:07``, ``1:02:03``."""
    minutes, rest = divmod(int(seconds), _MINUTE)
    hours, minutes = divmod(minutes, _MINUTE)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


# Text ---------------------------------------------------------------------------------------------


MAX_TEXT = 500  # maximum length of a message, a reason or a name


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


def without_origin(text: str, start: str) -> str:
    """Return text with the URLs of a website shortened to their paths.

    ``start`` is the homepage. Its own URL is left as it is: a lone slash would say nothing.
    """
    if "://" not in start or not start.endswith("/"):
        return text
    return _addresses_at(start).sub("/", text)


def _addresses_at(start: str) -> re.Pattern[str]:
    """Return the pattern of the beginning of URLs of a website, its own aside."""
    return re.compile(rf"(?<![\w:/]){re.escape(start)}(?=[^\s'\"()<>,;:.]|\.\w)")


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
