"""Small functions that programs use beside the tree.

Nothing of the library is imported at the top of this module but the leaves below it; the three
functions that fetch or unpack call the layer that does the work.
"""

from __future__ import annotations

import datetime as dt
import html
import logging
import re
from collections.abc import Callable
from datetime import UTC, timedelta, timezone, tzinfo
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import urlsplit, urlunsplit

import dateutil.parser

from usp.exceptions import GunzipException, SitemapException, StripURLToHomepageException
from usp.names import elsewhere
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
)

if TYPE_CHECKING:
    from usp.objects.child import ChildSitemap
else:
    __getattr__ = elsewhere(__name__)

__all__ = [
    "HAS_DATETIME_NEW_ISOPARSER",
    "AbstractWebClient",
    "AbstractWebClientResponse",
    "AbstractWebClientSuccessResponse",
    "GunzipException",
    "RecurseCallbackType",
    "RecurseEntryCallbackType",
    "RecurseListCallbackType",
    "SitemapException",
    "StripURLToHomepageException",
    "WebClientErrorResponse",
    "get_url_retry_on_client_errors",
    "gunzip",
    "html_unescape_strip",
    "is_http_url",
    "parse_iso8601_date",
    "parse_rfc2822_date",
    "strip_url_to_homepage",
    "ungzipped_response_content",
]

log = logging.getLogger(__name__)

HAS_DATETIME_NEW_ISOPARSER = True
"""Whether ``datetime.fromisoformat`` reads all of ISO 8601, as it does from Python 3.11 on."""

RecurseCallbackType: TypeAlias = Callable[[str, int, set[str]], bool]
"""``(url, recursion_level, parent_urls) -> follow it?``"""

RecurseListCallbackType: TypeAlias = Callable[[list[str], int, set[str]], list[str]]
"""``(urls, recursion_level, parent_urls) -> the URLs to follow``"""

RecurseEntryCallbackType: TypeAlias = "Callable[[ChildSitemap], bool]"
"""``(child) -> follow it?``, with everything that the index says about the child"""

_MAX_DATE_LENGTH = 100
_REFERENCE = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});")
_HTTP_URL = re.compile(r"https?://[^\s/?#]\S*+", re.IGNORECASE)


def is_http_url(url: str) -> bool:
    """Tell whether ``url`` is an absolute HTTP(S) URL, without blanks."""
    if not _HTTP_URL.fullmatch(url):
        return False
    try:
        return bool(urlsplit(url).hostname)
    except ValueError:
        return False


def html_unescape_strip(string: str | None) -> str | None:
    """Decode character references and strip blanks; None stays None.

    Only references that end in ``;`` are decoded, so ``?a=1&section=2`` stays what it is.
    """
    if string is None:
        return None
    if "&" in string and ";" in string:
        string = _REFERENCE.sub(lambda match: html.unescape(match[0]), string)
    return string.strip()


def strip_url_to_homepage(url: str) -> str:
    """Cut a URL back to its scheme and host, with a trailing slash."""
    try:
        parts = urlsplit(url.strip())
        host = parts.hostname
    except ValueError as error:
        raise StripURLToHomepageException(f"Unable to parse URL {url}: {error}") from error
    if parts.scheme.lower() not in ("http", "https"):
        raise StripURLToHomepageException(
            f"Unable to parse URL {url}: the scheme must be http:// or https://"
        )
    if not host:
        raise StripURLToHomepageException(f"Unable to parse URL {url}: it has no host")
    return urlunsplit((parts.scheme, parts.netloc, "/", "", ""))


# Dates -----------------------------------------------------------------------------------------

_ISO = re.compile(
    r"""
    (?P<year>\d{4})
    (?: (?P<separator>[-/.]) (?P<month>\d{1,2})
        (?: (?P=separator) (?P<day>\d{1,2})
            (?: (?:[Tt]|\s+) (?P<hour>\d{1,2}):(?P<minute>\d{1,2})
                (?: :(?P<second>\d{1,2}) (?:[.,](?P<fraction>\d{1,12}))? )?
            )?
            \s* (?P<zone>[Zz]|UTC|GMT|[+-]\d{1,2}(?::?\d{2})?)?
        )?
    )?
    """,
    re.VERBOSE,
)
_USUAL = re.compile(  # what datetime reads itself, and in the same way
    r"[0-9]{4}-[01][0-9]-[0-3][0-9]"
    r"(?:[T ][0-2][0-9]:[0-5][0-9]:[0-5][0-9](?:Z|[+-][0-2][0-9]:[0-5][0-9])?)?"
)
_LOOKS_ISO = re.compile(r"[+-]?\d{4,}(?:[-/.]|$)")
_HAS_WORDS = re.compile(r"\s[A-Za-z]{2,}|-[A-Za-z]{3,9}-")
_CUT_SHORT = re.compile(r"(?<=\d)[T,;]$")  # a time that is missing, a list that goes on
_FULL_DATE = re.compile(r"\d{4}-?(?:\d{2}-?\d{2}|W\d{2})")  # whose rarer forms datetime knows
_BASIC = re.compile(r"(\d{8})(?:[Tt\s]?(\d{6}|\d{4})([Zz]|[+-]\d{2}:?\d{2})?)?")
_HAS_YEAR = re.compile(r"(?<!\d)(?:\d{4}|\d{1,2}[ -/]++[A-Za-z]{3,9}+[ -/]++\d{2})(?!\d)")
_NO_YEAR = 4  # a leap year that no sitemap means: what dateutil fills in where no year is given
_NO_YEAR_DAY = dt.datetime(_NO_YEAR, 1, 1)  # noqa: DTZ001 - naive, as most sitemaps write it

