"""What a client says about itself, and to whom: the same for every client of ours."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING

from urllib3.util import parse_url

import usp
from usp.shortage import scarce

if TYPE_CHECKING:
    from collections.abc import Mapping

    from usp.limits import Limits

DEFAULT_TIMEOUT = (9.05, 60.0)
"""Seconds to connect, and seconds between two pieces of an answer."""

DEFAULT_CONCURRENCY = 8
"""How many requests to one host are under way at a time, unless told otherwise."""

SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})
"""Headers that are for one host only, whoever has set them."""

_FOR_EVERYBODY = frozenset(
    {"accept", "accept-encoding", "accept-language", "cache-control", "dnt", "from", "user-agent"}
)

_ENCODINGS = "gzip, deflate"  # what is unpacked by content later; others are not asked for
_PORTS = {"http": 80, "https": 443}


class Identity:
    """The headers of a client; those that may be secret go home, and to no other host.

    Home is the host of the start, or else the one that is asked first. If it is asked by HTTPS, it is
    not told secrets without.
    """

    def __init__(self, user_agent: str | None, headers: Mapping[str, str] | None) -> None:
        self._user_agent = user_agent
        self._headers = dict(headers or {})
        self._home: str | None = None

    def at(self, start_url: str) -> Identity:
        """Give the same identity for a crawl that begins at ``start_url``."""
        identity = Identity(self._user_agent, self._headers)
        identity.is_home(start_url)
        return identity

    def is_home(self, url: str) -> bool:
        """Tell whether a URL is of the host that may know secrets."""
        host = host_of(url)
        if not host:
            return False
        if self._home is None:
            self._home = url
        return host == host_of(self._home) and not is_downgrade(self._home, url)

    def headers(self, url: str, *, names_itself: bool = False) -> dict[str, str]:
        """Give the headers of a request; a session that names itself needs no user agent."""
        headers = {"Accept-Encoding": _ENCODINGS}
        if self._user_agent is not None or not names_itself:
            headers["User-Agent"] = self._user_agent or f"ultimate_sitemap_parser/{usp.__version__}"
        if scarce():  # a connection that is kept for later is missing elsewhere now
            headers["Connection"] = "close"
        home = self.is_home(url)
        headers.update(
            (name, value)
            for name, value in self._headers.items()
            if home or name.lower() in _FOR_EVERYBODY  # any other may be a key
        )
        return headers


def host_of(url: str) -> str | None:
    """Give the host of a URL, and its port unless it is the usual one; None if it is no URL."""
    try:
        parts = parse_url(url.lstrip())  # as requests does: both must read the same host
    except ValueError:
        return None
    host = (parts.host or "").lower().rstrip(".")
    usual = parts.port is None or parts.port == _PORTS.get(parts.scheme or "")
    return host if usual else f"{host}:{parts.port}"


def is_downgrade(url: str, other: str) -> bool:
    """Tell whether ``url`` is asked for by HTTPS and the other one is not."""
    first, second = (text.lstrip()[:6].lower() == "https:" for text in (url, other))
    return first and not second


def retry_after(header: str | None) -> float | None:
    """Give the seconds that a ``Retry-After`` header asks to wait, given as seconds or as a date."""
    if header is None:
        return None
    text = header.strip()
    if text.isascii() and text.isdigit():
        return float(text[:12])
    try:
        date = email.utils.parsedate_to_datetime(text)
        return max(0.0, date.timestamp() - time.time())
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def deadline_of(limits: Limits, began: float | None) -> tuple[float, str] | None:
    """Give when an answer must be complete, and what is said if it is not.

    ``began`` is when the crawl did, if there is one.
    """
    ends = []
    if limits.document_seconds is not None:
        at = time.monotonic() + limits.document_seconds
        ends.append((at, limits.reached("document_seconds")))
    if began is not None and limits.seconds is not None:
        ends.append((began + limits.seconds, limits.reached("seconds")))
    return min(ends, default=None)
