"""Counting dates by month, whole columns at a time."""

from __future__ import annotations

import re
from collections import Counter
from operator import itemgetter
from typing import TYPE_CHECKING

from usp._base.dates import known_date
from usp.report.tally import Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

_MAX_CLOCKS = 200_000  # times of day that are remembered as readable

_day = itemgetter(slice(10))
_clock = itemgetter(slice(10, None))
_PLAIN_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_PLAIN_CLOCK = re.compile(
    r"T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?"
)


class Dates:
    """Counts dates by month; what is no date is counted as undated."""

    __slots__ = ("_clocks", "months", "undated")

    def __init__(self) -> None:
        self.months = Tally()
        self.undated = 0
        self._clocks: set[str] = {""}

    def add_texts(self, texts: Sequence[str]) -> tuple[str, str] | None:
        """Count dates as they are written; gives the first and the last day.

        A plain date and a plain time of day can be read apart, and both repeat: so most columns need
        few calls of the parser. A column that has anything else in it is read text by text.
        """
        days = Counter(map(_day, texts))
        empty = days.pop("", 0)
        plain = self._clocks_are_plain(texts) and all(map(_PLAIN_DAY.fullmatch, days))
        if not plain:
            days = Counter()
            for text, count in Counter(texts).items():
                days[_read_day(text) or ""] += count
            empty = days.pop("", 0)
        good = {day: count for day, count in days.items() if _read_day(day)}
        return self._add(good, empty + days.total() - sum(good.values()))

    def add_dates(self, dates: Iterable[datetime | None]) -> tuple[str, str] | None:
        """Count dates that are read already; gives the first and the last day."""
        days = Counter([date.date() if date else None for date in dates])
        empty = days.pop(None, 0)
        return self._add({day.isoformat(): n for day, n in days.items() if day}, empty)

    def _add(self, days: dict[str, int], undated: int) -> tuple[str, str] | None:
        self.undated += undated
        months: Counter[str] = Counter()
        for day, count in days.items():
            months[day[:7]] += count
        self.months.add(months)
        return (min(days), max(days)) if days else None

    def _clocks_are_plain(self, texts: Sequence[str]) -> bool:
        new = set(map(_clock, texts)) - self._clocks
        if not new:
            return True
        if not all(map(_PLAIN_CLOCK.fullmatch, new)):
            return False
        if not all(known_date(f"2000-01-01{clock}") for clock in new):
            return False
        if len(self._clocks) < _MAX_CLOCKS:
            self._clocks |= new
        return True


def _read_day(text: str) -> str | None:
    date = known_date(text)
    return date.date().isoformat() if date else None
