"""The extensions of XML sitemaps: one table each, of its elements and of what they become.

The parser, the tables of pages and the export to XML all read them. A new field of an extension is a
typed attribute of its value (:class:`~usp.objects.video.SitemapVideo`, …) and a line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from enum import Enum, auto
from functools import cached_property
from operator import attrgetter, itemgetter
from typing import Any

from usp.objects.extension_values import SitemapImage, SitemapNewsStory, SitemapPageMapObject
from usp.objects.video import SitemapVideo, SitemapVideoPrice, SitemapVideoTVShow

__all__ = ["EACH", "EXTENSIONS", "OWN", "Extension", "FieldSpec", "Kind", "Table"]


class Kind(Enum):
    """What a single value is."""

    TEXT = auto()
    VERBATIM = auto()  # a text that is decoded once, where others are decoded twice
    ADDRESS = auto()  # a text that is resolved against the address of the page
    ADDRESS_OR_NAME = auto()  # resolved if it begins with a slash
    WORD = auto()  # a text that repeats, in a column of its own
    TIME = auto()
    NUMBER = auto()
    WHOLE = auto()
    FLAG = auto()


OWN = ""
"""As the name of an element: the element of the record itself."""

EACH = ""
"""How several values are written: an element each. Otherwise what separates them in one element."""


@dataclass(frozen=True, slots=True)
class FieldSpec:
    """One field: its name in the value, what it is, and where it stands in the document."""

    name: str
    kind: Kind | Table = Kind.TEXT
    element: str | None = None
    """The element, if that is not called as the field."""
    attribute: str | None = None
    """The attribute of the element that has the value, if its text does not."""
    instead: str | None = None
    """The attribute that may have the value where the text is empty."""
    many: str | None = None
    """How several are written: :data:`EACH`, or what separates them."""
    within: str | None = None
    """The element around the field's own, which has no other meaning."""
    required: bool = False
    """Whether there is no value without the field."""
    always: bool = False
    """Whether the element is written even if it is empty."""
    default: str | None = None
    column: str | None = None
    """The name in tables, if it is another."""
    argument: str | None = None
    """The name in the constructor of the value, if it is another."""

    @property
    def tag(self) -> str:
        """The local name of the element."""
        return self.name if self.element is None else self.element

    @property
    def item(self) -> FieldSpec:
        """The field with one of its values, if it has several."""
        return replace(self, many=None)


@dataclass(frozen=True, eq=False)
class Table:
    """The fields of a value, in the order in which the extension's schema wants their elements."""

    element: str
    value: type | None
    """The class of the value; None for a tuple of the fields."""
    specs: tuple[FieldSpec, ...]
    fixed: Mapping[str, str] = field(default_factory=dict)
    """Attributes that every such element has."""

    @cached_property
    def getters(self) -> dict[str, Callable[[Any], Any]]:
        """What gets each field of a value, by name and in the value's own order."""
        if self.value is None:
            return {spec.name: itemgetter(at) for at, spec in enumerate(self.specs)}
        return {one.name: attrgetter(one.name) for one in fields(self.value)}

    @cached_property
    def in_order(self) -> tuple[FieldSpec, ...]:
        """The fields in the order of the value."""
        by_name = {spec.name: spec for spec in self.specs}
        return tuple(by_name[name] for name in self.getters)

    @cached_property
    def elements(self) -> dict[str, list[FieldSpec]]:
        """The fields by element: those with its text and those with its attributes."""
        elements: dict[str, list[FieldSpec]] = {}
        for spec in self.specs:
            elements.setdefault(spec.tag, []).append(spec)
        return elements

    def names(self) -> set[str]:
        """Return the names of all elements inside the record's own that have a value.

        Elements around others, which have none, are not among them.
        """
        names: set[str] = set()
        for spec in self.specs:
            if isinstance(spec.kind, Table):
                names |= spec.kind.names()
            if spec.many is not None or not isinstance(spec.kind, Table):
                names.add(spec.tag)
        return names - {OWN}

    def make(self, found: Mapping[str, Any]) -> Any:
        """Return a value with these fields."""
        if self.value is None:
            return tuple(found.get(spec.name) for spec in self.specs)
        return self.value(**found)


@dataclass(frozen=True, eq=False)
class Extension:
    """An extension: its vocabulary, its table, and the field of a page that it fills."""

    prefix: str
    namespace: str
    field: str
    column: str | None
    """The column of tables; None if they have none."""
    table: Table
    many: bool
    around: str | None = None
    """The element around all of its records, if there is one."""


_IMAGE = Table(
    "image",
    SitemapImage,
    (
        FieldSpec("loc", Kind.ADDRESS, required=True),
        FieldSpec("caption"),
        FieldSpec("geo_location"),
        FieldSpec("title"),
        FieldSpec("license", Kind.ADDRESS_OR_NAME, argument="license_"),
    ),
)

_NEWS = Table(
    "news",
    SitemapNewsStory,
    (
        FieldSpec("publication_name", element="name", within="publication"),
        FieldSpec("publication_language", element="language", within="publication"),
        FieldSpec("access"),
        FieldSpec("genres", many=","),
        FieldSpec(
            "publish_date", Kind.TIME, "publication_date", required=True, column="publication_date"
        ),
        FieldSpec("title", required=True),
        FieldSpec("keywords", many=","),
        FieldSpec("stock_tickers", many=","),
    ),
)

