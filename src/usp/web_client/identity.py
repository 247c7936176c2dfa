"""What a client says about itself, and to whom: the same for every client of ours."""

from __future__ import annotations

import email.utils
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import usp

if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_TIMEOUT = (9.05, 60.0)
"""Seconds to connect, and seconds between two pieces of an answer."""

DEFAULT_CONCURRENCY = 8
"""How many requests to one host are under way at a time, unless told otherwise."""

_ENCODINGS = "gzip, deflate"  # what is unpacked by content later; others are not asked for
_SECRET_HEADERS = frozenset({"authorization", "cookie", "proxy-authorization"})


class Identity:
    """The headers of a client; secrets go to the host that is asked first, and to no other."""

    def __init__(self, user_agent: str | None, headers: Mapping[str, str] | None) -> None:
        self._user_agent = user_agent
        self._headers = dict(headers or {})
        self._home: str | None = None

    def is_home(self, url: str) -> bool:
        """Tell whether a URL is of the host that was asked first."""
        host = host_of(url)
        if host is not None and self._home is None:
            self._home = host
        return host is not None and host == self._home

    def headers(self, url: str, *, names_itself: bool = False) -> dict[str, str]:
        """Give the headers of a request; a session that names itself needs no user agent."""
        headers = {"Accept-Encoding": _ENCODINGS}
        if self._user_agent is not None or not names_itself:
            headers["User-Agent"] = self._user_agent or f"ultimate_sitemap_parser/{usp.__version__}"
        home = self.is_home(url)
        headers.update(
            (name, value)
            for name, value in self._headers.items()
            if home or name.lower() not in _SECRET_HEADERS
        )
        return headers


def host_of(url: str) -> str | None:
    """Give host and port of a URL, or None if it is none."""
    try:
        return urlsplit(url).netloc.lower()
    except ValueError:
        return None


def message_of(error: BaseException) -> str:
    """Give what an exception says, or else what it is."""
    return str(error) or type(error).__name__


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
