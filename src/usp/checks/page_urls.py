"""URLs of pages: their normal form, their origins, what a sitemap may list, and what was listed before.

A sitemap lists pages of its own host, below its own folder. One that a robots.txt declares, or that is
in an index that it declares, may list everything on the host of that robots.txt.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from ipaddress import ip_address
from itertools import repeat
from typing import TYPE_CHECKING

from usp._base.seen_urls import SeenUrls, UrlFingerprints
from usp._base.urls import BadUrl, HttpUrl, read_url

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Place
    from usp.checks.page_columns import PageColumns

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


def bare(url: HttpUrl) -> str:
    """Return the host and port of a URL, without ``www.``."""
    return url.site.removeprefix("www.")


_LOCAL = (".localhost", ".local", ".internal", ".test", ".invalid")
# What generators write, unless told otherwise.
_UNSET = re.compile(r"(?:(?:www|your-[\w-]++)\.)?example\.(?:com|org|net)")


def is_local_host(host: str) -> bool:
    """Return whether only this machine, or a private network, knows a host by this name."""
    if host == "localhost" or host.endswith(_LOCAL):
        return True
    try:
        return not ip_address(host).is_global
    except ValueError:
        return False


def is_placeholder(url: HttpUrl, *, built: bool) -> bool:
    """Return whether a host is none of a website: a local one, or, of a built one, an example."""
    return is_local_host(url.host) or (built and bool(_UNSET.fullmatch(url.site)))


@dataclass(slots=True)
class OriginCount:
    """How many pages of a sitemap have one origin, and which one was the first."""

    origin: HttpUrl
    url: str
    place: Place
    pages: int


class Origins:
    """The origins of the pages of a sitemap, as they are written."""

    def __init__(self) -> None:
        self.counts: dict[str, OriginCount] = {}
        self._usual = ""

    def add(self, block: PageColumns) -> Sequence[str]:
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
                place = block.examined.place(at)
                self.counts[written] = OriginCount(origin, urls[at], place, pages)
        return list(found)

    def forget(self) -> None:
        """Forget all but the hosts that are of no website."""
        given = self.counts.items()
        self.counts = {at: one for at, one in given if is_placeholder(one.origin, built=True)}


def read_all(urls: Iterable[str | None]) -> tuple[HttpUrl, ...]:
    """Return the HTTP URLs among some, each once."""
    found = dict.fromkeys(origin_at(url) for url in urls if url)
    return tuple(url for url in found if url is not None)


def folder_of(url: HttpUrl) -> str:
    """Return the path of a URL up to its last slash."""
    path = url.rest.partition("#")[0].partition("?")[0]
    return path[: path.rfind("/") + 1]


# What a template leaves where a value was missing, or where it was not run at all.
TEMPLATE = re.compile(
    r"\$?\{\{?[^{}\n]*+\}|<%[^\n]|%(?![0-9A-Fa-f]{2})[a-z_]{3,30}%|\[object(?: |%20|\+)Object\]",
    re.IGNORECASE,
)
_PURPOSES = 6  # bits of a tag; the others are the number of the sitemap


class SeenPages:
    """The pages of all sitemaps: each URL with the sitemap that lists it first, and why it does.

    Sitemaps for news, images, videos or languages may list what others list already, so the kinds of
    a page's extensions, its *purpose*, are kept too. Feeds are left out: they repeat what is new.
    ``urls`` are their normal forms.
    """

    def __init__(self) -> None:
        self.urls = UrlFingerprints(tagged=True)
        self._current = -1  # the number of a sitemap, of which those are known that others list too
        self._repeated = SeenUrls()

    def add(self, block: PageColumns) -> None:
        """Add the pages of a block, and set its ``repeated``."""
        sitemap = block.sitemap
        if sitemap.is_feed:
            return
        if self._current != sitemap.number:
            self._current, self._repeated = sitemap.number, SeenUrls()
        # Which kinds of extensions a page has, as bits.
        purposes = [
            sum(1 << at for at, value in enumerate(row[3:]) if value) for row in block.extended
        ]
        number = sitemap.number << _PURPOSES
        tags = [number | purpose for purpose in purposes] or repeat(number)
        urls = block.normal_urls
        found = []
        for at, tag in self.urls.add(urls, tags):
            purpose = purposes[at] if purposes else 0
            first = tag >> _PURPOSES
            if first == sitemap.number:
                found.append((at, first))
            elif not self._repeated.add(urls[at]):  # twice in this one, and in another
                found.append((at, sitemap.number))
            elif tag & (1 << _PURPOSES) - 1 == purpose:
                found.append((at, first))
        block.repeated = found


# The same URL written differently ----------------------------------------------------------------

_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_ODD_ESCAPE = re.compile(
    r"%(?:[a-f]|[0-9A-F][a-f]|2[DE]|3[0-9]|4[1-9A-F]|5[0-9AF]|6[1-9A-F]|7[0-9AE])"
)
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_WRITTEN: Mapping[str, str] = {
    f"{number:02X}": chr(number) if chr(number) in _UNRESERVED else f"%{number:02X}"
    for number in range(256)
}
_FEW = 8  # origins of a block that are counted


def normal(urls: Sequence[str], joined: str, origins: Collection[str]) -> Sequence[str]:
    """Return URLs as RFC 3986 (6.2.2 and 6.2.3) writes them, so that the same ones are equal.

    The case of scheme and host, default ports, a missing slash after the host, and escapes that mean
    the same are evened out. Nothing else is: other servers may tell the rest apart.
    """
    plain = len(origins) <= _FEW and not ("%" in joined and _ODD_ESCAPE.search(joined))
    for origin in origins if plain else ():
        read = origin_at(origin)
        plain = plain and (read is None or read.origin == origin)
    if plain and sum(joined.count(f"\n{origin}/") for origin in origins) == len(urls):
        return urls
    return list(map(normal_url, urls))


def normal_all(urls: Sequence[str]) -> Sequence[str]:
    """Return URLs in this way whose origins are not known yet."""
    joined = "\n{}\n".format("\n".join(urls))
    return normal(urls, joined, set(_ORIGIN.findall(joined)))


def normal_url(url: str) -> str:
    """Return one URL in the same way."""
    written = beginning(url)
    if not written:
        return url
    read = origin_at(written)
    origin = written if read is None or read.login else read.origin
    rest = f"/{url.removeprefix(written).removeprefix('/')}"
    if "%" in rest:
        rest = _ESCAPE.sub(lambda found: _WRITTEN[found[1].upper()], rest)
    return origin + rest


def bare_url(url: str) -> str:
    """Return a URL without what may differ between two addresses of the same document."""
    return url.partition("://")[2].removeprefix("www.").partition("#")[0]


def same_page(one: str, other: str) -> bool:
    """Return whether two URLs are the same but for the way they are written."""
    return normal_url(one.partition("#")[0]) == normal_url(other.partition("#")[0])
