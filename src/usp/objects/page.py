"""A page of a sitemap and what a sitemap can say about it."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from decimal import Decimal
from enum import Enum, unique
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable
    from datetime import datetime

    from usp.objects.video import SitemapVideo

SITEMAP_PAGE_DEFAULT_PRIORITY = Decimal("0.5")
"""The priority of a page whose sitemap gives none, or none that can be read."""

_MAX_REPR = 200


@unique
class SitemapPageChangeFrequency(Enum):
    """How often a page is said to change."""

    ALWAYS = "always"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    NEVER = "never"

    @classmethod
    def has_value(cls, value: str) -> bool:
        """Tell whether ``value`` is one of the frequencies of the sitemap protocol."""
        return value in cls._value2member_map_


def bounded(value: object) -> str:
    """Give the ``repr`` of a value, cut to a length a terminal can show."""
    text = repr(value)
    return text if len(text) <= _MAX_REPR else text[:_MAX_REPR] + "…"


def plain(value: object) -> Any:
    """Give a value as dictionaries, lists and scalars, for ``to_dict``."""
    if isinstance(value, Value):
        return value.to_dict()
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


class Value:
    """What the frozen dataclasses of this package share: ``to_dict`` and a bounded ``repr``."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Give the fields as a dictionary, nested values as dictionaries too."""
        return {field.name: plain(getattr(self, field.name)) for field in _fields(self)}

    def __repr__(self) -> str:
        """Give class and fields, long values cut."""
        fields = ", ".join(f"{f.name}={bounded(getattr(self, f.name))}" for f in _fields(self))
        return f"{type(self).__name__}({fields})"


def _fields(value: Any) -> tuple[dataclasses.Field[Any], ...]:
    return dataclasses.fields(value)


@dataclass(frozen=True, slots=True, repr=False, init=False)
class SitemapImage(Value):
    """An image of a page, from the image extension."""

    loc: str
    caption: str | None
    geo_location: str | None
    title: str | None
    license: str | None

    def __init__(
        self,
        loc: str,
        caption: str | None = None,
        geo_location: str | None = None,
        title: str | None = None,
        license_: str | None = None,
    ) -> None:
        freeze(
            self, loc=loc, caption=caption, geo_location=geo_location, title=title, license=license_
        )


@dataclass(frozen=True, slots=True, repr=False, init=False)
class SitemapNewsStory(Value):
    """A news story, from the news extension or from a feed."""

    title: str
    publish_date: datetime | None
    publication_name: str | None
    publication_language: str | None
    access: str | None
    genres: list[str]
    keywords: list[str]
    stock_tickers: list[str]

    def __init__(
        self,
        title: str,
        publish_date: datetime | None,
        publication_name: str | None = None,
        publication_language: str | None = None,
        access: str | None = None,
        genres: Iterable[str] | None = None,
        keywords: Iterable[str] | None = None,
        stock_tickers: Iterable[str] | None = None,
    ) -> None:
        freeze(
            self,
            title=title,
            publish_date=publish_date,
            publication_name=publication_name,
            publication_language=publication_language,
            access=access,
            genres=list(genres or ()),
            keywords=list(keywords or ()),
            stock_tickers=list(stock_tickers or ()),
        )

    def __hash__(self) -> int:
        return hash((self.title, self.publication_name))


@dataclass(frozen=True, slots=True, repr=False)
class SitemapPageMapObject(Value):
    """A DataObject of Google's PageMap: its type, its id and its attributes in order."""

    type: str | None
    id: str | None
    attributes: tuple[tuple[str, str], ...]


def freeze(value: object, **fields: object) -> None:
    """Set the fields of a frozen value once, from its own constructor."""
    for name, field in fields.items():
        object.__setattr__(value, name, field)


