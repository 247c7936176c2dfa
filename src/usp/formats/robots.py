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
    r"^\s*(?:user-?agent|disallow|allow|site-?map|crawl-?delay|host)\s*:",
    re.IGNORECASE | re.MULTILINE,
)


def has_directive(text: str) -> bool:
    """Tell whether any line of a text is one of robots.txt."""
    return bool(_DIRECTIVE.search(text))


class IndexRobotsTxtSitemapParser(AbstractSitemapParser):
    """Reads a robots.txt: gives one child a ``Sitemap:`` line, wherever in the file it stands."""

    sitemap_class = IndexRobotsTxtSitemap

    def __init__(self, url: str | None = None, problems: Problems | None = None) -> None:
        super().__init__(url, problems)
        self._lines = Lines(self.problems)

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

    @staticmethod
    def _urls(value: str) -> list[str]:
        """Give the URLs of a line: several if all its words are URLs, else one, blanks and all."""
        words = value.split()
        return words if all(is_http_url(word) for word in words) else [value]
