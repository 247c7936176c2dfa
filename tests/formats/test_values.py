"""From the text of a field to its value; None where it cannot be read."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from together import together
from usp._formats import values
from usp._formats.values import absolute_url
from usp.objects.page import SitemapPageChangeFrequency

READERS = [
    *(values.text, values.date, values.number, values.priority, values.whole_number, values.yes_no),
    *(
        values.change_frequency,
        lambda raw: values.listed(raw, ","),
        lambda raw: values.listed(raw, None),
    ),
]


@together("read", READERS)
@together("raw", [None, "", "  \n"])
def test_nothing_reads_as_nothing(read, raw):
    assert not read(raw)


@pytest.mark.parametrize("read", READERS)
@given(raw=st.text())
def test_no_text_raises(read, raw):
    read(raw)


@together(
    "raw, number",
    [
        *(("1", "1"), (" 0.30\n", "0.30"), ("-2.5", "-2.5"), ("1e3", "1E+3"), ("+.5", "0.5")),
        *(("1,5", None), ("NaN", None), ("Infinity", None), ("x", None), ("1" * 101, None)),
        ("sNaN", None),
    ],
)
def test_a_number_is_finite_and_of_sane_length(raw, number):
    assert values.number(raw) == (None if number is None else Decimal(number))


@together("raw", ["0", "1", "0.5", "1.0000"])
def test_a_priority_from_0_to_1_is_kept(raw):
    assert values.priority(raw) == Decimal(raw)


@together("raw", ["1.01", "-0.1", "2", "1e400", "high"])
def test_a_priority_beyond_is_none(raw):
    assert values.priority(raw) is None


@together(
    "raw, number",
    [
        ("600", 600),
        ("6e2", 600),
        ("5.0", 5),
        ("5.5", None),
        ("-3", -3),
        ("1e99", None),
        ("x", None),
        ("1e999999999", None),
    ],
)
def test_a_whole_number_is_whole_and_not_endless(raw, number):
    assert values.whole_number(raw) == number


@together(
    "raw, answer",
    [
        *(("yes", True), ("YES", True), ("true", True), ("1", True), ("no", False)),
        *((" No ", False), ("false", False), ("0", False), ("perhaps", None)),
    ],
)
def test_yes_and_no(raw, answer):
    assert values.yes_no(raw) is answer


def test_change_frequencies_in_any_case():
    assert values.change_frequency(" Daily ") is SitemapPageChangeFrequency.DAILY
    assert values.change_frequency("sometimes") is None


def test_lists_have_no_empty_items():
    assert values.listed(" a, b,,c , ", ",") == ("a", "b", "c")
    assert values.listed(" IE  GB\nUS", None) == ("IE", "GB", "US")


BASE = "https://www.example.org/maps/s.xml"


@together(
    "loc, url",
    [
        ("https://a.example/b", "https://a.example/b"),
        ("HTTP://a.example", "HTTP://a.example"),
        ("  https://a.example/\n", "https://a.example/"),
        ("\ufeff\u200bhttps://a.example/\u2060", "https://a.example/"),
        ("https://a.example/x\n   y", "https://a.example/xy"),
        ("https://a.example/x y", "https://a.example/x y"),
        ("/b", "https://www.example.org/b"),
        ("b", "https://www.example.org/maps/b"),
        ("?q=a:b", "https://www.example.org/maps/s.xml?q=a:b"),
        ("//c.example/d", "https://c.example/d"),
        ("/a:b", "https://www.example.org/a:b"),
        *[
            (bad, None)
            for bad in ("", "  ", "mailto:a@b", "data:x", "urn:a:b", "ftp://a/b", "http://")
        ],
        *[
            (bad, None)
            for bad in ("https://[x/", "//[x/", "https:///x", "javascript:void(0)", "svn+ssh://a")
        ],
    ],
)
def test_an_address_becomes_absolute_or_none(loc, url):
    assert absolute_url(loc, BASE) == url


def test_without_a_base_a_relative_address_stays():
    assert absolute_url("/b", None) == "/b"
    assert absolute_url("https://a.example/", None) == "https://a.example/"


@given(st.text(), st.sampled_from([None, BASE, "https://[broken"]))
def test_no_address_raises(loc, base):
    url = absolute_url(loc, base)
    assert url is None or url


TIMES = [
    *("2024-01-02T03:04:05Z", "2024-01-02 03:04:05Z", "2024-01-02X03:04:05Z"),
    *("20240102T030405+0000", "0001-01-01T00:00:00Z", "2024-13-02T03:04:05Z"),
    *("2024-W01-1T03:04:05Z", "2024-01-02\n03:04:05Z", " 2024-01-02T03:04:05"),
    *("2024-01-02T03:04:05 ", "2024-01-02T03:04:60Z", "1024-01-02T03:04:05Z", "2024-01-02"),
    *("2024-01-02T03:04:05.123Z", "", "2024", "Tue, 02 Jan 2024 03:04:05 GMT"),
]


@given(texts=st.lists(st.sampled_from(TIMES[:4]) | st.sampled_from(TIMES), max_size=4))
def test_a_column_of_dates_reads_as_each_of_them(texts):
    assert list(values.dates(texts)) == list(map(values.date, texts))
