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
from urllib.parse import urljoin

from usp._base.dates import MAX_REMEMBERED, known_date, read_date
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
_BREAK = re.compile(r"(?<!\s)[^\S\t\r\n]*+[\t\r\n]\s*+")  # a URL that was wrapped
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
    if name.startswith("www."):
        return name.count(".") > 1
    own = _HOST.match((base or "").partition("//")[2])
    if own is None:
        return False
    own_name = own[1].lower().removeprefix("www.")
    if name == own_name:
        return "." in name or (host[2] is not None and host[2] == own[2])
    return "." in name and (own_name.endswith(f".{name}") or name.endswith(f".{own_name}"))


def absolute_url(loc: str, base: str | None) -> str | None:
    """Return the absolute form of a URL in a sitemap; None if it is not an HTTP URL.

    Without a base, a relative URL is returned as it is.
    """
    if _USUAL.fullmatch(loc):
        return loc
    return (base and _behind(base, loc)) or _absolute_url(loc, base)


def _absolute_url(loc: str, base: str | None) -> str | None:
    loc = _BREAK.sub("", loc.strip().strip(_INVISIBLE).strip())
    absolute = loc[:8].lower().startswith(SCHEMES)
    if not absolute and begins_with_host(loc, base):
        scheme = "https" if (base or "")[:6].lower() == "https:" else "http"
        absolute, loc = True, f"{scheme}://{loc}"
    if absolute:
        return loc if is_http_url(_BLANK.sub("%20", loc)) else None
    if not loc:
        return None
    scheme, colon, _ = loc.partition(":")
    if colon and scheme.replace("+", "").replace("-", "").replace(".", "").isalnum():
        return None
    if base is None:
        return loc
    try:
        joined = urljoin(base, loc)
    except ValueError:
        return None
    return joined if is_http_url(joined) else None


# A URL with a host in ASCII and nothing in it that is not printed.
_USUAL = re.compile(r"https?://[A-Za-z0-9][A-Za-z0-9.-]*+(?::[0-9]{1,5}+)?+(?:[/?#][!-~\w]*+)?+")

# A path that goes behind its base as it is: no segment is empty or begins with a dot.
_PATH = re.compile(
    r"/?+[\w%~+,=-][\w%~+,=.-]*+(?:/[\w%~+,=-][\w%~+,=.-]*+)*+/?+(?:\?[\w%~+,=./&-]++)?+"
)


def on_base(paths: list[str], base: str | None) -> list[str] | None:
    """Return the addresses of plain paths from the root of a base; None if there are others."""
    before = None if base is None else _before_path(base, rooted=True)
    if before is None or not _go_behind(paths):
        return None
    return [before + path for path in paths]


def _go_behind(paths: list[str]) -> bool:
    """Return whether paths begin at a root and are plain: all together, or one by one."""
    joined = "\n".join(["", *paths])
    if joined.count("\n/") != len(paths):
        return False
    if "//" not in joined and "/." not in joined:
        others = joined.encode("utf-8", "surrogatepass").translate(None, _OF_PATHS)
        if not others or _WORD.fullmatch(others.decode("utf-8", "surrogatepass")):
            return True
    return all(map(_PATH.fullmatch, paths))


_WORD = re.compile(r"\w++")
_OF_PATHS = b"\n/?&%~+,=.-_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _behind(base: str, path: str) -> str | None:
    """Return the address of a plain path, as most relative addresses are; None if it is not one."""
    if _PATH.fullmatch(path) is None:
        return None
    rooted = path[0] == "/"
    before = _before_path(base, rooted=rooted)
    if before is None or (not rooted and begins_with_host(path, base)):
        return None
    return f"{before}{path}"


@lru_cache(maxsize=64)
def _before_path(base: str, *, rooted: bool) -> str | None:
    """Return what comes before the path of URLs with this base; None if it is not HTTP."""
    try:
        joined = urljoin(base, "/x" if rooted else "x")
    except ValueError:
        return None
    return joined[: -2 if rooted else -1] if is_http_url(joined) else None


def resolved(address: str, base: str | None) -> str:
    """Return an address of an image, a video or another language, resolved as a page's.

    One that cannot be is left as it is written.
    """
    if address.startswith(SCHEMES) or address[:8].lower().startswith(SCHEMES):
        return address
    return absolute_url(address, base) or address
