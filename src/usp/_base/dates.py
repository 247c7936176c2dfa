"""Dates: read as sitemaps and feeds write them, compared in UTC, and written again.

Nothing is filled in from today: a text without a year is not a date. Neither is a date in the years 0
and 1, which programs write for a missing date (``0001-01-01T00:00:00Z`` in Go, ``0000-00-00`` in
MySQL).
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, time
from functools import lru_cache

from usp._base.date_words import (
    MONTHS,
    ZONES,
    date_of_parts,
    offset_text,
    offset_zone,
    read_words,
    with_known_zones,
)

MAX_REMEMBERED = 100  # maximum length of texts that are cached
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
_ISO = re.compile(
    r"""
    (?P<year>\d{4})
    (?: (?P<separator>[-/.]) (?P<month>\d{1,2})
        (?: (?P=separator) (?P<day>\d{1,2})
            (?: (?:[Tt]|\s+) (?P<hour>\d{1,2}):(?P<minute>\d{1,2})
                (?: :(?P<second>\d{1,2}) (?:[.,](?P<fraction>\d{1,12}))? )?
            )?
            (?: \s* (?P<zone>[Zz]|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)
                (?: (?<=\d{2}:\d{2}|[+-]\d{4}) [ ] [A-Z]{3,5} )?  # the zone's name, in Go
            )?
        )?
    )?
    """,
    re.VERBOSE,
)
_FIRST = {"year": 0, "month": 1, "day": 1, "hour": 0}  # unless it is written
_LOOKS_ISO = re.compile(r"[+-]?\d{4,}(?:[-/.]|$)")
_HAS_WORDS = re.compile(r"\s[A-Za-z]{2,}|-[A-Za-z]{3,9}-")
_FULL_DATE = re.compile(r"\d{4}-?(?:\d{2}-?\d{2}|W\d{2})")  # whose rarer forms datetime knows
_BASIC = re.compile(r"(\d{8})(?:[Tt\s]?(\d{6}|\d{4})([Zz]|[+-]\d{2}:?\d{2})?)?")

_OFFSETS = {name: offset_text(hours) for name, hours in ZONES.items()}

# Repairs of common additions around and inside dates.
_DASHES = str.maketrans(dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212", "-"))
_NAMED_OFFSET = re.compile(r"(?<![A-Za-z])(?:GMT|UTC?|Z) ?([+-])(\d{1,2})(?::?(\d{2}))?(?!\d)")
_HALF = re.compile(r"(?<=\d)\s*+([AaPp])\.?\s?[Mm]\b\.?|(?<=:\d\d)\s?([AaPp])\.?$")  # p. m.
_CUT_SHORT = re.compile(r"(?<=\d)[T,;]$")  # a time that is missing, a list that goes on
_MARKUP = re.compile(r"<!\[CDATA\[|\]\]>|</?[A-Za-z][^<>]*+>?|[<>]")
_MONOTONIC = re.compile(r" m=[+-][\d.]++$")  # Go's String() of a time
_SPACED = re.compile(r"(?<=\d)\. (?=\d)")  # 2025. 01. 19.
_LOST_PLUS = re.compile(r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,12})?) (\d\d:?\d\d)")
_REMARK = re.compile(  # an offset once more, or what is said about a zone: ET (US)
    r"(?<=\d)\s?\((?:GMT|UTC)?[+-][\d:]{1,8}\)$|(?<=[A-Z]{2})\s?\([^()\d]*+\)$"
)
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
    date = _read_other(text)
    return None if date is None or date.year <= 1 else date


def _read_other(text: str) -> datetime | None:
    """Read a date that is not written in one of the usual ways."""
    if not text.isascii():
        text = text.translate(_DASHES)
    if "+" in text or "-" in text:
        # dateutil reads GMT+0200 as POSIX does: two hours *behind* Greenwich, unlike everyone else.
        text = _NAMED_OFFSET.sub(lambda at: f"{at[1]}{at[2]:0>2}{at[3] or '00'}", text)
    text = _HALF.sub(r" \1\2M", _CUT_SHORT.sub("", text))
    text = with_known_zones(text)
    date = _read(text)
    if date is None:
        cleaned = _cleaned(text)
        date = (_read(cleaned) if cleaned != text else None) or _read_inside(cleaned)
    return date


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
    month = MONTHS.get(found[2]) if found else None
    return f"{found[3]}-{month}-{found[1]:0>2}" if found and month else None


@_remembered
def known_date(text: str) -> datetime | None:
    """Return what :func:`read_date` returns, cached; an empty text is not a date.

    For columns of dates; longer texts than :data:`MAX_REMEMBERED` are for :func:`read_date`.
    """
    return read_date(text) if text else None


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
    around = text[:start] + text[end:]
    if not around or any(map(str.isdigit, around)):  # all of it has been read already
        return None
    return _read(text[start:end])


def _read(text: str) -> datetime | None:
    """Read a date without anything around it."""
    try:
        match = _ISO.fullmatch(text)
        if match:
            part = match.groupdict()
            year, month, day, hour = (int(part[name] or least) for name, least in _FIRST.items())
            zone = UTC if (part["zone"] or "").isalpha() else offset_zone(part["zone"] or "")
            return date_of_parts(part, year, month, day, hour, zone)
        basic = _BASIC.fullmatch(text)
        if basic:
            digits, clock, offset = basic.groups("")
            return datetime.fromisoformat(f"{digits}T{clock or '000000'}{offset.upper()}")
        if _LOOKS_ISO.match(text) and not _HAS_WORDS.search(text):
            return datetime.fromisoformat(text) if _FULL_DATE.match(text) else None
    except ValueError:
        return None
    return read_words(text)


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
