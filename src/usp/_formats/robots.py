"""robots.txt, read for its ``Sitemap:`` lines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from usp._base.loc_urls import begins_with_host, child_url
from usp._base.urls import is_http_url, urlsplit
from usp._formats.abstract_parser import ChildEntry
from usp._formats.plain_text import MAX_LINE, LineParser
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import IndexRobotsTxtSitemap

if TYPE_CHECKING:
    from usp._formats.abstract_parser import Entry

_NAMED = re.compile(r"([A-Za-z][A-Za-z0-9 \t_()-]{0,60}+)[:=\uff1a](.*)")  # "Sitemap : URL"
_NO_COLON = re.compile(r"site-?map\s++(https?://\S++|/\S*+)", re.IGNORECASE)
_WITHIN = re.compile(r"(?<=\s)site-?map\s?:\s?(?=https?://)", re.IGNORECASE)
_SITEMAP = re.compile(r"site ?maps?")
_SITEMAP_WORD = re.compile(r"(?<![a-z])site ?maps?(?:index)?(?![a-z])")
_NEVER = frozenset({"allow", "disallow", "noindex", "user", "agent", "no", "not", "http", "https"})
_MAX_WORDS = 4  # in "Google News Sitemap:"; more are a sentence
_INVISIBLE = "\ufeff\u200b"
_AROUND = " \t\u00a0\u200b<>[]\"'"  # what stands around a URL that was pasted
_BETWEEN = f"{_AROUND},;|"
_GLUED = re.compile(r"[,;|]\s?(?=https?://)|(?:(?<=\.xml)|(?<=\.gz))(?=https?://)", re.IGNORECASE)
_ADDRESS = re.compile(r"https?:?/|[./?]", re.IGNORECASE)
_EMBEDDED = re.compile(r"(?<=[\s(\[<:])https?://[^\s()\[\]<>]++", re.IGNORECASE)  # in words
_CUT = re.compile(r"<|\]\(")  # markup of HTML or Markdown after an address
_MARKER = re.compile(r"[-*\u2022]\s++")  # of a list
_TWO_SCHEMES = re.compile(r"(?:https?:?/*)+(?=https?:/)", re.IGNORECASE)
_BAD_SCHEME = re.compile(r"https?(?::/(?!/)|:///++|//++)", re.IGNORECASE)
_HOST = re.compile(r"[A-Za-z0-9-]++(?:\.[A-Za-z0-9-]++)+(?::[0-9]{1,5})?")
_FILE = re.compile(r"\.(?:xml|gz|txt|php|aspx?|jsp|html?|rss)\Z", re.IGNORECASE)
_DIRECTIVE = re.compile(
    r"^[^\S\n]*+(?:user-?agent|disallow|allow|site-?map|crawl-?delay|host)\s*:",
    re.IGNORECASE | re.MULTILINE,
)

_USUAL = re.compile(  # a line with one URL that has nothing around it, in lower case
    r"sitemap[ \t]*+:[ \t]*+(https?://[a-z0-9][a-z0-9.-]*+(?::[0-9]{1,5}+)?+/[\w.~%&=+/?-]*+)\n",
    re.ASCII,
)
_IN_LINES = ("map", "http")  # one of them is in each line that may declare a sitemap
_ODD_ENDS = "\v\f\x1c\x1d\x1e\x85\u2028\u2029"  # what else ends a line
_DELAYS = ("crawl-delay", "crawldelay")
_DELAY = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")

MAX_CRAWL_DELAY = 60.0
"""The maximum ``Crawl-delay`` that is respected, in seconds."""


def has_directive(text: str) -> bool:
    """Return whether any line of a text is one of robots.txt."""
    return bool(_DIRECTIVE.search(text))


class RobotsParser(LineParser):
    """Reads a robots.txt: returns a child for each ``Sitemap:`` line, anywhere in the file.

    ``crawl_delay`` is the pause that it requests from all robots, if it does.
    """

    sitemap_class = IndexRobotsTxtSitemap
    crawl_delay: float | None = None
    _rules = ""  # the last lines, if nothing was looked for in them but sitemaps
    _for_all = True  # whether the lines are about all robots
    _in_agents = False  # whether agents are just being listed
    _awaited = False  # whether a Sitemap line had no address, and the next one may have
    _empty_line: int | None = None  # that line, as long as none was found

    def close(self) -> list[Entry]:
        """Return the child of the last line."""
        children = super().close()
        if self._empty_line is not None:
            self.problems.add(ProblemCode.SITEMAP_LINE_WITHOUT_URL, self._empty_line)
        return children

    def read(self, text: str) -> list[Entry]:
        """Return the children of complete lines, few of which are looked at."""
        low, is_each = text.lower(), self._awaited
        is_long = len(text) > MAX_LINE and max(map(len, text.splitlines())) > MAX_LINE
        if is_each or is_long or len(low) != len(text) or any(map(text.__contains__, _ODD_ENDS)):
            numbered = [*self.lines(text)]
            self._follow([*self._rules.splitlines(), *(line for _, line in numbered)])
            return [*self._children(numbered)]
        if self._rules:
            self._follow(self._rules.splitlines())
        self._rules = text
        if "delay" in low:
            self._follow(text.splitlines())
        children: list[Entry] = []
        number, end = self.number + 1, 0
        self.number += text.count("\n")
        low += "map http"  # the end, where nothing else is
        by_name, by_scheme = map(low.find, _IN_LINES)
        while (at := min(by_name, by_scheme)) < len(text):
            start = text.rfind("\n", end, at) + 1
            number += text.count("\n", end, at)
            if usual := _USUAL.match(low, start):
                begin, end = usual.span(1)
                url = text[begin:end]
                children.append(ChildEntry(url, None, url, number, 1))
            else:
                end = text.find("\n", at)
                children += self._children([(number, text[start:end])])
                if self._awaited:
                    lines = text[end + 1 :].splitlines()
                    return [*children, *self._children(enumerate(lines, number + 1))]
            if by_name < end:
                by_name = low.find("map", end)
            if by_scheme < end:
                by_scheme = low.find("http", end)
        return children

    def _children(self, lines: Iterable[tuple[int, str]]) -> Iterator[ChildEntry]:
        for number, written in lines:
            matters = self._awaited or any(map(written.lower().__contains__, _IN_LINES))
            line = _cleaned(written) if matters else ""
            empty = self._empty_line if line else None
            value = self._value(line, number) if line else None
            # A line that is an address alone belongs to the line before.
            if empty is not None and not (value and self._awaited):
                self.problems.add(ProblemCode.SITEMAP_LINE_WITHOUT_URL, empty)
            for address in () if value is None else self._addresses(value, number):
                url = child_url(address, self.url) if address else None
                if url is None:
                    self.problems.add(ProblemCode.SITEMAP_LINE_WITHOUT_URL, number, address, lost=1)
                else:
                    yield ChildEntry(url, None, address, number, 1)

    def _value(self, line: str, number: int) -> str | None:
        """Return the part of a line that should be URLs of sitemaps; None if it is another line."""
        awaited, self._awaited, self._empty_line = self._awaited, False, None
        marker = _MARKER.match(line)
        if marker:
            line = line[marker.end() :]
        named = _NAMED.fullmatch(line)
        if named and _is_sitemap(named[1]):
            value = named[2].lstrip(f"{_AROUND}:=").rstrip(_AROUND)
            self._awaited, self._empty_line = not value, None if value else number
            again = _NAMED.fullmatch(value)
            return again[2] if again and _is_sitemap(again[1]) else value
        if named and _is_other_sitemap(named[1]) and _is_address(named[2].strip(_AROUND)):
            self.problems.add(ProblemCode.BAD_SITEMAP_LINE, number, line)
            return named[2]
        no_colon = _NO_COLON.fullmatch(line)
        if no_colon:
            return no_colon[1]
        within = _WITHIN.search(line)
        if within and named and named.end(1) < within.start():
            self.problems.add(ProblemCode.BAD_SITEMAP_LINE, number, line)
            return line[within.end() :]
        return self._bare(line, number, awaited=awaited)

    def _bare(self, line: str, number: int, *, awaited: bool) -> str | None:
        """Return a line that is the URL of a sitemap and nothing else."""
        address = line.strip(_AROUND)
        words = address.split()
        if awaited and (_is_address(address) or begins_with_host(line, self.url)):
            self._awaited = True
            self.problems.add(ProblemCode.BAD_SITEMAP_LINE, number, line)
            return address
        if words and all(map(is_http_url, words)) and all(map(_names_sitemap, words)):
            self.problems.add(ProblemCode.BAD_SITEMAP_LINE, number, line)
            return address
        return None

    def _addresses(self, value: str, number: int) -> list[str]:
        """Return the URLs in the value of a Sitemap line: usually one."""
        value = value.strip(_AROUND)
        embedded = None if _ADDRESS.match(value) else _EMBEDDED.search(value)
        if embedded:
            self.problems.add(ProblemCode.BAD_SITEMAP_LINE, number, value)
            value = embedded[0]
        parted = [word.strip(_BETWEEN) for word in _GLUED.sub(" ", value).split()]
        words = [word for word in parted if word]
        urls = [word for word in words if is_http_url(word)]
        if len(urls) > 1 and (urls == words or _names_sitemap(urls[0])):
            self.problems.add(ProblemCode.BAD_SITEMAP_LINE, number, value)
            return urls
        address = value.rstrip(_BETWEEN)
        begins, *cut = _CUT.split(address, maxsplit=1)
        if cut or (len(words) > 1 and _is_address(words[0]) and _names_sitemap(words[0])):
            self.problems.add(ProblemCode.BAD_SITEMAP_LINE, number, value)
            address = begins.rstrip(_BETWEEN) if cut else words[0]
        mended = _mended(address)
        if mended != address:
            self.problems.add(ProblemCode.BAD_SITEMAP_LINE, number, value)
        return [mended] if value else []

    def _follow(self, lines: list[str]) -> None:
        """Follow which robots lines are about, to find the delay of all of them."""
        self._rules = ""
        for line in filter(None, lines):
            name, _, value = _cleaned(line).lower().partition(":")
            name, value = name.strip("\ufeff \t"), value.strip()
            if name in ("user-agent", "useragent"):
                # Agents that are listed one after another share the lines that follow.
                self._for_all = value == "*" or (self._in_agents and self._for_all)
                self._in_agents = True
            elif name and "map" not in name and not name.startswith("http"):  # no sitemap
                self._in_agents = False
                if name in _DELAYS and self._for_all and _DELAY.fullmatch(value):
                    self.crawl_delay = min(float(value), MAX_CRAWL_DELAY)


def _cleaned(line: str) -> str:
    """Return a line without its comment, wherever it begins (RFC 9309), and without what is blank."""
    return line.partition("#")[0].strip().strip(_INVISIBLE).strip()


def _is_sitemap(name: str) -> bool:
    return _SITEMAP.fullmatch(" ".join(_words(name))) is not None


def _is_other_sitemap(name: str) -> bool:
    """Return whether a name is about sitemaps, too: "Video Sitemap", "Sitemap-News"."""
    words = _words(name)
    found = len(words) <= _MAX_WORDS and _SITEMAP_WORD.search(" ".join(words))
    return bool(found) and _NEVER.isdisjoint(words)


def _words(name: str) -> list[str]:
    return name.lower().replace("-", " ").replace("_", " ").split()


def _is_address(text: str) -> bool:
    """Return whether a text is only a URL: absolute, or a path that names a sitemap."""
    if len(text.split()) != 1:
        return False
    return is_http_url(_mended(text)) or (text.startswith("/") and _names_sitemap(text))


def _names_sitemap(address: str) -> bool:
    """Return whether a URL looks like that of a sitemap, and not like that of a page."""
    try:
        path = urlsplit(address).path.lower()
    except ValueError:
        return False
    named = "sitemap" in path or path.endswith((".xml", ".xml.gz"))
    return named and not path.endswith((".html", ".htm"))


def _mended(address: str) -> str:
    """Return a URL with one scheme and its slashes.

    What follows a scheme without a host is a path on the website's own: ``http:///sitemap.xml``.
    """
    twice = _TWO_SCHEMES.match(address)
    if twice:
        address = address[twice.end() :]
    bad = _BAD_SCHEME.match(address)
    if not bad or bad.end() == len(address):
        return address
    rest = address[bad.end() :]
    first, slash, _ = rest.partition("/")
    if slash and _HOST.fullmatch(first) and not _FILE.search(first):
        scheme = "https" if address[:5].lower() == "https" else "http"
        return f"{scheme}://{rest}"
    return f"/{rest}"
