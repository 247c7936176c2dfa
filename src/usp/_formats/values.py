"""From the text of a field to its value: texts, dates, numbers, URLs.

The value is None if the text cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

from usp._base.date_words import unknown_zone
from usp._base.dates import MAX_REMEMBERED, known_date, read_date
from usp._base.urls import USUAL_ORIGIN, can_be_requested, is_http_url, known_base
from usp.helpers import html_unescape_strip
from usp.objects.page import SitemapPageChangeFrequency
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Note

MIN_VALID_PRIORITY = Decimal("0.0")
"""The lowest priority that a page may have."""

MAX_VALID_PRIORITY = Decimal("1.0")
"""The highest priority that a page may have."""

_MAX_NUMBER = 100  # characters
_DAY = len("2024-01-02")
_MAX_DIGITS = 18
_YES = frozenset({"yes", "true", "1", "y"})
_NO = frozenset({"no", "false", "0", "n"})


def text(raw: str | None) -> str | None:
    """Return a text: references decoded once more, whitespace stripped; None if it is empty."""
    if raw is not None and "&" in raw:
        raw = html_unescape_strip(raw)
    return raw.strip() or None if raw else None


def date(raw: str | None) -> datetime | None:
    """Return a date; short texts are remembered, but not times, which do not repeat."""
    if raw and raw[10:11] == "T" and raw[:4] > "0001":
        try:
            return datetime.fromisoformat(raw)
        except ValueError:
            pass  # it is written otherwise
    if raw and len(raw) <= MAX_REMEMBERED and "&" not in raw:
        return known_date(raw)
    cleaned = text(raw)
    return read_date(cleaned) if cleaned else None


def note_zone(raw: str, date: datetime, note: Note) -> None:
    """Note a date that was read without its zone, because the name of that is not known."""
    if date.tzinfo is None and len(raw) > _DAY and unknown_zone(text(raw) or ""):
        note(ProblemCode.UNKNOWN_ZONE, raw)


def dates(texts: Sequence[str]) -> Iterable[datetime | None]:
    """Return the dates of a column of texts without references.

    Days repeat, and are remembered; times do not, and are read at once if all are written in ISO 8601.
    """
    if max(map(len, texts), default=0) > _DAY:
        given = texts if all(texts) else list(filter(None, texts))
        # A missing date is often written as year 0 or 1.
        if set(map(_after_day_parts, given)) <= _ISO_MARKS and min(given) > "0002":
            with suppress(ValueError):
                found = list(map(datetime.fromisoformat, given))
                if given is texts:
                    return found
                dates = iter(found)
                return [next(dates) if text else None for text in texts]
    return map(known_date, texts)


_after_day_parts = itemgetter(slice(4, 11, 3))  # what follows the year, the month and the day
_ISO_MARKS = {"--", "--T", "-- "}


def number(raw: str | None) -> Decimal | None:
    """Return a decimal number."""
    cleaned = text(raw)
    if not cleaned or len(cleaned) > _MAX_NUMBER:
        return None
    try:
        value = Decimal(cleaned)
    except InvalidOperation:
        return None
    return value if value.is_finite() else None


def priority(raw: str | None) -> Decimal | None:
    """Return a priority: a number from 0 to 1; short texts are remembered."""
    return (_known_priority if len(raw or "") <= MAX_REMEMBERED else _read_priority)(raw)


def _read_priority(raw: str | None) -> Decimal | None:
    value = number(raw)
    if value is None or not MIN_VALID_PRIORITY <= value <= MAX_VALID_PRIORITY:
        return None
    return value


_known_priority = lru_cache(maxsize=1024)(_read_priority)


def whole_number(raw: str | None) -> int | None:
    """Return an integer."""
    value = number(raw)
    if value is None or value.adjusted() > _MAX_DIGITS or value != value.to_integral_value():
        return None
    return int(value)


def change_frequency(raw: str | None) -> SitemapPageChangeFrequency | None:
    """Return a change frequency; short texts are remembered."""
    return (_known_frequency if len(raw or "") <= MAX_REMEMBERED else _read_frequency)(raw)


def _read_frequency(raw: str | None) -> SitemapPageChangeFrequency | None:
    word = (text(raw) or "").lower()
    return SitemapPageChangeFrequency(word) if SitemapPageChangeFrequency.has_value(word) else None


_known_frequency = lru_cache(maxsize=64)(_read_frequency)


def yes_no(raw: str | None) -> bool | None:
    """Return a boolean."""
    word = (text(raw) or "").lower()
    if word in _YES:
        return True
    return False if word in _NO else None


def listed(raw: str | None, separator: str | None) -> tuple[str, ...]:
    """Return the items of a list, without empty ones; whitespace is the default separator."""
    if raw is None or len(raw) > MAX_REMEMBERED:
        return _items(raw, separator)
    return _known_items(raw, separator)


def _items(raw: str | None, separator: str | None) -> tuple[str, ...]:
    return tuple(filter(None, map(str.strip, (text(raw) or "").split(separator))))


_known_items = lru_cache(maxsize=1024)(_items)  # keywords repeat, genres and countries even more


# Addresses ------------------------------------------------------------------------------------------

_INVISIBLE = "\ufeff\u200b\u2060"  # stands around pasted URLs, which are not white space to Python
_BLANK = re.compile(r"\s")
SCHEMES = ("http://", "https://")
_MARKUP = re.compile('["<>]')
_EXTENSION = re.compile("[A-Za-z0-9]{2,5}")
_HOST = re.compile(r"([A-Za-z0-9_-]++(?:\.[A-Za-z0-9_-]++)*+\.?+)(:[0-9]{1,5})?+(?=[/?#]|\Z)")


def is_address(text: str, base: str | None) -> bool:
    """Return whether a text is clearly a URL: with a scheme, a host, or a path from the root."""
    if _BLANK.search(text):
        return False
    return text[:8].lower().startswith((*SCHEMES, "/")) or begins_with_host(text, base)


def begins_with_host(loc: str, base: str | None) -> bool:
    """Return whether a URL without a scheme begins with a host: ``www.…``, or one of the base's.

    Anything else may as well be the name of a file.
    """
    host = _HOST.match(loc)
    if host is None:
        return False
    name = host[1].lower()
    if "." not in name and host[2] is None:
        return False
    if name.startswith("www."):
        return name.count(".") > 1
    own_name, own_port = _own_host(base) if base else (None, None)
    if own_name is None:
        return False
    if name == own_name:
        return "." in name or (host[2] is not None and host[2] == own_port)
    return "." in name and (own_name.endswith(f".{name}") or name.endswith(f".{own_name}"))


@lru_cache(maxsize=64)
def _own_host(base: str) -> tuple[str | None, str | None]:
    """Return the name of a base's host, without ``www.``, and its port as it is written."""
    own = _HOST.match(base.partition("//")[2])
    return (own[1].lower().removeprefix("www."), own[2]) if own else (None, None)


