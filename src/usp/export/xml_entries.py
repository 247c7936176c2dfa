"""Pages as entries of a ``<urlset>``, with all that the extensions have."""

from __future__ import annotations

import re
from datetime import UTC, datetime, time
from decimal import Decimal
from functools import lru_cache
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import escape, quoteattr

from usp.helpers import html_unescape_strip
from usp.objects.page import SITEMAP_PAGE_DEFAULT_PRIORITY

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Iterator, Mapping

    from usp.objects.page import (
        SitemapImage,
        SitemapNewsStory,
        SitemapPage,
        SitemapPageMapObject,
    )
    from usp.objects.video import SitemapVideo, SitemapVideoTVShow

NAMESPACES = {
    "xmlns": "http://www.sitemaps.org/schemas/sitemap/0.9",
    "xmlns:news": "http://www.google.com/schemas/sitemap-news/0.9",
    "xmlns:image": "http://www.google.com/schemas/sitemap-image/1.1",
    "xmlns:video": "http://www.google.com/schemas/sitemap-video/1.1",
    "xmlns:xhtml": "http://www.w3.org/1999/xhtml",
    "xmlns:mobile": "http://www.google.com/schemas/sitemap-mobile/1.0",
    "xmlns:pagemap": "http://www.google.com/schemas/sitemap-pagemap/1.0",
}
"""What an urlset declares, whether its entries need it or not."""

_FORBIDDEN = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff\ud800-\udfff]")
_IN_TEXT = {"\r": "&#13;"}
_IN_ATTRIBUTE = {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"}
_LONGEST_NUMBER = 90


def entry(page: SitemapPage, names: Container[str]) -> str:
    """Give a page as ``<url>…</url>``; of its fields those whose columns are named."""
    return f"<url>{''.join(_fields(page, names))}</url>\n"


def _fields(page: SitemapPage, names: Container[str]) -> Iterator[str]:
    yield _element("loc", page.url)
    fields = page.fields()
    if fields.last_modified is not None and "lastmod" in names:
        yield f"<lastmod>{date_text(fields.last_modified)}</lastmod>"
    if fields.change_frequency is not None and "changefreq" in names:
        yield f"<changefreq>{fields.change_frequency.value}</changefreq>"
    if fields.priority != SITEMAP_PAGE_DEFAULT_PRIORITY and "priority" in names:
        yield f"<priority>{_number(fields.priority)}</priority>"
    for name, value, written in (
        ("news", fields.news_story, _news),
        ("images", fields.images, _images),
        ("videos", fields.videos, _videos),
        ("alternates", fields.alternates, _alternates),
        ("mobile", fields.mobile, _mobile),
    ):
        if value and name in names:
            yield written(value)  # type: ignore[arg-type]
    if fields.page_map:
        yield _page_map(fields.page_map)


@lru_cache(maxsize=8192)
def date_text(date: datetime) -> str:
    """Write a date as it was given: a day, or a time with its offset if it has one."""
    offset = date.utcoffset()
    if offset is None:
        day = date.time() == time()
        return date.date().isoformat() if day else date.replace(tzinfo=None).isoformat()
    if offset.total_seconds() % 60:  # which XML has no way to write
        date = date.astimezone(UTC)
    return date.isoformat().replace("+00:00", "Z")


def _twice(text: str) -> str:
    """Save what looks like a reference: our parser, like many, decodes texts twice."""
    return text.replace("&", "&amp;") if html_unescape_strip(text) != text.strip() else text


def _element(
    name: str, value: object, attributes: Mapping[str, object] | None = None, *, must: bool = True
) -> str:
    """Give an element; without value and attributes only if it ``must`` be there."""
    written = _attributes(attributes or {}, _twice)
    if value is None and not written and not must:
        return ""
    text = escape(_twice(_FORBIDDEN.sub("", _text(value))), _IN_TEXT)
    return f"<{name}{written}>{text}</{name}>"


def _attributes(values: Mapping[str, object], saved: Callable[[str], str]) -> str:
    return "".join(
        f" {name}={quoteattr(saved(_FORBIDDEN.sub('', _text(value))), _IN_ATTRIBUTE)}"
        for name, value in values.items()
        if value is not None
    )


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, str | int):
        return str(value)
    assert isinstance(value, datetime)
    return date_text(value)


