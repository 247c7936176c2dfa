"""From the text of a field to its value; None where the text cannot be read."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING

from usp._base.dates import read_date
from usp.helpers import html_unescape_strip
from usp.objects.page import SitemapPageChangeFrequency

if TYPE_CHECKING:
    from datetime import datetime

MIN_VALID_PRIORITY = Decimal("0.0")
MAX_VALID_PRIORITY = Decimal("1.0")

_MAX_NUMBER = 100  # characters
_MAX_DIGITS = 18
_YES = frozenset({"yes", "true", "1", "y"})
_NO = frozenset({"no", "false", "0", "n"})


def text(raw: str | None) -> str | None:
    """Read text: references decoded once more, blanks stripped; empty is None."""
    if raw is not None and "&" in raw:
        raw = html_unescape_strip(raw)
    return raw.strip() or None if raw else None


def date(raw: str | None) -> datetime | None:
    """Read a date."""
    cleaned = text(raw)
    return read_date(cleaned) if cleaned else None


def number(raw: str | None) -> Decimal | None:
    """Read a decimal number."""
    cleaned = text(raw)
    if not cleaned or len(cleaned) > _MAX_NUMBER:
        return None
    try:
        value = Decimal(cleaned)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def priority(raw: str | None) -> Decimal | None:
    """Read a priority: a number from 0 to 1."""
    value = number(raw)
    if value is None or not MIN_VALID_PRIORITY <= value <= MAX_VALID_PRIORITY:
        return None
    return value


def whole_number(raw: str | None) -> int | None:
    """Read a whole number."""
    value = number(raw)
    if value is None or value.adjusted() > _MAX_DIGITS or value != value.to_integral_value():
        return None
    return int(value)


def change_frequency(raw: str | None) -> SitemapPageChangeFrequency | None:
    """Read a change frequency."""
    word = (text(raw) or "").lower()
    return SitemapPageChangeFrequency(word) if SitemapPageChangeFrequency.has_value(word) else None


def yes_no(raw: str | None) -> bool | None:
    """Read a yes or a no."""
    word = (text(raw) or "").lower()
    if word in _YES:
        return True
    return False if word in _NO else None


def listed(raw: str | None, separator: str | None) -> tuple[str, ...]:
    """Return the items of a list, without empty ones; without a separator blanks separate them."""
    parts = (text(raw) or "").split(separator)
    return tuple(item for part in parts if (item := part.strip()))
