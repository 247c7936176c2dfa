"""robots.txt, read for its ``Sitemap:`` lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from usp.formats.lines import Lines
from usp.formats.parser import AbstractSitemapParser, ChildEntry, absolute_url
from usp.helpers import is_http_url
from usp.objects.sitemap import IndexRobotsTxtSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.objects.problem import Problems

# "Sitemap: URL", "Sitemap : URL", "site-map:URL", and "Sitemap URL" where the colon was forgotten
_SITEMAP = re.compile(r"\s*site-?map\s*(?::\s*(?P<value>.*)|\s(?P<bare>\S+)\s*)", re.IGNORECASE)
_COMMENT = re.compile(r"(?:^|\s)#.*")
_AROUND = " \t\u00a0\u200b<>\"'"  # what stands around a URL that was pasted
_DIRECTIVE = re.compile(
    r"^[^\S\n]*+(?:user-?agent|disallow|allow|site-?map|crawl-?delay|host)\s*:",
    re.IGNORECASE | re.MULTILINE,
)


_DELAY = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")

MAX_CRAWL_DELAY = 60.0
"""Seconds: a longer pause between two requests is not kept, whatever robots.txt asks for."""


def has_directive(text: str) -> bool:
    """Tell whether any line of a text is one of robots.txt."""
    return bool(_DIRECTIVE.search(text))


class IndexRobotsTxtSitemapParser(AbstractSitemapParser):
    """Reads a robots.txt: gives one child a ``Sitemap:`` line, wherever in the file it stands.

    ``crawl_delay`` is the pause that it asks of all robots for, if it does.
    """

    sitemap_class = IndexRobotsTxtSitemap

    def __init__(self, url: str | None = None, problems: Problems | None = None) -> None:
        super().__init__(url, problems)
        self.crawl_delay: float | None = None
        self._lines = Lines(self.problems)
        self._for_all = True  # whether the lines are about all robots
        self._in_agents = False  # whether agents are just being listed

    def feed(self, text: str) -> list[ChildEntry]:
        """Give the children of the lines that are complete so far."""
        return list(self._children(self._lines.feed(text)))

    def close(self) -> list[ChildEntry]:
        """Give the child of the last line."""
        return list(self._children(self._lines.close()))

    def _children(self, lines: Iterable[tuple[int, str]]) -> Iterator[ChildEntry]:
        for number, line in lines:
            match = _SITEMAP.fullmatch(line.lstrip("\ufeff\u200b"))
            if not match:
                self._look_for_delay(line)
                continue
            value = _COMMENT.sub("", match["value"] or match["bare"] or "").strip(_AROUND)
            if not value:
                continue
            for written in self._urls(value):
                url = absolute_url(written, self.url)
                if url is None:
                    self.problems.add("a Sitemap line has no HTTP URL", number, written, lost=1)
                else:
                    yield ChildEntry(url)

    def _look_for_delay(self, line: str) -> None:
        name, _, value = _COMMENT.sub("", line).partition(":")
        name, value = name.strip("\ufeff \t").lower(), value.strip()
        if name in ("user-agent", "useragent"):
            # Agents that are listed one after another share the lines that follow.
            self._for_all = value == "*" or (self._in_agents and self._for_all)
            self._in_agents = True
        elif name:
            self._in_agents = False
            if name in ("crawl-delay", "crawldelay") and self._for_all and _DELAY.fullmatch(value):
                self.crawl_delay = min(float(value), MAX_CRAWL_DELAY)

    @staticmethod
    def _urls(value: str) -> list[str]:
        """Give the URLs of a line: several if all its words are URLs, else one, blanks and all."""
        words = value.split()
        return words if all(is_http_url(word) for word in words) else [value]
