"""Text of websites, made fit to be shown: no controls, no marks of direction, no endless lines."""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING
from urllib.parse import quote

from usp._base.urls import origin_of

if TYPE_CHECKING:
    from collections.abc import Iterable

MAX_URL = 300
MAX_TEXT = 200
DASH = "\N{EN DASH}"


def shown_url(url: str, most: int = MAX_URL) -> str:
    """Return a URL with everything that has no shape percent-encoded, cut in its middle if long."""
    if len(url) > 2 * most:
        url = url[:most] + url[-most:]
    if not url.isprintable():
        url = "".join(c if c.isprintable() else quote(c, errors="surrogatepass") for c in url)
    if len(url) <= most:
        return url
    tail = most // 3
    return f"{url[: most - tail - 1]}…{url[-tail:]}"


def shown_text(text: str, most: int = MAX_TEXT) -> str:
    """Return text on one line, what has no shape as an escape, cut if long."""
    text = " ".join(text[: 2 * most].split())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escape(c) for c in text)
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _escape(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def shared_origin(urls: Iterable[str]) -> str:
    """Return the scheme and host that most URLs have, of equals the first; empty if none has any."""
    origins = Counter(filter(None, map(origin_of, urls)))
    return max(origins, key=origins.__getitem__, default="")


def without_origin(text: str, start: str) -> str:
    """Return a text in which the URLs of a website begin with their paths.

    ``start`` is the website's homepage. Its own address stays as it is: a lone slash says nothing.
    """
    if "://" not in start or not start.endswith("/"):
        return text
    return _addresses_at(start).sub("/", text)


@lru_cache(maxsize=8)
def _addresses_at(start: str) -> re.Pattern[str]:
    """Return what finds the addresses of a website in a text, but for its homepage."""
    return re.compile(rf"(?<![\w:/]){re.escape(start)}(?=[^\s'\"()<>,;:.]|\.\w)")


class Addresses:
    """Shows URLs, and texts that name them, without the scheme and host that most of them share."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._start = f"{origin}/" if origin else ""

    def url(self, url: str, most: int = MAX_URL) -> str:
        """Return a URL from its path on, or in full if it is elsewhere."""
        start = self._start
        return shown_url(url[len(start) - 1 :] if start and url.startswith(start) else url, most)

    def text(self, text: str, most: int = MAX_TEXT) -> str:
        """Return a text in which the URLs begin with their paths."""
        return shown_text(without_origin(text, self._start), most)
