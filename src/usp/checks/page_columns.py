"""What rules about pages look at: a block of pages, in columns."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from usp._base.dates import in_utc, known_date
from usp.checks.finding import Hit
from usp.checks.hreflang import Version, versions_of
from usp.checks.page_urls import normal, same_page

if TYPE_CHECKING:
    from usp._crawl.stored_pages import ExaminedBlock
    from usp._formats.abstract_parser import Place
    from usp.checks.context import CheckedSitemap
    from usp.objects.page import PageFields, SitemapImage, SitemapNewsStory
    from usp.objects.video import SitemapVideo


IMAGE_ELEMENTS = frozenset({"loc", "thumbnail_loc"})  # with the URL of one
VIDEO_ELEMENTS = ("thumbnail_loc", "content_loc", "player_loc")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*+:")


class PageColumns:
    """Some pages of a sitemap, in columns; ``examined`` is how they are written, and where.

    ``origins`` are those of its URLs, ``repeated`` are the pages that were listed already, each with
    the number of the sitemap. Rules yield the number of a page in the block as ``at``. Look at columns,
    or at :attr:`joined`, before you look at single pages: most blocks are clean, and all are looked at.
    """

    def __init__(self, sitemap: CheckedSitemap, examined: ExaminedBlock) -> None:
        self.sitemap = sitemap
        self.site = sitemap.site
        self.examined = examined
        self.urls: Sequence[str] = examined.urls
        self.origins: Sequence[str] = ()
        self.repeated: Sequence[tuple[int, int]] = ()

    def located(self, hit: Hit, element: str = "") -> Hit:
        """Return a hit with its page, and where that is, or an element of it."""
        assert hit.at is not None
        at, number = (hit.at, None) if isinstance(hit.at, int) else hit.at
        place = self.examined.place(at, hit.element or element, hit.text, element, number)
        return Hit(hit.message, None, self.urls[at], place, self.sitemap.url)

    @cached_property
    def joined(self) -> str:
        """All URLs, a line each, with a line end before the first and after the last."""
        return "\n{}\n".format("\n".join(self.urls))

    @cached_property
    def lower(self) -> str:
        """The same in lower case."""
        return self.joined.lower()

    @cached_property
    def queries(self) -> str:
        """The same without the URLs that have no query."""
        some = [url for url in self.urls if "?" in url] if "?" in self.joined else ()
        return "\n{}\n".format("\n".join(some))

    def found(self, pattern: re.Pattern[str], *parts: str) -> Iterator[tuple[int, re.Match[str]]]:
        """Yield the numbers of the URLs in which a pattern is found; all are searched at once first.

        One of the ``parts``, if there are any, is in everything that it finds: they are found faster.
        If it is "?", only URLs with a query are searched.
        """
        joined = self.queries if parts == ("?",) else self.joined
        is_any = not parts or any(map(joined.__contains__, parts))
        if is_any and pattern.search(joined):
            for at, url in enumerate(self.urls):
                if found := pattern.search(url):
                    yield at, found

    @cached_property
    def normal_urls(self) -> Sequence[str]:
        """The URLs in a form in which the same ones are equal."""
        return normal(self.urls, self.joined, self.origins)

    @cached_property
    def extended(self) -> Sequence[PageFields]:
        """All fields of each page if any may have news, images and so on; otherwise nothing."""
        pages = self.examined.pages
        return pages.rows() if pages.texts() is None else ()

    def _with(self, name: str) -> list[tuple[int, Any]]:
        """Return a field of each page that has it, with the number of the page."""
        rows = enumerate(self.extended)
        return [(at, value) for at, row in rows if (value := getattr(row, name))]

    @cached_property
    def stories(self) -> Sequence[tuple[tuple[int, int], SitemapNewsStory]]:
        """The news stories, of several the last one of a page; those of feeds are not among them."""
        is_news = self.sitemap.kind == "urlset"
        return [((at, -1), story) for at, story in self._with("news_story")] if is_news else ()

    @cached_property
    def images(self) -> Sequence[tuple[int, list[SitemapImage]]]:
        """The images of each page that has any, with its number."""
        return self._with("images")

    @cached_property
    def alternates(self) -> Sequence[tuple[int, list[tuple[str, str]]]]:
        """The links to other languages of each page that has any, with its number."""
        return self._with("alternates")

    @cached_property
    def videos(self) -> Sequence[tuple[tuple[int, int], SitemapVideo]]:
        """All videos with the numbers of their pages, and their numbers in these."""
        found = self._with("videos")
        return [((at, number), one) for at, videos in found for number, one in enumerate(videos)]

    @cached_property
    def media(self) -> Sequence[tuple[int, str, str]]:
        """What is shown on pages: the number of the page, the element, and the URL in it."""
        found = [(at, "loc", image.loc) for at, images in self.images for image in images]
        for (at, _), one in self.videos:
            found += [(at, name, getattr(one, name) or "") for name in VIDEO_ELEMENTS]
        return [one for one in found if one[2]]

    @cached_property
    def linked(self) -> Sequence[tuple[int, str, str]]:
        """The same, and the versions of pages in other languages."""
        links = ((at, "link", url) for at, some in self.alternates for _, url in some)
        return [*self.media, *links]

    @cached_property
    def versions(self) -> Sequence[Version]:
        """The links to other languages of each page that has any, in forms that can be compared."""
        return list(versions_of(self.alternates, self.normal_urls))

    @cached_property
    def links(self) -> Sequence[tuple[tuple[int, int], Mapping[str, str]]]:
        """The attributes of links as written, with the numbers of their pages, and theirs in these."""
        return list(self.examined.links()) if self.extended else ()

    def written(self, prefix: str, *names: str) -> Iterator[tuple[int, str, str]]:
        """Yield fields of an extension as written: the number of the page, the name, the text."""
        for at, record in self.examined.records(prefix):
            yield from ((at, name, text) for name, text in record if name in names)

    def relative(self, prefix: str, *names: str) -> dict[tuple[int, str], str]:
        """Return the fields of an extension with URLs without a scheme, by their page and the URL."""
        found = self.written(prefix, *names)
        return {(at, url): name for at, name, url in found if url and not SCHEME.match(url)}

    @cached_property
    def core_texts(self) -> Mapping[str, Sequence[str]]:
        """The protocol's fields as written, empty where they are missing; nothing in feeds."""
        return ({} if self.sitemap.is_feed else self.examined.core_texts()) or {}

    @cached_property
    def dates(self) -> LastmodColumn:
        """The dates of the pages; none if they are not known, or in feeds."""
        return LastmodColumn(self.core_texts.get("lastmod", ()))


