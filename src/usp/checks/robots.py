"""What a robots.txt allows, as RFC 9309 says."""

from __future__ import annotations

import re
from functools import cached_property
from typing import TYPE_CHECKING

from protego import Protego

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

MAX_BYTES = 512 * 1024
"""How much of a robots.txt counts: RFC 9309 asks for at least 500 KiB."""

_DISALLOW = re.compile(r"^[ \t]*dis-?allow[ \t]*:[ \t]*([^\s#]+)", re.IGNORECASE | re.MULTILINE)
_KEPT = re.compile(r"[A-Za-z0-9/_.?=&-]+")


class Robots:
    """What robots may fetch; everything, if there is no robots.txt."""

    def __init__(self, text: str = "") -> None:
        self.text = text

    @cached_property
    def _rules(self) -> Protego:
        return Protego.parse(self.text)

    @cached_property
    def _suspects(self) -> re.Pattern[str] | None:
        return suspects(self.text)

    def disallowed(self, urls: Sequence[str], joined: str, agent: str = "*") -> Iterator[int]:
        """Yield the numbers of the URLs that robots may not fetch; ``joined`` has a line for each."""
        if self._suspects is None:
            return
        suspects = set(self._suspects.findall(joined))
        if not suspects:
            return
        denied = {url for url in suspects if not self.allows(url, agent)}
        if denied:
            yield from (at for at, url in enumerate(urls) if url in denied)

    @property
    def delay(self) -> float:
        """The pause between requests that it asks for, in seconds."""
        return float(self._rules.crawl_delay("*") or 0.0) if self.text else 0.0

    def allows(self, url: str, agent: str = "*") -> bool:
        """Return whether robots may fetch a URL."""
        return not self.text or bool(self._rules.can_fetch(url, agent))


def suspects(text: str) -> re.Pattern[str] | None:
    """Return what matches every URL, on a line of its own, that a robots.txt may disallow, and others.

    A path is taken literally as far as that is certain. Escapes are written in several ways, so that a
    URL with one may always match. None: nothing is disallowed.
    """
    paths = {_loosely(path) for path in _DISALLOW.findall(text)}
    if not paths:
        return None
    either = "|".join(sorted(paths))
    return re.compile(rf"^https?://[^/?#\n]*+(?:(?:{either})|[^\n]*%).*+$", re.MULTILINE)


def _loosely(path: str) -> str:
    """Return a pattern that matches at least what a path of robots.txt does."""
    first = _KEPT.match(path)
    start = first[0] if first and path.startswith("/") else ""
    rest = max(_KEPT.findall(path[len(start) :]), key=len, default="")
    return re.escape(start) + (f"[^\\n]*{re.escape(rest)}" if rest else "")
