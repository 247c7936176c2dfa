"""Pages in batches: what the quick lanes make of a ``<urlset>``, read when it is asked for."""

from __future__ import annotations

import re
import threading
from functools import lru_cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeAlias

from usp._base.dates import MAX_REMEMBERED, known_date
from usp._formats import values
from usp._formats.abstract_parser import PageBatch, PageEntry
from usp._formats.extensions import FIELDS as EXTENSIONS
from usp._formats.extensions import MANY, READERS, TABLES
from usp._formats.xml import cut
from usp._formats.xml.cut import FIELDS
from usp._formats.xml.entries import Field, Sort
from usp._formats.xml.namespaces import Space
from usp._formats.xml.trees import Unvouched, text_of
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    DeferredPage,
    PageFields,
    SitemapPage,
    SitemapPageChangeFrequency,
)
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Note
    from usp._formats.extensions import Shortcut
    from usp._formats.xml.entries import RawEntry
    from usp._formats.xml.lanes import LaneParser
    from usp._formats.xml.trees import Step, Trees

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


class Columns:
    """The fields of the protocol of many entries as texts, a column each; an empty text is none."""

    __slots__ = ("_count", "_rows", "texts")

    def __init__(self, lists: Sequence[Sequence[str]]) -> None:
        self._count = len(lists[0])
        self.texts: dict[str, Sequence[str]] = {
            name: column
            for name, column in zip(FIELDS, lists, strict=True)
            if column.count("") < self._count
        }
        self._rows: list[_Row] | None = None

    def rows(self) -> list[_Row]:
        """Return the values of each entry; they repeat, so they are read through caches."""
        if self._rows is None:
            get = self.texts.get
            lastmod, changefreq, priority = map(get, FIELDS)
            self._rows = list(
                zip(
                    map(_priority, priority) if priority else repeat(_DEFAULT, self._count),
                    map(known_date, lastmod) if lastmod else repeat(None, self._count),
                    map(_frequency, changefreq) if changefreq else repeat(None, self._count),
                    strict=True,
                )
            )
        return self._rows

    def can_all_be_read(self) -> bool:
        """Return whether there is no problem with any of the values."""
        return (
            None not in map(known_date, filter(None, self.texts.get("lastmod", ())))
            and all(map(_is_frequency, filter(None, set(self.texts.get("changefreq", ())))))
            and all(map(_is_priority, filter(None, set(self.texts.get("priority", ())))))
        )


_DEFAULT = SITEMAP_PAGE_DEFAULT_PRIORITY


@lru_cache(maxsize=1024)
def _priority(text: str) -> Decimal:
    return read_own({"priority": text} if text else {})[0]


@lru_cache(maxsize=64)
def _frequency(text: str) -> SitemapPageChangeFrequency | None:
    return read_own({"changefreq": text} if text else {})[2]


def _is_priority(text: str) -> bool:
    return values.priority(text) is not None


def _is_frequency(text: str) -> bool:
    return values.change_frequency(text) is not None


