"""XML sitemaps: ``<urlset>`` with its ``<url>`` entries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from usp.formats import values
from usp.formats.extensions import EXTENSIONS, FIELDS, MODULES
from usp.formats.parser import PageEntry, absolute_url
from usp.formats.xml.namespaces import Space
from usp.formats.xml.parser import AbstractXMLSitemapParser, Field, RawEntry
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    SitemapPage,
    SitemapPageChangeFrequency,
)
from usp.objects.sitemap import PagesXMLSitemap

if TYPE_CHECKING:
    from usp.formats.parser import ChildEntry, Note


def _ignore(message: str, excerpt: str) -> None:
    """Hear of damage that nobody asked about."""


class _UrlEntry(RawEntry, PageEntry):
    """A ``<url>`` as it stands in the document."""

    own_fields = frozenset({"loc", "lastmod", "changefreq", "priority"})
    extensions = EXTENSIONS

    def __init__(self, line: int, base: str | None) -> None:
        super().__init__(line, base)
        self._fields: dict[str, str] = {}
        self._nested_loc: str | None = None

    def add(self, field: Field, parser: AbstractXMLSitemapParser) -> None:
        """Take a field; of two locs the last one that is not empty counts."""
        del parser
        if field.text and not field.text.isspace():
            self._fields[field.name] = field.text

    def add_nested_loc(self, text: str) -> None:
        """Take a loc from inside an element that was not closed."""
        self._nested_loc = text

    def finish(self, parser: AbstractXMLSitemapParser) -> list[ChildEntry | PageEntry]:
        """Give the entry itself, if it has a URL."""
        loc = self._fields.get("loc") or self._nested_loc
        url = absolute_url(values.text(loc) or "", self.base)
        if url is None:
            message = "a loc is not an HTTP URL" if loc else "an entry has no loc"
            parser.problems.add(message, self.line, loc, lost=1)
            return []
        self._fields["loc"] = url
        return [self]

    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Read the fields of the entry."""
        note = note or _ignore
        fields = self._fields
        given: dict[str, Any] = {}
        if "lastmod" in fields:
            given["last_modified"] = values.date(fields["lastmod"])
            if given["last_modified"] is None:
                note("lastmod cannot be read", fields["lastmod"])
        if "changefreq" in fields:
            frequency = values.change_frequency(fields["changefreq"])
            if frequency is None:
                note("changefreq is unknown and was read as 'always'", fields["changefreq"])
                frequency = SitemapPageChangeFrequency.ALWAYS
            given["change_frequency"] = frequency
        if "priority" in fields:
            priority = values.priority(fields["priority"])
            if priority is None:
                note("priority is not a number from 0 to 1", fields["priority"])
                priority = SITEMAP_PAGE_DEFAULT_PRIORITY
            given["priority"] = priority
        for space, records in self.records.items():
            given[FIELDS[space]] = MODULES[space].read(records, note)
        return SitemapPage(fields["loc"], **given)


class PagesXMLSitemapParser(AbstractXMLSitemapParser):
    """Reads a ``<urlset>``: gives one :class:`Page` an entry."""

    sitemap_class = PagesXMLSitemap
    Page = _UrlEntry
    vocabulary = frozenset({Space.SITEMAP})
    entries: ClassVar = {"url": _UrlEntry}
    implied_entry = _UrlEntry
    strays: ClassVar = {"sitemap": "a <sitemap> stands in a urlset and was not followed"}
