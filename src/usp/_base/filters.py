"""What people select by: patterns for URLs (``*/blog/*``), dates and periods (``2025``, ``7d``)."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import repeat
from typing import TypeAlias

from usp._base.dates import in_utc, read_date

FOR_SITEMAPS = "sitemap:"  # the prefix of a pattern for the URL of the sitemap
_REGULAR = "re:"


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns for URLs: those to include and those to exclude."""

    include: tuple[re.Pattern[str], ...] = ()
    exclude: tuple[re.Pattern[str], ...] = ()

    @classmethod
    def of(cls, include: Iterable[str], exclude: Iterable[str]) -> Patterns:
        """Compile patterns; raises ``ValueError`` for one that is invalid."""
        return cls(
            tuple(map(compiled, repeat("include"), include)),
            tuple(map(compiled, repeat("exclude"), exclude)),
        )

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def match(self, url: str) -> bool:
        """Return whether a URL is included and not excluded."""
        return self.includes(url) and not self.excludes(url)

    def includes(self, url: str) -> bool:
        """Return whether a URL matches a pattern to include, or there are none."""
        return not self.include or any(pattern.search(url) for pattern in self.include)

    def excludes(self, url: str) -> bool:
        """Return whether a URL matches a pattern to exclude."""
        return any(pattern.search(url) for pattern in self.exclude)


def checked(name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return patterns as a tuple; raises ``ValueError`` for one that is empty."""
    patterns = (given,) if isinstance(given, str) else tuple(given)
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern.removeprefix(FOR_SITEMAPS):
            raise ValueError(f"{name} has an empty pattern; write for example '*/blog/*'")
    return patterns


def for_sitemaps(given: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of a selection that are for sitemaps, without their prefix."""
    return tuple(text.removeprefix(FOR_SITEMAPS) for text in given if text.startswith(FOR_SITEMAPS))


def for_pages(given: Iterable[str]) -> tuple[str, ...]:
    """Return the patterns of a selection that are for pages."""
    return tuple(text for text in given if not text.startswith(FOR_SITEMAPS))


def is_regular(text: str) -> bool:
    """Return whether a pattern is a regular expression, which may take any time to match."""
    return text.startswith(_REGULAR)


def compiled(name: str, text: str) -> re.Pattern[str]:
    """Compile a pattern; raises ``ValueError``, with the name of its option, if it is invalid."""
    if not is_regular(text):
        host = r"[A-Za-z]+://[^/?#]*" if text.startswith("/") else ""
        return re.compile(rf"\A{host}{fnmatch.translate(text)}")
    try:
        return re.compile(text.removeprefix(_REGULAR))
    except re.error as error:
        raise ValueError(f"{name} {text!r} is not a valid regular expression: {error}") from error


# Dates and periods ---------------------------------------------------------------------------------

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
    span = _span(given)
    if span is None:
        period(name, given)
        return given  # type: ignore[return-value]  # a timedelta is not left
    try:
        return (now or datetime.now(UTC)) - span
    except OverflowError:
        raise ValueError(f"{name} {given!r} is before the year 1") from None


def _span(given: object) -> timedelta | None:
    """Return how far a date is counted back from now; None if it is not."""
    found = _AGO.fullmatch(given.strip()) if isinstance(given, str) else None
    if found:
        return timedelta(hours=int(found[1]) * _HOURS[found[2].lower()])
    return given if isinstance(given, timedelta) else None


def period(name: str, given: Moment) -> tuple[datetime, datetime]:
    """Return the first moment of a period, and the first one after it."""
    read, text = given, ""
    if _span(given) is not None:
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
