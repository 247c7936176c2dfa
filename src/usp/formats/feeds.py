"""Feeds as sitemaps: RSS 2.0, 1.0 and 0.9x; Atom 1.0 and 0.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from usp.formats import values
from usp.formats.parser import PageEntry, absolute_url
from usp.formats.xml.entries import Extension, Field, RawEntry
from usp.formats.xml.namespaces import Space
from usp.formats.xml.parser import AbstractXMLSitemapParser
from usp.helpers import is_http_url
from usp.objects.page import SitemapNewsStory, SitemapPage
from usp.objects.sitemap import PagesAtomSitemap, PagesRSSSitemap

if TYPE_CHECKING:
    from usp.formats.parser import Entry, Note


_IANA = "http://www.iana.org/assignments/relation/"  # what a relation without a URL stands for


class _FeedEntry(RawEntry, PageEntry):
    """What the entries of both kinds of feeds share: of two fields with one name the first counts."""

    titles: tuple[str, ...]
    dates: tuple[str, ...]

    def __init__(self, line: int, base: str | None) -> None:
        super().__init__(line, base)
        self._fields: dict[str, str] = {}
        self._url: str | None = None

    def add(self, field: Field, parser: AbstractXMLSitemapParser) -> None:
        """Take a field that is not empty."""
        del parser
        text = values.text(field.text)
        if text is not None:
            self._fields.setdefault(field.name, text)

    def link(self) -> str | None:
        """Give the address of the page, as written."""
        raise NotImplementedError

    def finish(self, parser: AbstractXMLSitemapParser) -> list[Entry]:
        """Give the entry itself, if it has an address and a title."""
        link = self.link()
        self._url = absolute_url(link or "", self.base)
        if self._url is None:
            message = "a link is not an HTTP URL" if link else "an entry has no link"
            parser.problems.add(message, self.line, link, lost=1)
            return []
        if self._first(self.titles) is None:
            message = "an entry has neither a title nor a description"
            parser.problems.add(message, self.line, self._url, lost=1)
            return []
        return [self]

    def _first(self, names: tuple[str, ...]) -> str | None:
        return next((self._fields[name] for name in names if name in self._fields), None)

    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Give the page, its title and date as a news story."""
        title = self._first(self.titles)
        if self._url is None or title is None:
            return None
        written = self._first(self.dates)
        date = values.date(written)
        if written and date is None and note:
            note("the date of an entry cannot be read", written)
        return SitemapPage(self._url, news_story=SitemapNewsStory(title, date))


class _Item(_FeedEntry):
    """An ``<item>`` of RSS."""

    own_fields = frozenset({"title", "description", "link", "guid", "pubDate", "pubdate"})
    extensions: ClassVar = {Space.DUBLIN_CORE: Extension("", frozenset({"date"}))}
    titles = ("title", "description")
    dates = ("pubDate", "pubdate", "date")

    def add(self, field: Field, parser: AbstractXMLSitemapParser) -> None:
        """Take a field; a guid only if it is a permanent link."""
        if field.name == "guid":
            permanent = values.yes_no(field.attributes(parser.note).get("ispermalink", "true"))
            url = values.text(field.text)
            if permanent is False or not is_http_url(url or ""):
                return
        super().add(field, parser)

    def add_to_record(self, space: Space, field: Field) -> None:
        """Take Dublin Core's date, which RSS 1.0 has instead of a pubDate."""
        del space
        text = values.text(field.text)
        if text is not None:
            self._fields.setdefault(field.name, text)

    def link(self) -> str | None:
        """Give the link, or else the permanent guid."""
        return self._first(("link", "guid"))


class _AtomEntry(_FeedEntry):
    """An ``<entry>`` of Atom."""

    own_fields = frozenset(
        {"title", "summary", "tagline", "link", "issued", "published", "updated", "modified"}
    )
    titles = ("title", "summary", "tagline")
    dates = ("published", "issued", "updated", "modified")

    def __init__(self, line: int, base: str | None) -> None:
        super().__init__(line, base)
        self._links: dict[str, str] = {}

    def add(self, field: Field, parser: AbstractXMLSitemapParser) -> None:
        """Take a field; the first link of each kind counts."""
        if field.name != "link":
            super().add(field, parser)
            return
        given = field.attributes(parser.note)
        href = values.text(given.get("href")) or values.text(field.text)
        if href:
            kind = (values.text(given.get("rel")) or "alternate").lower()
            url = absolute_url(href, parser.base()) or href
            self._links.setdefault("", url)
            self._links.setdefault(kind.removeprefix(_IANA), url)

    def link(self) -> str | None:
        """Give the alternate link, or else the feed's own, or else the first."""
        return self._links.get("alternate") or self._links.get("self") or self._links.get("")


class PagesRSSSitemapParser(AbstractXMLSitemapParser):
    """Reads an RSS feed."""

    sitemap_class = PagesRSSSitemap
    Page = _Item
    vocabulary = frozenset({Space.RSS})
    entries: ClassVar = {"item": _Item}


class PagesAtomSitemapParser(AbstractXMLSitemapParser):
    """Reads an Atom feed."""

    sitemap_class = PagesAtomSitemap
    Page = _AtomEntry
    vocabulary = frozenset({Space.ATOM})
    entries: ClassVar = {"entry": _AtomEntry}
