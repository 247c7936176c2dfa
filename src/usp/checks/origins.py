"""Where pages and sitemaps are: the origins of URLs, and what a sitemap may list.

A sitemap lists pages of its own host, below its own folder. One that a robots.txt declares, or that is
in an index that it declares, may list everything on the host of that robots.txt.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from usp._base.urls import BadUrl, read_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from usp._base.urls import HttpUrl
    from usp.checks.blocks import Block

_ORIGIN = re.compile(r"\n([^/\n]*+//[^/?#\n]*+)")
_MOST_ORIGINS = 100  # of one sitemap


@lru_cache(maxsize=4096)
def origin_at(text: str) -> HttpUrl | None:
    """Return the origin of a URL as a URL; None if it has none that is certain."""
    try:
        return read_url(text)
    except BadUrl:
        return None


def beginning(url: str) -> str:
    """Return scheme and host of a URL as they are written."""
    found = _ORIGIN.match(f"\n{url}")
    return found[1] if found else ""


def origins_in(joined: str) -> list[str]:
    """Return the origins of URLs, a line each, as they are written."""
    return list(dict.fromkeys(_ORIGIN.findall(joined)))


def bare(url: HttpUrl) -> str:
    """Return the host and port of a URL, without ``www.``."""
    return url.site.removeprefix("www.")


@dataclass(slots=True)
class OriginCount:
    """How many pages of a sitemap have one origin, and which one was the first."""

    origin: HttpUrl
    url: str
    line: int | None
    column: int | None
    pages: int = 0


class Origins:
    """The origins of the pages of a sitemap, as they are written."""

    def __init__(self) -> None:
        self.counts: dict[str, OriginCount] = {}
        self._usual = ""

    def add(self, block: Block) -> Sequence[str]:
        """Count the pages of a block, and return its origins; most blocks have the same one."""
        urls, joined = block.urls, block.joined
        found = {self._usual: len(urls)}
        if not self._usual or joined.count(f"\n{self._usual}/") != len(urls):
            found = Counter(_ORIGIN.findall(joined))
            self._usual = next(iter(found), "")
        for written, pages in found.items():
            if written in self.counts:
                self.counts[written].pages += pages
            elif len(self.counts) < _MOST_ORIGINS and (origin := origin_at(written)) is not None:
                at = next(at for at, url in enumerate(urls) if beginning(url) == written)
                place = block.place(at)
                self.counts[written] = OriginCount(
                    origin, urls[at], place.line, place.column, pages
                )
        return list(found)


@dataclass(frozen=True, slots=True)
class Reach:
    """What a sitemap may list.

    ``own`` are its URLs, before and after redirects; ``proven`` those of the robots.txt that declares
    it. Both are empty for a file.
    """

    own: tuple[HttpUrl, ...] = ()
    proven: tuple[HttpUrl, ...] = ()

    @property
    def all(self) -> tuple[HttpUrl, ...]:
        """Everything that gives it a host."""
        return self.own + self.proven

    def has_host(self, origin: HttpUrl) -> bool:
        """Return whether an origin is one of its hosts, with or without ``www.``."""
        return bare(origin) in {bare(url) for url in self.all}

    def folders(self) -> tuple[str, ...]:
        """Return the folders that limit it, from the root on; empty if nothing does."""
        found = {folder_of(url) for url in self.own}
        return () if "/" in found else tuple(sorted(found))

    def is_proven(self, origin: HttpUrl) -> bool:
        """Return whether a robots.txt declares the sitemap for a host."""
        return bare(origin) in {bare(url) for url in self.proven}


def read_all(urls: Iterable[str | None]) -> tuple[HttpUrl, ...]:
    """Return the HTTP URLs among some, each once."""
    found = dict.fromkeys(origin_at(url) for url in urls if url)
    return tuple(url for url in found if url is not None)


def folder_of(url: HttpUrl) -> str:
    """Return the path of a URL up to its last slash."""
    path = url.rest.partition("#")[0].partition("?")[0]
    return path[: path.rfind("/") + 1]


def path_in(url: str, written: str) -> str:
    """Return path and query of a URL, with a slash at its beginning."""
    rest = url[len(written) :]
    return rest if rest.startswith("/") else f"/{rest}"