def absolute_url(loc: str, base: str | None) -> str | None:
    """Return the absolute form of a URL in a sitemap; None if it is not an HTTP URL.

    Without a base, a relative URL is returned as it is.
    """
    if USUAL.fullmatch(loc):
        return loc
    url = None if loc[-1:] in _INVISIBLE else _plain_url(loc, base)
    if url is not None:
        return url
    loc = _mended(loc)
    return loc if USUAL.fullmatch(loc) else _mended_url(loc, base)


def child_url(loc: str, base: str | None) -> str | None:
    """Return the absolute form of the URL of a sitemap that another one lists.

    One that cannot be requested is a failure of its own, so it stays.
    """
    url = absolute_url(loc, base)
    return loc.strip() if url is None and is_http_url(loc.strip()) else url


def _plain_url(loc: str, base: str | None) -> str | None:
    """Return the absolute form of a URL that has no blanks and clearly is one; None for others."""
    if loc[0] != "/":
        return loc if can_be_requested(loc) else None
    return known_base(base).join_plain(loc) if base else None


def _mended_url(loc: str, base: str | None) -> str | None:
    if not loc[:8].lower().startswith(SCHEMES):
        if begins_with_host(loc, base):
            scheme = "https" if (base or "")[:6].lower() == "https:" else "http"
            loc = f"{scheme}://{loc}"
        elif not _is_relative(loc):
            return None
        elif base is None:
            return loc
        else:
            loc = known_base(base).join(loc)
    escaped = loc.replace(" ", "%20")
    return (
        loc if can_be_requested(escaped) or can_be_requested(_BLANK.sub("%20", escaped)) else None
    )


def _is_relative(loc: str) -> bool:
    """Return whether a text is a relative URL, and not one of another scheme, words or markup."""
    scheme, colon, _ = loc.partition(":")
    if colon and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return False
    if loc[:1] in ("/", "?", "#") or loc.startswith(("./", "../")):
        return True
    if not loc or _MARKUP.search(loc):
        return False
    word, *words = loc.split(None, 1)
    if not words or "/" in word:
        return True
    # With blanks in it, it must end as the name of a file does.
    _, dot, end = loc.partition("?")[0].partition("#")[0].rpartition(".")
    return bool(dot) and _EXTENSION.fullmatch(end) is not None


def _mended(loc: str) -> str:
    """Return a URL without what stands around it, and without the breaks of lines if it was wrapped."""
    loc = loc.strip().strip(_INVISIBLE).strip()
    if "\n" in loc or "\r" in loc or "\t" in loc:
        lines = loc.replace("\r", "\n").replace("\t", "\n").split("\n")
        loc = "".join(map(str.strip, lines))
    return loc


USUAL = re.compile(rf"{USUAL_ORIGIN}(?:[/?#][!-~\w]*+)?+")
"""A URL with a usual host in ASCII and nothing in it that is not printed."""


def resolved(address: str, base: str | None) -> str:
    """Return an address of an image, a video or another language, resolved as a page's.

    One that cannot be is left as it is written.
    """
    if address.startswith(SCHEMES) or address[:8].lower().startswith(SCHEMES):
        return address
    return absolute_url(address, base) or address
