"""Dates: read as sitemaps and feeds write them, compared in UTC, and written again.

Nothing is filled in from today: a text without a year is not a date. Neither is a date in the years 0
and 1, which programs write for a missing date (``0001-01-01T00:00:00Z`` in Go, ``0000-00-00`` in
MySQL).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache

import dateutil.parser

__all__ = [
    "MAX_REMEMBERED",
    "PRECISIONS",
    "as_written",
    "in_utc",
    "known_date",
    "known_utc_text",
    "precision_of",
    "precision_of_text",
    "read_date",
    "utc_text",
]

MAX_REMEMBERED = 100
"""Maximum length of texts that are cached."""

_remembered = lru_cache(maxsize=1 << 13)  # dates repeat, within a sitemap most of all

PRECISIONS = ("year", "month", "day", "minute", "second", "fraction")
"""The precisions of dates, from the coarsest to the finest."""

_MAX_LENGTH = 100  # characters, blanks around it aside

_AFTER_DAY = ("T", "", " ")
_RFC_822_DAY = re.compile(  # as nearly all feeds write it; the day of the week says nothing
    r"(?:[A-Z][a-z]{2,8}, ?)?([0-9]{1,2}) ([A-Z][a-z]{2}) ([1-9][0-9]{3}) "
)
_CLOCKS = (len("03:04"), len("03:04:05"))
_OFFSET_LENGTH = len("+0000")
_MONTHS = {  # their names in English, whatever the language of the machine
    "Jan": "01", "Feb": "02", "Mar": "03", "Apr": "04", "May": "05", "Jun": "06",
    "Jul": "07", "Aug": "08", "Sep": "09", "Oct": "10", "Nov": "11", "Dec": "12",
}  # fmt: skip
_ISO = re.compile(
    r"""
    (?P<year>\d{4})
    (?: (?P<separator>[-/.]) (?P<month>\d{1,2})
        (?: (?P=separator) (?P<day>\d{1,2})
            (?: (?:[Tt]|\s+) (?P<hour>\d{1,2}):(?P<minute>\d{1,2})
                (?: :(?P<second>\d{1,2}) (?:[.,](?P<fraction>\d{1,12}))? )?
            )?
            \s* (?P<zone>[Zz]|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?
        )?
    )?
    """,
    re.VERBOSE,
)
_LOOKS_ISO = re.compile(r"[+-]?\d{4,}(?:[-/.]|$)")
_HAS_WORDS = re.compile(r"\s[A-Za-z]{2,}|-[A-Za-z]{3,9}-")
_FULL_DATE = re.compile(r"\d{4}-?(?:\d{2}-?\d{2}|W\d{2})")  # whose rarer forms datetime knows
_BASIC = re.compile(r"(\d{8})(?:[Tt\s]?(\d{6}|\d{4})([Zz]|[+-]\d{2}:?\d{2})?)?")

_NO_YEAR = 4  # a leap year that no sitemap means: what dateutil fills in where no year is given
_NO_YEAR_DAY = datetime(_NO_YEAR, 1, 1)  # noqa: DTZ001 - naive, as most sitemaps write it
_HAS_YEAR = re.compile(
    r"(?<!\d)(?:\d{4}|\d{1,2}/\d{1,2}/\d{2}|\d{1,2}[ -/]++[A-Za-z]{3,9}+[ -/]++\d{2})(?!\d)"
)
_OFFSET = re.compile(r"(:\d\d(?:[.,]\d{1,12}+)?+(?:\s?[AaPp][Mm])?+)\s?[+-]\d\d:?\d\d(?!\d)")
_FOUR_DIGITS = re.compile(r"(?<![\d:])\d{4}(?![\d:])")
_FIRST_YEAR = "0100"  # written as a word; dateutil takes "0001" for 2001

_ZONES = {  # RFC 2822, section 4.3; other names are left unknown
    "UT": 0, "UTC": 0, "GMT": 0, "Z": 0,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip
_OFFSETS = {name: f"{hours:+03d}00" for name, hours in _ZONES.items()}

# Repairs of common additions around and inside dates.
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))
_NAMED_OFFSET = re.compile(r"(?<![A-Za-z])(?:GMT|UTC?|Z) ?([+-])(\d{1,2})(?::?(\d{2}))?(?!\d)")
_CUT_SHORT = re.compile(r"(?<=\d)[T,;]$")  # a time that is missing, a list that goes on
_MARKUP = re.compile(r"<!\[CDATA\[|\]\]>|</?[A-Za-z][^<>]*+>?|[<>]")
_MONOTONIC = re.compile(r" m=[+-][\d.]++$")  # Go's String() of a time
_SPACED = re.compile(r"(?<=\d)\. (?=\d)")  # 2025. 01. 19.
_LOST_PLUS = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,12})?) (\d\d:?\d\d)")
_REMARK = re.compile(r"(?<=\d)\s?\((?:GMT|UTC)?[+-][\d:]{1,8}\)$")  # an offset once more
_TWICE = re.compile(  # a time or an offset that was added to a text that had one
    r"""(\d{4}-\d\d-\d\d[Tt\s]\d\d:\d\d(?::\d\d(?:\.\d{1,12})?+)?+)
    ([Zz]|[+-]\d\d:?\d\d)?+
    (?:[Tt]\d\d:\d\d(?::\d\d(?:\.\d{1,12})?+)?+)?+
    ([Zz]|[+-]\d\d:?\d\d)?+""",
    re.VERBOSE,
)
_SHORT_OFFSET = re.compile(r"(?<=:\d\d)([+-]\d\d:\d)$")  # its last digit is cut off
_AROUND = " \t\r\n\u00a0\"'`\u201c\u201d,;|"
_TIME = r"\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d{1,12})?)?(?:\s?[AaPp]\.?[Mm](?![A-Za-z]))?"
_INSIDE = re.compile(
    r"(?<![\d+-])(?:"
    rf"\d{{4}}([-/.])\d{{1,2}}\1\d{{1,2}}(?:[Tt\s]\s?{_TIME})?"
    r"|(?:\d{1,2}[ -][A-Za-z]{3,9}\.?[ ,-] ?\d{4}|[A-Za-z]{3,9}\.? \d{1,2},? \d{4})"
    rf"(?:,?\s{_TIME})?"
    r")(?:\s?(?:[+-]\d{2}:?\d{2}|(?:Z|UTC?|GMT)(?![A-Za-z])))?(?!\d)"
)


def read_date(text: str) -> datetime | None:
    """Return the date in a text, or None.

    A year or a month means its first day. The result is aware if the text has an offset, naive if
    not. Markup and words around a date are ignored if there is only one date.
    """
    text = text.strip()
    date = None
    try:
        if text[4:5] == "-" == text[7:8] and text[10:11] in _AFTER_DAY:
            date = datetime.fromisoformat(text)
        else:
            date = _read_rfc_822(text)
    except ValueError:
        pass
    if date is not None:
        return date if date.year > 1 else None
    if len(text) > _MAX_LENGTH:
        return None
    # dateutil follows POSIX and reads GMT+0200 as two hours *behind* Greenwich, unlike everyone else.
    text = _CUT_SHORT.sub("", _NAMED_OFFSET.sub(_plain_offset, text.translate(_DASHES)))
    date = _read(text)
    if date is None:
        text = _cleaned(text)
        date = _read(text) or _read_inside(text)
    return None if date is None or date.year <= 1 else date


def _read_rfc_822(text: str) -> datetime | None:
    """Read a date as feeds write it; raises ``ValueError`` if there is no such day."""
    at = text.find(":") - 2
    day = _rfc_822_day(text[:at]) if 0 < at < _MAX_LENGTH else None
    if day is None:
        return None
    clock, _, zone = text[at:].partition(" ")
    offset = _OFFSETS.get(zone)
    if offset is None and len(zone) == _OFFSET_LENGTH and zone[0] in "+-":
        offset = zone
    if offset is None or len(clock) not in _CLOCKS:
        return None
    return datetime.fromisoformat(f"{day}T{clock}{offset}")


@lru_cache(maxsize=1024)
def _rfc_822_day(text: str) -> str | None:
    """Return a day as ISO 8601 writes it: a feed may have many stories of a day."""
    found = _RFC_822_DAY.fullmatch(text)
    month = _MONTHS.get(found[2]) if found else None
    return f"{found[3]}-{month}-{found[1]:0>2}" if found and month else None


@_remembered
def known_date(text: str) -> datetime | None:
    """Return what :func:`read_date` returns, cached; an empty text is not a date.

    For columns of dates; longer texts than :data:`MAX_REMEMBERED` are for :func:`read_date`.
    """
    return read_date(text) if text else None


def _plain_offset(match: re.Match[str]) -> str:
    sign, hours, minutes = match.groups("00")
    return f"{sign}{hours:0>2}{minutes}"


def _cleaned(text: str) -> str:
    """Return a text without common additions around and inside dates."""
    text = _MONOTONIC.sub("", _MARKUP.sub(" ", text)).strip(_AROUND)
    text = _LOST_PLUS.sub(r"\1+\2", _SPACED.sub(".", text))
    text = _SHORT_OFFSET.sub(r"\g<1>0", _REMARK.sub("", text))
    twice = _TWICE.fullmatch(text)
    return text if twice is None else f"{twice[1]}{twice[2] or twice[3] or ''}"


def _read_inside(text: str) -> datetime | None:
    """Read the only date in a text whose other words have no digits."""
    found = list(_INSIDE.finditer(text))
    if len(found) != 1 or "[" in text:  # a zone in brackets changes what the time means
        return None
    start, end = found[0].span()
    if any(map(str.isdigit, text[:start] + text[end:])):
        return None
    return _read(text[start:end])


def _read(text: str) -> datetime | None:
    """Read a date without anything around it."""
    try:
        match = _ISO.fullmatch(text)
        if match:
            return _iso_date(match.groupdict())
        basic = _BASIC.fullmatch(text)
        if basic:
            day, time, zone = basic.groups("")
            return datetime.fromisoformat(f"{day}T{time or '000000'}{zone.upper()}")
        if _LOOKS_ISO.match(text) and not _HAS_WORDS.search(text):
            return datetime.fromisoformat(text) if _FULL_DATE.match(text) else None
    except ValueError:
        return None
    return _read_words(text)


def _iso_date(part: dict[str, str | None]) -> datetime:
    return datetime(
        int(part["year"] or 0),
        int(part["month"] or 1),
        int(part["day"] or 1),
        int(part["hour"] or 0),
        int(part["minute"] or 0),
        int(part["second"] or 0),
        int((part["fraction"] or "").ljust(6, "0")[:6]),
        tzinfo=_iso_zone(part["zone"]),
    )


def _iso_zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")  # noqa: PLR2004
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if text[0] == "-" else offset)


def _read_words(text: str) -> datetime | None:
    """Read a date in words, which must name its year."""
    plain = _OFFSET.sub(r"\1", text)
    years = _FOUR_DIGITS.findall(plain)
    if not _HAS_YEAR.search(plain) or (years and max(years) < _FIRST_YEAR):
        return None
    try:
        date = dateutil.parser.parse(text, default=_NO_YEAR_DAY, tzinfos=_zone)
    except (ValueError, OverflowError, TypeError, AttributeError, ArithmeticError):
        return None
    return None if date.year == _NO_YEAR else date


def _zone(name: str | None, offset: int | None) -> tzinfo | None:
    if offset is not None:
        return timezone(timedelta(seconds=offset))
    hours = _ZONES.get((name or "").upper())
    return None if hours is None else timezone(timedelta(hours=hours))


# What is done with dates ---------------------------------------------------------------------------

_ZONE = re.compile(r"(?<!\s)\s*+(?:[Zz]|UTC|GMT|(?<=\d)[+-]\d{1,2}:?\d{2})\Z")
_CLOCK = re.compile(r"\d:\d{1,2}(:\d{1,2}([.,]\d)?)?")
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"\d{4}[-/.]\d{1,2}|[A-Za-z]{3,9}\.?,?\s+\d{4}")
_BASIC_TIME = re.compile(r"\d{8}[Tt\s]?\d{4}(\d{2})?")


@_remembered
def known_utc_text(text: str) -> str | None:
    """Return the date in a text, written in UTC, cached; None if it is not a date."""
    date = known_date(text)
    return None if date is None else utc_text(date)


@_remembered
def precision_of_text(text: str) -> str | None:
    """Return how exactly a date is written, one of :data:`PRECISIONS`; None if it is not a date."""
    if known_date(text) is None:
        return None
    text = text.strip()
    if _YEAR.fullmatch(text):
        return "year"
    if _MONTH.fullmatch(text):
        return "month"
    text = _ZONE.sub("", text)
    found = _CLOCK.search(text)
    if found:
        seconds, fraction = found.groups()
        return "fraction" if fraction else "second" if seconds else "minute"
    basic = _BASIC_TIME.fullmatch(text)
    if basic:
        return "second" if basic[1] else "minute"
    return "day"


def precision_of(date: datetime | None) -> str | None:
    """Return the precision of a date whose text is no longer known.

    A fraction is visible. Midnight without an offset is a day, as days, months and years are read as
    that. Anything else has a time, which is in seconds in sitemaps.
    """
    if date is None:
        return None
    if date.microsecond:
        return "fraction"
    return "day" if date.tzinfo is None and date.time() == time() else "second"


def in_utc(date: datetime) -> datetime:
    """Return a date in UTC; one without an offset is taken as UTC.

    So is one that would be in year 0 or 10000 in UTC.
    """
    if date.utcoffset() is None:
        return date.replace(tzinfo=UTC)
    try:
        return date.astimezone(UTC)
    except OverflowError:
        return date.replace(tzinfo=UTC)


def utc_text(date: datetime) -> str:
    """Return a date written in UTC: ``2024-05-31T12:00:00Z``."""
    return in_utc(date).replace(tzinfo=None).isoformat() + "Z"


@_remembered
def as_written(date: datetime) -> str:
    """Return a date as a sitemap writes it: a day, or a time with its offset if it has one."""
    offset = date.utcoffset()
    if offset is None:
        day = date.time() == time()
        return date.date().isoformat() if day else date.replace(tzinfo=None).isoformat()
    if offset.total_seconds() % 60:  # which XML has no way to write
        date = date.astimezone(UTC)
    return date.isoformat().replace("+00:00", "Z")
