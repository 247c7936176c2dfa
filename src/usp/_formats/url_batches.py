"""Pages in batches: what the quick lanes make of a ``<urlset>``, parsed on demand."""

from __future__ import annotations

from enum import Enum, auto
from itertools import repeat
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from usp._base.dates import MAX_REMEMBERED
from usp._formats import values
from usp._formats.abstract_parser import PageBatch
from usp._formats.xml import cut
from usp._formats.xml.cut import FIELDS
from usp._formats.xml.nesting import MAX_FIELDS
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    DeferredPage,
    OwnPage,
    PageFields,
    SitemapPage,
    SitemapPageChangeFrequency,
)
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime
    from decimal import Decimal
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Note
    from usp._formats.block_reader import BlockReader
    from usp._formats.xml.cut import Style
    from usp._formats.xml.entries import RawEntry
    from usp._formats.xml.trees import Trees
    from usp.objects.page import OwnFields, PageBlock


def ignore(message: str, excerpt: str) -> None:
    """Ignore damage: problems were not requested."""


def read_own(
    raw: Mapping[str, str], note: Note = ignore
) -> tuple[Decimal, datetime | None, SitemapPageChangeFrequency | None]:
    """Parse priority, lastmod and changefreq, the fields of the protocol itself."""
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

    __slots__ = ("_count", "texts")

    def __init__(self, given: Mapping[str, Sequence[str]], count: int) -> None:
        self._count = count
        self.texts = {name: given[name] for name in FIELDS if any(given.get(name, ()))}

    def values(self) -> tuple[Iterable[Decimal], Iterable[datetime | None], Iterable[_Frequency]]:
        """Return priorities, dates and frequencies; they repeat, so they are read through caches."""
        lastmod, changefreq, priority = map(self.texts.get, FIELDS)
        return (
            map(_priorities.__getitem__, priority) if priority else repeat(_DEFAULT, self._count),
            values.dates(lastmod) if lastmod else repeat(None, self._count),
            map(_frequencies.__getitem__, changefreq) if changefreq else repeat(None, self._count),
        )

    def rows(self) -> list[OwnFields]:
        """Return the same, entry by entry."""
        return list(zip(*self.values(), strict=True))

    def can_all_be_read(self) -> bool:
        """Return whether there is no problem with any of the values."""
        return (
            None not in values.dates(list(filter(None, self.texts.get("lastmod", ()))))
            and all(map(_is_frequency, filter(None, set(self.texts.get("changefreq", ())))))
            and all(map(_is_priority, filter(None, set(self.texts.get("priority", ())))))
        )


_DEFAULT = SITEMAP_PAGE_DEFAULT_PRIORITY


_Frequency: TypeAlias = "SitemapPageChangeFrequency | None"
_Value = TypeVar("_Value")


class _Remembered(dict[str, _Value]):
    """The values of short texts; so many are kept, then it begins anew."""

    def __init__(self, read: Callable[[str], _Value], most: int) -> None:
        super().__init__()
        self._read = read
        self._most = most

    def __missing__(self, text: str) -> _Value:
        if len(self) >= self._most:
            self.clear()
        self[text] = value = self._read(text)
        return value


_priorities = _Remembered(lambda text: read_own({"priority": text} if text else {})[0], 1024)
_frequencies = _Remembered(lambda text: read_own({"changefreq": text} if text else {})[2], 64)


def _is_priority(text: str) -> bool:
    return values.priority(text) is not None


def _is_frequency(text: str) -> bool:
    return values.change_frequency(text) is not None


def remembered_own(lastmod: str | None, changefreq: str | None, priority: str | None) -> OwnFields:
    """Return what :func:`read_own` returns, through the caches, for texts without blanks around."""
    if len(changefreq or "") > MAX_REMEMBERED or len(priority or "") > MAX_REMEMBERED:
        given = {"lastmod": lastmod, "changefreq": changefreq, "priority": priority}
        return read_own({name: text for name, text in given.items() if text})
    return (
        _priorities[priority] if priority else _DEFAULT,
        values.date(lastmod) if lastmod else None,
        _frequencies[changefreq] if changefreq else None,
    )


