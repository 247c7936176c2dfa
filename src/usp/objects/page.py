"""A page of a sitemap: by itself, in a block, or parsed on demand; and the pages of a node."""

from __future__ import annotations

from decimal import Decimal
from enum import Enum, unique
from itertools import compress, islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, cast, runtime_checkable

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
from usp.objects.problem import Problem, how_many

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from datetime import datetime

    from usp._base.reason import Reason
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


def _read_only(get: Callable[[SitemapPage], Any], doc: str) -> Any:
    return property(get, doc=doc)


def _field(at: int, doc: str) -> Any:
    """Return a property with a place in :class:`PageFields`, which are parsed on first access."""
    return _read_only(lambda page: (page._fields or page._read())[at], doc)  # noqa: SLF001


class SitemapPage:
    """A page as one sitemap declares it: its URL and its fields.

    A plain value: attributes are read-only, pages are equal if all of them are, and are hashed by URL.
    """

    __slots__ = ("_fields", "_sitemap_url", "_url")

    _fields: PageFields | None
    _sitemap_url: str
    url: str = _read_only(attrgetter("_url"), "The absolute URL of the page.")
    priority: Decimal = _field(
        0, "The priority among the pages of the site, from 0 to 1; 0.5 by default."
    )
    last_modified: datetime | None = _field(
        1, "When the page last changed; naive if the sitemap has no UTC offset."
    )
    change_frequency: SitemapPageChangeFrequency | None = _field(
        2, "How often the page changes, according to the sitemap; ``ALWAYS`` for an unknown word."
    )
    news_story: SitemapNewsStory | None = _field(
        3, "The news story on the page, from the news extension or from a feed."
    )
    images: list[SitemapImage] | None = _field(
        4, "The images on the page, or None if the sitemap lists none."
    )
    alternates: list[tuple[str, str]] | None = _field(
        5, "The page in other languages, as ``(hreflang, href)``, or None if there are none."
    )
    videos: list[SitemapVideo] | None = _field(
        6, "The videos on the page, or None if the sitemap lists none."
    )
    mobile: bool = _field(
        7, "Whether the page is marked as made for feature phones (``mobile:mobile``)."
    )
    page_map: list[SitemapPageMapObject] | None = _field(
        8, "The objects of the page's PageMap, or None if it has none."
    )
    resource: SitemapResource | None = _field(
        9, "What ResourceSync says of the page: its last change, size, hashes and links."
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


# Pages as nodes hold them: parsed on demand, or in blocks --------------------------------------------


@runtime_checkable
class PageSource(Protocol):
    """Pages that are parsed on demand."""

    def __iter__(self) -> Iterator[SitemapPage]:
        """Parse the pages, from the first one."""
        ...

    def count(self) -> int:
        """Return the number of pages, without keeping them."""
        ...

    def problems(self) -> list[Problem]:
        """Parse the whole document and return its problems."""
        ...


class NodePages:
    """The pages of a node, with all that nodes ask of them: of a list, or of a source.

    Stored documents know more than a source has to.
    """

    def __init__(self, pages: Iterable[SitemapPage] | PageSource) -> None:
        # Not by isinstance: from Python 3.12 on, that sees no attributes that are made when asked for.
        self._pages: list[SitemapPage] | PageSource
        self._pages = cast("PageSource", pages) if hasattr(pages, "problems") else list(pages)

    @property
    def given_count(self) -> int | None:
        """How many pages were given as a list; None if they are parsed on demand."""
        pages = getattr(self, "_pages", None)  # which stored documents do not have
        return len(pages) if isinstance(pages, list) else None

    @property
    def damage(self) -> Reason | None:
        """Why the pages could not be read to their end when that was last tried, if they could not."""
        return None

    def __iter__(self) -> Iterator[SitemapPage]:
        """Return the pages, from the first one."""
        return iter(self._pages)

    def count(self) -> int:
        """Return the number of pages, without keeping them."""
        return len(self._pages) if isinstance(self._pages, list) else self._pages.count()

    def blocks(self) -> Iterator[PageBlock]:
        """Yield the pages in blocks."""
        remaining = iter(self)
        while some := list(islice(remaining, _BLOCK)):
            yield PageList(some)

    def steps(self) -> Iterator[PageBlock | None]:
        """Yield the same blocks, and None after a step without pages."""
        return self.blocks()

    def examined(self) -> Iterator[PageBlock]:
        """Yield the same blocks and check every field: then problems and page count are known."""
        return self.blocks()

    def problems(self, given_up: Callable[[], Reason | None] = lambda: None) -> list[Problem]:
        """Return the problems of the document; a reason that ``given_up`` returns ends the reading."""
        del given_up
        return [] if isinstance(self._pages, list) else self._pages.problems()

    def problem_count(self) -> int:
        """Return the number of problems."""
        return how_many(self.problems())

    def removed(self) -> Iterator[SitemapPage]:
        """Yield what the document says is removed."""
        return iter(())

    def same_document(self, other: object) -> bool:
        """Return whether other pages are read from the same bytes in the same way, if that is known."""
        del other
        return False


_BLOCK = 1000  # pages


class PageList:
    """A block of pages that exist already."""

    __slots__ = ("_pages", "urls")

    def __init__(self, pages: Sequence[SitemapPage]) -> None:
        self._pages = pages
        self.urls: Sequence[str] = [page.url for page in pages]

    def pages(self) -> Sequence[SitemapPage]:
        """Return the pages, in order."""
        return self._pages

    def texts(self) -> None:
        """Return None: there are only rows."""

    def rows(self) -> list[PageFields]:
        """Return everything but the URL of each page."""
        return rows_of(self._pages)


def part_of(block: PageBlock, numbers: Sequence[int]) -> PageBlock:
    """Return a block of some pages of another one, which is not kept for it."""
    part: PageBlock | None = getattr(block, "part", lambda _: None)(numbers)
    if part is not None:
        return part
    pages = list(block.pages())
    return PageList([page_of(pages[at].url, fields_of(pages[at])) for at in numbers])


class PickedPages:
    """Some pages of a block."""

    __slots__ = ("_block", "_keep", "urls")

    def __init__(self, block: PageBlock, keep: list[bool]) -> None:
        self._block = block
        self._keep = keep
        self.urls = list(compress(block.urls, keep))

    def pages(self) -> Iterator[SitemapPage]:
        """Return the pages, in order."""
        return compress(self._block.pages(), self._keep)

    def texts(self) -> Mapping[str, Sequence[str]] | None:
        """Return the fields as columns, if the block has them."""
        texts = self._block.texts()
        if texts is None:
            return None
        return {name: list(compress(column, self._keep)) for name, column in texts.items()}

    def entry_texts(self) -> list[str] | None:
        """Return each entry as it is written, if the block knows."""
        texts = getattr(self._block, "entry_texts", lambda: None)()
        return None if texts is None else list(compress(texts, self._keep))

    def part(self, numbers: Sequence[int]) -> PageBlock:
        """Return a block of some of these pages."""
        kept = [at for at, keep in enumerate(self._keep) if keep]
        return part_of(self._block, [kept[at] for at in numbers])

    def rows(self) -> list[PageFields]:
        """Return everything but the URL of each page."""
        return list(compress(self._block.rows(), self._keep))
