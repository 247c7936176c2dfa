"""Months on the axis of a chart: without gaps, or years if there are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_MONTHS = 300
"""Above that many months, dates are counted by year."""

_ORDINARY_YEARS = ("1990", "2100")


def axis(months: Sequence[tuple[str, int]]) -> tuple[str, list[tuple[str, int]]]:
    """Return the unit, ``month`` or ``year``, and every step of the axis with its number."""
    if len(months) > MAX_MONTHS or (months and _span(months) > MAX_MONTHS):
        years: dict[str, int] = {}
        for month, count in months:
            years[_year(month)] = years.get(_year(month), 0) + count
        return "year", list(years.items())
    known = dict(months)
    return "month", [(month, known.get(month, 0)) for month in _every_month(months)]


def _year(month: str) -> str:
    first, last = _ORDINARY_YEARS
    if month < first:
        return f"before {first}"
    return month[:4] if month < last else f"{last} or later"


def _number(month: str) -> int:
    return int(month[:4]) * 12 + int(month[5:7]) - 1


def _span(months: Sequence[tuple[str, int]]) -> int:
    return _number(months[-1][0]) - _number(months[0][0]) + 1


def _every_month(months: Sequence[tuple[str, int]]) -> list[str]:
    if not months:
        return []
    begin = _number(months[0][0])
    return [f"{at // 12:04}-{at % 12 + 1:02}" for at in range(begin, begin + _span(months))]
