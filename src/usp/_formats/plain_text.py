"""Plain-text sitemaps: one URL a line."""

from __future__ import annotations

import re
from itertools import repeat
from typing import TYPE_CHECKING

from usp._base.urls import is_http_url
from usp._formats.lines import MAX_LINE, Lines
from usp._formats.parser import AbstractSitemapParser, PageBatch, PageEntry
from usp._formats.xml.fast import plain
from usp.objects.page import PageFields, SitemapPage
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import PagesTextSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp._formats.parser import Entry, Note
    from usp.objects.problem import Problems


_LINE = re.compile(r"\n[ \t]*+(https?://[A-Za-z0-9][^\s]*+)[ \t]*+\r?+(?=\n)")
_NOTHING = PageFields()


def has_url(text: str) -> bool:
    """Tell whether any line of a text is a URL."""
    return any(is_http_url(line.strip().strip("\ufeff")) for line in text.splitlines())


class _Line(PageEntry):
    """A line that is a URL."""

    __slots__ = ("_url",)

    def __init__(self, url: str) -> None:
        self._url = url

    def page(self, note: Note | None = None) -> SitemapPage:
        """Give the page, of which nothing but its URL is known."""
        del note
        return SitemapPage(self._url)


class _Batch(PageBatch):
    """Lines that are all URLs."""

    __slots__ = ("urls",)

    def __init__(self, urls: list[str]) -> None:
        self.urls = urls

    def pages(self) -> Iterator[SitemapPage]:
        """Give the pages."""
        return map(SitemapPage.of, self.urls, repeat(_NOTHING))

    def texts(self) -> dict[str, list[str]]:
        """Give nothing: lines have no fields."""
        return {}


class PlainTextSitemapParser(AbstractSitemapParser):
    """Reads a list of URLs."""

    sitemap_class = PagesTextSitemap
    Page = _Line

    def __init__(
        self, url: str | None = None, problems: Problems | None = None, *, fast: bool = False
    ) -> None:
        super().__init__(url, problems, fast=fast)
        self._lines = Lines(self.problems)
        self._held = ""

    def feed(self, text: str) -> list[Entry]:
        """Give the pages of the lines that are complete so far."""
        if not self.fast:
            return list(self._pages(self._lines.feed(text)))
        block = self._held + text
        end = block.rfind("\n") + 1
        if not end and len(block) <= MAX_LINE:
            self._held = block
            return []
        end = end or len(block)
        self._held, block = block[end:], block[:end]
        urls = _LINE.findall("\n" + block)
        regular = urls and len(urls) == block.count("\n") and self._lines.idle and plain(urls)
        if regular and (len(block) <= MAX_LINE or max(map(len, urls)) <= MAX_LINE):
            self._lines.skip(len(urls))
            return [_Batch(urls)]
        return list(self._pages(self._lines.feed(block)))

    def close(self) -> list[Entry]:
        """Give the page of the last line."""
        lines = [*self._lines.feed(self._held), *self._lines.close()]
        return list(self._pages(lines))

    def _pages(self, lines: Iterable[tuple[int, str]]) -> Iterator[_Line]:
        for number, line in lines:
            url = line.strip().strip("\ufeff")
            if is_http_url(url):
                yield _Line(url)
            elif url:
                self.problems.add(ProblemCode.BAD_LINE, number, url, lost=1)
