"""Feeds as sitemaps: RSS 2.0, 1.0 and 0.9x, Atom 1.0 and 0.3; and OPML, a list of feeds."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from usp._base.dates import MAX_REMEMBERED
from usp._base.loc_urls import absolute_url, child_url
from usp._base.urls import is_http_url
from usp._formats import values
from usp._formats.abstract_parser import ChildEntry, Notes, PageBatch, PageEntry, ignore
from usp._formats.extension_reader import STORIES, made_of_columns
from usp._formats.xml import cut
from usp._formats.xml.blocks import BlockParser
from usp._formats.xml.namespaces import Space
from usp._formats.xml.raw_entries import (
    ElementNames,
    RawEntry,
    Written,
    given_in,
    note_scheme,
)
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.text_columns import EntryColumns, StartTag, in_order, split_alike
from usp._formats.xml.tree_reader import IGNORE
from usp._formats.xml.xml_parser import XmlParser
from usp.objects.page import PageFields, SitemapNewsStory
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import (
    AbstractPagesSitemap,
    IndexOPMLSitemap,
    PagesAtomSitemap,
    PagesRSSSitemap,
)

if TYPE_CHECKING:
    from datetime import datetime

    from usp._formats.abstract_parser import Entry, Note

_SIGNS = frozenset("/.?#:")  # of an address; a word alone is the text of a link
_BODY = re.compile(  # the text of <content> or <content:encoded>, comments and sections aside
    r"<(?:!--(?:[^-]++|-(?!->))*+(?:-->)?+|!\[CDATA\[(?:[^\]]++|\](?!\]>))*+(?:\]\]>)?+"
    r"|(content[^\s<>/]*+)[^<>]*+(?<!/)>()"
    r"(?:<!\[CDATA\[(?:[^\]]++|\](?!\]))*+\]\]>|[^<]*+)(?=</\1))"
)
_IANA = "http://www.iana.org/assignments/relation/"  # what a relation without a URL stands for


@lru_cache(maxsize=256)
def _relation(rel: str) -> str:
    """Return what a link is to its entry: the page itself, unless it is written otherwise."""
    return (values.text(rel) or "alternate").lower().removeprefix(_IANA)


class FeedEntry(RawEntry, PageEntry):
    """What the entries of both kinds of feeds share.

    Of two fields with one name the first counts, of two dates the first that can be read. A field is
    read when it is needed: most are not.
    """

    titles: tuple[str, ...]
    dates: tuple[str, ...]
    """The names of dates, the best first."""

    def __init__(self, line: int | None, base: str | None) -> None:
        super().__init__(line, base)
        self._given: dict[str, list[str]] = {}  # the texts of fields by name
        self._links: dict[str, str] = {}  # as Atom writes them: the first of each relation
        self._written: dict[str, str] = {}  # links by URL, where they differ

    def add(self, name: str, text: str, written: Written, notes: Notes) -> None:
        """Take a field, or a link as Atom writes it."""
        if name == "link":
            self._add_link(text, written, notes.base_in(self), notes.note)
        else:
            self._given.setdefault(name, []).append(text)

    def _add_link(self, text: str, written: Written, base: str | None, note: Note) -> None:
        """Take a link as Atom writes it; its URL may also be its text."""
        given = given_in(written, note)
        href = values.text(given.get("href")) or values.text(text)
        if href:
            url = absolute_url(href, base) or href
            if url != href:
                self._written.setdefault(url, href)
            self._links.setdefault("", url)
            self._links.setdefault(_relation(given.get("rel", "").strip()[:MAX_REMEMBERED]), url)

    def _links_of(self, *kinds: str) -> list[str]:
        """Return the links of some relations, in that order; ``""`` is the first of any relation."""
        return list(dict.fromkeys(self._links[kind] for kind in kinds if kind in self._links))

    def _texts(self, name: str) -> list[str]:
        return [*filter(None, map(values.text, self._given.get(name, ())))]

    def addresses(self) -> Iterator[str]:
        """Yield what may be the address of the page, as written, the most likely one first."""
        raise NotImplementedError

    def finish(self, notes: Notes) -> list[Entry]:
        """Return the entry itself, if it has an address."""
        bad: list[str] = []
        for address in self.addresses():
            if self._is_at(address, notes):
                for other in bad:
                    notes.note(ProblemCode.BAD_LINK, other, at=self.place_of("link", other))
                return [self]
            bad.append(address)
        if not bad:
            # In its tag, or in the entry itself: how programs write an address after ``<link/>``.
            about = given_in(self.written, ignore).get("rdf:about")
            stray = about or self.stray_address(notes)
            if stray and self._is_at(stray, notes):
                return [self]
            bad = [stray] if stray else []
        for at, address in enumerate(bad, 1):
            place, lost = self.place_of("link", address), int(at == len(bad))
            notes.note(ProblemCode.BAD_LINK, address, at=place, lost=lost)
        if not bad:
            notes.note(ProblemCode.NO_LINK, at=self.place_of(), lost=1)
        return []

    def _is_at(self, address: str, notes: Notes) -> bool:
        """Take an address as that of the page, if it is one."""
        url = absolute_url(address, self.base)
        if url is None or (self.base is None and not _SIGNS.intersection(address)):
            return False
        self.url = url
        self.as_written = self._written.get(address, address)
        if self.as_written != url:
            note_scheme(self.as_written, self, notes)
        return True

    def fields(self, note: Note | None = None) -> PageFields:
        """Read title and date, which are the news story of the page.

        Without a title there is no story, and the date is that of the page.
        """
        date = self._date(note)
        for name in self.titles:
            for title in self._texts(name):
                return PageFields(news_story=SitemapNewsStory(title, date))
        return PageFields(last_modified=date)

    @classmethod
    def address_column(
        cls, fields: Mapping[str, Sequence[StartTag]], entries: EntryColumns
    ) -> Sequence[str | None]:
        """Return the addresses of entries in columns; nothing if they may stand elsewhere."""
        return values.texts(entries.texts(fields["link"][0])) if "link" in fields else ()

    @classmethod
    def rows(
        cls, fields: Mapping[str, Sequence[StartTag]], entries: EntryColumns
    ) -> list[PageFields]:
        """Return what :meth:`fields` returns, for entries in columns."""

        def first(names: tuple[str, ...], read: Callable[[Sequence[str]], Any]) -> list[Any]:
            found = [None] * entries.number
            for at in (at for name in names for at in fields.get(name, ())):
                if None not in found:
                    break
                column = read(entries.texts(at))
                found = [old or new for old, new in zip(found, column, strict=True)]
            return found

        titles, dates = first(cls.titles, values.texts), first(cls.dates, values.dates)
        stories = made_of_columns(STORIES, {"title": titles, "publish_date": dates}, entries.number)
        return [
            PageFields(news_story=story) if story.title else PageFields(last_modified=date)
            for story, date in zip(stories, dates, strict=True)
        ]

    def _date(self, note: Note | None, names: tuple[str, ...] = ()) -> datetime | None:
        """Return the first date that can be read, of these names or of all."""
        for text in (
            text for name in names or self.dates for text in dict.fromkeys(self._texts(name))
        ):
            date = values.date(text)
            if date is not None:
                if note:
                    values.note_zone(text, date, note)
                return date
            if note:
                note(ProblemCode.BAD_FEED_DATE, text)
        return None


class Item(FeedEntry):
    """An ``<item>`` of RSS."""

    core_fields = frozenset(
        {"title", "description", "link", "guid", "pubDate", "pubdate"}
        | {"date", "published", "updated"}  # no part of RSS, and found in it
    )
    extensions: ClassVar = {
        Space.DUBLIN_CORE: ElementNames("", frozenset({"date", "created", "issued", "modified"})),
        Space.ATOM: ElementNames("", frozenset({"link", "published", "updated"})),
    }
    titles = ("title", "description")
    dates = (
        *("pubDate", "pubdate", "date", "published", "issued", "created"),
        *("modified", "updated"),
    )

    def add(self, name: str, text: str, written: Written, notes: Notes) -> None:
        """Take a field; a guid only if it may be a permanent link."""
        if name == "link" and not values.text(text):
            self._add_link(text, written, notes.base_in(self), notes.note)
            return
        if name == "guid" and written != "":
            permanent = given_in(written, notes.note).get("ispermalink", "true")
            if values.yes_no(permanent) is False:
                return
        self._given.setdefault(name, []).append(text)

    def add_to_record(self, space: Space, name: str, text: str, written: Written) -> None:
        """Take a date of Dublin Core (RSS 1.0 has no pubDate), or what is borrowed from Atom."""
        if space is Space.ATOM and name == "link":
            self._add_link(text, written, self.base, ignore)
        else:
            self._given.setdefault(name, []).append(text)

    def addresses(self) -> Iterator[str]:
        """Yield the link, then the permanent guid, then a link as Atom writes it."""
        yield from self._texts("link")[:1]
        yield from islice(filter(is_http_url, self._texts("guid")), 1)
        yield from self._links_of("alternate", "self")


class AtomEntry(FeedEntry):
    """An ``<entry>`` of Atom."""

    core_fields = frozenset(
        {"title", "summary", "tagline", "link", "id"}
        | {"issued", "published", "created", "updated", "modified", "pubDate"}
    )
    titles = ("title", "summary", "tagline")
    dates = ("published", "issued", "pubDate", "updated", "modified", "created")

    @classmethod
    def address_column(
        cls, fields: Mapping[str, Sequence[StartTag]], entries: EntryColumns
    ) -> Sequence[str | None]:
        """Return the addresses of the first alternate link."""
        for at in fields.get("link", ()):
            if _relation(at.attributes.get("rel", "").strip()) == "alternate":
                return values.texts(entries.addresses(at)) if at.address == "href" else ()
        return ()

    def addresses(self) -> Iterator[str]:
        """Yield the alternate link, then the feed's own, then the first; without any, the id."""
        links = self._links_of("alternate", "self", "")
        yield from links or filter(is_http_url, self._texts("id")[:1])


