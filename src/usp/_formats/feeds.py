"""Feeds as sitemaps: RSS 2.0, 1.0 and 0.9x; Atom 1.0 and 0.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from usp._base.urls import is_http_url
from usp._formats import values
from usp._formats.abstract_parser import PageEntry
from usp._formats.values import absolute_url
from usp._formats.xml.entries import ElementNames, Field, RawEntry, given_in
from usp._formats.xml.lanes import LaneParser
from usp._formats.xml.namespaces import Space
from usp.objects.page import SitemapNewsStory, SitemapPage
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import PagesAtomSitemap, PagesRSSSitemap

if TYPE_CHECKING:
    from datetime import datetime

    from usp._formats.abstract_parser import Entry, Note
    from usp._formats.xml.vocabulary import Vocabulary


_IANA = "http://www.iana.org/assignments/relation/"  # what a relation without a URL stands for


class _Links:
    """The links of an entry as Atom writes them: the first of each relation counts."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def add(self, field: Field, base: str | None, note: Note) -> None:
        """Take a link; an address may also stand in its text."""
        given = field.attributes(note)
        href = values.text(given.get("href")) or values.text(field.text)
        if href:
            kind = (values.text(given.get("rel")) or "alternate").lower()
            url = absolute_url(href, base) or href
            self._first.setdefault("", url)
            self._first.setdefault(kind.removeprefix(_IANA), url)

    def of(self, *kinds: str) -> list[str]:
        """Return the links of some relations, in that order; ``""`` is the first of any relation."""
        return list(dict.fromkeys(self._first[kind] for kind in kinds if kind in self._first))


class _FeedEntry(RawEntry, PageEntry):
    """What the entries of both kinds of feeds share.

    Of two fields with one name the first counts, of two dates the first that can be read.
    """

    titles: tuple[str, ...]
    dates: tuple[str, ...]

    def __init__(self, line: int | None, base: str | None) -> None:
        super().__init__(line, base)
        self._fields: dict[str, str] = {}
        self._links = _Links()
        self._unreadable: str | None = None  # a date in whose place another one stands
        self._url: str | None = None

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a field that is not empty."""
        del parser
        self._keep(field)

    def _keep(self, field: Field) -> None:
        text = values.text(field.text)
        if text is None:
            return
        known = self._fields.setdefault(field.name, text)
        if known != text and field.name in self.dates and values.date(known) is None:
            self._unreadable = known
            self._fields[field.name] = text

    def links(self) -> list[str]:
        """Return what may be the address of the page, as written, the most likely one first."""
        raise NotImplementedError

    def finish(self, parser: Vocabulary) -> list[Entry]:
        """Return the entry itself, if it has an address."""
        links = self.links() or self._stray_links(parser)
        for more, link in zip(range(len(links) - 1, -1, -1), links, strict=True):
            self._url = absolute_url(link, self.base)
            if self._url is not None:
                return [self]
            parser.problems.add(ProblemCode.BAD_LINK, self.line, link, lost=int(not more))
        if not links:
            parser.problems.add(ProblemCode.NO_LINK, self.line, lost=1)
        return []

    def _stray_links(self, parser: Vocabulary) -> list[str]:
        """Return the address that stands in the entry itself, as after ``<link/>``, or in its tag."""
        about = given_in(self.written, _ignore).get("rdf:about")
        if about:
            return [about]
        stray = self.stray_address(parser)
        return [stray] if stray else []

    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Return the page; its title and date are its news story.

        Without a title there is no story, and the date is that of the page.
        """
        if self._url is None:
            return None
        date = self._date(note)
        title = next((self._fields[name] for name in self.titles if name in self._fields), None)
        if title is None:
            return SitemapPage(self._url, last_modified=date)
        return SitemapPage(self._url, news_story=SitemapNewsStory(title, date))

    def _date(self, note: Note | None) -> datetime | None:
        """Return the first date that can be read."""
        if self._unreadable and note:
            note(ProblemCode.BAD_FEED_DATE, self._unreadable)
        for name in self.dates:
            written = self._fields.get(name)
            date = values.date(written)
            if date is not None:
                return date
            if written and note:
                note(ProblemCode.BAD_FEED_DATE, written)
        return None


class _Item(_FeedEntry):
    """An ``<item>`` of RSS."""

    own_fields = frozenset(
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

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a field; a guid only if it is a permanent link."""
        if field.name == "guid":
            permanent = values.yes_no(field.attributes(parser.note).get("ispermalink", "true"))
            url = values.text(field.text)
            if permanent is False or not is_http_url(url or ""):
                return
        elif field.name == "link" and not values.text(field.text):
            self._links.add(field, parser.base(), parser.note)
            return
        super().add(field, parser)

    def add_to_record(self, space: Space, field: Field) -> None:
        """Take a date of Dublin Core (RSS 1.0 has no pubDate), or what is borrowed from Atom."""
        if space is Space.ATOM and field.name == "link":
            self._links.add(field, self.base, _ignore)
        else:
            self._keep(field)

    def links(self) -> list[str]:
        """Return the link, or else the permanent guid, or else a link as Atom writes it."""
        own = [self._fields[name] for name in ("link", "guid") if name in self._fields]
        return own + self._links.of("alternate", "self")


class _AtomEntry(_FeedEntry):
    """An ``<entry>`` of Atom."""

    own_fields = frozenset(
        {"title", "summary", "tagline", "link", "id"}
        | {"issued", "published", "created", "updated", "modified", "pubDate"}
    )
    titles = ("title", "summary", "tagline")
    dates = ("published", "issued", "pubDate", "updated", "modified", "created")

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a field, or a link."""
        if field.name == "link":
            self._links.add(field, parser.base(), parser.note)
        else:
            super().add(field, parser)

    def links(self) -> list[str]:
        """Return the alternate link, or else the feed's own, or else the first, or else the id."""
        name = self._fields.get("id", "")
        return self._links.of("alternate", "self", "") or [name] * is_http_url(name)


def _ignore(message: str, excerpt: str) -> None:
    """Pass over damage in what is borrowed."""


class PagesRSSSitemapParser(LaneParser):
    """Reads an RSS feed."""

    sitemap_class = PagesRSSSitemap
    Page = _Item
    vocabulary = frozenset({Space.RSS})
    entries: ClassVar = {"item": _Item, "entry": _AtomEntry}


class PagesAtomSitemapParser(LaneParser):
    """Reads an Atom feed."""

    sitemap_class = PagesAtomSitemap
    Page = _AtomEntry
    vocabulary = frozenset({Space.ATOM})
    entries: ClassVar = {"entry": _AtomEntry, "item": _Item}