class ColumnBatch(PageBatch):
    """Pages that have fields of the protocol and no others."""

    __slots__ = ("_columns", "urls")

    def __init__(self, urls: list[str], columns: Columns) -> None:
        self.urls = urls
        self._columns = columns

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages; their fields are read when one of them is asked."""
        return map(DeferredPage, self.urls, repeat(self), range(len(self.urls)))

    def texts(self) -> Mapping[str, Sequence[str]]:
        """Return the fields in columns."""
        return self._columns.texts

    def fields(self, at: int) -> _Row:
        """Return the fields of a page."""
        return self._columns.rows()[at]


class BlockBatch(PageBatch):
    """Pages whose URLs were cut out of a block, in which everything else is still to be read."""

    __slots__ = ("_block", "_columns", "_reader", "_rows", "urls")

    def __init__(self, urls: list[str], block: str, reader: BlockReader) -> None:
        self.urls = urls
        self._block = block
        self._reader = reader
        self._columns: Columns | None = None
        self._rows: Sequence[PageFields | _Row] = ()

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages; nothing but their URLs is read."""
        return map(DeferredPage, self.urls, repeat(self), range(len(self.urls)))

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields in columns, if there are no others."""
        self._read()
        return None if self._columns is None else self._columns.texts

    def rows(self) -> list[PageFields]:
        """Return everything but the URL of each page; pages are not made for it."""
        return [
            row if isinstance(row, PageFields) else PageFields(*row) for row in self._read_rows()
        ]

    def fields(self, at: int) -> PageFields | _Row:
        """Return the fields of a page."""
        return (self._rows or self._read_rows())[at]

    def _read_rows(self) -> Sequence[PageFields | _Row]:
        self._read()
        if not self._rows and self._columns is not None:
            self._rows = self._columns.rows()
        return self._rows

    def _read(self) -> None:
        block = self._block
        if self._columns is None and not self._rows:
            found = self._reader.read(block, len(self.urls))
            if isinstance(found, Columns):
                self._columns = found
            else:
                self._rows = found
            self._block = ""


def read_columns(
    root: Element, trees: Trees, entry: type[RawEntry], *, blank: bool
) -> tuple[list[str], Columns] | None:
    """Return locs and fields of a tree whose entries have nothing else; None if they have more.

    With ``blank`` there must not be any text beside them, either.
    """
    found = [{child.tag: child.text for child in element} for element in root]
    elements = list(root.iter())
    sizes = list(map(len, found))
    # As many as there are in all, so that nothing stands deeper; and none twice in its entry.
    if len(elements) != 1 + len(found) + sum(sizes) or sizes != list(map(len, root)):
        return None
    if blank and not _is_blank(root, elements):
        return None
    names = trees.columns({element.tag for element in root}, set().union(*found), entry)
    if names is None or "loc" not in names:
        return None
    lists = {
        name: [(element.get(tag) or "").strip() for element in found] for name, tag in names.items()
    }
    locs = lists.pop("loc")
    if not all(locs):
        return None
    texts = [lists.get(name) or [""] * len(locs) for name in FIELDS]
    for column in lists.values():
        if max(map(len, column)) > MAX_REMEMBERED or "&" in "".join(column):
            return None
    return locs, Columns(texts)


def cut_columns(block: str, name: str, count: int) -> Columns | None:
    """Return the fields of a regular block whose entries have nothing else."""
    found = cut.rows(block, name, count)
    return None if found is None else Columns(list(zip(*found, strict=True)))


def _is_blank(root: Element, elements: list[Element]) -> bool:
    texts = [element.tail or "" for element in elements] + [element.text or "" for element in root]
    texts.append(root.text or "")
    return not "".join(texts).strip(" \t\r\n")


# How nearly every program writes a link to another language.
_LINK = re.compile(
    r'<xhtml:link rel="alternate" hreflang="([A-Za-z0-9_-]++)" href="(https?://[\w!#-%\'-;=-~]++)"\s*+/>'
)

_BEHIND = "\n" * 16  # so that nothing at the end of an entry waits for more
_MAX_PLANS = 500
_FEW = 4  # entries that are not halved any more


class BlockReader:
    """Reads the fields of blocks whose URLs are known.

    ``parser`` stands directly below the root of such a document; ``name`` is that of entries.
    """

    def __init__(self, parser: LaneParser, entry: type[RawEntry], name: str) -> None:
        self._parser = parser
        self._entry = entry
        self._name = name
        self._end = f"</{name}>"
        self._plans: dict[int, _Plan] = {}
        self._lock = threading.Lock()

    def read(self, block: str, count: int) -> Columns | list[PageFields]:
        """Return the fields of all entries of a block."""
        if block.count("<") == 4 * count:  # the tags of an entry and its loc
            return Columns([[""] * count] * len(FIELDS))
        found: Columns | list[PageFields] | None = cut_columns(block, self._name, count)
        if found is not None:
            return found
        with self._lock:
            if "<xhtml:link " in block:
                found = self._read_without_links(block, count)
            if found is None:
                found = self._read_tree(block, count)
            return self._halved(block.split(self._end)[:-1]) if found is None else found

    def _read_tree(self, block: str, count: int) -> Columns | list[PageFields] | None:
        trees = self._parser.trees()
        root = trees.parse(block)
        if root is None or len(root) != count:
            return None
        try:
            more = any(map(len, root[0]))  # elements inside of others
            columns = None if more else read_columns(root, trees, self._entry, blank=False)
            return [self._fields(one) for one in root] if columns is None else columns[1]
        except Unvouched:
            return None

    def _fields(self, entry: Element, links: list[tuple[str, str]] | None = None) -> PageFields:
        """Return the fields of an entry, with the links that were cut out of it."""
        elements = list(entry.iter())
        steps = self._parser.trees().steps(elements, self._entry)
        plan = self._plans.get(id(steps))
        if plan is None or plan.steps is not steps:
            plan = self._plans[id(steps)] = _Plan(steps)
            while len(self._plans) > _MAX_PLANS:
                del self._plans[next(iter(self._plans))]
        return plan.read(elements, self._parser.base(), links)

    def _read_without_links(self, block: str, count: int) -> list[PageFields] | None:
        """Read links to other languages apart: entries have many of them, and trees take long."""
        if self._parser.meaning("xhtml:link", self._entry).space is not Space.XHTML:
            return None
        rest: list[str] = []
        links: list[list[tuple[str, str]] | None] = []
        for entry in block.split(self._end)[:-1]:
            begin = entry.find("<xhtml:link ")
            end = entry.find("/>", entry.rfind("<xhtml:link ")) + 2
            found = _LINK.findall(entry, begin, end) if begin >= 0 else []
            # Nothing but links, after the end of an element.
            if (
                found
                and entry.count("<", begin, end) == len(found)
                and entry.find("<", entry.rfind("</", 0, begin) + 2) == begin
            ):
                links.append(found)
                rest.append(entry[:begin] + entry[end:])
            else:
                links.append(None)
                rest.append(entry)
        root = self._parser.trees().parse(self._end.join([*rest, ""]))
        if root is None or len(root) != count:
            return None
        try:
            return list(map(self._fields, root, links))
        except Unvouched:
            return None

    def _halved(self, entries: list[str]) -> list[PageFields]:
        """Read entries as trees of fewer and fewer of them, and the rest one by one."""
        if len(entries) <= _FEW:
            return list(map(self._scanned, entries))
        found: list[PageFields] = []
        middle = len(entries) // 2
        for half in (entries[:middle], entries[middle:]):
            read = self._read_tree(self._end.join([*half, ""]), len(half))
            if isinstance(read, Columns):
                found += [PageFields(*row) for row in read.rows()]
            else:
                found += self._halved(half) if read is None else read
        return found

    def _scanned(self, entry: str) -> PageFields:
        entries = self._parser.read(entry + self._end + _BEHIND)
        page = next((e.page() for e in entries if isinstance(e, PageEntry)), None)
        return page.fields() if page else PageFields()


class _Records:
    """The elements of an extension in an entry, by record, each with its number."""

    def __init__(self, space: Space, records: list[list[tuple[str, int]]]) -> None:
        self.field = EXTENSIONS[space]
        self._records = records
        self._read = READERS[space]
        self._many = MANY[space]
        self._table = TABLES.get(space)
        self._shortcuts: list[list[Shortcut]] | None = None
        if self._table is not None:
            shortcuts = []
            for record in records if self._many else records[-1:]:
                steps = self._table.shortcut([name for name, _ in record])
                if steps is None:
                    break
                shortcuts.append([(record[at][1], *rest) for at, *rest in steps])
            else:
                self._shortcuts = shortcuts

    def read(self, elements: list[Element], texts: list[str | None], base: str | None) -> Any:
        """Return what they become."""
        table = self._table
        if table is not None and self._shortcuts is not None:
            found = [table.read_texts(steps, texts, base) for steps in self._shortcuts]
            if None not in found:
                return found if self._many else found[0]
        records = [
            [Field(name, texts[at] or "", elements[at]) for name, at in record]
            for record in self._records
        ]
        return self._read(records, ignore, base)


class _Plan:
    """How the elements of an entry become its fields."""

    def __init__(self, steps: list[Step]) -> None:
        self.steps = steps
        self._own = [(n, at) for sort, n, _, at in steps if sort is Sort.FIELD and n != "loc"]
        records: dict[Space, list[list[tuple[str, int]]]] = {}
        for sort, name, space, at in steps:
            if sort is Sort.RECORD:
                records.setdefault(space, []).append([(name, at)])
            elif sort is Sort.RECORD_FIELD:
                records.setdefault(space, [[]])[-1].append((name, at))
        self.has_links = Space.XHTML in records
        self._records = [_Records(space, found) for space, found in records.items()]
        self._leaves = [at for sort, _, _, at in steps if sort is not Sort.RECORD]
        self.has_markup: bool | None = None

    def read(
        self, elements: list[Element], base: str | None, links: list[tuple[str, str]] | None
    ) -> PageFields:
        """Return the fields of an entry with such elements, and with links that were read apart."""
        if self.has_markup is None:
            self.has_markup = any(len(elements[at]) for at in self._leaves)
        texts = [element.text for element in elements]
        if self.has_markup:
            texts = list(map(text_of, elements))
        if links and (self.has_links or self.has_markup):
            raise Unvouched  # there are others, or they stood in the text of a field
        raw: dict[str, str] = {}
        for name, at in self._own:
            text = texts[at]
            if text and not text.isspace():
                raw[name] = text
        more: dict[str, Any] = {one.field: one.read(elements, texts, base) for one in self._records}
        if links:
            more["alternates"] = links
        return PageFields(*_remembered_own(raw), **more)


def _remembered_own(raw: dict[str, str]) -> _Row:
    """Return what :func:`read_own` returns, through the caches."""
    lastmod = raw.get("lastmod", "")
    if "&" in lastmod or (raw and max(map(len, raw.values())) > MAX_REMEMBERED):
        return read_own(raw)
    priority, changefreq = raw.get("priority"), raw.get("changefreq")
    return (
        _priority(priority) if priority else _DEFAULT,
        known_date(lastmod),
        _frequency(changefreq) if changefreq else None,
    )
