"""The conditions of a selection: periods that people mean, and patterns for addresses."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import TYPE_CHECKING, TypeAlias

from usp._base.dates import in_utc, read_date
from usp._base.urls import url_parts

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Moment: TypeAlias = datetime | date | str
"""A date as people give it; a text is read as those of sitemaps are."""

_LAST = datetime.max.replace(tzinfo=UTC)
_YEAR = re.compile(r"\d{4}")
_MONTH = re.compile(r"\d{4}[-/.]\d{1,2}")
_SITEMAP = "sitemap:"
_REGULAR = "re:"


def bounds(name: str, given: Moment) -> tuple[datetime, datetime]:
    """Return the first moment of a period, and the first one after it."""
    moment, text = given, ""
    if isinstance(given, str):
        text = given.strip()
        read = read_date(text) if text else None
        if read is None:
            raise ValueError(f"{name} {given!r} is not a date; use for example 2024-05-31")
        whole_day = ":" not in text and (read.hour, read.minute, read.second) == (0, 0, 0)
        moment = read.date() if whole_day and read.tzinfo is None else read
    if isinstance(moment, datetime):
        first = in_utc(moment)
        return first, _after(first, timedelta(microseconds=1))
    if not isinstance(moment, date):
        raise ValueError(  # noqa: TRY004 - one exception for all that cannot be read
            f"{name} must be a date or an ISO 8601 text, not {given!r}"
        )
    first = datetime(moment.year, moment.month, moment.day, tzinfo=UTC)
    if _YEAR.fullmatch(text):
        return first, _first_day(first.year + 1, 1)
    if _MONTH.fullmatch(text):
        return first, _first_day(first.year + first.month // 12, first.month % 12 + 1)
    return first, _after(first, timedelta(days=1))


def _first_day(year: int, month: int) -> datetime:
    return datetime(year, month, 1, tzinfo=UTC) if year <= _LAST.year else _LAST


def _after(moment: datetime, span: timedelta) -> datetime:
    return moment + span if _LAST - moment >= span else _LAST


@dataclass(frozen=True, slots=True)
class Patterns:
    """Patterns for addresses, those that are wanted and those that are not."""

    include: tuple[re.Pattern[str], ...]
    exclude: tuple[re.Pattern[str], ...]

    @classmethod
    def of(cls, given: Mapping[str, tuple[str, ...]], *, for_sitemaps: bool) -> Patterns:
        """Return the patterns for sitemaps, or those for pages, of a selection."""
        chosen = {
            name: tuple(
                _compiled(name, text.removeprefix(_SITEMAP))
                for text in texts
                if text.startswith(_SITEMAP) == for_sitemaps
            )
            for name, texts in given.items()
        }
        return cls(**chosen)

    def __bool__(self) -> bool:
        return bool(self.include or self.exclude)

    def match(self, url: str) -> bool:
        """Return whether an address is wanted."""
        if self.include and not any(pattern.search(url) for pattern in self.include):
            return False
        return not any(pattern.search(url) for pattern in self.exclude)


def checked(name: str, given: Sequence[str]) -> tuple[str, ...]:
    """Return patterns as a tuple; raises ``ValueError`` for one that is empty."""
    patterns = (given,) if isinstance(given, str) else tuple(given)
    for pattern in patterns:
        if not isinstance(pattern, str) or not pattern.removeprefix(_SITEMAP):
            raise ValueError(f"{name} has an empty pattern; write for example '*/blog/*'")
    return patterns


def _compiled(name: str, text: str) -> re.Pattern[str]:
    if not text.startswith(_REGULAR):
        host = r"[A-Za-z]+://[^/?#]*" if text.startswith("/") else ""
        return re.compile(rf"\A{host}{fnmatch.translate(text)}")
    try:
        return re.compile(text.removeprefix(_REGULAR))
    except re.error as error:
        raise ValueError(
            f"{name} has a regular expression that cannot be read, {text!r}: {error}"
        ) from error


def of_host(site: str | None) -> re.Pattern[str]:
    """Return the pattern of the addresses on the host of a website."""
    host = url_parts(site or "").hostname
    if host is None:
        raise ValueError("same_host needs to know the website: hand in its URL as 'site'")
    name = re.escape(host.removeprefix("www."))
    return re.compile(
        rf"https?://(?:[^/?#]*@)?(?:www\.)?{name}(?::\d*)?(?:[/?#]|\Z)", re.IGNORECASE
    )
