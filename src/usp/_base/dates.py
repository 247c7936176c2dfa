"""Dates: read as sitemaps and feeds write them, compared in UTC, and written again.

Nothing is filled in from today: a text without a year is not a date. Neither is a date in the years 0
and 1, which programs write for a missing date (``0001-01-01T00:00:00Z`` in Go, ``0000-00-00`` in
MySQL). The usual forms in words (``Mon, 10 Jun 2020``, ``06/10/2020 1:30 PM``) are read by a pattern,
which gives what dateutil gives in a twentieth of its time. All others are for dateutil, except those
with a word that it does not know.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dateutil.parser import parserinfo

MAX_REMEMBERED = 100  # maximum length of texts that are cached
_remembered = lru_cache(maxsize=1 << 13)  # dates repeat, within a sitemap most of all

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


# In words -----------------------------------------------------------------------------------------

MONTHS = {  # their names in English, whatever the language of the machine
    "Jan": "01", "Feb": "02", "Mar": "03", "Apr": "04", "May": "05", "Jun": "06",
    "Jul": "07", "Aug": "08", "Sep": "09", "Oct": "10", "Nov": "11", "Dec": "12",
}  # fmt: skip
ZONES = {  # RFC 2822, section 4.3, and what others write; in hours. Of two meanings the most usual
    "UT": 0, "UTC": 0, "GMT": 0, "Z": 0,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
    "AST": -4, "ADT": -3, "NST": -3.5, "NDT": -2.5, "AKST": -9, "AKDT": -8, "HST": -10, "HDT": -9,
    "BRT": -3, "BRST": -2, "ART": -3, "UYT": -3, "CLT": -4, "CLST": -3, "BOT": -4, "VET": -4,
    "COT": -5, "PET": -5, "ECT": -5, "WET": 0, "WEST": 1, "BST": 1, "CET": 1, "CEST": 2,
    "MET": 1, "MEST": 2, "MEZ": 1, "MESZ": 2, "EET": 2, "EEST": 3, "IDT": 3, "MSK": 3, "MSD": 4,
    "TRT": 3, "SAMT": 4, "YEKT": 5, "OMST": 6, "KRAT": 7, "IRKT": 8, "YAKT": 9, "VLAT": 10,
    "WAT": 1, "CAT": 2, "SAST": 2, "EAT": 3, "IRST": 3.5, "AFT": 4.5, "PKT": 5, "UZT": 5,
    "IST": 5.5, "NPT": 5.75, "MMT": 6.5, "ICT": 7, "WIB": 7, "WITA": 8, "WIT": 9, "HKT": 8,
    "SGT": 8, "MYT": 8, "PHT": 8, "AWST": 8, "JST": 9, "KST": 9, "ACST": 9.5, "ACDT": 10.5,
    "AEST": 10, "AEDT": 11, "NZST": 12, "NZDT": 13,
}  # fmt: skip
_BY_SEASON = {  # names that mean summer time or not, depending on the date
    "ET": "America/New_York", "CT": "America/Chicago", "MT": "America/Denver",
    "PT": "America/Los_Angeles",
}  # fmt: skip
_PLACES = {  # in the long names of zones, as people and as Windows write them; standard time, in hours
    "eastern": -5, "central": -6, "mountain": -7, "pacific": -8, "atlantic": -4, "newfoundland": -3.5,
    "alaska": -9, "alaskan": -9, "hawaii": -10, "hawaiian": -10, "hawaii-aleutian": -10,
    "us eastern": -5, "us mountain": -7, "canada central": -6, "central america": -6,
    "sa pacific": -5, "pacific sa": -4, "sa western": -4, "sa eastern": -3, "venezuela": -4,
    "central brazilian": -4, "paraguay": -4, "e. south america": -3, "argentina": -3,
    "montevideo": -3, "bahia": -3, "greenland": -3, "azores": -1, "cape verde": -1,
    "british": 0, "gmt": 0, "greenwich": 0, "western european": 0, "central european": 1,
    "eastern european": 2, "w. europe": 1, "central europe": 1, "romance": 1,
    "w. central africa": 1, "e. europe": 2, "gtb": 2, "fle": 2, "egypt": 2, "israel": 2, "jordan": 2,
    "middle east": 2, "syria": 2, "south africa": 2, "turkey": 3, "russian": 3, "moscow": 3,
    "arab": 3, "arabic": 3, "e. africa": 3, "iran": 3.5, "arabian": 4, "gulf": 4, "azerbaijan": 4,
    "georgian": 4, "caucasus": 4, "mauritius": 4, "afghanistan": 4.5, "west asia": 5,
    "pakistan": 5, "ekaterinburg": 5, "india": 5.5, "sri lanka": 5.5, "nepal": 5.75,
    "central asia": 6, "bangladesh": 6, "myanmar": 6.5, "se asia": 7, "indochina": 7,
    "n. central asia": 7, "north asia": 7, "china": 8, "singapore": 8, "hong kong": 8, "taipei": 8,
    "w. australia": 8, "australian western": 8, "north asia east": 8, "tokyo": 9, "japan": 9,
    "korea": 9, "korean": 9, "yakutsk": 9, "cen. australia": 9.5, "aus central": 9.5,
    "australian central": 9.5, "aus eastern": 10, "e. australia": 10, "australian eastern": 10,
    "tasmania": 10, "vladivostok": 10, "west pacific": 10, "new zealand": 12, "fiji": 12,
}  # fmt: skip
_LONG_NAMES = {
    "coordinated universal time": "+0000", "greenwich mean time": "+0000",
    "mitteleuropäische zeit": "+0100", "mitteleuropäische sommerzeit": "+0200",
    "eastern time": "ET", "central time": "CT", "mountain time": "MT", "pacific time": "PT",
}  # fmt: skip
_SUMMER = ("daylight", "summer")
_WORDS = r"[^\W\d_][\w.'\u2019/-]*+"
_NAME_AFTER_CLOCK = re.compile(  # it begins with a sign that is found quickly
    r"(:\d\d(?:[.,]\d{1,12}+)?+(?:\s?[AaPp]\.?\s?[Mm]\b\.?)?+)"
    rf"[\s,]{{0,3}}+(?:&|\(?({_WORDS}(?:\ {_WORDS}){{0,4}}+)(?![+-]?\d)\)?)"
)
_NOT_ZONES = frozenset({"uhr", "hrs"})  # beside the words that dateutil knows

_MONTH_NAME = (
    "(?P<month>(?ai:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?))"
)
_WEEKDAY = "(?ai:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_AT = r"""
    (?: ,?[ ](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})
        (?: :(?P<second>[0-9]{2}) (?: \.(?P<fraction>[0-9]{1,6}) )? )?
        (?: [ ]?(?P<half>[AaPp])[Mm] )?
        (?: [ ]?(?P<offset>[+-][0-9]{2}:?[0-5][0-9]) | [ ](?P<zone>[A-Z]{1,5}) )?
    )?"""
_BESIDE = r"(?(offset) (?P<remark> [ ]\( (?:[^\W\d_]|[ ,.'-]){1,60} \) )? )"
_ON_DAY, _IN_YEAR = "(?P<day>[0-9]{1,2})", "(?P<year>[1-9][0-9]{3})"
_USUAL = tuple(
    re.compile(f"(?:{_WEEKDAY},?[ ])?{form}", re.VERBOSE)
    for form in (
        rf"{_MONTH_NAME}\.?[ ]{_ON_DAY},?[ ]{_IN_YEAR}{_AT}{_BESIDE}",
        rf"{_ON_DAY}[ -]{_MONTH_NAME}\.?,?[ -](?P<year>[1-9][0-9]{{3}}|[0-9]{{2}}){_AT}{_BESIDE}",
        rf"(?P<month>[0-9]{{1,2}})(?P<sign>[/.-]){_ON_DAY}(?P=sign){_IN_YEAR}{_AT}",
        rf"{_MONTH_NAME}[ ]{{1,2}}{_ON_DAY}{_AT}[ ]{_IN_YEAR}",
    )
)

_NO_YEAR = 4  # a leap year that no sitemap means: what dateutil fills in where no year is given
_NO_YEAR_DAY = datetime(_NO_YEAR, 1, 1)  # noqa: DTZ001 - naive, as most sitemaps write it
_HAS_YEAR = re.compile(
    r"(?<!\d)(?:\d{4}|\d{1,2}/\d{1,2}/\d{2}|\d{1,2}[ -/]++[A-Za-z]{3,9}+[ -/]++\d{2})(?!\d)"
)
_OFFSET = re.compile(r"(:\d\d(?:[.,]\d{1,12}+)?+(?:\s?[AaPp][Mm])?+)\s?[+-]\d\d:?\d\d(?!\d)")
_FOUR_DIGITS = re.compile(r"(?<![\d:])\d{4}(?![\d:])")
_USUAL_YEAR = re.compile("(?:19|20)[0-9]{2}")
_FIRST_YEAR = "0100"  # written as a word; dateutil takes "0001" for 2001
_WORD = re.compile(r"[^\W\d_]++")
_LONGEST_ZONE = 5
_UTC_REMARKS = (" (UTC)", " (GMT)")  # which dateutil trusts more than the offset before it
_NOON = 12
_HALVES = ("A", "P")  # as dateutil reads them


def read_words(text: str) -> datetime | None:
    """Return a date in words, which must name its year; None if it is not one."""
    for form in _USUAL:
        found = form.fullmatch(text)
        date = None if found is None else _usual_date(found.groupdict(""))
        if date is not None:
            return date
    plain = _OFFSET.sub(r"\1", text)
    years = _FOUR_DIGITS.findall(plain)
    if not _HAS_YEAR.search(plain) or (years and max(years) < _FIRST_YEAR):
        return None
    date = _read_by_dateutil(text) if _has_known_words(text) else None
    if date is not None and any(map(_USUAL_YEAR.fullmatch, years)) and str(date.year) not in years:
        return None  # in "6-7 May 2024" dateutil sees a year 2006, at 20:24
    return date


def _usual_date(part: dict[str, str]) -> datetime | None:
    """Return the date that consists of some parts; None if dateutil reads them in another way."""
    year, hour, half, zone = int(part["year"]), int(part["hour"] or 0), part["half"], part["zone"]
    remark = part.get("remark")
    if remark in _UTC_REMARKS:
        zone = "UTC"
    if len(part["year"]) == len("20"):
        if remark:
            return None
        year = _dateutil_words().convertyear(year)
    if "sign" not in part:
        month, day = int(MONTHS[part["month"][:3].title()]), int(part["day"])
    elif int(part["month"]) <= len(MONTHS):
        month, day = int(part["month"]), int(part["day"])
    else:
        month, day = int(part["day"]), int(part["month"])
    if half:
        if hour > _NOON:
            return None
        hour = hour % _NOON + (_NOON if half in "Pp" else 0)
    if zone and _zone(zone, None) is None:
        return None
    try:
        known = _zone(zone, None) if zone else offset_zone(part["offset"])
        return _with_offset(date_of_parts(part, year, month, day, hour, known))
    except ValueError:
        return None


def date_of_parts(
    part: Mapping[str, str | None], year: int, month: int, day: int, hour: int, zone: tzinfo | None
) -> datetime:
    """Return a date; its minute, second and fraction are as they are written, if they are."""
    minute, second = int(part["minute"] or 0), int(part["second"] or 0)
    fraction = int((part["fraction"] or "").ljust(6, "0")[:6])
    return datetime(year, month, day, hour, minute, second, fraction, zone)


def unknown_zone(text: str) -> str | None:
    """Return a name after a time that may be a zone's and is not known; in a long text the first."""
    for found in _NAME_AFTER_CLOCK.finditer(text):
        name = found[2] or ""
        if name != "Z" and not _is_understood(name):  # the usual one
            return found[0].lstrip(":0123456789.,")
    return None


