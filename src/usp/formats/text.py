"""Plain-text sitemaps: one URL a line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp.formats.lines import Lines
from usp.formats.parser import AbstractSitemapParser, PageEntry
from usp.helpers import is_http_url
from usp.objects.page import SitemapPage
from usp.objects.sitemap import PagesTextSitemap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from usp.formats.parser import Note
    from usp.objects.problem import Problems


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


class PlainTextSitemapParser(AbstractSitemapParser):
    """Reads a list of URLs."""

    sitemap_class = PagesTextSitemap
    Page = _Line

    def __init__(self, url: str | None = None, problems: Problems | None = None) -> None:
        super().__init__(url, problems)
        self._lines = Lines(self.problems)

    def feed(self, text: str) -> list[_Line]:
        """Give the pages of the lines that are complete so far."""
        return list(self._pages(self._lines.feed(text)))

    def close(self) -> list[_Line]:
        """Give the page of the last line."""
        return list(self._pages(self._lines.close()))

    def _pages(self, lines: Iterable[tuple[int, str]]) -> Iterator[_Line]:
        for number, line in lines:
            url = line.strip().strip("\ufeff")
            if is_http_url(url):
                yield _Line(url)
            elif url:
                self.problems.add("a line is not an HTTP URL", number, url, lost=1)
