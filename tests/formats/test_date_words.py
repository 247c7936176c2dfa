"""Dates in words are those that dateutil reads, whether it is called or not."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from unittest.mock import patch

from hypothesis import example, given
from hypothesis import strategies as st

from together import together
from usp._base import date_words
from usp._base.date_words import read_words
from usp._base.dates import read_date

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
        patch.object(date_words, "_USUAL", ()),
        patch.object(date_words, "_has_known_words", return_value=True),
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
    monkeypatch.setattr(date_words, "_read_by_dateutil", called.append)
    date = read_date(text)
    assert not called
    assert (date is None) == (not text.isascii() or "janvier" in text or text == "no date")


def test_no_text_is_read_twice_by_dateutil(monkeypatch):
    called = []
    monkeypatch.setattr(date_words, "_read_by_dateutil", called.append)
    for text in ("10 June of 2020 30", "June 2020 10 11", "<b>10 of June 2020 at 12</b>"):
        assert read_date(text) is None
    assert called
    assert len(called) == len(set(called))


@together("name", [*date_words.ZONES])
def test_the_name_of_a_zone_means_its_offset_in_every_way_of_writing(name):
    offset = timedelta(hours=date_words.ZONES[name])
    for text in (f"Wed, 10 Jan 2024 10:00:00 {name}", f"Jan 10, 2024 10:00 AM {name}"):
        date = read_date(text)
        assert date == datetime(2024, 1, 10, 10, tzinfo=timezone(offset))
        assert date_words.unknown_zone(text) is None


@together(
    "name, winter, summer",
    [
        *(
            ("ET", -5, -4),
            ("PT", -8, -7),
            ("Eastern Time", -5, -4),
            ("Eastern Standard Time", -5, -5),
        ),
        *(("Pacific Daylight Time", -7, -7), ("(Central European Summer Time)", 2, 2)),
        *(("Central European Standard Time", 1, 1), ("British Summer Time", 1, 1)),
        *(("Greenwich Mean Time", 0, 0), ("Japan Standard Time", 9, 9)),
    ],
)
def test_a_zone_in_words_is_known_and_may_depend_on_the_season(name, winter, summer):
    dates = read_date(f"10 Jan 2024 10:00:00 {name}"), read_date(f"10 Jun 2024 10:00:00 {name}")
    assert [date.utcoffset() for date in dates] == [
        timedelta(hours=winter),
        timedelta(hours=summer),
    ]
    assert all(type(date.tzinfo) is timezone for date in dates)


@together("zone", ["XYZ", "Middle Earth Time", "Europe/Nowhere", "QQ", "B", "M", "T", "Y"])
def test_a_zone_that_is_not_known_is_told(zone):
    for text in (f"Wed, 10 Jan 2024 10:00:00 {zone}", f"2024-01-10 10:00 {zone}"):
        assert read_date(text) == datetime(2024, 1, 10, 10)  # noqa: DTZ001
        assert zone in date_words.unknown_zone(text)


@together(
    "text",
    ["10:00 MAY 5 2020", "Jan 10, 2024 10:00 PM", "10 Jan 2024 10:00:00 +0100", "Title 1:20"],
)
def test_other_words_after_a_time_are_no_zones(text):
    assert date_words.unknown_zone(text) is None