def _is_understood(name: str) -> bool:
    """Return whether a name after a time is a zone's, begins with one, or is another word of dates."""
    word = name.partition(" ")[0].rstrip(".")
    if _known_name(name) or _zone(word, None) is not None:
        return True
    if len(word) == 1 and word.isupper():  # a military zone, or half of the day
        return word in _HALVES
    return word.lower() in _NOT_ZONES or word.lower() in _known_words()


def with_known_zones(text: str) -> str:
    """Return a text with the names of zones after times as short names in capitals, or as offsets."""
    return _NAME_AFTER_CLOCK.sub(_with_known_zone, text)


def _with_known_zone(found: re.Match[str]) -> str:
    known = _known_name(found[2] or "")
    return f"{found[1]} {known}" if known else found[0]


def _known_name(name: str) -> str:
    """Return the short name, or the offset, of a zone in any case; empty if it is not known."""
    name = name.lower()
    if name in _LONG_NAMES:
        return _LONG_NAMES[name]
    if _zone(name, None) is not None:
        return name.upper()
    place, _, kind = name.removesuffix(" time").rpartition(" ")
    if not name.endswith(" time"):
        return ""
    if kind not in ("standard", *_SUMMER):
        place, kind = f"{place} {kind}".strip(), ""
    if place not in _PLACES:
        return ""
    return offset_text(_PLACES[place] + (kind in _SUMMER))


