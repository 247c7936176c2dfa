"""The extensions of XML sitemaps: what each is called, and the table of its elements.

The parser, the tables of pages and the export to XML all read them. A new field of an extension is a
typed attribute of its value (:class:`~usp.objects.video.SitemapVideo`, …), which also says how
documents write it.
"""

from __future__ import annotations

from dataclasses import dataclass

from usp.objects.extension_values import (
    EACH,
    SELF,
    FieldSpec,
    Kind,
    SitemapImage,
    SitemapNewsStory,
    SitemapPageMapObject,
    SitemapResource,
    Table,
)
from usp.objects.video import SitemapVideo


@dataclass(frozen=True, eq=False)
class Extension:
    """An extension: its vocabulary, its table, and the field of a page that it fills."""

    prefix: str
    namespace: str
    field: str
    column: str | None  # the column of tables; None if they have none
    table: Table
    many: bool = True
    around: str | None = None  # the element around all of its records, if there is one

    @property
    def spec(self) -> FieldSpec:
        """The field of a page, as that of any other value."""
        kind = self.table if self.table.specs else Kind.FLAG
        return FieldSpec(self.field, kind, many=EACH if self.many else None)


_NEWS = Table.of(
    *("news", SitemapNewsStory, "publication_name", "publication_language", "access", "genres"),
    *("publish_date", "title"),
)

_VIDEO = Table.of(
    *("video", SitemapVideo, "thumbnail_loc", "title", "description", "content_loc", "player_loc"),
    *("player_allow_embed", "player_autoplay", "duration", "expiration_date", "rating"),
    *("content_segments", "view_count", "publication_date", "tags", "category", "family_friendly"),
    *("restriction", "restriction_relationship", "gallery_loc", "gallery_title", "prices"),
    *("requires_subscription", "uploader", "uploader_info", "tv_show", "platform"),
    *("platform_relationship", "live"),
)

_HREFLANG = FieldSpec("hreflang", Kind.VERBATIM, SELF, "hreflang", required=True)
_HREF = FieldSpec("href", Kind.VERBATIM, SELF, "href", required=True)
_ALTERNATE = Table("link", None, (_HREFLANG, _HREF), fixed={"rel": "alternate"})

_NAME = FieldSpec("name", Kind.VERBATIM, SELF, "name", required=True)
_VALUE = FieldSpec("value", element=SELF, instead="value", default="")
_ATTRIBUTE = Table("Attribute", None, (_NAME, _VALUE))

_TYPE = FieldSpec("type", Kind.VERBATIM, SELF, "type")
_ID = FieldSpec("id", Kind.VERBATIM, SELF, "id")
_ATTRIBUTES = FieldSpec("attributes", _ATTRIBUTE, "Attribute", many=EACH)
_DATA_OBJECT = Table("DataObject", SitemapPageMapObject, (_TYPE, _ID, _ATTRIBUTES))

_MOBILE = Table("mobile", None, ())

PROTOCOL = "http://www.sitemaps.org/schemas/sitemap/0.9"
"""The namespace of sitemaps, which is a name and not an address: each character counts."""

FIRST_PROTOCOL = "http://www.google.com/schemas/sitemap/0.84"
"""That of 2005, which is still read everywhere."""

_GOOGLE = "http://www.google.com/schemas/sitemap-"
_XHTML = "http://www.w3.org/1999/xhtml"
_RS = "http://www.openarchives.org/rs/terms/"

EXTENSIONS: tuple[Extension, ...] = (
    Extension("news", f"{_GOOGLE}news/0.9", "news_story", "news", _NEWS, many=False),
    Extension("image", f"{_GOOGLE}image/1.1", "images", "images", Table.of("image", SitemapImage)),
    Extension("video", f"{_GOOGLE}video/1.1", "videos", "videos", _VIDEO),
    Extension("xhtml", _XHTML, "alternates", "alternates", _ALTERNATE),
    Extension("mobile", f"{_GOOGLE}mobile/1.0", "mobile", "mobile", _MOBILE, many=False),
    Extension("rs", _RS, "resource", None, Table.of("md", SitemapResource), many=False),
    Extension("pagemap", f"{_GOOGLE}pagemap/1.0", "page_map", None, _DATA_OBJECT, around="PageMap"),
)
"""Every extension, in the order in which they are written."""

NAMESPACES = {one.prefix: one.namespace for one in EXTENSIONS}
"""Their namespaces, by their usual prefixes, which are also what parsers call them."""
