"""XML sitemaps: ``<urlset>`` with its ``<url>`` entries."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from usp.formats import values
from usp.formats.extensions import EXTENSIONS, FIELDS, MODULES
from usp.formats.parser import PageBatch, PageEntry, absolute_url
from usp.formats.xml.entries import Field, RawEntry
from usp.formats.xml.fast import Tags, cut, is_plain
from usp.formats.xml.namespaces import Space
from usp.formats.xml.parser import AbstractXMLSitemapParser
from usp.formats.xml.references import decode_text
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    DeferredPage,
    PageFields,
    SitemapPage,
    SitemapPageChangeFrequency,
)
from usp.objects.sitemap import PagesXMLSitemap

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from decimal import Decimal

    from usp.formats.parser import Entry, Note


_Row: TypeAlias = "tuple[Decimal, datetime | None, SitemapPageChangeFrequency | None]"


def _ignore(message: str, excerpt: str) -> None:
    """Hear of damage that nobody asked about."""


def _read_own(
    raw: Mapping[str, str], note: Note = _ignore
) -> tuple[Decimal, datetime | None, SitemapPageChangeFrequency | None]:
    """Read priority, lastmod and changefreq, which the protocol itself has."""
    last_modified = change_frequency = None
    priority = SITEMAP_PAGE_DEFAULT_PRIORITY
    if "lastmod" in raw:
        last_modified = values.date(raw["lastmod"])
        if last_modified is None:
            note("lastmod cannot be read", raw["lastmod"])
    if "changefreq" in raw:
        change_frequency = values.change_frequency(raw["changefreq"])
        if change_frequency is None:
            note("changefreq is unknown and was read as 'always'", raw["changefreq"])
            change_frequency = SitemapPageChangeFrequency.ALWAYS
    if "priority" in raw:
        given = values.priority(raw["priority"])
        if given is None:
            note("priority is not a number from 0 to 1", raw["priority"])
        else:
            priority = given
    return priority, last_modified, change_frequency


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

    def finish(self, parser: AbstractXMLSitemapParser) -> list[Entry]:
        """Give the entry itself, if it has a URL."""
        loc = self._fields.get("loc") or self._nested_loc
        url = loc if loc and is_plain(loc) else absolute_url(values.text(loc) or "", self.base)
        if url is None:
            message = "a loc is not an HTTP URL" if loc else "an entry has no loc"
            parser.problems.add(message, self.line, loc, lost=1)
            return []
        self._fields["loc"] = url
        return [self]

    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Give the page; its fields are read at once if somebody wants to hear of damage."""
        if note is None:
            return DeferredPage(self._fields["loc"], self, 0)
        return SitemapPage.of(self._fields["loc"], self.fields(0, note))

    def fields(self, at: int, note: Note = _ignore) -> PageFields:
        """Read the fields of the entry, which is the only one here."""
        del at
        own = _read_own(self._fields, note)
        more = {
            FIELDS[space]: MODULES[space].read(records, note)
            for space, records in self.records.items()
        }
        return PageFields(*own, **more)


class PagesXMLSitemapParser(AbstractXMLSitemapParser):
    """Reads a ``<urlset>``: gives one :class:`Page` an entry, or batches of pages if it is fast."""

    sitemap_class = PagesXMLSitemap
    Page = _UrlEntry
    vocabulary = frozenset({Space.SITEMAP})
    entries: ClassVar = {"url": _UrlEntry}
    implied_entry = _UrlEntry
    strays: ClassVar = {"sitemap": "a <sitemap> stands in a urlset and was not followed"}
    fast_entry = "url"

    _reader: _EntryReader | None = None

    def _cut_block(self, block: str, tags: Tags) -> list[Entry] | None:
        locs = cut(block, tags)
        if locs is None:
            return None
        if "&" in block:
            urls = [_decoded(loc) if "&" in loc else loc for loc in locs]
            if None in urls:
                return None
            locs = urls  # type: ignore[assignment]
        return [_Batch(locs, self._entry_reader(tags), block)]

    def _cut_entries(self, block: str, tags: Tags) -> list[Entry]:
        entries: list[Entry] = []
        urls: list[str] = []
        texts: list[str] = []
        at = 0
        while at < len(block):
            match = tags.entry.match(block, at) if self._at_rest() else None
            url = _matched_url(match) if match else None
            if match and url:
                urls.append(url)
                texts.append(match[1])
                at = match.end()
                continue
            if urls:
                entries.append(_Batch(urls, self._entry_reader(tags), "", texts))
                urls, texts = [], []
            end = block.find(tags.end, at) + len(tags.end)
            entries += self._scan(block[at:end])
            at = end
        if urls:
            entries.append(_Batch(urls, self._entry_reader(tags), "", texts))
        return entries

    def _entry_reader(self, tags: Tags) -> _EntryReader:
        if self._reader is None:
            self._reader = _EntryReader(self.url, self._root_tag, tags)
        return self._reader


