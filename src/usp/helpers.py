"""Small functions that programs use besides the tree.

This module imports only leaves at the top; the functions that fetch or decompress import what they
need when they are called.
"""

from __future__ import annotations

import html
import logging
import re
from collections.abc import Callable, Iterable
from http import HTTPStatus
from typing import TYPE_CHECKING, TypeAlias

from usp._base.dates import read_date
from usp._base.display import get_logger
from usp._base.names import lazy_getattr
from usp._base.urls import is_http_url, urlsplit, urlunsplit, without_login
from usp.exceptions import GunzipException, SitemapException, StripURLToHomepageException
from usp.web_client.abstract_client import (
    AbstractWebClient,
    AbstractWebClientResponse,
    AbstractWebClientSuccessResponse,
    WebClientErrorResponse,
    status_of,
)

if TYPE_CHECKING:
    from datetime import datetime

    from usp.objects.child import ChildSitemap
    from usp.objects.problem import Problem
else:
    __getattr__ = lazy_getattr(__name__)

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

log = get_logger(__name__)
_GZIP = b"\x1f\x8b"  # how the data begins

HAS_DATETIME_NEW_ISOPARSER = True
"""Whether ``datetime.fromisoformat`` reads all of ISO 8601, as it does from Python 3.11 on."""

RecurseCallbackType: TypeAlias = Callable[[str, int, set[str]], bool]
"""``(url, recursion_level, parent_urls) -> follow it?``"""

RecurseListCallbackType: TypeAlias = Callable[[list[str], int, set[str]], list[str]]
"""``(urls, recursion_level, parent_urls) -> the URLs to follow``"""

RecurseEntryCallbackType: TypeAlias = "Callable[[ChildSitemap], bool]"
"""``(child) -> follow it?``, with everything that the index says about the child"""

_REFERENCE = re.compile(r"&(?:#[0-9]{1,8}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{0,40});")


def html_unescape_strip(string: str | None) -> str | None:
    """Return a text with character references decoded and white space stripped; None if it is empty.

    Only references that end in ``;`` are decoded, so ``?a=1&section=2`` is left unchanged.
    """
    if not string:
        return string
    if "&" in string and ";" in string:
        string = _REFERENCE.sub(lambda match: html.unescape(match[0]), string)
    return string.strip() or None


def strip_url_to_homepage(url: str) -> str:
    """Return a URL cut back to its scheme and host, with a trailing slash.

    Raises ``StripURLToHomepageException`` for anything that is not an HTTP(S) URL.
    """
    if not url:
        raise StripURLToHomepageException("URL is empty.")
    if not isinstance(url, str):
        raise StripURLToHomepageException(f"Unable to parse URL {url}: it is not a string")
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


def parse_iso8601_date(date_string: str) -> datetime | None:
    """Return a date in the format of sitemaps; None if it cannot be parsed.

    A year or a month means its first day. The result is aware if the text has an offset, else naive.
    """
    if not date_string:
        raise SitemapException("Date string is unset.")
    return read_date(date_string)


def parse_rfc2822_date(date_string: str) -> datetime | None:
    """Return a date in the format of feeds (or of sitemaps); None if it cannot be parsed."""
    return parse_iso8601_date(date_string)


# Fetching and unpacking: done by the layers above ------------------------------------------------