def offset_text(hours: float) -> str:
    """Return an offset as RFC 2822 writes it: ``-0330``."""
    return f"{'-' if hours < 0 else '+'}{int(abs(hours)):02}{int(abs(hours) % 1 * 60):02}"


_OFFSETS = {name: offset_text(hours) for name, hours in ZONES.items()}


def _with_offset(date: datetime) -> datetime:
    """Return a date whose zone is an offset, and no longer depends on the season."""
    zone = date.tzinfo
    if zone is None or isinstance(zone, timezone):
        return date
    return date.replace(tzinfo=timezone(zone.utcoffset(date) or timedelta()), fold=0)


@lru_cache(maxsize=256)
def offset_zone(text: str) -> timezone | None:
    """Return the zone of an offset: ``+02:00``, ``-0500``, ``+1``; None if the text is empty."""
    if not text:
        return None
    digits = text[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")  # noqa: PLR2004
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if text[0] == "-" else offset)


def _zone(name: str | None, offset: int | None) -> tzinfo | None:
    if offset is not None:
        return timezone(timedelta(seconds=offset))
    known = (name or "").upper()
    hours = ZONES.get(known)
    if hours is not None:
        return timezone(timedelta(hours=hours))
    return _zone_of_place(_BY_SEASON[known]) if known in _BY_SEASON else None