_TAG = re.compile(r"</?(?:a|b|br|div|em|h[1-6]|i|img|p|span|strong|u)\b[^<>]*+>")


def mistake_in_text(text: str) -> str:
    """Return what only programs write in a text for people: a tag, or no value; or else nothing."""
    found = _TAG.search(text)
    return found[0] if found else text if text in ("undefined", "null", "None", "NaN") else ""


TOLERANCE = timedelta(days=1)  # how far a date may be in the future: clocks and time zones differ
FIRST_DAY = datetime(1990, 1, 1, tzinfo=UTC)  # no page on the web is older than this
_DIGITS = bytes.maketrans(b"123456789", b"000000000")
# What the protocol (W3C Datetime) or its schema (xsd:date, xsd:dateTime) allows; 0 is any digit.
_SHAPE = re.compile(
    rb"(?:0000(?:-00(?:-00(?:Z|[+-]00:00)?)?)?|0000-00-00T00:00(?::00(?:\.0++)?)?(?:Z|[+-]00:00)?)?"
)
_WITHOUT_ZONE = re.compile(rb"0000-00-00T[0:.]++")


def is_well_written(text: str) -> bool:
    """Return whether a date is written as the protocol wants it, as far as its form goes."""
    return bool(_SHAPE.fullmatch(_shape(text)))


def _shape(text: str) -> bytes:
    return text.encode("utf-8", "replace").translate(_DIGITS)