def _decoded(loc: str) -> str | None:
    """Give the URL of a loc with references in it; None if it turns out to be none."""
    url = loc.replace("&amp;", "&")
    if ";" not in url:  # then it has no other reference
        return url
    return absolute_url(values.text(decode_text(loc, _ignore)) or "", None)


def _matched_url(match: re.Match[str]) -> str | None:
    """Give the URL of an entry that was cut out by itself."""
    marked, loc = match.group(2, 3)
    if marked is not None:
        return absolute_url(values.text(marked) or "", None)
    loc = loc.rstrip()
    if not is_plain(loc, references=True):
        return None
    return _decoded(loc) if "&" in loc else loc


class _Batch(PageBatch):
    """Pages that the fast lane has cut; also what they are read from later."""

    __slots__ = ("_block", "_entries", "_reader", "_rows", "urls")

    def __init__(
        self, urls: list[str], reader: _EntryReader, block: str, entries: list[str] | None = None
    ) -> None:
        self.urls = urls
        self._reader = reader
        self._block = block
        self._entries = entries
        self._rows: list[_Row] | None = [] if entries else None

    def pages(self) -> Iterator[SitemapPage]:
        """Give the pages; nothing but their URLs is read."""
        return map(DeferredPage, self.urls, repeat(self), range(len(self.urls)))

    def fields(self, at: int) -> PageFields | _Row:
        """Read what an entry says beside its loc: of simple entries all at once."""
        rows = self._rows
        if rows is None:
            rows = self._rows = self._reader.rows(self._block, len(self.urls))
        if rows:
            return rows[at]
        if self._entries is None:
            self._entries = self._block.split(self._reader.end)
        return self._reader.fields(self._entries[at])


class _EntryReader:
    """Reads entries of a document that the fast lane has cut out of it."""

    def __init__(self, url: str | None, root_tag: tuple[str, str], tags: Tags) -> None:
        self.end = tags.end
        prefix = re.escape(tags.prefix)
        # An end tag is found as a field without a name.
        self._field = re.compile(
            rf"<{prefix}(lastmod|changefreq|priority)(?:\s[^<>]*+)?+>\s*+([^<&\x00-\x1f]*+)\s*+"
            rf"</{prefix}(?:\1)\s*+>"
            rf"|{re.escape(tags.end)}"
        )
        self._link = re.compile(
            r"(?<=>)\s*+<xhtml:link"
            r' rel="alternate" hreflang="([\w-]++)" href="([^"&<>\s]++)"\s*+/>(?=\s*+<)',
            re.ASCII,
        )
        self._parser = PagesXMLSitemapParser(url)
        self._parser.start(*root_tag, False)
        self._parser.scanner.hurry = True
        self._links = self._parser.means("xhtml:link", Space.XHTML)
        self._lock = threading.Lock()

    def rows(self, block: str, count: int) -> list[_Row]:
        """Read a block whose entries all have the same simple fields; empty if they have not."""
        found = self._field.findall(block)
        # Each entry has four tags of its own: url and loc, begin and end.
        if block.count("<") != 4 * count + 2 * (len(found) - count):
            return []
        names, texts = zip(*found, strict=True)
        width = names.index("") + 1
        shape = names[:width]
        if names != shape * count or len(set(shape)) != width:
            return []
        columns = {name: texts[at::width] for at, name in enumerate(shape)}
        return list(
            zip(
                _column(columns.get("priority"), _priority, count, SITEMAP_PAGE_DEFAULT_PRIORITY),
                _column(columns.get("lastmod"), _date, count, None),
                _column(columns.get("changefreq"), _frequency, count, None),
                strict=True,
            )
        )

    def fields(self, entry: str) -> PageFields:
        """Read one entry, as the scanner reads it."""
        links = self._link.findall(entry) if self._links and "hreflang" in entry else []
        if links:
            # Links to other languages are many and alike: they are taken out first.
            without = self._link.sub("", entry)
            if "hreflang" in without:
                links = []
            else:
                entry = without
        with self._lock:
            entries = self._parser.read(entry + self.end)
        page = next((e.page() for e in entries if isinstance(e, PageEntry)), None)
        fields = page.fields() if page else PageFields()
        return fields._replace(alternates=links) if links else fields


def _column(
    texts: tuple[str, ...] | None, read: Callable[[str], Any], count: int, default: object
) -> Iterator[Any]:
    return repeat(default, count) if texts is None else map(read, texts)


@lru_cache(maxsize=1024)
def _priority(text: str) -> Decimal:
    return _read_own({"priority": text} if text else {})[0]


@lru_cache(maxsize=1024)
def _date(text: str) -> datetime | None:
    return values.date(text)


@lru_cache(maxsize=64)
def _frequency(text: str) -> SitemapPageChangeFrequency | None:
    return _read_own({"changefreq": text} if text else {})[2]
