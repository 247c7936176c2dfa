"""Feeds as sitemaps: RSS 2.0, 1.0 and 0.9x; Atom 1.0 and 0.3."""

from __future__ import annotations

from itertools import repeat
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from usp._base.dates import MAX_REMEMBERED, read_date
from usp._formats import feed_cutting, values
from usp._formats.abstract_parser import Pages
from usp._formats.feed_entries import AtomEntry, FeedEntry, Item
from usp._formats.url_batches import ignore
from usp._formats.values import absolute_url
from usp._formats.xml import cut
from usp._formats.xml.entries import Sort, text_of
from usp._formats.xml.lanes import LaneParser
from usp._formats.xml.namespaces import Space
from usp._formats.xml.references import attributes, decode_text
from usp._formats.xml.trees import Unvouched, check_text_before, check_texts, is_well_formed
from usp.objects.extension_values import thawed
from usp.objects.page import (
    SITEMAP_PAGE_DEFAULT_PRIORITY,
    PageFields,
    SitemapNewsStory,
    SitemapPage,
)
from usp.objects.sitemap import PagesAtomSitemap, PagesRSSSitemap

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Entry
    from usp._formats.xml.entries import Step


_PRIORITY = SITEMAP_PAGE_DEFAULT_PRIORITY
_new = tuple.__new__  # how a named tuple is made quickly


class _Usual(NamedTuple):
    """Where the URL, the title and the date of an ordinary entry are."""

    steps: list[Step]
    link: int
    title: int
    date: int

    @classmethod
    def of(cls, steps: list[Step], entry: type[FeedEntry]) -> _Usual | None:
        """Look at the elements of an entry; None if it lacks one of the three, or has two links."""
        links = [(sort, at) for sort, name, _, at in steps if name == "link"]
        first: dict[str, int] = {}
        for _, name, _, at in steps:
            first.setdefault(name, at)
        title = next((first[name] for name in entry.titles if name in first), None)
        date = next((first[name] for name in entry.dates if name in first), None)
        if len(links) != 1 or title is None or date is None:
            return None
        ((sort, link),) = links
        return cls(steps, link, title, date) if sort is Sort.FIELD else None


class _FeedParser(LaneParser):
    """Reads trees of feeds: the usual entries quickly, the others as all entries are read."""

    _MAX_USUAL = 500

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._usual: dict[int, _Usual | None] = {}
        self._style: feed_cutting.Style | None = None
        self._around: tuple[object, ...] = ()

    def _cut(self, block: str) -> list[Entry] | None:
        """Cut link, title and date of entries; where problems are requested, if there are none."""
        text = feed_cutting.shortened(block)
        found = None if text is None else self._columns(text)
        if text is None or found is None or (self.thorough and self._may_note(block, text)):
            return None
        urls = self._urls(found.link)
        titles = _titles(found.title)
        dates = _dates(found.date) if found.date else repeat(None, len(found.title))
        if urls is None or titles is None or dates is None:
            return None
        if self.thorough and self.is_too_long(urls):
            return None
        return [Pages(list(map(_story, urls, titles, dates)))]

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
        style = feed_cutting.style_of(text, self._name, self, self._stack, strict=self.thorough)
        if style is None or not feed_cutting.is_worth_it(text, style):
            return None
        for self._style in (style, style._replace(between=())):
            found = feed_cutting.columns(text, self._style)
            if found is not None:
                return found
        self._style = None
        return None

    def _urls(self, links: Sequence[str]) -> list[str] | None:
        """Return the URLs of links as they are written; None if one of them is not a URL."""
        urls: list[str | None] = list(map(str.rstrip, links))
        plain = cut.are_plain(cast("list[str]", urls))
        joined = "".join(links)
        if not plain and feed_cutting.LEFT_OUT in joined:
            return None
        if not plain or "&" in joined:
            decode = _attribute if self._style and self._style.is_atom else _text
            base = self.base()
            for at, link in enumerate(links):
                if not plain or "&" in link:
                    urls[at] = absolute_url(decode(link) or "", base)
        return None if None in urls else cast("list[str]", urls)

    def _read_tree(self, root: Element) -> list[Entry]:
        check_text_before(root)
        pages: list[SitemapPage] = []
        for element in root:
            page = self._usual_page(element)
            if page is not None:
                pages.append(page)
            else:
                (batch,) = self._read_elements([element])
                assert isinstance(batch, Pages)
                pages += batch.pages()
        if self.thorough and self.is_too_long(page.url for page in pages):
            raise Unvouched
        return [Pages(pages)]

    def _usual_page(self, element: Element) -> SitemapPage | None:
        """Return the page of an entry that has an address, a title and a date; None if not."""
        trees = self.trees()
        sort, local, _ = trees.meaning(element.tag, type(None))
        if sort is not Sort.ENTRY:
            raise Unvouched
        if self.thorough:
            check_texts(element)
        entry = cast("type[FeedEntry]", self.entries[local])
        elements = list(element.iter())
        steps = trees.steps(elements, entry)
        usual = self._usual.get(id(steps))
        if usual is None or usual.steps is not steps:
            if len(self._usual) >= self._MAX_USUAL:
                self._usual.clear()
            usual = self._usual[id(steps)] = _Usual.of(steps, entry)
            if usual is None:
                return None
        address = entry.address_of(elements[usual.link])
        url = absolute_url(address, self.base()) if address else None
        title = values.text(text_of(elements[usual.title]))
        date = values.date(text_of(elements[usual.date]))
        if url is None or title is None or date is None:
            return None
        return _story(url, title, date)


def _text(raw: str) -> str | None:
    return values.text(decode_text(raw, ignore))


def _attribute(raw: str) -> str | None:
    return values.text(attributes(f' href="{raw}"', ignore)["href"])


def _titles(texts: Sequence[str]) -> list[str] | None:
    """Return titles that are written like this; None if one of them is empty, or left out."""
    joined = "".join(texts)
    if joined.isprintable():
        titles = [_text(text) if "&" in text else text.strip() for text in texts]
    elif feed_cutting.LEFT_OUT in joined:
        return None
    else:
        titles = list(map(_text, texts))
    return None if None in titles else cast("list[str]", titles)


def _dates(texts: Sequence[str]) -> list[datetime] | None:
    """Return dates that are written like this; None if one of them cannot be read."""
    texts = list(map(str.strip, texts))
    joined = "".join(texts)
    if not joined.isprintable() or "&" in joined or max(map(len, texts)) > MAX_REMEMBERED:
        return None
    is_iso = texts[0][:4].isdigit()
    dates = list(values.dates(texts) if is_iso else map(read_date, texts))
    return None if None in dates else cast("list[datetime]", dates)


def _story(url: str, title: str, date: datetime | None) -> SitemapPage:
    story = thawed(SitemapNewsStory)(title, date, None, None, None, [], [], [])
    story.__class__ = SitemapNewsStory
    return SitemapPage.of(
        url, _new(PageFields, (_PRIORITY, None, None, story, None, None, None, False, None))
    )


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
