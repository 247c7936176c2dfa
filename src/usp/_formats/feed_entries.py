"""The entries of feeds: an ``<item>`` of RSS, an ``<entry>`` of Atom."""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, islice
from typing import TYPE_CHECKING, ClassVar

from usp._base.dates import MAX_REMEMBERED
from usp._base.urls import is_http_url
from usp._formats import values
from usp._formats.abstract_parser import PageEntry
from usp._formats.url_batches import ignore
from usp._formats.values import absolute_url
from usp._formats.xml.entries import ElementNames, Field, RawEntry, given_in, text_of
from usp._formats.xml.namespaces import Space
from usp.objects.page import PageFields, SitemapNewsStory, SitemapPage
from usp.objects.problem import ProblemCode

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from datetime import datetime
    from xml.etree.ElementTree import Element

    from usp._formats.abstract_parser import Entry, Note
    from usp._formats.xml.entries import Step
    from usp._formats.xml.vocabulary import Vocabulary


_USUAL_ATTRIBUTES = frozenset({"href", "rel", "type", "hreflang", "title", "length"})
_BASE = "{http://www.w3.org/xml/1998/namespace}base"  # as trees write xml:base, in small letters
_PERMANENT: tuple[dict[str, str], ...] = ({}, {"isPermaLink": "true"})
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
            url = absolute_url(href, base) or href
            self._first.setdefault("", url)
            self._first.setdefault(_relation(given.get("rel", "")), url)

    def of(self, *kinds: str) -> list[str]:
        """Return the links of some relations, in that order; ``""`` is the first of any relation."""
        return list(dict.fromkeys(self._first[kind] for kind in kinds if kind in self._first))


def _relation(rel: str) -> str:
    """Return what a link is to its entry: the page itself, unless it is written otherwise."""
    read = _read_relation if len(rel) > MAX_REMEMBERED else _known_relation
    return read(rel)


def _read_relation(rel: str) -> str:
    return (values.text(rel) or "alternate").lower().removeprefix(_IANA)


_known_relation = lru_cache(maxsize=256)(_read_relation)


def _are_clear(names: Iterable[str]) -> bool:
    """Return whether attributes have a prefix, or are those of links; none is a base of URLs."""
    return all(
        name in _USUAL_ATTRIBUTES or (name[0] == "{" and name.lower() != _BASE) for name in names
    )


def bases_in(elements: Iterable[Element]) -> list[str]:
    """Return the bases of URLs that elements declare."""
    given = [one.attrib for one in elements]
    return [value for one in given if one for name, value in one.items() if name.lower() == _BASE]


class FeedEntry(RawEntry, PageEntry):
    """What the entries of both kinds of feeds share.

    Of two fields with one name the first counts, of two dates the first that can be read. A field is
    read when it is needed: most are not.
    """

    links: tuple[str, ...]
    """The names of elements that have the address, the best first."""

    titles: tuple[str, ...]
    dates: tuple[str, ...]
    """The names of dates, the best first."""

    is_atom: ClassVar[bool]
    """Whether the addresses of links are attributes."""

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

    @classmethod
    def field_names(cls) -> set[str]:
        """Return the names of all elements that mean something in an entry."""
        return {name for names in cls.extensions.values() for name in names.fields} | cls.own_fields

    @staticmethod
    def address_of(links: list[Element]) -> str:
        """Return the address of the page from its links; empty if that takes a closer look."""
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
            about = given_in(self.written, ignore).get("rdf:about")
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


class Item(FeedEntry):
    """An ``<item>`` of RSS."""

    is_atom = False
    own_fields = frozenset(
        {"title", "description", "link", "guid", "pubDate", "pubdate"}
        | {"date", "published", "updated"}  # no part of RSS, and found in it
    )
    extensions: ClassVar = {
        Space.DUBLIN_CORE: ElementNames("", frozenset({"date", "created", "issued", "modified"})),
        Space.ATOM: ElementNames("", frozenset({"link", "published", "updated"})),
    }
    links = ("link", "guid")
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
            self._add_link(field, self.base, ignore)
        else:
            self._keep(field.name, field.text)

    @staticmethod
    def address_of(links: list[Element]) -> str:
        """Return the text of the first link, or of a guid that is a permanent one."""
        text = text_of(links[0])
        if bases_in(links[:1]):
            return ""
        if links[0].tag.endswith("guid"):
            permanent = links[0].attrib in _PERMANENT and is_http_url(values.text(text) or "")
            return text if permanent else ""
        return text

    def addresses(self) -> Iterator[str]:
        """Yield the link, then the permanent guid, then a link as Atom writes it."""
        yield from islice(self._texts("link"), 1)
        yield from islice(filter(is_http_url, self._texts("guid")), 1)
        if self._links is not None:
            yield from self._links.of("alternate", "self")


class AtomEntry(FeedEntry):
    """An ``<entry>`` of Atom."""

    is_atom = True
    own_fields = frozenset(
        {"title", "summary", "tagline", "link", "id"}
        | {"issued", "published", "created", "updated", "modified", "pubDate"}
    )
    links = ("link",)
    titles = ("title", "summary", "tagline")
    dates = ("published", "issued", "pubDate", "updated", "modified", "created")

    def add(self, field: Field, parser: Vocabulary) -> None:
        """Take a field, or a link."""
        if field.name == "link":
            self._add_link(field, parser.base(), parser.note)
        else:
            self._keep(field.name, field.text)

    @staticmethod
    def address_of(links: list[Element]) -> str:
        """Return the address of the first link to the page itself, if all before it are clear."""
        for link in links:
            given = link.attrib
            href = given.get("href")
            if not href or not (_USUAL_ATTRIBUTES.issuperset(given) or _are_clear(given)):
                return ""
            if _relation(given.get("rel", "")) == "alternate":
                return href
        return ""

    def addresses(self) -> Iterator[str]:
        """Yield the alternate link, then the feed's own, then the first; without any, the id."""
        links = self._links.of("alternate", "self", "") if self._links is not None else []
        yield from links or islice(filter(is_http_url, islice(self._texts("id"), 1)), 1)
