"""A page of a sitemap: by itself, in a block, or parsed on demand."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum, unique
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from usp._base.names import lazy_getattr
from usp.objects.extension_values import (
    SitemapImage,
    SitemapNewsStory,
    SitemapPageMapObject,
    SitemapResource,
    SitemapResourceLink,
    old_fields,
    plain,
    shown,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from usp.objects.video import SitemapVideo
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "SITEMAP_PAGE_DEFAULT_PRIORITY",
    "PageBlock",
    "SitemapImage",
    "SitemapNewsStory",
    "SitemapPage",
    "SitemapPageChangeFrequency",
    "SitemapPageMapObject",
    "SitemapResource",
    "SitemapResourceLink",
]

SITEMAP_PAGE_DEFAULT_PRIORITY = Decimal("0.5")
"""The priority of a page if the sitemap has none for it, or none that can be read.

A priority that is declared as 0.5 is equal to it, but another object.
"""


@unique
class SitemapPageChangeFrequency(Enum):
    """How often a page changes, according to its sitemap."""

    ALWAYS = "always"
    HOURLY = "hourly"
    DAILY = "daily"
    WEEKLY = "weekly"
    MONTHLY = "monthly"
    YEARLY = "yearly"
    NEVER = "never"

    @classmethod
    def has_value(cls, value: str) -> bool:
        """Return whether ``value`` is one of the frequencies of the sitemap protocol."""
        return value in cls._value2member_map_


class PageFields(NamedTuple):
    """All fields of a page except its URL."""

    priority: Decimal = SITEMAP_PAGE_DEFAULT_PRIORITY
    last_modified: datetime | None = None
    change_frequency: SitemapPageChangeFrequency | None = None
    news_story: SitemapNewsStory | None = None
    images: list[SitemapImage] | None = None
    alternates: list[tuple[str, str]] | None = None
    videos: list[SitemapVideo] | None = None
    mobile: bool = False
    page_map: list[SitemapPageMapObject] | None = None
    resource: SitemapResource | None = None

    @property
    def declared_priority(self) -> Decimal | None:
        """The priority, or None if the sitemap has none: then it is the default object itself."""
        return None if self.priority is SITEMAP_PAGE_DEFAULT_PRIORITY else self.priority

    def __reduce__(self) -> tuple[Any, ...]:
        return fields_from, (self.declared_priority, *self[1:])


def fields_from(priority: Decimal | None, *others: Any) -> PageFields:
    """Return the fields of a page with its declared priority, if it has one."""
    given = SITEMAP_PAGE_DEFAULT_PRIORITY if priority is None else priority
    return PageFields(given, *others)


class SitemapPage:
    """A page as one sitemap declares it: its URL and its fields.

    A plain value: attributes are read-only, pages are equal if all of them are, and are hashed by URL.
    """

    __slots__ = ("_fields", "_sitemap_url", "_url")

    _fields: PageFields | None
    _sitemap_url: str
    url: str = property(attrgetter("_url"), doc="The absolute URL of the page.")  # type: ignore[assignment]

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
        resource: SitemapResource | None = None,
    ) -> None:
        self._url = url
        core = (priority, last_modified, change_frequency, news_story, images, alternates)
        self._fields = PageFields(*core, videos, mobile, page_map, resource)

    @property
    def sitemap_url(self) -> str | None:
        """The URL of the sitemap, for a page of a stream; None for pages of a tree."""
        return getattr(self, "_sitemap_url", None)

    def _read(self) -> PageFields:
        raise NotImplementedError  # for pages that are parsed on demand

    @property
    def priority(self) -> Decimal:
        """The priority among the pages of the site, from 0 to 1; 0.5 by default."""
        return (self._fields or self._read())[0]

    @property
    def last_modified(self) -> datetime | None:
        """When the page last changed; naive if the sitemap has no UTC offset."""
        return (self._fields or self._read())[1]

    @property
    def change_frequency(self) -> SitemapPageChangeFrequency | None:
        """How often the page changes, according to the sitemap; ``ALWAYS`` for an unknown word."""
        return (self._fields or self._read())[2]

    @property
    def news_story(self) -> SitemapNewsStory | None:
        """The news story on the page, from the news extension or from a feed."""
        return (self._fields or self._read())[3]

    @property
    def images(self) -> list[SitemapImage] | None:
        """The images on the page, or None if the sitemap lists none."""
        return (self._fields or self._read())[4]

    @property
    def alternates(self) -> list[tuple[str, str]] | None:
        """The page in other languages, as ``(hreflang, href)``, or None if there are none."""
        return (self._fields or self._read())[5]

    @property
    def videos(self) -> list[SitemapVideo] | None:
        """The videos on the page, or None if the sitemap lists none."""
        return (self._fields or self._read())[6]

    @property
    def mobile(self) -> bool:
        """Whether the page is marked as made for feature phones (``mobile:mobile``)."""
        return (self._fields or self._read())[7]

    @property
    def page_map(self) -> list[SitemapPageMapObject] | None:
        """The objects of the page's PageMap, or None if it has none."""
        return (self._fields or self._read())[8]

    @property
    def resource(self) -> SitemapResource | None:
        """What ResourceSync says of the page: its last change, size, hashes and links."""
        return (self._fields or self._read())[9]

    def to_dict(self) -> dict[str, Any]:
        """Return the page as a dictionary; rarer fields have a key only when they are set."""
        fields = fields_of(self)  # parses all of them in one go
        if type(self) not in _OURS:  # attributes of a subclass may be others
            fields = PageFields(*_attributes(self))
        priority, modified, frequency, story, images, alternates = fields[:6]
        videos, mobile, page_map, resource = fields[6:]
        result: dict[str, Any] = {
            "url": self.url,
            "priority": priority,
            "last_modified": modified,
            "change_frequency": frequency.value if frequency else None,
            "news_story": None if story is None else story.to_dict(),
            "images": None if images is None else [image.to_dict() for image in images],
        }
        if alternates:
            result["alternates"] = list(alternates)
        if videos:
            result["videos"] = [video.to_dict() for video in videos]
        if mobile:
            result["mobile"] = True
        if page_map:
            result["page_map"] = plain(page_map)
        if resource:
            result["resource"] = resource.to_dict()
        return result

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SitemapPage):
            return NotImplemented
        return self.url == other.url and fields_of(self) == fields_of(other)

    def __reduce__(self) -> tuple[Any, ...]:
        kind = SitemapPage if type(self) in _OURS else type(self)
        return page_of, (self.url, fields_of(self), self.sitemap_url, kind)

    def __setstate__(self, state: object) -> None:
        """Restore a page that 1.8.1 has pickled; our own are restored by :func:`page_of`."""
        fields = old_fields(state)
        assert fields is not None
        self._url = fields.pop("url")
        self._fields = PageFields(**fields)

    def __hash__(self) -> int:
        return hash(self.url)

    def __repr__(self) -> str:
        """Return the fields of 1.8.1, in its form: programs print and parse it."""
        fields = ", ".join(f"{name}={getattr(self, name)}" for name in _PRINTED)
        return shown(f"SitemapPage({fields})")


