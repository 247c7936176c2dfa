"""Dates as sitemaps and feeds write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from profiles import examples
from together import together
from usp.exceptions import SitemapException
from usp.helpers import parse_iso8601_date, parse_rfc2822_date

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
}
UNREADABLE = [
    *("2021-13-01", "2021-02-30", "2021-06-07T25:00:00Z", "2021-06-07T08:61:00Z", "2021-00-00"),
    *("0000-00-00", "0000-00-00 00:00:00", "0000", "-0001-11-30T00:00:00+00:00", "20211301"),
    *("2021-06-07T08:09:10+99:00", "1700000000", "1700000000000"),
    *(
        *("Thu, 31 Feb 2017 12:34:51 GMT", "yesterday", "yesterday-ish", "soon", "n/a", "-", "12"),
        "12:30",
    ),
    *(
        "Monday",
        "10 May",
        "today 12:00",
        "{{ date }}",
        "2021-06-07" * 20,
        "9" * 5000,
        "\0",
        "２０２１年",
    ),
]


@together("parse", [parse_iso8601_date, parse_rfc2822_date])
@together("text, expected", READABLE.items())
def test_a_date_means_what_it_says_and_is_aware_if_it_has_an_offset(parse, text, expected):
    date = parse(text)
    assert date is not None
    assert date.isoformat() == expected


@together("parse", [parse_iso8601_date, parse_rfc2822_date])
@together("text", UNREADABLE)
def test_an_unreadable_date_is_none_and_never_filled_from_today(parse, text):
    assert parse(text) is None


@together("parse", [parse_iso8601_date, parse_rfc2822_date])
@together("text", ["", None])
def test_no_date_at_all_is_the_callers_mistake(parse, text):
    with pytest.raises(SitemapException):
        parse(text)


ZONES = st.none() | st.timedeltas(-timedelta(hours=14), timedelta(hours=14)).map(
    lambda offset: timezone(timedelta(minutes=offset // timedelta(minutes=1)))
)


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(2, 1, 1), timezones=ZONES))  # noqa: DTZ001
def test_what_isoformat_writes_is_read_back(date):
    read = parse_iso8601_date(date.isoformat())
    assert (read, read.utcoffset()) == (date, date.utcoffset())


@settings(deadline=None)
@given(st.datetimes(min_value=datetime(1970, 1, 1), timezones=st.just(UTC)))  # noqa: DTZ001
def test_what_email_writes_is_read_back(date):
    assert parse_rfc2822_date(format_datetime(date)) == date.replace(microsecond=0)


@settings(deadline=None, max_examples=examples(500))
@given(st.text(min_size=1) | st.from_regex(r"[0-9A-Za-z:/., +-]{1,30}", fullmatch=True))
def test_no_text_raises(text):
    date = parse_iso8601_date(text)
    assert date is None or isinstance(date, datetime)
