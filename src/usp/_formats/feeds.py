"""Feeds as sitemaps: RSS 2.0, 1.0 and 0.9x; Atom 1.0 and 0.3."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, cast

from usp._base.dates import MAX_REMEMBERED, read_date
from usp._formats import feed_cutting, values
from usp._formats.abstract_parser import Pages
from usp._formats.feed_entries import AtomEntry, FeedEntry, Item, bases_in
from usp._formats.feed_stories import Demand, Stories, story_fields
from usp._formats.url_batches import ignore
from usp._formats.values import absolute_url
from usp._formats.xml import cut
from usp._formats.xml.entries import Sort, text_of
from usp._formats.xml.lanes import LARGEST, LARGEST_TREE, LaneParser
from usp._formats.xml.namespaces import Space
from usp._formats.xml.references import attribute_value, decode_text
from usp._formats.xml.trees import Unvouched, check_text_before, check_texts, is_well_formed
from usp.objects.page import SitemapPage
from usp.objects.sitemap import PagesAtomSitemap, PagesRSSSitemap

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Entry
    from usp._formats.xml.entries import Step


class _Plan(NamedTuple):
    """Where an entry has its addresses, its title and its date, as numbers of its elements."""

    entry: type[FeedEntry]
    links: tuple[int, ...]
    title: int
    date: int | None

    @classmethod
    def of(cls, steps: list[Step], entry: type[FeedEntry]) -> _Plan | None:
        """Look at the elements of an entry; None if it has no address or no title."""
        own: dict[str, list[int]] = {}
        first: dict[str, int] = {}
        for sort, name, _, at in steps:
            first.setdefault(name, at)
            if sort is Sort.FIELD:
                own.setdefault(name, []).append(at)
        links = next((own[name] for name in entry.links if name in own), ())
        title = next((first[name] for name in entry.titles if name in first), None)
        date = next((first[name] for name in entry.dates if name in first), None)
        return cls(entry, tuple(links), title, date) if links and title is not None else None

    def texts(self, elements: list[Element]) -> tuple[str, str, str]:
        """Return address, title and date of an entry as written."""
        link = self.entry.address_of([elements[at] for at in self.links])
        date = "" if self.date is None else text_of(elements[self.date]) or _BLANK
        return link, text_of(elements[self.title]), date


_Columns: TypeAlias = "tuple[list[str], list[str], list[datetime | None]]"
_Texts: TypeAlias = tuple[str, str, str, str | None]
_BLANK = " "  # a date that is empty: there may be another one
_ODD = ("", "", "", None)
_MAX_PLANS, _MAX_TAGS = 500, 1000
_MAX_REFUSED = 8  # then no other block is cut


class _FeedParser(LaneParser):
    """Reads trees of feeds: the usual entries quickly, the others as all entries are read."""

    reads_bases = True

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._plans: dict[tuple[object, ...], _Plan | None] = {}
        self._planned: object = None  # the scope in which they are valid
        self.largest = self._size = LARGEST_TREE
        self._style: feed_cutting.Style | None = None
        self._around: tuple[object, ...] = ()
        self._demand = Demand()
        self._refused = 0  # blocks in a row that could not be cut

    def _cut(self, block: str) -> list[Entry] | None:
        """Cut link, title and date of entries; where problems are requested, if there are none."""
        stories = self._cut_stories(block) if self._refused < _MAX_REFUSED else None
        self.largest = LARGEST_TREE if stories is None else LARGEST
        return None if stories is None else [stories]

    def _cut_stories(self, block: str) -> Stories | None:
        text = feed_cutting.shortened(block)
        found = None if text is None else self._columns(text)
        if text is None or found is None or (self.thorough and self._may_note(block, text)):
            return None
        if any(feed_cutting.LEFT_OUT in "".join(texts) for texts in found):
            return None
        urls = self._urls(_decoded(found.link, self._style.quote if self._style else ""))
        titles = _titles(_decoded(found.title))
        dates: list[datetime | None] = _dates(_decoded(found.date))
        if None in urls or None in dates or not all(titles):
            return None
        columns = cast("_Columns", (urls, titles, dates or [None] * len(urls)))
        stories = Stories(*columns, self._demand)
        return None if self.thorough and self.is_too_long(stories.urls) else stories

    def _may_note(self, block: str, text: str) -> bool:
        """Return whether there may be problems in what was passed over."""
        room = self.url_length
        if room is not None and feed_cutting.length_of_bases(text) + len(self.base() or "") > room:
            return True
        return not is_well_formed(block)

    def _columns(self, text: str) -> feed_cutting.Columns | None:
        """Cut a block like the one before it, or else like its own first entry."""
        around = (self._scope, *self._stack)
        if self._style is not None and self._around == around:
            found = feed_cutting.columns(text, self._style)
            if found is not None:
                return found
        self._style, self._around = None, around
        self._refused += 1
        style = feed_cutting.style_of(text, self._name, self, self._stack, strict=self.thorough)
        if style is None:
            return None
        if not feed_cutting.is_worth_it(text, style):
            self._refused -= 1
            return None
        for self._style in (style, style._replace(between=())):
            found = feed_cutting.columns(text, self._style)
            if found is not None:
                self._refused = 0
                return found
        self._style = None
        return None

    def _urls(self, links: Sequence[str], bases: Sequence[str | None] = ()) -> list[str | None]:
        """Return the URLs of links without references; None for what is not a URL."""
        urls: list[Any] = list(map(str.strip, links))
        if "&" not in "".join(urls) and cut.are_plain(urls):
            return urls
        base = self.base()
        found = zip(links, bases or repeat(None), strict=False)
        return [absolute_url(values.text(link) or "", own or base) for link, own in found]

    def _read_tree(self, root: Element) -> list[Entry]:
        check_text_before(root)
        if self._planned is not self.scope:
            self._planned, self._plans = self.scope, {}
        links, titles, texts, bases = zip(*map(self._texts, root), strict=True)
        columns = self._urls(links, bases), _titles(titles), _dates(texts)
        is_usual = [
            bool(url and title and (date or not text))
            for url, title, date, text in zip(*columns, texts, strict=True)
        ]
        batch = (
            Stories(*cast("_Columns", columns), self._demand)
            if all(is_usual)
            else Pages(list(self._all_pages(root, is_usual, *cast("_Columns", columns))))
        )
        if self.thorough and self.is_too_long(batch.urls):
            raise Unvouched
        return [batch]

    def _all_pages(
        self,
        root: Element,
        is_usual: list[bool],
        urls: list[str],
        titles: list[str],
        dates: list[datetime | None],
    ) -> Iterator[SitemapPage]:
        """Yield the pages of a tree; those that are not usual are read like any other entry."""
        for element, usual, url, title, date in zip(
            root, is_usual, urls, titles, dates, strict=True
        ):
            if usual:
                yield SitemapPage.of(url, story_fields(title, date))
                continue
            if bases_in(element.iter()):
                raise Unvouched
            (batch,) = self._read_elements([element])
            assert isinstance(batch, Pages)
            yield from batch.pages()

    def _texts(self, element: Element) -> _Texts:
        """Return address, title and date of an entry, and the base of URLs that it declares.

        All are empty if it must be read otherwise.
        """
        elements = list(element.iter())
        if self.thorough:
            check_texts(element)
            self._check_bases(elements)
        key = (*[one.tag for one in elements], *map(len, elements))
        plan = self._plans.get(key)
        if plan is None and key not in self._plans:
            plan = self._plan(elements)
            if len(self._plans) < _MAX_PLANS and len(key) < _MAX_TAGS:
                self._plans[key] = plan
        if plan is None:
            return _ODD
        base = self._base_in(element) if element.keys() else None
        return *plan.texts(elements), base

    def _base_in(self, element: Element) -> str | None:
        """Return the base of URLs that an entry declares; raises :class:`Unvouched`."""
        self._check_bases([element])
        given = bases_in([element])
        return self._joined(given[0]) if given else None

    def _check_bases(self, elements: list[Element]) -> None:
        """Raise :class:`Unvouched` if a base of URLs may be too long."""
        given = bases_in(elements)
        room = self.url_length
        if given and room is not None and sum(map(len, (self.base() or "", *given))) > room:
            raise Unvouched

    def _plan(self, elements: list[Element]) -> _Plan | None:
        sort, local, _ = self.trees().meaning(elements[0].tag, type(None))
        if sort is not Sort.ENTRY:
            raise Unvouched
        entry = cast("type[FeedEntry]", self.entries[local])
        return _Plan.of(self.trees().steps(elements, entry), entry)


def _titles(texts: Sequence[str]) -> list[str | None]:
    """Return titles of which references were decoded once; nothing for empty ones."""
    if "&" in "".join(texts):
        return list(map(values.text, texts))
    return list(map(str.strip, texts))


def _dates(texts: Sequence[str]) -> list[datetime | None]:
    """Return dates; None for one that cannot be read, or is empty."""
    texts = list(map(str.strip, texts))
    if max(map(len, texts), default=0) > MAX_REMEMBERED or "&" in "".join(texts):
        return list(map(values.date, texts))
    if max(texts, default="")[:4].isdigit():  # then all begin with digits
        return list(values.dates(texts))
    return [read_date(text) if text else None for text in texts]


def _decoded(texts: Sequence[str], quote: str = "") -> Sequence[str]:
    """Return texts as written, or attributes in quotes, with their references decoded."""
    joined = "".join(texts)
    if "&" not in joined and joined.isprintable():
        return texts
    if quote:
        return [attribute_value(text, ignore) for text in texts]
    return [decode_text(text, ignore) for text in texts]


class PagesRSSSitemapParser(_FeedParser):
    """Reads an RSS feed."""

    sitemap_class = PagesRSSSitemap
    Page = Item
    vocabulary = frozenset({Space.RSS})
    entries: ClassVar = {"item": Item, "entry": AtomEntry}


class PagesAtomSitemapParser(_FeedParser):
    """Reads an Atom feed."""

    sitemap_class = PagesAtomSitemap
    Page = AtomEntry
    vocabulary = frozenset({Space.ATOM})
    entries: ClassVar = {"entry": AtomEntry, "item": Item}