class RssParser(BlockParser):
    """Reads an RSS feed."""

    sitemap_class: type[AbstractPagesSitemap] = PagesRSSSitemap
    vocabulary = frozenset({Space.RSS})
    entries: ClassVar = {"item": Item, "entry": AtomEntry}
    bodies = _BODY

    def _cut(self, block: str) -> list[Entry] | None:
        """Read entries that are written alike in columns, if problems are not requested."""
        end, number = f"</{self._name}>", block.count(f"</{self._name}")
        if self.report_problems or block.count(end) != number or not block.endswith(end):
            return None
        trees = self.trees()
        alike, others = split_alike(block, end, trees)
        if not alike:
            return None
        parts: list[Any] = []
        for numbers, columns in alike:
            kind, fields = cast("type[FeedEntry]", columns.skeleton.kind), columns.fields()
            urls = kind.address_column(fields, columns)
            if cut.are_plain(urls):
                parts.append((numbers, urls, partial(kind.rows, fields, columns)))
            else:
                others += numbers
        if others:
            written = block.split(end)
            found = trees.entries("".join(written[number] + end for number in others), IGNORE)
            finished = (page for entry in found or () for page in entry.finish(IGNORE))
            pages = [page for page in finished if isinstance(page, PageEntry)]
            if len(pages) != len(others):
                return None
            urls = [page.url for page in pages]
            parts.append((others, urls, lambda: [page.fields() for page in pages]))
        all_urls = in_order((numbers, urls) for numbers, urls, _ in parts)
        return [
            PageBatch(all_urls, lambda: in_order((numbers, read()) for numbers, _, read in parts))
        ]


