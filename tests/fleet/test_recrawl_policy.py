"""Laws of the policy that decides when a sitemap is asked for again."""

import datetime as dt
import itertools
import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from usp._base.recrawl_policy import DAY, HOUR, RecrawlPolicy, Rhythm, SitemapHints, next_due

NOW = 1.7e9
POLICY = RecrawlPolicy()
CODES = [
    None,
    "not-found",
    "blocked",
    "rate-limited",
    "no-such-host",
    "server-error",
    "of-tomorrow",
]

policies = st.builds(
    lambda shortest, factor, pace: RecrawlPolicy(shortest, shortest * factor, pace),
    st.floats(1, DAY),
    st.floats(1, 1000),
    st.floats(0.01, 10),
)
hints = st.builds(
    SitemapHints,
    st.none() | st.floats(-1e11, 1e11),
    st.none() | st.sampled_from(["always", "daily", "yearly", "whenever"]),
    st.none() | st.floats(0, 1e18),
    st.booleans(),
    st.sampled_from(["", "https://example.org/2019/05/sitemap.xml", "/sitemap-209912.xml"]),
)
visits = st.lists(
    st.tuples(
        st.sampled_from(["unchanged", "changed", "touched", "failed"]),
        st.floats(0, 400 * DAY),
        hints,
        st.sampled_from(CODES),
    ),
    max_size=20,
)


def after(policy, known, what, now, promised, code=None):
    if what == "failed":
        return policy.failed(known, now, code)
    if what == "unchanged":
        return policy.unchanged(known, now, promised)
    return policy.changed(known, now, promised, has_news=what == "changed")


def followed(policy, changes, days, promised=None):
    """Ask whenever it is due; ``changes`` says how many changes there were until a time."""
    promised = promised or SitemapHints()
    known, times = policy.first(0.0, promised), []
    seen = changes(0.0)
    while known.due < days * DAY:
        now = known.due
        times.append(now)
        before, seen = seen, changes(now)
        known = after(policy, known, "changed" if seen > before else "unchanged", now, promised)
    return known, times


@given(policies, visits)
def test_whatever_happens_the_wait_and_the_interval_are_within_the_bounds(policy, happened):
    known, now = policy.first(NOW), NOW
    for what, wait, promised, code in happened:
        now += wait
        known = after(policy, known, what, now, promised, code)
        assert policy.shortest <= known.interval <= policy.longest
        slack = 1e-6  # of floats of this size
        assert policy.shortest - slack <= known.due - now <= policy.longest + slack
        assert (known.failures > 0) == (what == "failed")


@given(policies, visits)
def test_a_failure_changes_nothing_of_what_is_known(policy, happened):
    known, now = policy.first(NOW), NOW
    for what, wait, promised, code in happened:
        now += wait
        before, known = known, after(policy, known, what, now, promised, code)
        if what == "failed":
            assert known == Rhythm(
                *(before.interval, known.due, before.first_seen),
                *(before.checked_at, before.changed_at, before.failures + 1),
            )


@given(st.sampled_from(CODES), st.none() | st.floats(0, 1e9))
def test_each_failure_in_a_row_waits_at_least_as_long_as_the_one_before(code, retry_after):
    known, waits = POLICY.first(NOW), []
    for _ in range(60):
        known = POLICY.failed(known, NOW, code, retry_after)
        waits.append(known.due - NOW)
    assert waits == sorted(waits)
    assert waits[-1] == POLICY.longest
    assert waits[0] >= min(retry_after or 0.0, POLICY.longest) - 1e-6


def test_what_will_not_be_there_tomorrow_waits_longer_than_what_may_be_there_soon():
    waits = [
        POLICY.failed(POLICY.first(NOW), NOW, code).due
        for code in ("not-found", "blocked", "no-such-host", "server-error")
    ]
    assert waits == sorted(waits, reverse=True)
    assert len(set(waits)) == len(waits)


@given(st.floats(60, DAY * 365), st.floats(60, DAY * 365))
def test_who_changes_more_often_is_not_asked_less_often(one, other):
    assert (one <= other) <= (POLICY.interval_of(one) <= POLICY.interval_of(other))