class SitemapPage:
    """A page as one sitemap declares it: its URL and what is said about it.

    A plain value: read-only attributes, equality over all of them, hash over the URL.
    """

    __slots__ = (
        "_alternates",
        "_change_frequency",
        "_images",
        "_last_modified",
        "_mobile",
        "_news_story",
        "_page_map",
        "_priority",
        "_url",
        "_videos",
    )

    def __init__(
        self,
        url: str,
        priority: Decimal = SITEMAP_PAGE_DEFAULT_PRIORITY,
        last_modified: datetime | None = None,
        change_frequency: SitemapPageChangeFrequency | None = None,
        news_story: SitemapNewsStory | None = None,
        images: list[SitemapImage] | None = None,
        alternates: list[tuple[str, str]] | None = None,
        *,
        videos: list[SitemapVideo] | None = None,
        mobile: bool = False,
        page_map: list[SitemapPageMapObject] | None = None,
    ) -> None:
        self._url = url
        self._priority = priority
        self._last_modified = last_modified
        self._change_frequency = change_frequency
        self._news_story = news_story
        self._images = images
        self._alternates = alternates
        self._videos = videos
        self._mobile = mobile
        self._page_map = page_map

    @property
    def url(self) -> str:
        """The address of the page, absolute."""
        return self._url

    @property
    def priority(self) -> Decimal:
        """The priority among the pages of the site, 0 to 1; 0.5 unless the sitemap says more."""
        return self._priority

    @property
    def last_modified(self) -> datetime | None:
        """When the page last changed; naive if the sitemap gave no offset."""
        return self._last_modified

    @property
    def change_frequency(self) -> SitemapPageChangeFrequency | None:
        """How often the page is said to change; an unknown word reads as ``ALWAYS``."""
        return self._change_frequency

    @property
    def news_story(self) -> SitemapNewsStory | None:
        """The news story on the page, from the news extension or from a feed."""
        return self._news_story

    @property
    def images(self) -> list[SitemapImage] | None:
        """The images on the page, or None if the sitemap names none."""
        return self._images

    @property
    def alternates(self) -> list[tuple[str, str]] | None:
        """The page in other languages, as ``(hreflang, href)``, or None if there are none."""
        return self._alternates

    @property
    def videos(self) -> list[SitemapVideo] | None:
        """The videos on the page, or None if the sitemap names none."""
        return self._videos

    @property
    def mobile(self) -> bool:
        """Whether the page is marked as made for feature phones (``mobile:mobile``)."""
        return self._mobile

    @property
    def page_map(self) -> list[SitemapPageMapObject] | None:
        """The objects of the page's PageMap, or None if it has none."""
        return self._page_map

    def to_dict(self) -> dict[str, Any]:
        """Give the page as a dictionary; rarer fields have a key only when they are set."""
        frequency = self.change_frequency
        result: dict[str, Any] = {
            "url": self.url,
            "priority": self.priority,
            "last_modified": self.last_modified,
            "change_frequency": frequency.value if frequency else None,
            "news_story": plain(self.news_story),
            "images": plain(self.images),
        }
        if self.alternates:
            result["alternates"] = list(self.alternates)
        if self.videos:
            result["videos"] = plain(self.videos)
        if self.mobile:
            result["mobile"] = True
        if self.page_map:
            result["page_map"] = plain(self.page_map)
        return result

    def _key(self) -> tuple[object, ...]:
        return (
            self.url,
            self.priority,
            self.last_modified,
            self.change_frequency,
            self.news_story,
            self.images,
            self.alternates,
            self.videos,
            self.mobile,
            self.page_map,
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SitemapPage):
            return NotImplemented
        return self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self.url)

    def __repr__(self) -> str:
        """Give the URL and the fields that are set, long values cut."""
        frequency = self.change_frequency
        fields = [
            f"url={bounded(self.url)}",
            f"priority={self.priority}",
            f"last_modified={self.last_modified}",
            f"change_frequency={frequency.value if frequency else None}",
            f"news_story={bounded(self.news_story)}",
            f"images={bounded(self.images)}",
        ]
        return f"SitemapPage({', '.join(fields)})"
