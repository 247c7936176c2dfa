"""Dates as programs write them who do not follow any standard, and dates that mean "no date"."""

from __future__ import annotations

from together import together
from usp._base.dates import read_date

JUNE = "2020-06-10T02:22:31"
READ = {
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
}
NO_DATE = [  # Go's, .NET's, MySQL's and PHP's way to say that there is none
    *(
        "Mon, 01 Jan 0001 00:00:00 +0000",
        "Mon, 1 Jan 0001 00:00:00 GMT",
        "Jan 1, 0001",
        "1 Jan 0001",
    ),
    *("0001-01-01T00:00:00Z", "0001-01-01T00:00:00-04:56", "0001-01-01", "0001-1-1", "00010101"),
    *("0001-01-01 00:00:00 +0000 UTC", "01/01/0001", "1/1/0001 12:00:00 AM", "0001", "0001-01"),
    *("Monday, January 1, 0001", "01-Jan-0001", "Mon Jan 01 0001 00:00:00 GMT+0000 (UTC)"),
    *(
        "0000-00-00",
        "0000-00-00 00:00:00",
        "0000-00-00T00:00:00Z",
        "Thu, 01 Jan 0000 00:00:00 +0000",
    ),
    *(
        "-0001-11-30T00:00:00+00:00",
        "Wed, 30 Nov -0001 00:00:00 +0000",
        "0000-12-31T19:00:00-05:00",
    ),
    *("19 Jan 1 00:00:00 +0000", "Invalid Date", "NaN-NaN-NaN", "{{ page.date }}"),
]
AMBIGUOUS = [
    *("2025-01-19 / 2025-01-20", "2025-01-19,2025-01-20", "2025-01-19 1", "2025-01-191"),
    *("2025-01-", "2021-06-07T08:09:10Z[UTC]", "2021-06-07T08:09:10+02:00[Europe/Berlin]"),
    *("from 19 Jan 2025 to 20 Jan 2025", "version 2 of 2025-01-19", "2025-02-30 (updated)"),
    "-2025-01-19",
]


@together("text, expected", READ.items())
def test_a_date_that_is_clear_is_read(text, expected):
    date = read_date(text)
    assert date is not None
    assert date.isoformat() == expected


@together("text", NO_DATE)
def test_what_stands_for_no_date_is_not_one(text):
    assert read_date(text) is None


@together("text", AMBIGUOUS)
def test_what_is_not_clear_is_not_guessed(text):
    assert read_date(text) is None


def test_years_that_are_written_with_two_digits_are_years_of_our_time():
    assert read_date("Mon, 01 Jan 01 00:00:00 GMT").year == 2001
    assert read_date("Mon, 01 Jan 2001 00:00:00 +0000").year == 2001