@given(st.floats(POLICY.interval_of(0.0), POLICY.longest))
def test_the_rhythm_follows_from_the_interval(interval):
    assert POLICY.interval_of(POLICY.gap_of(interval)) == pytest.approx(interval)


@given(st.floats(0, 40 * DAY), st.floats(0, 400 * DAY))
def test_a_change_never_makes_the_interval_longer_than_no_change(wait, age):
    known = Rhythm(HOUR * 9, NOW, NOW - age, NOW)
    intervals = [
        after(POLICY, known, what, NOW + wait, SitemapHints()).interval
        for what in ("changed", "touched", "unchanged")
    ]
    assert intervals == sorted(intervals)


@pytest.mark.parametrize("period", [HOUR, 6 * HOUR, DAY, 7 * DAY, 30 * DAY])
def test_the_rhythm_converges_to_the_period_of_a_sitemap(period):
    known, times = followed(POLICY, lambda now: now // period, days=400)
    assert 0.5 < POLICY.gap_of(known.interval) / period < 1.5
    assert POLICY.interval_of(period) == pytest.approx(known.interval, rel=0.4)
    assert max(b - a for a, b in itertools.pairwise(times[-20:])) < period


def test_what_changes_all_the_time_is_asked_as_often_as_allowed():
    known, times = followed(POLICY, lambda now: now // 20, days=30)
    assert known.interval == POLICY.shortest
    assert times[-1] - times[-2] == pytest.approx(POLICY.shortest)


def test_a_sitemap_that_falls_asleep_is_asked_less_and_less():
    _, times = followed(POLICY, lambda now: min(now, 30 * DAY) // DAY, days=1000)
    waits = [b - a for a, b in itertools.pairwise(times) if a > 31 * DAY]
    assert waits == sorted(waits)
    assert waits[-1] == POLICY.longest


def test_content_written_anew_with_the_same_pages_is_hardly_a_change():
    rewritten = POLICY.first(0.0)
    while rewritten.due < 90 * DAY:
        rewritten = POLICY.changed(rewritten, rewritten.due, has_news=False)
    changing, _ = followed(POLICY, lambda now: now, days=90)
    quiet, _ = followed(POLICY, lambda _: 0, days=90)
    assert changing.interval * 10 < rewritten.interval <= quiet.interval
    assert rewritten.changed_at is None


# Hints ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("url", "is_over"),
    [
        ("https://example.org/sitemap-2019-05.xml", True),
        ("https://example.org/2019/sitemap.xml", True),
        ("https://example.org/sitemap_201905.xml.gz", True),
        ("https://example.org/archive/2019/2099.xml", False),
        ("https://example.org/sitemap-2023.xml", False),  # the year in which it is asked
        ("https://example.org/product-12019.xml", False),
        ("https://example.org/sitemap.xml", False),
    ],
)
def test_a_month_that_is_over_is_asked_for_once_a_month_unless_it_has_just_changed(url, is_over):
    promised = SitemapHints(url=url)
    second = POLICY.unchanged(POLICY.first(NOW), NOW + DAY, promised)
    assert (second.due - NOW - DAY == POLICY.longest) == is_over
    assert POLICY.changed(POLICY.first(NOW), NOW + DAY, promised).due - NOW - DAY < DAY


@given(visits)
def test_a_news_sitemap_is_never_left_alone_for_so_long_that_stories_are_missed(happened):
    known, now = POLICY.first(NOW, SitemapHints(is_news=True)), NOW
    for what, wait, _, _ in happened:
        now += wait
        if what != "failed":
            known = after(POLICY, known, what, now, SitemapHints(is_news=True))
            assert known.due - now <= DAY


@given(hints)
def test_no_promise_counts_before_it_has_proved_true(promised):
    """The date in the name and the two days of news are no promises."""
    plain = SitemapHints(is_news=promised.is_news, url=promised.url)
    known = POLICY.unchanged(POLICY.first(NOW, plain), NOW + DAY, plain)
    assert POLICY.unchanged(POLICY.first(NOW, promised), NOW + DAY, promised).due == known.due


def _known(period):
    return followed(POLICY, lambda now: now // period, days=200)[0]


def test_promises_count_if_they_are_near_the_rhythm():
    known = _known(5 * DAY)
    plain = POLICY.unchanged(known, known.due).due - known.due
    for freq, counts in (("weekly", True), ("daily", False), ("yearly", False)):
        told = POLICY.unchanged(known, known.due, SitemapHints(changefreq=freq))
        assert (told.due - known.due != plain) == counts
    for age, counts in ((5 * DAY, True), (365 * DAY, False)):
        told = POLICY.unchanged(known, known.due, SitemapHints(max_age=age))
        assert (told.due - known.due == age) == counts  # until then, it is known to be the same
    # The index tells if it had the date of the last change.
    for date, counts in ((known.changed_at - HOUR, True), (known.changed_at - 90 * DAY, False)):
        told = POLICY.unchanged(known, known.due, SitemapHints(date)).due - known.due
        assert (told > 2 * plain) == counts
        assert (told == plain) != counts


@pytest.mark.parametrize("wrong", [(0, 1), (2, 1), (1, math.inf), (math.nan, 1)])
def test_bounds_that_mean_nothing_are_refused(wrong):
    with pytest.raises(ValueError, match="shortest must be positive, and longest at least as long"):
        RecrawlPolicy(*wrong)
    with pytest.raises(ValueError, match="pace"):
        RecrawlPolicy(pace=-1.0)


# Rows of a table ------------------------------------------------------------------------------------

MOMENT = dt.datetime(2025, 5, 31, 12, tzinfo=dt.UTC)
texts = (
    st.none() | st.text(max_size=30) | st.sampled_from(["0002-01-01", "2025-05-30T10:00:00+02:00"])
)
moments = st.none() | st.datetimes(
    *(dt.datetime(year, 1, 2) for year in (1970, 2100)),  # noqa: DTZ001 - hypothesis wants them so
    timezones=st.just(dt.UTC),
)
rows = st.fixed_dictionaries(
    {
        "interval": st.none() | st.floats(1, 1e8),
        **dict.fromkeys(("checked_at", "first_seen", "changed_at"), moments),
        **dict.fromkeys(("changed", "failed", "news"), st.booleans()),
        "failures": st.none() | st.integers(0, 10_000),
        **dict.fromkeys(("index_lastmod", "changefreq", "url", "code"), texts),
        **dict.fromkeys(("max_age", "retry_after", "added"), st.none() | st.integers(0, 2**62)),
    }
)


@given(rows)
def test_every_row_has_a_next_time_and_it_is_not_in_the_past(row):
    interval, due = next_due(row, now=MOMENT)
    assert POLICY.shortest <= interval <= POLICY.longest
    wait = (due - MOMENT).total_seconds()
    assert POLICY.shortest - 1e-3 <= wait <= POLICY.longest + 1e-3


def test_a_row_means_what_the_policy_does():
    first = {"interval": None, "news": False, "changed": True, "failed": False}
    interval, due = next_due(first, now=MOMENT)
    known = POLICY.first(MOMENT.timestamp())
    assert (interval, due.timestamp()) == (known.interval, pytest.approx(known.due))
    row = first | {"interval": interval, "checked_at": MOMENT, "first_seen": MOMENT}
    for what, outcome in (
        ("changed", {}),
        ("touched", {"added": 0}),
        ("unchanged", {"changed": False}),
        *(("failed", {"failed": True, "failures": n, "code": "not-found"}) for n in (1, 3)),
    ):
        found = next_due(row | outcome, now=due)
        before = replace(known, failures=outcome.get("failures", 1) - 1)
        expected = after(POLICY, before, what, due.timestamp(), SitemapHints(), "not-found")
        assert found[0] == pytest.approx(expected.interval)
        assert found[1].timestamp() == pytest.approx(expected.due)
