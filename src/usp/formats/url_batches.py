"""Pages in batches: what the fast lane has cut out of a ``<urlset>``, read when it is asked for."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from usp.formats import values
from usp.formats.extensions import FIELDS, MODULES
from usp.formats.parser import PageBatch, PageEntry
from usp.formats.xml.entries import Field
from usp.formats.xml.fast import ATTRIBUTES
from usp.formats.xml.meaning import Sort
from usp.formats.xml.namespaces import Space
from usp.formats.xml.parser import MAX_FIELDS
from usp.formats.xml.references import decode_text
from usp.helpers import parse_iso8601_date
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    DeferredPage,
    PageFields,
    SitemapPage,
    SitemapPageChangeFrequency,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from datetime import datetime
    from decimal import Decimal

    from usp.formats.parser import Note
    from usp.formats.xml.entries import RawEntry
    from usp.formats.xml.fast import Tags
    from usp.formats.xml.parser import AbstractXMLSitemapParser

_Row: TypeAlias = "tuple[Decimal, datetime | None, SitemapPageChangeFrequency | None]"


def ignore(message: str, excerpt: str) -> None:
    """Hear of damage that nobody asked about."""


def read_own(
    raw: Mapping[str, str], note: Note = ignore
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


class UrlBatch(PageBatch):
    """Pages that the fast lane has cut; also what they are read from later."""

    __slots__ = ("_block", "_entries", "_reader", "_rows", "urls")

    def __init__(
        self, urls: list[str], reader: EntryReader, block: str, entries: list[str] | None = None
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


_NOTHING: _Row = (SITEMAP_PAGE_DEFAULT_PRIORITY, None, None)


class EntryReader:
    """Reads entries of a document that the fast lane has cut out of it.

    Entries of the usual shapes are read in a few C calls; all others are given to ``parser``, which
    stands directly below the root of such a document.
    """

    def __init__(
        self, parser: AbstractXMLSitemapParser, entry_class: type[RawEntry], tags: Tags
    ) -> None:
        self.end = tags.end
        self._parser = parser
        self._entry_class = entry_class
        self._lock = threading.Lock()
        self._prefix = prefix = re.escape(tags.prefix)
        self._shape: tuple[tuple[str, ...], re.Pattern[str] | None] = ((), None)
        self._own = re.compile(
            rf"<{prefix}(lastmod|changefreq|priority){ATTRIBUTES}>\s*+([^<&\x00-\x1f]*+)\s*+"
            rf"</{prefix}(?:\1)\s*+>"
        )
        # An end tag is found as a field without a name.
        self._own_or_end = re.compile(rf"{self._own.pattern}|{re.escape(tags.end)}")
        self._unprefixed = not tags.prefix
        self._links = parser.means("xhtml:link", Space.XHTML)

    def rows(self, block: str, count: int) -> list[_Row]:
        """Read a block whose entries all have the same simple fields; empty if they have not."""
        rows = self._rows_of_shape(block, count)
        if rows:
            return rows
        names = self._shape_of(block, count)
        if names is None:
            return []
        if not names:
            return [_NOTHING] * count
        self._shape = (names, self._shape_pattern(names))
        return self._rows_of_shape(block, count)

    def _rows_of_shape(self, block: str, count: int) -> list[_Row]:
        """Read a block whose entries have the fields that those of the last one had."""
        names, pattern = self._shape
        found = pattern.findall(block) if pattern else []
        if len(found) != count:
            return []
        return self._table(names, found if len(names) > 1 else [(text,) for text in found])

    def _shape_of(self, block: str, count: int) -> tuple[str, ...] | None:
        """Give the fields of each entry, in order, if that is the same for all."""
        found = self._own_or_end.findall(block)
        # Each entry has four tags of its own: url and loc, begin and end.
        if block.count("<") != 4 * count + 2 * (len(found) - count):
            return None
        names = next(zip(*found, strict=True))
        shape = names[: names.index("")]
        same = names == (*shape, "") * count and len(set(shape)) == len(shape)
        return shape if same else None

    def _shape_pattern(self, names: tuple[str, ...]) -> re.Pattern[str]:
        """Give the pattern of what stands between a loc and the end of an entry of that shape."""
        fields = "".join(
            rf"<{self._prefix}{name}{ATTRIBUTES}>\s*+([^<&\x00-\x1f]*+)\s*+</{self._prefix}{name}\s*+>\s*+"
            for name in names
        )
        return re.compile(rf"</{self._prefix}loc\s*+>\s*+{fields}{re.escape(self.end)}")

    @staticmethod
    def _table(names: tuple[str, ...], found: list[tuple[str, ...]]) -> list[_Row]:
        columns = dict(zip(names, zip(*found, strict=True), strict=True))
        count = len(found)
        return list(
            zip(
                _column(columns.get("priority"), _priority, count, SITEMAP_PAGE_DEFAULT_PRIORITY),
                _column(columns.get("lastmod"), _date, count, None),
                _column(columns.get("changefreq"), _frequency, count, None),
                strict=True,
            )
        )

    def fields(self, entry: str) -> PageFields:
        """Read one entry, without its end tag."""
        fields = self._usual(entry) if self._unprefixed else None
        if fields is not None:
            return fields
        with self._lock:
            entries = self._parser.read(entry + self.end)
        page = next((e.page() for e in entries if isinstance(e, PageEntry)), None)
        return page.fields() if page else PageFields()

    def _usual(self, entry: str) -> PageFields | None:
        """Read an entry of the usual shape: own fields, then links and records of extensions.

        If every ``<`` in it belongs to one of these, then there is nothing else in it. Where a record
        ends does not matter: what follows belongs to the last one of its kind.
        """
        found = _ELEMENT.findall(entry)
        first = _ELEMENT.search(entry) if found else None
        own = self._own.findall(entry, 0, first.start() if first else len(entry))
        links = _LINK.findall(entry) if self._links and "hreflang" in entry else []
        # The entry's own tags, without its end: url, loc and its end.
        elements = len(found) + len(own)
        if entry.count("</") != 1 + elements or entry.count("<") != 3 + 2 * elements + len(links):
            return None
        records = self._records(found) if len(found) < MAX_FIELDS else None
        if records is None:
            return None
        fields: dict[str, Any] = {
            FIELDS[space]: MODULES[space].read(record, ignore) for space, record in records.items()
        }
        if links:
            fields["alternates"] = links
        return PageFields(*read_own({name: text for name, text in own if text}), **fields)

    def _records(self, found: list[tuple[str, str, str]]) -> dict[Space, list[list[Field]]] | None:
        """Sort elements into the records of extensions; None if one is not where it should be."""
        records: dict[Space, list[list[Field]]] = {}
        known = self._parser.meanings(self._entry_class)
        for name, text, closed in found:
            sort, local, space = known.get(name) or self._parser.meaning(name, self._entry_class)
            if closed and sort is Sort.RECORD_FIELD:
                if "&" in text or not text.isprintable():
                    text = decode_text(text, ignore)  # noqa: PLW2901
                if space not in records:
                    records[space] = [[]]
                records[space][-1].append(Field(local, text))
            elif not closed and sort is Sort.RECORD:
                records.setdefault(space, []).append([Field(local, "")])
            elif sort is not Sort.OTHER:
                return None
        return records


# An element with a prefix and without attributes; closed at once, or with others inside.
_ELEMENT = re.compile(r"<([A-Za-z][\w.-]*+:[\w.-]++)>([^<]*+)(</\1>)?+")

# How nearly every generator writes a link to another language.
_LINK = re.compile(
    r'<xhtml:link rel="alternate" hreflang="([\w-]++)" href="([^"&<>\s]++)"\s*+/>', re.ASCII
)


def _column(
    texts: tuple[str, ...] | None, read: Callable[[str], Any], count: int, default: object
) -> Iterator[Any]:
    return repeat(default, count) if texts is None else map(read, texts)


@lru_cache(maxsize=1024)
def _priority(text: str) -> Decimal:
    return read_own({"priority": text} if text else {})[0]


@lru_cache(maxsize=1024)
def _date(text: str) -> datetime | None:
    return parse_iso8601_date(text) if text else None


@lru_cache(maxsize=64)
def _frequency(text: str) -> SitemapPageChangeFrequency | None:
    return read_own({"changefreq": text} if text else {})[2]