def get_url_retry_on_client_errors(
    url: str,
    web_client: AbstractWebClient,
    retry_count: int = 5,
    sleep_between_retries: int = 1,
    quiet_404: bool = False,
) -> AbstractWebClientResponse:
    """Return the response for a URL, after retries of temporary errors; sleeps between them.

    With ``quiet_404``, the response 404 is logged as information and not as a warning.
    """
    import time  # noqa: PLC0415 - parsers use this module, and know no clock

    from usp._crawl.schedule import RetryPolicy  # noqa: PLC0415 - see the module

    policy = RetryPolicy(
        connection=retry_count,
        busy=retry_count,
        server=retry_count,
        first_delay=sleep_between_retries,
        growth=1,
    )
    shown, failures = without_login(url), 0
    while True:
        log.info("Fetching URL %s...", shown)
        response = web_client.get(url)
        if not isinstance(response, WebClientErrorResponse):
            return response
        expected = quiet_404 and status_of(response) == HTTPStatus.NOT_FOUND
        level = logging.INFO if expected else logging.WARNING
        log.log(level, "Request for URL %s failed: %s", shown, response.message())
        failures += 1
        pause = policy.delay(failures, response)
        if pause is None:
            end = "Giving up on URL %s" if response.retryable() else "Not retrying for URL %s"
            log.info(end, shown)
            return response
        log.info("Retrying URL %s in %g seconds...", shown, pause)
        time.sleep(pause)


def gunzip(data: bytes, max_output_bytes: int | None = None) -> bytes:
    """Return decompressed gzip data; raise ``GunzipException`` if it is invalid or too large."""
    from usp._formats.unpack import GZIP, MAGIC, Inflater  # noqa: PLC0415 - see the module
    from usp.limits import Limits  # noqa: PLC0415
    from usp.objects.problem import Problems  # noqa: PLC0415

    if data is None:
        raise GunzipException("Data is None.")
    if not isinstance(data, bytes):
        raise GunzipException(f"Data is not bytes: {data!r}")
    if not data:
        raise GunzipException("Data is empty (no way an empty string is a valid Gzip archive).")
    if not data.startswith(MAGIC):
        raise GunzipException(f"Unable to gunzip data: Not a gzipped file ({data[:2]!r})")
    problems, result = Problems(), bytearray()
    inflater = Inflater(GZIP, problems, Limits(ratio=None))
    for piece in inflater.feed(data):
        result += piece
        if max_output_bytes is not None and len(result) > max_output_bytes:
            raise GunzipException(
                "Unable to gunzip data: Gunzipped data exceeds maximum output size of "
                f"{max_output_bytes} bytes."
            )
    inflater.close()
    for problem in problems.listed():
        raise GunzipException(f"Unable to gunzip data: {problem.message}")
    return bytes(result)


def gunzip_complaint(
    url: str, content_type: str | None, start: bytes, problems: Iterable[Problem]
) -> str | None:
    """Return why a document is not gzip although its URL, type or first bytes say so."""
    if start.startswith(_GZIP):
        codes = ("GZIP_CUT_OFF", "GZIP_BROKEN")
        damage = next((problem for problem in problems if problem.code.name in codes), None)
        reason = damage and damage.message
        if damage and damage.code.name == codes[0]:  # in words of Python's own
            reason = "Compressed file ended before the end-of-stream marker was reached"
    else:
        path = url.partition("?")[0].partition("#")[0].lower()
        promised = path.endswith(".gz") or "gzip" in (content_type or "").lower()
        reason = f"Not a gzipped file ({start[:2]!r})" if promised else None
    return None if reason is None else f"Unable to gunzip data: {reason}"


def ungzipped_response_content(
    url: str, response: AbstractWebClientSuccessResponse, max_uncompressed_bytes: int | None = None
) -> str:
    """Return the text of a response, decompressed, and decoded by BOM, header or declaration."""
    from usp._formats.decode import Decoder  # noqa: PLC0415 - see the module
    from usp.limits import Limits  # noqa: PLC0415

    limits = Limits(unpacked_bytes=max_uncompressed_bytes, ratio=None)
    content_type, data = response.header("Content-Type"), response.raw_data()
    decoder = Decoder(content_type=content_type, limits=limits)
    text = decoder.feed(data) + decoder.close()
    problems = decoder.problems.listed()
    complaint = gunzip_complaint(url, content_type, data[:2], problems)
    if complaint is not None:
        log.warning(
            "Unable to gunzip response for %s, maybe it's a non-gzipped sitemap: %s", url, complaint
        )
    for problem in problems:
        log.warning("%s: %s", url, problem)
    return text