@lru_cache(maxsize=len(_BY_SEASON))
def _zone_of_place(place: str) -> tzinfo | None:
    """Return a zone whose offset depends on the date."""
    from dateutil.tz import gettz  # noqa: PLC0415 - see below

    return gettz(place)


# What is left to dateutil, which takes long to load ------------------------------------------------


def _read_by_dateutil(text: str) -> datetime | None:
    from dateutil.parser import parse  # noqa: PLC0415 - see above

    try:
        date = parse(text, default=_NO_YEAR_DAY, tzinfos=_zone)
        return None if date.year == _NO_YEAR else _with_offset(date)
    except (ValueError, OverflowError, TypeError, AttributeError, ArithmeticError):
        return None


def _has_known_words(text: str) -> bool:
    """Return whether dateutil may know all words: a single other one makes it give up."""
    known = _known_words()
    return "\0" in text or all(
        word.lower() in known or (len(word) <= _LONGEST_ZONE and word.isascii() and word.isupper())
        for word in filter(str.isalpha, _WORD.findall(text))
    )


@lru_cache(maxsize=1)
def _known_words() -> frozenset[str]:
    info = _dateutil_words()
    names = (*info.WEEKDAYS, *info.MONTHS, *info.HMS, *info.AMPM)
    others = (*info.JUMP, *info.UTCZONE, *info.PERTAIN)
    return frozenset(word.lower() for word in (*chain(*names), *others))


@lru_cache(maxsize=1)
def _dateutil_words() -> parserinfo:
    from dateutil.parser import parserinfo  # noqa: PLC0415 - see above

    return parserinfo()


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
    """Return how exactly a date is written, from ``year`` to ``fraction``; None if it is not a date."""
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
