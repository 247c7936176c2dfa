"""Dates as sitemaps, feeds and programs write them, in figures and in words; nothing is guessed."""

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime
from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from together import together
from usp._base import dates
from usp._base.dates import read_date, read_words
from usp.exceptions import SitemapException
from usp.helpers import parse_iso8601_date, parse_rfc2822_date

JUNE = "2020-06-10T02:22:31"
READABLE = {
    # W3C's profile of ISO 8601, level by level; a year or a month means its first day
    "1997": "1997-01-01T00:00:00",
    "2021-06": "2021-06-01T00:00:00",
    "2021-06-07": "2021-06-07T00:00:00",
    "2021-06-07T08:09Z": "2021-06-07T08:09:00+00:00",
    "2021-06-07T08:09:10-08:00": "2021-06-07T08:09:10-08:00",
    "2021-06-07T08:09:10.25Z": "2021-06-07T08:09:10.250000+00:00",
    # what is written beside it
    "2021-06-07T08:09:10": "2021-06-07T08:09:10",
    "2021-06-07T08:09:10,5Z": "2021-06-07T08:09:10.500000+00:00",
    "2021-06-07T08:09:10.1234567+00:00": "2021-06-07T08:09:10.123456+00:00",
    "2021-06-07T08:09:10 +02:00": "2021-06-07T08:09:10+02:00",
    "2021-06-07T08:09:10+0200": "2021-06-07T08:09:10+02:00",
    "2021-06-07T08:09:10+02": "2021-06-07T08:09:10+02:00",
    "2021-06-07t08:09:10z": "2021-06-07T08:09:10+00:00",
    "2021-06-07 08:09:10": "2021-06-07T08:09:10",
    "2021-06-07 08:09:10 UTC": "2021-06-07T08:09:10+00:00",
    "2021-06-07  08:09": "2021-06-07T08:09:00",
    "2021-6-7": "2021-06-07T00:00:00",
    "2021/06/07": "2021-06-07T00:00:00",
    "2021.06.07": "2021-06-07T00:00:00",
    "20210607": "2021-06-07T00:00:00",
    "20210607T080910Z": "2021-06-07T08:09:10+00:00",
    "20210607T0809+0200": "2021-06-07T08:09:00+02:00",
    "\n   2021-06-07\n  ": "2021-06-07T00:00:00",
    "2020-02-29": "2020-02-29T00:00:00",
    "Jun 7, 2021": "2021-06-07T00:00:00",
    "7 June 2021": "2021-06-07T00:00:00",
    "June 2021": "2021-06-01T00:00:00",
    # RFC 2822
    "Thu, 05 Jan 2017 13:34:51 +0100": "2017-01-05T13:34:51+01:00",
    "Thu, 05 Jan 2017 12:34:51 GMT": "2017-01-05T12:34:51+00:00",
    "Thu, 05 Jan 17 12:34:51 GMT": "2017-01-05T12:34:51+00:00",
    "5 Jan 2017 12:34:51 GMT": "2017-01-05T12:34:51+00:00",
    "5 Jan 2017 12:34 UT": "2017-01-05T12:34:00+00:00",
    "Thu, 05 Jan 2017 12:34:51 -0000": "2017-01-05T12:34:51+00:00",
    "Thu, 05 Jan 2017 12:34:51 Z": "2017-01-05T12:34:51+00:00",
    "Thu, 05 Jan 2017 07:34:51 EST": "2017-01-05T07:34:51-05:00",
    "Thu, 05 Jan 2017 04:34:51 PDT": "2017-01-05T04:34:51-07:00",
    "Thu, 05 Jan 2017 12:34:51": "2017-01-05T12:34:51",
    "Thu Jan  5 12:34:51 2017": "2017-01-05T12:34:51",
    # JavaScript's Date.toString(): GMT+0200 is ahead of Greenwich, whatever POSIX says
    "Wed Jun 10 2020 02:22:31 GMT+0000 (Coordinated Universal Time)": f"{JUNE}+00:00",
    "Wed Jun 10 2020 02:22:31 GMT+0200 (Central European Summer Time)": f"{JUNE}+02:00",
    "Wed Jun 10 2020 02:22:31 GMT+0200 (Mitteleurop\u00e4ische Sommerzeit)": f"{JUNE}+02:00",
    "Wed Jun 10 2020 02:22:31 GMT-0700 (PDT)": f"{JUNE}-07:00",
    "Wed Jun 10 2020 02:22:31 GMT+0530": f"{JUNE}+05:30",
    "Wed, 10 Jun 2020 02:22:31 GMT+03:00": f"{JUNE}+03:00",
    "Wed, 10 Jun 2020 02:22:31 UTC-5": f"{JUNE}-05:00",
    "2020-06-10T02:22:31GMT+02:00": f"{JUNE}+02:00",
    # Go, Java, Python, PHP, URL-decoded text
    "2020-06-10 02:22:31 +0000 UTC": f"{JUNE}+00:00",
    "2020-06-10 02:22:31.5 +0200 CEST m=+0.000123": f"{JUNE}.500000+02:00",
    "2020-06-10T02:22:31+00:00Z": f"{JUNE}+00:00",
    "2020-06-10T02:22:31 02:00": f"{JUNE}+02:00",
    "Wed, 10 Jun 2020 02:22:31 +0000 GMT": f"{JUNE}+00:00",
    # an offset in brackets once more, as V8 writes it where it knows no name for the zone
    "Wed Jun 10 2020 02:22:31 GMT+0530 (GMT+05:30)": f"{JUNE}+05:30",
    "Wed Jun 10 2020 02:22:31 GMT-0300 (-03)": f"{JUNE}-03:00",
    "Wed Jun 10 2020 02:22:31 GMT+0545 (UTC+5:45)": f"{JUNE}+05:45",
    # an offset, or a time, put behind a date that had one
    "2020-06-10T02:22:31+00:00+00:00": f"{JUNE}+00:00",
    "2020-06-10T02:22:31+02:00T00:00:00": f"{JUNE}+02:00",
    "2020-06-10T02:22:31ZT00:00:00+00:00": f"{JUNE}+00:00",
    "2020-06-10 02:22:31T00:00:00+02:00": f"{JUNE}+02:00",
    # cut off at a number of characters
    "2020-06-10T02:22:31+05:3": f"{JUNE}+05:30",
    "6/10/20": "2020-06-10T00:00:00",
    # markup, quotes and words around the only date
    "2025-01-19<": "2025-01-19T00:00:00",
    "2025-01-19T08:00:00Z</lastmod": "2025-01-19T08:00:00+00:00",
    "<time>2025-01-19</time>": "2025-01-19T00:00:00",
    "<![CDATA[ 2025-01-19 ]]>": "2025-01-19T00:00:00",
    '"2025-01-19"': "2025-01-19T00:00:00",
    "2025-01-19 -": "2025-01-19T00:00:00",
    "2025-01-19 (updated)": "2025-01-19T00:00:00",
    "2025-01-19 10:30 Uhr": "2025-01-19T10:30:00",
    "2025-01-19 10:30 PM local": "2025-01-19T22:30:00",
    "Last updated: 2025-01-19": "2025-01-19T00:00:00",
    "Updated: Sun, 19 Jan 2025 10:00:00 GMT": "2025-01-19T10:00:00+00:00",
    "Son, 19 Jan 2025 10:00:00 +0100": "2025-01-19T10:00:00+01:00",
    # other signs
    "2025\u201101\u201119": "2025-01-19T00:00:00",
    "2025-01-19T10:00:00\u221205:00": "2025-01-19T10:00:00-05:00",
    "2025. 01. 19.": "2025-01-19T00:00:00",
    # two digits are a year of our time
    "Mon, 01 Jan 01 00:00:00 GMT": "2001-01-01T00:00:00+00:00",
    "Mon, 01 Jan 2001 00:00:00 +0000": "2001-01-01T00:00:00+00:00",
}
UNREADABLE = [
    *("2021-13-01", "2021-02-30", "2021-06-07T25:00:00Z", "2021-06-07T08:61:00Z", "2021-00-00"),
    *("0000-00-00", "0000-00-00 00:00:00", "0000", "-0001-11-30T00:00:00+00:00", "20211301"),
    *("2021-06-07T08:09:10+99:00", "1700000000", "1700000000000", "Thu, 31 Feb 2017 12:34:51 GMT"),
    *("yesterday", "yesterday-ish", "soon", "n/a", "-", "12", "12:30", "Monday", "10 May"),
    *("today 12:00", "{{ date }}", "2021-06-07" * 20, "9" * 5000, "\0", "２０２１年"),
    # Go's, .NET's, MySQL's and PHP's way to say that there is none
    *("Mon, 01 Jan 0001 00:00:00 +0000", "Mon, 1 Jan 0001 00:00:00 GMT", "Jan 1, 0001"),
    *("1 Jan 0001", "0001-01-01T00:00:00Z", "0001-01-01T00:00:00-04:56", "0001-01-01", "0001-1-1"),
    *("00010101", "0001-01-01 00:00:00 +0000 UTC", "01/01/0001", "1/1/0001 12:00:00 AM", "0001"),
    *("0001-01", "Monday, January 1, 0001", "01-Jan-0001"),
    *("Mon Jan 01 0001 00:00:00 GMT+0000 (UTC)", "0000-00-00T00:00:00Z", "Invalid Date"),
    *("Thu, 01 Jan 0000 00:00:00 +0000", "Wed, 30 Nov -0001 00:00:00 +0000", "NaN-NaN-NaN"),
    *("0000-12-31T19:00:00-05:00", "19 Jan 1 00:00:00 +0000", "{{ page.date }}"),
    # what is not clear is not guessed
    *("2025-01-19 / 2025-01-20", "2025-01-19,2025-01-20", "2025-01-19 1", "2025-01-191"),
    *("2025-01-", "2021-06-07T08:09:10Z[UTC]", "2021-06-07T08:09:10+02:00[Europe/Berlin]"),
    *("from 19 Jan 2025 to 20 Jan 2025", "version 2 of 2025-01-19", "2025-02-30 (updated)"),
    "-2025-01-19",
    *("6-7 May 2024", "1-2 Jan 2023", "2024-05-06 22:00 p. m."),
]