class AtomParser(RssParser):
    """Reads an Atom feed."""

    sitemap_class = PagesAtomSitemap
    vocabulary = frozenset({Space.ATOM})
    entries: ClassVar = {"entry": AtomEntry, "item": Item}


# OPML: a list of feeds, as feed readers write and read it ---------------------------------------------

_FEED_SCHEME = re.compile(r"\Afeed:(?:(?://)?(?=https?:)|(?=//))", re.IGNORECASE)


def _scheme(found: re.Match[str]) -> str:
    """Return what stands for ``feed:``, with which feed readers are opened."""
    return "" if found.string[found.end() : found.end() + 1] in "hH" else "http:"


class Outline(NamedTuple):
    """What an outline links to: a feed, or another list, and the website that it is of."""

    feed: str | None
    site: str | None

    @classmethod
    def of(cls, attributes: str) -> Outline:
        """Read the attributes of an outline."""
        given = read_attributes(attributes, ignore)
        texts = (values.text(given.get(name)) or "" for name in ("xmlurl", "htmlurl", "url"))
        feed, site, other = (_FEED_SCHEME.sub(_scheme, text) or None for text in texts)
        is_page = given.get("type", "").strip().lower() == "link"
        if is_page and not (other or "").partition("?")[0].lower().endswith(".opml"):
            return cls(feed, site or other)
        return cls(feed or other, site)


class OpmlParser(XmlParser):
    """Reads an OPML document: the feed of each outline is a child."""

    sitemap_class = IndexOPMLSitemap
    vocabulary: ClassVar = frozenset()
    entries: ClassVar = {}

    def feed(self, text: str) -> list[Entry]:
        """Return the feeds that are complete so far."""
        return self.scan(text)

    def start(self, name: str, attributes: str, empty: bool) -> None:
        """Take an outline; any other element says nothing about feeds."""
        super().start(name, attributes, empty)
        if name.rpartition(":")[2].lower() != "outline":
            return
        self.take(Outline.of(attributes))

    def take(self, outline: Outline) -> None:
        """Take the feed of an outline as a child."""
        address = outline.feed
        url = child_url(address, self.url) if address else None
        if url is not None:
            self._done.append(ChildEntry(url, None, address, *self.scanner.place))
        elif address:
            self.note(ProblemCode.BAD_LINK, address, lost=1)


class _Outlines(OpmlParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[Outline] = []

    def take(self, outline: Outline) -> None:
        self.found.append(outline)


def outlines(texts: Iterable[str]) -> Iterator[Outline]:
    """Yield what the outlines of a list link to, each a feed or a website at least."""
    reader = _Outlines()
    for text in chain(texts, [None]):
        if text is None:
            reader.close()
        else:
            reader.feed(text)
        found, reader.found = reader.found, []
        yield from (one for one in found if any(map(is_http_url, filter(None, one))))
