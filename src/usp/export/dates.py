"""Dates of the table: moments in UTC, and how exactly a sitemap gave them."""

from __future__ import annotations

import re
from datetime import time
from functools import lru_cache
from typing import TYPE_CHECKING

from usp.selection.dates import in_utc, read_date

if TYPE_CHECKING:
    from datetime import datetime

__all__ = ["PRECISIONS", "iso_text", "precision_of", "precision_of_text", "read_date"]

PRECISIONS = ("year", "month", "day", "minute", "second", "fraction")
"""What a date may be given to, from the coarsest on."""

_CACHED = 8192  # dates repeat, within a sitemap most of all

_ZONE = re.compile(r"(?<!\s)\s*+(?:[Zz]|UTC|GMT|(?<=\d)[+-]\d{1,2}:?\d{2})\Z")
_TIME = re.compile(r"\d:\d{1,2}(:\d{1,2}([.,]\d)?)?")
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"\d{4}[-/.]\d{1,2}|[A-Za-z]{3,9}\.?,?\s+\d{4}")
_BASIC_TIME = re.compile(r"\d{8}[Tt\s]?\d{4}(\d{2})?")


@lru_cache(maxsize=_CACHED)
def precision_of_text(text: str) -> str | None:
    """Tell how exactly a date is written; None if it is no date."""
    if read_date(text) is None:
        return None
    text = text.strip()
    if _YEAR.fullmatch(text):
        return "year"
    if _MONTH.fullmatch(text):
        return "month"
    text = _ZONE.sub("", text)
    found = _TIME.search(text)
    if found:
        seconds, fraction = found.groups()
        return "fraction" if fraction else "second" if seconds else "minute"
    basic = _BASIC_TIME.fullmatch(text)
    if basic:
        return "second" if basic[1] else "minute"
    return "day"


def precision_of(date: datetime | None) -> str | None:
    """Tell how exactly a date was given whose text is not known any more.

    A fraction shows. Midnight without an offset is a day: that is how a day, a month and a year are
    read. Anything else has a time, which sitemaps give in seconds.
    """
    if date is None:
        return None
    if date.microsecond:
        return "fraction"
    return "day" if date.tzinfo is None and date.time() == time() else "second"


def iso_text(date: datetime) -> str:
    """Write a date in UTC: ``2024-05-31T12:00:00Z``."""
    return in_utc(date).replace(tzinfo=None).isoformat() + "Z"