_ZONES = {  # RFC 2822, section 4.3; other names are left unknown
    "UT": 0, "UTC": 0, "GMT": 0, "Z": 0,
    "EST": -5, "EDT": -4, "CST": -6, "CDT": -5, "MST": -7, "MDT": -6, "PST": -8, "PDT": -7,
}  # fmt: skip


def _zone(name: str | None, offset: int | None) -> tzinfo | None:
    if offset is not None:
        return timezone(timedelta(seconds=offset))
    hours = _ZONES.get((name or "").upper())
    return None if hours is None else timezone(timedelta(hours=hours))


def _iso_zone(text: str | None) -> tzinfo | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    digits = text[1:].replace(":", "")
    hours, minutes = (digits[:-2], digits[-2:]) if len(digits) > 2 else (digits, "0")  # noqa: PLR2004
    offset = timedelta(hours=int(hours), minutes=int(minutes))
    return timezone(-offset if text[0] == "-" else offset)


def _free_date(text: str) -> dt.datetime | None:
    """Read a date in words, which must name its year."""
    if not _HAS_YEAR.search(text):
        return None
    try:
        date = dateutil.parser.parse(text, default=_NO_YEAR_DAY, tzinfos=_zone)
    except (ValueError, OverflowError, TypeError, AttributeError, ArithmeticError):
        return None
    return None if date.year == _NO_YEAR else date


def parse_iso8601_date(date_string: str) -> dt.datetime | None:
    """Read a date as sitemaps write them; None if it cannot be read.

    A year means its first day, a month its first day. The result is aware if the text has an
    offset, naive if not.
    """
    if not date_string:
        raise SitemapException("Date string is unset.")
    text = date_string.strip()
    try:
        if _USUAL.fullmatch(text):
            return dt.datetime.fromisoformat(text)
        text = _CUT_SHORT.sub("", text)
        return _other_date(text) if len(text) <= _MAX_DATE_LENGTH else None
    except ValueError:
        return None


def _other_date(text: str) -> dt.datetime | None:
    match = _ISO.fullmatch(text)
    if match:
        part = match.groupdict()
        return dt.datetime(
            int(part["year"]),
            int(part["month"] or 1),
            int(part["day"] or 1),
            int(part["hour"] or 0),
            int(part["minute"] or 0),
            int(part["second"] or 0),
            int((part["fraction"] or "").ljust(6, "0")[:6]),
            tzinfo=_iso_zone(part["zone"]),
        )
    basic = _BASIC.fullmatch(text)
    if basic:
        day, time, zone = basic.groups("")
        return dt.datetime.fromisoformat(f"{day}T{time or '000000'}{zone.upper()}")
    if _LOOKS_ISO.match(text) and not _HAS_WORDS.search(text):
        return dt.datetime.fromisoformat(text) if _FULL_DATE.match(text) else None
    return _free_date(text)


def parse_rfc2822_date(date_string: str) -> dt.datetime | None:
    """Read a date as feeds write them (or as sitemaps do); None if it cannot be read."""
    if not date_string:
        raise SitemapException("Date string is unset.")
    return parse_iso8601_date(date_string)


# Fetching and unpacking: done by the layers above ------------------------------------------------


def get_url_retry_on_client_errors(
    url: str,
    web_client: AbstractWebClient,
    retry_count: int = 5,
    sleep_between_retries: int = 1,
    quiet_404: bool = False,
) -> AbstractWebClientResponse:
    """Fetch a URL, asking again after errors that may pass."""
    from usp.crawl.retry import RetryPolicy, get_with_retries  # noqa: PLC0415 - see the module

    policy = RetryPolicy(
        connection=retry_count,
        busy=retry_count,
        server=retry_count,
        first_delay=sleep_between_retries,
        growth=1,
    )
    return get_with_retries(url, web_client, policy, quiet_404=quiet_404)


def gunzip(data: bytes, max_output_bytes: int | None = None) -> bytes:
    """Unpack gzip data; raises ``GunzipException`` if it is none, broken, or too much."""
    from usp.formats.unpack import gunzip_all  # noqa: PLC0415 - see the module

    return gunzip_all(data, max_output_bytes)


def ungzipped_response_content(
    url: str, response: AbstractWebClientSuccessResponse, max_uncompressed_bytes: int | None = None
) -> str:
    """Give the text of an answer: unpacked by its content, decoded by BOM, header or declaration."""
    from usp.formats.decode import Decoder  # noqa: PLC0415 - see the module
    from usp.limits import Limits  # noqa: PLC0415

    limits = Limits(unpacked_bytes=max_uncompressed_bytes, ratio=None)
    decoder = Decoder(content_type=response.header("Content-Type"), limits=limits)
    text = decoder.feed(response.raw_data()) + decoder.close()
    for problem in decoder.problems.listed():
        log.warning("%s: %s", url, problem)
    return text
