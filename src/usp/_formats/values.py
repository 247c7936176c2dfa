"""From the text of a field to its value: texts, dates, numbers, URLs.

The value is None if the text cannot be read.
"""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import datetime
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from operator import itemgetter
from typing import TYPE_CHECKING

from usp._base.dates import MAX_REMEMBERED, known_date, read_date
from usp._base.relative_urls import known_base
from usp._base.urls import is_http_url
from usp.helpers import html_unescape_strip
from usp.objects.page import SitemapPageChangeFrequency

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

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
    """Return a date; short texts are remembered."""
    if raw and len(raw) <= MAX_REMEMBERED and "&" not in raw:
        return known_date(raw)
    cleaned = text(raw)
    return read_date(cleaned) if cleaned else None


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
    """Return a priority: a number from 0 to 1."""
    value = number(raw)
    if value is None or not MIN_VALID_PRIORITY <= value <= MAX_VALID_PRIORITY:
        return None
    return value


def whole_number(raw: str | None) -> int | None:
    """Return an integer."""
    value = number(raw)
    if value is None or value.adjusted() > _MAX_DIGITS or value != value.to_integral_value():
        return None
    return int(value)


def change_frequency(raw: str | None) -> SitemapPageChangeFrequency | None:
    """Return a change frequency."""
    word = (text(raw) or "").lower()
    return SitemapPageChangeFrequency(word) if SitemapPageChangeFrequency.has_value(word) else None


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
    if _USUAL.fullmatch(loc):
        return loc
    url = None if loc[-1:] in _INVISIBLE else _plain_url(loc, base)
    if url is not None:
        return url
    loc = _mended(loc)
    return loc if _USUAL.fullmatch(loc) else _mended_url(loc, base)


def _plain_url(loc: str, base: str | None) -> str | None:
    """Return the absolute form of a URL that has no blanks and clearly is one; None for others."""
    if loc[0] not in "/?.":
        return loc if is_http_url(loc) else None
    return known_base(base).join_plain(loc) if base else None


def _mended_url(loc: str, base: str | None) -> str | None:
    absolute = loc[:8].lower().startswith(SCHEMES)
    if not absolute and begins_with_host(loc, base):
        scheme = "https" if (base or "")[:6].lower() == "https:" else "http"
        absolute, loc = True, f"{scheme}://{loc}"
    if absolute:
        escaped = loc.replace(" ", "%20")
        return loc if is_http_url(escaped) or is_http_url(_BLANK.sub("%20", escaped)) else None
    if not loc:
        return None
    scheme, colon, _ = loc.partition(":")
    if colon and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return None
    return loc if base is None else known_base(base).join(loc)


def _mended(loc: str) -> str:
    """Return a URL without what stands around it, and without the breaks of lines if it was wrapped."""
    loc = loc.strip().strip(_INVISIBLE).strip()
    if "\n" in loc or "\r" in loc or "\t" in loc:
        lines = loc.replace("\r", "\n").replace("\t", "\n").split("\n")
        loc = "".join(map(str.strip, lines))
    return loc


# A URL with a host in ASCII and nothing in it that is not printed.
_USUAL = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*+(?::[0-9]{1,5}+)?+(?:[/?#][!-~\w]*+)?+")


def on_base(paths: list[str], base: str | None) -> list[str] | None:
    """Return the URLs of plain paths from the root of a base; None if there are others."""
    root = None if base is None else known_base(base).root
    if root is None or not _are_plain_paths(paths):
        return None
    return [root + path for path in paths]


def _are_plain_paths(paths: list[str]) -> bool:
    """Return whether paths begin at the root and are not changed when they are joined to a base."""
    joined = "\n".join(["", *paths, ""])
    if joined.count("\n/") != len(paths) or joined.count("\n") != len(paths) + 1:
        return False
    if any(odd in joined for odd in ("//", "/.", "?\n")):
        return False
    others = joined.encode("utf-8", "surrogatepass").translate(None, _OF_PATHS)
    return not others or _WORD.fullmatch(others.decode("utf-8", "surrogatepass")) is not None


_WORD = re.compile(r"\w++")
_OF_PATHS = bytes({*b"\n", *range(0x21, 0x7F)} - set(b"#;<"))


def resolved(address: str, base: str | None) -> str:
    """Return an address of an image, a video or another language, resolved as a page's.

    One that cannot be is left as it is written.
    """
    if address.startswith(SCHEMES) or address[:8].lower().startswith(SCHEMES):
        return address
    return absolute_url(address, base) or address
