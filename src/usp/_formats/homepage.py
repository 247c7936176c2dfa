"""A homepage, read for its ``<link rel="sitemap" href="…">``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from usp._formats.parser import AbstractSitemapParser, ChildEntry, absolute_url
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.scanner import Scanner
from usp.objects.problem import ProblemCode, Problems
from usp.objects.sitemap import IndexWebsiteSitemap

if TYPE_CHECKING:
    from usp.objects.problem import Problems as ProblemsType

MAX_HEAD = 512 * 1024
"""How many characters of a homepage are looked at: links to sitemaps stand in its head."""


class HomepageLinksParser(AbstractSitemapParser):
    """Gives a child for every link to a sitemap."""

    sitemap_class = IndexWebsiteSitemap

    def __init__(self, url: str | None = None, problems: ProblemsType | None = None) -> None:
        super().__init__(url, problems)
        # HTML is not XML: what the scanner has to say about it is of no interest.
        self._scanner = Scanner(self, Problems())
        self._room = MAX_HEAD
        self._found: list[ChildEntry] = []

    def feed(self, text: str) -> list[ChildEntry]:
        """Give the links that are complete so far."""
        if self._room > 0:
            self._scanner.feed(text[: self._room])
            self._room -= len(text)
        return self._take()

    def close(self) -> list[ChildEntry]:
        """Give the rest."""
        self._scanner.close()
        return self._take()

    def _take(self) -> list[ChildEntry]:
        found, self._found = self._found, []
        return found

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Look at a tag."""
        del empty
        if name.lower() != "link":
            return
        link = read_attributes(attributes, self._ignore)
        if "sitemap" not in link.get("rel", "").lower().split():
            return
        url = absolute_url(link.get("href", ""), self.url)
        if url is None:
            self.problems.add(ProblemCode.BAD_SITEMAP_LINK, self._scanner.line, attributes)
        else:
            self._found.append(ChildEntry(url))

    def _ignore(self, *_: object) -> None:
        """Pass over everything else."""

    end = text = cdata = take = declaration = _ignore