class LastmodColumn:
    """A column of dates as texts; one that is missing is empty. ``first`` and ``last`` are as texts."""

    def __init__(self, texts: Sequence[str]) -> None:
        self.texts = texts
        shapes = set(_shape("\n".join(texts)).split(b"\n"))
        self._is_odd = not all(map(_SHAPE.fullmatch, shapes))
        self._lacks_zones = any(map(_WITHOUT_ZONE.fullmatch, shapes))
        self.first = min(filter(None, texts), default="")
        self.last = max(texts, default="")

    def without_zone(self) -> Iterator[int]:
        """Yield the numbers of times whose zone is missing."""
        for at, text in enumerate(self.texts) if self._lacks_zones else ():
            if _WITHOUT_ZONE.fullmatch(_shape(text)):
                yield at

    def badly_written(self) -> Iterator[int]:
        """Yield the numbers of dates that the protocol does not allow."""
        for at, text in enumerate(self.texts) if self._is_odd else ():
            if text and not is_well_written(text):
                yield at

    def after(self, limit: datetime) -> Iterator[int]:
        """Yield the numbers of dates after some moment."""
        edge = (limit - TOLERANCE).date().isoformat()
        if self._is_odd or self.last >= edge:
            yield from self._those(lambda date: date > limit)

    def before(self, limit: datetime) -> Iterator[int]:
        """Yield the numbers of dates before some moment."""
        edge = (limit + TOLERANCE).date().isoformat()
        if self._is_odd or (self.first or edge) < edge:
            yield from self._those(lambda date: date < limit)

    def _those(self, is_meant: Callable[[datetime], bool]) -> Iterator[int]:
        for at, text in enumerate(self.texts):
            date = moment_of(text)
            if date is not None and is_meant(date):
                yield at

    def newest(self, now: datetime) -> datetime | None:
        """Return the last date that is not in the future; to a day, if that is quicker."""
        if not self._is_odd and self.last < now.date().isoformat():
            return moment_of(self.last)
        dates = map(moment_of, self.texts)
        return max((date for date in dates if date is not None and date <= now), default=None)


def moment_of(text: str | None) -> datetime | None:
    """Return a date in UTC, if it is one."""
    date = known_date(text or "")
    return None if date is None else in_utc(date)


# Some of all pages ---------------------------------------------------------------------------------

_SEED = 20  # any: the same pages each time, so that a check can be repeated


class Listed(NamedTuple):
    """A page where it is listed; ``alternates`` and ``media`` are what the sitemap says of it."""

    url: str
    sitemap: str
    place: Place = (None, None)
    alternates: Sequence[tuple[str, str]] = ()
    media: Sequence[tuple[str, str]] = ()

    @classmethod
    def at(cls, block: PageColumns, at: int) -> Listed:
        """Return a page of a block."""
        links = next((links for number, links in block.alternates if number == at), ())
        kinds = {**dict.fromkeys(IMAGE_ELEMENTS, "image"), "player_loc": "player"}
        media = [
            (kinds.get(name, "video"), url) for number, name, url in block.media if number == at
        ]
        return cls(block.urls[at], block.sitemap.url, block.examined.place(at), links, media)

    def linked(self) -> Iterator[tuple[str, str]]:
        """Yield the other URLs that the sitemap has for the page, and what they are."""
        yield from ((url, f"the {kind} {url}") for kind, url in self.media)
        others = dict.fromkeys(url for _, url in self.alternates)
        yield from ((url, f"the version {url}") for url in others if not same_page(url, self.url))


class Sample:
    """Takes some of all pages, each with the same chance, in one pass and in little memory."""

    def __init__(self, size: int = 0) -> None:
        self._size = size
        self._random = random.Random(_SEED)  # noqa: S311 - not a secret
        self._seen = 0
        self.pages: list[Listed] = []

    def add(self, block: PageColumns) -> None:
        """Look at the pages of a block."""
        for at in range(len(block.urls) if self._size else 0):
            self._seen += 1
            if self._seen <= self._size:
                self.pages.append(Listed.at(block, at))
            elif (number := self._random.randrange(self._seen)) < self._size:
                self.pages[number] = Listed.at(block, at)