_CONTENT_SEGMENT = Table(
    "content_segment_loc",
    None,
    (
        FieldSpec("loc", Kind.ADDRESS, OWN, required=True),
        FieldSpec("duration", Kind.WHOLE, OWN, "duration"),
    ),
)

_PRICE = Table(
    "price",
    SitemapVideoPrice,
    (
        FieldSpec("amount", element=OWN, default=""),
        FieldSpec("currency", Kind.TEXT, OWN, "currency"),
        FieldSpec("type", Kind.TEXT, OWN, "type"),
        FieldSpec("resolution", Kind.TEXT, OWN, "resolution"),
    ),
)

_TV_SHOW = Table(
    "tvshow",
    SitemapVideoTVShow,
    (
        FieldSpec("show_title", always=True),
        FieldSpec("video_type"),
        FieldSpec("episode_title"),
        FieldSpec("season_number", Kind.WHOLE),
        FieldSpec("episode_number", Kind.WHOLE),
        FieldSpec("premier_date", Kind.TIME),
    ),
)

_VIDEO = Table(
    "video",
    SitemapVideo,
    (
        FieldSpec("thumbnail_loc", Kind.ADDRESS),
        FieldSpec("title"),
        FieldSpec("description"),
        FieldSpec("content_loc", Kind.ADDRESS),
        FieldSpec("player_loc", Kind.ADDRESS),
        FieldSpec("player_allow_embed", Kind.FLAG, "player_loc", "allow_embed"),
        FieldSpec("player_autoplay", Kind.TEXT, "player_loc", "autoplay"),
        FieldSpec("duration", Kind.WHOLE),
        FieldSpec("expiration_date", Kind.TIME),
        FieldSpec("rating", Kind.NUMBER),
        FieldSpec("content_segments", _CONTENT_SEGMENT, "content_segment_loc", many=EACH),
        FieldSpec("view_count", Kind.WHOLE),
        FieldSpec("publication_date", Kind.TIME),
        FieldSpec("tags", Kind.TEXT, "tag", many=EACH),
        FieldSpec("category"),
        FieldSpec("family_friendly", Kind.FLAG),
        FieldSpec("restriction", many=" "),
        FieldSpec("restriction_relationship", Kind.TEXT, "restriction", "relationship"),
        FieldSpec("gallery_loc", Kind.ADDRESS),
        FieldSpec("gallery_title", Kind.TEXT, "gallery_loc", "title"),
        FieldSpec("prices", _PRICE, "price", many=EACH),
        FieldSpec("requires_subscription", Kind.FLAG),
        FieldSpec("uploader"),
        FieldSpec("uploader_info", Kind.TEXT, "uploader", "info"),
        FieldSpec("tv_show", _TV_SHOW, "tvshow"),
        FieldSpec("platform", many=" "),
        FieldSpec("platform_relationship", Kind.TEXT, "platform", "relationship"),
        FieldSpec("live", Kind.FLAG),
        FieldSpec("id"),
        FieldSpec("id_type", Kind.TEXT, "id", "type"),
    ),
)

_ALTERNATE = Table(
    "link",
    None,
    (
        FieldSpec("hreflang", Kind.VERBATIM, OWN, "hreflang", required=True),
        FieldSpec("href", Kind.VERBATIM, OWN, "href", required=True),
    ),
    fixed={"rel": "alternate"},
)

_MOBILE = Table("mobile", None, ())

_ATTRIBUTE = Table(
    "Attribute",
    None,
    (
        FieldSpec("name", Kind.VERBATIM, OWN, "name", required=True),
        FieldSpec("value", element=OWN, instead="value", default=""),
    ),
)

_DATA_OBJECT = Table(
    "DataObject",
    SitemapPageMapObject,
    (
        FieldSpec("type", Kind.VERBATIM, OWN, "type"),
        FieldSpec("id", Kind.VERBATIM, OWN, "id"),
        FieldSpec("attributes", _ATTRIBUTE, "Attribute", many=EACH),
    ),
)

_GOOGLE = "http://www.google.com/schemas"

EXTENSIONS: tuple[Extension, ...] = (
    Extension("news", f"{_GOOGLE}/sitemap-news/0.9", "news_story", "news", _NEWS, many=False),
    Extension("image", f"{_GOOGLE}/sitemap-image/1.1", "images", "images", _IMAGE, many=True),
    Extension("video", f"{_GOOGLE}/sitemap-video/1.1", "videos", "videos", _VIDEO, many=True),
    Extension(
        "xhtml", "http://www.w3.org/1999/xhtml", "alternates", "alternates", _ALTERNATE, many=True
    ),
    Extension("mobile", f"{_GOOGLE}/sitemap-mobile/1.0", "mobile", "mobile", _MOBILE, many=False),
    Extension(
        "pagemap",
        f"{_GOOGLE}/sitemap-pagemap/1.0",
        "page_map",
        None,
        _DATA_OBJECT,
        many=True,
        around="PageMap",
    ),
)
"""Every extension, in the order in which they are written."""
