"""When to ask for a sitemap again: pure, without a clock and without requests.

Every sitemap has its own rhythm, the mean time between two of its changes. It is estimated from all
visits: the time they cover, divided by the changes they found. A visit after a long time that finds a
change may have missed others, and counts for more than one. The interval is a power of the rhythm
below 1: who changes a hundred times as often is asked 16 times as often, because the requests that
this saves find more elsewhere. A sitemap that has just changed is asked earlier than that, one that has
been quiet for longer than usual later, and one that has not changed for a year as rarely as allowed.
``tools/simulate_fresh.py`` shows what this is worth, and halving and doubling beside it.

The rhythm needs no state of its own: it follows from the interval, and how much is behind it from the
time since the sitemap was first seen.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

from usp._base.dates import in_utc, known_date

__all__ = ["RecrawlPolicy", "Rhythm", "SitemapHints", "next_due"]

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0

_POWER = 0.6  # of the rhythm
_RECENT = 0.18  # the power of the time since the last change, in units of the rhythm
_MEMORY = 180 * DAY  # of visits; what was before counts less and less
_MOST_CHANGES = 20.0  # that are remembered
_BEFORE = DAY  # the time before its first visit that is assumed of a new sitemap,
_FIRST, _FIRST_NEWS = 0.25, 8.0  # and the changes in it
_TOUCHED = 0.05  # of a change: the content is another one, the pages are the same

_CHANGEFREQ = {
    "hourly": HOUR,
    "daily": DAY,
    "weekly": 7 * DAY,
    "monthly": 30 * DAY,
    "yearly": 365 * DAY,
}
_PROVED = 3.0  # a promised rhythm is believed if what was seen is within this factor of it
_NEWS = DAY  # half of the two days for which a news sitemap lists a story
_INDEXED = 4.0  # so many times as long: an index says when the sitemap changes
_ASLEEP = 365 * DAY
_GRACE = 31 * DAY  # after which the past does not change any more

_RETRY = {  # seconds until the first retry, by the code of the failure
    **dict.fromkeys(("not-found", "bad-url", "recursion", "not-a-sitemap", "html-page"), DAY),
    **dict.fromkeys(("blocked", "unauthorized", "bot-challenge", "address-refused"), 6 * HOUR),
    **dict.fromkeys(("rate-limited", "no-such-host", "connection-refused", "unreachable"), HOUR),
    **dict.fromkeys(("untrusted-certificate", "tls-error", "http-error", "bad-redirect"), HOUR),
}
_RETRY_OTHERS = 10 * MINUTE  # errors of servers, time-outs, broken connections
_MOST_DOUBLINGS = 40

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_DATED = re.compile(r"(?<!\d)((?:19|20)\d\d)(?:[-_/.]?(0[1-9]|1[0-2]))?(?!\d)")


@dataclass(frozen=True, slots=True)
class Rhythm:
    """What is known of one sitemap; times are seconds since 1970, as of every clock."""

    interval: float
    """What its rhythm asks for, in seconds."""
    due: float
    """When it is to be asked for again: the interval, unless something is known that matters more."""
    first_seen: float
    checked_at: float
    """When it was last received, or known to be the same."""
    changed_at: float | None = None
    failures: int = 0
    """In a row."""


@dataclass(frozen=True, slots=True)
class SitemapHints:
    """What a sitemap, its index and its headers promise; none counts before it has proved true."""

    index_lastmod: float | None = None
    changefreq: str | None = None
    max_age: float | None = None
    is_news: bool = False
    url: str = ""


_NO_HINTS = SitemapHints()


@dataclass(frozen=True, slots=True)
class RecrawlPolicy:
    """How often to ask: ``pace`` is the interval, in days, of a sitemap that changes once a day."""

    shortest: float = 10 * MINUTE
    longest: float = 30 * DAY
    pace: float = 0.25

    def __post_init__(self) -> None:
        if not 0 < self.shortest <= self.longest < math.inf:
            raise ValueError("shortest must be positive, and longest at least as long")
        if not 0 < self.pace < math.inf:
            raise ValueError(f"pace must be a positive number, not {self.pace!r}")

    def bounded(self, seconds: float) -> float:
        """Return an interval within the bounds."""
        return min(max(seconds, self.shortest), self.longest)

    def interval_of(self, gap: float) -> float:
        """Return the interval for a time between two changes."""
        return self.bounded(self.pace * DAY * math.pow(gap / DAY, _POWER))

    def gap_of(self, interval: float) -> float:
        """Return the time between two changes that an interval stands for."""
        return DAY * math.pow(self.bounded(interval) / self.pace / DAY, 1 / _POWER)

    def first(self, now: float, hints: SitemapHints = _NO_HINTS) -> Rhythm:
        """Return the state of a sitemap that was received for the first time."""
        interval = self.interval_of(_BEFORE / (_FIRST_NEWS if hints.is_news else _FIRST))
        return self._scheduled(Rhythm(interval, now, now, now), hints)

    def unchanged(self, known: Rhythm, now: float, hints: SitemapHints = _NO_HINTS) -> Rhythm:
        """Return the state after a visit that found the same content."""
        return self._visited(known, now, 0.0, hints)

    def changed(
        self, known: Rhythm, now: float, hints: SitemapHints = _NO_HINTS, *, has_news: bool = True
    ) -> Rhythm:
        """Return the state after a visit that found other content: ``has_news`` if pages changed."""
        if has_news:
            known = replace(known, changed_at=now)
        return self._visited(known, now, 1.0 if has_news else _TOUCHED, hints)

    def failed(
        self, known: Rhythm, now: float, code: str | None = None, retry_after: float | None = None
    ) -> Rhythm:
        """Return the state after a failure: each in a row doubles the wait, the rhythm stays."""
        failures = known.failures + 1
        wait = _RETRY.get(code or "", _RETRY_OTHERS) * 2.0 ** min(failures - 1, _MOST_DOUBLINGS)
        wait = self.bounded(max(wait, retry_after or 0.0))
        return replace(known, due=now + wait, failures=failures)

    def _visited(self, known: Rhythm, now: float, found: float, hints: SitemapHints) -> Rhythm:
        """Return the state after a visit that found so much of a change."""
        gap = self.gap_of(known.interval)
        elapsed = max(now - known.checked_at, 0.0)
        covered = _BEFORE + max(known.checked_at - known.first_seen, 0.0)
        covered = min(covered, _MEMORY, _MOST_CHANGES * gap)
        missed = elapsed / gap  # changes to be expected; that there was one makes it more than one
        found *= missed / -math.expm1(-missed) if missed > _TOUCHED else 1.0
        gap = (covered + elapsed) / (covered / gap + found)
        interval = self.interval_of(gap)
        after = replace(known, interval=interval, checked_at=now, failures=0)
        return self._scheduled(after, hints)

    def _scheduled(self, known: Rhythm, hints: SitemapHints) -> Rhythm:
        """Return the state with the time when the sitemap is due."""
        now, gap = known.checked_at, self.gap_of(known.interval)
        promised = _CHANGEFREQ.get(hints.changefreq or "", 0.0)
        if known.changed_at is not None and _agree(promised, gap):
            gap = math.sqrt(gap * promised)
        quiet = max(now - (known.changed_at or known.first_seen), self.shortest)
        wait = self.interval_of(gap) * math.pow(quiet / max(gap, self.shortest), _RECENT)
        if self._is_announced(known, hints):
            wait *= _INDEXED
        if known.changed_at is not None and _agree(hints.max_age or 0.0, gap):
            wait = max(wait, hints.max_age or 0.0)  # until then, the answer is the same
        if quiet > _ASLEEP or _cannot_change(known, hints):
            wait = self.longest
        if hints.is_news:
            wait = min(wait, _NEWS)
        return replace(known, due=now + self.bounded(wait))

    def _is_announced(self, known: Rhythm, hints: SitemapHints) -> bool:
        """Return whether the index had the date of the last change, and has no later one."""
        if known.changed_at is None or hints.index_lastmod is None:
            return False
        before = known.changed_at - 2 * known.interval - DAY  # dates may be without a time
        return before < hints.index_lastmod <= known.changed_at


def _agree(promised: float, gap: float) -> bool:
    return promised > 0 and 1 / _PROVED <= promised / gap <= _PROVED


def _cannot_change(known: Rhythm, hints: SitemapHints) -> bool:
    """Return whether a sitemap is about a month or a year that is over, and stayed as it is."""
    found = _DATED.findall(hints.url)
    if not found or known.checked_at - (known.changed_at or 0.0) < _GRACE:
        return False
    if known.checked_at <= known.first_seen:  # once is not enough
        return False
    year, month = max((int(year), int(month or 12)) for year, month in found)
    now = _EPOCH + timedelta(seconds=known.checked_at - _GRACE)
    return (year, month) < (now.year, now.month)


# Rows of the table of fetches -----------------------------------------------------------------------


def next_due(
    row: Mapping[str, Any], *, now: datetime, policy: RecrawlPolicy | None = None
) -> tuple[float, datetime]:
    """Return the interval and the due time after a fetch, from its row.

    ``interval``, ``checked_at`` and ``changed_at`` are those of the fetch before; there is no interval
    at first. ``changed`` and ``failed`` say what came of this one; ``added``, if it is there, how many
    pages it has that the one before had not; ``failures`` counts this one.
    """
    policy = policy or RecrawlPolicy()
    at = now.timestamp()
    hints = SitemapHints(
        _seconds(known_date(row.get("index_lastmod") or "")),
        row.get("changefreq"),
        row.get("max_age"),
        bool(row.get("news")),
        row.get("url") or "",
    )
    known = policy.first(at, hints)
    if row.get("interval"):
        checked = _seconds(row.get("checked_at"))
        if checked is None or checked >= at:
            checked = at - row["interval"]
        first = min(_seconds(row.get("first_seen")) or checked, checked)
        changed = _seconds(row.get("changed_at"))
        if changed is not None and changed <= first:
            changed = None  # the first content is no change
        known = Rhythm(policy.bounded(row["interval"]), at, first, checked, changed)
    if row.get("failed"):
        failures = max((row.get("failures") or 1) - 1, 0)
        after = policy.failed(
            replace(known, failures=failures), at, row.get("code"), row.get("retry_after")
        )
    elif not row.get("interval"):
        after = known
    elif row.get("changed"):
        after = policy.changed(known, at, hints, has_news=row.get("added") != 0)
    else:
        after = policy.unchanged(known, at, hints)
    return after.interval, now + timedelta(seconds=after.due - at)


def _seconds(moment: datetime | None) -> float | None:
    return None if moment is None else in_utc(moment).timestamp()