def fields_of(page: SitemapPage) -> PageFields:
    """Return everything except the URL of a page, as a tuple."""
    return page._fields or page._read()  # noqa: SLF001 - of this module


def page_of(
    url: str,
    fields: PageFields,
    sitemap_url: str | None = None,
    kind: type[SitemapPage] = SitemapPage,
) -> SitemapPage:
    """Return a page that has these fields."""
    page = kind.__new__(kind)
    page._url = url  # noqa: SLF001
    page._fields = fields
    if sitemap_url is not None:
        page._sitemap_url = sitemap_url  # noqa: SLF001
    return page


_PRINTED = ("url", "priority", "last_modified", "change_frequency", "news_story", "images")


def of_sitemap(sitemap_url: str, pages: Iterable[SitemapPage]) -> Iterator[SitemapPage]:
    """Yield pages after setting their ``sitemap_url``."""
    for page in pages:
        page._sitemap_url = sitemap_url  # noqa: SLF001 - of this module
        yield page


def rows_of(pages: Iterable[SitemapPage]) -> list[PageFields]:
    """Return the fields of pages, as the attributes of their classes have them."""
    rows = []
    for page in pages:
        fields_of(page)  # parses all fields in one go
        rows.append(PageFields(*_attributes(page)))
    return rows


_attributes = attrgetter(*PageFields._fields)


class PageBlock(Protocol):
    """Consecutive pages of a document, available as columns instead of objects."""

    @property
    def urls(self) -> Sequence[str]:
        """The URL of each page."""
        ...

    def pages(self) -> Iterable[SitemapPage]:
        """Return the pages, in order."""
        ...

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return ``lastmod``, ``changefreq`` and ``priority`` as written, one column each.

        A field that no page has is left out; an empty string means that a page lacks it. None if the
        pages have any other field, or a value that needs a closer look: then use :meth:`rows`.
        """
        ...

    def rows(self) -> Sequence[PageFields]:
        """Return everything but the URL of each page."""
        ...


class DeferredPage(SitemapPage):
    """A page whose fields are parsed on first access, and then kept.

    ``parse`` gets all fields of the entry at a position of a stretch of the document.
    """

    __slots__ = ("_at", "_parse")

    def __init__(self, url: str, parse: Callable[[int], PageFields], at: int) -> None:
        self._url = url
        self._fields = None
        self._parse: Callable[[int], PageFields] | None = parse
        self._at = at

    def _read(self) -> PageFields:
        parse = self._parse
        if parse is not None:
            self._fields = parse(self._at)
            self._parse = None
        # If another thread was faster, it has set the fields before it released the document.
        assert self._fields is not None
        return self._fields


_OURS = frozenset({SitemapPage, DeferredPage})


def pages_with_fields(block: PageBlock) -> Iterator[SitemapPage]:
    """Return the pages of a block, all of their fields parsed; they do not keep the block."""
    return map(page_of, block.urls, block.rows())
