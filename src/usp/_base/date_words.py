"""Dates in words, and with the month or the day first: ``Mon, 10 Jun 2020``, ``06/10/2020 1:30 PM``.

The usual forms are read by a pattern, which gives what dateutil gives in a twentieth of its time. All
others are for dateutil, except those with a word that it does not know.
"""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dateutil.parser import parserinfo

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
_PLACES = {  # how the short names of zones begin: Eastern Standard Time is EST
    "Eastern": "E", "Central": "C", "Mountain": "M", "Pacific": "P", "Atlantic": "A",
    "Newfoundland": "N", "Alaska": "AK", "Alaskan": "AK", "Hawaii": "H", "Hawaiian": "H",
    "British": "B", "Western European": "WE", "Central European": "CE", "Eastern European": "EE",
    "India": "I", "Japan": "J", "Korea": "K", "Korean": "K", "South Africa": "SA",
    "Australian Eastern": "AE", "Australian Central": "AC", "Australian Western": "AW",
    "New Zealand": "NZ",
}  # fmt: skip
_LONG_NAMES = {
    "Coordinated Universal Time": "UTC", "Greenwich Mean Time": "GMT", "China Standard Time": "HKT",
    "Moscow Standard Time": "MSK", "Singapore Standard Time": "SGT", "Hong Kong Time": "HKT",
}  # fmt: skip
_TIME = r"[A-Z][a-z]{1,15}+\ (?:[A-Z][a-z]{1,15}+\ ){0,2}Time\b"
_LONG_NAME = re.compile(rf"(:\d\d(?:\ ?[AaPp][Mm])?+)\ \(?({_TIME})\)?")
_NAME_AFTER_CLOCK = re.compile(
    r":\d\d(?:[.,]\d{1,12}+)?+(?:\s?[AaPp]\.?[Mm]\b\.?)?+\s?"
    rf"(?:&|((?!Z\b)[A-Z]{{1,5}}+)(?![\w+-])|\(?({_TIME}|[A-Z][A-Za-z]{{1,15}}+/[A-Z]\w{{1,20}}+))"
)

_MONTH = (
    "(?ai:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    "|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)"
)
_WEEKDAY = "(?ai:(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day|Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_CLOCK = r"""
    (?: ,?[ ](?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})
        (?: :(?P<second>[0-9]{2}) (?: \.(?P<fraction>[0-9]{1,6}) )? )?
        (?: [ ]?(?P<half>[AaPp])[Mm] )?
        (?: [ ]?(?P<offset>[+-][0-9]{2}:?[0-5][0-9]) | [ ](?P<zone>[A-Z]{1,5}) )?
    )?"""
_REMARK = r"(?(offset) (?P<remark> [ ]\( (?:[^\W\d_]|[ ,.'-]){1,60} \) )? )"
_DAY, _YEAR = "(?P<day>[0-9]{1,2})", "(?P<year>[1-9][0-9]{3})"
_USUAL = tuple(
    re.compile(f"(?:{_WEEKDAY},?[ ])?{form}", re.VERBOSE)
    for form in (
        rf"(?P<month>{_MONTH})\.?[ ]{_DAY},?[ ]{_YEAR}{_CLOCK}{_REMARK}",
        rf"{_DAY}[ -](?P<month>{_MONTH})\.?,?[ -](?P<year>[1-9][0-9]{{3}}|[0-9]{{2}}){_CLOCK}{_REMARK}",
        rf"(?P<month>[0-9]{{1,2}})(?P<sign>[/.-]){_DAY}(?P=sign){_YEAR}{_CLOCK}",
        rf"(?P<month>{_MONTH})[ ]{{1,2}}{_DAY}{_CLOCK}[ ]{_YEAR}",
    )
)

_NO_YEAR = 4  # a leap year that no sitemap means: what dateutil fills in where no year is given
_NO_YEAR_DAY = datetime(_NO_YEAR, 1, 1)  # noqa: DTZ001 - naive, as most sitemaps write it
_HAS_YEAR = re.compile(
    r"(?<!\d)(?:\d{4}|\d{1,2}/\d{1,2}/\d{2}|\d{1,2}[ -/]++[A-Za-z]{3,9}+[ -/]++\d{2})(?!\d)"
)
_OFFSET = re.compile(r"(:\d\d(?:[.,]\d{1,12}+)?+(?:\s?[AaPp][Mm])?+)\s?[+-]\d\d:?\d\d(?!\d)")
_FOUR_DIGITS = re.compile(r"(?<![\d:])\d{4}(?![\d:])")
_FIRST_YEAR = "0100"  # written as a word; dateutil takes "0001" for 2001
_WORD = re.compile(r"[^\W\d_]++")
_LONGEST_ZONE = 5
_UTC_REMARKS = (" (UTC)", " (GMT)")  # which dateutil trusts more than the offset before it
_NOON = 12
_HALVES = ("A", "P")  # as dateutil reads them


def read_words(text: str) -> datetime | None:
    """Return a date in words, which must name its year; None if it is not one."""
    if " Time" in text:
        text = _LONG_NAME.sub(_with_short_name, text)
    for form in _USUAL:
        found = form.fullmatch(text)
        date = None if found is None else _usual_date(found.groupdict(""))
        if date is not None:
            return date
    plain = _OFFSET.sub(r"\1", text)
    years = _FOUR_DIGITS.findall(plain)
    if not _HAS_YEAR.search(plain) or (years and max(years) < _FIRST_YEAR):
        return None
    return _read_by_dateutil(text) if _has_known_words(text) else None


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
        date = datetime(
            year,
            month,
            day,
            hour,
            int(part["minute"] or 0),
            int(part["second"] or 0),
            int(part["fraction"].ljust(6, "0")),
            tzinfo=_zone(zone, None) if zone else offset_zone(part["offset"]),
        )
    except ValueError:
        return None
    return _with_offset(date)


def unknown_zone(text: str) -> str | None:
    """Return a name after a time that may be a zone's and is not known; in a long text the first."""
    for found in _NAME_AFTER_CLOCK.finditer(text):
        short, long = found.groups()
        is_letter = short is not None and len(short) == 1  # of a military zone, or half of the day
        is_word = short in _HALVES if is_letter else short and short.lower() in _known_words()
        if not is_word and _zone(short or _short_name(long or ""), None) is None:
            return found[0].lstrip(":0123456789.,")
    return None


def _with_short_name(found: re.Match[str]) -> str:
    short = _short_name(found[2])
    return f"{found[1]} {short}" if short else found[0]


def _short_name(name: str) -> str:
    """Return the short form of the name of a zone; empty if it is not known."""
    if name in _LONG_NAMES:
        return _LONG_NAMES[name]
    place, _, kind = name.removesuffix(" Time").rpartition(" ")
    if kind not in ("Standard", "Daylight", "Summer"):
        place, kind = f"{place} {kind}".strip(), ""
    elif place.endswith("European"):
        kind = kind.removeprefix("Standard")
    return f"{_PLACES[place]}{kind[:1]}T" if place in _PLACES else ""


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
