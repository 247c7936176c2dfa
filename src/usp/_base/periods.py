"""Dates and periods as people give them: ``2025-01-31``, ``2025``, ``7d``."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from typing import TypeAlias

from usp._base.dates import in_utc, read_date

__all__ = ["Moment", "moment", "period"]

Moment: TypeAlias = datetime | date | timedelta | str
"""A date as a parameter.

A string is read like the dates of sitemaps; ``12h``, ``7d``, ``4w`` and a ``timedelta`` are counted
back from now.
"""

_LAST = datetime.max.replace(tzinfo=UTC)
_AGO = re.compile(r"([0-9]{1,6})\s*([hdw])", re.IGNORECASE)
_HOURS = {"h": 1, "d": 24, "w": 7 * 24}
_WHOLE_YEAR = re.compile(r"\d{4}")
_WHOLE_MONTH = re.compile(r"\d{4}[-/.]\d{1,2}")


def moment(name: str, given: Moment, now: datetime | None = None) -> datetime | date | str:
    """Return the time seven days ago, or before ``now``, for ``7d``, and any other date unchanged.

    Raises ``ValueError`` for what cannot be read.
    """
    span: object = given
    if isinstance(given, str) and (ago := _AGO.fullmatch(given.strip())):
        span = timedelta(hours=int(ago[1]) * _HOURS[ago[2].lower()])
    if isinstance(span, timedelta):
        try:
            return (now or datetime.now(UTC)) - span
        except OverflowError:
            raise ValueError(f"{name} {given!r} is before the year 1") from None
    period(name, given)
    return given  # type: ignore[return-value]  # a timedelta is not left


def period(name: str, given: Moment) -> tuple[datetime, datetime]:
    """Return the first moment of a period, and the first one after it."""
    read, text = given, ""
    if isinstance(given, timedelta) or (isinstance(given, str) and _AGO.fullmatch(given.strip())):
        read = moment(name, given)
    elif isinstance(given, str):
        text = given.strip()
        known = read_date(text) if text else None
        if known is None:
            raise ValueError(f"{name} {given!r} is not a date; use 2025-01-31, 12h, 7d or 4w")
        whole_day = ":" not in text and (known.hour, known.minute, known.second) == (0, 0, 0)
        read = known.date() if whole_day and known.tzinfo is None else known
    if isinstance(read, datetime):
        first = in_utc(read)
        return first, _after(first, timedelta(microseconds=1))
    if not isinstance(read, date):
        raise ValueError(  # noqa: TRY004 - one exception for all that cannot be read
            f"{name} must be a date, a timedelta, or a text such as 2025-01-31 or 7d, not {given!r}"
        )
    first = datetime(read.year, read.month, read.day, tzinfo=UTC)
    if _WHOLE_YEAR.fullmatch(text):
        return first, _first_day(first.year + 1, 1)
    if _WHOLE_MONTH.fullmatch(text):
        return first, _first_day(first.year + first.month // 12, first.month % 12 + 1)
    return first, _after(first, timedelta(days=1))


def _first_day(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC) if year <= _LAST.year else _LAST


def _after(moment: datetime, span: timedelta) -> datetime:
    return moment + span if _LAST - moment >= span else _LAST