def _number(value: Decimal) -> str:
    """Write a number without an exponent, unless that would go on and on."""
    written = format(value, "f") if abs(value.adjusted()) < _LONGEST_NUMBER else str(value)
    return written if len(written) <= _LONGEST_NUMBER else str(value)


def _some(names: Iterable[str], prefix: str, value: Any) -> str:
    return "".join(_element(f"{prefix}:{name}", getattr(value, name), must=False) for name in names)


def _news(story: SitemapNewsStory) -> str:
    """Give a story; one without a date, as feeds may have it, is none in a sitemap."""
    if story.publish_date is None:
        return ""
    publication = _element("news:name", story.publication_name, must=False) + _element(
        "news:language", story.publication_language, must=False
    )
    return "".join(
        (
            "<news:news>",
            f"<news:publication>{publication}</news:publication>" if publication else "",
            _element("news:access", story.access, must=False),
            _element("news:genres", ", ".join(story.genres) or None, must=False),
            _element("news:publication_date", story.publish_date),
            _element("news:title", story.title),
            _element("news:keywords", ", ".join(story.keywords) or None, must=False),
            _element("news:stock_tickers", ", ".join(story.stock_tickers) or None, must=False),
            "</news:news>",
        )
    )


def _images(images: Iterable[SitemapImage]) -> str:
    return "".join(map(_image, images))


def _videos(videos: Iterable[SitemapVideo]) -> str:
    return "".join(map(_video, videos))


def _alternates(alternates: Iterable[tuple[str, str]]) -> str:
    links = (
        {"rel": "alternate", "hreflang": language, "href": address}
        for language, address in alternates
    )
    return "".join(f"<xhtml:link{_attributes(link, str)}/>" for link in links)


def _mobile(_: bool) -> str:
    return "<mobile:mobile/>"


def _image(image: SitemapImage) -> str:
    fields = _some(("loc", "caption", "geo_location", "title", "license"), "image", image)
    return f"<image:image>{fields}</image:image>"


def _video(video: SitemapVideo) -> str:
    """Give a video, its elements in the order of Google's schema."""

    def single(name: str, attributes: Mapping[str, object] | None = None) -> str:
        return _element(f"video:{name}", getattr(video, name), attributes, must=False)

    def listed(name: str, relationship: str | None) -> str:
        words = " ".join(getattr(video, name)) or None
        return _element(f"video:{name}", words, {"relationship": relationship}, must=False)

    player = {"allow_embed": video.player_allow_embed, "autoplay": video.player_autoplay}
    return "".join(
        (
            "<video:video>",
            _some(("thumbnail_loc", "title", "description", "content_loc"), "video", video),
            single("player_loc", player),
            _some(("duration", "expiration_date", "rating"), "video", video),
            *(
                _element("video:content_segment_loc", loc, {"duration": duration})
                for loc, duration in video.content_segments
            ),
            _some(("view_count", "publication_date"), "video", video),
            *(_element("video:tag", tag) for tag in video.tags),
            _some(("category", "family_friendly"), "video", video),
            listed("restriction", video.restriction_relationship),
            single("gallery_loc", {"title": video.gallery_title}),
            *(
                _element("video:price", price.amount, {
                    "currency": price.currency, "type": price.type, "resolution": price.resolution,
                })
                for price in video.prices
            ),
            single("requires_subscription"),
            single("uploader", {"info": video.uploader_info}),
            "" if video.tv_show is None else _tv_show(video.tv_show),
            listed("platform", video.platform_relationship),
            single("live"),
            single("id", {"type": video.id_type}),
            "</video:video>",
        )
    )  # fmt: skip


def _tv_show(show: SitemapVideoTVShow) -> str:
    names = ("video_type", "episode_title", "season_number", "episode_number", "premier_date")
    fields = _element("video:show_title", show.show_title) + _some(names, "video", show)
    return f"<video:tvshow>{fields}</video:tvshow>"


def _page_map(objects: Iterable[SitemapPageMapObject]) -> str:
    written = []
    for item in objects:
        head = _attributes({"type": item.type, "id": item.id}, str)
        attributes = "".join(
            f"<pagemap:Attribute{_attributes({'name': name}, str)}>"
            f"{escape(_twice(_FORBIDDEN.sub('', value)), _IN_TEXT)}</pagemap:Attribute>"
            for name, value in item.attributes
        )
        written.append(f"<pagemap:DataObject{head}>{attributes}</pagemap:DataObject>")
    return f"<pagemap:PageMap>{''.join(written)}</pagemap:PageMap>"