class ColumnBatch(PageBatch):
    """Pages that have fields of the protocol and no others."""

    __slots__ = ("_columns", "_own", "urls")

    def __init__(self, urls: list[str], columns: Columns) -> None:
        self.urls = urls
        self._columns = columns
        self._own: list[OwnFields] = []

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages; their fields are parsed on first access."""
        return map(DeferredPage, self.urls, repeat(self), range(len(self.urls)))

    def texts(self) -> Mapping[str, Sequence[str]]:
        """Return the fields in columns."""
        return self._columns.texts

    def rows(self) -> list[PageFields]:
        """Return everything except the URL of each page."""
        return [PageFields(*row) for row in self._columns.rows()]

    def own(self, at: int) -> OwnFields:
        """Return the fields of a page."""
        own = self._own
        if not own:
            own = self._own = self._columns.rows()
        return own[at]

    def fields(self, at: int) -> PageFields:
        """Return the same, with those that it does not have."""
        return PageFields(*self.own(at))


class Ahead(Enum):
    """What is parsed of a block in advance, because it was used of the blocks before."""

    OWN = auto()
    ALL = auto()


class BlockBatch(PageBatch):
    """Pages whose URLs were cut out of a block; everything else is still to be parsed."""

    __slots__ = ("_block", "_columns", "_fields", "_own", "_reader", "_style", "urls")

    def __init__(
        self,
        urls: list[str],
        block: str,
        style: Style | None,
        reader: BlockReader,
        columns: Columns | None = None,
        fields: Sequence[PageFields] = (),
        own: Sequence[OwnFields] = (),
    ) -> None:
        self.urls = urls
        self._block = block
        self._style = style
        self._reader = reader
        self._columns: Columns | bool = columns or False  # True if they cannot be cut
        self._own: Sequence[PageFields | OwnFields] = own
        self._fields = fields

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages; their fields are parsed if those of earlier pages were used."""
        numbers = range(len(self.urls))
        ahead = self._reader.reads_ahead()
        if not ahead:
            return map(DeferredPage, self.urls, repeat(self), numbers)
        if self._fields:
            return map(SitemapPage.of, self.urls, self._fields)
        columns = self._cut_columns()
        if columns is not None:
            return map(OwnPage, self.urls, *columns.values())
        rows = self._all() if ahead is Ahead.ALL else self._own_rows()
        return map(DeferredPage, self.urls, repeat(self), numbers, rows)

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields in columns, if there are no others."""
        if self._fields or self._style is None:
            return None
        self._reader.read_ahead(Ahead.OWN)
        columns = self._cut_columns() or self._reader.columns(self._block, len(self.urls))
        return None if columns is None else columns.texts

    def own_texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields of the protocol in columns, of pages with other fields too."""
        columns = self._own_columns() or self._reader.own(self._block, len(self.urls))
        return None if columns is None else columns.texts

    def entry_texts(self) -> list[str] | None:
        """Return each entry as written; None if that is not known without parsing them."""
        block, style = self._block, self._style
        if style is None and ("<!" in block or "<?" in block):
            return None  # in which there may be tags
        *texts, _ = block.split(cut.end_of(block))
        return texts if len(texts) == len(self.urls) else None

    def part(self, numbers: Sequence[int]) -> PageBlock | None:
        """Return a block of some of the pages that keeps nothing else; None if that takes parsing."""
        texts = self.entry_texts()
        if texts is None:
            return None
        urls, end = self.urls, cut.end_of(self._block)
        block = end.join([texts[at] for at in numbers] + [""])
        return self.restored([urls[at] for at in numbers], block)

    def written(self) -> tuple[list[str], str]:
        """Return all that :meth:`restored` needs to make such a block again, of the same document."""
        return self.urls, self._block

    def restored(self, urls: list[str], text: str) -> BlockBatch:
        """Return a block of the same document from its URLs and its text."""
        return BlockBatch(urls, text, self._style, self._reader)

    def rows(self) -> Sequence[PageFields]:
        """Return everything except the URL of each page, without creating page objects."""
        columns = None if self._fields else self._cut_columns()
        return self._all() if columns is None else [PageFields(*row) for row in columns.rows()]

    def own(self, at: int) -> PageFields | OwnFields:
        """Return the fields of the protocol of a page."""
        self._reader.read_ahead(Ahead.OWN)
        return self._fields[at][:3] if self._fields else (self._own or self._own_rows())[at]

    def _own_rows(self) -> Sequence[PageFields | OwnFields]:
        if not self._own:
            columns = self._own_columns()
            self._own = self._all() if columns is None else columns.rows()
        return self._own

    def _own_columns(self) -> Columns | None:
        count = len(self.urls)
        columns = self._cut_columns()
        style = self._style
        if columns is None and style is not None and self._block.count("<") < MAX_FIELDS:
            found = cut.own_columns(self._block, style, count)
            columns = None if found is None else Columns(found, count)
        return columns

    def fields(self, at: int) -> PageFields:
        """Return the fields of a page."""
        self._reader.read_ahead(Ahead.ALL)
        if self._fields or self._cut_columns() is None:
            return self._all()[at]
        return PageFields(*self._own_rows()[at])

    def _cut_columns(self) -> Columns | None:
        """Return the fields of the protocol of a regular block whose entries have no others."""
        if self._columns is False:
            found = None if self._style is None else cut.columns(self._block, self._style)
            self._columns = True if found is None else Columns(found, len(self.urls))
        return self._columns if isinstance(self._columns, Columns) else None

    def _all(self) -> Sequence[PageFields]:
        if not self._fields:
            self._fields = self._reader.fields(self._block, len(self.urls))
        return self._fields


