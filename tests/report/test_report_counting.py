"""Counting in bounded memory."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from usp.report.content import Dates, Tally

keys = st.lists(st.lists(st.integers(0, 60).map(str)), max_size=8)


@given(keys)
def test_below_the_limit_a_tally_is_a_counter(lists):
    tally = Tally()
    for some in lists:
        tally.add(some)
    assert dict(tally.items()) == Counter(key for some in lists for key in some)
    assert tally.exact


@given(keys, st.integers(2, 10))
def test_above_the_limit_the_sum_is_right_and_no_count_is_too_high(lists, most):
    tally = Tally(most)
    for some in lists:
        tally.add(some)
    real = Counter(key for some in lists for key in some)
    assert tally.total() == real.total()
    assert len(tally.items()) <= most
    assert all(count <= real[key] for key, count in tally.items())
    top, other = tally.top(1)
    assert sum(count for _, count in top) + other == real.total()


def test_dates_give_the_first_and_the_last_day():
    dates = Dates()
    assert dates.add_texts(["2024-05-02", "2023-01-01T10:00:00Z", ""]) == (
        "2023-01-01",
        "2024-05-02",
    )
    assert dates.add_texts(["", "never"]) is None
    assert dates.months.items() == [("2023-01", 1), ("2024-05", 1)]
    assert dates.undated == 3


def test_a_time_that_no_clock_shows_makes_no_date():
    dates = Dates()
    dates.add_texts(["2024-05-01T10:00:00+99:99", "2024-05-01T10:00:00Z"])
    dates.add_texts(["2024-05-01T10:00:00+01:00"])
    assert dates.months.total() + dates.undated == 3
