"""Relative URLs: the results of ``urllib.parse.urljoin``, for many URLs with the same base.

A base is taken apart once. A URL that is written in a usual way goes after the part of the base that
it keeps; the others are left to ``urljoin``.
"""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import urljoin

from usp._base.urls import is_http_url

# A path and what follows it. Empty queries and fragments, and parameters, are left to urljoin.
_PARTS = re.compile(r"([^\s\x00-\x1f?#;]*+)((?:\?[^\s\x00-\x1f#]++)?+(?:#[^\s\x00-\x1f]++)?+)")


class Base:
    """The URL that others are relative to."""

    __slots__ = ("_folder", "_folders", "_page", "_scheme", "root", "url")

    def __init__(self, url: str) -> None:
        self.url = url
        self.root = self._before("/x", 2)
        self._folder = self._before("x", 1)
        self._page = self._before("?x", 2)
        self._scheme, self._folders = "", [""]
        if self.root and self._folder:
            self._scheme = self.root[: self.root.index(":") + 1]
            self._folders = self._folder[len(self.root) : -1].split("/")

    def _before(self, example: str, length: int) -> str | None:
        """Return what comes before an example of a relative URL; None if that is not HTTP."""
        joined = self._urljoin(example)
        return None if joined is None else joined[:-length]

    def _urljoin(self, url: str) -> str | None:
        try:
            joined = urljoin(self.url, url)
        except ValueError:
            return None
        return joined if is_http_url(joined) else None

    def join(self, url: str) -> str | None:
        """Return the absolute form of a URL; None if it is not an HTTP URL."""
        return self.join_plain(url) or self._urljoin(url)

    def join_plain(self, url: str) -> str | None:
        """Return the absolute form of a URL that is written in a usual way; None for all others."""
        parts = _PARTS.fullmatch(url)
        if parts is None:
            return None
        path, rest = parts.groups()
        if path[:2] == "//":
            joined = f"{self._scheme}{path}{rest}"
            return joined if is_http_url(joined) else None
        before, path = self._kept(path, rest)
        return f"{before}{path}{rest}" if before else None

    def _kept(self, path: str, rest: str) -> tuple[str | None, str]:
        """Return the part of the base that is kept, if that is certain, and the path after it."""
        if path[:1] == "/":
            return self.root, _without_dots(path.split("/")) if "/." in path else path
        if not path:
            return self._page if rest[:1] == "?" else None, path
        if self._folder is None or ":" in path:
            return None, path
        if path[0] != "." and "/." not in path and "//" not in path:
            return self._folder, path
        *folders, last = path.split("/")
        return self.root, _without_dots([*self._folders, *filter(None, folders), last])


def _without_dots(segments: list[str]) -> str:
    """Return a path from the root, with ``.`` and ``..`` resolved."""
    kept: list[str] = []
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    path = "/".join(kept)
    return path if path[:1] == "/" else f"/{path}"


known_base = lru_cache(maxsize=64)(Base)
"""Returns the :class:`Base` of a URL, cached."""
