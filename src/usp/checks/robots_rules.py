"""What a robots.txt allows, as RFC 9309 says, and what those of other hosts declare.

Protego reads it and decides. That takes a while for each URL, and much longer with thousands of rules.
So it is asked only about URLs that a pattern of all rules together matches: most do not match.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from protego import Protego

from usp._base.urls import origin_of
from usp._crawl.fetch import fetch_pages, text_of
from usp._crawl.orders import Received
from usp.checks.page_urls import normal_all
from usp.objects.sitemap import IndexRobotsTxtSitemap
from usp.options import CrawlOptions

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from usp._base.urls import HttpUrl
    from usp.objects.abstract_sitemap import AbstractSitemap
    from usp.web_client.abstract_client import AbstractWebClient

MAX_BYTES = 512 * 1024
"""How much of a robots.txt counts: RFC 9309 asks for at least 500 KiB."""

MAX_WORK = 4_000_000_000
"""Characters of URLs that are compared with wildcards until a hostile robots.txt is asked no more."""

_LINE = re.compile(r"([A-Za-z][A-Za-z-]*+(?: agent)?+)[ \t]*+[: \t][ \t]*+([^#]*+)")
_AGENT = re.compile(r"user[ -]?agent", re.IGNORECASE)
_DISALLOW = "di"  # how it begins; the rest is misspelt in many ways
_NAMES = frozenset(
    {"allow", "clean-param", "content-signal", "crawl-delay", "host", "noindex", "request-rate",
     "site-map", "sitemap", "sitemaps", "visit-time"}
)  # fmt: skip
_BETWEEN = frozenset({"sitemap", "sitemaps", "site-map", "host"})  # lines that end no group
_KEPT = re.compile(r"[A-Za-z0-9/_.?=&-]+")  # what is written in one way only, if not escaped
_ESCAPED = r"[^\n%]*+(?:%(?!2[6DEFdef]|3[0-9DFdf]|[4-7])[^\n%]*+)*+%"  # one of those, escaped
_TRIPLET = re.compile("%[0-9A-Fa-f]{2}")
_MAX_HEAD = 24  # characters of a rule that are looked at, which also bounds how deep a tree gets
_SHORT = 2  # characters; the beginning of a path says something from here on


class Robots:
    """What robots may fetch; everything, if there is no robots.txt.

    ``origins`` are those it is about; if they are not known, it is about every URL.
    """

    def __init__(self, text: str = "", origins: Iterable[str] = ()) -> None:
        self.text = "\n".join(text.splitlines())
        self._origins = frozenset(map(str.lower, origins))
        self._work = MAX_WORK

    @cached_property
    def is_something_else(self) -> bool:
        """Whether no line of the text is one of a robots.txt, although there are lines."""
        lines = [line for line in map(str.strip, self.text.split("\n")) if line]
        return any(line[0] != "#" for line in lines) and not any(map(_is_known, lines))

    @cached_property
    def _rules(self) -> Protego:
        return Protego.parse(self.text)

    @cached_property
    def _disallowed(self) -> tuple[re.Pattern[str] | None, int]:
        """What finds the URLs to ask about, and how many wildcards each is compared with."""
        paths = list(disallowed_paths(self.text))
        return suspects(paths), sum("*" in path for path in paths)

    def disallowed(self, urls: Sequence[str], joined: str) -> Iterator[int]:
        """Yield the numbers of the URLs that robots may not fetch; ``joined`` has a line for each."""
        pattern, wildcards = self._disallowed
        denied = set()
        for url in pattern.findall(joined) if pattern is not None else ():
            self._work -= wildcards * len(url)
            if self._work > 0 and not self.allows(url):
                denied.add(url)
        if denied:
            yield from (at for at, url in enumerate(urls) if url in denied)

    @property
    def delay(self) -> float:
        """The pause between requests that it asks for, in seconds."""
        return float(self._rules.crawl_delay("*") or 0.0) if self.text else 0.0

    def allows(self, url: str, agent: str = "*") -> bool:
        """Return whether robots may fetch a URL; those of other websites they may."""
        if not self.text or (self._origins and origin_of(url).lower() not in self._origins):
            return True
        return bool(self._rules.can_fetch(url, agent))


def robots_of(root: AbstractSitemap) -> Robots:
    """Return what the robots.txt at the top of a tree allows; in a folder, it may come last."""
    nodes = sorted((root, *root.sub_sitemaps), key=lambda node: node.url.count("/"))
    for node in nodes:
        if isinstance(node, IndexRobotsTxtSitemap) and node.stored is not None:
            exchange = node.exchange
            urls = (node.url, exchange.url, exchange.final_url) if exchange else (node.url,)
            origins = [origin_of(url) for url in urls if url.startswith("http")]
            return Robots(node.stored.text(MAX_BYTES), origins)
    return Robots()


def _is_known(line: str) -> bool:
    found = _LINE.match(line.removeprefix("\ufeff"))
    name = found[1].lower() if found else ""
    return name in _NAMES or name.startswith(_DISALLOW) or bool(_AGENT.fullmatch(name))


def disallowed_paths(text: str) -> Iterator[str]:
    """Yield the paths that a robots.txt disallows for ``*``."""
    applies = listing = False
    for line in text.split("\n"):
        found = _LINE.match(line.strip())
        if not found:
            continue
        name, value = found[1].lower(), found[2].strip()
        if _AGENT.fullmatch(name):
            applies = value == "*" or (listing and applies)
            listing = True
        elif name not in _BETWEEN:
            listing = False
            if applies and value and name.startswith(_DISALLOW):
                yield value


def suspects(paths: Iterable[str]) -> re.Pattern[str] | None:
    """Return what matches every URL, on a line of its own, that paths may disallow, and others.

    A path is taken literally as far as that is certain. Every URL matches in which a character is
    escaped that need not be. None: nothing is disallowed.
    """
    heads, parts = set(), set()
    # Where characters are escaped, nothing is certain: %7E may be ~.
    for path in (_TRIPLET.sub("*", path) for path in paths):
        first = _KEPT.match(path)
        head = first[0] if first and path.startswith("/") else ""
        if len(head) >= _SHORT:
            heads.add(head[:_MAX_HEAD])
        elif not _KEPT.search(path, len(head)):
            heads.add("")  # everything may match; "/" is not even written in every URL
        else:
            parts.add(max(_KEPT.findall(path, len(head)), key=len)[:_MAX_HEAD])
    if not heads and not parts:
        return None
    after = [_either(heads)] if heads else []
    if parts:
        after.append(rf"[^\n]*?{_either(parts)}")
    after.append(_ESCAPED)
    return re.compile(rf"^(?i:https?)://[^/?#\n]*+(?:{'|'.join(after)}).*+$", re.MULTILINE)


def _either(texts: Iterable[str]) -> str:
    """Return a pattern of texts that are looked for together, as a tree: the time is that of one."""
    tree: dict[str, dict] = {}  # type: ignore[type-arg]
    for text in texts:
        node = tree
        for character in text:
            node = node.setdefault(character, {})
        node[""] = {}
    return _pattern(tree)


def _pattern(node: dict[str, dict]) -> str:  # type: ignore[type-arg]
    if "" in node:  # what is longer begins so, too
        return ""
    ways = [re.escape(character) + _pattern(below) for character, below in node.items()]
    return ways[0] if len(ways) == 1 else f"(?:{'|'.join(ways)})"


MOST_HOSTS = 20
"""Hosts whose robots.txt is fetched; a sitemap may list thousands."""


@dataclass(slots=True)
class CrossHostDeclarations:
    """The sitemaps that the robots.txt of other hosts declare: proof that they may list their pages.

    They are fetched as the documents of the website at ``start_url`` are: it may not lead everywhere.
    All together may take as long as a crawl; then no further ones are fetched. None is for a tree
    that is only read.
    """

    start_url: str | None = None
    web_client: AbstractWebClient | None = None
    options: CrawlOptions = field(default_factory=CrawlOptions)
    _end: float | None = None
    _declared: dict[str, frozenset[str]] = field(default_factory=dict)

    def has(self, origin: HttpUrl, sitemaps: Iterable[str]) -> bool:
        """Return whether the robots.txt of an origin declares any of some sitemaps."""
        declared = self._declared.get(origin.origin)
        if declared is None:
            if self.start_url is None or len(self._declared) >= MOST_HOSTS:
                return False
            text = self._fetched(f"{origin.origin}/robots.txt", self.start_url)
            declared = frozenset(normal_all(list(Protego.parse(text).sitemaps)))
            self._declared[origin.origin] = declared
        return bool(declared) and not declared.isdisjoint(normal_all(list(sitemaps)))

    def _fetched(self, url: str, start_url: str) -> str:
        seconds = self.options.effective_limits.seconds
        if seconds is not None:
            self._end = self._end or time.monotonic() + seconds
            if time.monotonic() > self._end:
                return ""
        for _, result in fetch_pages([url], start_url, self.web_client, self.options):
            if isinstance(result, Received):
                return text_of(result)
        return ""
