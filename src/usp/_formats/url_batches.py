"""Pages in batches: what the fast lane has cut out of a ``<urlset>``, read when it is asked for."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.dates import known_date
from usp._formats import values
from usp._formats.abstract_parser import PageBatch, PageEntry
from usp._formats.extensions import FIELDS, READERS
from usp._formats.xml.entries import Field, Sort
from usp._formats.xml.fast import ATTRIBUTES, VALUE
from usp._formats.xml.namespaces import Space
from usp._formats.xml.nesting import MAX_DEPTH, MAX_FIELDS
from usp._formats.xml.references import decode_text
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    DeferredPage,
    PageFields,
    SitemapPage,
    SitemapPageChangeFrequency,
)
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal

    from usp._formats.abstract_parser import Note
    from usp._formats.xml.entries import RawEntry
    from usp._formats.xml.fast import Shape, Tags
    from usp._formats.xml.parser import AbstractXMLSitemapParser

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
            note(ProblemCode.BAD_LASTMOD, raw["lastmod"])
    if "changefreq" in raw:
        change_frequency = values.change_frequency(raw["changefreq"])
        if change_frequency is None:
            note(ProblemCode.BAD_CHANGEFREQ, raw["changefreq"])
            change_frequency = SitemapPageChangeFrequency.ALWAYS
    if "priority" in raw:
        given = values.priority(raw["priority"])
        if given is None:
            note(ProblemCode.BAD_PRIORITY, raw["priority"])
        else:
            priority = given
    return priority, last_modified, change_frequency


class UrlBatch(PageBatch):
    """Pages that the fast lane has cut; also what they are read from later."""

    __slots__ = ("_block", "_entries", "_reader", "_rows", "_shape", "urls")

    def __init__(
        self,
        urls: list[str],
        reader: EntryReader,
        block: str,
        *,
        shape: Shape | None = None,
        entries: list[str] | None = None,
    ) -> None:
        self.urls = urls
        self._reader = reader
        self._block = block
        self._shape = shape
        self._entries = entries
        self._rows: list[_Row] = []

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages; nothing but their URLs is read."""
        return map(DeferredPage, self.urls, repeat(self), range(len(self.urls)))

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields in columns, if the block has a shape."""
        return read_columns(self._block, self._shape, len(self.urls)) if self._shape else None

    def fields(self, at: int) -> PageFields | _Row:
        """Read what an entry says beside its loc: of simple entries all at once."""
        shape = self._shape
        if shape:
            self._rows = read_rows(self._block, shape, len(self.urls))
            self._shape = None
        if self._rows:
            return self._rows[at]
        if self._entries is None:
            self._entries = self._block.split(self._reader.end)
        return self._reader.fields(self._entries[at])


_Plan: TypeAlias = "list[tuple[str, Callable[..., Any], list[list[tuple[str, int]]]]]"
"""How the elements of an entry become fields: the field, who reads it, the elements by record."""

_NO_PLAN: _Plan = []
_MAX_PLANS = 256
_MAX_OPEN = MAX_DEPTH - 3  # below the root and the entry, with room for one more
_BEHIND = "\n" * 16  # so that nothing at the end of an entry waits for more
_new = tuple.__new__  # how a named tuple is made quickly


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
        prefix = re.escape(tags.prefix)
        self._own = re.compile(
            rf"<{prefix}(lastmod|changefreq|priority){ATTRIBUTES}>\s*+{VALUE}\s*+"
            rf"</{prefix}(?:\1)\s*+>"
        )
        self._unprefixed = not tags.prefix
        self._base = parser.base()
        self._links = parser.means("xhtml:link", Space.XHTML)
        self._plans: dict[tuple[tuple[str, ...], tuple[str, ...]], _Plan] = {}

    def fields(self, entry: str) -> PageFields:
        """Read one entry, without its end tag."""
        fields = self._usual(entry) if self._unprefixed else None
        if fields is not None:
            return fields
        with self._lock:
            entries = self._parser.read(entry + self.end + _BEHIND)
        page = next((e.page() for e in entries if isinstance(e, PageEntry)), None)
        return page.fields() if page else PageFields()

    def _usual(self, entry: str) -> PageFields | None:
        """Read an entry of the usual shape: own fields, then links and records of extensions.

        If every ``<`` in it belongs to one of these, then there is nothing else in it. Where a record
        ends does not matter: what follows belongs to the last one of its kind.
        """
        links: list[tuple[str, str]] | None = None
        if self._links and (begin := entry.find("<xhtml:link ")) > 0:
            end = entry.find(">", entry.rfind("<xhtml:link ")) + 1
            links = _read_links(entry[begin:end])
            if links is None:
                return None
            entry = entry[:begin] + entry[end:]
        found = _ELEMENT.findall(entry)
        first = entry.find(f"<{found[0][0]}>") if found else len(entry)
        own = self._own.findall(entry, 0, first)
        # The entry's own tags, without its end: url, loc and its end.
        elements = len(found) + len(own)
        if entry.count("</") != 1 + elements or entry.count("<") != 3 + 2 * elements:
            return None
        fields = self._extensions(found) if found else {}
        if fields is None:
            return None
        return PageFields(
            *_own_row({name: text for name, text in own if text}), alternates=links, **fields
        )

    def _extensions(self, found: list[tuple[str, str, str]]) -> dict[str, Any] | None:
        """Read the elements of extensions; None if one is not where it should be."""
        names, texts, ends = zip(*found, strict=True)
        plan = self._plans.get((names, ends))
        if plan is None:
            plan = self._plan(names, ends)
            if len(self._plans) < _MAX_PLANS:
                self._plans[names, ends] = plan
        if plan is _NO_PLAN:
            return None
        decoded = [
            decode_text(text, ignore) if "&" in text or not text.isprintable() else text
            for text in texts
        ]
        return {
            field: read(
                [
                    [_new(Field, (name, decoded[at], "")) for name, at in record]
                    for record in records
                ],
                ignore,
                self._base,
            )
            for field, read, records in plan
        }

    def _plan(self, names: tuple[str, ...], ends: tuple[str, ...]) -> _Plan:
        """Sort elements into the records of extensions."""
        # Whether elements with others inside are ever closed is not known: all may be nested.
        if len(names) >= MAX_FIELDS or ends.count("") > _MAX_OPEN:
            return _NO_PLAN
        records: dict[Space, list[list[tuple[str, int]]]] = {}
        for at, (name, closed) in enumerate(zip(names, ends, strict=True)):
            sort, local, space = self._parser.meaning(name, self._entry_class)
            if closed and sort is Sort.RECORD_FIELD:
                records.setdefault(space, [[]])[-1].append((local, at))
            elif not closed and sort is Sort.RECORD:
                records.setdefault(space, []).append([(local, at)])
            elif sort is not Sort.OTHER:
                return _NO_PLAN
        return [(FIELDS[space], READERS[space], found) for space, found in records.items()]


# An element with a prefix and without attributes; closed at once, or with others inside.
_ELEMENT = re.compile(r"<([A-Za-z][A-Za-z0-9_.-]*+:[A-Za-z0-9_.-]++)>(?:([^<]*+)(</\1>))?+")

# How nearly every generator writes a link to another language.
_LINK = re.compile(
    r'<xhtml:link rel="alternate" hreflang="([A-Za-z0-9_-]++)" href="(https?://[^"]++)"\s*+/>'
)


def _read_links(text: str) -> list[tuple[str, str]] | None:
    """Read links with nothing between them; None if one is not written as usual."""
    links = _LINK.findall(text)
    if text.count("<") != len(links):
        return None
    addresses = "".join([address for _, address in links])
    others = addresses.encode("utf-8", "surrogatepass").translate(None, _USUAL_IN_ADDRESS)
    letters = others.decode("utf-8", "surrogatepass")
    usual = not letters or (min(letters) > "\x7f" and letters.isprintable())
    return links if usual else None


_USUAL_IN_ADDRESS = bytes(set(range(0x21, 0x7F)) - set(b"&"))


def read_columns(block: str, shape: Shape, count: int) -> dict[str, Sequence[str]] | None:
    """Return the fields of a block of that shape as texts; None if one needs a closer look."""
    if not shape.names:
        return {}
    found = shape.rows.findall(block)
    if len(found) != count:
        return None
    texts = zip(*found, strict=True) if len(shape.names) > 1 else [found]
    return dict(zip(shape.names, texts, strict=True))


def read_rows(block: str, shape: Shape, count: int) -> list[_Row]:
    """Read the fields of a block of that shape as columns; empty if one needs a closer look."""
    columns = read_columns(block, shape, count)
    if columns is None:
        return []
    return list(
        zip(
            _column(columns.get("priority"), _priority, count, SITEMAP_PAGE_DEFAULT_PRIORITY),
            _column(columns.get("lastmod"), known_date, count, None),
            _column(columns.get("changefreq"), _frequency, count, None),
            strict=True,
        )
    )


def _own_row(texts: dict[str, str]) -> _Row:
    """Read the fields of one entry through the caches."""
    return (
        _priority(texts.get("priority", "")),
        known_date(texts.get("lastmod", "")),
        _frequency(texts.get("changefreq", "")),
    )


def _column(
    texts: Sequence[str] | None, read: Callable[[str], Any], count: int, default: object
) -> Iterator[Any]:
    return repeat(default, count) if texts is None else map(read, texts)


@lru_cache(maxsize=1024)
def _priority(text: str) -> Decimal:
    return read_own({"priority": text} if text else {})[0]


@lru_cache(maxsize=64)
def _frequency(text: str) -> SitemapPageChangeFrequency | None:
    return read_own({"changefreq": text} if text else {})[2]