def read_columns(
    root: Element, trees: Trees, entry: type[RawEntry], *, blank: bool
) -> tuple[list[str], Columns] | None:
    """Return locs and fields of a tree whose entries have nothing else; None if they have more.

    With ``blank``, there must be no text between them, either.
    """
    elements = list(root.iter())
    if blank and not _is_blank(root, elements):
        return None
    texts = _texts_by_tag(root, elements)
    names = (
        None if texts is None else trees.columns({element.tag for element in root}, texts, entry)
    )
    if texts is None or names is None or "loc" not in names:
        return None
    lists = {
        name: [text.strip() if text else "" for text in texts[tag]] for name, tag in names.items()
    }
    locs = lists.pop("loc")
    if not all(locs):
        return None
    columns = checked(lists, len(locs))
    return None if columns is None else (locs, columns)


def _texts_by_tag(
    root: Element, elements: list[Element]
) -> Mapping[str, Sequence[str | None]] | None:
    """Return the texts of entries that have no tag twice, and nothing deeper; by tag, in columns."""
    count, size = len(root), 1 + len(root[0])
    if len(elements) == 1 + count * size:  # if all are alike
        tags, sizes = [one.tag for one in elements], list(map(len, elements))
        first = tags[1 : 1 + size]
        if (
            tags[1:] == first * count
            and sizes[1:] == [size - 1, *[0] * (size - 1)] * count
            and len(set(first[1:])) == size - 1
        ):
            texts = [one.text for one in elements]
            return {tag: texts[at::size] for at, tag in enumerate(first[1:], 2)}
    found = [{child.tag: child.text for child in element} for element in root]
    lengths = list(map(len, found))
    if len(elements) != 1 + count + sum(lengths) or lengths != list(map(len, root)):
        return None
    return {tag: [one.get(tag) for one in found] for tag in set().union(*found)}


def checked(texts: dict[str, list[str]], count: int) -> Columns | None:
    """Return columns of texts that can be read through caches."""
    for column in texts.values():
        if max(map(len, column)) > MAX_REMEMBERED or "&" in "".join(column):
            return None
    return Columns(texts, count)


def _is_blank(root: Element, elements: list[Element]) -> bool:
    texts = [element.tail or "" for element in elements] + [element.text or "" for element in root]
    texts.append(root.text or "")
    return not "".join(texts).strip(" \t\r\n")
