"""Dates that are compared: of a page, as moments in UTC, and the periods that people mean."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from usp.helpers import parse_iso8601_date

if TYPE_CHECKING:
    from usp.objects.page import SitemapPage

Moment: TypeAlias = datetime | date | str
"""A date as people give it; a text is read as those of sitemaps are."""

_LAST = datetime.max.replace(tzinfo=UTC)
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"\d{4}[-/.]\d{1,2}")


def bounds(name: str, given: Moment) -> tuple[datetime, datetime]:
    """Give the first moment of a period, and the first one behind it."""
    moment, text = given, ""
    if isinstance(given, str):
        text = given.strip()
        read = parse_iso8601_date(text) if text else None
        if read is None:
            raise ValueError(f"{name} {given!r} is not a date; use for example 2024-05-31")
        whole_day = ":" not in text and (read.hour, read.minute, read.second) == (0, 0, 0)
        moment = read.date() if whole_day and read.tzinfo is None else read
    if isinstance(moment, datetime):
        first = in_utc(moment)
        return first, _after(first, timedelta(microseconds=1))
    if not isinstance(moment, date):
        raise ValueError(  # noqa: TRY004 - one exception for all that cannot be read
            f"{name} must be a date or an ISO 8601 text, not {given!r}"
        )
    first = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if _YEAR.fullmatch(text):
        return first, _first_day(first.year + 1, 1)
    if _MONTH.fullmatch(text):
        return first, _first_day(first.year + first.month // 12, first.month % 12 + 1)
    return first, _after(first, timedelta(days=1))


def _first_day(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC) if year <= _LAST.year else _LAST


def _after(moment: datetime, span: timedelta) -> datetime:
    return moment + span if _LAST - moment >= span else _LAST


def in_utc(moment: datetime) -> datetime:
    """Give a moment in UTC; one without an offset is taken as UTC.

    So is one that UTC has no year for.
    """
    if moment.utcoffset() is None:
        return moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return moment.replace(tzinfo=UTC)


def date_of(page: SitemapPage) -> datetime | None:
    """Return when a page changed, or else when it was published.

    News and feeds say when a story was published, and mostly nothing else.
    """
    if page.last_modified is not None or page.news_story is None:
        return page.last_modified
    return page.news_story.publish_date


@lru_cache(maxsize=8192)
def read_date(text: str) -> datetime | None:
    """Read a date as the parsers do; an empty text is none."""
    return parse_iso8601_date(text) if text else None
