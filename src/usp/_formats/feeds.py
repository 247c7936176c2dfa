"""Feeds as sitemaps: RSS 2.0, 1.0 and 0.9x; Atom 1.0 and 0.3."""

from __future__ import annotations

from itertools import chain, islice
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from usp._base.urls import is_http_url
from usp._formats import values
from usp._formats.abstract_parser import PageEntry, Pages
from usp._formats.values import absolute_url
from usp._formats.xml.entries import ElementNames, Field, RawEntry, Sort, given_in, text_of
from usp._formats.xml.lanes import LaneParser
from usp._formats.xml.namespaces import Space
from usp._formats.xml.trees import Unvouched, check_text_before, check_texts
from usp.objects.page import PageFields, SitemapNewsStory, SitemapPage
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import PagesAtomSitemap, PagesRSSSitemap

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Entry, Note
    from usp._formats.xml.entries import Step
    from usp._formats.xml.vocabulary import Vocabulary


_USUAL_ATTRIBUTES = frozenset({"href", "rel", "type", "hreflang", "title", "length"})
_HAVE_ATTRIBUTES = frozenset({"link", "guid"})
_IANA = "http://www.iana.org/assignments/relation/"  # what a relation without a URL stands for


class _Links:
    """The links of an entry as Atom writes them: the first of each relation counts."""

    __slots__ = ("_first",)

    def __init__(self) -> None:
        self._first: dict[str, str] = {}

    def add(self, field: Field, base: str | None, note: Note) -> None:
        """Add a link; its URL may also be its text."""
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

    Of two fields with one name the first counts, of two dates the first that can be read. A field is
    read when it is needed: most are not.
    """

    titles: tuple[str, ...]
    dates: tuple[str, ...]

    _links: _Links | None = None
    _url: str | None = None

    def __init__(self, line: int | None, base: str | None) -> None:
        super().__init__(line, base)
        self._first: dict[str, str | Element] = {}  # of each name,
        self._more: list[tuple[str, str | Element]] = []  # and the others

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a field."""
        del parser
        self._keep(field.name, field.text)

    def fill(self, steps: list[Step], elements: list[Element], parser: Vocabulary) -> None:
        """Add elements of a tree as they are, except those that have attributes."""
        for step in steps:
            _, name, _, at = step
            if name in _HAVE_ATTRIBUTES:
                super().fill([step], elements, parser)
            else:
                self._keep(name, elements[at])

    def _keep(self, name: str, text: str | Element) -> None:
        if name not in self._first:
            self._first[name] = text
        else:
            self._more.append((name, text))

    def _add_link(self, field: Field, base: str | None, note: Note) -> None:
        """Take a link as Atom writes it."""
        if self._links is None:
            self._links = _Links()
        self._links.add(field, base, note)

    def _texts(self, name: str) -> Iterator[str]:
        """Yield the texts of the fields of some name, without empty ones."""
        if name in self._first:
            others = [text for other, text in self._more if other == name]
            for given in (self._first[name], *others):
                text = values.text(given if isinstance(given, str) else text_of(given))
                if text is not None:
                    yield text

    @staticmethod
    def address_of(link: Element) -> str | None:
        """Return the address of the page, if this is the only link of an entry."""
        raise NotImplementedError

    def addresses(self) -> Iterator[str]:
        """Yield what may be the address of the page, as written, the most likely one first."""
        raise NotImplementedError

    def finish(self, parser: Vocabulary) -> list[Entry]:
        """Return the entry itself, if it has an address."""
        bad: list[str] = []
        for address in chain(self.addresses(), self._stray_addresses(parser)):
            self._url = absolute_url(address, self.base)
            if self._url is not None:
                break
            bad.append(address)
        for at, address in enumerate(bad, 1):
            lost = self._url is None and at == len(bad)
            parser.problems.add(ProblemCode.BAD_LINK, self.line, address, lost=int(lost))
        if self._url is None and not bad:
            parser.problems.add(ProblemCode.NO_LINK, self.line, lost=1)
        return [self] if self._url is not None else []

    def _stray_addresses(self, parser: Vocabulary) -> Iterator[str]:
        """Yield the address of an entry that has no other: in its tag, or in the entry itself.

        The latter is how programs write an address after ``<link/>``.
        """
        if next(self.addresses(), None) is None:
            about = given_in(self.written, _ignore).get("rdf:about")
            stray = about or self.stray_address(parser)
            if stray:
                yield stray

    def page(self, note: Note | None = None) -> SitemapPage | None:
        """Return the page; its title and date are its news story.

        Without a title there is no story, and the date is that of the page.
        """
        if self._url is None:
            return None
        date = self._date(note)
        title = next((text for name in self.titles for text in self._texts(name)), None)
        if title is None:
            return SitemapPage.of(self._url, PageFields(last_modified=date))
        return SitemapPage.of(self._url, PageFields(news_story=SitemapNewsStory(title, date)))

    def _date(self, note: Note | None) -> datetime | None:
        """Return the first date that can be read."""
        for name in self.dates:
            if name not in self._first:
                continue
            unreadable = None
            for text in self._texts(name):
                date = values.date(text)
                if unreadable and note and unreadable != text:
                    note(ProblemCode.BAD_FEED_DATE, unreadable)
                if date is not None:
                    return date
                unreadable = text
            if unreadable and note:
                note(ProblemCode.BAD_FEED_DATE, unreadable)
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
        """Take a field; a guid only if it may be a permanent link."""
        if field.name == "link" and not values.text(field.text):
            self._add_link(field, parser.base(), parser.note)
            return
        if field.name == "guid":
            permanent = field.attributes(parser.note).get("ispermalink", "true")
            if values.yes_no(permanent) is False:
                return
        self._keep(field.name, field.text)

    def add_to_record(self, space: Space, field: Field) -> None:
        """Take a date of Dublin Core (RSS 1.0 has no pubDate), or what is borrowed from Atom."""
        if space is Space.ATOM and field.name == "link":
            self._add_link(field, self.base, _ignore)
        else:
            self._keep(field.name, field.text)

    @staticmethod
    def address_of(link: Element) -> str | None:
        """Return the text of a link."""
        return values.text(text_of(link))

    def addresses(self) -> Iterator[str]:
        """Yield the link, then the permanent guid, then a link as Atom writes it."""
        yield from islice(self._texts("link"), 1)
        yield from islice(filter(is_http_url, self._texts("guid")), 1)
        if self._links is not None:
            yield from self._links.of("alternate", "self")


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
            self._add_link(field, parser.base(), parser.note)
        else:
            self._keep(field.name, field.text)

    @staticmethod
    def address_of(link: Element) -> str | None:
        """Return the address of a link with the usual attributes, if it is the page's."""
        usual = _USUAL_ATTRIBUTES.issuperset(link.keys())
        alternate = usual and link.get("rel", "alternate") == "alternate"
        return values.text(link.get("href")) if alternate else None

    def addresses(self) -> Iterator[str]:
        """Yield the alternate link, then the feed's own, then the first; without any, the id."""
        links = self._links.of("alternate", "self", "") if self._links is not None else []
        yield from links or islice(filter(is_http_url, islice(self._texts("id"), 1)), 1)


def _ignore(message: str, excerpt: str) -> None:
    """Pass over damage in what is borrowed."""


class _Usual(NamedTuple):
    """Where the URL, the title and the date of an ordinary entry are."""

    steps: list[Step]
    link: int
    title: int
    date: int

    @classmethod
    def of(cls, steps: list[Step], entry: type[_FeedEntry]) -> _Usual | None:
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
        entry = cast("type[_FeedEntry]", self.entries[local])
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
        return SitemapPage.of(url, PageFields(news_story=SitemapNewsStory(title, date)))


class PagesRSSSitemapParser(_FeedParser):
    """Reads an RSS feed."""

    sitemap_class = PagesRSSSitemap
    Page = _Item
    vocabulary = frozenset({Space.RSS})
    entries: ClassVar = {"item": _Item, "entry": _AtomEntry}


class PagesAtomSitemapParser(_FeedParser):
    """Reads an Atom feed."""

    sitemap_class = PagesAtomSitemap
    Page = _AtomEntry
    vocabulary = frozenset({Space.ATOM})
    entries: ClassVar = {"entry": _AtomEntry, "item": _Item}
