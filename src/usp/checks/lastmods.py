"""Dates of pages in columns: which are written wrongly, and which are too old or too new.

Dates as the protocol wants them sort as texts do, so most columns are judged by their largest and
their smallest text.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING

from usp._base.dates import in_utc, known_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

TOLERANCE = timedelta(days=1)
"""How far a date may be in the future: clocks and time zones differ."""

FIRST = datetime(1990, 1, 1, tzinfo=UTC)
"""No page on the web is older than this."""

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
# What the protocol (W3C Datetime) or its schema (xsd:date, xsd:dateTime) allows; 0 is any digit.
_SHAPE = re.compile(
    rb"(?:0000(?:-00(?:-00(?:Z|[+-]00:00)?)?)?|0000-00-00T00:00(?::00(?:\.0++)?)?(?:Z|[+-]00:00)?)?"
)


def is_well_written(text: str) -> bool:
    """Return whether a date is written as the protocol wants it, as far as its form goes."""
    return bool(_SHAPE.fullmatch(_shape(text)))


def _shape(text: str) -> bytes:
    return text.encode("utf-8", "replace").translate(_DIGITS)


class Dates:
    """A column of dates as texts; one that is missing is empty."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts

    @cached_property
    def _odd_shapes(self) -> set[bytes]:
        """How dates are written that are not written well."""
        shapes = set(_shape("\n".join(self.texts)).split(b"\n"))
        return {shape for shape in shapes if not _SHAPE.fullmatch(shape)}

    def badly_written(self) -> Iterator[int]:
        """Yield the numbers of dates that the protocol does not allow."""
        if self._odd_shapes:
            for at, text in enumerate(self.texts):
                if text and not is_well_written(text):
                    yield at

    def after(self, limit: datetime) -> Iterator[tuple[int, datetime]]:
        """Yield the dates after some moment, with their numbers."""
        edge = (limit - TOLERANCE).date().isoformat()
        if not self.texts or (not self._odd_shapes and max(self.texts) < edge):
            return
        for at, text in enumerate(self.texts):
            if text >= edge or self._odd_shapes:
                date = _date(text)
                if date is not None and date > limit:
                    yield at, date

    def before(self, limit: datetime) -> Iterator[tuple[int, datetime]]:
        """Yield the dates before some moment, with their numbers."""
        edge = (limit + TOLERANCE).date().isoformat()
        if not self._odd_shapes and min(filter(None, self.texts), default=edge) >= edge:
            return
        for at, text in enumerate(self.texts):
            if text and (text < edge or self._odd_shapes):
                date = _date(text)
                if date is not None and date < limit:
                    yield at, date

    def newest(self, now: datetime) -> datetime | None:
        """Return the last date that is not in the future; to a day, if that is quicker."""
        if not any(self.texts):
            return None
        latest = max(self.texts)
        if not self._odd_shapes and latest < now.date().isoformat():
            return _date(latest)
        dates = map(_date, self.texts)
        return max((date for date in dates if date is not None and date <= now), default=None)


def _date(text: str) -> datetime | None:
    date = known_date(text) if text else None
    return None if date is None else in_utc(date)
