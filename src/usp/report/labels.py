"""Names, URLs and texts of a website as the report, notebooks and the command line show them.

No control characters, no direction marks, no endless lines.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import TYPE_CHECKING

from usp._base.safe_text import excerpt, printable
from usp._base.urls import origin_of
from usp.objects.sitemap import InvalidSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable

    from usp.objects.sitemap import AbstractSitemap

FAILED = "failed"
INCOMPLETE = "incomplete"
NOT_FOLLOWED = "not followed"

MAX_URL = 300
MAX_TEXT = 200
DASH = "\N{EN DASH}"


def state_of(node: AbstractSitemap) -> tuple[str | None, str | None]:
    """Return the state of a sitemap and the reason for it; both None if it was read to its end."""
    failure = node.failure
    if failure is not None:
        return (FAILED if isinstance(node, InvalidSitemap) else INCOMPLETE), failure.brief
    if not isinstance(node, InvalidSitemap):
        return None, None
    return NOT_FOLLOWED, node.why.brief


def shown_url(url: str, most: int = MAX_URL) -> str:
    """Return a URL with invisible characters percent-encoded, shortened in the middle if long."""
    if len(url) > 2 * most:
        url = url[:most] + url[-most:]
    url = printable(url)
    if len(url) <= most:
        return url
    tail = most // 3
    return f"{url[: most - tail - 1]}…{url[-tail:]}"


def shown_text(text: str, most: int = MAX_TEXT) -> str:
    """Return text on one line with invisible characters escaped, shortened if long."""
    text = " ".join(text[: 2 * most].split())
    if not text.isprintable():
        text = "".join(c if c.isprintable() else _escape(c) for c in text)
    return excerpt(text, most)


def _escape(char: str) -> str:
    return f"\\u{{{ord(char):x}}}"


def shared_origin(urls: Iterable[str]) -> str:
    """Return the most frequent scheme and host, the first one of a tie; empty if there is none."""
    origins = Counter(filter(None, map(origin_of, urls)))
    return max(origins, key=origins.__getitem__, default="")


def without_origin(text: str, start: str) -> str:
    """Return text with the URLs of a website shortened to their paths.

    ``start`` is the homepage. Its own URL is left as it is: a lone slash would say nothing.
    """
    if "://" not in start or not start.endswith("/"):
        return text
    return _addresses_at(start).sub("/", text)


@lru_cache(maxsize=8)
def _addresses_at(start: str) -> re.Pattern[str]:
    """Return a pattern for the URLs of a website in a text, except its homepage."""
    return re.compile(rf"(?<![\w:/]){re.escape(start)}(?=[^\s'\"()<>,;:.]|\.\w)")


class Addresses:
    """Shortens URLs, and texts that contain them, by the scheme and host that most of them share."""

    def __init__(self, origin: str) -> None:
        self.origin = origin
        self._start = f"{origin}/" if origin else ""

    def url(self, url: str, most: int = MAX_URL) -> str:
        """Return the path of a URL, or all of it if it is on another host."""
        start = self._start
        return shown_url(url[len(start) - 1 :] if start and url.startswith(start) else url, most)

    def text(self, text: str, most: int = MAX_TEXT) -> str:
        """Return text with URLs shortened to their paths."""
        return shown_text(without_origin(text, self._start), most)