PARSE = together("parse", [parse_iso8601_date, parse_rfc2822_date])


@PARSE
@together("text, expected", READABLE.items())
def test_a_date_means_what_it_says_and_is_aware_if_it_has_an_offset(parse, text, expected):
    date = parse(text)
    assert date is not None
    assert date.isoformat() == expected


@PARSE
@together("text", UNREADABLE)
def test_an_unreadable_date_is_none_and_never_filled_from_today(parse, text):
    assert parse(text) is None


@PARSE
@together("text", ["", None])
def test_no_date_at_all_is_the_callers_mistake(parse, text):
    with pytest.raises(SitemapException):
        parse(text)


OFFSETS = st.none() | st.timedeltas(-timedelta(hours=14), timedelta(hours=14)).map(
    lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
)


@given(st.datetimes(min_value=datetime(2, 1, 1), timezones=OFFSETS))  # noqa: DTZ001
def test_what_isoformat_writes_is_read_back(date):
    read = parse_iso8601_date(date.isoformat())
    assert (read, read.utcoffset()) == (date, date.utcoffset())


@given(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_what_email_writes_is_read_back(date):
    assert parse_rfc2822_date(format_datetime(date)) == date.replace(microsecond=0)


# In words -----------------------------------------------------------------------------------------

OLDEST, NEWEST = map(datetime.fromisoformat, ("1000-01-01", "2090-12-31"))
DAYS = [
    *("%b %d %Y", "%B %d, %Y", "%a %b %d %Y", "%A, %B %d, %Y", "%b. %d, %Y"),
    *("%d %b %Y", "%a, %d %b %y", "%d-%b-%Y", "%A, %d-%b-%y", "%d %B %Y"),
    *("%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y", "%m-%d-%Y", "%a, %m/%d/%Y", "%m/%d/%y"),
]
TIMES = ["", " %H:%M", " %H:%M:%S", ", %I:%M %p", " %I:%M:%S %p", " %H:%M:%S.%f", " %H:%M%p"]
ZONES = ["", " GMT", " EST", " CEST", " +0200", "-05:00", " +9900", " +0160", " Z", " z", " (UTC)"]
UNIX = ["%a %b %d %H:%M:%S %Y", "%b  %d %H:%M:%S UTC %Y", "%a %b %d %H:%M:%S +0000 %Y"]
INSERTED = [*"0139 ,.:/-+TZ", "May", "AM", "of", "day", "\u00e9", "nan", "\u00b2"]


@st.composite
def texts(draw):
    """Return a date in words; some of them are slightly broken."""
    date = draw(st.datetimes(OLDEST, NEWEST))
    forms = [a + b + c for a in DAYS for b in TIMES for c in ZONES if b or not c]
    text = date.strftime(draw(st.sampled_from(forms + UNIX)))
    text = draw(st.sampled_from([text, text, text.upper(), text.lower(), text.replace("0", "")]))
    if draw(st.booleans()):
        return text
    at = draw(st.integers(0, len(text)))
    return text[:at] + draw(st.sampled_from(INSERTED)) + text[at + draw(st.integers(0, 2)) :]


@given(texts())
@example("Wed, 10 Jun 20 12:22 GMT")
@example("32 Jun 10")
@example("13/06/2020 13:22 PM")
@example("Augu\u017ft 10, 2020")
def test_a_date_in_words_is_the_one_that_dateutil_reads(text):
    date = read_words(text)
    with (
        patch.object(dates, "_USUAL", ()),
        patch.object(dates, "_has_known_words", return_value=True),
    ):
        expected = read_words(text)
    assert date == expected
    if date and expected:
        assert (date.tzinfo, date.fold) == (expected.tzinfo, expected.fold)


@together(
    "text",
    [
        "Mon Jun 10 2020 12:22:31 GMT+0200 (Central European Summer Time)",
        *("Mon Jun 10 2020 12:22:31 GMT+0000 (UTC)", "06/10/2020 12:22:31 PM", "10.06.2020"),
        *("Monday, June 10, 2020", "Wed Jun 10 02:22:31 2020", "Wed, 10 Jun 2020 02:22 GMT"),
        *("2020-06-10 02:22:31 +0000 UTC", "2020-06-10 02:22:31.5 +0200 CEST"),
        *("12 janvier 2020", "12. M\u00e4rz 2020", "no date"),
    ],
)
def test_what_occurs_often_is_read_without_dateutil(text, monkeypatch):
    called = []
    monkeypatch.setattr(dates, "_read_by_dateutil", called.append)
    date = read_date(text)
    assert not called
    assert (date is None) == (not text.isascii() or "janvier" in text or text == "no date")


def test_no_text_is_read_twice_by_dateutil(monkeypatch):
    called = []
    monkeypatch.setattr(dates, "_read_by_dateutil", called.append)
    for text in ("10 June of 2020 30", "June 2020 10 11", "<b>10 of June 2020 at 12</b>"):
        assert read_date(text) is None
    assert called
    assert len(called) == len(set(called))


@together("day", ["2024-05-16", "16 May 2024", "Thu, 16 May 2024", "05/16/2024", "May 16, 2024"])
def test_halves_of_the_day_mean_the_same_in_every_way_of_writing(day):
    halves = ["PM", "pm", "P.M.", "p.m.", "p. m.", "p.m", "pm.", "p.\u00a0m.", "p.\u202fm.", "P"]
    for half, zone in product(halves, ["", " GMT", " +0200"]):
        for blank in " ", "\u00a0", "\u202f", "":
            if half == "P" and (zone or not blank):  # which may be a zone
                continue
            late = read_date(f"{day} 10:30{blank}{half}{zone}")
            early = read_date(
                f"{day} 12:30:15{blank}{half.replace('p', 'a').replace('P', 'A')}{zone}"
            )
            assert f"{late:%d %H:%M:%S}" == "16 22:30:00"
            assert f"{early:%d %H:%M:%S}" == "16 00:30:15"
            assert (late.tzinfo is None) == (early.tzinfo is None) == (not zone)


@together("name", [*dates.ZONES])
def test_the_name_of_a_zone_means_its_offset_in_every_way_of_writing(name):
    offset = timedelta(hours=dates.ZONES[name])
    for text in (f"Wed, 10 Jan 2024 10:00:00 {name}", f"Jan 10, 2024 10:00 AM {name}"):
        date = read_date(text)
        assert date == datetime(2024, 1, 10, 10, tzinfo=timezone(offset))
        assert dates.unknown_zone(text) is None


@together(
    "name, winter, summer",
    [
        *(("ET", -5, -4), ("PT", -8, -7), ("Eastern Time", -5, -4)),
        ("Eastern Standard Time", -5, -5),
        *(("Pacific Daylight Time", -7, -7), ("(Central European Summer Time)", 2, 2)),
        *(("Central European Standard Time", 1, 1), ("British Summer Time", 1, 1)),
        *(("Greenwich Mean Time", 0, 0), ("Japan Standard Time", 9, 9)),
        *(("cet", 1, 1), ("(CET)", 1, 1), ("(cest)", 2, 2), ("et", -5, -4), (", CET", 1, 1)),
        *(("CET (Berlin)", 1, 1), ("ET (US & Canada)", -5, -4), ("EST (New York)", -5, -5)),
        *(("W. Europe Standard Time", 1, 1), ("Romance Daylight Time", 2, 2)),
        *(("(gtb standard time)", 2, 2), ("SE Asia Standard Time", 7, 7)),
        *(("Mitteleuropäische Sommerzeit", 2, 2), ("Newfoundland Daylight Time", -2.5, -2.5)),
    ],
)
def test_a_zone_in_words_is_known_and_may_depend_on_the_season(name, winter, summer):
    for month, hours in ("Jan", winter), ("Jun", summer):
        date = read_date(f"10 {month} 2024 10:00:00 {name}")
        assert date.utcoffset() == timedelta(hours=hours)
        assert type(date.tzinfo) is timezone


@together(
    "zone",
    [
        *("XYZ", "xyz", "(Xyz)", "東京", "heure d'été", "Middle Earth Time", "Europe/Nowhere"),
        *("QQ", "B", "M", "T", "Y"),
    ],
)
def test_a_zone_that_is_not_known_is_told(zone):
    for text in (f"Wed, 10 Jan 2024 10:00:00 {zone}", f"2024-01-10 10:00 {zone}"):
        assert read_date(text) == datetime(2024, 1, 10, 10)  # noqa: DTZ001
        assert zone in dates.unknown_zone(text)


@together(
    "text",
    ["10:00 MAY 5 2020", "Jan 10, 2024 10:00 PM", "10 Jan 2024 10:00:00 +0100", "Title 1:20"],
)
def test_other_words_after_a_time_are_no_zones(text):
    assert dates.unknown_zone(text) is None
