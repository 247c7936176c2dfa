"""From the text of a field to its value: texts, dates, numbers.

The value is None if the text cannot be read.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal, InvalidOperation
from operator import itemgetter, methodcaller
from typing import TYPE_CHECKING

from usp._base.dates import MAX_REMEMBERED, known_date, read_date, unknown_zone
from usp._base.urls import cached
from usp.helpers import html_unescape_strip
from usp.objects.page import SitemapPageChangeFrequency
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Note

MIN_VALID_PRIORITY = Decimal("0.0")
"""The lowest priority that a page may have."""

MAX_VALID_PRIORITY = Decimal("1.0")
"""The highest priority that a page may have."""

_MAX_NUMBER = 100  # characters
_DAY = len("2024-01-02")
_MAX_DIGITS = 18
_YES = frozenset({"yes", "true", "1", "y"})
_NO = frozenset({"no", "false", "0", "n"})


def text(raw: str | None) -> str | None:
    """Return a text: references decoded once more, whitespace stripped; None if it is empty."""
    if raw is not None and "&" in raw:
        raw = html_unescape_strip(raw)
    return raw.strip() or None if raw else None


without_xml_blanks = methodcaller("strip", " \t\r\n")
"""Returns a text without what XML takes for blanks around it: no-break spaces are none of these."""


def texts(raw: Sequence[str]) -> Sequence[str | None]:
    """Return a column of texts, as :func:`text` does each."""
    if "&" in "".join(raw):
        return [*map(text, raw)]
    stripped = [*map(str.strip, raw)]
    return stripped if all(stripped) else [one or None for one in stripped]


def date(raw: str | None) -> datetime | None:
    """Return a date; short texts are remembered, but not times, which do not repeat."""
    if raw and raw[10:11] == "T" and raw[:4] > "0001":
        try:
            return datetime.fromisoformat(raw)
        except ValueError:
            pass  # it is written otherwise
    if raw and len(raw) <= MAX_REMEMBERED and "&" not in raw:
        return known_date(raw)
    cleaned = text(raw)
    return read_date(cleaned) if cleaned else None


def note_zone(raw: str, date: datetime, note: Note) -> None:
    """Note a date that was read without its zone, because the name of that is not known."""
    if date.tzinfo is None and len(raw) > _DAY and unknown_zone(text(raw) or ""):
        note(ProblemCode.UNKNOWN_ZONE, raw)


def dates(texts: Sequence[str]) -> Sequence[datetime | None]:
    """Return the dates of a column of texts.

    Days repeat, and are remembered; times do not, and are read at once if all are written in ISO 8601.
    """
    longest = max(map(len, texts), default=0)
    if longest > _DAY:
        given = texts if all(texts) else list(filter(None, texts))
        # A missing date is often written as year 0 or 1.
        if set(map(_after_day_parts, given)) <= _ISO_MARKS and min(given) > "0002":
            with suppress(ValueError):
                found = list(map(datetime.fromisoformat, given))
                if given is texts:
                    return found
                dates = iter(found)
                return [next(dates) if text else None for text in texts]
    return [*map(date if longest > _DAY else known_date, texts)]


_after_day_parts = itemgetter(slice(4, 11, 3))  # what follows the year, the month and the day
_ISO_MARKS = {"--", "--T", "-- "}


def number(raw: str | None) -> Decimal | None:
    """Return a decimal number."""
    cleaned = text(raw)
    if not cleaned or len(cleaned) > _MAX_NUMBER:
        return None
    try:
        value = Decimal(cleaned)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


@cached(1024)
def priority(raw: str) -> Decimal | None:
    """Return a priority: a number from 0 to 1; short texts are remembered."""
    value = number(raw)
    if value is None or not MIN_VALID_PRIORITY <= value <= MAX_VALID_PRIORITY:
        return None
    return value


def whole_number(raw: str | None) -> int | None:
    """Return an integer."""
    value = number(raw)
    if value is None or value.adjusted() > _MAX_DIGITS or value != value.to_integral_value():
        return None
    return int(value)


@cached(64)
def change_frequency(raw: str) -> SitemapPageChangeFrequency | None:
    """Return a change frequency; short texts are remembered."""
    word = (text(raw) or "").lower()
    return SitemapPageChangeFrequency(word) if SitemapPageChangeFrequency.has_value(word) else None


def yes_no(raw: str | None) -> bool | None:
    """Return a boolean."""
    word = (text(raw) or "").lower()
    if word in _YES:
        return True
    return False if word in _NO else None


def listed(raw: str | None, separator: str | None) -> tuple[str, ...]:
    """Return the items of a list, without empty ones; whitespace is the default separator."""
    return tuple(filter(None, map(str.strip, (text(raw) or "").split(separator))))
