"""OPML: a list of feeds, as feed readers write and read it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import ClassVar, NamedTuple

from usp._base.loc_urls import child_url
from usp._base.urls import is_http_url
from usp._formats import values
from usp._formats.abstract_parser import ChildEntry, Entry, ignore
from usp._formats.xml.references import attributes as read_attributes
from usp._formats.xml.xml_parser import XmlParser
from usp.objects.problem import ProblemCode
from usp.objects.sitemap import IndexOPMLSitemap

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
